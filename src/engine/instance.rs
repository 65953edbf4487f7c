//! What planning and applying do alike with one instance of a resource: evaluating its configuration, reading a data
//! source, and saying in diagnostics and events which object is meant.

use crate::addr::{Mode, ResourceInstance};
use crate::config::model::ResourceBlock;
use crate::diag::{Diagnostic, Diagnostics, Kind, Severity};
use crate::engine::checks::Checkable;
use crate::engine::events::{Event, IdentifiedBy};
use crate::engine::objects;
use crate::engine::plan::Action;
use crate::engine::program::ResourceProgram;
use crate::engine::stored::TypeInfo;
use crate::engine::walk::{Configured, Walk};
use crate::state::CheckStatus;
use gpuform_schema::{Marks, Path, Step, Value};

/// The attribute by which people know an object, as Terraform chooses it.
pub fn identified_by(value: &Value) -> Option<IdentifiedBy> {
    let text = |key: &'static str| {
        let v = value.get(key)?;
        if !v.marks().is_empty() {
            return None;
        }
        v.as_str().filter(|s| !s.is_empty()).map(|s| IdentifiedBy { key, value: s.to_owned() })
    };
    text("id").or_else(|| text("name"))
}

/// Provider diagnostics with the object they are about.
pub fn about(d: Diagnostics, addr: &ResourceInstance) -> Diagnostics {
    d.into_iter().map(|d| if d.address.is_none() { d.address(addr) } else { d }).collect()
}

/// Provider diagnostics with the object, and the source range of the attribute they are about.
pub fn explain(
    d: Diagnostics,
    program: &ResourceProgram,
    block: &ResourceBlock,
    addr: &ResourceInstance,
) -> Diagnostics {
    about(d, addr)
        .into_iter()
        .map(|mut d| {
            if d.subject.is_none() {
                d.subject = d
                    .attribute
                    .as_ref()
                    .and_then(|p| program.decoder.range_of(p))
                    .or(Some(block.body.missing_item_range()));
                d.context = Some(block.header_range);
            }
            d
        })
        .collect()
}

/// Evaluates the configuration of an instance: the value without marks, and where it is sensitive.
pub fn evaluate_config(
    walk: &Walk,
    program: &ResourceProgram,
    block: &ResourceBlock,
    addr: &ResourceInstance,
    scope: &dyn crate::lang::scope::Scope,
) -> Option<(Value, Vec<Path>)> {
    let mut diags = Diagnostics::new();
    let value = program.decoder.eval(scope, &mut diags);
    if walk.report_all(diags) {
        return None;
    }
    let (value, marks) = value?.unmark_with_paths();
    let mut wrong = Diagnostics::new();
    let mut told = Vec::new();
    for (path, m) in &marks {
        let stored = m.contains(Marks::EPHEMERAL) && block.mode() != Mode::Ephemeral && !is_write_only(program, path);
        let Some(attribute) = path.0.first().filter(|_| stored) else { continue };
        let whole = match attribute {
            Step::Attr(name) if program.info.schema.block.attributes.contains_key(name) => {
                Path(vec![attribute.clone()])
            }
            _ => path.clone(),
        };
        if told.contains(&whole) {
            continue;
        }
        let detail = format!(
            "The attribute {} of {addr} is stored, so it cannot be set from an ephemeral value; only write-only \
             attributes can.",
            whole.to_string().trim_start_matches('.')
        );
        wrong.push(
            Diagnostic::error("Invalid use of ephemeral value", detail)
                .at(program.decoder.range_of(&whole).or(Some(block.header_range)))
                .address(addr),
        );
        told.push(whole);
    }
    if walk.report_all(wrong) {
        return None;
    }
    let sensitive = marks.into_iter().filter(|(_, m)| m.contains(Marks::SENSITIVE)).map(|(p, _)| p).collect();
    Some((value, sensitive))
}

/// Whether a path leads to, or into, an attribute that is only written.
fn is_write_only(program: &ResourceProgram, path: &Path) -> bool {
    let mut block = &program.info.schema.block;
    for step in &path.0 {
        // Positions and keys choose between blocks of one type.
        let Step::Attr(name) = step else { continue };
        match (block.attributes.get(name), block.blocks.get(name)) {
            (Some(attribute), _) => return attribute.write_only,
            (None, Some(nested)) => block = &nested.block,
            (None, None) => return false,
        }
    }
    false
}

