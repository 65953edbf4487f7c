//! `aws_autoscaling_group`. `blocks.rs` has the blocks, `convert.rs` their forms at the API, `capacity.rs` waits for
//! instances. API: CreateAutoScalingGroup, DescribeAutoScalingGroups, UpdateAutoScalingGroup, CreateOrUpdateTags,
//! DeleteTags, EnableMetricsCollection, SuspendProcesses, StartInstanceRefresh, DeleteAutoScalingGroup, and so on.

mod blocks;
mod capacity;
mod convert;

use crate::client::Aws;
use crate::ec2::util::{choice, list, prefix_of, refresh_flag, unique_name};
use crate::error::Answer;
use aws_sdk_autoscaling::types::{self as api, AutoScalingGroup as Found};
use blocks::*;
use gpuform_provider_sdk::prelude::*;

/// An auto scaling group.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct AutoscalingGroup {
    /// The group's name.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The group's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// The zones, in the default VPC; with subnets, theirs.
    #[attr(optional, computed, conflicts_with = ["vpc_zone_identifier"])]
    pub availability_zones: Attr<Set<String>>,
    /// Whether spot instances at risk are replaced beforehand.
    #[attr(optional)]
    pub capacity_rebalance: Attr<bool>,
    /// Reserved by AWS.
    #[attr(optional)]
    pub context: Attr<String>,
    /// Seconds between two scaling activities.
    #[attr(optional, computed)]
    pub default_cooldown: Attr<i32>,
    /// Seconds until a new instance counts in metrics.
    #[attr(optional)]
    pub default_instance_warmup: Attr<i32>,
    /// How many instances there should be.
    #[attr(optional, computed)]
    pub desired_capacity: Attr<i32>,
    /// `units`, `vcpu` or `memory-mib`.
    #[attr(optional, computed, validate = one_of(["units", "vcpu", "memory-mib"]))]
    pub desired_capacity_type: Attr<String>,
    /// Metrics that are collected.
    #[attr(optional)]
    pub enabled_metrics: Attr<Set<String>>,
    /// Whether destroying does not wait until instances have ended.
    #[attr(optional, default = false)]
    pub force_delete: Attr<bool>,
    /// Whether destroying ends a warm pool without waiting.
    #[attr(optional)]
    pub force_delete_warm_pool: Attr<bool>,
    /// Seconds until a new instance is checked.
    #[attr(optional, default = 300)]
    pub health_check_grace_period: Attr<i32>,
    /// `EC2`, `ELB`, `EBS`, …
    #[attr(optional, computed)]
    pub health_check_type: Attr<String>,
    /// Whether failed launches do not fail the wait for capacity.
    #[attr(optional, default = false)]
    pub ignore_failed_scaling_activities: Attr<bool>,
    /// Lifecycle hooks that exist before the first instance.
    #[block(nesting = "set")]
    pub initial_lifecycle_hook: Vec<LifecycleHook>,
    /// How replacing instances limits the group.
    #[block]
    pub instance_maintenance_policy: Option<MaintenancePolicy>,
    /// Replaces the instances when the template changes.
    #[block]
    pub instance_refresh: Option<InstanceRefresh>,
    /// A launch configuration, the older form of a template.
    #[attr(optional, exactly_one_of = ["launch_configuration", "launch_template", "mixed_instances_policy"])]
    pub launch_configuration: Attr<String>,
    /// The launch template.
    #[block]
    pub launch_template: Option<LaunchTemplate>,
    /// Classic load balancers.
    #[attr(optional, computed)]
    pub load_balancers: Attr<Set<String>>,
    /// Seconds that an instance may live.
    #[attr(optional)]
    pub max_instance_lifetime: Attr<i32>,
    /// The most instances.
    #[attr(required, validate = range(0..))]
    pub max_size: Attr<i32>,
    /// `1Minute`.
    #[attr(optional, default = "1Minute")]
    pub metrics_granularity: Attr<String>,
    /// How many instances must be healthy at the load balancers for a create to succeed.
    #[attr(optional)]
    pub min_elb_capacity: Attr<i32>,
    /// The least instances.
    #[attr(required, validate = range(0..))]
    pub min_size: Attr<i32>,
    /// Several types, on demand and spot.
    #[block]
    pub mixed_instances_policy: Option<MixedInstancesPolicy>,
    /// The name; a unique one unless given.
    #[attr(optional, computed, force_new, conflicts_with = ["name_prefix"], validate = length(0..=255))]
    pub name: Attr<String>,
    /// What a unique name begins with.
    #[attr(optional, computed, force_new, validate = length(0..=229))]
    pub name_prefix: Attr<String>,
    /// The placement group.
    #[attr(optional)]
    pub placement_group: Attr<String>,
    /// The capacity that predictive scaling foresees.
    #[attr(computed)]
    pub predicted_capacity: Attr<i32>,
    /// Whether new instances are protected from scaling in.
    #[attr(optional, default = false)]
    pub protect_from_scale_in: Attr<bool>,
    /// The role of the service.
    #[attr(optional, computed)]
    pub service_linked_role_arn: Attr<String>,
    /// Processes that are suspended: `Launch`, `Terminate`, …
    #[attr(optional)]
    pub suspended_processes: Attr<Set<String>>,
    /// Tags.
    #[block(nesting = "set")]
    pub tag: Vec<Tag>,
    /// Target groups of load balancers.
    #[attr(optional, computed)]
    pub target_group_arns: Attr<Set<String>>,
    /// Which instances end first.
    #[attr(optional)]
    pub termination_policies: Attr<Vec<String>>,
    /// The subnets.
    #[attr(optional, computed)]
    pub vpc_zone_identifier: Attr<Set<String>>,
    /// How long to wait for the instances, e.g. `10m`; `0` does not wait.
    #[attr(optional, default = "10m")]
    pub wait_for_capacity_timeout: Attr<String>,
    /// How many instances must be healthy at the load balancers, exactly.
    #[attr(optional)]
    pub wait_for_elb_capacity: Attr<i32>,
    /// The size of the warm pool.
    #[attr(computed)]
    pub warm_pool_size: Attr<i32>,
    #[timeouts(update = "10m", delete = "10m")]
    pub timeouts: Timeouts,
}

