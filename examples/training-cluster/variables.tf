variable "name" {
  description = "Name of the cluster: a prefix of everything that has a name."
  type        = string
  default     = "training"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,19}$", var.name))
    error_message = "Names of buckets allow lower-case letters, digits and dashes: 2 to 20 of them, a letter first."
  }
}

variable "tags" {
  description = "More tags for everything, such as a cost centre."
  type        = map(string)
  default     = {}
}

variable "region" {
  description = "Region to build in."
  type        = string
  default     = "us-east-1"
}

variable "zone" {
  description = "Zone of the nodes, for those who have reserved capacity in one; otherwise the first that offers the type."
  type        = string
  default     = null
}

variable "cidr" {
  description = "Addresses of the network. Each node takes as many as it has network cards."
  type        = string
  default     = "10.64.0.0/16"

  validation {
    condition     = can(cidrsubnet(var.cidr, 4, 1))
    error_message = "A block of addresses such as 10.64.0.0/16."
  }
}

variable "instance_type" {
  description = "Type of the nodes: one of the P families, whose instances can be joined by EFA."
  type        = string
  default     = "p4d.24xlarge"

  validation {
    condition     = can(regex("^p[4-9]", var.instance_type))
    error_message = "A type of the P families, such as p4d.24xlarge or p5.48xlarge."
  }
}

variable "nodes" {
  description = "The least and the largest number of nodes."
  type = object({
    min = optional(number, 2)
    max = optional(number, 4)
  })
  default = {}

  validation {
    condition     = var.nodes.min >= 0 && var.nodes.min <= var.nodes.max
    error_message = "The least number must not be above the largest."
  }
}

variable "protect_nodes" {
  description = "Whether nodes are kept from being taken away when the load falls."
  type        = bool
  default     = false
}

variable "discard_data" {
  description = "Whether destroying the cluster may delete a data lake that is not empty."
  type        = bool
  default     = false
}
