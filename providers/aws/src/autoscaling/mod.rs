//! Amazon EC2 Auto Scaling.

pub mod group;
pub mod policy;
