//! Name resolution: each traversal of an expression gets the slot of what it refers to. What is not declared, or not
//! available where the expression stands, is reported here; nothing is evaluated. The configuration loader resolves
//! what it understands itself, the decoder the bodies of resources, when it knows their schema.

use super::suggest::{did_you_mean, nearest};
use super::syntax::{
    Call, Expr, ExprKind, ObjectItem, ResourceRef, Slot, Step, StepKind, Target, TemplatePart, Traversal,
};
use crate::addr::{Mode, Resource};
use crate::diag::{Diagnostic, Diagnostics, Kind, Range};
use gpuform_schema::{Str, Type, Value};

/// The objects that a module declares.
pub trait Symbols {
    fn variable(&self, name: &str) -> Option<Slot>;
    fn local(&self, name: &str) -> Option<Slot>;
    fn module_call(&self, name: &str) -> Option<Slot>;
    fn resource(&self, resource: &Resource) -> Option<Slot>;
    /// Whether instances of a resource have keys.
    fn keys(&self, resource: Slot) -> Keys;
    /// The check that a data source belongs to, outside of which it cannot be used.
    fn check_of(&self, resource: Slot) -> Option<&str> {
        let _ = resource;
        None
    }
    fn names(&self, kind: Declared) -> Vec<&str>;
    fn resources(&self) -> Vec<&Resource>;
    /// The module in a sentence: `the root module`, `module.network`.
    fn place(&self) -> String;
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Declared {
    Variables,
    Locals,
    ModuleCalls,
}

/// How the instances of a resource are told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keys {
    /// There is one instance only.
    Single,
    Count,
    ForEach,
}

/// What may be referred to besides the objects of the module, where an expression stands.
#[derive(Clone, Copy, Default, Debug)]
pub struct Allowed<'a> {
    /// `count.index`
    pub count: bool,
    /// `each.key` and `each.value`
    pub each: bool,
    /// `self`
    pub self_object: bool,
    /// `run.NAME` and `output.NAME`, in test files.
    pub tests: bool,
    /// The check block around.
    pub check: Option<&'a str>,
    /// Local variables around the expression: iterators of `dynamic` blocks.
    pub scoped: &'a [Str],
}

/// Resolves all names in an expression.
pub fn resolve(expr: &mut Expr, symbols: &dyn Symbols, allowed: Allowed, diags: &mut Diagnostics) {
    let scoped = allowed.scoped.to_vec();
    Resolver { symbols, allowed, scoped, diags }.expr(expr);
}

/// What is told of all that is wrong with the names of one expression, or of a body that is evaluated as a whole. Names that
/// only have no value here are noticed by evaluating, which is not tried where a reference to an object means nothing.
pub fn told(found: Diagnostics) -> Diagnostics {
    let malformed = |d: &Diagnostic| matches!(&*d.summary, "Invalid reference" | "Reserved symbol name");
    if found.iter().all(|d| has_no_value(d) || malformed(d)) {
        return found;
    }
    found.into_iter().filter(|d| !has_no_value(d)).collect()
}

/// Whether a problem is that a well-formed name has no value where it stands.
pub fn has_no_value(d: &Diagnostic) -> bool {
    const SUMMARIES: [&str; 9] = [
        "Reference to undeclared input variable",
        "Reference to undeclared local value",
        "Invalid \"path\" attribute",
        "Invalid \"terraform\" attribute",
        "Invalid \"count\" attribute",
        "Invalid \"each\" attribute",
        "Reference to \"count\" in non-counted context",
        "Reference to \"each\" in context without for_each",
        "each.value cannot be used in this context",
    ];
    SUMMARIES.contains(&&*d.summary)
}

/// Resolves one static reference, such as an entry of `depends_on`.
pub fn resolve_traversal(t: &mut Traversal, symbols: &dyn Symbols, allowed: Allowed, diags: &mut Diagnostics) {
    let scoped = allowed.scoped.to_vec();
    Resolver { symbols, allowed, scoped, diags }.traversal(t);
}

