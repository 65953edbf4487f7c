# Buckets with their settings and objects, and a role for instances that read them.

variable "status" {
  default = "Enabled"
}

resource "aws_s3_bucket" "data" {
  bucket_prefix = "data-"
  force_destroy = true
  tags          = { use = "datasets" }
}

resource "aws_s3_bucket_versioning" "data" {
  bucket = aws_s3_bucket.data.id
  versioning_configuration {
    status = var.status
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "data" {
  bucket = aws_s3_bucket.data.id
  rule {
    bucket_key_enabled = true
    apply_server_side_encryption_by_default {
      sse_algorithm = "aws:kms"
    }
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "data" {
  bucket = aws_s3_bucket.data.id

  rule {
    id     = "all"
    status = "Enabled"
    filter {}
    transition {
      days          = 30
      storage_class = "INTELLIGENT_TIERING"
    }
    abort_incomplete_multipart_upload {
      days_after_initiation = 7
    }
  }

  rule {
    id     = "checkpoints"
    status = var.status == "Enabled" ? "Enabled" : "Disabled"
    filter {
      and {
        prefix                   = "checkpoints/"
        object_size_greater_than = 1000
        tags                     = { kind = "checkpoint" }
      }
    }
    transition {
      days          = 90
      storage_class = "GLACIER"
    }
    transition {
      days          = 180
      storage_class = "DEEP_ARCHIVE"
    }
    expiration {
      days = 365
    }
    noncurrent_version_expiration {
      noncurrent_days = 10
    }
  }
}

resource "aws_s3_bucket_public_access_block" "data" {
  bucket                  = aws_s3_bucket.data.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_policy" "data" {
  bucket = aws_s3_bucket.data.id
  policy = data.aws_iam_policy_document.read.json
}

resource "aws_s3_object" "readme" {
  bucket       = aws_s3_bucket_versioning.data.bucket
  key          = "docs/readme.txt"
  content      = "status ${var.status}"
  content_type = "text/plain"
  metadata     = { origin = "test" }
  tags         = { kind = "a b" }
}

data "aws_iam_policy_document" "assume" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["ec2.amazonaws.com"]
    }
  }
}

data "aws_iam_policy_document" "read" {
  statement {
    sid       = "Read"
    actions   = ["s3:GetObject", "s3:ListBucket"]
    resources = [aws_s3_bucket.data.arn, "${aws_s3_bucket.data.arn}/*"]
    principals {
      type        = "AWS"
      identifiers = [aws_iam_role.node.arn]
    }
  }
}

resource "aws_iam_role" "node" {
  name                 = "node"
  assume_role_policy   = data.aws_iam_policy_document.assume.json
  description          = "nodes ${var.status}"
  max_session_duration = 7200
}

resource "aws_iam_role_policy" "node" {
  name_prefix = "inline-"
  role        = aws_iam_role.node.id
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "s3:ListAllMyBuckets", Resource = "*" }]
  })
}

resource "aws_iam_policy" "node" {
  name = "node"
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = var.status == "Enabled" ? "Allow" : "Deny", Action = ["s3:PutObject"], Resource = "*" }]
  })
}

resource "aws_iam_role_policy_attachment" "node" {
  role       = aws_iam_role.node.name
  policy_arn = aws_iam_policy.node.arn
}

resource "aws_iam_instance_profile" "node" {
  role = aws_iam_role.node.name
}

output "assume" {
  value = data.aws_iam_policy_document.assume.json
}
