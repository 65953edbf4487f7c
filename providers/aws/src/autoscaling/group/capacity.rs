//! Waits for the instances of a group: until there are as many as wanted after a create or change, until there are none
//! before a delete. Launches that AWS refuses end the wait at once, with what could be had instead.

use super::{AutoscalingGroup, find};
use crate::client::Aws;
use crate::ec2::capacity::{self, Wanted};
use crate::error::Answer;
use aws_sdk_autoscaling::types::{AutoScalingGroup as Found, LifecycleState, ScalingActivityStatusCode};
use aws_smithy_types::DateTime;
use gpuform_provider_sdk::prelude::*;
use gpuform_provider_sdk::retry::{self, Limits};
use std::time::Duration;
use tokio::sync::Mutex;

/// What a refused launch says in a group's activities, with the code of the same refusal at EC2.
const REFUSALS: &[(&str, &str)] = &[
    ("do not have sufficient", "InsufficientInstanceCapacity"),
    ("no Spot capacity available", "InsufficientInstanceCapacity"),
    ("vCPU limit", "VcpuLimitExceeded"),
    ("Max spot instance count exceeded", "MaxSpotInstanceCountExceeded"),
    ("lower than the minimum required Spot request fulfillment price", "SpotMaxPriceTooLow"),
    ("is not supported in your requested Availability Zone", "Unsupported"),
];

/// A duration as `10m`; `0` is none.
pub fn duration(text: &str) -> Option<Duration> {
    if text == "0" { Some(Duration::ZERO) } else { crate::config::duration(text) }
}

/// Waits until the group has the instances that it wants.
pub async fn wait(group: &AutoscalingGroup, ctx: &Context<Aws>, name: &str, began: DateTime) -> Result<()> {
    let timeout = group.wait_for_capacity_timeout.as_deref().and_then(duration).unwrap_or(Duration::from_secs(600));
    if timeout.is_zero() {
        return Ok(());
    }
    let aws = ctx.client();
    let limits = Limits::new(timeout, ctx.limits().cancel.clone());
    let what = format!("auto scaling group {name}");
    let wait = Wait::until(&what, &["complete"]).every(Duration::from_secs(5));
    let ignores = group.ignore_failed_scaling_activities.or_default();
    // The wait asks one question at a time; the lock is for the compiler only.
    let last = Mutex::new(String::new());
    let result = retry::wait_for(&limits, &wait, || async {
        let Some(found) = find(aws, name).await? else { return Ok(None) };
        let (there, wanted) = count(group, &found);
        if there >= wanted {
            return Ok(Some(("complete".to_owned(), ())));
        }
        if !ignores && let Some(refusal) = refusal(aws, name, &began).await? {
            return Err(explain(group, aws, refusal).await);
        }
        *last.lock().await = format!("{there} of {wanted} instances are in service.");
        Ok(Some((format!("{there} of {wanted} in service"), ())))
    })
    .await;
    let last = last.into_inner();
    result.map_err(|e| {
        if last.is_empty() || !matches!(e.kind(), gpuform_provider_sdk::ErrorKind::Timeout) { e } else { e.also(&last) }
    })
}

/// Capacity in service, and the capacity wanted, by weight.
fn count(group: &AutoscalingGroup, found: &Found) -> (i32, i32) {
    let in_service = |i: &&aws_sdk_autoscaling::types::Instance| {
        i.lifecycle_state() == Some(&LifecycleState::InService) && i.health_status() == Some("Healthy")
    };
    let weight =
        |i: &aws_sdk_autoscaling::types::Instance| i.weighted_capacity().and_then(|w| w.parse().ok()).unwrap_or(1);
    let there = found.instances().iter().filter(in_service).map(weight).sum();
    let suspended = found.suspended_processes().iter().any(|p| p.process_name() == Some("Launch"));
    let wanted = found.desired_capacity().or(group.min_size.cloned()).unwrap_or_default();
    (there, if suspended { 0 } else { wanted })
}

