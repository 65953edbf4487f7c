//! S3: one file per resource; `empty.rs` deletes objects with their versions for two of them.

/// Create, update and recovery of a setting that a bucket has once: by the resource's `put(aws)` and the file's
/// `find(aws, bucket)`.
macro_rules! bucket_setting {
    () => {
        async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
            let bucket = self.bucket.require("bucket")?.clone();
            crate::policy::eventually(ctx, |_| self.put(ctx.client())).await?;
            crate::policy::eventually(ctx, |_| find(ctx.client(), &bucket)).await?;
            self.id.set(bucket);
            Ok(())
        }

        async fn update(&mut self, _prior: &Self, ctx: &Context<Aws>) -> Result<()> {
            crate::policy::eventually(ctx, |_| self.put(ctx.client())).await
        }

        async fn find_by_token(&self, _token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
            let mut state = self.clone();
            state.id = self.bucket.clone();
            state.read(ctx).await
        }
    };
}

pub mod bucket;
pub mod empty;
pub mod encryption;
pub mod lifecycle;
pub mod object;
pub mod policy;
pub mod public_access_block;
pub mod versioning;
