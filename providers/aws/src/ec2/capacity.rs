//! Launches that AWS refuses for want of capacity, quota or price: they are reported at once, never tried again in
//! silence, and the error says what could be had instead. `client.rs` takes [`NoRetry`] into the EC2 client; whatever
//! launches instances passes its errors through [`explain`].

use crate::client::Aws;
use crate::ec2::util::filter;
use aws_sdk_ec2::types::{InstanceTypeInfo, LocationType};
use aws_smithy_runtime_api::client::interceptors::context::InterceptorContext;
use aws_smithy_runtime_api::client::retries::classifiers::{ClassifyRetry, RetryAction, RetryClassifierPriority};
use gpuform_provider_sdk::prelude::*;
use std::fmt::Write;

/// Refusals that the same request will meet again.
const NO_CAPACITY: &[&str] = &[
    "InsufficientInstanceCapacity",
    "InsufficientHostCapacity",
    "InsufficientReservedInstanceCapacity",
    "InsufficientCapacity",
    "ReservationCapacityExceeded",
];
const NO_QUOTA: &[&str] = &["VcpuLimitExceeded", "MaxSpotInstanceCountExceeded", "InstanceLimitExceeded"];
const NO_PRICE: &[&str] = &["SpotMaxPriceTooLow"];
const NOT_HERE: &[&str] = &["Unsupported"];

/// How many alternative types an error lists.
const MOST_TYPES: usize = 8;

/// Keeps the client from repeating a launch that was refused for want of capacity. AWS answers those with status 500,
/// which would count as a passing fault.
#[derive(Debug)]
pub struct NoRetry;

impl ClassifyRetry for NoRetry {
    fn classify_retry(&self, ctx: &InterceptorContext) -> RetryAction {
        let body = ctx.response().and_then(|r| r.body().bytes()).unwrap_or_default();
        let text = String::from_utf8_lossy(body.get(..body.len().min(4096)).unwrap_or_default());
        let code = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>")).map(|(code, _)| code);
        match code {
            Some(code) if [NO_CAPACITY, NO_QUOTA, NO_PRICE, NOT_HERE].iter().any(|codes| codes.contains(&code)) => {
                RetryAction::RetryForbidden
            }
            _ => RetryAction::NoActionIndicated,
        }
    }

    fn name(&self) -> &'static str {
        "no retries for want of capacity"
    }

    fn priority(&self) -> RetryClassifierPriority {
        RetryClassifierPriority::run_after(RetryClassifierPriority::transient_error_classifier())
    }
}

/// What a launch wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    pub instance_type: &'a str,
    /// The zone, if the configuration names one.
    pub zone: Option<&'a str>,
    pub spot: bool,
}

/// The error with what could be had instead, if it is about capacity, quota or price; other errors as they are.
pub async fn explain(aws: &Aws, error: Error, wanted: Wanted<'_>) -> Error {
    let advice = if error.has_code(NO_QUOTA) {
        quota_advice(aws, &error, wanted).await
    } else if error.has_code(NO_CAPACITY) || error.has_code(NOT_HERE) {
        place_advice(aws, wanted).await
    } else if error.has_code(NO_PRICE) {
        price_advice(aws, wanted).await
    } else {
        return error;
    };
    error.also(&format!("\n\nWhat could be done:\n{advice}"))
}

async fn place_advice(aws: &Aws, wanted: Wanted<'_>) -> String {
    let mut lines = String::new();
    let mut line = |text: String| {
        let _ = writeln!(lines, "  - {text}");
    };
    let Wanted { instance_type, zone, spot } = wanted;
    let zones = zones_offering(aws, instance_type).await;
    let others: Vec<&str> = zones.iter().map(String::as_str).filter(|z| Some(*z) != zone).collect();
    if zones.is_empty() {
        line(format!("Use another region: {} does not offer {instance_type}.", aws.region));
    } else if !others.is_empty() {
        let not = zone.map(|z| format!(" instead of {z}")).unwrap_or_default();
        line(format!("Use another zone{not}: {instance_type} is offered in {}.", others.join(", ")));
    }
    let similar = similar_types(aws, instance_type).await;
    if !similar.types.is_empty() {
        line(format!("Use another type with {}: {}.", similar.what, similar.types.join(", ")));
    }
    line(other_market(spot));
    line("Reserve capacity (aws_ec2_capacity_reservation), or a capacity block for GPU types.".to_owned());
    lines
}

fn other_market(spot: bool) -> String {
    if spot {
        "Buy on demand instead of spot, which has capacity of its own: without instance_market_options, or, in a group, with \
         a larger on-demand share.".to_owned()
    } else {
        "Buy spot instead of on demand, as it has capacity of its own: instance_market_options { market_type = \"spot\" }, \
         or, in a group, a smaller on-demand share."
            .to_owned()
    }
}