/// The resource that a traversal names, whether declared or not.
pub fn resource_ref(t: &Traversal) -> Option<ResourceRef> {
    let name = |i: usize| match t.steps.get(i).map(|s| &s.kind) {
        Some(StepKind::Attr(n)) => Some(n.clone()),
        _ => None,
    };
    let (mode, ty, name) = match &*t.root {
        "data" => (Mode::Data, name(0)?, name(1)?),
        "ephemeral" => (Mode::Ephemeral, name(0)?, name(1)?),
        "resource" => (Mode::Managed, name(0)?, name(1)?),
        "var" | "local" | "module" | "each" | "count" | "path" | "terraform" | "self" => return None,
        _ => (Mode::Managed, t.root.clone(), name(0)?),
    };
    Some(ResourceRef { mode, resource: Resource { mode, ty, name } })
}

struct Resolver<'a, 'd> {
    symbols: &'a dyn Symbols,
    allowed: Allowed<'a>,
    scoped: Vec<Str>,
    diags: &'d mut Diagnostics,
}

impl Resolver<'_, '_> {
    fn expr(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Literal(_) => {}
            ExprKind::Traversal(t) => self.traversal(t),
            _ => super::deep(|| self.compound(expr)),
        }
    }

    fn compound(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Literal(_) => {}
            ExprKind::Traversal(t) => self.traversal(t),
            ExprKind::Template(parts) => self.parts(parts),
            ExprKind::JsonTemplate(json) => match std::mem::replace(&mut json.template, Err(Diagnostics::new())) {
                Ok(template) => {
                    expr.kind = template.kind;
                    self.expr(expr);
                }
                Err(errors) => {
                    self.diags.extend(errors);
                    expr.kind = ExprKind::Literal(Value::unknown(Type::Dynamic));
                }
            },
            ExprKind::Relative(source, steps) => {
                self.expr(source);
                self.steps(steps);
            }
            ExprKind::Splat { source, rest, .. } => {
                self.expr(source);
                self.steps(rest);
            }
            ExprKind::Call(call) => self.call(call),
            ExprKind::Conditional(parts) => parts.iter_mut().for_each(|e| self.expr(e)),
            ExprKind::Unary(_, operand) => self.expr(operand),
            ExprKind::Binary(_, operands) => operands.iter_mut().for_each(|e| self.expr(e)),
            ExprKind::Tuple(items) => items.iter_mut().for_each(|e| self.expr(e)),
            ExprKind::Object(items) => items.iter_mut().for_each(|i| self.object_item(i)),
            ExprKind::For(f) => {
                self.expr(&mut f.collection);
                let outer = self.scoped.len();
                self.scoped.extend(f.key_var.iter().cloned().chain([f.value_var.clone()]));
                let inner = [f.key.as_mut(), Some(&mut f.value), f.condition.as_mut()];
                inner.into_iter().flatten().for_each(|e| self.expr(e));
                self.scoped.truncate(outer);
            }
            ExprKind::Paren(inner) => self.expr(inner),
        }
    }

    fn call(&mut self, call: &mut Call) {
        let values = call.values().len();
        call.args.iter_mut().take(values).for_each(|a| self.expr(a));
    }

    fn object_item(&mut self, item: &mut ObjectItem) {
        let before = self.diags.len();
        self.expr(&mut item.key);
        if matches!(item.key.kind, ExprKind::Traversal(_)) && self.diags.len() == before {
            self.diags.error(
                "Ambiguous attribute key",
                "A key with dots in it is written in quotes if it is a name, in parentheses if it is a reference.",
                item.key.range,
            );
        }
        self.expr(&mut item.value);
    }

    fn parts(&mut self, parts: &mut [TemplatePart]) {
        for part in parts {
            match part {
                TemplatePart::Text(_) => {}
                TemplatePart::Interpolation(e) => self.expr(e),
                TemplatePart::If { condition, then, otherwise, .. } => {
                    self.expr(condition);
                    self.parts(then);
                    self.parts(otherwise);
                }
                TemplatePart::For { key, value, collection, body, .. } => {
                    self.expr(collection);
                    let outer = self.scoped.len();
                    self.scoped.extend(key.iter().cloned().chain([value.clone()]));
                    self.parts(body);
                    self.scoped.truncate(outer);
                }
            }
        }
    }

    fn steps(&mut self, steps: &mut [Step]) {
        for step in steps {
            if let StepKind::Index(key) = &mut step.kind {
                self.expr(key);
            }
        }
    }

    fn traversal(&mut self, t: &mut Traversal) {
        if self.scoped.contains(&t.root) {
            t.target = Target::Scoped;
            t.consumed = 0;
        } else if let Some((target, consumed)) = self.target(t) {
            t.target = target;
            t.consumed = consumed;
        }
        self.steps(&mut t.steps);
    }

    fn error(&mut self, summary: &str, detail: impl Into<String>, at: Range) -> Option<(Target, u8)> {
        self.diags.error(summary, detail, at);
        None
    }

    /// What a name refers to and how many steps belong to it.
    fn target(&mut self, t: &Traversal) -> Option<(Target, u8)> {
        match &*t.root {
            "var" => {
                let (name, at) = self.attribute(t)?;
                match self.symbols.variable(name) {
                    Some(slot) => Some((Target::Variable(slot), 1)),
                    None => {
                        let hint = match nearest(name, self.symbols.names(Declared::Variables)) {
                            Some(n) => format!(" Did you mean \"{n}\"?"),
                            None => format!(" Declare it with a block: variable \"{name}\" {{}}."),
                        };
                        let detail =
                            format!("There is no input variable \"{name}\" in {}.{hint}", self.symbols.place());
                        self.error("Reference to undeclared input variable", detail, at)
                    }
                }
            }
            "local" => {
                let (name, at) = self.attribute(t)?;
                match self.symbols.local(name) {
                    Some(slot) => Some((Target::Local(slot), 1)),
                    None => {
                        let hint = did_you_mean(name, self.symbols.names(Declared::Locals));
                        let detail = format!("There is no local value \"{name}\" in {}.{hint}", self.symbols.place());
                        self.error("Reference to undeclared local value", detail, at)
                    }
                }
            }
            "module" => self.module(t),
            "path" => match self.attribute(t)? {
                ("module", _) => Some((Target::PathModule, 1)),
                ("root", _) => Some((Target::PathRoot, 1)),
                ("cwd", _) => Some((Target::PathCwd, 1)),
                (name, at) => {
                    let hint = did_you_mean(name, ["module", "root", "cwd"]);
                    let detail = format!("\"path\" has the attributes module, root and cwd, not \"{name}\".{hint}");
                    self.error("Invalid \"path\" attribute", detail, at)
                }
            },
            "terraform" => match self.attribute(t)? {
                ("workspace", _) => Some((Target::TerraformWorkspace, 1)),
                ("applying", _) => Some((Target::TerraformApplying, 1)),
                ("env", at) => {
                    let detail = "\"terraform.env\" was renamed: write terraform.workspace.";
                    self.error("Invalid \"terraform\" attribute", detail, at)
                }
                (name, at) => {
                    let detail = format!("\"terraform\" has the attributes workspace and applying, not \"{name}\".");
                    self.error("Invalid \"terraform\" attribute", detail, at)
                }
            },
            "count" => match self.attribute(t)? {
                ("index", _) if self.allowed.count => Some((Target::CountIndex, 1)),
                ("index", at) => self.error(
                    "Reference to \"count\" in non-counted context",
                    "\"count.index\" exists only in resource, data and module blocks that set \"count\".",
                    at,
                ),
                (name, at) => {
                    let detail = format!("\"count\" has the attribute index, not \"{name}\".");
                    self.error("Invalid \"count\" attribute", detail, at)
                }
            },
            "each" => self.each(t),
            "self" if self.allowed.self_object => Some((Target::SelfObject, 0)),
            "self" => self.error(
                "Invalid \"self\" reference",
                "\"self\" exists only in provisioner and connection blocks and in postconditions of resources.",
                t.root_range,
            ),
            "run" | "output" if self.allowed.tests => {
                let (name, _) = self.attribute(t)?;
                let name = Str::from(name);
                Some((if &*t.root == "run" { Target::Run(name) } else { Target::Output(name) }, 1))
            }
            "template" | "lazy" | "arg" => {
                let detail = format!(
                    "The name \"{0}\" is reserved in the language. If it is a resource type, write resource.{0}.",
                    t.root
                );
                self.error("Reserved symbol name", detail, t.root_range)
            }
            _ => self.resource(t),
        }
    }

    /// The attribute that names the object after a root such as `var`.
    fn attribute<'t>(&mut self, t: &'t Traversal) -> Option<(&'t str, Range)> {
        match t.steps.first() {
            Some(Step { kind: StepKind::Attr(name), range }) => Some((name, t.root_range.to(*range))),
            Some(step) => {
                let detail = format!("\"{0}\" is followed by a dot and a name, as in {0}.NAME.", t.root);
                self.diags.error("Invalid reference", detail, step.range);
                self.nameless(t, step.range);
                None
            }
            None => {
                let detail = format!("\"{0}\" alone has no value. A name must follow, as in {0}.NAME.", t.root);
                self.diags.error("Invalid reference", detail, t.root_range);
                self.nameless(t, t.root_range);
                None
            }
        }
    }

    /// What Terraform says in addition where the name after a root is missing.
    fn nameless(&mut self, t: &Traversal, at: Range) {
        let root = &*t.root;
        let summary = match root {
            "var" => "Reference to undeclared input variable".to_owned(),
            "local" => "Reference to undeclared local value".to_owned(),
            "path" | "terraform" | "count" | "each" => format!("Invalid \"{root}\" attribute"),
            _ => return,
        };
        let mut d = Diagnostic::error(summary, format!("The name after \"{root}\" is missing.")).at(at);
        d.kind = Kind::MissingName;
        self.diags.push(d);
    }

    fn each(&mut self, t: &Traversal) -> Option<(Target, u8)> {
        let (name, at) = self.attribute(t)?;
        let target = match name {
            "key" => Target::EachKey,
            "value" => Target::EachValue,
            name => {
                let detail = format!("\"each\" has the attributes key and value, not \"{name}\".");
                return self.error("Invalid \"each\" attribute", detail, at);
            }
        };
        if self.allowed.each {
            return Some((target, 1));
        }
        let summary = match target {
            Target::EachKey => "Reference to \"each\" in context without for_each",
            _ => "each.value cannot be used in this context",
        };
        let detail = "\"each\" exists only in resource, data and module blocks that set \"for_each\".";
        self.error(summary, detail, at)
    }

    fn module(&mut self, t: &Traversal) -> Option<(Target, u8)> {
        let (name, mut at) = self.attribute(t)?;
        if let Some(slot) = self.symbols.module_call(name) {
            return Some((Target::ModuleCall(slot), 1));
        }
        for step in t.steps.iter().skip(1).take(2) {
            at = at.to(step.range);
            if matches!(step.kind, StepKind::Attr(_)) {
                break;
            }
        }
        let hint = did_you_mean(name, self.symbols.names(Declared::ModuleCalls));
        let detail = format!("There is no module call \"{name}\" in {}.{hint}", self.symbols.place());
        self.error("Reference to undeclared module", detail, at)
    }

    fn resource(&mut self, t: &Traversal) -> Option<(Target, u8)> {
        let prefixed = matches!(&*t.root, "data" | "resource" | "ephemeral");
        let Some(ResourceRef { mode, resource }) = resource_ref(t) else {
            return self.no_resource(t, prefixed);
        };
        let consumed = if prefixed { 2 } else { 1 };
        let Some(slot) = self.symbols.resource(&resource) else {
            let named = t.steps.get(consumed).filter(|s| match &s.kind {
                StepKind::Index(key) => constant_key(key),
                kind => matches!(kind, StepKind::LegacyIndex(_)),
            });
            let last = named.or(t.steps.get(consumed - 1));
            let at = last.map_or(t.root_range, |s| t.root_range.to(s.range));
            return self.undeclared_resource(mode, &resource, at);
        };
        self.check_key(t, consumed, slot, &resource);
        if self.symbols.check_of(slot).is_some_and(|check| self.allowed.check != Some(check)) {
            let named = t.steps.get(consumed).filter(|s| matches!(&s.kind, StepKind::Index(key) if constant_key(key)));
            let last = named.or(t.steps.get(consumed - 1));
            let at = last.map_or(t.root_range, |s| t.root_range.to(s.range));
            let detail = format!("{resource} belongs to a check block and can be used only in it.");
            self.diags.error("Reference to scoped resource", detail, at);
        }
        Some((Target::Resource(slot), consumed as u8))
    }

    fn no_resource(&mut self, t: &Traversal, prefixed: bool) -> Option<(Target, u8)> {
        let wrong = t.steps.iter().take(2).enumerate().find(|(_, s)| !matches!(s.kind, StepKind::Attr(_)));
        let at = match wrong {
            Some((0, step)) if prefixed && t.steps.len() == 1 => t.root_range.to(step.range),
            Some((_, step)) => step.range,
            None => t.range(),
        };
        let detail = if prefixed {
            format!("\"{0}\" is followed by a type and a name, as in {0}.TYPE.NAME.", t.root)
        } else {
            format!("\"{0}\" is taken for a resource type, which is followed by a name, as in {0}.NAME.", t.root)
        };
        self.error("Invalid reference", detail, at)
    }

    fn undeclared_resource(&mut self, mode: Mode, wanted: &Resource, at: Range) -> Option<(Target, u8)> {
        let what = match mode {
            Mode::Managed => "resource",
            Mode::Data => "data source",
            Mode::Ephemeral => "ephemeral resource",
        };
        let resources = self.symbols.resources();
        let other_mode = resources.iter().find(|r| r.mode != mode && r.ty == wanted.ty && r.name == wanted.name);
        let written: Vec<String> = resources.iter().filter(|r| r.mode == mode).map(ToString::to_string).collect();
        let hint = match other_mode {
            Some(other) => format!(" Did you mean \"{other}\"?"),
            None => did_you_mean(&wanted.to_string(), written.iter().map(String::as_str)),
        };
        let place = self.symbols.place();
        let detail = format!("There is no {what} \"{}\" \"{}\" in {place}.{hint}", wanted.ty, wanted.name);
        self.error("Reference to undeclared resource", detail, at)
    }

    /// Whether a constant instance key, or the lack of one, fits the resource.
    fn check_key(&mut self, t: &Traversal, consumed: usize, slot: Slot, resource: &Resource) {
        let Some(step) = t.steps.get(consumed) else { return };
        let at = t.root_range.to(step.range);
        match (&step.kind, self.symbols.keys(slot)) {
            (StepKind::Attr(_), keys @ (Keys::Count | Keys::ForEach)) => {
                let at = t.steps.get(consumed - 1).map_or(t.root_range, |s| t.root_range.to(s.range));
                let (argument, key) =
                    if keys == Keys::Count { ("count", "count.index") } else { ("for_each", "each.key") };
                self.diags.error(
                    "Missing resource instance key",
                    format!(
                        "{resource} sets \"{argument}\", so an attribute belongs to one of its instances. Name the \
                         instance, for example {resource}[{key}] where both are repeated alike, or take the attribute of \
                         all with a splat or for expression."
                    ),
                    at,
                );
            }
            (StepKind::LegacyIndex(_), Keys::Single) => self.unexpected_key(resource, at),
            (StepKind::Index(key), Keys::Single) if constant_key(key) => self.unexpected_key(resource, at),
            _ => {}
        }
    }

    fn unexpected_key(&mut self, resource: &Resource, at: Range) {
        self.diags.error(
            "Unexpected resource instance key",
            format!("{resource} sets neither \"count\" nor \"for_each\": it has one instance, without a key. Remove the index."),
            at,
        );
    }
}

fn constant_key(key: &Expr) -> bool {
    matches!(&key.kind, ExprKind::Literal(v) if !matches!(v, Value::Unknown(_)))
}

#[cfg(test)]
mod tests;
