//! Tags: `tags` is what the configuration says, `tags_all` what the object has, the provider's `default_tags`
//! included. Tags that `ignore_tags` names, and AWS's own `aws:` tags, are never seen.

use crate::client::Aws;
use crate::error::Answer;
use gpuform_provider_sdk::prelude::*;

pub type Tags = BTreeMap<String, String>;

/// Plans `tags_all` from `tags` and the provider's defaults. Call it from `modify_plan`.
pub fn plan(tags: &Attr<Tags>, tags_all: &mut Attr<Tags>, client: Option<&Aws>) {
    *tags_all = match (tags, client) {
        (Attr::Unknown, _) | (_, None) => Attr::Unknown,
        (tags, Some(aws)) => Attr::Known(all(tags, aws)),
    };
}

/// The plan of a resource in which `tags_all` is all that needs thought.
macro_rules! plan_tags {
    () => {
        async fn modify_plan(plan: &mut Plan<'_, Self>) -> Result<()> {
            let client = plan.client();
            crate::tags::plan(&plan.planned.tags, &mut plan.planned.tags_all, client);
            Ok(())
        }
    };
}
pub(crate) use plan_tags;

/// The tags that an object is to have.
pub fn all(tags: &Attr<Tags>, aws: &Aws) -> Tags {
    let mut all = aws.default_tags.clone();
    all.extend(tags.or_default());
    all
}

/// Takes tags that AWS reports into state: `tags_all` in full, `tags` without those that come from the defaults.
pub fn refresh(found: Tags, tags: &mut Attr<Tags>, tags_all: &mut Attr<Tags>, aws: &Aws) {
    let found: Tags = found.into_iter().filter(|(k, _)| !aws.ignores_tag(k)).collect();
    let written = tags.or_default();
    let own = found
        .iter()
        .filter(|(k, v)| written.contains_key(*k) || aws.default_tags.get(*k) != Some(v))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect::<Tags>();
    tags.refresh(own);
    tags_all.set(found);
}

/// Whether tags that AWS reports are the planned `tags_all`.
pub fn are(mut found: Tags, tags_all: &Attr<Tags>, aws: &Aws) -> bool {
    found.retain(|k, _| !aws.ignores_tag(k));
    found == tags_all.or_default()
}

/// Tags in the form of EC2, for creates with a tag specification.
pub fn ec2(tags: &Tags) -> Vec<aws_sdk_ec2::types::Tag> {
    tags.iter().map(|(k, v)| aws_sdk_ec2::types::Tag::builder().key(k).value(v).build()).collect()
}

/// A tag specification for a create, or nothing where there are no tags.
pub fn specification(
    kind: aws_sdk_ec2::types::ResourceType,
    tags: &Tags,
) -> Option<aws_sdk_ec2::types::TagSpecification> {
    (!tags.is_empty())
        .then(|| aws_sdk_ec2::types::TagSpecification::builder().resource_type(kind).set_tags(Some(ec2(tags))).build())
}

/// The tag specifications of a create that makes one object, or nothing where there are no tags.
pub fn specifications(
    kind: aws_sdk_ec2::types::ResourceType,
    tags: &Tags,
) -> Option<Vec<aws_sdk_ec2::types::TagSpecification>> {
    specification(kind, tags).map(|one| vec![one])
}

/// Tags that EC2 reports.
pub fn from_ec2(tags: &[aws_sdk_ec2::types::Tag]) -> Tags {
    tags.iter().filter_map(|t| Some((t.key()?.to_owned(), t.value().unwrap_or_default().to_owned()))).collect()
}

/// Brings the tags of an EC2 object from `prior` to `planned` (both `tags_all`).
pub async fn update_ec2(aws: &Aws, id: &str, prior: &Attr<Tags>, planned: &Attr<Tags>) -> Result<()> {
    let (prior, planned) = (prior.or_default(), planned.or_default());
    let gone: Vec<_> = prior
        .keys()
        .filter(|k| !planned.contains_key(*k))
        .map(|k| aws_sdk_ec2::types::Tag::builder().key(k).build())
        .collect();
    let new: Tags = planned.into_iter().filter(|(k, v)| prior.get(k) != Some(v)).collect();
    if !gone.is_empty() {
        aws.ec2.delete_tags().resources(id).set_tags(Some(gone)).send().await.or_fail("Removing tags")?;
    }
    if !new.is_empty() {
        aws.ec2.create_tags().resources(id).set_tags(Some(ec2(&new))).send().await.or_fail("Setting tags")?;
    }
    Ok(())
}

/// What to remove and what to set to bring tags from `prior` to `planned` (both `tags_all`).
pub fn difference(prior: &Attr<Tags>, planned: &Attr<Tags>) -> (Vec<String>, Tags) {
    let (prior, planned) = (prior.or_default(), planned.or_default());
    let gone = prior.keys().filter(|k| !planned.contains_key(*k)).cloned().collect();
    (gone, planned.into_iter().filter(|(k, v)| prior.get(k) != Some(v)).collect())
}

/// Tags in the form of IAM.
pub fn iam(tags: &Tags) -> Vec<aws_sdk_iam::types::Tag> {
    tags.iter().filter_map(|(k, v)| aws_sdk_iam::types::Tag::builder().key(k).value(v).build().ok()).collect()
}

/// Tags that IAM reports.
pub fn from_iam(tags: &[aws_sdk_iam::types::Tag]) -> Tags {
    tags.iter().map(|t| (t.key().to_owned(), t.value().to_owned())).collect()
}

/// Tags in the form of S3.
pub fn s3(tags: &Tags) -> Vec<aws_sdk_s3::types::Tag> {
    tags.iter().filter_map(|(k, v)| aws_sdk_s3::types::Tag::builder().key(k).value(v).build().ok()).collect()
}

/// Tags that S3 reports.
pub fn from_s3(tags: &[aws_sdk_s3::types::Tag]) -> Tags {
    tags.iter().map(|t| (t.key().to_owned(), t.value().to_owned())).collect()
}
