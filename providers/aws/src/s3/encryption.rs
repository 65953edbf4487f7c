//! `aws_s3_bucket_server_side_encryption_configuration`. API: PutBucketEncryption, GetBucketEncryption,
//! DeleteBucketEncryption.

use crate::client::Aws;
use crate::ec2::util::refresh_key;
use crate::error::Answer;
use aws_sdk_s3::types::{
    ServerSideEncryption, ServerSideEncryptionByDefault, ServerSideEncryptionConfiguration, ServerSideEncryptionRule,
};
use gpuform_provider_sdk::prelude::*;

/// How new objects of a bucket are encrypted.
#[derive(Model, Clone, PartialEq, Default)]
pub struct BucketEncryption {
    /// The bucket's name.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The bucket's name.
    #[attr(required, force_new)]
    pub bucket: Attr<String>,
    /// The account that must own the bucket.
    #[attr(optional, force_new)]
    pub expected_bucket_owner: Attr<String>,
    /// The rule.
    #[block(nesting = "set", min = 1)]
    pub rule: Vec<Rule>,
}

/// A rule.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Rule {
    /// Whether one data key serves many objects, so that KMS is asked less often.
    #[attr(optional)]
    pub bucket_key_enabled: Attr<bool>,
    /// What is used where a request does not say.
    #[block(max = 1)]
    pub apply_server_side_encryption_by_default: Vec<ByDefault>,
}

/// The encryption used where a request does not say.
#[derive(Model, Clone, PartialEq, Default)]
pub struct ByDefault {
    /// The KMS key: its ID or ARN.
    #[attr(optional)]
    pub kms_master_key_id: Attr<String>,
    /// `AES256`, `aws:kms` or `aws:kms:dsse`.
    #[attr(required, validate = one_of(["AES256", "aws:kms", "aws:kms:dsse"]))]
    pub sse_algorithm: Attr<String>,
}

impl Resource for BucketEncryption {
    type Client = Aws;
    const TYPE: &'static str = "aws_s3_bucket_server_side_encryption_configuration";

    bucket_setting!();

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let bucket = self.id.require("id")?.clone();
        let found = find(ctx.client(), &bucket).await?;
        let mut old = std::mem::take(&mut self.rule).into_iter();
        self.rule = found.iter().map(|f| refreshed(old.next().unwrap_or_default(), f)).collect();
        self.bucket.set(bucket);
        Ok(Some(self))
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let request = ctx.client().s3.delete_bucket_encryption().set_bucket(self.id.known());
        match request.send().await.or_fail("Deleting the bucket's encryption settings") {
            Err(e) if e.has_code(&["ServerSideEncryptionConfigurationNotFoundError"]) => Ok(()),
            other => other.map(drop),
        }
    }
}

impl BucketEncryption {
    async fn put(&self, aws: &Aws) -> Result<()> {
        let rules = self.rule.iter().map(rendered).collect::<Result<Vec<_>>>()?;
        let rules = ServerSideEncryptionConfiguration::builder().set_rules(Some(rules)).build().map_err(invalid)?;
        let request = aws.s3.put_bucket_encryption().set_bucket(self.bucket.cloned());
        let request = request.set_expected_bucket_owner(self.expected_bucket_owner.cloned());
        let request = request.server_side_encryption_configuration(rules);
        request.send().await.or_fail("Setting the bucket's encryption").map(drop)
    }
}

fn rendered(rule: &Rule) -> Result<ServerSideEncryptionRule> {
    let mut builder = ServerSideEncryptionRule::builder().set_bucket_key_enabled(rule.bucket_key_enabled.cloned());
    if let Some(default) = rule.apply_server_side_encryption_by_default.first() {
        let default = ServerSideEncryptionByDefault::builder()
            .sse_algorithm(ServerSideEncryption::from(default.sse_algorithm.or_default().as_str()))
            .set_kms_master_key_id(default.kms_master_key_id.cloned().filter(|k| !k.is_empty()))
            .build()
            .map_err(invalid)?;
        builder = builder.apply_server_side_encryption_by_default(default);
    }
    Ok(builder.build())
}

fn refreshed(mut rule: Rule, found: &ServerSideEncryptionRule) -> Rule {
    rule.bucket_key_enabled.refresh(found.bucket_key_enabled().unwrap_or_default());
    let old = rule.apply_server_side_encryption_by_default.pop();
    if let Some(found) = found.apply_server_side_encryption_by_default() {
        let mut default = old.unwrap_or_default();
        default.sse_algorithm.set(found.sse_algorithm().as_str());
        match found.kms_master_key_id().filter(|k| !k.is_empty()) {
            Some(key) => refresh_key(&mut default.kms_master_key_id, Some(key)),
            None => default.kms_master_key_id.refresh(""),
        }
        rule.apply_server_side_encryption_by_default.push(default);
    }
    rule
}

async fn find(aws: &Aws, bucket: &str) -> Result<Vec<ServerSideEncryptionRule>> {
    let none = || Error::not_found("The bucket has no encryption settings");
    match aws.s3.get_bucket_encryption().bucket(bucket).send().await.or_fail("Reading the bucket's encryption") {
        Ok(answer) => Ok(answer.server_side_encryption_configuration.ok_or_else(none)?.rules),
        Err(e) if e.has_code(&["ServerSideEncryptionConfigurationNotFoundError"]) => Err(none()),
        Err(e) => Err(e),
    }
}

fn invalid(e: impl std::error::Error) -> Error {
    Error::new("Invalid encryption settings").detail(e.to_string()).at("rule")
}
