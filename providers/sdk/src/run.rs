//! Runs a resource's or data source's operations over values: decodes, calls the author's code (a panic becomes an
//! error), completes and encodes the result. The server calls this and adds nothing but the protocol.

use crate::check::check;
use crate::codec::rewrite;
use crate::context::{Context, Operation, Private};
use crate::error::{Diagnostic, Error, Problems, Result};
use crate::model::{Field, Model, Object};
use crate::plan;
use crate::resource::{DataSource, JsonObject, MoveSource, Plan, Resource};
use crate::timeouts;
use gpuform_schema::{Path, Value};
use std::any::Any;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The key in planned private data under which a planned create keeps its client token.
pub const TOKEN_KEY: &str = "gpuform_client_token";
/// The key in private data that makes a read a search by client token.
pub const RECOVER_KEY: &str = "gpuform_recover";

pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The client, the user's wish to stop and what the module has set, as they are at the time of a call.
pub(crate) struct Session<C> {
    pub client: Arc<C>,
    pub cancel: CancellationToken,
    /// Null where there is no `provider_meta` block.
    pub settings: Value,
}

impl<C> Clone for Session<C> {
    fn clone(&self) -> Self {
        Session { client: Arc::clone(&self.client), cancel: self.cancel.clone(), settings: self.settings.clone() }
    }
}

impl<C> Session<C> {
    /// The surroundings of an operation that is not about a managed object.
    pub(crate) fn context(&self, timeout: Duration, private: Private) -> Context<C> {
        context(self, "", timeout, private)
    }
}

/// An object after an operation, with all there is to say.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub value: Value,
    pub private: Private,
    pub diagnostics: Vec<Diagnostic>,
}

#[derive(Debug)]
pub(crate) struct PlanOutcome {
    pub outcome: Outcome,
    pub requires_replace: Vec<Path>,
}

/// A resource with its type erased.
pub(crate) trait Runner<C>: Send + Sync {
    fn object(&self) -> &'static Object;
    fn version(&self) -> i64;
    fn validate(&self, config: &Value) -> Vec<Diagnostic>;
    fn upgrade(&self, from: i64, state: JsonObject) -> Result<JsonObject>;
    /// The state that an object of another type becomes.
    fn take_over(&self, from: &MoveSource) -> Result<Value>;
    /// `prior` and `config` may be null (create, destroy).
    fn plan<'a>(
        &'a self,
        prior: &'a Value,
        config: &'a Value,
        private: Private,
        client: Option<Arc<C>>,
    ) -> BoxFuture<'a, PlanOutcome>;
    /// `prior` is null for a create, `planned` for a delete.
    fn apply<'a>(
        &'a self,
        prior: &'a Value,
        planned: &'a Value,
        config: &'a Value,
        private: Private,
        session: Session<C>,
    ) -> BoxFuture<'a, Outcome>;
    fn read<'a>(&'a self, current: &'a Value, private: Private, session: Session<C>) -> BoxFuture<'a, Outcome>;
    fn import<'a>(&'a self, id: &'a str, session: Session<C>) -> BoxFuture<'a, Outcome>;
}

/// A data source with its type erased.
pub(crate) trait DataSourceRunner<C>: Send + Sync {
    fn object(&self) -> &'static Object;
    fn validate(&self, config: &Value) -> Vec<Diagnostic>;
    fn read<'a>(&'a self, config: &'a Value, session: Session<C>) -> BoxFuture<'a, Outcome>;
}

pub(crate) struct ResourceRunner<R>(PhantomData<fn() -> R>);
pub(crate) struct DataRunner<D>(PhantomData<fn() -> D>);

impl<R> Default for ResourceRunner<R> {
    fn default() -> Self {
        ResourceRunner(PhantomData)
    }
}

impl<D> Default for DataRunner<D> {
    fn default() -> Self {
        DataRunner(PhantomData)
    }
}

