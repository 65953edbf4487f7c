//! Resources and data sources of Amazon EC2 and VPC.

pub mod vpc;