impl Resource for AutoscalingGroup {
    type Client = Aws;
    const TYPE: &'static str = "aws_autoscaling_group";
    const VERSION: i64 = 1;

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let name = unique_name(&self.name, &self.name_prefix, ctx.client_token());
        let began = aws_smithy_types::DateTime::from(std::time::SystemTime::now());
        match self.make(aws, &name).await {
            // The API takes no client token, but names are unique, and a group of ours carries our tags.
            Err(e) if e.has_code(&["AlreadyExists"]) && self.is_ours(find(aws, &name).await?.as_ref()) => {}
            Err(e) => return Err(e),
            Ok(()) => {}
        }
        self.id.set(name.clone());
        self.name.set_if_unknown(name.clone());
        if let Some(processes) = list(&self.suspended_processes) {
            suspend(aws, &name, processes).await?;
        }
        if let Some(metrics) = list(&self.enabled_metrics) {
            self.enable_metrics(aws, &name, metrics).await?;
        }
        capacity::wait(self, ctx, &name, began).await
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let name = self.id.require("id")?.clone();
        let Some(found) = find(ctx.client(), &name).await? else { return Ok(None) };
        self.refresh(&found);
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let name = self.id.require("id")?.clone();
        let began = aws_smithy_types::DateTime::from(std::time::SystemTime::now());
        self.change(prior, aws, &name).await?;
        self.change_tags(prior, aws, &name).await?;
        self.change_attachments(prior, aws, &name).await?;
        if self.enabled_metrics != prior.enabled_metrics {
            let off: Vec<String> =
                prior.enabled_metrics.or_default().without(&self.enabled_metrics.or_default()).cloned().collect();
            if !off.is_empty() {
                let request = aws.autoscaling.disable_metrics_collection().auto_scaling_group_name(&name);
                request.set_metrics(Some(off)).send().await.or_fail("Ending the collection of metrics")?;
            }
            if let Some(metrics) = list(&self.enabled_metrics) {
                self.enable_metrics(aws, &name, metrics).await?;
            }
        }
        let (old, new) = (prior.suspended_processes.or_default(), self.suspended_processes.or_default());
        let resumed: Vec<String> = old.without(&new).cloned().collect();
        if !resumed.is_empty() {
            let request = aws.autoscaling.resume_processes().auto_scaling_group_name(&name);
            request.set_scaling_processes(Some(resumed)).send().await.or_fail("Resuming processes")?;
        }
        let suspended: Vec<String> = new.without(&old).cloned().collect();
        if !suspended.is_empty() {
            suspend(aws, &name, suspended).await?;
        }
        if self.desired_capacity != prior.desired_capacity || self.min_size != prior.min_size {
            capacity::wait(self, ctx, &name, began).await?;
        }
        if self.wants_refresh(prior) {
            self.start_refresh(aws, &name).await?;
        }
        Ok(())
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let name = self.id.require("id")?;
        let force = self.force_delete.or_default();
        if !force {
            capacity::drain(ctx, name).await?;
        }
        let delete = |_| async {
            let request = aws.autoscaling.delete_auto_scaling_group().auto_scaling_group_name(name).force_delete(force);
            request.send().await.or_fail("Deleting the auto scaling group").map(drop)
        };
        let busy = |e: &Error| {
            e.has_code(&[
                "ResourceInUse",
                "ScalingActivityInProgress",
                "ResourceInUseFault",
                "ScalingActivityInProgressFault",
            ])
        };
        match ctx.retry(busy, delete).await {
            // AWS says so when the group does not exist.
            Err(_) if find(aws, name).await?.is_none() => return Ok(()),
            Err(e) => return Err(e),
            Ok(()) => {}
        }
        ctx.wait_until_gone(&Wait::until_gone("auto scaling group"), || async {
            Ok(find(aws, name).await?.map(|g| (g.status().unwrap_or("there").to_owned(), ())))
        })
        .await
    }

    async fn modify_plan(plan: &mut Plan<'_, Self>) -> Result<()> {
        let Some(prior) = &plan.prior else { return Ok(()) };
        // A template is named by ID or by name; the other follows.
        if let (Some(old), Some(new)) = (&prior.launch_template, &mut plan.planned.launch_template)
            && let Some(written) = &plan.config.launch_template
        {
            follow(written.id.is_set(), (&old.id, &old.name), (&mut new.id, &mut new.name));
        }
        let specification = |g: &Self| {
            g.mixed_instances_policy.as_ref()?.launch_template.as_ref()?.launch_template_specification.clone()
        };
        if let (Some(old), Some(written)) = (specification(prior), specification(&plan.config))
            && let Some(new) = plan
                .planned
                .mixed_instances_policy
                .as_mut()
                .and_then(|p| p.launch_template.as_mut())
                .and_then(|t| t.launch_template_specification.as_mut())
        {
            follow(
                written.launch_template_id.is_set(),
                (&old.launch_template_id, &old.launch_template_name),
                (&mut new.launch_template_id, &mut new.launch_template_name),
            );
        }
        if plan.config.availability_zones.is_null() && prior.vpc_zone_identifier != plan.planned.vpc_zone_identifier {
            plan.planned.availability_zones = Attr::Unknown;
        }
        Ok(())
    }

    fn validate(&self, problems: &mut Problems) {
        if let (Some(min), Some(max)) = (self.min_size.get(), self.max_size.get())
            && min > max
        {
            problems.error("min_size", "Sizes contradict", format!("min_size, {min}, is more than max_size, {max}."));
        }
        let duration = self.wait_for_capacity_timeout.as_deref();
        if duration.is_some_and(|d| capacity::duration(d).is_none()) {
            problems.error(
                "wait_for_capacity_timeout",
                "Invalid duration",
                "Durations are like \"30s\", \"10m\", \"0\".",
            );
        }
    }

    async fn find_by_token(&self, token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let name = unique_name(&self.name, &self.name_prefix, token);
        let Some(found) = find(ctx.client(), &name).await? else { return Ok(None) };
        if !self.is_ours(Some(&found)) {
            return Ok(None);
        }
        let mut state = self.clone();
        state.id.set(name);
        state.refresh(&found);
        Ok(Some(state))
    }
}