impl<R: Resource> Runner<R::Client> for ResourceRunner<R> {
    fn object(&self) -> &'static Object {
        R::object()
    }

    fn version(&self) -> i64 {
        R::VERSION
    }

    fn validate(&self, config: &Value) -> Vec<Diagnostic> {
        validate::<R>(config, R::validate)
    }

    fn upgrade(&self, from: i64, state: JsonObject) -> Result<JsonObject> {
        if from < R::VERSION { R::upgrade(from, state) } else { Ok(state) }
    }

    fn take_over(&self, from: &MoveSource) -> Result<Value> {
        let taken = catch_unwind(AssertUnwindSafe(|| R::take_over(from)));
        let taken = taken.unwrap_or_else(|payload| Err(panicked(payload.as_ref())))?;
        Ok(plan::write_only(R::object(), &plan::complete(&taken.encode(), None), None))
    }

    fn plan<'a>(
        &'a self,
        prior: &'a Value,
        config: &'a Value,
        private: Private,
        client: Option<Arc<R::Client>>,
    ) -> BoxFuture<'a, PlanOutcome> {
        Box::pin(run_plan::<R>(prior, config, private, client))
    }

    fn apply<'a>(
        &'a self,
        prior: &'a Value,
        planned: &'a Value,
        config: &'a Value,
        private: Private,
        session: Session<R::Client>,
    ) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            match (prior.is_null(), planned.is_null()) {
                (true, _) => create::<R>(planned, config, private, session).await,
                (false, true) => delete::<R>(prior, private, session).await,
                (false, false) => update::<R>(prior, planned, config, private, session).await,
            }
        })
    }

    fn read<'a>(&'a self, current: &'a Value, private: Private, session: Session<R::Client>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            if private.get(RECOVER_KEY) == Some(&serde_json::Value::Bool(true)) {
                recover::<R>(current, private, session).await
            } else {
                read::<R>(current, private, session).await
            }
        })
    }

    fn import<'a>(&'a self, id: &'a str, session: Session<R::Client>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let ctx = context(&session, "", timeouts::DEFAULT, Private::new());
            let imported = caught(R::import(id, &ctx)).await.map(|r| plan::complete(&r.encode(), None));
            outcome(ctx, imported.map_or_else(|e| (null::<R>(), Some(e)), |v| (v, None)))
        })
    }
}

impl<D: DataSource> DataSourceRunner<D::Client> for DataRunner<D> {
    fn object(&self) -> &'static Object {
        D::object()
    }

    fn validate(&self, config: &Value) -> Vec<Diagnostic> {
        validate::<D>(config, D::validate)
    }

    fn read<'a>(&'a self, config: &'a Value, session: Session<D::Client>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let timeout = timeouts::effective(D::object(), config, Operation::Read);
            let ctx = context(&session, "", timeout, Private::new());
            let run = async {
                let asked = D::decode(config).map_err(Error::from)?;
                let before = asked.encode();
                let found = D::read(asked, &ctx).await?;
                Ok(plan::complete(&rewrite(config, &before, &found.encode()), None))
            };
            let result = caught(run).await;
            outcome(ctx, result.map_or_else(|e| (null::<D>(), Some(e)), |v| (v, None)))
        })
    }
}

fn null<M: Model>() -> Value {
    Value::Null(M::object().ty())
}

fn context<C>(session: &Session<C>, token: &str, timeout: Duration, private: Private) -> Context<C> {
    Context::new(session.clone(), token.into(), timeout, private)
}

/// What an operation's end means: the object, what was said, and the error if it failed.
pub(crate) fn outcome<C>(ctx: Context<C>, (value, error): (Value, Option<Error>)) -> Outcome {
    let (private, mut diagnostics) = ctx.finish();
    diagnostics.extend(error.map(Error::into_diagnostic));
    Outcome { value, private, diagnostics }
}

/// Awaits an operation of the author's; a panic in it becomes an error.
pub(crate) async fn caught<T>(operation: impl Future<Output = Result<T>> + Send) -> Result<T> {
    let mut operation = pin!(operation);
    poll_fn(move |cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| operation.as_mut().poll(cx)));
        polled.unwrap_or_else(|payload| Poll::Ready(Err(panicked(payload.as_ref()))))
    })
    .await
}

fn panicked(payload: &(dyn Any + Send)) -> Error {
    let said = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    Error::new("The provider crashed in this operation").detail(format!(
        "This is a bug in the provider: {}. Other operations are not affected.",
        said.unwrap_or("it gave no reason")
    ))
}

/// What the field attributes and then the author's code have to say about a configuration.
pub(crate) fn validate<M: Model>(config: &Value, more: impl FnOnce(&M, &mut Problems)) -> Vec<Diagnostic> {
    let mut problems = Problems::default();
    check(M::object(), config, &Path::root(), &mut problems);
    match M::decode(config) {
        Ok(model) => {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| more(&model, &mut problems))) {
                return vec![panicked(payload.as_ref()).into_diagnostic()];
            }
        }
        Err(crate::codec::Undecodable::Unknown) => {}
        Err(e) => {
            let mut diagnostics = problems.into_diagnostics();
            diagnostics.push(Error::from(e).into_diagnostic());
            return diagnostics;
        }
    }
    problems.into_diagnostics()
}

