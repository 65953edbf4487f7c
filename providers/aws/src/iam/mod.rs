//! Identity and Access Management: one file per resource or data source.

pub mod instance_profile;
pub mod policy;
pub mod policy_document;
pub mod role;
pub mod role_policy;
pub mod role_policy_attachment;
