//! Ephemeral resources: what a provider opens for the time of one run and the tool never stores, such as a token or a
//! tunnel. The author implements [`EphemeralResource`]; the runner below is for the server.

use crate::codec::rewrite;
use crate::context::{Context, Operation, Private};
use crate::error::{Diagnostic, Error, Problems, Result};
use crate::model::{Model, Object};
use crate::plan;
use crate::run::{BoxFuture, Outcome, Session, caught, validate};
use crate::timeouts;
use gpuform_schema::Value;
use std::marker::PhantomData;
use std::time::SystemTime;

/// An ephemeral resource. The implementing struct is its configuration and its result.
///
/// What `renew` and `close` need is kept with [`Context::set_private`]: they get no values.
pub trait EphemeralResource: Model {
    /// What [`Provider::configure`](crate::Provider::configure) makes.
    type Client: Send + Sync + 'static;

    /// The type: `aws_session`.
    const TYPE: &'static str;

    /// Opens it: `self` is the configuration, wholly known; fill in the rest. Call [`Context::renew_after`] if it ends by
    /// itself before it is closed.
    fn open(self, ctx: &Context<Self::Client>) -> impl Future<Output = Result<Self>> + Send;

    /// Makes it last longer; called only after `renew_after`, which may be called again.
    fn renew(ctx: &Context<Self::Client>) -> impl Future<Output = Result<()>> + Send {
        let _ = ctx;
        std::future::ready(Ok(()))
    }

    /// Ends it.
    fn close(ctx: &Context<Self::Client>) -> impl Future<Output = Result<()>> + Send {
        let _ = ctx;
        std::future::ready(Ok(()))
    }

    /// Checks the configuration beyond what field attributes can say. Values may be unknown.
    fn validate(&self, problems: &mut Problems) {
        let _ = problems;
    }
}

/// What came of opening or renewing.
pub(crate) struct Lease {
    pub outcome: Outcome,
    pub renew_at: Option<SystemTime>,
}

/// An ephemeral resource with its type erased.
pub(crate) trait EphemeralRunner<C>: Send + Sync {
    fn object(&self) -> &'static Object;
    fn validate(&self, config: &Value) -> Vec<Diagnostic>;
    fn open<'a>(&'a self, config: &'a Value, session: Session<C>) -> BoxFuture<'a, Lease>;
    fn renew(&self, private: Private, session: Session<C>) -> BoxFuture<'_, Lease>;
    fn close(&self, private: Private, session: Session<C>) -> BoxFuture<'_, Vec<Diagnostic>>;
}

pub(crate) struct Ephemeral<E>(PhantomData<fn() -> E>);

impl<E> Default for Ephemeral<E> {
    fn default() -> Self {
        Ephemeral(PhantomData)
    }
}

impl<E: EphemeralResource> EphemeralRunner<E::Client> for Ephemeral<E> {
    fn object(&self) -> &'static Object {
        E::object()
    }

    fn validate(&self, config: &Value) -> Vec<Diagnostic> {
        validate::<E>(config, E::validate)
    }

    fn open<'a>(&'a self, config: &'a Value, session: Session<E::Client>) -> BoxFuture<'a, Lease> {
        Box::pin(async move {
            let timeout = timeouts::effective(E::object(), config, Operation::Create);
            let ctx = session.context(timeout, Private::new());
            let run = async {
                let asked = E::decode(config).map_err(Error::from)?;
                let before = asked.encode();
                let opened = E::open(asked, &ctx).await?;
                Ok(plan::complete(&rewrite(config, &before, &opened.encode()), None))
            };
            let result = caught(run).await;
            lease(ctx, result.map_or_else(|e| (Value::Null(E::object().ty()), Some(e)), |v| (v, None)))
        })
    }

    fn renew(&self, private: Private, session: Session<E::Client>) -> BoxFuture<'_, Lease> {
        Box::pin(async move {
            let ctx = session.context(timeouts::DEFAULT, private);
            let error = caught(E::renew(&ctx)).await.err();
            lease(ctx, (Value::Null(E::object().ty()), error))
        })
    }

    fn close(&self, private: Private, session: Session<E::Client>) -> BoxFuture<'_, Vec<Diagnostic>> {
        Box::pin(async move {
            let ctx = session.context(timeouts::DEFAULT, private);
            let error = caught(E::close(&ctx)).await.err();
            lease(ctx, (Value::null(), error)).outcome.diagnostics
        })
    }
}

fn lease<C>(ctx: Context<C>, result: (Value, Option<Error>)) -> Lease {
    let renew_at = ctx.renew_at();
    Lease { outcome: crate::run::outcome(ctx, result), renew_at }
}