/// A random token for one create.
pub(crate) fn new_token() -> String {
    uuid::Uuid::new_v4().to_string()
}

async fn run_plan<R: Resource>(
    prior: &Value,
    config: &Value,
    mut private: Private,
    client: Option<Arc<R::Client>>,
) -> PlanOutcome {
    let is_create = prior.is_null();
    if is_create {
        private.insert(TOKEN_KEY.into(), new_token().into());
    }
    let before = plan::planned(R::object(), Some(prior), config);
    let run = async {
        let decode = |v: &Value| R::decode(v).map_err(Error::from);
        let old = if is_create { None } else { Some(decode(prior)?) };
        let model = decode(&before)?;
        let was = model.encode();
        let mut plan = Plan::<R>::new(old, decode(config)?, model, client.as_deref(), prior);
        R::modify_plan(&mut plan).await?;
        let (model, replace) = plan.into_parts();
        Ok((rewrite(&before, &was, &model.encode()), replace))
    };
    let result = caught(run).await;
    let (value, mut requires_replace, diagnostics) = match result {
        Ok((value, replace)) => (value, replace, Vec::new()),
        Err(e) => (before.clone(), Vec::new(), vec![e.into_diagnostic()]),
    };
    let unchanged = value == *prior;
    if is_create || unchanged {
        requires_replace.clear();
    } else {
        requires_replace.extend(plan::requires_replace(R::object(), prior, &value));
    }
    PlanOutcome { outcome: Outcome { value, private, diagnostics }, requires_replace }
}

async fn create<R: Resource>(
    planned: &Value,
    config: &Value,
    mut private: Private,
    session: Session<R::Client>,
) -> Outcome {
    let token = match private.remove(TOKEN_KEY) {
        Some(serde_json::Value::String(token)) => token,
        _ => new_token(),
    };
    let timeout = timeouts::effective(R::object(), planned, Operation::Create);
    let ctx = context(&session, &token, timeout, private);
    let given = plan::write_only(R::object(), planned, Some(config));
    let mut model = match R::decode(&given) {
        Ok(model) => model,
        Err(e) => return outcome(ctx, (null::<R>(), Some(e.into()))),
    };
    let before = model.encode();
    let result = caught(model.create(&ctx)).await;
    let made = rewrite(&given, &before, &model.encode());
    let exists = made.get("id").is_none_or(|id| id.is_known() && !id.is_null());
    let (value, error) = match result {
        Ok(()) => completed::<R>(made, None, &ctx).await,
        Err(e) if exists => (plan::complete(&made, None), Some(e)),
        Err(e) => return outcome(ctx, (null::<R>(), Some(e))),
    };
    let value = plan::write_only(R::object(), &value, None);
    if error.is_none() {
        warn_of_surprises::<R>(planned, &value);
    }
    outcome(ctx, (value, error))
}

/// Logs where a result is not what was planned: Terraform says so itself, except for resources with computed blocks.
fn warn_of_surprises<R: Resource>(planned: &Value, result: &Value) {
    if !R::object().has_computed_block() || plan::fits(planned, result) {
        return;
    }
    let differs = |f: &&Field| match (planned.get(f.name), result.get(f.name)) {
        (Some(planned), Some(result)) => !plan::fits(planned, result),
        _ => false,
    };
    let fields: Vec<&str> = R::object().fields.iter().filter(differs).map(|f| f.name).collect();
    tracing::warn!(resource = R::TYPE, fields = fields.join(", "), "the result is not what was planned");
}

async fn update<R: Resource>(
    prior: &Value,
    planned: &Value,
    config: &Value,
    private: Private,
    session: Session<R::Client>,
) -> Outcome {
    let timeout = timeouts::effective(R::object(), planned, Operation::Update);
    let ctx = context(&session, "", timeout, private);
    if only_timeouts_differ(R::object(), prior, planned) {
        return outcome(ctx, (planned.clone(), None));
    }
    let given = plan::write_only(R::object(), planned, Some(config));
    let decoded = R::decode(prior).and_then(|old| Ok((old, R::decode(&given)?)));
    let (old, mut model) = match decoded {
        Ok(both) => both,
        Err(e) => return outcome(ctx, (prior.clone(), Some(e.into()))),
    };
    let before = model.encode();
    let result = caught(model.update(&old, &ctx)).await;
    let made = rewrite(&given, &before, &model.encode());
    let (value, error) = match result {
        Ok(()) => completed::<R>(made, Some(prior), &ctx).await,
        Err(e) => return outcome(ctx, (prior.clone(), Some(e))),
    };
    let value = plan::write_only(R::object(), &value, None);
    if error.is_none() {
        warn_of_surprises::<R>(planned, &value);
    }
    outcome(ctx, (value, error))
}

