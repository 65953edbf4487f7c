//! `aws_s3_object`. API: PutObject, HeadObject, GetObjectTagging, PutObjectTagging, DeleteObject, ListObjectVersions,
//! DeleteObjects.

use crate::client::Aws;
use crate::ec2::util::refresh_key;
use crate::error::Answer;
use crate::policy::eventually;
use crate::s3::empty;
use crate::tags::{self, Tags};
use aws_sdk_s3::operation::head_object::HeadObjectOutput;
use aws_sdk_s3::primitives::{ByteStream, SdkBody};
use aws_sdk_s3::types::{ObjectCannedAcl, ServerSideEncryption, StorageClass, Tagging};
use gpuform_provider_sdk::prelude::*;

/// An object of a bucket.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Object {
    /// The bucket's name and the object's key, with a slash between.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// A canned access list, e.g. `private`.
    #[attr(optional)]
    pub acl: Attr<String>,
    /// The object's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// The bucket's name.
    #[attr(required, force_new, validate = length(1..))]
    pub bucket: Attr<String>,
    /// Whether a data key of the bucket is used, so that KMS is asked less often.
    #[attr(optional, computed)]
    pub bucket_key_enabled: Attr<bool>,
    /// The header Cache-Control.
    #[attr(optional)]
    pub cache_control: Attr<String>,
    /// The content as text.
    #[attr(optional, conflicts_with = ["content_base64", "source"])]
    pub content: Attr<String>,
    /// The content in Base64.
    #[attr(optional, conflicts_with = ["content", "source"])]
    pub content_base64: Attr<String>,
    /// The header Content-Disposition.
    #[attr(optional)]
    pub content_disposition: Attr<String>,
    /// The header Content-Encoding.
    #[attr(optional)]
    pub content_encoding: Attr<String>,
    /// The header Content-Language.
    #[attr(optional)]
    pub content_language: Attr<String>,
    /// The content's media type.
    #[attr(optional, computed)]
    pub content_type: Attr<String>,
    /// Checksum of the content; written (`filemd5(…)`), a change uploads the object again.
    #[attr(optional, computed)]
    pub etag: Attr<String>,
    /// Whether locks of the object are overridden when it is destroyed.
    #[attr(optional, default = false)]
    pub force_destroy: Attr<bool>,
    /// The object's key.
    #[attr(required, force_new, validate = length(1..=1024))]
    pub key: Attr<String>,
    /// ARN of the KMS key.
    #[attr(optional, computed)]
    pub kms_key_id: Attr<String>,
    /// Metadata; keys in small letters.
    #[attr(optional)]
    pub metadata: Attr<Tags>,
    /// `AES256`, `aws:kms` or `aws:kms:dsse`.
    #[attr(optional, computed, validate = one_of(["AES256", "aws:kms", "aws:kms:dsse"]))]
    pub server_side_encryption: Attr<String>,
    /// Path of a file with the content.
    #[attr(optional, conflicts_with = ["content", "content_base64"])]
    pub source: Attr<String>,
    /// Any text; a change uploads the object again.
    #[attr(optional)]
    pub source_hash: Attr<String>,
    /// Storage class, e.g. `STANDARD` or `INTELLIGENT_TIERING`.
    #[attr(optional, computed)]
    pub storage_class: Attr<String>,
    /// Tags.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
    /// The object's version, where the bucket keeps versions.
    #[attr(computed)]
    pub version_id: Attr<String>,
    /// Where websites redirect requests for the object.
    #[attr(optional)]
    pub website_redirect: Attr<String>,
}