/// The newest failed launch since the change began, as an error.
async fn refusal(aws: &Aws, name: &str, began: &DateTime) -> Result<Option<Error>> {
    let request = aws.autoscaling.describe_scaling_activities().auto_scaling_group_name(name).max_records(20);
    let answer = request.send().await.or_fail("Reading the group's activities")?;
    let failed = answer.activities().iter().find(|a| {
        let since = a.start_time().is_none_or(|t| t.secs() >= began.secs());
        since && a.status_code() == Some(&ScalingActivityStatusCode::Failed)
    });
    Ok(failed.map(|a| {
        let why = a.status_message().or(a.description()).unwrap_or("AWS gave no further explanation.");
        let error = Error::new("The auto scaling group could not launch an instance").detail(why.to_owned());
        match REFUSALS.iter().find(|(part, _)| why.contains(part)) {
            Some((_, code)) => error.code(*code),
            None => error,
        }
    }))
}

async fn explain(group: &AutoscalingGroup, aws: &Aws, error: Error) -> Error {
    let policy = group.mixed_instances_policy.as_ref();
    let first = policy.and_then(|p| p.launch_template.as_ref()).and_then(|t| t.overrides.first());
    let written = first.and_then(|o| o.instance_type.cloned());
    let kind = match written {
        Some(kind) => Some(kind),
        None => template_type(group, aws).await,
    };
    let error = error.also("The group goes on trying. Set ignore_failed_scaling_activities to wait for it.");
    let Some(instance_type) = kind else { return error };
    let spot = policy
        .and_then(|p| p.instances_distribution.as_ref())
        .is_some_and(|d| d.on_demand_percentage_above_base_capacity.get().is_some_and(|n| *n < 100));
    capacity::explain(aws, error, Wanted { instance_type: &instance_type, zone: None, spot }).await
}

/// The type of the group's launch template.
async fn template_type(group: &AutoscalingGroup, aws: &Aws) -> Option<String> {
    let specification = match (&group.launch_template, &group.mixed_instances_policy) {
        (Some(t), _) => super::convert::template(t),
        (None, Some(p)) => super::convert::policy(p).launch_template()?.launch_template_specification()?.clone(),
        (None, None) => return None,
    };
    let request = aws.ec2.describe_launch_template_versions();
    let answer = request
        .set_launch_template_id(specification.launch_template_id().map(str::to_owned))
        .set_launch_template_name(specification.launch_template_name().map(str::to_owned))
        .versions(specification.version().unwrap_or("$Default"))
        .send()
        .await
        .ok()?;
    let data = answer.launch_template_versions().first()?.launch_template_data()?.clone();
    data.instance_type().map(|t| t.as_str().to_owned())
}

/// Ends the group's instances and waits until they are gone.
pub async fn drain(ctx: &Context<Aws>, name: &str) -> Result<()> {
    let aws = ctx.client();
    let Some(found) = find(aws, name).await? else { return Ok(()) };
    let protected: Vec<String> = found
        .instances()
        .iter()
        .filter(|i| i.protected_from_scale_in().unwrap_or_default())
        .filter_map(|i| i.instance_id())
        .map(str::to_owned)
        .collect();
    if !protected.is_empty() {
        let request = aws.autoscaling.set_instance_protection().auto_scaling_group_name(name);
        let request = request.set_instance_ids(Some(protected)).protected_from_scale_in(false);
        request.send().await.or_fail("Lifting the protection of the group's instances")?;
    }
    let request = aws.autoscaling.update_auto_scaling_group().auto_scaling_group_name(name);
    let request = request.min_size(0).max_size(0).desired_capacity(0);
    request.send().await.or_fail("Ending the group's instances")?;
    let what = format!("instances of auto scaling group {name}");
    let wait = Wait::until_gone(&what).every(Duration::from_secs(5));
    ctx.wait_until_gone(&wait, || async {
        let left = find(aws, name).await?.map(|g| g.instances().len()).filter(|n| *n > 0);
        Ok(left.map(|n| (format!("{n} left"), ())))
    })
    .await
}