/// How long a new object may be invisible to reads.
const VISIBLE_WITHIN: Duration = Duration::from_secs(20);

/// Fills in what an operation left unknown, by a read; if that fails, from the `prior` state, as the object exists.
async fn completed<R: Resource>(
    made: Value,
    prior: Option<&Value>,
    ctx: &Context<R::Client>,
) -> (Value, Option<Error>) {
    if made.is_wholly_known() {
        return (made, None);
    }
    let known = plan::complete(&made, None);
    let deadline = tokio::time::Instant::now() + VISIBLE_WITHIN;
    let found = loop {
        let read = async {
            let model = R::decode(&known).map_err(Error::from)?;
            let before = model.encode();
            Ok(R::read(model, ctx).await?.map(|now| rewrite(&known, &before, &now.encode())))
        };
        match caught(read).await {
            Ok(None) => {}
            Err(e) if e.is_not_found() => {}
            Ok(Some(now)) => break Ok(now),
            Err(e) => break Err(e),
        }
        if tokio::time::Instant::now() > deadline || ctx.is_cancelled() {
            break Err(Error::not_found("The object cannot be read back").detail(format!(
                "It was made or changed, but {} seconds later the API still says that it does not exist.",
                VISIBLE_WITHIN.as_secs()
            )));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    };
    match found {
        Ok(now) => (plan::complete(&made, Some(&now)), None),
        Err(e) => (plan::complete(&made, prior), Some(e)),
    }
}

async fn delete<R: Resource>(prior: &Value, private: Private, session: Session<R::Client>) -> Outcome {
    let timeout = timeouts::effective(R::object(), prior, Operation::Delete);
    let ctx = context(&session, "", timeout, private);
    let result = caught(async { R::decode(prior).map_err(Error::from)?.delete(&ctx).await }).await;
    match result {
        Err(e) if !e.is_not_found() => outcome(ctx, (prior.clone(), Some(e))),
        _ => outcome(ctx, (null::<R>(), None)),
    }
}

async fn read<R: Resource>(current: &Value, private: Private, session: Session<R::Client>) -> Outcome {
    let timeout = timeouts::effective(R::object(), current, Operation::Read);
    let ctx = context(&session, "", timeout, private);
    let run = async {
        let model = R::decode(current).map_err(Error::from)?;
        let before = model.encode();
        Ok(R::read(model, &ctx).await?.map(|now| rewrite(current, &before, &now.encode())))
    };
    match caught(run).await {
        Ok(Some(now)) => {
            let now = plan::keep_spelling(R::object(), current, &plan::complete(&now, None));
            outcome(ctx, (plan::write_only(R::object(), &now, None), None))
        }
        Ok(None) => outcome(ctx, (null::<R>(), None)),
        Err(e) if e.is_not_found() => outcome(ctx, (null::<R>(), None)),
        Err(e) => outcome(ctx, (current.clone(), Some(e))),
    }
}

/// Answers whether an interrupted create made its object.
async fn recover<R: Resource>(planned: &Value, mut private: Private, session: Session<R::Client>) -> Outcome {
    private.remove(RECOVER_KEY);
    let token = private.remove(TOKEN_KEY);
    let timeout = timeouts::effective(R::object(), planned, Operation::Read);
    let token = token.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
    let ctx = context(&session, &token, timeout, private);
    let planned = plan::complete(planned, None);
    let run = async {
        let model = R::decode(&planned).map_err(Error::from)?;
        let before = model.encode();
        Ok(model.find_by_token(&token, &ctx).await?.map(|found| rewrite(&planned, &before, &found.encode())))
    };
    match caught(run).await {
        Ok(found) => {
            let found = found.map_or_else(null::<R>, |v| plan::complete(&v, None));
            outcome(ctx, (plan::write_only(R::object(), &found, None), None))
        }
        Err(e) => outcome(ctx, (planned.clone(), Some(e))),
    }
}

fn only_timeouts_differ(object: &Object, prior: &Value, planned: &Value) -> bool {
    let same = |name: &str| prior.get(name) == planned.get(name);
    object.fields.iter().all(|f| f.is_timeouts() || same(f.name))
}

#[cfg(test)]
mod tests;
