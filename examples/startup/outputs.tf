output "address" {
  description = "Where the GPU is reached."
  value       = aws_instance.gpu.public_ip
}

output "zone" {
  description = "The zone that was the cheapest when the stack was made."
  value       = aws_subnet.main.availability_zone
}

output "price_now" {
  description = "What an hour of spot costs today in the cheapest zone, in USD."
  value       = local.lowest
}

output "bucket" {
  description = "Models under models/, checkpoints under checkpoints/."
  value       = aws_s3_bucket.models.bucket
}
