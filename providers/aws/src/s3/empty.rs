//! Deleting objects in all their versions: of a whole bucket before it is destroyed, or of one key.

use crate::client::Aws;
use crate::error::Answer;
use aws_sdk_s3::types::{Delete, ObjectIdentifier};
use gpuform_provider_sdk::prelude::*;

/// Deletes every version of every object, and the marks of deleted ones.
pub async fn bucket(aws: &Aws, bucket: &str, bypass_locks: bool) -> Result<()> {
    versions(aws, bucket, None, bypass_locks).await
}

/// Deletes every version of one object.
pub async fn object(aws: &Aws, bucket: &str, key: &str, bypass_locks: bool) -> Result<()> {
    versions(aws, bucket, Some(key), bypass_locks).await
}

async fn versions(aws: &Aws, bucket: &str, key: Option<&str>, bypass_locks: bool) -> Result<()> {
    let (mut next_key, mut next_version) = (None, None);
    loop {
        let list = aws.s3.list_object_versions().bucket(bucket).set_prefix(key.map(str::to_owned));
        let page = list.set_key_marker(next_key).set_version_id_marker(next_version).send().await;
        let page = page.or_fail("Listing the bucket's objects")?;
        let found = page.versions().iter().map(|v| (v.key(), v.version_id()));
        let marks = page.delete_markers().iter().map(|m| (m.key(), m.version_id()));
        let mut doomed = Vec::new();
        for (found, version) in found.chain(marks) {
            let Some(name) = found.filter(|k| key.is_none_or(|key| key == *k)) else { continue };
            let object = ObjectIdentifier::builder().key(name).set_version_id(version.map(str::to_owned)).build();
            doomed.push(object.map_err(|e| Error::new("Deleting objects failed").detail(e.to_string()))?);
        }
        delete(aws, bucket, doomed, bypass_locks).await?;
        if !page.is_truncated().unwrap_or_default() {
            return Ok(());
        }
        next_key = page.next_key_marker().map(str::to_owned);
        next_version = page.next_version_id_marker().map(str::to_owned);
    }
}

/// Deletes up to a thousand versions, which is what a page of the list has.
async fn delete(aws: &Aws, bucket: &str, doomed: Vec<ObjectIdentifier>, bypass_locks: bool) -> Result<()> {
    if doomed.is_empty() {
        return Ok(());
    }
    let doomed = Delete::builder().set_objects(Some(doomed)).quiet(true).build();
    let doomed = doomed.map_err(|e| Error::new("Deleting objects failed").detail(e.to_string()))?;
    let request = aws.s3.delete_objects().bucket(bucket).delete(doomed);
    let request = request.set_bypass_governance_retention(bypass_locks.then_some(true));
    let answer = request.send().await.or_fail("Deleting the bucket's objects")?;
    match answer.errors().first() {
        None => Ok(()),
        Some(e) => Err(Error::new("Deleting the bucket's objects failed").detail(format!(
            "{}: {}: {}",
            e.key().unwrap_or_default(),
            e.code().unwrap_or_default(),
            e.message().unwrap_or_default()
        ))),
    }
}
