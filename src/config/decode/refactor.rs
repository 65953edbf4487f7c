//! `moved`, `removed` and `import` blocks.

use super::Cx;
use crate::addr::{self, AbsResource, InstanceKey, Mode, ModuleInstance, Resource};
use crate::config::model::{Import, ImportTo, MoveEndpoint, Moved, Removed, RemovedTarget};
use crate::diag::Range;
use crate::lang::body::BodySchema;
use crate::lang::static_expr;
use crate::lang::syntax::{Attribute, Block, Expr, ExprKind, Step, StepKind, Traversal};
use gpuform_schema::{Str, Value};
use std::sync::LazyLock;

static MOVED: LazyLock<BodySchema> = LazyLock::new(|| BodySchema::new().required(["from", "to"]));
static REMOVED: LazyLock<BodySchema> = LazyLock::new(|| {
    BodySchema::new()
        .required(["from"])
        .block("lifecycle", &[])
        .block("connection", &[])
        .block("provisioner", &["type"])
});
static REMOVED_LIFECYCLE: LazyLock<BodySchema> = LazyLock::new(|| BodySchema::new().optional(["destroy"]));
static IMPORT: LazyLock<BodySchema> =
    LazyLock::new(|| BodySchema::new().required(["to", "id"]).optional(["provider", "for_each"]));

/// Names that cannot be resource types in an address without the prefix `resource.`.
const RESERVED: [&str; 9] = ["count", "each", "local", "path", "self", "terraform", "var", "template", "lazy"];

/// An address as it is written, each step with the key expression that follows it.
struct WrittenAddress<'a> {
    modules: Vec<(Str, Option<&'a Step>)>,
    resource: Option<(Resource, Option<&'a Step>)>,
}

type Wrong = (String, Range);

/// Takes an address apart. In `removed` blocks a name is a resource type whatever it is (`plain`).
fn address(t: &Traversal, plain: bool) -> Result<WrittenAddress<'_>, Wrong> {
    let mut names: Vec<(&Str, Range)> = vec![(&t.root, t.root_range)];
    let mut steps = t.steps.iter().peekable();
    let mut modules = Vec::new();
    let mut parts = Parts { steps: &mut steps };
    loop {
        match names.first().map(|(n, _)| &***n) {
            Some("module") => {
                let name =
                    parts.name().ok_or_else(|| ("A module name must follow \"module\".".into(), t.root_range))?;
                modules.push((name.0.clone(), parts.key()));
                match parts.any() {
                    None => return Ok(WrittenAddress { modules, resource: None }),
                    Some(step) => match &step.kind {
                        StepKind::Attr(n) => names = vec![(n, step.range)],
                        _ => return Err(("Only a module or resource can follow here.".into(), step.range)),
                    },
                }
            }
            _ => break,
        }
    }
    let (first, first_range) = names.first().copied().ok_or_else(|| (String::new(), t.root_range))?;
    let mode = match &**first {
        "data" => Some(Mode::Data),
        "ephemeral" => Some(Mode::Ephemeral),
        "resource" if !plain => Some(Mode::Managed),
        _ => None,
    };
    let (ty, mode) = match mode {
        Some(mode) => {
            let ty = parts.name().ok_or_else(|| ("A resource type and name must follow.".into(), first_range))?;
            (ty.0.clone(), mode)
        }
        None if RESERVED.contains(&&**first) && !plain => {
            let at = t
                .steps
                .first()
                .filter(|_| first_range == t.root_range)
                .map_or(first_range, |s| first_range.to(s.range));
            let detail = format!("\"{first}\" is reserved. If it is a resource type, write \"resource.{first}\".");
            return Err((detail, at));
        }
        None => (first.clone(), Mode::Managed),
    };
    let Some(name) = parts.name() else {
        let at = parts.steps.peek().map_or(first_range, |s| s.range);
        return Err(("A resource has a type and a name, separated by a dot.".into(), at));
    };
    let resource = Resource { mode, ty, name: name.0.clone() };
    let key = match parts.steps.peek() {
        None => None,
        Some(Step { kind: StepKind::Index(_) | StepKind::LegacyIndex(_), .. }) => parts.key(),
        Some(step) => return Err(("Only an instance key in brackets can follow the name.".into(), step.range)),
    };
    if let Some(extra) = parts.any() {
        return Err(("The address is complete before this.".into(), extra.range));
    }
    Ok(WrittenAddress { modules, resource: Some((resource, key)) })
}

struct Parts<'p, 'a> {
    steps: &'p mut std::iter::Peekable<std::slice::Iter<'a, Step>>,
}

