variable "name" {
  description = "Name of the stack: a prefix of everything that has a name."
  type        = string
  default     = "startup"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,19}$", var.name))
    error_message = "Names of buckets allow lower-case letters, digits and dashes: 2 to 20 of them, a letter first."
  }
}

variable "region" {
  description = "Region to build in. Prices of spot differ much between regions."
  type        = string
  default     = "us-east-1"
}

variable "instance_type" {
  description = "A g5.xlarge has one NVIDIA A10G with 24 GiB: enough for models up to about 13 billion parameters in 8 bits."
  type        = string
  default     = "g5.xlarge"
}

variable "max_price" {
  description = "The most to pay for an hour of the GPU, in USD."
  type        = number
  default     = 0.75

  validation {
    condition     = var.max_price > 0 && var.max_price <= 5
    error_message = "Above 0 and at most 5 USD an hour."
  }
}

variable "disk_gib" {
  description = "Size of the disk in GiB. The image itself takes 75."
  type        = number
  default     = 150

  validation {
    condition     = var.disk_gib >= 100
    error_message = "At least 100 GiB."
  }
}

variable "public_key" {
  description = "Your SSH public key. Without one, log in through Systems Manager."
  type        = string
  default     = null
}

variable "admin_cidrs" {
  description = "Addresses that may log in over SSH, such as 203.0.113.7/32."
  type        = set(string)
  default     = []
}
