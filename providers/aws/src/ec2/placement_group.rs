//! `aws_placement_group`. API: CreatePlacementGroup, DescribePlacementGroups, DeletePlacementGroup.

use crate::client::Aws;
use crate::ec2::util::choice;
use crate::error::Answer;
use crate::tags::{self, Tags};
use aws_sdk_ec2::types::{PlacementGroup as Found, PlacementGroupState, ResourceType};
use gpuform_provider_sdk::prelude::*;

/// A placement group: where its instances run relative to each other.
#[derive(Model, Clone, PartialEq, Default)]
pub struct PlacementGroup {
    /// The group's name.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The group's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// The group's name.
    #[attr(required, force_new, validate = length(1..=255))]
    pub name: Attr<String>,
    /// The number of partitions, with the strategy `partition`; 2 unless given.
    #[attr(optional, computed, force_new, validate = range(0..=7))]
    pub partition_count: Attr<i32>,
    /// The group's ID.
    #[attr(computed)]
    pub placement_group_id: Attr<String>,
    /// What instances are spread over, with the strategy `spread`: `rack` (unless given) or `host`.
    #[attr(optional, computed, force_new, validate = one_of(["host", "rack"]))]
    pub spread_level: Attr<String>,
    /// `cluster` (close together, fast network), `partition` or `spread`.
    #[attr(required, force_new, validate = one_of(["cluster", "partition", "spread"]))]
    pub strategy: Attr<String>,
    /// Tags.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
}

impl Resource for PlacementGroup {
    type Client = Aws;
    const TYPE: &'static str = "aws_placement_group";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let name = self.name.require("name")?.clone();
        let request = aws
            .ec2
            .create_placement_group()
            .group_name(&name)
            .set_strategy(choice(&self.strategy))
            .set_partition_count(self.partition_count.cloned().filter(|n| *n > 0))
            .set_spread_level(choice(&self.spread_level))
            .set_tag_specifications(tags::specifications(ResourceType::PlacementGroup, &self.tags_all.or_default()));
        let made = request.send().await.or_fail("Creating the placement group");
        if let Err(e) = made {
            // The API takes no client token. A repeated request finds the group that the lost one made.
            let ours =
                e.has_code(&["InvalidPlacementGroup.Duplicate"]) && self.matches(find(aws, &name).await?.as_ref(), aws);
            if !ours {
                return Err(e);
            }
        }
        self.id.set(name.clone());
        let wait = Wait::until("placement group", &["available"]).pending(&["pending"]);
        ctx.wait_for(&wait, || state(aws, &name)).await
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let name = self.id.require("id")?.clone();
        let Some(found) = find(ctx.client(), &name).await? else { return Ok(None) };
        self.refresh(&found, ctx.client()).await?;
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let id = self.placement_group_id.require("placement_group_id")?;
        tags::update_ec2(ctx.client(), id, &prior.tags_all, &self.tags_all).await
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let name = self.id.require("id")?;
        ctx.retry(
            |e| e.has_code(&["InvalidPlacementGroup.InUse"]),
            |_| async {
                aws.ec2.delete_placement_group().group_name(name).send().await.or_fail("Deleting the placement group")
            },
        )
        .await?;
        ctx.wait_until_gone(&Wait::until_gone("placement group"), || state(aws, name)).await
    }

    tags::plan_tags!();

    fn validate(&self, problems: &mut Problems) {
        let strategy = self.strategy.as_deref();
        if self.partition_count.get().is_some_and(|n| *n > 0) && strategy.is_some_and(|s| s != "partition") {
            problems.error("partition_count", "No partitions", "Only the strategy \"partition\" has partitions.");
        }
        if self.spread_level.is_known() && strategy.is_some_and(|s| s != "spread") {
            problems.error("spread_level", "No spread level", "Only the strategy \"spread\" has a spread level.");
        }
    }

    async fn find_by_token(&self, _token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let aws = ctx.client();
        let Some(found) = find(aws, self.name.require("name")?).await? else { return Ok(None) };
        if !self.matches(Some(&found), aws) {
            return Ok(None);
        }
        let mut state = self.clone();
        state.id = self.name.clone();
        state.refresh(&found, aws).await?;
        Ok(Some(state))
    }
}

impl PlacementGroup {
    async fn refresh(&mut self, found: &Found, aws: &Aws) -> Result<()> {
        let name = found.group_name().unwrap_or_default();
        self.arn.set(aws.arn("ec2", &format!("placement-group/{name}")).await?);
        self.name.set(name);
        self.partition_count.set(found.partition_count().unwrap_or_default());
        self.placement_group_id.set(found.group_id().unwrap_or_default());
        self.spread_level.set(found.spread_level().map(|l| l.as_str()).unwrap_or_default());
        self.strategy.set(found.strategy().map(|s| s.as_str()).unwrap_or_default());
        tags::refresh(tags::from_ec2(found.tags()), &mut self.tags, &mut self.tags_all, aws);
        Ok(())
    }

    /// Whether a group of this name is as this create would have made it, tags included.
    fn matches(&self, found: Option<&Found>, aws: &Aws) -> bool {
        found.is_some_and(|g| {
            self.strategy.as_deref() == g.strategy().map(|s| s.as_str())
                && tags::are(tags::from_ec2(g.tags()), &self.tags_all, aws)
        })
    }
}

async fn find(aws: &Aws, name: &str) -> Result<Option<Found>> {
    let found = aws.reads.placement_groups.get(name).await?;
    Ok(found.filter(|g| g.state() != Some(&PlacementGroupState::Deleted)))
}

async fn state(aws: &Aws, name: &str) -> Result<Option<(String, ())>> {
    let group = find(aws, name).await?;
    Ok(group.map(|g| (g.state().map(|s| s.as_str().to_owned()).unwrap_or_default(), ())))
}