/// Makes the ID unknown where the name changes, and the reverse.
fn follow(by_id: bool, old: (&Attr<String>, &Attr<String>), new: (&mut Attr<String>, &mut Attr<String>)) {
    if by_id && old.0 != new.0 {
        *new.1 = Attr::Unknown;
    } else if !by_id && old.1 != new.1 {
        *new.0 = Attr::Unknown;
    }
}

impl AutoscalingGroup {
    async fn make(&self, aws: &Aws, name: &str) -> Result<()> {
        let tags: Vec<_> = self.tag.iter().map(|t| request_tag(name, t)).collect();
        let request = aws
            .autoscaling
            .create_auto_scaling_group()
            .auto_scaling_group_name(name)
            .set_availability_zones(list(&self.availability_zones))
            .set_capacity_rebalance(self.capacity_rebalance.cloned())
            .set_context(self.context.cloned())
            .set_default_cooldown(self.default_cooldown.cloned())
            .set_default_instance_warmup(self.default_instance_warmup.cloned())
            .set_desired_capacity(self.desired_capacity.cloned())
            .set_desired_capacity_type(self.desired_capacity_type.cloned())
            .set_health_check_grace_period(self.health_check_grace_period.cloned())
            .set_health_check_type(self.health_check_type.cloned())
            .set_instance_maintenance_policy(self.instance_maintenance_policy.as_ref().map(maintenance))
            .set_launch_configuration_name(self.launch_configuration.cloned())
            .set_launch_template(self.launch_template.as_ref().map(convert::template))
            .set_lifecycle_hook_specification_list(convert::hooks(&self.initial_lifecycle_hook))
            .set_load_balancer_names(list(&self.load_balancers))
            .set_max_instance_lifetime(self.max_instance_lifetime.cloned())
            .set_max_size(self.max_size.cloned())
            .set_min_size(self.min_size.cloned())
            .set_mixed_instances_policy(self.mixed_instances_policy.as_ref().map(convert::policy))
            .set_new_instances_protected_from_scale_in(self.protect_from_scale_in.cloned())
            .set_placement_group(self.placement_group.cloned())
            .set_service_linked_role_arn(self.service_linked_role_arn.cloned())
            .set_tags((!tags.is_empty()).then_some(tags))
            .set_target_group_arns(list(&self.target_group_arns))
            .set_termination_policies(self.termination_policies.cloned())
            .set_vpc_zone_identifier(list(&self.vpc_zone_identifier).map(|s| s.join(",")));
        request.send().await.or_fail("Creating the auto scaling group").map(drop)
    }

