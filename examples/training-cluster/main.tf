# A training cluster: a group of p4d instances, close together, that grows and shrinks with its load, beside a data
# lake whose storage class follows how the data is used.
#
# Why p4d.24xlarge: eight NVIDIA A100 (40 GiB each) joined by NVSwitch, four network cards of 100 Gbit/s, which EFA lets
# the GPUs of different instances use without the kernel in between. A cluster placement group keeps the instances in
# one zone, near each other: all-reduce is as fast as its slowest link.

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
    tags = merge({ Project = var.name }, var.tags)
  }
}

data "aws_caller_identity" "current" {}

data "aws_region" "current" {}

data "aws_ami" "gpu" {
  most_recent = true
  owners      = ["amazon"]

  filter {
    name   = "name"
    values = ["Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04)*"]
  }
}

# Facts about the type decide the layout of its network and what the outputs say.
data "aws_ec2_instance_type" "node" {
  instance_type = var.instance_type
}

locals {
  account      = data.aws_caller_identity.current.account_id
  gpus_a_node  = sum([for g in data.aws_ec2_instance_type.node.gpus : g.count])
  network_card = range(data.aws_ec2_instance_type.node.maximum_network_cards)
}

resource "aws_placement_group" "cluster" {
  name     = "${var.name}-cluster"
  strategy = "cluster"
}

resource "aws_launch_template" "node" {
  name                   = "${var.name}-node"
  description            = "A node of the training cluster"
  image_id               = data.aws_ami.gpu.id
  instance_type          = var.instance_type
  update_default_version = true
  ebs_optimized          = true

  iam_instance_profile {
    arn = aws_iam_instance_profile.node.arn
  }

  placement {
    group_name = aws_placement_group.cluster.name
  }

  # One EFA interface on each network card. Only the first of them has an address for ordinary traffic.
  dynamic "network_interfaces" {
    for_each = local.network_card

    content {
      network_card_index    = network_interfaces.value
      device_index          = network_interfaces.value == 0 ? 0 : 1
      interface_type        = network_interfaces.value == 0 ? "efa" : "efa-only"
      security_groups       = [aws_security_group.node.id]
      delete_on_termination = true
    }
  }

  block_device_mappings {
    device_name = "/dev/sda1"

    ebs {
      volume_type           = "gp3"
      volume_size           = 300
      iops                  = 6000
      throughput            = 500
      encrypted             = true
      kms_key_id            = aws_kms_key.data.arn
      delete_on_termination = true
    }
  }

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 2 # containers are one hop further away
  }

  monitoring {
    enabled = true
  }

  tag_specifications {
    resource_type = "instance"
    tags          = { Name = "${var.name}-node" }
  }

  tag_specifications {
    resource_type = "volume"
    tags          = { Name = "${var.name}-node" }
  }

  user_data = base64encode(templatefile("${path.module}/node.sh.tftpl", {
    bucket = aws_s3_bucket.lake.bucket
    region = data.aws_region.current.name
  }))
}

resource "aws_autoscaling_group" "cluster" {
  name                = "${var.name}-cluster"
  min_size            = var.nodes.min
  max_size            = var.nodes.max
  desired_capacity    = var.nodes.min
  vpc_zone_identifier = [aws_subnet.private.id]
  placement_group     = aws_placement_group.cluster.name

  health_check_type         = "EC2"
  health_check_grace_period = 600
  default_instance_warmup   = 600

  # Nodes with work on them are not for the scaling to take away.
  protect_from_scale_in = var.protect_nodes
  force_delete          = true

  launch_template {
    id      = aws_launch_template.node.id
    version = aws_launch_template.node.latest_version
  }

  tag {
    key                 = "Name"
    value               = "${var.name}-node"
    propagate_at_launch = true
  }

  lifecycle {
    # From here on the policy decides.
    ignore_changes = [desired_capacity]
  }
}

resource "aws_autoscaling_policy" "busy" {
  name                   = "busy"
  autoscaling_group_name = aws_autoscaling_group.cluster.name
  policy_type            = "TargetTrackingScaling"

  target_tracking_configuration {
    target_value = 70

    # The data loaders keep the processors as busy as the GPUs.
    predefined_metric_specification {
      predefined_metric_type = "ASGAverageCPUUtilization"
    }
  }
}
