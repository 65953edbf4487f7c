# Keys with a policy, rotation and names.

variable "description" { default = "Volumes" }
variable "enabled" { default = true }
variable "rotation" { default = true }

data "aws_caller_identity" "this" {}
data "aws_region" "this" {}
data "aws_availability_zones" "this" {
  state         = "available"
  exclude_names = ["us-east-1f"]
}

resource "aws_kms_key" "volumes" {
  description             = var.description
  enable_key_rotation     = var.rotation
  is_enabled              = var.enabled
  deletion_window_in_days = 7
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "Owner"
      Effect    = "Allow"
      Principal = { AWS = ["arn:aws:iam::${data.aws_caller_identity.this.account_id}:root"] }
      Action    = "kms:*"
      Resource  = "*"
    }]
  })
  tags = { Name = "volumes" }
}

resource "aws_kms_key" "signing" {
  key_usage                = "SIGN_VERIFY"
  customer_master_key_spec = "ECC_NIST_P256"
  multi_region             = true
}

resource "aws_kms_alias" "volumes" {
  name          = "alias/volumes"
  target_key_id = aws_kms_key.volumes.key_id
}

resource "aws_kms_alias" "signing" {
  name_prefix   = "alias/signing-"
  target_key_id = aws_kms_key.signing.arn
}

resource "aws_vpc" "this" {
  cidr_block = "10.3.0.0/16"
  tags       = { Name = "found" }
}

resource "aws_subnet" "this" {
  vpc_id            = aws_vpc.this.id
  cidr_block        = "10.3.1.0/24"
  availability_zone = data.aws_availability_zones.this.names[0]
  tags              = { Tier = "gpu" }
}

data "aws_vpc" "this" {
  id = aws_vpc.this.id
}

data "aws_vpc" "default" {
  default = true
}

data "aws_subnets" "this" {
  filter {
    name   = "vpc-id"
    values = [data.aws_vpc.this.id]
  }
  tags       = { Tier = "gpu" }
  depends_on = [aws_subnet.this]
}

output "found" {
  value = {
    account = data.aws_caller_identity.this.account_id
    region  = data.aws_region.this.name
    zones   = data.aws_availability_zones.this.names
    vpc     = data.aws_vpc.this.cidr_block
    subnets = data.aws_subnets.this.ids == tolist([aws_subnet.this.id])
    default = data.aws_vpc.default.cidr_block
  }
}