    async fn change(&self, prior: &Self, aws: &Aws, name: &str) -> Result<()> {
        let same = AutoscalingGroup {
            tag: self.tag.clone(),
            enabled_metrics: self.enabled_metrics.clone(),
            suspended_processes: self.suspended_processes.clone(),
            target_group_arns: self.target_group_arns.clone(),
            load_balancers: self.load_balancers.clone(),
            instance_refresh: self.instance_refresh.clone(),
            timeouts: self.timeouts.clone(),
            ..prior.clone()
        };
        if *self == same {
            return Ok(());
        }
        let request = aws
            .autoscaling
            .update_auto_scaling_group()
            .auto_scaling_group_name(name)
            .set_availability_zones(
                list(&self.availability_zones).filter(|_| self.vpc_zone_identifier.get().is_none_or(|s| s.is_empty())),
            )
            .set_capacity_rebalance(
                self.capacity_rebalance.cloned().or(prior.capacity_rebalance.is_known().then_some(false)),
            )
            .set_context(self.context.cloned())
            .set_default_cooldown(self.default_cooldown.cloned())
            .set_default_instance_warmup(removable(&self.default_instance_warmup, &prior.default_instance_warmup, -1))
            .set_desired_capacity(
                self.desired_capacity.cloned().filter(|_| self.desired_capacity != prior.desired_capacity),
            )
            .set_desired_capacity_type(self.desired_capacity_type.cloned())
            .set_health_check_grace_period(self.health_check_grace_period.cloned())
            .set_health_check_type(self.health_check_type.cloned())
            .set_instance_maintenance_policy(self.changed_maintenance(prior))
            .set_launch_configuration_name(self.launch_configuration.cloned())
            .set_launch_template(self.launch_template.as_ref().map(convert::template))
            .set_max_instance_lifetime(removable(&self.max_instance_lifetime, &prior.max_instance_lifetime, 0))
            .set_max_size(self.max_size.cloned())
            .set_min_size(self.min_size.cloned())
            .set_mixed_instances_policy(self.mixed_instances_policy.as_ref().map(convert::policy))
            .set_new_instances_protected_from_scale_in(self.protect_from_scale_in.cloned())
            .set_placement_group(self.placement_group.cloned().or(prior.placement_group.is_known().then(String::new)))
            .set_service_linked_role_arn(self.service_linked_role_arn.cloned())
            .set_termination_policies(
                self.termination_policies
                    .cloned()
                    .or(prior.termination_policies.is_known().then(|| vec!["Default".into()])),
            )
            .set_vpc_zone_identifier(list(&self.vpc_zone_identifier).map(|s| s.join(",")));
        request.send().await.or_fail("Changing the auto scaling group").map(drop)
    }

