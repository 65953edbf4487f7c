# One private subnet for the nodes, and a public one for the NAT gateway through which they reach the internet.

data "aws_ec2_instance_type_offerings" "node" {
  location_type = "availability-zone"

  filter {
    name   = "instance-type"
    values = [var.instance_type]
  }
}

locals {
  zone = coalesce(var.zone, sort(data.aws_ec2_instance_type_offerings.node.locations)[0])
}

resource "aws_vpc" "main" {
  cidr_block           = var.cidr
  enable_dns_hostnames = true

  tags = { Name = var.name }
}

resource "aws_subnet" "private" {
  vpc_id            = aws_vpc.main.id
  availability_zone = local.zone
  cidr_block        = cidrsubnet(var.cidr, 4, 0)

  tags = { Name = "${var.name}-private" }
}

resource "aws_subnet" "public" {
  vpc_id            = aws_vpc.main.id
  availability_zone = local.zone
  cidr_block        = cidrsubnet(var.cidr, 4, 1)

  tags = { Name = "${var.name}-public" }
}

resource "aws_internet_gateway" "main" {
  vpc_id = aws_vpc.main.id

  tags = { Name = var.name }
}

resource "aws_eip" "nat" {
  domain = "vpc"

  tags = { Name = "${var.name}-nat" }

  depends_on = [aws_internet_gateway.main]
}

resource "aws_nat_gateway" "main" {
  allocation_id = aws_eip.nat.id
  subnet_id     = aws_subnet.public.id

  tags = { Name = var.name }

  depends_on = [aws_internet_gateway.main]
}

resource "aws_route_table" "public" {
  vpc_id = aws_vpc.main.id

  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.main.id
  }

  tags = { Name = "${var.name}-public" }
}

resource "aws_route_table" "private" {
  vpc_id = aws_vpc.main.id

  route {
    cidr_block     = "0.0.0.0/0"
    nat_gateway_id = aws_nat_gateway.main.id
  }

  tags = { Name = "${var.name}-private" }
}

resource "aws_route_table_association" "public" {
  subnet_id      = aws_subnet.public.id
  route_table_id = aws_route_table.public.id
}

resource "aws_route_table_association" "private" {
  subnet_id      = aws_subnet.private.id
  route_table_id = aws_route_table.private.id
}

# EFA needs a group that lets everything in from itself and out to itself.
resource "aws_security_group" "node" {
  name        = "${var.name}-node"
  description = "Nodes of the training cluster"
  vpc_id      = aws_vpc.main.id

  tags = { Name = "${var.name}-node" }
}

resource "aws_vpc_security_group_ingress_rule" "peers" {
  security_group_id            = aws_security_group.node.id
  description                  = "EFA, NCCL and the scheduler"
  ip_protocol                  = "-1"
  referenced_security_group_id = aws_security_group.node.id
}

resource "aws_vpc_security_group_egress_rule" "peers" {
  security_group_id            = aws_security_group.node.id
  description                  = "EFA, NCCL and the scheduler"
  ip_protocol                  = "-1"
  referenced_security_group_id = aws_security_group.node.id
}

resource "aws_vpc_security_group_egress_rule" "internet" {
  security_group_id = aws_security_group.node.id
  description       = "Packages, images, data"
  ip_protocol       = "-1"
  cidr_ipv4         = "0.0.0.0/0"
}
