# A spot instance to develop on and an on-demand instance to train on.

# AWS's image with the NVIDIA driver, CUDA and EFA installed.
data "aws_ami" "gpu" {
  most_recent = true
  owners      = ["amazon"]

  filter {
    name   = "name"
    values = ["Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04)*"]
  }
}

# Spare capacity costs a fraction, and may be taken back with two minutes' warning: fit for work that can be resumed.
resource "aws_instance" "spot" {
  ami                    = data.aws_ami.gpu.id
  instance_type          = var.spot_type
  subnet_id              = aws_subnet.public[local.zone].id
  vpc_security_group_ids = [aws_security_group.gpu.id]

  instance_market_options {
    market_type = "spot"

    spot_options {
      max_price                      = var.spot_max_price
      spot_instance_type             = "one-time"
      instance_interruption_behavior = "terminate"
    }
  }

  root_block_device {
    volume_type = "gp3"
    volume_size = 200
    encrypted   = true
    kms_key_id  = aws_kms_key.data.arn
  }

  metadata_options {
    http_tokens = "required"
  }

  tags = { Name = "${var.name}-spot" }
}

# Instances of a cluster group stand close together in one zone: the full network speed between them.
resource "aws_placement_group" "training" {
  name     = "${var.name}-training"
  strategy = "cluster"
}

# Training runs for days, so it is bought on demand: nothing interrupts it.
resource "aws_instance" "training" {
  ami                    = data.aws_ami.gpu.id
  instance_type          = var.training_type
  subnet_id              = aws_subnet.public[local.zone].id
  placement_group        = aws_placement_group.training.name
  vpc_security_group_ids = [aws_security_group.gpu.id]
  ebs_optimized          = true

  root_block_device {
    volume_type = "gp3"
    volume_size = 200
    encrypted   = true
    kms_key_id  = aws_kms_key.data.arn
  }

  # What the GPUs are fed from; gp3 beyond its base of 3,000 IOPS and 125 MiB/s.
  ebs_block_device {
    device_name = "/dev/sdf"
    volume_type = "gp3"
    volume_size = 2000
    iops        = 16000
    throughput  = 1000
    encrypted   = true
    kms_key_id  = aws_kms_key.data.arn
  }

  metadata_options {
    http_tokens = "required"
  }

  tags = { Name = "${var.name}-training" }
}
