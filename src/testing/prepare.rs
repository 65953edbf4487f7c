//! What a run works with: its configuration, its variables, and a session of the engine in which the test's stand-ins
//! take the place of what they replace.

use super::expected::Expected;
use super::model::Run;
use super::modules::key_of;
use super::runner::FileWork;
use super::scope::Environment;
use super::stand_ins::{self, StandIns};
use super::variables;
use crate::config::model::Config;
use crate::diag::{Diagnostics, Range};
use crate::engine::Session;
use crate::engine::events::NoEvents;
use gpuform_schema::{Str, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A run that is ready to be planned.
pub struct Prepared<'a> {
    pub run: &'a Run,
    pub config: Config,
    /// Of the root module, converted to their types.
    pub variables: BTreeMap<Str, Value>,
    /// Where their values are written.
    pub ranges: BTreeMap<Str, Range>,
    pub environment: Arc<Environment>,
    pub session: Session,
    pub expected: Expected,
}

/// Prepares a run; warnings come with it.
///
/// # Errors
/// Everything that is wrong before anything was planned.
pub(super) fn prepare<'a>(work: &FileWork<'a>, run: &'a Run) -> Result<(Prepared<'a>, Diagnostics), Diagnostics> {
    let mut diags = work.outside_problems.clone();
    if diags.has_errors() {
        return Err(diags);
    }
    let expected = Expected::new(run)?;
    let chosen = stand_ins::chosen(work.file, run)?;
    let names = chosen.iter().map(|(name, _)| name.clone()).collect();
    let key = key_of(work.file, run);
    let config = work.inputs.programs.load(run.module.as_ref().map(|m| (&*key, m)), names)?;
    let module = config.root.module.clone();
    let inputs = work.inputs;
    let evaluated =
        variables::evaluate(work.file, run, &module, &work.outside, work.environment.clone(), inputs.sources);
    let values = match evaluated {
        Ok((values, warnings)) => {
            diags.extend(warnings);
            values
        }
        Err(d) => {
            diags.extend(d);
            return Err(diags);
        }
    };
    let environment = Arc::new(values.environment);
    let stand_ins = StandIns::new(work.file, run, &chosen, &config, environment.clone());
    let mut place = inputs.place.clone();
    place.root = module.dir.to_string_lossy().replace('\\', "/");
    let session = Session {
        pool: inputs.pool.clone(),
        events: Arc::new(NoEvents),
        // Not the token of an interrupt: a run that has begun may finish.
        stop: CancellationToken::new(),
        parallelism: inputs.parallelism,
        place,
        substitutes: Some(Arc::new(stand_ins)),
    };
    Ok((
        Prepared { run, config, variables: values.module, ranges: values.ranges, environment, session, expected },
        diags,
    ))
}