/// An error where a provider has read an object that breaks the rules.
pub fn invalid_object(
    provider: &crate::addr::AbsProviderConfig,
    info: &TypeInfo,
    addr: &ResourceInstance,
    object: &Value,
) -> Option<Diagnostic> {
    let broken = objects::check_read(&info.schema.block, object);
    if broken.is_empty() {
        return None;
    }
    let places: Vec<String> = broken.iter().map(|b| format!("- {addr}{} {}", b.path, b.what)).collect();
    let detail = format!(
        "The provider {} returned an object that cannot be used:\n{}\nThis is a bug in the provider, which should be reported to \
         those who maintain it.",
        provider.provider.for_display(),
        places.join("\n")
    );
    Some(Diagnostic::error("Provider produced invalid object", detail).address(addr))
}

/// What reading a data source gave.
pub struct DataRead {
    pub value: Value,
    /// It could not be read, which was only warned about.
    pub failed: bool,
}

/// Reads a data source. One that is nested in a check only warns when it fails, and what would be read is null then.
#[allow(clippy::too_many_arguments)]
pub async fn read_data(
    walk: &Walk,
    configured: &Configured,
    program: &ResourceProgram,
    block: &ResourceBlock,
    info: &TypeInfo,
    addr: &ResourceInstance,
    config: Value,
    sensitive: &[Path],
) -> Option<DataRead> {
    let started = std::time::Instant::now();
    let action = Action::Read;
    walk.events.event(Event::OperationStart { addr, deposed: None, action, id: None });
    let provider = &*configured.provider;
    let given = config.clone();
    let mut diags = provider.validate_data_source_config(&info.name, config.clone()).await;
    let mut value = None;
    if !diags.has_errors() {
        let settings = walk.program().settings(addr, &configured.addr.provider);
        let _turn = walk.turn(&configured.addr.provider).await;
        let (read, more) = provider.read_data_source(&info.name, config, settings).await;
        diags.extend(more);
        value = read;
        diags.extend(value.as_ref().and_then(|v| invalid_object(&configured.addr, info, addr, v)));
    }
    let mut diags = explain(diags, program, block, addr);
    let failed = diags.has_errors() || value.is_none();
    if failed && let Some(check) = &block.check {
        let told = diags.iter().find(|d| d.is_error()).map(|d| format!("{}: {}", d.summary, d.detail));
        let checked = Checkable::check(&addr.module, check);
        walk.checks.record(&checked, CheckStatus::Fail, told.map(Into::into));
        for d in diags.iter_mut() {
            d.checked = Some(checked.object.to_string());
            d.severity = Severity::Warning;
            d.kind = Kind::CheckAssertion;
        }
        walk.report_all(diags);
        let empty = objects::unknown_as_null(&objects::planned_data(&info.schema.block, &given));
        return Some(DataRead { value: info.mark(&empty, sensitive), failed: true });
    }
    walk.report_all(diags);
    if failed {
        walk.events.event(Event::OperationErrored { addr, deposed: None, action, elapsed: started.elapsed() });
        return None;
    }
    let value = info.mark(&value?, sensitive);
    let id = identified_by(&value);
    walk.events.event(Event::OperationDone { addr, deposed: None, action, id, elapsed: started.elapsed() });
    Some(DataRead { value, failed: false })
}

/// The paths of `ignore_changes`.
pub fn ignored_paths(lifecycle: &crate::config::model::Lifecycle) -> Vec<Path> {
    lifecycle.ignore_changes.iter().filter_map(static_path).collect()
}

/// The path of an `ignore_changes` entry.
fn static_path(t: &crate::lang::syntax::Traversal) -> Option<Path> {
    use crate::lang::syntax::{ExprKind, StepKind};
    let mut path = Path::attrs([t.root.clone()]);
    for step in &t.steps {
        path = match &step.kind {
            StepKind::Attr(n) => path.attr(n.clone()),
            StepKind::LegacyIndex(n) => path.index(*n as usize),
            StepKind::Index(e) => match &e.kind {
                ExprKind::Literal(Value::String(s)) => path.key(s.clone()),
                ExprKind::Literal(Value::Number(n)) => path.index(n.as_usize()?),
                ExprKind::Template(parts) => match &parts[..] {
                    [crate::lang::syntax::TemplatePart::Text(s)] => path.key(s.clone()),
                    _ => return None,
                },
                _ => return None,
            },
            StepKind::Splat { .. } => return None,
        };
    }
    Some(path)
}
