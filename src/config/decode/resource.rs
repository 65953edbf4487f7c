//! `resource`, `data` and `ephemeral` blocks: their meta-arguments. The rest of the body stays as it is, for the
//! provider's schema to decode.

use super::{Cx, label};
use crate::addr::{Mode, Resource};
use crate::config::imports::implied_provider;
use crate::config::model::{Lifecycle, Provisioner, Repetition, ResourceBlock};
use crate::lang::body::{BodySchema, Content};
use crate::lang::resolve::resource_ref;
use crate::lang::static_expr;
use crate::lang::syntax::{Attribute, Block, Body, Expr, ExprKind, StepKind, Traversal};
use gpuform_schema::{Str, Value};
use std::sync::LazyLock;

static META: LazyLock<BodySchema> = LazyLock::new(|| {
    BodySchema::new()
        .optional(["count", "for_each", "provider", "depends_on"])
        .block("lifecycle", &[])
        .block("locals", &[])
        .block("_", &[])
});
static MANAGED: LazyLock<BodySchema> =
    LazyLock::new(|| META.clone().block("connection", &[]).block("provisioner", &["type"]));
static LIFECYCLE: LazyLock<BodySchema> = LazyLock::new(|| {
    BodySchema::new()
        .optional(MANAGED_ONLY)
        .optional(["enabled"])
        .block("precondition", &[])
        .block("postcondition", &[])
});
static PROVISIONER: LazyLock<BodySchema> = LazyLock::new(|| {
    BodySchema::new().optional(["when", "on_failure"]).block("connection", &[]).block("lifecycle", &[])
});

/// Lifecycle arguments that only objects with a life have.
const MANAGED_ONLY: [&str; 4] = ["create_before_destroy", "prevent_destroy", "ignore_changes", "replace_triggered_by"];