    fn changed_maintenance(&self, prior: &Self) -> Option<api::InstanceMaintenancePolicy> {
        match (&self.instance_maintenance_policy, &prior.instance_maintenance_policy) {
            (Some(block), _) => Some(maintenance(block)),
            (None, Some(_)) => Some(
                api::InstanceMaintenancePolicy::builder().min_healthy_percentage(-1).max_healthy_percentage(-1).build(),
            ),
            (None, None) => None,
        }
    }

    async fn change_tags(&self, prior: &Self, aws: &Aws, name: &str) -> Result<()> {
        let gone = prior.tag.iter().filter(|old| !self.tag.iter().any(|t| t.key == old.key));
        let gone: Vec<_> = gone.map(|t| request_tag(name, t)).collect();
        if !gone.is_empty() {
            let request = aws.autoscaling.delete_tags().set_tags(Some(gone));
            request.send().await.or_fail("Removing tags of the auto scaling group")?;
        }
        let new: Vec<_> = self.tag.iter().filter(|t| !prior.tag.contains(t)).map(|t| request_tag(name, t)).collect();
        if !new.is_empty() {
            let request = aws.autoscaling.create_or_update_tags().set_tags(Some(new));
            request.send().await.or_fail("Setting tags of the auto scaling group")?;
        }
        Ok(())
    }

    /// Load balancers are attached and detached, not set.
    async fn change_attachments(&self, prior: &Self, aws: &Aws, name: &str) -> Result<()> {
        let difference = |new: &Attr<Set<String>>, old: &Attr<Set<String>>| {
            let (new, old) = (new.or_default(), old.or_default());
            let added: Vec<String> = new.without(&old).cloned().collect();
            let gone: Vec<String> = old.without(&new).cloned().collect();
            (added, gone)
        };
        let (added, gone) = difference(&self.target_group_arns, &prior.target_group_arns);
        if !gone.is_empty() && self.target_group_arns.is_known() {
            let request = aws.autoscaling.detach_load_balancer_target_groups().auto_scaling_group_name(name);
            request.set_target_group_arns(Some(gone)).send().await.or_fail("Detaching target groups")?;
        }
        if !added.is_empty() {
            let request = aws.autoscaling.attach_load_balancer_target_groups().auto_scaling_group_name(name);
            request.set_target_group_arns(Some(added)).send().await.or_fail("Attaching target groups")?;
        }
        let (added, gone) = difference(&self.load_balancers, &prior.load_balancers);
        if !gone.is_empty() && self.load_balancers.is_known() {
            let request = aws.autoscaling.detach_load_balancers().auto_scaling_group_name(name);
            request.set_load_balancer_names(Some(gone)).send().await.or_fail("Detaching load balancers")?;
        }
        if !added.is_empty() {
            let request = aws.autoscaling.attach_load_balancers().auto_scaling_group_name(name);
            request.set_load_balancer_names(Some(added)).send().await.or_fail("Attaching load balancers")?;
        }
        Ok(())
    }

    async fn enable_metrics(&self, aws: &Aws, name: &str, metrics: Vec<String>) -> Result<()> {
        let request = aws.autoscaling.enable_metrics_collection().auto_scaling_group_name(name);
        let request =
            request.set_metrics(Some(metrics)).granularity(self.metrics_granularity.unwrap_or("1Minute".into()));
        request.send().await.or_fail("Starting the collection of metrics").map(drop)
    }

