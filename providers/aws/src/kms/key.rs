//! `aws_kms_key`. API: CreateKey, DescribeKey, GetKeyPolicy, PutKeyPolicy, GetKeyRotationStatus, EnableKeyRotation,
//! DisableKeyRotation, EnableKey, DisableKey, UpdateKeyDescription, ListResourceTags, TagResource, UntagResource,
//! ScheduleKeyDeletion.

use crate::client::Aws;
use crate::error::Answer;
use crate::once;
use crate::tags::{self, Tags};
use aws_sdk_kms::types::{KeyMetadata, KeySpec, KeyState, KeyUsageType, OriginType, Tag};
use gpuform_provider_sdk::prelude::*;

/// A key of KMS.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Key {
    /// The key's ID.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The key's ID.
    #[attr(computed)]
    pub key_id: Attr<String>,
    /// The key's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// What the key is for, in words.
    #[attr(optional, computed, validate = length(0..=8192))]
    pub description: Attr<String>,
    /// What the key is used for.
    #[attr(optional, default = "ENCRYPT_DECRYPT", force_new, validate = one_of(["ENCRYPT_DECRYPT", "SIGN_VERIFY", "GENERATE_VERIFY_MAC", "KEY_AGREEMENT"]))]
    pub key_usage: Attr<String>,
    /// The kind of key material.
    #[attr(optional, default = "SYMMETRIC_DEFAULT", force_new)]
    pub customer_master_key_spec: Attr<String>,
    /// The custom key store that holds the key.
    #[attr(optional, force_new, validate = length(1..=64))]
    pub custom_key_store_id: Attr<String>,
    /// The key in an external key manager.
    #[attr(optional, force_new, required_with = ["custom_key_store_id"])]
    pub xks_key_id: Attr<String>,
    /// Who may use the key (JSON).
    #[attr(optional, computed, suppress = same_policy, validate = json())]
    pub policy: Attr<String>,
    /// Whether a policy is accepted that forbids its own change.
    #[attr(optional, default = false)]
    pub bypass_policy_lockout_safety_check: Attr<bool>,
    /// Days until the key is deleted for good, 7 to 30; 30 unless given.
    #[attr(optional, validate = range(7..=30))]
    pub deletion_window_in_days: Attr<i32>,
    /// Whether the key can be used.
    #[attr(optional, default = true)]
    pub is_enabled: Attr<bool>,
    /// Whether the key material is replaced regularly.
    #[attr(optional, default = false)]
    pub enable_key_rotation: Attr<bool>,
    /// Days between two rotations.
    #[attr(optional, computed, required_with = ["enable_key_rotation"], validate = range(90..=2560))]
    pub rotation_period_in_days: Attr<i32>,
    /// Whether the key can be replicated to other regions.
    #[attr(optional, computed, force_new)]
    pub multi_region: Attr<bool>,
    /// Tags.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
    #[timeouts(create = "2m")]
    pub timeouts: Timeouts,
}