impl Cx<'_> {
    pub fn resource(&mut self, block: Block, mode: Mode) -> ResourceBlock {
        let (ty, name) = (label(&block, 0), label(&block, 1));
        let (type_summary, name_summary) = match mode {
            Mode::Managed => ("Invalid resource type name", "Invalid resource name"),
            Mode::Data => ("Invalid data source name", "Invalid data resource name"),
            Mode::Ephemeral => ("Invalid ephemeral resource type", "Invalid ephemeral resource name"),
        };
        self.check_name(&ty, type_summary);
        self.check_name(&name, name_summary);
        let type_range = ty.range;
        let addr = Resource { mode, ty: ty.text, name: name.text };
        let header_range = block.header_range;
        let schema = if mode == Mode::Managed { &MANAGED } else { &META };
        let (mut content, rest) = self.partial(block.body, schema);
        let written = content.take("provider");
        let provider_range = written.as_ref().map(|a| a.expr.range);
        let written = written.and_then(|a| self.provider_instance(a.expr, "provider"));
        let (provider, provider_key) = written.unwrap_or_else(|| (implied_provider(&addr.ty), None));
        let blocks = std::mem::take(&mut content.blocks);
        let depends_on = content.take("depends_on").map(|a| self.depends_on(a)).unwrap_or_default();
        let mut resource = ResourceBlock {
            addr,
            range: header_range,
            header_range,
            type_range,
            repetition: self.repetition(&mut content),
            body: rest,
            provider,
            provider_range,
            provider_key,
            depends_on,
            lifecycle: Lifecycle::default(),
            provisioners: Vec::new(),
            connection: None,
            check: None,
            generated: false,
        };
        self.resource_blocks(&mut resource, blocks);
        resource
    }

    /// `count` or `for_each`.
    pub fn repetition(&mut self, content: &mut Content) -> Repetition {
        let (count, for_each) = (content.take("count"), content.take("for_each"));
        self.check_repetition(count.as_ref(), for_each.as_ref());
        match (count, for_each) {
            (Some(count), _) => Repetition::Count(count.expr),
            (None, Some(for_each)) => Repetition::ForEach(for_each.expr),
            (None, None) => Repetition::Single,
        }
    }

    /// OpenTofu's `enabled`, of a block that is not repeated otherwise.
    pub fn enabled(&mut self, repetition: &mut Repetition, a: Attribute) {
        let other = match repetition {
            Repetition::Count(_) => "count",
            Repetition::ForEach(_) => "for_each",
            Repetition::Single | Repetition::Enabled(_) => {
                *repetition = Repetition::Enabled(a.expr);
                return;
            }
        };
        self.error(
            format!("Invalid combination of \"enabled\" and \"{other}\""),
            format!("\"enabled\" is for a block with one instance at most; with \"{other}\" that decides already."),
            a.name_range,
        );
    }

    fn resource_blocks(&mut self, resource: &mut ResourceBlock, blocks: Vec<Block>) {
        let (mut lifecycle, mut connection, mut escape) = (None, None, None);
        for block in blocks {
            let range = block.header_range;
            match &*block.ty {
                "lifecycle" => match lifecycle.replace(range) {
                    None => self.lifecycle(resource, block),
                    Some(first) => {
                        lifecycle = Some(first);
                        self.duplicate_block("lifecycle", "resource", range);
                    }
                },
                "connection" => match connection.replace(range) {
                    None => resource.connection = Some(block.body),
                    Some(first) => {
                        connection = Some(first);
                        self.duplicate_block("connection", "resource", range);
                    }
                },
                "provisioner" => resource.provisioners.extend(self.provisioner(block)),
                "_" if escape.replace(range).is_none() => {
                    let body = std::mem::replace(&mut resource.body, Body::empty(range));
                    resource.body = body.overridden_by(block.body);
                }
                "_" => self.error(
                    "Duplicate escaping block",
                    "The block \"_\", for arguments that would be taken for meta-arguments, can stand only once.",
                    range,
                ),
                ty => {
                    let detail = format!("Blocks of type \"{ty}\" have no meaning here; the name is reserved.");
                    self.error("Reserved block type name in resource block", detail, block.ty_range);
                }
            }
        }
        if let Some(connection) = &resource.connection
            && resource.provisioners.iter().any(|p| p.when_destroy)
        {
            self.only_self_references(connection);
        }
    }

    fn duplicate_block(&mut self, ty: &str, of: &str, at: crate::diag::Range) {
        self.error(format!("Duplicate {ty} block"), format!("This {of} has a {ty} block already."), at);
    }

    fn lifecycle(&mut self, resource: &mut ResourceBlock, block: Block) {
        let mode = resource.mode();
        let mut content = self.content(block.body, &LIFECYCLE);
        if mode != Mode::Managed {
            let kind = if mode == Mode::Data { "data" } else { "ephemeral" };
            for name in MANAGED_ONLY {
                if let Some(a) = content.take(name) {
                    self.error(
                        format!("Invalid {kind} resource lifecycle argument"),
                        format!("\"{name}\" has a meaning for managed resources (\"resource\" blocks) only."),
                        a.name_range,
                    );
                }
            }
        }
        if let Some(a) = content.take("enabled") {
            self.enabled(&mut resource.repetition, a);
        }
        let l = &mut resource.lifecycle;
        if let Some(a) = content.take("create_before_destroy") {
            l.create_before_destroy = self.bool(&a);
        }
        if let Some(a) = content.take("prevent_destroy") {
            l.prevent_destroy = self.bool(&a).unwrap_or(false);
            l.prevent_destroy_range = Some(a.range);
        }
        if let Some(a) = content.take("ignore_changes") {
            (l.ignore_all_changes, l.ignore_changes) = self.ignore_changes(a);
        }
        if let Some(a) = content.take("replace_triggered_by") {
            l.replace_triggered_by = self.replace_triggered_by(a);
        }
        for block in content.blocks {
            let pre = &*block.ty == "precondition";
            let kind = if pre { "precondition" } else { "postcondition" };
            let Some(condition) = self.condition(block, kind) else { continue };
            for expr in [&condition.condition, &condition.error_message] {
                self.check_no_self_reference(expr, &resource.addr, kind);
            }
            let list = if pre { &mut resource.lifecycle.preconditions } else { &mut resource.lifecycle.postconditions };
            list.push(condition);
        }
    }

    /// A resource's own conditions see it as `self` at most.
    fn check_no_self_reference(&mut self, expr: &Expr, addr: &Resource, kind: &str) {
        let mut own = 0;
        expr.visit_traversals(&mut |t| own += usize::from(resource_ref(t).is_some_and(|r| r.resource == *addr)));
        for _ in 0..own {
            let hint = if kind == "postcondition" { " Write \"self\" for the object itself." } else { "" };
            self.error(
                format!("Invalid reference in {kind}"),
                format!("{addr} cannot be referred to in its own configuration.{hint}"),
                expr.range,
            );
        }
    }

    /// `all`, or paths relative to the resource.
    fn ignore_changes(&mut self, a: Attribute) -> (bool, Vec<Traversal>) {
        let json = self.is_json(a.range);
        if static_expr::keyword(&a.expr, json) == Some("all") {
            return (true, Vec::new());
        }
        let range = a.expr.range;
        let (mut paths, mut star) = (Vec::new(), None);
        for item in static_expr::list(a.expr, self.diags).unwrap_or_default() {
            if matches!(&item.kind, ExprKind::Literal(Value::String(s)) if &**s == "*") {
                let detail = "To ignore changes of all attributes write ignore_changes = all.";
                self.error("Invalid ignore_changes wildcard", detail, range);
                star = Some(static_expr::start_range(&item, json));
                continue;
            }
            paths.extend(self.reference(item));
        }
        if let Some(at) = star.filter(|_| !paths.is_empty()) {
            self.error(
                "Invalid ignore_changes ruleset",
                "Either all changes are ignored, or those that are listed.",
                at,
            );
        }
        (false, paths)
    }

    /// Expressions that name one resource each.
    fn replace_triggered_by(&mut self, a: Attribute) -> Vec<Expr> {
        let json = self.is_json(a.range);
        let mut found = Vec::new();
        for item in static_expr::list(a.expr, self.diags).unwrap_or_default() {
            let range = item.range;
            let Some(expr) = static_expr::unquote_json(item, json, self.diags) else { continue };
            let (mut resources, mut other) = (0, false);
            expr.visit_traversals(&mut |t| {
                let second = t.steps.first().map(|s| &s.kind);
                let named = |n: &str| matches!(second, Some(StepKind::Attr(a)) if &**a == n);
                match resource_ref(t) {
                    Some(r) if r.mode != Mode::Ephemeral => resources += 1,
                    None if (&*t.root == "count" && named("index")) || (&*t.root == "each" && named("key")) => {}
                    _ => other = true,
                }
            });
            if other {
                self.error(
                    "Invalid reference in replace_triggered_by expression",
                    "Only resources and their attributes can trigger a replacement; count.index and each.key can choose \
                     the instance.",
                    range,
                );
            }
            let problem = match resources {
                0 => Some("The expression refers to no resource whose changes could trigger a replacement."),
                1 => None,
                _ => Some("The expression refers to more than one resource; list them one by one."),
            };
            if let Some(problem) = problem {
                self.error("Invalid replace_triggered_by expression", problem, range);
            }
            if other || problem.is_some() {
                break;
            }
            found.push(expr);
        }
        found
    }

    pub fn provisioner(&mut self, block: Block) -> Option<Provisioner> {
        let ty = label(&block, 0);
        let range = block.header_range;
        if matches!(&*ty.text, "chef" | "habitat" | "puppet" | "salt-masterless") {
            self.error(
                format!("The \"{}\" provisioner has been removed", ty.text),
                "It is no part of the language any more. Images that are built beforehand, or user data, do this better.",
                ty.range,
            );
            return None;
        }
        let (mut content, body) = self.partial(block.body, &PROVISIONER);
        let when_destroy =
            content.take("when").and_then(|a| self.keyword(&a, &["create", "destroy"])) == Some("destroy");
        let on_failure = content.take("on_failure").and_then(|a| self.keyword(&a, &["continue", "fail"]));
        let mut connection: Option<Body> = None;
        for block in content.blocks {
            match &*block.ty {
                "connection" if connection.is_none() => connection = Some(block.body),
                "connection" => self.duplicate_block("connection", "provisioner", block.header_range),
                ty => {
                    let detail = format!("Blocks of type \"{ty}\" have no meaning here; the name is reserved.");
                    self.error("Reserved block type name in provisioner block", detail, block.ty_range);
                }
            }
        }
        if when_destroy {
            self.only_self_references(&body);
            if let Some(connection) = &connection {
                self.only_self_references(connection);
            }
        }
        Some(Provisioner {
            ty: ty.text,
            range,
            body,
            connection,
            when_destroy,
            on_failure_continue: on_failure == Some("continue"),
        })
    }

    /// When an object is destroyed, nothing else may be needed any more.
    pub fn only_self_references(&mut self, body: &Body) {
        let mut quiet = crate::diag::Diagnostics::new();
        for a in body.clone().just_attributes(&mut quiet) {
            let mut foreign = 0;
            a.expr.visit_traversals(&mut |t| {
                let second = t.steps.first().map(|s| &s.kind);
                let named = |n: &str| matches!(second, Some(StepKind::Attr(a)) if &**a == n);
                let own = match &*t.root {
                    "self" => true,
                    "count" => named("index"),
                    "each" => named("key"),
                    "path" | "terraform" => true,
                    _ => false,
                };
                foreign += usize::from(!own);
            });
            for _ in 0..foreign {
                self.error(
                    "Invalid reference from destroy provisioner",
                    "What runs when an object is destroyed can refer only to the object itself (self), count.index and \
                     each.key: other objects may be gone by then, or would have to wait for this one.",
                    a.expr.range,
                );
            }
        }
    }
}

/// The label of a resource as it is written in a header, for messages: `terraform_data`.
pub(in crate::config) fn kind_name(mode: Mode, ty: &Str) -> String {
    match mode {
        Mode::Managed => format!("resource \"{ty}\""),
        Mode::Data => format!("data \"{ty}\""),
        Mode::Ephemeral => format!("ephemeral \"{ty}\""),
    }
}
