//! `expect_failures`: which conditions of the configuration a run wants to fail, and what that makes of its diagnostics.

use super::model::Run;
use crate::config::decode::Cx;
use crate::diag::{Diagnostic, Diagnostics, Range, Severity};
use crate::lang::syntax::Traversal;
use std::collections::HashSet;

/// The objects whose conditions shall fail.
pub struct Expected {
    objects: Vec<(String, Range)>,
    met: HashSet<String>,
}

impl Expected {
    /// Reads what a run expects.
    ///
    /// # Errors
    /// References to objects that have no conditions.
    pub fn new(run: &Run) -> Result<Expected, Diagnostics> {
        let mut diags = Diagnostics::new();
        let mut objects = Vec::new();
        for t in &run.expect_failures {
            let range = t.range();
            match object(t) {
                Some(name) => objects.push((name, range)),
                None => diags.push(
                    Diagnostic::error(
                        "Invalid `expect_failures` reference",
                        "Only objects that can have conditions can be expected to fail: input variables, outputs, check \
                         blocks, resources and data sources.",
                    )
                    .at(range)
                    .context(run.range),
                ),
            }
        }
        if diags.has_errors() { Err(diags) } else { Ok(Expected { objects, met: HashSet::new() }) }
    }

    /// Whether a diagnostic says that an expected condition failed. An expected resource stands for all of its
    /// instances.
    fn meets(&mut self, d: &Diagnostic) -> bool {
        let Some(failed) = &d.checked else { return false };
        let found = self.objects.iter().find(|(o, _)| {
            o == failed
                || failed.strip_prefix(o.as_str()).is_some_and(|rest| rest.starts_with('[') && rest.ends_with(']'))
        });
        if let Some((object, _)) = found {
            self.met.insert(object.clone());
        }
        found.is_some()
    }

    /// What planning before an apply has said. Failed checks may mend themselves by applying and are not counted yet;
    /// an expected failure of another condition keeps the apply from happening, so it stays an error.
    pub fn before_apply(&mut self, diags: Diagnostics) -> Diagnostics {
        let failed = diags.has_errors();
        let mut out = Diagnostics::new();
        for d in diags {
            if d.checked.is_some() && !d.is_error() {
                continue;
            }
            if failed && d.is_error() && self.meets(&d) {
                out.push(Diagnostic::warning(
                    "Expected failure while planning",
                    format!(
                        "The condition of {} failed as expected, but already while planning, so that the run could not apply. \
                         It counts as failed; let the run only plan.",
                        d.checked.as_deref().unwrap_or("an object")
                    ),
                ));
            }
            out.push(d);
        }
        out
    }

    /// What the last step of a run has said: expected failures are left out, other failures are errors, also those of
    /// checks, which would otherwise only warn.
    pub fn at_end(&mut self, diags: Diagnostics) -> Diagnostics {
        let mut out = Diagnostics::new();
        for mut d in diags {
            if self.meets(&d) {
                continue;
            }
            if d.checked.is_some() {
                d.severity = Severity::Error;
            }
            out.push(d);
        }
        out
    }

    /// Errors for what was expected to fail and did not.
    pub fn missing(&self, run: &Run) -> Diagnostics {
        let missing = self.objects.iter().filter(|(o, _)| !self.met.contains(o));
        missing
            .map(|(object, range)| {
                Diagnostic::error(
                    "Missing expected failure",
                    format!("A condition of {object} was expected to fail, but none did."),
                )
                .at(*range)
                .context(run.range)
            })
            .collect()
    }
}

/// The address of the object that a reference names, if it can have conditions.
fn object(t: &Traversal) -> Option<String> {
    match &*t.root {
        "var" | "output" | "check" => t.prefixes().pop(),
        _ => {
            let mut quiet = Diagnostics::new();
            let mut cx = Cx { json: HashSet::new(), diags: &mut quiet };
            match cx.target(t)? {
                crate::addr::Target::Resource(r) => Some(r.to_string()),
                crate::addr::Target::Instance(i) => Some(i.to_string()),
                crate::addr::Target::Module(_) => None,
            }
        }
    }
}
