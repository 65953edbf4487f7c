//! What DescribeInstances does not tell about an instance: CPU credits, which are read for many instances at once, and
//! the protections, the shutdown behaviour and the user data, which EC2 tells about one instance at a time. Those are
//! read when there are few instances, or where they may have changed; see `docs/aws.md`.

use super::{Instance, blocks::CreditSpecification, launch, state_name};
use crate::client::Aws;
use crate::ec2::util::render_time;
use crate::error::Answer;
use aws_sdk_ec2::operation::describe_instance_attribute::DescribeInstanceAttributeOutput;
use aws_sdk_ec2::types::{Instance as Found, InstanceAttributeName};
use gpuform_provider_sdk::prelude::*;

/// Private data: the launch since which the state's user data is the instance's. User data can be changed only while an
/// instance is stopped, and each start is a new launch.
const OF_LAUNCH: &str = "attributes_of_launch";

/// What was read; `None` for what is as the state has it.
pub struct Attributes {
    protections: Option<Protections>,
    /// In base64.
    user_data: Option<String>,
    cpu_credits: Option<String>,
}

struct Protections {
    disable_api_stop: bool,
    disable_api_termination: bool,
    shutdown_behavior: String,
}

impl Attributes {
    pub async fn read(state: &Instance, found: &Found, ctx: &Context<Aws>) -> Result<Attributes> {
        let aws = ctx.client();
        let launch = launch_time(found);
        let same_launch = launch.is_some() && launch == ctx.private(OF_LAUNCH) && is_complete(state);
        let (protections, user_data, cpu_credits) = tokio::try_join!(
            when(!same_launch || aws.reads.all_of_instances(), protections(aws, found)),
            when(!same_launch, user_data(aws, found)),
            cpu_credits(aws, found),
        )?;
        if let Some(launch) = launch {
            ctx.set_private(OF_LAUNCH, &launch)?;
        }
        Ok(Attributes { protections, user_data, cpu_credits })
    }

    pub fn into_state(self, state: &mut Instance) {
        if let Some(now) = self.protections {
            state.disable_api_stop.set(now.disable_api_stop);
            state.disable_api_termination.set(now.disable_api_termination);
            state.instance_initiated_shutdown_behavior.set(now.shutdown_behavior);
        }
        state.credit_specification =
            self.cpu_credits.map(|credits| CreditSpecification { cpu_credits: credits.into() });
        if let Some(now) = self.user_data {
            refresh_user_data(state, now);
        }
    }
}

/// After a launch without a template the instance has what was asked for, or EC2's defaults.
pub fn of_launch(plan: &mut Instance, found: &Found, ctx: &Context<Aws>) -> Result<()> {
    plan.disable_api_stop.set_if_unknown(false);
    plan.disable_api_termination.set_if_unknown(false);
    plan.instance_initiated_shutdown_behavior.set_if_unknown("stop");
    plan.user_data.set_if_unknown(Attr::Null);
    plan.user_data_base64.set_if_unknown(Attr::Null);
    match launch_time(found) {
        Some(launch) => ctx.set_private(OF_LAUNCH, &launch),
        None => Ok(()),
    }
}

/// When a running instance was started.
fn launch_time(found: &Found) -> Option<String> {
    found.launch_time().filter(|_| state_name(found) == "running").map(render_time)
}

/// Whether the state has all that is read for one instance at a time; after an import it has not.
fn is_complete(state: &Instance) -> bool {
    let data = state.user_data.is_unknown() || state.user_data_base64.is_unknown();
    state.disable_api_stop.is_known()
        && state.disable_api_termination.is_known()
        && state.instance_initiated_shutdown_behavior.is_known()
        && !data
}

async fn when<T>(wanted: bool, read: impl Future<Output = Result<T>>) -> Result<Option<T>> {
    if wanted { read.await.map(Some) } else { Ok(None) }
}

async fn attribute(
    aws: &Aws,
    found: &Found,
    attribute: InstanceAttributeName,
) -> Result<DescribeInstanceAttributeOutput> {
    let request = aws.ec2.describe_instance_attribute().set_instance_id(found.instance_id.clone());
    request.attribute(attribute).send().await.or_fail("Reading the instance's attributes")
}

async fn protections(aws: &Aws, found: &Found) -> Result<Protections> {
    let (stop, termination, shutdown) = tokio::try_join!(
        attribute(aws, found, InstanceAttributeName::DisableApiStop),
        attribute(aws, found, InstanceAttributeName::DisableApiTermination),
        attribute(aws, found, InstanceAttributeName::InstanceInitiatedShutdownBehavior),
    )?;
    let shutdown = shutdown.instance_initiated_shutdown_behavior().and_then(|v| v.value());
    Ok(Protections {
        disable_api_stop: stop.disable_api_stop().and_then(|v| v.value()).unwrap_or_default(),
        disable_api_termination: termination.disable_api_termination().and_then(|v| v.value()).unwrap_or_default(),
        shutdown_behavior: shutdown.unwrap_or("stop").to_owned(),
    })
}

async fn user_data(aws: &Aws, found: &Found) -> Result<String> {
    let answer = attribute(aws, found, InstanceAttributeName::UserData).await?;
    Ok(answer.user_data().and_then(|v| v.value()).unwrap_or_default().to_owned())
}

async fn cpu_credits(aws: &Aws, found: &Found) -> Result<Option<String>> {
    let Some(id) = found.instance_id().filter(|_| is_burstable(found)) else { return Ok(None) };
    Ok(aws.reads.cpu_credits.get(id).await?.and_then(|c| c.cpu_credits))
}

/// Whether the type has CPU credits: `t2`, `t3`, `t3a`, `t4g`.
fn is_burstable(instance: &Found) -> bool {
    let name = instance.instance_type().map(|t| t.as_str()).unwrap_or_default();
    name.strip_prefix('t').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// User data goes where the state has it; after an import it is text if it can be.
fn refresh_user_data(state: &mut Instance, found: String) {
    if state.user_data_base64.get().is_some_and(|d| !d.is_empty()) {
        state.user_data_base64.set(found);
        return;
    }
    if launch::user_data(state).unwrap_or_default() == found {
        if state.user_data.is_unknown() {
            state.user_data = Attr::Null;
        }
        return;
    }
    let text = aws_smithy_types::base64::decode(&found).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    match text {
        Some(text) => state.user_data.refresh(text),
        None => state.user_data_base64.set(found),
    }
}
