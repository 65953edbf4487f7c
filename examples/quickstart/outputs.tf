output "zone" {
  description = "The zone that offers both GPU types."
  value       = local.zone
}

output "bucket" {
  description = "The bucket for datasets and checkpoints."
  value       = aws_s3_bucket.data.bucket
}

output "instances" {
  description = "The GPU instances, with their type and addresses."
  value = {
    for role, i in { spot = aws_instance.spot, training = aws_instance.training } : role => {
      id                  = i.id
      type                = i.instance_type
      public_ip           = i.public_ip
      private_ip          = i.private_ip
    }
  }
}

output "key" {
  description = "The key that encrypts volumes and bucket."
  value       = aws_kms_alias.data.name
}
