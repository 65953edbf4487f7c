terraform {
  required_version = ">= 1.11"

  required_providers {
    aws = {
      source  = "gpuform/aws"
      version = ">= 0.1"
    }
  }
}

# Credentials come from where AWS tools usually find them: the environment, shared files, an instance role.
provider "aws" {
  region = var.region

  default_tags {
    tags = {
      Project   = var.name
      ManagedBy = "gpuform"
    }
  }
}
