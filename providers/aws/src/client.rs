//! What operations work with: clients of the AWS services for one provider block, its region, and its rules for tags.

use crate::config::{Config, duration};
use crate::ec2::capacity::NoRetry;
use crate::ec2::reads::Reads;
use crate::endpoint::{self, NameEndpoint, Patience};
use crate::error::Answer;
use crate::tags::Tags;
use crate::throttle::{GivenUp, Throttle};
use aws_config::default_provider::credentials::DefaultCredentialsChain;
use aws_config::retry::RetryConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_runtime::env_config::file::{EnvConfigFileKind, EnvConfigFiles};
use gpuform_provider_sdk::prelude::*;
use tokio::sync::OnceCell;

/// Clients of the services, with what the provider block says.
pub struct Aws {
    pub ec2: aws_sdk_ec2::Client,
    /// Reads of EC2's objects, joined into few calls.
    pub reads: Reads,
    pub s3: aws_sdk_s3::Client,
    pub iam: aws_sdk_iam::Client,
    pub sts: aws_sdk_sts::Client,
    pub kms: aws_sdk_kms::Client,
    pub autoscaling: aws_sdk_autoscaling::Client,
    pub region: String,
    pub default_tags: Tags,
    ignored_keys: Vec<String>,
    ignored_prefixes: Vec<String>,
    skip_account: bool,
    account: OnceCell<Identity>,
    default_vpc: OnceCell<Option<String>>,
}

/// Who the credentials belong to.
#[derive(Clone, Default, Debug)]
pub struct Identity {
    pub account: String,
    pub arn: String,
    pub user_id: String,
}

impl Aws {
    /// Loads the credentials by the usual chain, assumes roles, and checks who we are.
    pub async fn connect(config: Config, setup: &Setup) -> Result<Aws> {
        let shared = load(&config).await?;
        let region = match shared.region() {
            Some(r) => r.to_string(),
            None => {
                return Err(Error::new("No AWS region")
                    .detail(
                        "Give the provider block a \"region\", or set AWS_REGION, or a region in the profile of the shared \
                         configuration file.",
                    )
                    .at("region"));
            }
        };
        if !config.skip_region_validation.or_default() && !plausible_region(&region) {
            return Err(Error::new("Invalid AWS region")
                .detail(format!(
                    "\"{region}\" does not look like a region (e.g. us-east-1). If it is one, set skip_region_validation."
                ))
                .at("region"));
        }
        let shared = assume_roles(shared, &config).await?;
        macro_rules! builder {
            ($service:ident, $field:ident, $name:literal) => {{
                let given = config.endpoint(|e| &e.$field);
                let named = given.is_some() || shared.endpoint_url().is_some() || endpoint::is_named($name);
                let throttle = Throttle::new($name, retries(&config), setup.cancel.clone());
                let mut builder = $service::config::Builder::from(&shared)
                    .http_client(throttle.client())
                    .interceptor(NameEndpoint)
                    .retry_classifier(GivenUp);
                if named {
                    builder = builder.retry_classifier(Patience::default());
                }
                if given.is_some() {
                    builder.set_endpoint_url(given);
                }
                builder
            }};
        }
        let mut s3 = builder!(aws_sdk_s3, s3, "s3");
        s3.set_force_path_style(config.s3_use_path_style.cloned());
        let ignored = config.ignore_tags.first();
        let list = |l: Option<&Attr<Set<String>>>| -> Vec<String> {
            l.and_then(Attr::get).map(|s| s.iter().cloned().collect()).unwrap_or_default()
        };
        let ec2 = aws_sdk_ec2::Client::from_conf(builder!(aws_sdk_ec2, ec2, "ec2").retry_classifier(NoRetry).build());
        let aws = Aws {
            reads: Reads::new(&ec2, config.refresh_instance_attributes.or_default()),
            ec2,
            s3: aws_sdk_s3::Client::from_conf(s3.build()),
            iam: aws_sdk_iam::Client::from_conf(builder!(aws_sdk_iam, iam, "iam").build()),
            sts: aws_sdk_sts::Client::from_conf(builder!(aws_sdk_sts, sts, "sts").build()),
            kms: aws_sdk_kms::Client::from_conf(builder!(aws_sdk_kms, kms, "kms").build()),
            autoscaling: aws_sdk_autoscaling::Client::from_conf(
                builder!(aws_sdk_autoscaling, autoscaling, "auto scaling").build(),
            ),
            region,
            default_tags: config.default_tags.first().map(|d| d.tags.or_default()).unwrap_or_default(),
            ignored_keys: list(ignored.map(|i| &i.keys)),
            ignored_prefixes: list(ignored.map(|i| &i.key_prefixes)),
            skip_account: config.skip_requesting_account_id.or_default(),
            account: OnceCell::new(),
            default_vpc: OnceCell::new(),
        };
        if !config.skip_credentials_validation.or_default() {
            aws.identity().await?;
        }
        aws.check_account(&config).await?;
        Ok(aws)
    }

