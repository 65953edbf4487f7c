# A launch template, an instance and groups made from it, and scaling policies.
variable "type" {
  type    = string
  default = "g5.xlarge"
}

data "aws_ami" "ubuntu" {
  most_recent = true
  owners      = ["099720109477"]
  filter {
    name   = "name"
    values = ["ubuntu/images/hvm-ssd/ubuntu-jammy-22.04-amd64-server-*"]
  }
}

resource "aws_launch_template" "worker" {
  name                   = "worker"
  image_id               = data.aws_ami.ubuntu.id
  instance_type          = var.type
  description            = "GPU workers"
  update_default_version = true
  user_data              = base64encode("#!/bin/sh\necho worker\n")
  ebs_optimized          = true
  block_device_mappings {
    device_name = "/dev/sda1"
    ebs {
      volume_size           = 100
      volume_type           = "gp3"
      delete_on_termination = true
      encrypted             = true
    }
  }
  metadata_options {
    http_tokens = "required"
  }
  monitoring {
    enabled = true
  }
  tag_specifications {
    resource_type = "instance"
    tags          = { Name = "worker" }
  }
}

resource "aws_launch_template" "any" {
  name_prefix = "any-"
  image_id    = data.aws_ami.ubuntu.id
  instance_requirements {
    accelerator_count {
      min = 1
    }
    accelerator_manufacturers = ["nvidia"]
    memory_mib {
      min = 16384
    }
    vcpu_count {
      min = 4
      max = 16
    }
  }
}

resource "aws_instance" "from_template" {
  launch_template {
    id      = aws_launch_template.worker.id
    version = aws_launch_template.worker.latest_version
  }
}

resource "aws_autoscaling_group" "workers" {
  name               = "workers"
  availability_zones = ["us-east-1a", "us-east-1b"]
  min_size           = 1
  max_size           = 3
  launch_template {
    id      = aws_launch_template.worker.id
    version = aws_launch_template.worker.latest_version
  }
  instance_refresh {
    strategy = "Rolling"
    preferences {
      min_healthy_percentage = 50
    }
  }
  tag {
    key                 = "role"
    value               = "worker"
    propagate_at_launch = true
  }
}

resource "aws_autoscaling_group" "mixed" {
  name_prefix        = "mixed-"
  availability_zones = ["us-east-1a"]
  min_size           = 0
  max_size           = 4
  desired_capacity   = 1
  capacity_rebalance = true
  mixed_instances_policy {
    instances_distribution {
      on_demand_base_capacity                  = 0
      on_demand_percentage_above_base_capacity = 0
      spot_allocation_strategy                 = "price-capacity-optimized"
    }
    launch_template {
      launch_template_specification {
        launch_template_id = aws_launch_template.worker.id
      }
      override {
        instance_type = "g5.xlarge"
      }
      override {
        instance_type     = "g6.xlarge"
        weighted_capacity = "1"
      }
    }
  }
}

resource "aws_autoscaling_policy" "busy" {
  name                   = "busy"
  autoscaling_group_name = aws_autoscaling_group.workers.name
  policy_type            = "TargetTrackingScaling"
  target_tracking_configuration {
    predefined_metric_specification {
      predefined_metric_type = "ASGAverageCPUUtilization"
    }
    target_value = 60
  }
}

resource "aws_autoscaling_policy" "one_more" {
  name                   = "one-more"
  autoscaling_group_name = aws_autoscaling_group.workers.name
  adjustment_type        = "ChangeInCapacity"
  scaling_adjustment     = 1
  cooldown               = 300
}
