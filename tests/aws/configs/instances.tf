# Instances: spot and on demand, with volumes, options and a launch template.
variable "type" {
  type    = string
  default = "g5.xlarge"
}

variable "name" {
  type    = string
  default = "trainer"
}

data "aws_ami" "ubuntu" {
  most_recent = true
  owners      = ["099720109477"]
  filter {
    name   = "name"
    values = ["ubuntu/images/hvm-ssd/ubuntu-jammy-22.04-amd64-server-*"]
  }
}

resource "aws_key_pair" "login" {
  key_name   = "login"
  public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPmUT2UuDYSUjHNfUf8nHWMYxHPjmJjmdIdYTlFUiCoC someone@example"
}

resource "aws_placement_group" "close" {
  name     = "close"
  strategy = "cluster"
}

resource "aws_instance" "trainer" {
  ami                         = data.aws_ami.ubuntu.id
  instance_type               = var.type
  availability_zone           = "us-east-1a"
  key_name                    = aws_key_pair.login.key_name
  user_data                   = "#!/bin/sh\necho ${var.name}\n"
  associate_public_ip_address = true
  source_dest_check           = false
  monitoring                  = true
  root_block_device {
    volume_type = "gp3"
    volume_size = 100
    iops        = 4000
    throughput  = 250
    encrypted   = true
    tags        = { disk = "root" }
  }
  ebs_block_device {
    device_name = "/dev/sdf"
    volume_type = "gp3"
    volume_size = 200
    tags        = { disk = "data" }
  }
  metadata_options {
    http_tokens   = "required"
    http_endpoint = "enabled"
  }
  tags = { Name = var.name }
}

resource "aws_instance" "spot" {
  ami           = data.aws_ami.ubuntu.id
  instance_type = "g4dn.xlarge"

  availability_zone = "us-east-1a"
  instance_market_options {
    market_type = "spot"
    spot_options {
      max_price                      = "0.5"
      instance_interruption_behavior = "terminate"
    }
  }
  volume_tags = { from = "spot" }
}

resource "aws_instance" "plain" {
  ami               = data.aws_ami.ubuntu.id
  instance_type     = "t3.micro"
  availability_zone = "us-east-1b"
  security_groups   = ["default"]
  credit_specification {
    cpu_credits = "standard"
  }
}
