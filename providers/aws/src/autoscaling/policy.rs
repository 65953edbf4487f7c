//! `aws_autoscaling_policy`: simple, step, target tracking and predictive scaling. API: PutScalingPolicy,
//! DescribePolicies, DeletePolicy.

use crate::client::Aws;
use crate::ec2::util::choice;
use crate::error::Answer;
use aws_sdk_autoscaling::types::{self as api, ScalingPolicy as Found};
use gpuform_provider_sdk::prelude::*;

/// A scaling policy of an auto scaling group.
#[derive(Model, Clone, PartialEq, Default)]
pub struct AutoscalingPolicy {
    /// The policy's name.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// `ChangeInCapacity`, `ExactCapacity` or `PercentChangeInCapacity`.
    #[attr(optional)]
    pub adjustment_type: Attr<String>,
    /// The policy's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// The group.
    #[attr(required, force_new)]
    pub autoscaling_group_name: Attr<String>,
    /// Seconds until the policy acts again (simple scaling).
    #[attr(optional)]
    pub cooldown: Attr<i32>,
    /// Whether the policy acts.
    #[attr(optional, default = true)]
    pub enabled: Attr<bool>,
    /// Seconds until a new instance counts.
    #[attr(optional)]
    pub estimated_instance_warmup: Attr<i32>,
    /// `Minimum`, `Maximum` or `Average` (step scaling).
    #[attr(optional, computed)]
    pub metric_aggregation_type: Attr<String>,
    /// The least change of a percentage, in instances.
    #[attr(optional, validate = range(1..))]
    pub min_adjustment_magnitude: Attr<i32>,
    /// The name.
    #[attr(required, force_new)]
    pub name: Attr<String>,
    /// `SimpleScaling` (unless given), `StepScaling`, `TargetTrackingScaling` or `PredictiveScaling`.
    #[attr(optional, default = "SimpleScaling", validate = one_of(["SimpleScaling", "StepScaling", "TargetTrackingScaling", "PredictiveScaling"]))]
    pub policy_type: Attr<String>,
    /// Predictive scaling.
    #[block]
    pub predictive_scaling_configuration: Option<Predictive>,
    /// The change in instances or percent (simple scaling).
    #[attr(optional, conflicts_with = ["step_adjustment"])]
    pub scaling_adjustment: Attr<i32>,
    /// Changes by how far the metric is off.
    #[block(nesting = "set")]
    pub step_adjustment: Vec<Step>,
    /// Target tracking.
    #[block(conflicts_with = ["scaling_adjustment", "step_adjustment"])]
    pub target_tracking_configuration: Option<TargetTracking>,
}

/// A change by how far the metric is off.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Step {
    /// Off by at least so much.
    #[attr(optional)]
    pub metric_interval_lower_bound: Attr<String>,
    /// Off by less than so much.
    #[attr(optional)]
    pub metric_interval_upper_bound: Attr<String>,
    /// The change.
    #[attr(required)]
    pub scaling_adjustment: Attr<i32>,
}

/// Keeps a metric at a value.
#[derive(Model, Clone, PartialEq, Default)]
pub struct TargetTracking {
    /// A metric of the user's.
    #[block(conflicts_with = ["predefined_metric_specification"])]
    pub customized_metric_specification: Option<CustomizedMetric>,
    /// Whether the policy never takes instances away.
    #[attr(optional, default = false)]
    pub disable_scale_in: Attr<bool>,
    /// A metric of AWS's.
    #[block]
    pub predefined_metric_specification: Option<PredefinedMetric>,
    /// The value.
    #[attr(required)]
    pub target_value: Attr<f64>,
}

/// A metric of AWS's.
#[derive(Model, Clone, PartialEq, Default)]
pub struct PredefinedMetric {
    /// `ASGAverageCPUUtilization`, …
    #[attr(required)]
    pub predefined_metric_type: Attr<String>,
    /// The load balancer and target group.
    #[attr(optional)]
    pub resource_label: Attr<String>,
}

