//! Data source `aws_caller_identity`. API: GetCallerIdentity.

use crate::client::Aws;
use gpuform_provider_sdk::prelude::*;

/// Who the credentials belong to.
#[derive(Model, Clone, PartialEq, Default)]
pub struct CallerIdentity {
    /// The account's ID.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The account's ID.
    #[attr(computed)]
    pub account_id: Attr<String>,
    /// ARN of the user or role.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// The unique ID of the user or role.
    #[attr(computed)]
    pub user_id: Attr<String>,
}

impl DataSource for CallerIdentity {
    type Client = Aws;
    const TYPE: &'static str = "aws_caller_identity";

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Self> {
        let identity = ctx.client().identity().await?;
        self.id.set(identity.account.as_str());
        self.account_id.set(identity.account.as_str());
        self.arn.set(identity.arn.as_str());
        self.user_id.set(identity.user_id.as_str());
        Ok(self)
    }
}
