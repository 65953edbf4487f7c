//! What a data source asks for, `filter` blocks, `tags` and single arguments, as filters of one Describe call.

use super::util::{Filters, filter, filters};
use crate::tags::Tags;
use aws_sdk_ec2::types::Filter;
use gpuform_provider_sdk::prelude::*;

/// All filters that the configuration asks for; `None` where there are none.
pub fn all(blocks: &[Filters], tags: &Attr<Tags>, arguments: Vec<(&str, Option<String>)>) -> Option<Vec<Filter>> {
    let mut all = filters(blocks).unwrap_or_default();
    all.extend(tags.or_default().into_iter().map(|(k, v)| filter(&format!("tag:{k}"), v)));
    let given = |(name, value): (&str, Option<String>)| Some(filter(name, value.filter(|v| !v.is_empty())?));
    all.extend(arguments.into_iter().filter_map(given));
    (!all.is_empty()).then_some(all)
}
