//! The `provider "aws"` block.

use gpuform_provider_sdk::prelude::*;

/// The AWS provider manages resources of Amazon Web Services.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Config {
    /// The region to work in, e.g. `us-east-1`. Otherwise `AWS_REGION`, `AWS_DEFAULT_REGION` or the profile's region.
    #[attr(optional)]
    pub region: Attr<String>,
    /// Access key ID; otherwise from the usual chain (environment, shared files, container or instance role).
    #[attr(optional)]
    pub access_key: Attr<String>,
    /// Secret access key.
    #[attr(optional, sensitive)]
    pub secret_key: Attr<String>,
    /// Session token of temporary credentials.
    #[attr(optional, sensitive)]
    pub token: Attr<String>,
    /// Profile in the shared configuration files.
    #[attr(optional)]
    pub profile: Attr<String>,
    /// Paths of shared configuration files, instead of `~/.aws/config`.
    #[attr(optional)]
    pub shared_config_files: Attr<Vec<String>>,
    /// Paths of shared credentials files, instead of `~/.aws/credentials`.
    #[attr(optional)]
    pub shared_credentials_files: Attr<Vec<String>>,
    /// How often a request is tried again when AWS is busy (for four minutes at most) or cannot be reached. 25 unless
    /// given.
    #[attr(optional, validate = range(0..=1000))]
    pub max_retries: Attr<i64>,
    /// Read at every refresh what EC2 tells only about one instance at a time (the protections, the shutdown
    /// behaviour), however many instances there are. Otherwise only for a few instances, and where it may have changed.
    #[attr(optional)]
    pub refresh_instance_attributes: Attr<bool>,
    /// How retries are timed: `standard` or `adaptive`.
    #[attr(optional, validate = one_of(["legacy", "standard", "adaptive"]))]
    pub retry_mode: Attr<String>,
    /// Do not check with STS that the credentials are valid.
    #[attr(optional)]
    pub skip_credentials_validation: Attr<bool>,
    /// Do not ask the metadata service of EC2 for credentials: `true` or `false`.
    #[attr(optional)]
    pub skip_metadata_api_check: Attr<String>,
    /// Do not check that the region is a known one.
    #[attr(optional)]
    pub skip_region_validation: Attr<bool>,
    /// Do not look up the account ID.
    #[attr(optional)]
    pub skip_requesting_account_id: Attr<bool>,
    /// Address buckets as `https://host/bucket` rather than `https://bucket.host`.
    #[attr(optional)]
    pub s3_use_path_style: Attr<bool>,
    /// Use endpoints that answer over IPv6 too.
    #[attr(optional)]
    pub use_dualstack_endpoint: Attr<bool>,
    /// Use FIPS endpoints.
    #[attr(optional)]
    pub use_fips_endpoint: Attr<bool>,
    /// Refuse to work in any other account.
    #[attr(optional, conflicts_with = ["forbidden_account_ids"])]
    pub allowed_account_ids: Attr<Set<String>>,
    /// Refuse to work in these accounts.
    #[attr(optional, conflicts_with = ["allowed_account_ids"])]
    pub forbidden_account_ids: Attr<Set<String>>,
    /// Roles to assume, one after the other.
    #[block]
    pub assume_role: Vec<AssumeRole>,
    /// Tags for every resource that has tags.
    #[block(max = 1)]
    pub default_tags: Vec<DefaultTags>,
    /// Tags that are managed elsewhere.
    #[block(max = 1)]
    pub ignore_tags: Vec<IgnoreTags>,
    /// Addresses of services other than AWS's own.
    #[block(nesting = "set")]
    pub endpoints: Vec<Endpoints>,
}

/// A role to assume.
#[derive(Model, Clone, PartialEq, Default)]
pub struct AssumeRole {
    /// The role's ARN.
    #[attr(required)]
    pub role_arn: Attr<String>,
    /// Name of the session. `gpuform` unless given.
    #[attr(optional)]
    pub session_name: Attr<String>,
    /// External ID that the role asks for.
    #[attr(optional)]
    pub external_id: Attr<String>,
    /// How long the session lasts, e.g. `1h`.
    #[attr(optional)]
    pub duration: Attr<String>,
    /// A policy (JSON) that narrows the session's rights.
    #[attr(optional, validate = json())]
    pub policy: Attr<String>,
    /// ARNs of policies that narrow the session's rights.
    #[attr(optional)]
    pub policy_arns: Attr<Set<String>>,
}