impl Resource for Key {
    type Client = Aws;
    const TYPE: &'static str = "aws_kms_key";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let tags = self.tags_all.or_default();
        // A role that the policy names may be too new to be known.
        let unknown_role = |e: &Error| e.has_code(&["MalformedPolicyDocumentException"]);
        let id = ctx
            .retry(unknown_role, |_| {
                once::once_tagged(ctx, &tags, |t| self.request(aws, t), || lookup(aws, ctx.client_token()))
            })
            .await?;
        self.id.set(id.clone());
        self.key_id.set(id.clone());
        let wait = Wait::until("key", &["Enabled", "Unavailable"]);
        ctx.wait_for(&wait, || state(aws, &id)).await?;
        if self.enable_key_rotation == true {
            self.rotate(ctx, &id).await?;
        }
        if self.is_enabled == false {
            enable(ctx, &id, false).await?;
        }
        let untag = aws.kms.untag_resource().key_id(&id).tag_keys(once::TOKEN_TAG).send().await;
        // A failure only leaves a tag that nobody sees.
        let _ = untag.or_fail("Removing a tag");
        Ok(())
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let aws = ctx.client();
        let Some(key) = find(aws, self.id.require("id")?).await?.filter(|k| !is_gone(k)) else { return Ok(None) };
        let id = key.key_id().to_owned();
        self.arn.set(key.arn().unwrap_or_default());
        self.description.set(key.description().unwrap_or_default());
        self.key_usage.set(key.key_usage().map(KeyUsageType::as_str).unwrap_or("ENCRYPT_DECRYPT"));
        self.customer_master_key_spec.set(key.key_spec().map(KeySpec::as_str).unwrap_or("SYMMETRIC_DEFAULT"));
        self.custom_key_store_id.refresh(key.custom_key_store_id().unwrap_or_default());
        self.xks_key_id.refresh(key.xks_key_configuration().and_then(|x| x.id()).unwrap_or_default());
        self.is_enabled.set(key.enabled());
        self.multi_region.set(key.multi_region().unwrap_or_default());
        self.bypass_policy_lockout_safety_check.set(self.bypass_policy_lockout_safety_check.or_default());
        let policy = aws.kms.get_key_policy().key_id(&id).policy_name("default").send().await;
        self.policy.set(policy.or_fail("Reading the key's policy")?.policy().unwrap_or_default());
        self.read_rotation(aws, &key).await?;
        self.key_id.set(id.clone());
        tags::refresh(key_tags(aws, &id).await?, &mut self.tags, &mut self.tags_all, aws);
        self.id.set(id);
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let (aws, id) = (ctx.client(), self.id.require("id")?);
        // Only an enabled key can be changed: enabling goes first, disabling last.
        let switched = (self.is_enabled != prior.is_enabled).then(|| self.is_enabled.or_default());
        if switched == Some(true) {
            enable(ctx, id, true).await?;
        }
        if self.enable_key_rotation != prior.enable_key_rotation
            || (self.enable_key_rotation == true && self.rotation_period_in_days != prior.rotation_period_in_days)
        {
            self.rotate(ctx, id).await?;
        }
        if self.description != prior.description && self.description.is_known() {
            let request = aws.kms.update_key_description().key_id(id).description(self.description.or_default());
            request.send().await.or_fail("Changing the key's description")?;
        }
        if self.policy != prior.policy && self.policy.is_known() {
            self.put_policy(ctx, id).await?;
        }
        update_tags(aws, id, &prior.tags_all.or_default(), &self.tags_all.or_default()).await?;
        if switched == Some(false) {
            enable(ctx, id, false).await?;
        }
        Ok(())
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let (aws, id) = (ctx.client(), self.id.require("id")?);
        let request = aws.kms.schedule_key_deletion().key_id(id);
        let request = request.set_pending_window_in_days(self.deletion_window_in_days.cloned());
        match request.send().await.or_fail("Deleting the key") {
            // Its deletion is scheduled already.
            Err(e)
                if e.has_code(&["KMSInvalidStateException"]) && find(aws, id).await?.is_some_and(|k| is_gone(&k)) => {}
            Err(e) => return Err(e),
            Ok(_) => {}
        }
        ctx.wait_until_gone(&Wait::until_gone("key"), || async {
            Ok(find(aws, id).await?.filter(|k| !is_gone(k)).map(|k| (state_of(&k), ())))
        })
        .await
    }

    async fn modify_plan(plan: &mut Plan<'_, Self>) -> Result<()> {
        // The period is AWS's to choose where rotation begins, and there is none where it ends.
        if plan.prior.is_some() && plan.changed("enable_key_rotation") && !plan.config.rotation_period_in_days.is_set()
        {
            plan.planned.rotation_period_in_days = Attr::Unknown;
        }
        let client = plan.client();
        tags::plan(&plan.planned.tags, &mut plan.planned.tags_all, client);
        Ok(())
    }

    async fn find_by_token(&self, token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let aws = ctx.client();
        let Some(id) = lookup(aws, token).await? else { return Ok(None) };
        let untag = aws.kms.untag_resource().key_id(&id).tag_keys(once::TOKEN_TAG).send().await;
        untag.or_fail("Removing a tag")?;
        let mut found = self.clone();
        found.id.set(id);
        found.read(ctx).await
    }
}

