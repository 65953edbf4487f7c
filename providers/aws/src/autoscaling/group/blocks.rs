//! The blocks of `aws_autoscaling_group`.

use crate::ec2::requirements::InstanceRequirements;
use gpuform_provider_sdk::prelude::*;

/// A launch template.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct LaunchTemplate {
    /// The template's ID.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The template's name.
    #[attr(optional, computed)]
    pub name: Attr<String>,
    /// A version's number, `$Latest` or `$Default`.
    #[attr(optional, default = "$Default")]
    pub version: Attr<String>,
}

/// Several types, on demand and spot, in one group.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct MixedInstancesPolicy {
    /// How the instances are bought.
    #[block(computed)]
    pub instances_distribution: Option<InstancesDistribution>,
    /// The template, and the types to use in place of its own.
    #[block(min = 1)]
    pub launch_template: Option<PolicyTemplate>,
}

/// How the instances are bought.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct InstancesDistribution {
    /// `lowest-price` or `prioritized`.
    #[attr(optional, computed)]
    pub on_demand_allocation_strategy: Attr<String>,
    /// The least number of on-demand instances.
    #[attr(optional, computed, validate = range(0..))]
    pub on_demand_base_capacity: Attr<i32>,
    /// The percentage of on-demand instances beyond that.
    #[attr(optional, computed, validate = range(0..=100))]
    pub on_demand_percentage_above_base_capacity: Attr<i32>,
    /// `price-capacity-optimized`, `capacity-optimized`, `lowest-price`, …
    #[attr(optional, computed)]
    pub spot_allocation_strategy: Attr<String>,
    /// How many spot pools `lowest-price` uses.
    #[attr(optional, computed, validate = range(0..))]
    pub spot_instance_pools: Attr<i32>,
    /// The most to pay for an hour of spot, in USD.
    #[attr(optional, computed)]
    pub spot_max_price: Attr<String>,
}

/// A template, and the types to use in place of its own.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct PolicyTemplate {
    /// The template.
    #[block(min = 1)]
    pub launch_template_specification: Option<TemplateSpecification>,
    /// Types to use in place of the template's.
    #[block(name = "override")]
    pub overrides: Vec<Override>,
}

/// A launch template.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct TemplateSpecification {
    /// The template's ID.
    #[attr(optional, computed)]
    pub launch_template_id: Attr<String>,
    /// The template's name.
    #[attr(optional, computed)]
    pub launch_template_name: Attr<String>,
    /// A version's number, `$Latest` or `$Default`.
    #[attr(optional, default = "$Default")]
    pub version: Attr<String>,
}

/// A type to use in place of the template's.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct Override {
    /// What the type must offer, instead of a type.
    #[block]
    pub instance_requirements: Option<InstanceRequirements>,
    /// The type.
    #[attr(optional)]
    pub instance_type: Attr<String>,
    /// Another template for this type.
    #[block]
    pub launch_template_specification: Option<TemplateSpecification>,
    /// How much of the capacity an instance of this type counts as.
    #[attr(optional)]
    pub weighted_capacity: Attr<String>,
}

/// A tag.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct Tag {
    /// The key.
    #[attr(required)]
    pub key: Attr<String>,
    /// Whether instances get the tag as well.
    #[attr(required)]
    pub propagate_at_launch: Attr<bool>,
    /// The value.
    #[attr(required)]
    pub value: Attr<String>,
}

/// How replacing instances limits the group.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct MaintenancePolicy {
    /// The percentage of the capacity that may be there at most.
    #[attr(required, validate = range(-1..=200))]
    pub max_healthy_percentage: Attr<i32>,
    /// The percentage of the capacity that is kept.
    #[attr(required, validate = range(-1..=100))]
    pub min_healthy_percentage: Attr<i32>,
}

/// Replaces the instances when the template changes.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct InstanceRefresh {
    /// How.
    #[block]
    pub preferences: Option<RefreshPreferences>,
    /// `Rolling`.
    #[attr(required, validate = one_of(["Rolling"]))]
    pub strategy: Attr<String>,
    /// Further arguments whose change replaces the instances; a change of the template always does.
    #[attr(optional)]
    pub triggers: Attr<Set<String>>,
}

/// How instances are replaced.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct RefreshPreferences {
    /// Alarms that stop the replacement.
    #[block]
    pub alarm_specification: Option<AlarmSpecification>,
    /// Whether a failed replacement is taken back.
    #[attr(optional)]
    pub auto_rollback: Attr<bool>,
    /// Seconds to wait at a checkpoint.
    #[attr(optional)]
    pub checkpoint_delay: Attr<String>,
    /// Percentages at which to wait.
    #[attr(optional)]
    pub checkpoint_percentages: Attr<Vec<i32>>,
    /// Seconds until a new instance is ready.
    #[attr(optional)]
    pub instance_warmup: Attr<String>,
    /// The percentage of the capacity that may be there at most.
    #[attr(optional, default = 100, validate = range(100..=200))]
    pub max_healthy_percentage: Attr<i32>,
    /// The percentage of the capacity that is kept.
    #[attr(optional, default = 90, validate = range(0..=100))]
    pub min_healthy_percentage: Attr<i32>,
    /// `Refresh`, `Ignore` or `Wait`.
    #[attr(optional, default = "Ignore", validate = one_of(["Refresh", "Ignore", "Wait"]))]
    pub scale_in_protected_instances: Attr<String>,
    /// Whether instances that are up to date stay.
    #[attr(optional, default = false)]
    pub skip_matching: Attr<bool>,
    /// `Terminate`, `Ignore` or `Wait`.
    #[attr(optional, default = "Ignore", validate = one_of(["Terminate", "Ignore", "Wait"]))]
    pub standby_instances: Attr<String>,
}

/// Alarms.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct AlarmSpecification {
    /// Names of CloudWatch alarms.
    #[attr(optional)]
    pub alarms: Attr<Vec<String>>,
}

/// A lifecycle hook that exists before the first instance.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct LifecycleHook {
    /// `CONTINUE` or `ABANDON`.
    #[attr(optional, computed, validate = one_of(["CONTINUE", "ABANDON"]))]
    pub default_result: Attr<String>,
    /// Seconds to wait.
    #[attr(optional)]
    pub heartbeat_timeout: Attr<i32>,
    /// `autoscaling:EC2_INSTANCE_LAUNCHING` or `autoscaling:EC2_INSTANCE_TERMINATING`.
    #[attr(required)]
    pub lifecycle_transition: Attr<String>,
    /// The hook's name.
    #[attr(required)]
    pub name: Attr<String>,
    /// Text for whoever is notified.
    #[attr(optional)]
    pub notification_metadata: Attr<String>,
    /// Who is notified.
    #[attr(optional)]
    pub notification_target_arn: Attr<String>,
    /// The role to notify with.
    #[attr(optional)]
    pub role_arn: Attr<String>,
}