    /// Whether a change makes the instances be replaced.
    fn wants_refresh(&self, prior: &Self) -> bool {
        let Some(refresh) = &self.instance_refresh else { return false };
        let triggers = refresh.triggers.or_default();
        let triggered = |name: &str, changed: bool| changed && triggers.iter().any(|t| t == name);
        self.launch_template != prior.launch_template
            || self.mixed_instances_policy != prior.mixed_instances_policy
            || self.launch_configuration != prior.launch_configuration
            || triggered("tag", self.tag.iter().any(|t| !prior.tag.contains(t)) || self.tag.len() != prior.tag.len())
            || triggered("vpc_zone_identifier", self.vpc_zone_identifier != prior.vpc_zone_identifier)
            || triggered("availability_zones", self.availability_zones != prior.availability_zones)
            || triggered("placement_group", self.placement_group != prior.placement_group)
            || triggered("desired_capacity", self.desired_capacity != prior.desired_capacity)
            || triggered("max_size", self.max_size != prior.max_size)
            || triggered("min_size", self.min_size != prior.min_size)
    }

    async fn start_refresh(&self, aws: &Aws, name: &str) -> Result<()> {
        let Some(refresh) = &self.instance_refresh else { return Ok(()) };
        let start = || {
            let request = aws.autoscaling.start_instance_refresh().auto_scaling_group_name(name);
            let request = request.set_strategy(choice(&refresh.strategy));
            request.set_preferences(refresh.preferences.as_ref().map(convert::preferences)).send()
        };
        match start().await.or_fail("Starting the replacement of instances") {
            // One that is under way is for an older template.
            Err(e) if e.has_code(&["InstanceRefreshInProgress", "InstanceRefreshInProgressFault"]) => {
                let request = aws.autoscaling.cancel_instance_refresh().auto_scaling_group_name(name);
                request.send().await.or_fail("Ending the earlier replacement of instances")?;
                start().await.or_fail("Starting the replacement of instances").map(drop)
            }
            other => other.map(drop),
        }
    }

    /// Whether a group of this name is as this create would have made it.
    fn is_ours(&self, found: Option<&Found>) -> bool {
        found.is_some_and(|g| {
            let tags = found_tags(g, &self.tag);
            tags.len() == self.tag.len()
                && tags.iter().all(|t| self.tag.contains(t))
                && g.max_size() == self.max_size.cloned()
                && g.min_size() == self.min_size.cloned()
        })
    }

