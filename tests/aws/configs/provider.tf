# What every configuration here starts with: the provider, which is told where the cloud under test is.

terraform {
  required_providers {
    aws = {
      source = "gpuform/aws"
    }
  }
}

variable "endpoint" {
  type = string
}

provider "aws" {
  region            = "us-east-1"
  access_key        = "test"
  secret_key        = "test"
  s3_use_path_style = true
  endpoints {
    ec2         = var.endpoint
    s3          = var.endpoint
    iam         = var.endpoint
    sts         = var.endpoint
    kms         = var.endpoint
    autoscaling = var.endpoint
  }
  default_tags {
    tags = {
      team = "ml"
    }
  }
}
