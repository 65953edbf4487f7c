//! The blocks of `aws_autoscaling_group` as the API takes them, and as it reports them.

use super::blocks::*;
use crate::ec2::util::choice;
use aws_sdk_autoscaling::types as api;
use gpuform_provider_sdk::prelude::*;

/// Instance requirements, in the types of this API.
pub mod requirements {
    use aws_sdk_autoscaling::types as api;
    crate::instance_requirements!(
        api,
        InstanceRequirements,
        InstanceRequirements,
        VCpuCountRequest,
        MemoryMiBRequest,
        MemoryGiBPerVCpuRequest,
        NetworkInterfaceCountRequest,
        TotalLocalStorageGbRequest,
        BaselineEbsBandwidthMbpsRequest,
        AcceleratorCountRequest,
        AcceleratorTotalMemoryMiBRequest,
        NetworkBandwidthGbpsRequest
    );
}

/// A template by ID, or by name where there is no ID: the API wants one of them.
fn specification(id: &Attr<String>, name: &Attr<String>, version: &Attr<String>) -> api::LaunchTemplateSpecification {
    let id = id.cloned().filter(|i| !i.is_empty());
    let name = if id.is_some() { None } else { name.cloned().filter(|n| !n.is_empty()) };
    api::LaunchTemplateSpecification::builder()
        .set_launch_template_id(id)
        .set_launch_template_name(name)
        .set_version(version.cloned())
        .build()
}

pub fn template(block: &LaunchTemplate) -> api::LaunchTemplateSpecification {
    specification(&block.id, &block.name, &block.version)
}

fn policy_template(block: &TemplateSpecification) -> api::LaunchTemplateSpecification {
    specification(&block.launch_template_id, &block.launch_template_name, &block.version)
}

pub fn policy(block: &MixedInstancesPolicy) -> api::MixedInstancesPolicy {
    let distribution = block.instances_distribution.as_ref().map(|d| {
        api::InstancesDistribution::builder()
            .set_on_demand_allocation_strategy(d.on_demand_allocation_strategy.cloned())
            .set_on_demand_base_capacity(d.on_demand_base_capacity.cloned())
            .set_on_demand_percentage_above_base_capacity(d.on_demand_percentage_above_base_capacity.cloned())
            .set_spot_allocation_strategy(d.spot_allocation_strategy.cloned())
            .set_spot_instance_pools(d.spot_instance_pools.cloned().filter(|n| *n > 0))
            .set_spot_max_price(d.spot_max_price.cloned())
            .build()
    });
    let template = block.launch_template.as_ref().map(|t| {
        let overrides = t.overrides.iter().map(|o| {
            api::LaunchTemplateOverrides::builder()
                .set_instance_requirements(o.instance_requirements.as_ref().map(requirements::request))
                .set_instance_type(o.instance_type.cloned())
                .set_launch_template_specification(o.launch_template_specification.as_ref().map(policy_template))
                .set_weighted_capacity(o.weighted_capacity.cloned())
                .build()
        });
        api::LaunchTemplate::builder()
            .set_launch_template_specification(t.launch_template_specification.as_ref().map(policy_template))
            .set_overrides(Some(overrides.collect()))
            .build()
    });
    api::MixedInstancesPolicy::builder().set_instances_distribution(distribution).set_launch_template(template).build()
}

pub fn found_template(t: &api::LaunchTemplateSpecification) -> LaunchTemplate {
    LaunchTemplate {
        id: t.launch_template_id().into(),
        name: t.launch_template_name().into(),
        version: t.version().unwrap_or("$Default").into(),
    }
}

fn found_specification(t: &api::LaunchTemplateSpecification) -> TemplateSpecification {
    TemplateSpecification {
        launch_template_id: t.launch_template_id().into(),
        launch_template_name: t.launch_template_name().into(),
        version: t.version().unwrap_or("$Default").into(),
    }
}

pub fn found_policy(p: &api::MixedInstancesPolicy) -> MixedInstancesPolicy {
    let text = |t: Option<&str>| Attr::Known(t.unwrap_or_default().to_owned());
    MixedInstancesPolicy {
        instances_distribution: p.instances_distribution().map(|d| InstancesDistribution {
            on_demand_allocation_strategy: text(d.on_demand_allocation_strategy()),
            on_demand_base_capacity: Attr::Known(d.on_demand_base_capacity().unwrap_or_default()),
            on_demand_percentage_above_base_capacity: Attr::Known(
                d.on_demand_percentage_above_base_capacity().unwrap_or(100),
            ),
            spot_allocation_strategy: text(d.spot_allocation_strategy()),
            spot_instance_pools: Attr::Known(d.spot_instance_pools().unwrap_or_default()),
            spot_max_price: text(d.spot_max_price()),
        }),
        launch_template: p.launch_template().map(|t| PolicyTemplate {
            launch_template_specification: t.launch_template_specification().map(found_specification),
            overrides: t
                .overrides()
                .iter()
                .map(|o| Override {
                    instance_requirements: o.instance_requirements().map(requirements::from_api),
                    instance_type: o.instance_type().into(),
                    launch_template_specification: o.launch_template_specification().map(found_specification),
                    weighted_capacity: o.weighted_capacity().into(),
                })
                .collect(),
        }),
    }
}

pub fn hooks(blocks: &[LifecycleHook]) -> Option<Vec<api::LifecycleHookSpecification>> {
    let one = |h: &LifecycleHook| {
        api::LifecycleHookSpecification::builder()
            .set_lifecycle_hook_name(h.name.cloned())
            .set_lifecycle_transition(h.lifecycle_transition.cloned())
            .set_default_result(h.default_result.cloned())
            .set_heartbeat_timeout(h.heartbeat_timeout.cloned())
            .set_notification_metadata(h.notification_metadata.cloned())
            .set_notification_target_arn(h.notification_target_arn.cloned())
            .set_role_arn(h.role_arn.cloned())
            .build()
    };
    (!blocks.is_empty()).then(|| blocks.iter().map(one).collect())
}

pub fn preferences(p: &RefreshPreferences) -> api::RefreshPreferences {
    let number = |t: &Attr<String>| t.as_deref().and_then(|t| t.parse::<i32>().ok());
    let alarms = p
        .alarm_specification
        .as_ref()
        .map(|a| api::AlarmSpecification::builder().set_alarms(a.alarms.cloned()).build());
    api::RefreshPreferences::builder()
        .set_alarm_specification(alarms)
        .set_auto_rollback(p.auto_rollback.cloned())
        .set_checkpoint_delay(number(&p.checkpoint_delay))
        .set_checkpoint_percentages(p.checkpoint_percentages.cloned())
        .set_instance_warmup(number(&p.instance_warmup))
        .set_max_healthy_percentage(p.max_healthy_percentage.cloned())
        .set_min_healthy_percentage(p.min_healthy_percentage.cloned())
        .set_scale_in_protected_instances(choice(&p.scale_in_protected_instances))
        .set_skip_matching(p.skip_matching.cloned())
        .set_standby_instances(choice(&p.standby_instances))
        .build()
}

/// A tag of a group as the API takes it.
pub fn tag(group: &str, key: &str, value: &str, propagate: bool) -> api::Tag {
    api::Tag::builder()
        .resource_id(group)
        .resource_type("auto-scaling-group")
        .key(key)
        .value(value)
        .propagate_at_launch(propagate)
        .build()
}