async fn quota_advice(aws: &Aws, error: &Error, wanted: Wanted<'_>) -> String {
    let Wanted { instance_type, spot, .. } = wanted;
    let mut lines = String::new();
    let info = describe_type(aws, instance_type).await;
    let vcpus = info.as_ref().and_then(|t| t.v_cpu_info()).and_then(|v| v.default_v_cpus());
    if error.has_code(&["InstanceLimitExceeded"]) {
        let _ = writeln!(lines, "  - Raise the limit of running {instance_type} instances in {}.", aws.region);
    } else {
        let (name, code) = quota(instance_type, spot);
        let need = vcpus.map(|n| format!(" One {instance_type} counts as {n} vCPUs.")).unwrap_or_default();
        let _ = writeln!(lines, "  - Raise the quota \"{name}\" ({code}) in {}.{need}", aws.region);
        let _ = writeln!(
            lines,
            "    aws service-quotas request-service-quota-increase --region {} --service-code ec2 --quota-code {code} \
             --desired-value VCPUS",
            aws.region
        );
    }
    let (_, other) = quota(instance_type, !spot);
    let _ = writeln!(lines, "  - {} Its quota ({other}) is counted separately.", other_market(spot));
    let _ = writeln!(lines, "  - End instances that are not needed, or use a smaller type.");
    lines
}

async fn price_advice(aws: &Aws, wanted: Wanted<'_>) -> String {
    let Wanted { instance_type, zone, .. } = wanted;
    let mut lines = String::new();
    let mut prices = spot_prices(aws, instance_type).await;
    prices.sort();
    if !prices.is_empty() {
        let all: Vec<String> = prices.iter().map(|(z, p)| format!("{z} {p} USD")).collect();
        let _ = writeln!(lines, "  - Raise max_price; an hour of {instance_type} now costs: {}.", all.join(", "));
    }
    let _ = writeln!(lines, "  - Leave max_price out: the price never goes beyond the on-demand price.");
    let cheapest = prices.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((cheapest, _)) = cheapest.filter(|(z, _)| zone.is_some_and(|wanted| wanted != z)) {
        let _ = writeln!(lines, "  - Use the cheapest zone: {cheapest}.");
    }
    let _ = writeln!(lines, "  - {}", other_market(true));
    lines
}

/// A price that sorts and prints as text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Price(String);

impl Price {
    fn total_cmp(&self, other: &Price) -> std::cmp::Ordering {
        let number = |p: &Price| p.0.parse::<f64>().unwrap_or(f64::INFINITY);
        number(self).total_cmp(&number(other))
    }
}