impl Resource for Object {
    type Client = Aws;
    const TYPE: &'static str = "aws_s3_object";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let (bucket, key) = (self.bucket.require("bucket")?.clone(), self.key.require("key")?.clone());
        eventually(ctx, |_| self.put(ctx.client())).await?;
        self.id.set(format!("{bucket}/{key}"));
        eventually(ctx, |_| find(ctx.client(), &bucket, &key)).await.map(drop)
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let aws = ctx.client();
        if !self.key.is_known() {
            self.locate()?;
        }
        let (bucket, key) = (self.bucket.require("bucket")?.clone(), self.key.require("key")?.clone());
        let found = find(aws, &bucket, &key).await?;
        self.refresh(&found);
        self.arn.set(format!("arn:{}:s3:::{bucket}/{key}", aws.partition()));
        let answer = aws.s3.get_object_tagging().bucket(bucket).key(key).send().await;
        let answer = answer.or_fail("Reading the object's tags")?;
        tags::refresh(tags::from_s3(answer.tag_set()), &mut self.tags, &mut self.tags_all, aws);
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        if self.uploads_anew(prior) {
            return self.put(ctx.client()).await;
        }
        if self.tags_all == prior.tags_all {
            return Ok(());
        }
        let tagging = Tagging::builder().set_tag_set(Some(tags::s3(&self.tags_all.or_default()))).build();
        let tagging = tagging.map_err(|e| Error::new("Invalid tags").detail(e.to_string()).at("tags"))?;
        let request = ctx.client().s3.put_object_tagging().set_bucket(self.bucket.cloned()).set_key(self.key.cloned());
        request.tagging(tagging).send().await.or_fail("Setting the object's tags").map(drop)
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let (bucket, key) = (self.bucket.require("bucket")?, self.key.require("key")?);
        let versions = self.version_id.as_deref().is_some_and(|v| !v.is_empty() && v != "null");
        if versions {
            return empty::object(ctx.client(), bucket, key, self.force_destroy.or_default()).await;
        }
        let request = ctx.client().s3.delete_object().bucket(bucket).key(key);
        request.send().await.or_fail("Deleting the object").map(drop)
    }

    async fn modify_plan(plan: &mut Plan<'_, Self>) -> Result<()> {
        let client = plan.client();
        tags::plan(&plan.planned.tags, &mut plan.planned.tags_all, client);
        let Some(prior) = &plan.prior else { return Ok(()) };
        let planned = &mut plan.planned;
        if planned.uploads_anew(prior) {
            planned.version_id = Attr::Unknown;
            if plan.config.etag.is_null() {
                planned.etag = Attr::Unknown;
            }
        }
        Ok(())
    }

    async fn find_by_token(&self, _token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let mut state = self.clone();
        state.id.set(format!("{}/{}", self.bucket.require("bucket")?, self.key.require("key")?));
        state.read(ctx).await
    }
}

impl Object {
    /// Whether the object must be uploaded again; tags alone can be set by themselves.
    fn uploads_anew(&self, prior: &Self) -> bool {
        let without = |o: &Self| Object {
            tags: Attr::Null,
            tags_all: Attr::Null,
            version_id: Attr::Null,
            force_destroy: Attr::Null,
            etag: if o.etag.is_unknown() { prior.etag.clone() } else { o.etag.clone() },
            ..o.clone()
        };
        without(self) != without(prior)
    }

    async fn put(&self, aws: &Aws) -> Result<()> {
        let key = self.kms_key_id.cloned().filter(|k| !k.is_empty());
        let encryption = match (self.server_side_encryption.as_deref(), &key) {
            (Some(kind), _) if !kind.is_empty() => Some(ServerSideEncryption::from(kind)),
            (_, Some(_)) => Some(ServerSideEncryption::AwsKms),
            _ => None,
        };
        let set = |a: &Attr<String>| a.cloned().filter(|v| !v.is_empty());
        let kms = encryption.as_ref().is_some_and(|e| *e != ServerSideEncryption::Aes256);
        let request = aws.s3.put_object().set_bucket(self.bucket.cloned()).set_key(self.key.cloned());
        let request = request
            .set_acl(set(&self.acl).map(|a| ObjectCannedAcl::from(a.as_str())))
            .set_bucket_key_enabled(self.bucket_key_enabled.cloned().filter(|on| *on))
            .set_cache_control(set(&self.cache_control))
            .set_content_disposition(set(&self.content_disposition))
            .set_content_encoding(set(&self.content_encoding))
            .set_content_language(set(&self.content_language))
            .set_content_type(set(&self.content_type))
            .set_metadata(self.metadata.cloned().map(|m| m.into_iter().collect()))
            .set_server_side_encryption(encryption)
            .set_ssekms_key_id(key.filter(|_| kms))
            .set_storage_class(set(&self.storage_class).map(|c| StorageClass::from(c.as_str())))
            .set_tagging(query(&self.tags_all.or_default()))
            .set_website_redirect_location(set(&self.website_redirect));
        request.body(self.body().await?).send().await.or_fail("Uploading the object").map(drop)
    }

