//! Data source `aws_region`: the provider's region, or what is known about another one. It asks no API.

use crate::client::Aws;
use gpuform_provider_sdk::prelude::*;

/// A region.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Region {
    /// The region's name.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The region's name; the provider's region unless given.
    #[attr(optional, computed)]
    pub name: Attr<String>,
    /// The region's name; the provider's region unless given.
    #[attr(optional, computed, conflicts_with = ["name"])]
    pub region: Attr<String>,
    /// Address of EC2 in the region, without the scheme.
    #[attr(optional, computed)]
    pub endpoint: Attr<String>,
    /// The region's name for people.
    #[attr(computed)]
    pub description: Attr<String>,
}

impl DataSource for Region {
    type Client = Aws;
    const TYPE: &'static str = "aws_region";

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Self> {
        let by_endpoint = self.endpoint.as_deref().and_then(|e| {
            let rest = e.strip_prefix("ec2.")?;
            rest.split('.').next().map(str::to_owned)
        });
        if self.endpoint.is_known() && by_endpoint.is_none() {
            return Err(Error::new("No such region").detail("The endpoint should be like ec2.us-east-1.amazonaws.com."));
        }
        let given = self.region.cloned().or(self.name.cloned()).or(by_endpoint);
        let region = given.unwrap_or_else(|| ctx.client().region.clone());
        let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
        self.endpoint.set(format!("ec2.{region}.{suffix}"));
        self.description.set(description(&region).unwrap_or_default());
        self.id.set(region.as_str());
        self.name.set(region.as_str());
        self.region.set(region);
        Ok(self)
    }
}

/// The names by which AWS's console lists the regions.
fn description(region: &str) -> Option<&'static str> {
    Some(match region {
        "af-south-1" => "Africa (Cape Town)",
        "ap-east-1" => "Asia Pacific (Hong Kong)",
        "ap-east-2" => "Asia Pacific (Taipei)",
        "ap-northeast-1" => "Asia Pacific (Tokyo)",
        "ap-northeast-2" => "Asia Pacific (Seoul)",
        "ap-northeast-3" => "Asia Pacific (Osaka)",
        "ap-south-1" => "Asia Pacific (Mumbai)",
        "ap-south-2" => "Asia Pacific (Hyderabad)",
        "ap-southeast-1" => "Asia Pacific (Singapore)",
        "ap-southeast-2" => "Asia Pacific (Sydney)",
        "ap-southeast-3" => "Asia Pacific (Jakarta)",
        "ap-southeast-4" => "Asia Pacific (Melbourne)",
        "ap-southeast-5" => "Asia Pacific (Malaysia)",
        "ap-southeast-6" => "Asia Pacific (New Zealand)",
        "ap-southeast-7" => "Asia Pacific (Thailand)",
        "ca-central-1" => "Canada (Central)",
        "ca-west-1" => "Canada West (Calgary)",
        "cn-north-1" => "China (Beijing)",
        "cn-northwest-1" => "China (Ningxia)",
        "eu-central-1" => "Europe (Frankfurt)",
        "eu-central-2" => "Europe (Zurich)",
        "eu-north-1" => "Europe (Stockholm)",
        "eu-south-1" => "Europe (Milan)",
        "eu-south-2" => "Europe (Spain)",
        "eu-west-1" => "Europe (Ireland)",
        "eu-west-2" => "Europe (London)",
        "eu-west-3" => "Europe (Paris)",
        "il-central-1" => "Israel (Tel Aviv)",
        "me-central-1" => "Middle East (UAE)",
        "me-south-1" => "Middle East (Bahrain)",
        "mx-central-1" => "Mexico (Central)",
        "sa-east-1" => "South America (Sao Paulo)",
        "us-east-1" => "US East (N. Virginia)",
        "us-east-2" => "US East (Ohio)",
        "us-gov-east-1" => "AWS GovCloud (US-East)",
        "us-gov-west-1" => "AWS GovCloud (US-West)",
        "us-west-1" => "US West (N. California)",
        "us-west-2" => "US West (Oregon)",
        _ => return None,
    })
}