/// Tags for every resource.
#[derive(Model, Clone, PartialEq, Default)]
pub struct DefaultTags {
    /// The tags.
    #[attr(optional)]
    pub tags: Attr<BTreeMap<String, String>>,
}

/// Tags to leave alone.
#[derive(Model, Clone, PartialEq, Default)]
pub struct IgnoreTags {
    /// Keys of tags.
    #[attr(optional)]
    pub keys: Attr<Set<String>>,
    /// Prefixes of keys.
    #[attr(optional)]
    pub key_prefixes: Attr<Set<String>>,
}

/// Addresses of services.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Endpoints {
    /// Address of EC2.
    #[attr(optional)]
    pub ec2: Attr<String>,
    /// Address of S3.
    #[attr(optional)]
    pub s3: Attr<String>,
    /// Address of IAM.
    #[attr(optional)]
    pub iam: Attr<String>,
    /// Address of STS.
    #[attr(optional)]
    pub sts: Attr<String>,
    /// Address of KMS.
    #[attr(optional)]
    pub kms: Attr<String>,
    /// Address of EC2 Auto Scaling.
    #[attr(optional)]
    pub autoscaling: Attr<String>,
}

impl Config {
    /// Checks what field attributes cannot say.
    pub fn check(&self, problems: &mut Problems) {
        if self.access_key.is_set() != self.secret_key.is_set() {
            let given = if self.access_key.is_set() { "access_key" } else { "secret_key" };
            problems.error(
                given,
                "Incomplete credentials",
                "access_key and secret_key go together: give both, or neither to use the usual chain.",
            );
        }
        self.check_endpoints(problems);
    }

    fn check_endpoints(&self, problems: &mut Problems) {
        type Of = fn(&Endpoints) -> &Attr<String>;
        let services: [(&str, Of); 6] = [
            ("ec2", |e| &e.ec2),
            ("s3", |e| &e.s3),
            ("iam", |e| &e.iam),
            ("sts", |e| &e.sts),
            ("kms", |e| &e.kms),
            ("autoscaling", |e| &e.autoscaling),
        ];
        for (service, of) in services {
            let given = self.endpoint(of).unwrap_or_default();
            if !given.is_empty() && !is_address(&given) {
                problems.error(
                    "endpoints",
                    "Invalid endpoint",
                    format!(
                        "The endpoint of {service} is \"{given}\"; an address such as http://127.0.0.1:4566 is needed."
                    ),
                );
            }
        }
    }

    /// The address of a service: given in a block, or in `AWS_ENDPOINT_URL_…`, which the SDK reads by itself.
    pub fn endpoint(&self, of: impl Fn(&Endpoints) -> &Attr<String>) -> Option<String> {
        self.endpoints.iter().find_map(|e| of(e).cloned().filter(|u| !u.is_empty()))
    }
}

/// `http://` or `https://`, a host, perhaps a port and a path.
fn is_address(text: &str) -> bool {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let host = rest.and_then(|r| r.split(['/', ':']).next());
    host.is_some_and(|h| !h.is_empty() || text.contains("://[")) && !text.contains(char::is_whitespace)
}

/// Reads a duration such as `90s`, `15m`, `1h30m`.
pub fn duration(text: &str) -> Option<std::time::Duration> {
    let mut seconds = 0;
    let mut number = String::new();
    for c in text.chars() {
        if c.is_ascii_digit() {
            number.push(c);
            continue;
        }
        let n: u64 = std::mem::take(&mut number).parse().ok()?;
        seconds += n.checked_mul(match c {
            'h' => 3600,
            'm' => 60,
            's' => 1,
            _ => return None,
        })?;
    }
    number.is_empty().then(|| std::time::Duration::from_secs(seconds))
}