impl std::fmt::Display for Price {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

async fn spot_prices(aws: &Aws, instance_type: &str) -> Vec<(String, Price)> {
    let request = aws
        .ec2
        .describe_spot_price_history()
        .instance_types(instance_type.into())
        .product_descriptions("Linux/UNIX")
        .start_time(aws_smithy_types::DateTime::from(std::time::SystemTime::now()));
    let Ok(answer) = request.send().await else { return Vec::new() };
    let mut found: BTreeMap<String, Price> = BTreeMap::new();
    for p in answer.spot_price_history() {
        if let (Some(zone), Some(price)) = (p.availability_zone(), p.spot_price()) {
            found.entry(zone.to_owned()).or_insert_with(|| Price(price.to_owned()));
        }
    }
    found.into_iter().collect()
}

/// The zones of the region where the type is offered, sorted. Empty also when AWS does not say.
pub async fn zones_offering(aws: &Aws, instance_type: &str) -> Vec<String> {
    let request = aws
        .ec2
        .describe_instance_type_offerings()
        .location_type(LocationType::AvailabilityZone)
        .filters(filter("instance-type", instance_type));
    let Ok(answer) = request.send().await else { return Vec::new() };
    let mut zones: Vec<String> =
        answer.instance_type_offerings().iter().filter_map(|o| o.location()).map(str::to_owned).collect();
    zones.sort();
    zones
}

async fn describe_type(aws: &Aws, instance_type: &str) -> Option<InstanceTypeInfo> {
    let answer = aws.ec2.describe_instance_types().instance_types(instance_type.into()).send().await.ok()?;
    answer.instance_types().first().cloned()
}

#[derive(Default)]
struct Similar {
    what: String,
    types: Vec<String>,
}

/// Types of the region with as many accelerators, or as many vCPUs where there are none.
async fn similar_types(aws: &Aws, instance_type: &str) -> Similar {
    let Some(info) = describe_type(aws, instance_type).await else { return Similar::default() };
    let (count, vcpus) = (accelerators(&info), vcpus(&info));
    let letters: String = instance_type.chars().take_while(char::is_ascii_alphabetic).collect();
    let patterns: Vec<String> = match letters.as_str() {
        "p" | "g" | "gr" => vec!["p*".into(), "g*".into()],
        "trn" | "inf" => vec!["trn*".into(), "inf*".into()],
        other => vec![format!("{other}*")],
    };
    let families = aws_sdk_ec2::types::Filter::builder().name("instance-type").set_values(Some(patterns)).build();
    let mut pages = aws.ec2.describe_instance_types().filters(families).into_paginator().items().send();
    let mut found = Vec::new();
    while let Some(Ok(other)) = pages.next().await {
        let same = if count > 0 { accelerators(&other) == count } else { vcpus == self::vcpus(&other) };
        let name = other.instance_type().map(|t| t.as_str().to_owned()).unwrap_or_default();
        if same && name != instance_type && same_architecture(&info, &other) {
            found.push((accelerator_name(&other), (memory(&other) - memory(&info)).abs(), name));
        }
    }
    // The same accelerator first, then by how much memory differs.
    let own = accelerator_name(&info);
    found.sort_by_key(|(accelerator, difference, name)| (*accelerator != own, *difference, name.clone()));
    let what = match count {
        0 => format!("{vcpus} vCPUs"),
        1 => "one GPU or accelerator".to_owned(),
        n => format!("{n} GPUs or accelerators"),
    };
    let types = found.into_iter().take(MOST_TYPES);
    let types = types.map(|(a, _, name)| if a.is_empty() { name } else { format!("{name} ({a})") }).collect();
    Similar { what, types }
}

fn same_architecture(a: &InstanceTypeInfo, b: &InstanceTypeInfo) -> bool {
    let of =
        |t: &InstanceTypeInfo| t.processor_info().map(|p| p.supported_architectures().to_vec()).unwrap_or_default();
    let (a, b) = (of(a), of(b));
    a.is_empty() || b.is_empty() || a.iter().any(|x| b.contains(x))
}

fn vcpus(info: &InstanceTypeInfo) -> i32 {
    info.v_cpu_info().and_then(|v| v.default_v_cpus()).unwrap_or_default()
}

/// GPUs, inference accelerators and Neuron devices together.
fn accelerators(info: &InstanceTypeInfo) -> i32 {
    let gpus: i32 = info.gpu_info().map(|g| g.gpus().iter().filter_map(|g| g.count()).sum()).unwrap_or_default();
    let neuron: i32 =
        info.neuron_info().map(|n| n.neuron_devices().iter().filter_map(|d| d.count()).sum()).unwrap_or_default();
    gpus + neuron
}

/// MiB of memory: of the accelerators, or of the machine where there are none.
fn memory(info: &InstanceTypeInfo) -> i64 {
    let gpu = info.gpu_info().and_then(|g| g.total_gpu_memory_in_mib());
    let neuron = info.neuron_info().and_then(|n| n.total_neuron_device_memory_in_mib());
    let machine = info.memory_info().and_then(|m| m.size_in_mib());
    gpu.or(neuron).map(i64::from).or(machine).unwrap_or_default()
}

fn accelerator_name(info: &InstanceTypeInfo) -> String {
    let gpu = info.gpu_info().and_then(|g| g.gpus().first()).and_then(|g| g.name());
    let neuron = || info.neuron_info().and_then(|n| n.neuron_devices().first()).and_then(|d| d.name());
    gpu.or_else(neuron).unwrap_or_default().to_owned()
}

/// Name and code in Service Quotas of the quota that counts a type, by the list of EC2's quotas.
pub fn quota(instance_type: &str, spot: bool) -> (&'static str, &'static str) {
    let family = instance_type.split('.').next().unwrap_or_default();
    let letters: &str = family.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default();
    match (letters, spot) {
        ("p", true) if family.starts_with("p5") => ("All P5 Spot Instance Requests", "L-C4BD4855"),
        ("p", true) => ("All P4, P3 and P2 Spot Instance Requests", "L-7212CCBC"),
        ("p", false) => ("Running On-Demand P instances", "L-417A185B"),
        ("g" | "gr" | "vt", true) => ("All G and VT Spot Instance Requests", "L-3819A6DF"),
        ("g" | "gr" | "vt", false) => ("Running On-Demand G and VT instances", "L-DB2E81BA"),
        ("trn", true) => ("All Trn Spot Instance Requests", "L-6B0D517C"),
        ("trn", false) => ("Running On-Demand Trn instances", "L-2C3B7624"),
        ("inf", true) => ("All Inf Spot Instance Requests", "L-B5D1601B"),
        ("inf", false) => ("Running On-Demand Inf instances", "L-1945791B"),
        ("x", true) => ("All X Spot Instance Requests", "L-E3A00192"),
        ("x", false) => ("Running On-Demand X instances", "L-7295265B"),
        ("f", true) => ("All F Spot Instance Requests", "L-88CF9481"),
        ("f", false) => ("Running On-Demand F instances", "L-74FC7D96"),
        ("dl", true) => ("All DL Spot Instance Requests", "L-85EED4F7"),
        ("dl", false) => ("Running On-Demand DL instances", "L-6E869C2A"),
        (_, true) => ("All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests", "L-34B43A08"),
        (_, false) => ("Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", "L-1216C47A"),
    }
}

#[cfg(test)]
mod tests {
    use super::quota;

    #[test]
    fn a_gpu_type_is_counted_by_the_quota_of_its_family_and_market() {
        assert_eq!(quota("p5.48xlarge", false).1, "L-417A185B");
        assert_eq!(quota("p5.48xlarge", true).1, "L-C4BD4855");
        assert_eq!(quota("g6e.xlarge", false).1, "L-DB2E81BA");
        assert_eq!(quota("m7i.large", true).1, "L-34B43A08");
    }
}
