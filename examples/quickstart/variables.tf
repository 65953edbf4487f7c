variable "name" {
  description = "Name of the stack: a prefix of everything that has a name."
  type        = string
  default     = "quickstart"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,19}$", var.name))
    error_message = "Names of buckets allow lower-case letters, digits and dashes: 2 to 20 of them, a letter first."
  }
}

variable "region" {
  description = "Region to build in. It needs a zone that offers both instance types."
  type        = string
  default     = "us-east-1"
}

variable "cidr" {
  description = "Addresses of the network; each zone's subnet gets a 16th of them."
  type        = string
  default     = "10.20.0.0/16"

  validation {
    condition     = can(cidrsubnet(var.cidr, 4, 0))
    error_message = "A block of addresses such as 10.20.0.0/16."
  }
}

variable "admin_cidr" {
  description = "Addresses that may log in over SSH; nobody may unless it is given."
  type        = string
  default     = null
}

variable "spot_type" {
  description = "Type of the spot instance: a g5 has NVIDIA A10G GPUs, enough to develop and to serve models."
  type        = string
  default     = "g5.2xlarge"

  validation {
    condition     = can(regex("^g[4-9]", var.spot_type))
    error_message = "A type of the G families, such as g5.2xlarge or g6.xlarge."
  }
}

variable "training_type" {
  description = "Type of the training instance: a p4d has eight NVIDIA A100 and 400 Gbit/s of network."
  type        = string
  default     = "p4d.24xlarge"
}

variable "spot_max_price" {
  description = "The most to pay for an hour of the spot instance, in USD; the on-demand price where it is null."
  type        = string
  default     = "1.00"
}
