//! The rules of a bucket's lifecycle: their blocks, the API's form of them, and one form of those that mean the same.

use crate::ec2::util::{parse_time, render_time, same_time};
use crate::tags::{self, Tags};
use aws_sdk_s3::types::{
    self, AbortIncompleteMultipartUpload, ExpirationStatus, LifecycleExpiration, LifecycleRule,
    LifecycleRuleAndOperator, LifecycleRuleFilter, TransitionStorageClass,
};
use gpuform_provider_sdk::prelude::*;
use gpuform_provider_sdk::validate::one_of;

/// A rule.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Rule {
    /// The rule's ID.
    #[attr(required, validate = length(1..=255))]
    pub id: Attr<String>,
    /// Beginning of the keys of the objects concerned.
    #[attr(optional, deprecated = "use filter")]
    pub prefix: Attr<String>,
    /// `Enabled` or `Disabled`.
    #[attr(required, validate = one_of(["Enabled", "Disabled"]))]
    pub status: Attr<String>,
    /// When uploads that were not completed are given up.
    #[block(max = 1)]
    pub abort_incomplete_multipart_upload: Vec<Abort>,
    /// When objects are deleted.
    #[block(max = 1)]
    pub expiration: Vec<Expiration>,
    /// The objects concerned; all unless given.
    #[block(max = 1)]
    pub filter: Vec<Filter>,
    /// When old versions are deleted.
    #[block(max = 1)]
    pub noncurrent_version_expiration: Vec<NoncurrentExpiration>,
    /// When old versions move.
    #[block(nesting = "set")]
    pub noncurrent_version_transition: Vec<NoncurrentTransition>,
    /// When objects move.
    #[block(nesting = "set")]
    pub transition: Vec<Transition>,
}

/// When uploads that were not completed are given up.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Abort {
    /// Days after the upload began.
    #[attr(optional)]
    pub days_after_initiation: Attr<i32>,
}

/// When objects are deleted.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Expiration {
    /// On a day, at midnight UTC: `2030-01-31T00:00:00Z`.
    #[attr(optional, suppress = same_time)]
    pub date: Attr<String>,
    /// Days after the object was made.
    #[attr(optional)]
    pub days: Attr<i32>,
    /// Whether marks of deleted objects without versions are removed.
    #[attr(optional)]
    pub expired_object_delete_marker: Attr<bool>,
}

/// The objects concerned.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Filter {
    /// Objects larger than this many bytes.
    #[attr(optional)]
    pub object_size_greater_than: Attr<i64>,
    /// Objects smaller than this many bytes.
    #[attr(optional)]
    pub object_size_less_than: Attr<i64>,
    /// Beginning of the key.
    #[attr(optional)]
    pub prefix: Attr<String>,
    /// Several conditions.
    #[block(max = 1)]
    pub and: Vec<And>,
    /// A tag.
    #[block(max = 1)]
    pub tag: Vec<Tag>,
}

/// Conditions which must all hold.
#[derive(Model, Clone, PartialEq, Default)]
pub struct And {
    /// Objects larger than this many bytes.
    #[attr(optional)]
    pub object_size_greater_than: Attr<i64>,
    /// Objects smaller than this many bytes.
    #[attr(optional)]
    pub object_size_less_than: Attr<i64>,
    /// Beginning of the key.
    #[attr(optional)]
    pub prefix: Attr<String>,
    /// Tags that the object has.
    #[attr(optional)]
    pub tags: Attr<Tags>,
}

/// A tag that the object has.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Tag {
    /// The tag's key.
    #[attr(required)]
    pub key: Attr<String>,
    /// The tag's value.
    #[attr(required)]
    pub value: Attr<String>,
}

/// When old versions are deleted.
#[derive(Model, Clone, PartialEq, Default)]
pub struct NoncurrentExpiration {
    /// How many old versions stay in any case.
    #[attr(optional)]
    pub newer_noncurrent_versions: Attr<i32>,
    /// Days after the version became an old one.
    #[attr(required)]
    pub noncurrent_days: Attr<i32>,
}

/// When old versions move.
#[derive(Model, Clone, PartialEq, Default)]
pub struct NoncurrentTransition {
    /// How many old versions stay in any case.
    #[attr(optional)]
    pub newer_noncurrent_versions: Attr<i32>,
    /// Days after the version became an old one.
    #[attr(required)]
    pub noncurrent_days: Attr<i32>,
    /// Where to.
    #[attr(required, validate = storage_class())]
    pub storage_class: Attr<String>,
}

/// When objects move.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Transition {
    /// On a day, at midnight UTC: `2030-01-31T00:00:00Z`.
    #[attr(optional, suppress = same_time)]
    pub date: Attr<String>,
    /// Days after the object was made.
    #[attr(optional)]
    pub days: Attr<i32>,
    /// Where to: `STANDARD_IA`, `INTELLIGENT_TIERING`, `GLACIER`, `DEEP_ARCHIVE` …
    #[attr(required, validate = storage_class())]
    pub storage_class: Attr<String>,
}