impl Key {
    async fn request(&self, aws: &Aws, tags: Tags) -> Result<String> {
        let store = self.custom_key_store_id.cloned();
        let origin = match (&store, self.xks_key_id.is_known()) {
            (Some(_), true) => Some(OriginType::ExternalKeyStore),
            (Some(_), false) => Some(OriginType::AwsCloudhsm),
            (None, _) => None,
        };
        let request = aws
            .kms
            .create_key()
            .set_description(self.description.cloned())
            .key_usage(KeyUsageType::from(self.key_usage.or_default().as_str()))
            .key_spec(KeySpec::from(self.customer_master_key_spec.or_default().as_str()))
            .set_custom_key_store_id(store)
            .set_xks_key_id(self.xks_key_id.cloned())
            .set_origin(origin)
            .set_policy(self.policy.cloned().filter(|p| !p.is_empty()))
            .bypass_policy_lockout_safety_check(self.bypass_policy_lockout_safety_check.or_default())
            .set_multi_region(self.multi_region.cloned())
            .set_tags(Some(api_tags(&tags)?).filter(|t| !t.is_empty()));
        let made = request.customize().config_override(once::kms()).send().await.or_fail("Creating the key")?;
        Ok(made.key_metadata().map(|k| k.key_id().to_owned()).unwrap_or_default())
    }

    async fn read_rotation(&mut self, aws: &Aws, key: &KeyMetadata) -> Result<()> {
        // Only KMS's own symmetric keys rotate; for others the question is an error.
        let symmetric = key.key_spec().is_none_or(|s| *s == KeySpec::SymmetricDefault);
        if !symmetric || key.origin().is_some_and(|o| *o != OriginType::AwsKms) {
            self.enable_key_rotation.set(false);
            self.rotation_period_in_days = Attr::Null;
            return Ok(());
        }
        let status = aws.kms.get_key_rotation_status().key_id(key.key_id()).send().await;
        let status = status.or_fail("Reading the key's rotation")?;
        self.enable_key_rotation.set(status.key_rotation_enabled());
        let period = status.rotation_period_in_days().filter(|_| status.key_rotation_enabled());
        self.rotation_period_in_days = period.into();
        Ok(())
    }

    /// Switches the rotation, or changes its period; a new key may be unknown or not enabled yet.
    async fn rotate(&self, ctx: &Context<Aws>, id: &str) -> Result<()> {
        let kms = &ctx.client().kms;
        ctx.retry(too_new, |_| async {
            if self.enable_key_rotation == true {
                let request = kms.enable_key_rotation().key_id(id);
                let request = request.set_rotation_period_in_days(self.rotation_period_in_days.cloned());
                request.send().await.or_fail("Enabling the key's rotation").map(drop)
            } else {
                kms.disable_key_rotation().key_id(id).send().await.or_fail("Disabling the key's rotation").map(drop)
            }
        })
        .await
    }

    async fn put_policy(&self, ctx: &Context<Aws>, id: &str) -> Result<()> {
        let request = ctx
            .client()
            .kms
            .put_key_policy()
            .key_id(id)
            .policy_name("default")
            .policy(self.policy.or_default())
            .bypass_policy_lockout_safety_check(self.bypass_policy_lockout_safety_check.or_default());
        // A role that the policy names may be too new to be known.
        ctx.retry(
            |e| e.has_code(&["MalformedPolicyDocumentException"]),
            |attempt| {
                let request = request.clone();
                async move {
                    let answer = request.send().await.or_fail("Changing the key's policy").map(drop);
                    answer.map_err(|e| if attempt > 12 { e.code("MalformedPolicyDocument") } else { e })
                }
            },
        )
        .await
    }
}

fn too_new(e: &Error) -> bool {
    e.has_code(&["DisabledException", "KMSInvalidStateException"])
}

async fn enable(ctx: &Context<Aws>, id: &str, on: bool) -> Result<()> {
    let kms = &ctx.client().kms;
    if on {
        kms.enable_key().key_id(id).send().await.or_fail("Enabling the key")?;
    } else {
        kms.disable_key().key_id(id).send().await.or_fail("Disabling the key")?;
    }
    let wait = Wait::until("key", if on { &["Enabled"] } else { &["Disabled"] });
    ctx.wait_for(&wait, || state(ctx.client(), id)).await
}

