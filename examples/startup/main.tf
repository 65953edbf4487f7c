# One spot GPU and one bucket: what a small team needs to train and to serve a model, for as little as possible.
#
# Where the money goes, and what is saved:
#   - the instance is spot, in the zone where its type is cheapest today, and never above var.max_price;
#   - no NAT gateway: the instance has a public address, and its security group lets nobody in but you;
#   - gp3 volumes at their base speed, which costs nothing extra;
#   - checkpoints expire, and what stays moves to cheaper storage.

terraform {
  required_version = ">= 1.11"

  required_providers {
    aws = {
      source  = "gpuform/aws"
      version = ">= 0.1"
    }
  }
}

provider "aws" {
  region = var.region

  default_tags {
    tags = { Project = var.name }
  }
}

data "aws_caller_identity" "current" {}

# The zones that offer the type, and what an hour of spot costs in each.
data "aws_ec2_instance_type_offerings" "gpu" {
  location_type = "availability-zone"

  filter {
    name   = "instance-type"
    values = [var.instance_type]
  }
}

data "aws_ec2_spot_price" "gpu" {
  for_each          = toset(data.aws_ec2_instance_type_offerings.gpu.locations)
  instance_type     = var.instance_type
  availability_zone = each.key

  filter {
    name   = "product-description"
    values = ["Linux/UNIX"]
  }
}

locals {
  prices   = { for zone, p in data.aws_ec2_spot_price.gpu : zone => tonumber(p.spot_price) }
  lowest   = min(values(local.prices)...)
  cheapest = sort([for zone, price in local.prices : zone if price == local.lowest])[0]
}

resource "aws_vpc" "main" {
  cidr_block           = "10.40.0.0/24"
  enable_dns_hostnames = true

  tags = { Name = var.name }
}

resource "aws_subnet" "main" {
  vpc_id                  = aws_vpc.main.id
  cidr_block              = aws_vpc.main.cidr_block
  availability_zone       = local.cheapest
  map_public_ip_on_launch = true

  tags = { Name = var.name }

  # Prices move: another zone may be the cheapest tomorrow, which is no reason to rebuild everything.
  lifecycle {
    ignore_changes = [availability_zone]
  }
}

resource "aws_internet_gateway" "main" {
  vpc_id = aws_vpc.main.id

  tags = { Name = var.name }
}

resource "aws_route_table" "main" {
  vpc_id = aws_vpc.main.id

  tags = { Name = var.name }
}

resource "aws_route" "internet" {
  route_table_id         = aws_route_table.main.id
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.main.id
}

resource "aws_route_table_association" "main" {
  subnet_id      = aws_subnet.main.id
  route_table_id = aws_route_table.main.id
}

resource "aws_security_group" "gpu" {
  name        = "${var.name}-gpu"
  description = "The GPU instance"
  vpc_id      = aws_vpc.main.id

  tags = { Name = "${var.name}-gpu" }
}

resource "aws_vpc_security_group_ingress_rule" "ssh" {
  for_each = var.admin_cidrs

  security_group_id = aws_security_group.gpu.id
  description       = "SSH"
  ip_protocol       = "tcp"
  from_port         = 22
  to_port           = 22
  cidr_ipv4         = each.key
}

resource "aws_vpc_security_group_egress_rule" "all" {
  security_group_id = aws_security_group.gpu.id
  description       = "Packages, images, data"
  ip_protocol       = "-1"
  cidr_ipv4         = "0.0.0.0/0"
}

resource "aws_key_pair" "admin" {
  count = var.public_key == null ? 0 : 1

  key_name   = "${var.name}-admin"
  public_key = var.public_key
}

data "aws_ami" "gpu" {
  most_recent = true
  owners      = ["amazon"]

  filter {
    name   = "name"
    values = ["Deep Learning OSS Nvidia Driver AMI GPU PyTorch 2.* (Ubuntu 22.04)*"]
  }
}

resource "aws_instance" "gpu" {
  ami                    = data.aws_ami.gpu.id
  instance_type          = var.instance_type
  subnet_id              = aws_subnet.main.id
  vpc_security_group_ids = [aws_security_group.gpu.id]
  key_name               = one(aws_key_pair.admin[*].key_name)
  iam_instance_profile   = aws_iam_instance_profile.gpu.name

  instance_market_options {
    market_type = "spot"

    spot_options {
      max_price                      = format("%.2f", var.max_price)
      spot_instance_type             = "one-time"
      instance_interruption_behavior = "terminate"
    }
  }

  root_block_device {
    volume_type = "gp3"
    volume_size = var.disk_gib
    encrypted   = true
  }

  metadata_options {
    http_tokens = "required"
  }

  # Resume from the last checkpoint: the instance before this one may have been taken back.
  user_data = <<-EOT
    #!/bin/sh
    aws s3 sync s3://${aws_s3_bucket.models.bucket}/checkpoints /opt/checkpoints
  EOT

  tags = { Name = "${var.name}-gpu" }

  lifecycle {
    # A newer image is no reason to end a run.
    ignore_changes = [ami]

    precondition {
      condition     = local.lowest <= var.max_price
      error_message = "An hour of ${var.instance_type} costs ${local.lowest} USD now, above max_price."
    }
  }
}

resource "aws_s3_bucket" "models" {
  bucket = "${var.name}-models-${data.aws_caller_identity.current.account_id}"
}

resource "aws_s3_bucket_public_access_block" "models" {
  bucket                  = aws_s3_bucket.models.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_lifecycle_configuration" "models" {
  bucket = aws_s3_bucket.models.id

  rule {
    id     = "checkpoints"
    status = "Enabled"

    filter {
      prefix = "checkpoints/"
    }

    expiration {
      days = 14
    }
  }

  rule {
    id     = "models"
    status = "Enabled"

    filter {
      prefix = "models/"
    }

    transition {
      days          = 30
      storage_class = "STANDARD_IA"
    }
  }
}

# The instance may use the bucket, without keys on its disk.
data "aws_iam_policy_document" "assume" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["ec2.amazonaws.com"]
    }
  }
}

data "aws_iam_policy_document" "models" {
  statement {
    sid       = "List"
    actions   = ["s3:ListBucket"]
    resources = [aws_s3_bucket.models.arn]
  }

  statement {
    sid       = "Use"
    actions   = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"]
    resources = ["${aws_s3_bucket.models.arn}/*"]
  }
}

resource "aws_iam_role" "gpu" {
  name               = "${var.name}-gpu"
  assume_role_policy = data.aws_iam_policy_document.assume.json
}

resource "aws_iam_role_policy" "models" {
  name   = "models"
  role   = aws_iam_role.gpu.id
  policy = data.aws_iam_policy_document.models.json
}

resource "aws_iam_instance_profile" "gpu" {
  name = "${var.name}-gpu"
  role = aws_iam_role.gpu.name
}