    async fn body(&self) -> Result<ByteStream> {
        if let Some(path) = self.source.as_deref().filter(|p| !p.is_empty()) {
            let path = match path.strip_prefix("~/").zip(std::env::var_os("HOME")) {
                Some((rest, home)) => std::path::Path::new(&home).join(rest),
                None => path.into(),
            };
            let unreadable = |e: &dyn std::error::Error| {
                Error::new("The file cannot be read").detail(format!("{}: {e}", path.display())).at("source")
            };
            return ByteStream::from_path(&path).await.map_err(|e| unreadable(&e));
        }
        if let Some(text) = self.content_base64.as_deref() {
            let bytes = aws_smithy_types::base64::decode(text);
            let bytes = bytes.map_err(|e| Error::new("Invalid Base64").detail(e.to_string()).at("content_base64"))?;
            return Ok(ByteStream::from(bytes));
        }
        Ok(ByteStream::new(SdkBody::from(self.content.or_default())))
    }

    /// Bucket and key of an import: `bucket/key` or `s3://bucket/key`.
    fn locate(&mut self) -> Result<()> {
        let id = self.id.require("id")?;
        let id = id.strip_prefix("s3://").unwrap_or(id).to_owned();
        let Some((bucket, key)) = id.split_once('/') else {
            return Err(Error::new("Invalid ID of an object").detail(format!("{id:?} is not of the form bucket/key.")));
        };
        (self.bucket, self.key) = (bucket.into(), key.into());
        self.id.set(id.as_str());
        Ok(())
    }

    fn refresh(&mut self, found: &HeadObjectOutput) {
        let text = |t: Option<&str>| t.unwrap_or_default().to_owned();
        self.bucket_key_enabled.set(found.bucket_key_enabled().unwrap_or_default());
        self.cache_control.refresh(text(found.cache_control()));
        self.content_disposition.refresh(text(found.content_disposition()));
        self.content_encoding
            .refresh(text(found.content_encoding()).trim_end_matches("aws-chunked").trim_end_matches(','));
        self.content_language.refresh(text(found.content_language()));
        self.content_type.set(text(found.content_type()));
        self.etag.set(found.e_tag().unwrap_or_default().trim_matches('"'));
        self.force_destroy.set(self.force_destroy.or_default());
        match found.ssekms_key_id().filter(|k| !k.is_empty()) {
            Some(key) => refresh_key(&mut self.kms_key_id, Some(key)),
            None if self.kms_key_id.is_known() => {}
            None => self.kms_key_id = Attr::Null,
        }
        let metadata = found.metadata().into_iter().flatten().map(|(k, v)| (k.to_lowercase(), v.clone()));
        self.metadata.refresh(metadata.collect::<Tags>());
        let encryption = found.server_side_encryption().map(|e| e.as_str()).unwrap_or_default();
        if !encryption.is_empty() || !self.server_side_encryption.is_known() {
            self.server_side_encryption.set(encryption);
        }
        self.storage_class.set(found.storage_class().map_or("STANDARD", |c| c.as_str()));
        self.version_id.set(text(found.version_id()));
        self.website_redirect.refresh(text(found.website_redirect_location()));
    }
}

async fn find(aws: &Aws, bucket: &str, key: &str) -> Result<HeadObjectOutput> {
    aws.s3.head_object().bucket(bucket).key(key).send().await.or_fail("Reading the object")
}

/// Tags as the query string that an upload takes.
fn query(tags: &Tags) -> Option<String> {
    let mut text = String::new();
    for (key, value) in tags {
        let between = if text.is_empty() { "" } else { "&" };
        text.extend([between, &escaped(key), "=", &escaped(value)]);
    }
    (!text.is_empty()).then_some(text)
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}