/// A metric of the user's: one, or an expression over several.
#[derive(Model, Clone, PartialEq, Default)]
pub struct CustomizedMetric {
    /// The metric's dimensions.
    #[block]
    pub metric_dimension: Vec<Dimension>,
    /// The metric's name.
    #[attr(optional)]
    pub metric_name: Attr<String>,
    /// Metrics and expressions.
    #[block(nesting = "set")]
    pub metrics: Vec<MetricQuery>,
    /// The metric's namespace.
    #[attr(optional)]
    pub namespace: Attr<String>,
    /// Seconds: 10, 30 or 60.
    #[attr(optional)]
    pub period: Attr<i32>,
    /// `Average`, `Maximum`, …
    #[attr(optional)]
    pub statistic: Attr<String>,
    /// The unit.
    #[attr(optional)]
    pub unit: Attr<String>,
}

/// A dimension of a metric.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Dimension {
    /// The name.
    #[attr(required)]
    pub name: Attr<String>,
    /// The value.
    #[attr(required)]
    pub value: Attr<String>,
}

/// A metric, or an expression over others.
#[derive(Model, Clone, PartialEq, Default)]
pub struct MetricQuery {
    /// The expression.
    #[attr(optional)]
    pub expression: Attr<String>,
    /// A name for expressions.
    #[attr(required)]
    pub id: Attr<String>,
    /// A name for people.
    #[attr(optional)]
    pub label: Attr<String>,
    /// The metric.
    #[block]
    pub metric_stat: Option<MetricStat>,
    /// Whether this is the value that counts.
    #[attr(optional, default = true)]
    pub return_data: Attr<bool>,
}

/// A metric with its statistic.
#[derive(Model, Clone, PartialEq, Default)]
pub struct MetricStat {
    /// The metric.
    #[block(min = 1)]
    pub metric: Option<Metric>,
    /// Seconds.
    #[attr(optional)]
    pub period: Attr<i32>,
    /// `Average`, `Sum`, `p90`, …
    #[attr(required)]
    pub stat: Attr<String>,
    /// The unit.
    #[attr(optional)]
    pub unit: Attr<String>,
}

/// A metric.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Metric {
    /// Its dimensions.
    #[block(nesting = "set")]
    pub dimensions: Vec<Dimension>,
    /// Its name.
    #[attr(required)]
    pub metric_name: Attr<String>,
    /// Its namespace.
    #[attr(required)]
    pub namespace: Attr<String>,
}

/// Scales ahead of a load that recurs.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Predictive {
    /// `HonorMaxCapacity` or `IncreaseMaxCapacity`.
    #[attr(optional, default = "HonorMaxCapacity", validate = one_of(["HonorMaxCapacity", "IncreaseMaxCapacity"]))]
    pub max_capacity_breach_behavior: Attr<String>,
    /// Percent above the forecast.
    #[attr(optional)]
    pub max_capacity_buffer: Attr<String>,
    /// The metrics.
    #[block(min = 1)]
    pub metric_specification: Option<PredictiveMetric>,
    /// `ForecastOnly` or `ForecastAndScale`.
    #[attr(optional, default = "ForecastOnly", validate = one_of(["ForecastOnly", "ForecastAndScale"]))]
    pub mode: Attr<String>,
    /// Seconds ahead of the forecast.
    #[attr(optional)]
    pub scheduling_buffer_time: Attr<String>,
}

/// The metrics of a forecast.
#[derive(Model, Clone, PartialEq, Default)]
pub struct PredictiveMetric {
    /// The load.
    #[block]
    pub predefined_load_metric_specification: Option<PredefinedMetric>,
    /// Load and scaling metric together.
    #[block]
    pub predefined_metric_pair_specification: Option<PredefinedMetric>,
    /// The scaling metric.
    #[block]
    pub predefined_scaling_metric_specification: Option<PredefinedMetric>,
    /// The value to keep.
    #[attr(required)]
    pub target_value: Attr<f64>,
}

