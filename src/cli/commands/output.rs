//! `gpuform output`

use crate::cli::args::StateFiles;
use crate::cli::context::Context;
use crate::cli::{Exit, FAILED, OK, backends, view};
use crate::diag::{Diagnostic, Diagnostics};
use crate::state::store::Store;
use gpuform_schema::Value;

/// Show the outputs of the root module.
#[derive(clap::Args, Debug)]
pub struct Output {
    /// Only this one.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Print as JSON.
    #[arg(long, conflicts_with = "raw")]
    json: bool,
    /// Print a string, number or bool as it is, without quotes and line end.
    #[arg(long)]
    raw: bool,
    /// Use no colours.
    #[arg(long)]
    no_color: bool,
    #[command(flatten)]
    files: StateFiles,
}

impl Output {
    pub async fn run(self, cx: &mut Context) -> Exit {
        cx.style.color &= !self.no_color;
        match self.text(cx).await {
            Ok(text) => {
                cx.print(&text);
                OK
            }
            Err(d) => {
                cx.show(&d, false);
                FAILED
            }
        }
    }

    async fn text(&self, cx: &Context) -> Result<String, Diagnostics> {
        let backend = backends::recorded(cx, &self.files)?;
        let store = Store::open(backend, &cx.workspace(), None, || {}).await?;
        let outputs = &store.state().outputs;
        let Some(name) = &self.name else {
            if self.raw {
                return Err(Diagnostic::error("Output name required", "-raw prints one output: say which.").into());
            }
            if self.json {
                return Ok(format!("{}\n", view::json::outputs(outputs)));
            }
            if outputs.is_empty() {
                cx.print(&none_found(cx));
                return Ok(String::new());
            }
            return Ok(view::state::outputs(outputs));
        };
        let Some(o) = outputs.get(name.as_str()) else {
            if outputs.is_empty() && !self.json {
                cx.print(&none_found(cx));
                return Ok(String::new());
            }
            return Err(Diagnostic::error(
                format!("Output \"{name}\" not found"),
                "The state holds no output of this name. An output that was added to the configuration is there once it was \
                 applied.",
            )
            .into());
        };
        if self.json {
            return Ok(format!("{}\n", view::json::value(&o.value)));
        }
        if self.raw {
            return raw(name, &o.value);
        }
        Ok(format!("{}\n", crate::lang::render::value(&o.value)))
    }
}

/// What is said where there are no outputs, without empty lines around it.
fn none_found(cx: &Context) -> String {
    let d = Diagnostic::warning(
        "No outputs found",
        "The state has no outputs: none are declared, or they were not applied yet.",
    );
    format!("{}\n", view::diagnostics::render(&d, &cx.sources, cx.style).trim())
}

fn raw(name: &str, value: &Value) -> Result<String, Diagnostics> {
    match value {
        Value::String(s) => Ok(s.to_string()),
        Value::Number(n) => Ok(n.to_string()),
        Value::Bool(b) => Ok(b.to_string()),
        other => Err(Diagnostic::error(
            "Unsupported value for raw output",
            format!(
                "-raw prints strings, numbers and bools; the output \"{name}\" is of type {}. Use -json instead.",
                other.ty().friendly_name()
            ),
        )
        .into()),
    }
}
