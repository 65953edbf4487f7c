# What the cloud offers: images, types, zones, prices.
data "aws_ami" "deep_learning" {
  most_recent = true
  owners      = ["amazon"]
  name_regex  = "^Deep Learning Base OSS Nvidia Driver GPU AMI \\(Ubuntu 22"
}

data "aws_ec2_instance_type" "gpu" {
  instance_type = "p4d.24xlarge"
}

data "aws_ec2_instance_type_offerings" "gpu" {
  location_type = "availability-zone"
  filter {
    name   = "instance-type"
    values = ["p4d.24xlarge", "g5.xlarge"]
  }
}

data "aws_ec2_spot_price" "gpu" {
  instance_type     = "g5.xlarge"
  availability_zone = "us-east-1a"
  filter {
    name   = "product-description"
    values = ["Linux/UNIX"]
  }
}

output "image" { value = data.aws_ami.deep_learning.name }
output "gpus" { value = one(data.aws_ec2_instance_type.gpu.gpus).count }
output "gpu_memory" { value = data.aws_ec2_instance_type.gpu.total_gpu_memory }
output "zones" { value = distinct(data.aws_ec2_instance_type_offerings.gpu.locations) }
output "spot_price" { value = data.aws_ec2_spot_price.gpu.spot_price }