impl Resource for AutoscalingPolicy {
    type Client = Aws;
    const TYPE: &'static str = "aws_autoscaling_policy";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        self.put(ctx.client()).await?;
        self.id = self.name.clone();
        Ok(())
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let Some(found) = self.find(ctx.client()).await? else { return Ok(None) };
        self.refresh(&found);
        Ok(Some(self))
    }

    /// Putting a policy again changes it, so a repeated create is harmless.
    async fn update(&mut self, _prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        self.put(ctx.client()).await
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let request = aws.autoscaling.delete_policy().set_policy_name(self.name.cloned());
        let request = request.set_auto_scaling_group_name(self.autoscaling_group_name.cloned());
        match request.send().await.or_fail("Deleting the scaling policy") {
            Err(_) if self.find(aws).await?.is_none() => Ok(()),
            other => other.map(drop),
        }
    }

    /// `GROUP_NAME/POLICY_NAME`.
    async fn import(id: &str, _ctx: &Context<Aws>) -> Result<Self> {
        let Some((group, name)) = id.split_once('/').filter(|(g, n)| !g.is_empty() && !n.is_empty()) else {
            return Err(Error::new("Invalid import ID").detail(format!("\"{id}\" should be GROUP_NAME/POLICY_NAME.")));
        };
        Ok(AutoscalingPolicy {
            id: name.into(),
            name: name.into(),
            autoscaling_group_name: group.into(),
            ..AutoscalingPolicy::default()
        })
    }

    async fn find_by_token(&self, _token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let Some(found) = self.find(ctx.client()).await? else { return Ok(None) };
        let mut state = self.clone();
        state.id = self.name.clone();
        state.refresh(&found);
        Ok(Some(state))
    }
}

impl AutoscalingPolicy {
    async fn put(&self, aws: &Aws) -> Result<()> {
        let number = |t: &Attr<String>| t.as_deref().and_then(|t| t.parse::<f64>().ok());
        let steps = self.step_adjustment.iter().map(|s| {
            api::StepAdjustment::builder()
                .set_metric_interval_lower_bound(number(&s.metric_interval_lower_bound))
                .set_metric_interval_upper_bound(number(&s.metric_interval_upper_bound))
                .set_scaling_adjustment(s.scaling_adjustment.cloned())
                .build()
        });
        let steps: Vec<_> = steps.collect();
        let request = aws
            .autoscaling
            .put_scaling_policy()
            .set_auto_scaling_group_name(self.autoscaling_group_name.cloned())
            .set_policy_name(self.name.cloned())
            .set_policy_type(self.policy_type.cloned())
            .set_adjustment_type(self.adjustment_type.cloned())
            .set_cooldown(self.cooldown.cloned())
            .set_enabled(self.enabled.cloned())
            .set_estimated_instance_warmup(self.estimated_instance_warmup.cloned())
            .set_metric_aggregation_type(
                self.metric_aggregation_type.cloned().filter(|_| self.policy_type == "StepScaling"),
            )
            .set_min_adjustment_magnitude(self.min_adjustment_magnitude.cloned())
            .set_scaling_adjustment(self.scaling_adjustment.cloned())
            .set_step_adjustments((!steps.is_empty()).then_some(steps))
            .set_target_tracking_configuration(self.target_tracking_configuration.as_ref().map(tracking))
            .set_predictive_scaling_configuration(self.predictive_scaling_configuration.as_ref().map(predictive));
        request.send().await.or_fail("Putting the scaling policy").map(drop)
    }

