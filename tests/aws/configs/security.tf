# Security groups with rules inside and with rules of their own.

variable "port" { default = 443 }
variable "note" { default = "all of the VPC" }

resource "aws_vpc" "this" {
  cidr_block = "10.0.0.0/16"
}

resource "aws_security_group" "inline" {
  name        = "inline"
  description = "Nodes"
  vpc_id      = aws_vpc.this.id

  ingress {
    description = var.note
    from_port   = 22
    to_port     = 22
    protocol    = "tcp"
    cidr_blocks = [aws_vpc.this.cidr_block, "192.168.0.0/16"]
  }
  ingress {
    from_port = 0
    to_port   = 0
    protocol  = "-1"
    self      = true
  }
  ingress {
    from_port       = var.port
    to_port         = var.port
    protocol        = "6"
    security_groups = [aws_security_group.separate.id]
  }
  egress {
    from_port        = 0
    to_port          = 0
    protocol         = "-1"
    cidr_blocks      = ["0.0.0.0/0"]
    ipv6_cidr_blocks = ["::/0"]
  }
  tags = { Name = "inline" }
}

resource "aws_security_group" "separate" {
  name_prefix            = "separate-"
  vpc_id                 = aws_vpc.this.id
  revoke_rules_on_delete = true
}

resource "aws_vpc_security_group_ingress_rule" "http" {
  security_group_id = aws_security_group.separate.id
  description       = var.note
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "tcp"
  from_port         = var.port
  to_port           = var.port
  tags              = { Name = "http" }
}

resource "aws_vpc_security_group_ingress_rule" "nodes" {
  security_group_id            = aws_security_group.separate.id
  referenced_security_group_id = aws_security_group.separate.id
  ip_protocol                  = "-1"
}

resource "aws_vpc_security_group_egress_rule" "all" {
  security_group_id = aws_security_group.separate.id
  cidr_ipv6         = "::/0"
  ip_protocol       = "-1"
}