fn storage_class() -> gpuform_provider_sdk::validate::Validator {
    one_of(["GLACIER", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "DEEP_ARCHIVE", "GLACIER_IR"])
}

/// The rule as the API takes it.
pub fn to_api(rule: &Rule) -> Result<LifecycleRule> {
    let class = |c: &Attr<String>| c.as_deref().map(TransitionStorageClass::from);
    let mut builder = LifecycleRule::builder().set_id(rule.id.cloned());
    builder = match rule.prefix.cloned().filter(|p| !p.is_empty()) {
        Some(prefix) if rule.filter.is_empty() => set_prefix(builder, prefix),
        _ => builder.filter(filter_to_api(rule.filter.first())?),
    };
    for t in &rule.transition {
        let date = t.date.as_deref().and_then(parse_time);
        let t = types::Transition::builder().set_days(t.days.cloned()).set_storage_class(class(&t.storage_class));
        builder = builder.transitions(t.set_date(date).build());
    }
    for t in &rule.noncurrent_version_transition {
        let t = types::NoncurrentVersionTransition::builder()
            .set_newer_noncurrent_versions(t.newer_noncurrent_versions.cloned())
            .set_noncurrent_days(t.noncurrent_days.cloned())
            .set_storage_class(class(&t.storage_class));
        builder = builder.noncurrent_version_transitions(t.build());
    }
    let expiration = rule.expiration.first().map(|e| {
        LifecycleExpiration::builder()
            .set_date(e.date.as_deref().and_then(parse_time))
            .set_days(e.days.cloned().filter(|d| *d != 0))
            .set_expired_object_delete_marker(e.expired_object_delete_marker.cloned())
            .build()
    });
    let old = rule.noncurrent_version_expiration.first().map(|e| {
        types::NoncurrentVersionExpiration::builder()
            .set_newer_noncurrent_versions(e.newer_noncurrent_versions.cloned())
            .set_noncurrent_days(e.noncurrent_days.cloned())
            .build()
    });
    let abort = rule.abort_incomplete_multipart_upload.first().map(|a| {
        AbortIncompleteMultipartUpload::builder().set_days_after_initiation(a.days_after_initiation.cloned()).build()
    });
    builder
        .set_expiration(expiration)
        .set_noncurrent_version_expiration(old)
        .set_abort_incomplete_multipart_upload(abort)
        .status(ExpirationStatus::from(rule.status.or_default().as_str()))
        .build()
        .map_err(|e| Error::new("Invalid rule").detail(e.to_string()).at("rule"))
}

/// A rule without a filter but with its own prefix, which AWS still takes.
#[allow(deprecated, reason = "configurations written for it exist")]
fn set_prefix(builder: types::builders::LifecycleRuleBuilder, prefix: String) -> types::builders::LifecycleRuleBuilder {
    builder.prefix(prefix)
}

fn filter_to_api(filter: Option<&Filter>) -> Result<LifecycleRuleFilter> {
    let empty = Filter::default();
    let filter = filter.unwrap_or(&empty);
    if let Some(and) = filter.and.first() {
        let and = LifecycleRuleAndOperator::builder()
            .set_object_size_greater_than(and.object_size_greater_than.cloned())
            .set_object_size_less_than(and.object_size_less_than.cloned())
            .set_prefix(and.prefix.cloned())
            .set_tags(Some(tags::s3(&and.tags.or_default())).filter(|t| !t.is_empty()));
        return Ok(LifecycleRuleFilter::builder().and(and.build()).build());
    }
    let mut builder = LifecycleRuleFilter::builder()
        .set_object_size_greater_than(filter.object_size_greater_than.cloned())
        .set_object_size_less_than(filter.object_size_less_than.cloned())
        .set_prefix(filter.prefix.cloned().filter(|p| !p.is_empty()));
    if let Some(tag) = filter.tag.first() {
        let tag = types::Tag::builder().key(tag.key.or_default()).value(tag.value.or_default()).build();
        builder = builder.tag(tag.map_err(|e| Error::new("Invalid tag").detail(e.to_string()).at("rule"))?);
    }
    let built = builder.clone().build();
    let all = built == LifecycleRuleFilter::builder().build();
    Ok(if all { builder.prefix("").build() } else { built })
}