impl<'a> Parts<'_, 'a> {
    fn any(&mut self) -> Option<&'a Step> {
        self.steps.next()
    }

    fn name(&mut self) -> Option<(&'a Str, Range)> {
        let step = self.steps.next_if(|s| matches!(s.kind, StepKind::Attr(_)))?;
        match &step.kind {
            StepKind::Attr(n) => Some((n, step.range)),
            _ => None,
        }
    }

    fn key(&mut self) -> Option<&'a Step> {
        self.steps.next_if(|s| matches!(s.kind, StepKind::Index(_) | StepKind::LegacyIndex(_)))
    }
}

/// A constant instance key.
fn fixed_key(step: Option<&Step>) -> Result<InstanceKey, Wrong> {
    let Some(step) = step else { return Ok(InstanceKey::None) };
    match &step.kind {
        StepKind::LegacyIndex(i) => Ok(InstanceKey::Int(*i)),
        StepKind::Index(key) => match &key.kind {
            ExprKind::Literal(Value::String(s)) => Ok(InstanceKey::String(s.clone())),
            ExprKind::Literal(Value::Number(n)) => match n.as_u64() {
                Some(i) => Ok(InstanceKey::Int(i)),
                None => Err(("The key of an instance is a whole number, not negative.".into(), step.range)),
            },
            _ => Err(("The key of an instance is a string or a whole number.".into(), step.range)),
        },
        _ => Err(("The key of an instance is a string or a whole number.".into(), step.range)),
    }
}

impl WrittenAddress<'_> {
    fn module_instance(&self) -> Result<ModuleInstance, Wrong> {
        let step = |(name, key): &(Str, Option<&Step>)| Ok((name.clone(), fixed_key(*key)?));
        Ok(ModuleInstance(self.modules.iter().map(step).collect::<Result<Vec<_>, Wrong>>()?.into()))
    }

    fn module(&self) -> addr::Module {
        addr::Module(self.modules.iter().map(|(n, _)| n.clone()).collect())
    }

    fn target(&self) -> Result<addr::Target, Wrong> {
        let module = self.module_instance()?;
        Ok(match &self.resource {
            None => addr::Target::Module(module),
            Some((resource, key)) => {
                let resource = AbsResource { module, resource: resource.clone() };
                match fixed_key(*key)? {
                    InstanceKey::None => addr::Target::Resource(resource),
                    key => addr::Target::Instance(resource.instance(key)),
                }
            }
        })
    }
}