    async fn find(&self, aws: &Aws) -> Result<Option<Found>> {
        let name = self.name.require("name")?;
        let request = aws.autoscaling.describe_policies().policy_names(name);
        let request = request.set_auto_scaling_group_name(self.autoscaling_group_name.cloned());
        match request.send().await.or_fail("Reading the scaling policy") {
            Ok(answer) => Ok(answer.scaling_policies().iter().find(|p| p.policy_name() == Some(name)).cloned()),
            // So AWS answers when the group is gone.
            Err(e) if e.is_not_found() || (e.has_code(&["ValidationError"]) && e.to_string().contains("not found")) => {
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    fn refresh(&mut self, p: &Found) {
        let text = |t: Option<&str>| t.unwrap_or_default().to_owned();
        self.arn.set(text(p.policy_arn()));
        self.adjustment_type.refresh(text(p.adjustment_type()));
        self.cooldown = p.cooldown().into();
        self.enabled.set(p.enabled().unwrap_or(true));
        self.estimated_instance_warmup = p.estimated_instance_warmup().into();
        self.metric_aggregation_type.set(text(p.metric_aggregation_type()));
        self.min_adjustment_magnitude = p.min_adjustment_magnitude().into();
        self.policy_type.set(p.policy_type().unwrap_or("SimpleScaling"));
        self.scaling_adjustment = p.scaling_adjustment().into();
        self.step_adjustment = found_steps(p, &self.step_adjustment);
        self.target_tracking_configuration = p.target_tracking_configuration().map(found_tracking);
        self.predictive_scaling_configuration = p.predictive_scaling_configuration().map(found_predictive);
    }
}

/// Steps as AWS reports them, with the bounds as they were written where they mean the same (`0` and `0.0`).
fn found_steps(p: &Found, written: &[Step]) -> Vec<Step> {
    let value = |t: &Attr<String>| t.as_deref().filter(|t| !t.is_empty()).and_then(|t| t.parse::<f64>().ok());
    let one = |s: &api::StepAdjustment| {
        let same = written.iter().find(|w| {
            value(&w.metric_interval_lower_bound) == s.metric_interval_lower_bound()
                && value(&w.metric_interval_upper_bound) == s.metric_interval_upper_bound()
        });
        Step {
            metric_interval_lower_bound: same.map_or_else(
                || s.metric_interval_lower_bound().map(|b| b.to_string()).into(),
                |w| w.metric_interval_lower_bound.clone(),
            ),
            metric_interval_upper_bound: same.map_or_else(
                || s.metric_interval_upper_bound().map(|b| b.to_string()).into(),
                |w| w.metric_interval_upper_bound.clone(),
            ),
            scaling_adjustment: s.scaling_adjustment().into(),
        }
    };
    p.step_adjustments().iter().map(one).collect()
}

fn dimension(d: &Dimension) -> api::MetricDimension {
    api::MetricDimension::builder().set_name(d.name.cloned()).set_value(d.value.cloned()).build()
}

fn found_dimension(d: &api::MetricDimension) -> Dimension {
    Dimension { name: d.name().into(), value: d.value().into() }
}

fn some<T>(items: Vec<T>) -> Option<Vec<T>> {
    (!items.is_empty()).then_some(items)
}

fn tracking(t: &TargetTracking) -> api::TargetTrackingConfiguration {
    let predefined = t.predefined_metric_specification.as_ref().map(|p| {
        api::PredefinedMetricSpecification::builder()
            .set_predefined_metric_type(choice(&p.predefined_metric_type))
            .set_resource_label(p.resource_label.cloned())
            .build()
    });
    let customized = t.customized_metric_specification.as_ref().map(|c| {
        api::CustomizedMetricSpecification::builder()
            .set_dimensions(some(c.metric_dimension.iter().map(dimension).collect()))
            .set_metric_name(c.metric_name.cloned())
            .set_metrics(some(c.metrics.iter().map(query).collect()))
            .set_namespace(c.namespace.cloned())
            .set_period(c.period.cloned())
            .set_statistic(choice(&c.statistic))
            .set_unit(c.unit.cloned())
            .build()
    });
    api::TargetTrackingConfiguration::builder()
        .set_predefined_metric_specification(predefined)
        .set_customized_metric_specification(customized)
        .set_disable_scale_in(t.disable_scale_in.cloned())
        .set_target_value(t.target_value.cloned())
        .build()
}

fn query(q: &MetricQuery) -> api::TargetTrackingMetricDataQuery {
    let stat = q.metric_stat.as_ref().map(|s| {
        let metric = s.metric.as_ref().map(|m| {
            api::Metric::builder()
                .set_dimensions(some(m.dimensions.iter().map(dimension).collect()))
                .set_metric_name(m.metric_name.cloned())
                .set_namespace(m.namespace.cloned())
                .build()
        });
        api::TargetTrackingMetricStat::builder()
            .set_metric(metric)
            .set_period(s.period.cloned())
            .set_stat(s.stat.cloned())
            .set_unit(s.unit.cloned())
            .build()
    });
    api::TargetTrackingMetricDataQuery::builder()
        .set_expression(q.expression.cloned())
        .set_id(q.id.cloned())
        .set_label(q.label.cloned())
        .set_metric_stat(stat)
        .set_return_data(q.return_data.cloned())
        .build()
}

fn found_tracking(t: &api::TargetTrackingConfiguration) -> TargetTracking {
    TargetTracking {
        customized_metric_specification: t.customized_metric_specification().map(|c| CustomizedMetric {
            metric_dimension: c.dimensions().iter().map(found_dimension).collect(),
            metric_name: c.metric_name().into(),
            metrics: c.metrics().iter().map(found_query).collect(),
            namespace: c.namespace().into(),
            period: c.period().into(),
            statistic: c.statistic().map(|s| s.as_str()).into(),
            unit: c.unit().into(),
        }),
        disable_scale_in: Attr::Known(t.disable_scale_in().unwrap_or_default()),
        predefined_metric_specification: t.predefined_metric_specification().map(|p| PredefinedMetric {
            predefined_metric_type: p.predefined_metric_type().map(|t| t.as_str()).into(),
            resource_label: p.resource_label().into(),
        }),
        target_value: t.target_value().into(),
    }
}

fn found_query(q: &api::TargetTrackingMetricDataQuery) -> MetricQuery {
    MetricQuery {
        expression: q.expression().into(),
        id: q.id().into(),
        label: q.label().into(),
        metric_stat: q.metric_stat().map(|s| MetricStat {
            metric: s.metric().map(|m| Metric {
                dimensions: m.dimensions().iter().map(found_dimension).collect(),
                metric_name: m.metric_name().into(),
                namespace: m.namespace().into(),
            }),
            period: s.period().into(),
            stat: s.stat().into(),
            unit: s.unit().into(),
        }),
        return_data: Attr::Known(q.return_data().unwrap_or(true)),
    }
}

fn predictive(p: &Predictive) -> api::PredictiveScalingConfiguration {
    let number = |t: &Attr<String>| t.as_deref().and_then(|t| t.parse::<i32>().ok());
    let metric = p.metric_specification.as_ref().map(|m| {
        let load = m.predefined_load_metric_specification.as_ref().map(|l| {
            api::PredictiveScalingPredefinedLoadMetric::builder()
                .set_predefined_metric_type(choice(&l.predefined_metric_type))
                .set_resource_label(l.resource_label.cloned())
                .build()
        });
        let pair = m.predefined_metric_pair_specification.as_ref().map(|l| {
            api::PredictiveScalingPredefinedMetricPair::builder()
                .set_predefined_metric_type(choice(&l.predefined_metric_type))
                .set_resource_label(l.resource_label.cloned())
                .build()
        });
        let scaling = m.predefined_scaling_metric_specification.as_ref().map(|l| {
            api::PredictiveScalingPredefinedScalingMetric::builder()
                .set_predefined_metric_type(choice(&l.predefined_metric_type))
                .set_resource_label(l.resource_label.cloned())
                .build()
        });
        api::PredictiveScalingMetricSpecification::builder()
            .set_predefined_load_metric_specification(load)
            .set_predefined_metric_pair_specification(pair)
            .set_predefined_scaling_metric_specification(scaling)
            .set_target_value(m.target_value.cloned())
            .build()
    });
    api::PredictiveScalingConfiguration::builder()
        .set_max_capacity_breach_behavior(choice(&p.max_capacity_breach_behavior))
        .set_max_capacity_buffer(number(&p.max_capacity_buffer))
        .set_metric_specifications(metric.map(|m| vec![m]))
        .set_mode(choice(&p.mode))
        .set_scheduling_buffer_time(number(&p.scheduling_buffer_time))
        .build()
}

fn found_predictive(p: &api::PredictiveScalingConfiguration) -> Predictive {
    let metric = p.metric_specifications().first().map(|m| PredictiveMetric {
        predefined_load_metric_specification: m.predefined_load_metric_specification().map(|l| PredefinedMetric {
            predefined_metric_type: l.predefined_metric_type().map(|t| t.as_str()).into(),
            resource_label: l.resource_label().into(),
        }),
        predefined_metric_pair_specification: m.predefined_metric_pair_specification().map(|l| PredefinedMetric {
            predefined_metric_type: l.predefined_metric_type().map(|t| t.as_str()).into(),
            resource_label: l.resource_label().into(),
        }),
        predefined_scaling_metric_specification: m.predefined_scaling_metric_specification().map(|l| {
            PredefinedMetric {
                predefined_metric_type: l.predefined_metric_type().map(|t| t.as_str()).into(),
                resource_label: l.resource_label().into(),
            }
        }),
        target_value: m.target_value().into(),
    });
    Predictive {
        max_capacity_breach_behavior: p
            .max_capacity_breach_behavior()
            .map(|b| b.as_str())
            .unwrap_or("HonorMaxCapacity")
            .into(),
        max_capacity_buffer: p.max_capacity_buffer().map(|n| n.to_string()).into(),
        metric_specification: metric,
        mode: p.mode().map(|m| m.as_str()).unwrap_or("ForecastOnly").into(),
        scheduling_buffer_time: p.scheduling_buffer_time().map(|n| n.to_string()).into(),
    }
}