    fn refresh(&mut self, g: &Found) {
        let text = |t: Option<&str>| t.unwrap_or_default().to_owned();
        let set = |values: &[String]| values.iter().cloned().collect::<Set<String>>();
        self.arn.set(text(g.auto_scaling_group_arn()));
        self.name.set(text(g.auto_scaling_group_name()));
        if !self.name_prefix.is_known() {
            self.name_prefix.set(prefix_of(g.auto_scaling_group_name().unwrap_or_default()));
        }
        self.availability_zones.set(set(g.availability_zones()));
        refresh_flag(&mut self.capacity_rebalance, g.capacity_rebalance().unwrap_or_default());
        self.context.refresh(text(g.context()));
        self.default_cooldown.set(g.default_cooldown().unwrap_or_default());
        if g.default_instance_warmup().is_some() || self.default_instance_warmup != Attr::Known(0) {
            self.default_instance_warmup = g.default_instance_warmup().into();
        }
        self.desired_capacity.set(g.desired_capacity().unwrap_or_default());
        self.desired_capacity_type.set(text(g.desired_capacity_type()));
        self.enabled_metrics
            .refresh(g.enabled_metrics().iter().filter_map(|m| m.metric()).map(str::to_owned).collect::<Set<_>>());
        self.metrics_granularity.set(g.enabled_metrics().first().and_then(|m| m.granularity()).unwrap_or("1Minute"));
        self.health_check_grace_period.set(g.health_check_grace_period().unwrap_or_default());
        self.health_check_type.set(text(g.health_check_type()));
        self.instance_maintenance_policy = g.instance_maintenance_policy().map(|p| MaintenancePolicy {
            max_healthy_percentage: p.max_healthy_percentage().into(),
            min_healthy_percentage: p.min_healthy_percentage().into(),
        });
        self.launch_configuration.refresh(text(g.launch_configuration_name()));
        self.launch_template = g.launch_template().map(convert::found_template);
        self.load_balancers.set(set(g.load_balancer_names()));
        if g.max_instance_lifetime().is_some() || self.max_instance_lifetime != Attr::Known(0) {
            self.max_instance_lifetime = g.max_instance_lifetime().into();
        }
        self.max_size = g.max_size().into();
        self.min_size = g.min_size().into();
        self.mixed_instances_policy = g.mixed_instances_policy().map(convert::found_policy);
        self.placement_group.refresh(text(g.placement_group()));
        self.predicted_capacity.set(g.predicted_capacity().unwrap_or_default());
        self.protect_from_scale_in.set(g.new_instances_protected_from_scale_in().unwrap_or_default());
        self.service_linked_role_arn.set(text(g.service_linked_role_arn()));
        self.suspended_processes.refresh(
            g.suspended_processes().iter().filter_map(|p| p.process_name()).map(str::to_owned).collect::<Set<_>>(),
        );
        self.tag = found_tags(g, &self.tag);
        self.target_group_arns.set(set(g.target_group_arns()));
        let policies = g.termination_policies().to_vec();
        // AWS reports the default where nothing is set.
        if !(self.termination_policies.is_null() && policies == ["Default"]) {
            self.termination_policies.refresh(policies);
        }
        let subnets = g.vpc_zone_identifier().unwrap_or_default().split(',').filter(|s| !s.is_empty());
        self.vpc_zone_identifier.set(subnets.map(str::to_owned).collect::<Set<_>>());
        self.warm_pool_size.set(g.warm_pool_size().unwrap_or_default());
        for unset in [&mut self.force_delete, &mut self.ignore_failed_scaling_activities] {
            if !unset.is_known() {
                unset.set(false);
            }
        }
        if !self.wait_for_capacity_timeout.is_known() {
            self.wait_for_capacity_timeout.set("10m");
        }
    }
}

/// The tags of a group, without AWS's own unless they were written.
fn found_tags(g: &Found, written: &[Tag]) -> Vec<Tag> {
    let known = |key: &str| written.iter().any(|t| t.key == key);
    g.tags()
        .iter()
        .filter(|t| t.key().is_some_and(|k| !k.starts_with("aws:") && (k != "AmazonECSManaged" || known(k))))
        .map(|t| Tag {
            key: t.key().into(),
            propagate_at_launch: t.propagate_at_launch().unwrap_or_default().into(),
            value: t.value().unwrap_or_default().into(),
        })
        .collect()
}

fn request_tag(group: &str, t: &Tag) -> api::Tag {
    convert::tag(group, &t.key.or_default(), &t.value.or_default(), t.propagate_at_launch.or_default())
}

fn maintenance(block: &MaintenancePolicy) -> api::InstanceMaintenancePolicy {
    api::InstanceMaintenancePolicy::builder()
        .set_min_healthy_percentage(block.min_healthy_percentage.cloned())
        .set_max_healthy_percentage(block.max_healthy_percentage.cloned())
        .build()
}

/// A number, or what removes it when it is no longer given.
fn removable(new: &Attr<i32>, old: &Attr<i32>, nothing: i32) -> Option<i32> {
    new.cloned().or(old.is_known().then_some(nothing))
}

async fn suspend(aws: &Aws, name: &str, processes: Vec<String>) -> Result<()> {
    let request = aws.autoscaling.suspend_processes().auto_scaling_group_name(name);
    request.set_scaling_processes(Some(processes)).send().await.or_fail("Suspending processes").map(drop)
}

async fn find(aws: &Aws, name: &str) -> Result<Option<Found>> {
    let request = aws.autoscaling.describe_auto_scaling_groups().auto_scaling_group_names(name);
    let answer = request.send().await.or_fail("Reading the auto scaling group")?;
    Ok(answer.auto_scaling_groups().first().cloned())
}