    /// Account and user of the credentials, asked for once.
    ///
    /// # Errors
    /// When STS refuses the credentials or cannot be reached.
    pub async fn identity(&self) -> Result<&Identity> {
        let ask = || async {
            let answer = self.sts.get_caller_identity().send().await.or_fail("Checking the AWS credentials")?;
            Ok(Identity {
                account: answer.account().unwrap_or_default().to_owned(),
                arn: answer.arn().unwrap_or_default().to_owned(),
                user_id: answer.user_id().unwrap_or_default().to_owned(),
            })
        };
        self.account.get_or_try_init(ask).await
    }

    /// The account ID for ARNs; empty where the provider block says not to look it up.
    pub async fn account_id(&self) -> Result<&str> {
        if self.skip_account { Ok("") } else { Ok(&self.identity().await?.account) }
    }

    /// The region's default VPC, asked for once.
    pub async fn default_vpc(&self) -> Result<Option<&str>> {
        let ask = || async {
            let default = aws_sdk_ec2::types::Filter::builder().name("is-default").values("true").build();
            let answer = self.ec2.describe_vpcs().filters(default).send().await.or_fail("Reading the default VPC")?;
            Ok::<_, Error>(answer.vpcs().first().and_then(|v| v.vpc_id()).map(str::to_owned))
        };
        Ok(self.default_vpc.get_or_try_init(ask).await?.as_deref())
    }

    /// The ARN of a regional resource: `arn:aws:ec2:us-east-1:123456789012:vpc/vpc-1`.
    pub async fn arn(&self, service: &str, resource: &str) -> Result<String> {
        let account = self.account_id().await?;
        Ok(format!("arn:{}:{service}:{}:{account}:{resource}", self.partition(), self.region))
    }

    /// `aws`, `aws-cn` or `aws-us-gov`.
    pub fn partition(&self) -> &'static str {
        match &self.region {
            r if r.starts_with("cn-") => "aws-cn",
            r if r.starts_with("us-gov-") => "aws-us-gov",
            _ => "aws",
        }
    }

    pub fn ignores_tag(&self, key: &str) -> bool {
        key.starts_with("aws:")
            || key == crate::once::TOKEN_TAG
            || self.ignored_keys.iter().any(|k| k == key)
            || self.ignored_prefixes.iter().any(|p| key.starts_with(p.as_str()))
    }

    async fn check_account(&self, config: &Config) -> Result<()> {
        let (allowed, forbidden) = (&config.allowed_account_ids, &config.forbidden_account_ids);
        if !allowed.is_known() && !forbidden.is_known() {
            return Ok(());
        }
        let account = &self.identity().await?.account;
        let contains = |l: &Attr<Set<String>>| l.get().is_some_and(|s| s.iter().any(|a| a == account));
        if (allowed.is_known() && !contains(allowed)) || contains(forbidden) {
            return Err(Error::new("Wrong AWS account").detail(format!(
                "The credentials belong to account {account}, which the provider block does not allow."
            )));
        }
        Ok(())
    }
}

