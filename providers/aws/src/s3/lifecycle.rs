//! `aws_s3_bucket_lifecycle_configuration`. API: PutBucketLifecycleConfiguration, GetBucketLifecycleConfiguration,
//! DeleteBucketLifecycle. The rules' blocks, and their form at the API, are in `lifecycle/rules.rs`.

mod rules;

use crate::client::Aws;
use crate::error::Answer;
use crate::policy::eventually;
use aws_sdk_s3::types::{BucketLifecycleConfiguration, LifecycleRule, TransitionDefaultMinimumObjectSize};
use gpuform_provider_sdk::prelude::*;
use rules::Rule;

/// When objects of a bucket move to cheaper storage and when they are deleted.
#[derive(Model, Clone, PartialEq, Default)]
pub struct BucketLifecycle {
    /// The bucket's name.
    #[attr(computed)]
    pub id: Attr<String>,
    /// The bucket's name.
    #[attr(required, force_new)]
    pub bucket: Attr<String>,
    /// The account that must own the bucket.
    #[attr(optional, force_new)]
    pub expected_bucket_owner: Attr<String>,
    /// Smallest object that moves by default.
    #[attr(optional, default = "all_storage_classes_128K",
        validate = one_of(["all_storage_classes_128K", "varies_by_storage_class"]))]
    pub transition_default_minimum_object_size: Attr<String>,
    /// Rules.
    #[block(min = 1)]
    pub rule: Vec<Rule>,
    #[timeouts(create = "3m", update = "3m")]
    pub timeouts: Timeouts,
}

impl Resource for BucketLifecycle {
    type Client = Aws;
    const TYPE: &'static str = "aws_s3_bucket_lifecycle_configuration";
    const VERSION: i64 = 1;

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        eventually(ctx, |_| self.put(ctx.client())).await?;
        self.id = self.bucket.clone();
        self.settled(ctx).await
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let bucket = self.id.require("id")?.clone();
        let (found, size) = find(ctx.client(), &bucket).await?;
        // Rules have many spellings: those of the state stay while they mean what the bucket has.
        if !self.means(&found)? {
            self.rule = found.iter().map(rules::from_api).collect();
        }
        if let Some(size) = size {
            self.transition_default_minimum_object_size.set(size);
        } else if !self.transition_default_minimum_object_size.is_known() {
            self.transition_default_minimum_object_size.set("all_storage_classes_128K");
        }
        self.bucket.set(bucket);
        Ok(Some(self))
    }

    async fn update(&mut self, _prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        eventually(ctx, |_| self.put(ctx.client())).await?;
        self.settled(ctx).await
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let request = ctx.client().s3.delete_bucket_lifecycle().set_bucket(self.id.known());
        match request.send().await.or_fail("Deleting the bucket's lifecycle rules") {
            Err(e) if e.has_code(&["NoSuchLifecycleConfiguration"]) => Ok(()),
            other => other.map(drop),
        }
    }

    fn validate(&self, problems: &mut Problems) {
        let mut ids: Vec<_> = self.rule.iter().filter_map(|r| r.id.as_deref()).collect();
        ids.sort_unstable();
        if let Some([id, ..]) = ids.windows(2).find(|pair| pair.first() == pair.last()) {
            problems.error("rule", "Duplicate rule", format!("Two rules have the ID {id:?}."));
        }
    }

    async fn find_by_token(&self, _token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let mut state = self.clone();
        state.id = self.bucket.clone();
        state.read(ctx).await
    }
}

impl BucketLifecycle {
    async fn put(&self, aws: &Aws) -> Result<()> {
        let invalid = |e: &dyn std::error::Error| Error::new("Invalid rule").detail(e.to_string()).at("rule");
        let rules = self.rule.iter().map(rules::to_api).collect::<Result<Vec<_>>>()?;
        let rules = BucketLifecycleConfiguration::builder().set_rules(Some(rules)).build().map_err(|e| invalid(&e))?;
        let size = self.transition_default_minimum_object_size.or_default();
        let request = aws.s3.put_bucket_lifecycle_configuration().set_bucket(self.bucket.cloned());
        let request = request.set_expected_bucket_owner(self.expected_bucket_owner.cloned());
        let request = request.lifecycle_configuration(rules);
        let size = TransitionDefaultMinimumObjectSize::from(size.as_str());
        let request = request.transition_default_minimum_object_size(size);
        request.send().await.or_fail("Setting the bucket's lifecycle rules").map(drop)
    }

    /// Whether these rules say what the API reports.
    fn means(&self, found: &[LifecycleRule]) -> Result<bool> {
        let own = self.rule.iter().map(rules::to_api).collect::<Result<Vec<_>>>()?;
        Ok(rules::normal(own) == rules::normal(found.to_vec()))
    }

    /// Waits until the bucket reports the rules that were set.
    async fn settled(&self, ctx: &Context<Aws>) -> Result<()> {
        let bucket = self.bucket.require("bucket")?;
        let poll = || async {
            let (found, _) = find(ctx.client(), bucket).await?;
            Ok(Some((if self.means(&found)? { "in force" } else { "being set" }.to_owned(), ())))
        };
        ctx.wait_for(&Wait::until("bucket's lifecycle rules", &["in force"]), poll).await
    }
}

/// The rules, and the default for the smallest object that moves.
async fn find(aws: &Aws, bucket: &str) -> Result<(Vec<LifecycleRule>, Option<String>)> {
    let answer = aws.s3.get_bucket_lifecycle_configuration().bucket(bucket).send().await;
    match answer.or_fail("Reading the bucket's lifecycle rules") {
        Ok(answer) => {
            let size = answer.transition_default_minimum_object_size().map(|s| s.as_str().to_owned());
            Ok((answer.rules.unwrap_or_default(), size))
        }
        Err(e) if e.has_code(&["NoSuchLifecycleConfiguration"]) => {
            Err(Error::not_found("The bucket has no lifecycle rules"))
        }
        Err(e) => Err(e),
    }
}
