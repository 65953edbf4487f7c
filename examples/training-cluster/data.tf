# The data lake, the key that encrypts it and the nodes' volumes, and what the nodes may do with both.

# Whoever may use EC2 or S3 in this account may use the key through them: instances that the auto scaling group launches
# too, without naming a role of AWS that does not exist before the first group does.
data "aws_iam_policy_document" "key" {
  statement {
    sid       = "Administration"
    actions   = ["kms:*"]
    resources = ["*"]

    principals {
      type        = "AWS"
      identifiers = ["arn:aws:iam::${local.account}:root"]
    }
  }

  statement {
    sid       = "ThroughServices"
    actions   = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey", "kms:CreateGrant"]
    resources = ["*"]

    principals {
      type        = "AWS"
      identifiers = ["*"]
    }

    condition {
      test     = "StringEquals"
      variable = "kms:CallerAccount"
      values   = [local.account]
    }

    condition {
      test     = "StringEquals"
      variable = "kms:ViaService"
      values   = [for s in ["ec2", "s3"] : "${s}.${data.aws_region.current.name}.amazonaws.com"]
    }
  }
}

resource "aws_kms_key" "data" {
  description         = "${var.name}: data lake and volumes"
  enable_key_rotation = true
  policy              = data.aws_iam_policy_document.key.json
}

resource "aws_kms_alias" "data" {
  name          = "alias/${var.name}"
  target_key_id = aws_kms_key.data.key_id
}

resource "aws_s3_bucket" "lake" {
  bucket        = "${var.name}-lake-${local.account}"
  force_destroy = var.discard_data
}

resource "aws_s3_bucket_versioning" "lake" {
  bucket = aws_s3_bucket.lake.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_public_access_block" "lake" {
  bucket                  = aws_s3_bucket.lake.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_server_side_encryption_configuration" "lake" {
  bucket = aws_s3_bucket.lake.id

  rule {
    bucket_key_enabled = true

    apply_server_side_encryption_by_default {
      sse_algorithm     = "aws:kms"
      kms_master_key_id = aws_kms_key.data.arn
    }
  }
}

# Which data a training run reads is hard to foresee, so S3 watches: what is not read for 30 and 90 days moves to cheaper
# tiers, and is back in milliseconds when it is read. Old versions and checkpoints are archived, then deleted.
resource "aws_s3_bucket_lifecycle_configuration" "lake" {
  bucket = aws_s3_bucket.lake.id

  rule {
    id     = "tiering"
    status = "Enabled"

    filter {
      object_size_greater_than = 131072 # smaller objects are not tiered
    }

    transition {
      days          = 0
      storage_class = "INTELLIGENT_TIERING"
    }
  }

  rule {
    id     = "checkpoints"
    status = "Enabled"

    filter {
      prefix = "checkpoints/"
    }

    expiration {
      days = 180
    }
  }

  rule {
    id     = "old-versions"
    status = "Enabled"

    filter {}

    noncurrent_version_transition {
      noncurrent_days = 30
      storage_class   = "GLACIER"
    }

    noncurrent_version_expiration {
      noncurrent_days = 365
    }

    abort_incomplete_multipart_upload {
      days_after_initiation = 7
    }
  }

  depends_on = [aws_s3_bucket_versioning.lake]
}

data "aws_iam_policy_document" "tls" {
  statement {
    sid       = "OnlyEncryptedConnections"
    effect    = "Deny"
    actions   = ["s3:*"]
    resources = [aws_s3_bucket.lake.arn, "${aws_s3_bucket.lake.arn}/*"]

    principals {
      type        = "*"
      identifiers = ["*"]
    }

    condition {
      test     = "Bool"
      variable = "aws:SecureTransport"
      values   = ["false"]
    }
  }
}

resource "aws_s3_bucket_policy" "lake" {
  bucket = aws_s3_bucket.lake.id
  policy = data.aws_iam_policy_document.tls.json

  depends_on = [aws_s3_bucket_public_access_block.lake]
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

data "aws_iam_policy_document" "lake" {
  statement {
    sid       = "Find"
    actions   = ["s3:ListBucket", "s3:GetBucketLocation"]
    resources = [aws_s3_bucket.lake.arn]
  }

  statement {
    sid       = "Read"
    actions   = ["s3:GetObject"]
    resources = ["${aws_s3_bucket.lake.arn}/*"]
  }

  statement {
    sid       = "Write"
    actions   = ["s3:PutObject", "s3:AbortMultipartUpload"]
    resources = [for p in ["checkpoints", "results"] : "${aws_s3_bucket.lake.arn}/${p}/*"]
  }
}

resource "aws_iam_role" "node" {
  name               = "${var.name}-node"
  description        = "Nodes of the training cluster"
  assume_role_policy = data.aws_iam_policy_document.assume.json
}

resource "aws_iam_policy" "lake" {
  name        = "${var.name}-lake"
  description = "Read the data lake, write checkpoints and results"
  policy      = data.aws_iam_policy_document.lake.json
}

# The agent of Systems Manager: a shell on a node without SSH and without an open port.
resource "aws_iam_role_policy_attachment" "node" {
  for_each = {
    lake = aws_iam_policy.lake.arn
    ssm  = "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"
  }

  role       = aws_iam_role.node.name
  policy_arn = each.value
}

resource "aws_iam_instance_profile" "node" {
  name = "${var.name}-node"
  role = aws_iam_role.node.name
}
