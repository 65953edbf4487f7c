# A VPC with a public subnet in each zone that offers both GPU types: not every zone of a region does.

data "aws_ec2_instance_type_offerings" "gpu" {
  for_each      = toset([var.spot_type, var.training_type])
  location_type = "availability-zone"

  filter {
    name   = "instance-type"
    values = [each.key]
  }
}

locals {
  offers = [for o in data.aws_ec2_instance_type_offerings.gpu : toset(o.locations)]
  zones  = sort(setintersection(local.offers...))
  zone   = local.zones[0]
}

resource "aws_vpc" "main" {
  cidr_block           = var.cidr
  enable_dns_hostnames = true

  tags = { Name = var.name }
}

resource "aws_subnet" "public" {
  for_each = { for i, zone in local.zones : zone => i }

  vpc_id                  = aws_vpc.main.id
  availability_zone       = each.key
  cidr_block              = cidrsubnet(var.cidr, 4, each.value)
  map_public_ip_on_launch = true

  tags = { Name = "${var.name}-${each.key}" }
}

resource "aws_internet_gateway" "main" {
  vpc_id = aws_vpc.main.id

  tags = { Name = var.name }
}

resource "aws_route_table" "public" {
  vpc_id = aws_vpc.main.id

  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.main.id
  }

  tags = { Name = var.name }
}

resource "aws_route_table_association" "public" {
  for_each = aws_subnet.public

  subnet_id      = each.value.id
  route_table_id = aws_route_table.public.id
}

resource "aws_security_group" "gpu" {
  name        = "${var.name}-gpu"
  description = "GPU instances: free among each other, SSH from the administrators"
  vpc_id      = aws_vpc.main.id

  ingress {
    description = "Collective communication between the instances"
    protocol    = "-1"
    from_port   = 0
    to_port     = 0
    self        = true
  }

  dynamic "ingress" {
    for_each = var.admin_cidr[*]

    content {
      description = "SSH"
      protocol    = "tcp"
      from_port   = 22
      to_port     = 22
      cidr_blocks = [ingress.value]
    }
  }

  egress {
    description = "Packages, images, data"
    protocol    = "-1"
    from_port   = 0
    to_port     = 0
    cidr_blocks = ["0.0.0.0/0"]
  }

  tags = { Name = "${var.name}-gpu" }
}
