output "group" {
  description = "The auto scaling group of the nodes."
  value       = aws_autoscaling_group.cluster.name
}

output "capacity" {
  description = "What the cluster has at its smallest and its largest."
  value = {
    for size, nodes in var.nodes : size => {
      nodes          = nodes
      gpus           = nodes * local.gpus_a_node
      gpu_memory_gib = nodes * floor(data.aws_ec2_instance_type.node.total_gpu_memory / 1024)
    }
  }
}

output "launch_template" {
  description = "The template of the nodes, and its newest version."
  value       = "${aws_launch_template.node.id}:${aws_launch_template.node.latest_version}"
}

output "data_lake" {
  description = "The bucket of the data lake."
  value       = aws_s3_bucket.lake.bucket
}

output "zone" {
  description = "The zone of the nodes."
  value       = local.zone
}
