# Volumes: alone, attached, snapshots, and an image of the instance.
variable "size" {
  type    = number
  default = 20
}

data "aws_ami" "ubuntu" {
  most_recent = true
  owners      = ["099720109477"]
  filter {
    name   = "name"
    values = ["ubuntu/images/hvm-ssd/ubuntu-jammy-22.04-amd64-server-*"]
  }
}

resource "aws_instance" "host" {
  ami               = data.aws_ami.ubuntu.id
  instance_type     = "t3.micro"
  availability_zone = "us-east-1a"
}

resource "aws_ebs_volume" "data" {
  availability_zone = "us-east-1a"
  size              = var.size
  type              = "gp3"
  iops              = 4000
  throughput        = 200
  encrypted         = true
  tags              = { Name = "data" }
}

resource "aws_volume_attachment" "data" {
  device_name = "/dev/sdf"
  instance_id = aws_instance.host.id
  volume_id   = aws_ebs_volume.data.id
}

resource "aws_ebs_snapshot" "data" {
  volume_id   = aws_ebs_volume.data.id
  description = "Before training"
  tags        = { Name = "before" }
}

resource "aws_ebs_volume" "copy" {
  availability_zone = "us-east-1b"
  snapshot_id       = aws_ebs_snapshot.data.id
}

resource "aws_ami_from_instance" "golden" {
  name                    = "golden"
  source_instance_id      = aws_instance.host.id
  snapshot_without_reboot = true
  tags                    = { Name = "golden" }
  depends_on              = [aws_volume_attachment.data]
}