/// How often a call is made again.
fn retries(config: &Config) -> u32 {
    u32::try_from(config.max_retries.unwrap_or(25).clamp(0, 1000)).unwrap_or_default()
}

async fn load(config: &Config) -> Result<SdkConfig> {
    let mut loader = aws_config::defaults(BehaviorVersion::latest());
    if let Some(region) = config.region.cloned() {
        loader = loader.region(Region::new(region));
    }
    if let Some(profile) = config.profile.cloned() {
        loader = loader.profile_name(profile);
    }
    if let (Some(key), Some(secret)) = (config.access_key.cloned(), config.secret_key.cloned()) {
        let credentials = Credentials::new(key, secret, config.token.cloned(), None, "provider block");
        loader = loader.credentials_provider(credentials);
    }
    let mut files = EnvConfigFiles::builder();
    let mut own_files = false;
    for f in config.shared_config_files.or_default() {
        files = files.with_file(EnvConfigFileKind::Config, f);
        own_files = true;
    }
    for f in config.shared_credentials_files.or_default() {
        files = files.with_file(EnvConfigFileKind::Credentials, f);
        own_files = true;
    }
    if own_files {
        loader = loader.profile_files(files.build());
    } else if !config.access_key.is_known() && config.skip_metadata_api_check.as_deref() == Some("true") {
        loader = loader.credentials_provider(without_metadata(config).await?);
    }
    let attempts = retries(config) + 1;
    let retries = match config.retry_mode.as_deref() {
        Some("adaptive") => RetryConfig::adaptive(),
        _ => RetryConfig::standard(),
    };
    loader = loader.retry_config(retries.with_max_attempts(attempts));
    if let Ok(name) = aws_config::AppName::new(format!("gpuform-provider-aws-{}", env!("CARGO_PKG_VERSION"))) {
        loader = loader.app_name(name);
    }
    if config.use_dualstack_endpoint.or_default() {
        loader = loader.use_dual_stack(true);
    }
    if config.use_fips_endpoint.or_default() {
        loader = loader.use_fips(true);
    }
    Ok(loader.load().await)
}

/// The usual chain of credentials, with nobody where EC2's metadata service would be.
async fn without_metadata(config: &Config) -> Result<DefaultCredentialsChain> {
    let nobody = aws_config::imds::Client::builder().max_attempts(1).endpoint("http://127.0.0.1:1");
    let nobody = nobody.map_err(|e| Error::new("Invalid metadata service").detail(e.to_string()))?.build();
    let chain = DefaultCredentialsChain::builder().imds_client(nobody);
    let chain = match config.profile.as_deref() {
        Some(name) => chain.profile_name(name),
        None => chain,
    };
    Ok(chain.build().await)
}

async fn assume_roles(mut shared: SdkConfig, config: &Config) -> Result<SdkConfig> {
    for role in &config.assume_role {
        let mut builder = aws_config::sts::AssumeRoleProvider::builder(role.role_arn.require("role_arn")?)
            .session_name(role.session_name.unwrap_or("gpuform".into()))
            .configure(&shared);
        if let Some(id) = role.external_id.cloned() {
            builder = builder.external_id(id);
        }
        if let Some(text) = role.duration.as_deref() {
            let length = duration(text).ok_or_else(|| {
                Error::new("Invalid duration")
                    .detail(format!("\"{text}\" is not a duration such as 1h."))
                    .at("assume_role")
            })?;
            builder = builder.session_length(length);
        }
        if let Some(policy) = role.policy.cloned() {
            builder = builder.policy(policy);
        }
        if let Some(arns) = role.policy_arns.get() {
            builder = builder.policy_arns(arns.iter().cloned().collect());
        }
        let provider = builder.build().await;
        shared = shared.into_builder().credentials_provider(SharedCredentialsProvider::new(provider)).build();
    }
    Ok(shared)
}

/// `us-east-1`, `us-gov-west-1`, `ap-southeast-3`.
fn plausible_region(region: &str) -> bool {
    let parts: Vec<&str> = region.split('-').collect();
    parts.len() >= 3
        && parts.last().is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        && parts.iter().all(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()))
}