/// The key that carries the tag; KMS cannot search by tags, so each key is asked.
async fn lookup(aws: &Aws, token: &str) -> Result<Option<String>> {
    let mut keys = aws.kms.list_keys().into_paginator().items().send();
    while let Some(key) = keys.next().await {
        let key = key.or_fail("Listing the keys")?;
        let Some(id) = key.key_id() else { continue };
        // Keys of AWS services do not show their tags.
        let Ok(tags) = key_tags(aws, id).await else { continue };
        if tags.get(once::TOKEN_TAG).is_some_and(|t| t == token) {
            return Ok(Some(id.to_owned()));
        }
    }
    Ok(None)
}

async fn find(aws: &Aws, id: &str) -> Result<Option<KeyMetadata>> {
    Ok(aws.kms.describe_key().key_id(id).send().await.or_fail("Reading the key")?.key_metadata)
}

fn state_of(key: &KeyMetadata) -> String {
    key.key_state().map(|s| s.as_str().to_owned()).unwrap_or_default()
}

fn is_gone(key: &KeyMetadata) -> bool {
    matches!(key.key_state(), Some(KeyState::PendingDeletion | KeyState::PendingReplicaDeletion))
}

async fn state(aws: &Aws, id: &str) -> Result<Option<(String, ())>> {
    Ok(find(aws, id).await?.map(|k| (state_of(&k), ())))
}

async fn key_tags(aws: &Aws, id: &str) -> Result<Tags> {
    let mut pages = aws.kms.list_resource_tags().key_id(id).into_paginator().items().send();
    let mut tags = Tags::new();
    while let Some(tag) = pages.next().await {
        let tag = tag.or_fail("Reading the key's tags")?;
        tags.insert(tag.tag_key, tag.tag_value);
    }
    Ok(tags)
}

fn api_tags(tags: &Tags) -> Result<Vec<Tag>> {
    let tag = |(k, v): (&String, &String)| Tag::builder().tag_key(k).tag_value(v).build();
    let tags: std::result::Result<Vec<Tag>, _> = tags.iter().map(tag).collect();
    tags.map_err(|e| Error::new("Invalid tag").detail(e.to_string()))
}

async fn update_tags(aws: &Aws, id: &str, prior: &Tags, planned: &Tags) -> Result<()> {
    let gone: Vec<String> = prior.keys().filter(|k| !planned.contains_key(*k)).cloned().collect();
    if !gone.is_empty() {
        let request = aws.kms.untag_resource().key_id(id).set_tag_keys(Some(gone));
        request.send().await.or_fail("Removing the key's tags")?;
    }
    let new: Tags =
        planned.iter().filter(|(k, v)| prior.get(*k) != Some(v)).map(|(k, v)| (k.clone(), v.clone())).collect();
    if !new.is_empty() {
        let request = aws.kms.tag_resource().key_id(id).set_tags(Some(api_tags(&new)?));
        request.send().await.or_fail("Setting the key's tags")?;
    }
    Ok(())
}

/// Policies that say the same: lists of one element and the element, order of lists.
fn same_policy(old: &Value, new: &Value) -> bool {
    let parse = |v: &Value| serde_json::from_str(v.as_str()?).ok().map(canonical);
    matches!((parse(old), parse(new)), (Some(a), Some(b)) if a == b)
}

/// A policy in one spelling: no lists of one element, and lists in order.
fn canonical(policy: serde_json::Value) -> serde_json::Value {
    use serde_json::Value as Json;
    match policy {
        Json::Array(items) => {
            let mut items: Vec<Json> = items.into_iter().map(canonical).collect();
            items.sort_by_cached_key(Json::to_string);
            items.dedup();
            match <[Json; 1]>::try_from(items) {
                Ok([only]) => only,
                Err(items) => Json::Array(items),
            }
        }
        Json::Object(members) => Json::Object(members.into_iter().map(|(k, v)| (k, canonical(v))).collect()),
        other => other,
    }
}