impl Cx<'_> {
    /// The reference in an argument, where quotes are not accepted (outside of JSON).
    fn address_reference(&mut self, a: Attribute) -> Option<Traversal> {
        let json = self.is_json(a.range);
        static_expr::reference(a.expr, json, self.diags)
    }

    fn invalid_address(&mut self, (detail, at): Wrong) {
        self.error("Invalid address", detail, at);
    }

    pub fn moved(&mut self, block: Block) -> Option<Moved> {
        let range = block.header_range;
        let mut content = self.content(block.body, &MOVED);
        let from = content.take("from").and_then(|a| self.move_endpoint(a));
        let to = content.take("to").and_then(|a| self.move_endpoint(a));
        let (from, to) = (from?, to?);
        let module = |e: &MoveEndpoint| matches!(e.target, addr::Target::Module(_));
        if module(&from) != module(&to) {
            self.error(
                "Invalid \"moved\" addresses",
                "Both addresses must be of resources, or both of modules.",
                range,
            );
            return None;
        }
        Some(Moved { from, to, range })
    }

    /// The address in an argument, with its place.
    pub fn move_endpoint(&mut self, a: Attribute) -> Option<MoveEndpoint> {
        let t = self.address_reference(a)?;
        let target = self.target(&t)?;
        Some(MoveEndpoint { target, range: t.range() })
    }

    /// The module or resource that a reference names; keys must be constants.
    pub fn target(&mut self, t: &Traversal) -> Option<addr::Target> {
        match address(t, false).and_then(|w| w.target()) {
            Ok(target) => Some(target),
            Err(wrong) => {
                self.invalid_address(wrong);
                None
            }
        }
    }

    pub fn removed(&mut self, block: Block) -> Option<Removed> {
        let range = block.header_range;
        let mut content = self.content(block.body, &REMOVED);
        let from = content.take("from").and_then(|a| self.removed_target(a));
        let mut removed = Removed {
            from: RemovedTarget::Module(addr::Module::root()),
            range,
            destroy: true,
            provisioners: Vec::new(),
            connection: None,
        };
        let managed = from.as_ref().is_none_or(|f| matches!(f, RemovedTarget::Resource(_)));
        for block in content.blocks {
            let at = block.header_range;
            match &*block.ty {
                "lifecycle" => {
                    let mut lifecycle = self.content(block.body, &REMOVED_LIFECYCLE);
                    if let Some(destroy) = lifecycle.take("destroy").and_then(|a| self.bool(&a)) {
                        removed.destroy = destroy;
                    }
                }
                "connection" if removed.connection.is_none() => removed.connection = Some(block.body),
                "connection" => {
                    self.error("Duplicate connection block", "This block has a connection block already.", at);
                }
                _ if !managed => self.error(
                    "Invalid provisioner block",
                    "Provisioners can run only when a resource is removed, not a module.",
                    at,
                ),
                _ => {
                    let Some(p) = self.provisioner(block) else { continue };
                    if p.when_destroy {
                        removed.provisioners.push(p);
                    } else {
                        self.error(
                            "Invalid provisioner block",
                            "A provisioner here runs when the object is destroyed, so it needs when = destroy.",
                            at,
                        );
                    }
                }
            }
        }
        removed.from = from?;
        Some(removed)
    }

    fn removed_target(&mut self, a: Attribute) -> Option<RemovedTarget> {
        let t = self.address_reference(a)?;
        let written = match address(&t, true) {
            Ok(written) => written,
            // A step too far is taken for an instance key.
            Err((_, at)) if t.steps.last().is_some_and(|s| s.range == at) => {
                self.error("Resource instance keys not allowed", "The address must be of a resource as a whole.", at);
                return None;
            }
            Err(wrong) => {
                self.invalid_address(wrong);
                return None;
            }
        };
        if let Some(key) = written.modules.iter().find_map(|(_, key)| *key) {
            self.error("Module instance keys not allowed", "The address must be of a module as a whole.", key.range);
            return None;
        }
        let module = written.module();
        let Some((resource, key)) = written.resource else { return Some(RemovedTarget::Module(module)) };
        if resource.mode != Mode::Managed {
            let (summary, what) = match resource.mode {
                Mode::Data => ("Data source address not allowed", "Data sources"),
                _ => ("Ephemeral resource address not allowed", "Ephemeral resources"),
            };
            self.error(summary, format!("{what} are never destroyed: take the block out, that is all."), t.range());
            return None;
        }
        if let Some(key) = key {
            self.error(
                "Resource instance keys not allowed",
                "The address must be of a resource as a whole.",
                key.range,
            );
            return None;
        }
        Some(RemovedTarget::Resource(addr::ConfigResource { module, resource }))
    }

    pub fn import(&mut self, block: Block) -> Option<Import> {
        let range = block.header_range;
        let mut content = self.content(block.body, &IMPORT);
        let provider = content.take("provider");
        let provider_range = provider.as_ref().map(|a| a.expr.range);
        let provider = provider.and_then(|a| self.provider_ref(a.expr, "provider"));
        let for_each = content.take("for_each").map(|a| a.expr);
        let to = content.take("to");
        let id = content.take("id");
        let (to, to_range) = match to {
            Some(a) => {
                let range = a.expr.range;
                (self.import_to(a), range)
            }
            None => return None,
        };
        Some(Import { range, to: to?, to_range, id: id?.expr, for_each, provider, provider_range })
    }

    fn import_to(&mut self, a: Attribute) -> Option<ImportTo> {
        let (range, expr_range) = (a.range, a.expr.range);
        let to = self.import_address(a.expr, expr_range);
        if to.as_ref().is_none_or(|to| to.resource.resource.mode != Mode::Managed) {
            self.error("Invalid import address", "Only managed resources can be imported.", range);
            return None;
        }
        to
    }

    fn import_address(&mut self, expr: Expr, range: Range) -> Option<ImportTo> {
        let json = self.is_json(range);
        let expr = static_expr::unquote_json(expr, json, self.diags)?;
        let ExprKind::Traversal(t) = expr.kind else {
            self.error(
                "Invalid expression",
                "The address of a resource instance must stand here, without quotes.",
                range,
            );
            return None;
        };
        let written = match address(&t, false) {
            Ok(written) => written,
            Err(wrong) => {
                self.invalid_address(wrong);
                return None;
            }
        };
        let Some((resource, key)) = &written.resource else {
            self.error("Invalid address", "A resource instance must be named here, not a module.", t.range());
            return None;
        };
        let resource = addr::ConfigResource { module: written.module(), resource: resource.clone() };
        let fixed = match (written.module_instance(), fixed_key(*key)) {
            (Ok(module), Ok(key)) => Some(AbsResource { module, resource: resource.resource.clone() }.instance(key)),
            _ => None,
        };
        Some(ImportTo { resource, fixed, traversal: *t })
    }
}