/// The rule that the API reports.
pub fn from_api(rule: &LifecycleRule) -> Rule {
    let class = |c: Option<&TransitionStorageClass>| Attr::from(c.map(|c| c.as_str().to_owned()));
    let time = |t: Option<&aws_smithy_types::DateTime>| Attr::from(t.map(render_time));
    Rule {
        id: rule.id().into(),
        prefix: prefix_of(rule),
        status: rule.status().as_str().into(),
        filter: rule.filter().map(filter_from_api).into_iter().collect(),
        transition: rule
            .transitions()
            .iter()
            .map(|t| Transition {
                date: time(t.date()),
                days: t.days().into(),
                storage_class: class(t.storage_class()),
            })
            .collect(),
        noncurrent_version_transition: rule
            .noncurrent_version_transitions()
            .iter()
            .map(|t| NoncurrentTransition {
                newer_noncurrent_versions: t.newer_noncurrent_versions().into(),
                noncurrent_days: t.noncurrent_days().into(),
                storage_class: class(t.storage_class()),
            })
            .collect(),
        expiration: rule
            .expiration()
            .map(|e| Expiration {
                date: time(e.date()),
                days: e.days().into(),
                expired_object_delete_marker: e.expired_object_delete_marker().into(),
            })
            .into_iter()
            .collect(),
        noncurrent_version_expiration: rule
            .noncurrent_version_expiration()
            .map(|e| NoncurrentExpiration {
                newer_noncurrent_versions: e.newer_noncurrent_versions().into(),
                noncurrent_days: e.noncurrent_days().into(),
            })
            .into_iter()
            .collect(),
        abort_incomplete_multipart_upload: rule
            .abort_incomplete_multipart_upload()
            .map(|a| Abort { days_after_initiation: a.days_after_initiation().into() })
            .into_iter()
            .collect(),
    }
}

#[allow(deprecated, reason = "rules written for it exist")]
fn prefix_of(rule: &LifecycleRule) -> Attr<String> {
    rule.prefix().filter(|p| !p.is_empty()).into()
}

fn filter_from_api(filter: &LifecycleRuleFilter) -> Filter {
    let and = filter.and().map(|a| And {
        object_size_greater_than: a.object_size_greater_than().into(),
        object_size_less_than: a.object_size_less_than().into(),
        prefix: a.prefix().into(),
        tags: Some(tags::from_s3(a.tags())).filter(|t| !t.is_empty()).into(),
    });
    Filter {
        object_size_greater_than: filter.object_size_greater_than().into(),
        object_size_less_than: filter.object_size_less_than().into(),
        prefix: filter.prefix().filter(|p| !p.is_empty()).into(),
        and: and.into_iter().collect(),
        tag: filter.tag().map(|t| Tag { key: t.key().into(), value: t.value().into() }).into_iter().collect(),
    }
}

/// One form for rules that mean the same: without what is empty, in a fixed order.
pub fn normal(mut rules: Vec<LifecycleRule>) -> Vec<LifecycleRule> {
    for rule in &mut rules {
        normal_filter(rule);
        rule.transitions = rule.transitions.take().filter(|t| !t.is_empty());
        if let Some(all) = &mut rule.transitions {
            all.sort_by_key(|t| t.storage_class().map(|c| c.as_str().to_owned()));
        }
        rule.noncurrent_version_transitions = rule.noncurrent_version_transitions.take().filter(|t| !t.is_empty());
        for t in rule.noncurrent_version_transitions.iter_mut().flatten() {
            t.newer_noncurrent_versions = t.newer_noncurrent_versions.filter(|n| *n != 0);
        }
        if let Some(all) = &mut rule.noncurrent_version_transitions {
            all.sort_by_key(|t| t.storage_class().map(|c| c.as_str().to_owned()));
        }
        if let Some(e) = &mut rule.expiration {
            e.days = e.days.filter(|d| *d != 0);
            e.expired_object_delete_marker = e.expired_object_delete_marker.filter(|m| *m);
        }
        if let Some(e) = &mut rule.noncurrent_version_expiration {
            e.newer_noncurrent_versions = e.newer_noncurrent_versions.filter(|n| *n != 0);
        }
    }
    rules.sort_by_key(|r| r.id().map(str::to_owned));
    rules
}

#[allow(deprecated, reason = "rules with a prefix of their own exist")]
fn normal_filter(rule: &mut LifecycleRule) {
    rule.prefix = rule.prefix.take().filter(|p| !p.is_empty());
    if let Some(filter) = &mut rule.filter {
        filter.prefix = filter.prefix.take().filter(|p| !p.is_empty());
        filter.object_size_greater_than = filter.object_size_greater_than.filter(|n| *n != 0);
        filter.object_size_less_than = filter.object_size_less_than.filter(|n| *n != 0);
        if let Some(and) = &mut filter.and {
            and.prefix = and.prefix.take().filter(|p| !p.is_empty());
            and.object_size_greater_than = and.object_size_greater_than.filter(|n| *n != 0);
            and.object_size_less_than = and.object_size_less_than.filter(|n| *n != 0);
            and.tags = and.tags.take().filter(|t| !t.is_empty());
            if let Some(tags) = &mut and.tags {
                tags.sort_by_key(|t| t.key().to_owned());
            }
        }
    }
    let all = LifecycleRuleFilter::builder().build();
    rule.filter = rule.filter.take().filter(|f| *f != all);
}
