//! Plans as JSON (`show -json FILE`).

use super::configuration::configuration;
use super::schema::write_providers;
use super::state::{InModule, checks, identity, write_modules, write_state};
use super::write::{Members, array, object, string};
use super::{FORMAT, PLAN_FORMAT, value};
use crate::addr::{ModuleInstance, Provider};
use crate::cli::project::TERRAFORM_VERSION;
use crate::config::model::Config;
use crate::engine::plan::{Action, OutputChange, Plan, PlanMode, ResourceChange};
use crate::engine::schemas::Schemas;
use gpuform_schema::json::write_type;
use gpuform_schema::schema::ProviderSchema;
use gpuform_schema::{Path, Step, Str, Type, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A plan with the configuration that it was made for.
pub fn plan(plan: &Plan, config: &Config, schemas: &Schemas) -> String {
    let mut out = String::with_capacity(plan.changes.len() * 2048);
    object(&mut out, |m| {
        m.string("format_version", PLAN_FORMAT);
        m.string("terraform_version", TERRAFORM_VERSION);
        variables(m, plan, config);
        planned_values(m.key("planned_values"), plan);
        let drift = drift(plan);
        if !drift.is_empty() {
            m.array("resource_drift", drift, resource_change);
        }
        if !plan.changes.is_empty() {
            m.array("resource_changes", &plan.changes, |c, out| resource_change(c, out));
        }
        if !plan.outputs.is_empty() {
            m.object("output_changes", |m| {
                plan.outputs.iter().for_each(|(name, o)| m.object(name, |m| output_change(m, o)));
            });
        }
        let outputs = plan.known_outputs();
        if plan.prior_state.has_resources() || !outputs.is_empty() {
            let mut state = plan.prior_state.clone();
            state.terraform_version = TERRAFORM_VERSION.to_owned();
            write_state(&state, &outputs, false, schemas, m.key("prior_state"));
        }
        configuration(config, schemas, m.key("configuration"));
        relevant(m, plan);
        if !plan.checks.is_empty() {
            checks(m, &plan.checks);
        }
        m.string("timestamp", &plan.timestamp);
        m.bool("applyable", plan.applyable());
        m.bool("complete", plan.complete);
        m.bool("errored", plan.errored);
    });
    out
}

/// A plan as the verbose messages of `test` have it, with the schemas of the providers.
pub fn test_plan(plan: &Plan, providers: &BTreeMap<Provider, Arc<ProviderSchema>>) -> String {
    let mut out = String::new();
    object(&mut out, |m| {
        m.string("plan_format_version", PLAN_FORMAT);
        if !plan.outputs.is_empty() {
            m.object("output_changes", |m| {
                plan.outputs.iter().for_each(|(name, o)| m.object(name, |m| output_change(m, o)));
            });
        }
        if !plan.changes.is_empty() {
            m.array("resource_changes", &plan.changes, |c, out| resource_change(c, out));
        }
        let drift = drift(plan);
        if !drift.is_empty() {
            m.array("resource_drift", drift, resource_change);
        }
        relevant(m, plan);
        m.string("provider_format_version", FORMAT);
        write_providers(m, providers);
    });
    out
}

fn relevant(m: &mut Members<'_>, plan: &Plan) {
    if !plan.relevant_attributes.is_empty() {
        m.array("relevant_attributes", &plan.relevant_attributes, |r, out| {
            object(out, |m| {
                m.string("resource", &r.resource);
                path(&r.path, m.key("attribute"));
            });
        });
    }
}

/// The changes made outside that documents list. What is about to be destroyed is not compared.
pub fn drift(plan: &Plan) -> Vec<&ResourceChange> {
    let listed = |d: &&ResourceChange| plan.mode != PlanMode::Destroy && (d.action != Action::NoOp || d.is_moved());
    plan.drift.iter().filter(listed).collect()
}

/// The values of the root variables: given ones, and defaults.
fn variables(m: &mut Members<'_>, plan: &Plan, config: &Config) {
    let declared = &config.root.module.variables;
    let values: BTreeMap<&Str, &Value> = declared
        .iter()
        .filter_map(|(name, v)| Some((name, plan.variables.get(name).or(v.default.as_ref())?)))
        .collect();
    if values.is_empty() {
        return;
    }
    m.object("variables", |m| {
        for (name, v) in values {
            m.object(name, |m| value::known(v, m.key("value")));
        }
    });
}

impl InModule for &ResourceChange {
    fn module(&self) -> &ModuleInstance {
        &self.addr.module
    }
}

fn planned_values(out: &mut String, plan: &Plan) {
    object(out, |m| {
        let outputs: Vec<(&Str, &OutputChange)> =
            plan.outputs.iter().filter(|(_, o)| o.action != Action::Delete).collect();
        if !outputs.is_empty() {
            m.object("outputs", |m| {
                for (name, o) in outputs {
                    m.object(name, |m| {
                        m.bool("sensitive", o.sensitive);
                        let (after, _) = o.after.unmark();
                        if after.is_wholly_known() {
                            // As in a plan file of Terraform, a null has no type.
                            let ty = if after.is_null() { Type::Dynamic } else { after.ty() };
                            write_type(&ty, m.key("type"));
                            value::known(after, m.key("value"));
                        }
                    });
                }
            });
        }
        let mut planned: Vec<&ResourceChange> =
            plan.changes.iter().map(|c| &**c).filter(|c| c.action != Action::Delete && c.deposed.is_none()).collect();
        // Within a module: by the address as text, whichever mode, and [10] before [1].
        planned.sort_by_cached_key(|c| (c.addr.module.clone(), c.addr.to_string()));
        write_modules(m.key("root_module"), &planned, &mut |c, out| planned_value(c, out));
    });
}

fn planned_value(c: &ResourceChange, out: &mut String) {
    object(out, |m| {
        m.display("address", &c.addr);
        identity(m, &c.addr.resource, &c.addr.key);
        m.display("provider_name", &c.provider.provider);
        m.number("schema_version", c.schema.version);
        let known = |v: &Value| v.entries().is_some_and(|mut all| all.any(|(_, v)| v.unmark().0.is_known()));
        if known(c.after.unmark().0) {
            value::known(&c.after, m.key("values"));
        }
        value::sensitive(&c.after, m.key("sensitive_values"));
    });
}

fn resource_change(c: &ResourceChange, out: &mut String) {
    object(out, |m| {
        m.display("address", &c.addr);
        if c.is_moved() {
            m.display("previous_address", &c.prev_addr);
        }
        if !c.addr.module.is_root() {
            m.display("module_address", &c.addr.module);
        }
        identity(m, &c.addr.resource, &c.addr.key);
        m.display("provider_name", &c.provider.provider);
        if let Some(key) = c.deposed {
            m.display("deposed", key);
        }
        m.object("change", |m| change(m, c));
        if let Some(reason) = c.reason.as_str() {
            m.string("action_reason", reason);
        }
    });
}

fn change(m: &mut Members<'_>, c: &ResourceChange) {
    actions(m, c.action);
    value::known(&c.before, m.key("before"));
    value::known(&c.after, m.key("after"));
    if c.after.is_wholly_known() {
        m.key("after_unknown").push_str("{}");
    } else {
        value::unknown(&c.after, m.key("after_unknown"));
    }
    value::sensitive(&c.before, m.key("before_sensitive"));
    value::sensitive(&c.after, m.key("after_sensitive"));
    if !c.required_replace.is_empty() {
        m.array("replace_paths", &c.required_replace, path);
    }
    if let Some(importing) = &c.importing {
        m.object("importing", |m| m.string("id", &importing.id));
    }
    if let Some(config) = &c.generated_config {
        m.string("generated_config", config);
    }
}

fn output_change(m: &mut Members<'_>, o: &OutputChange) {
    actions(m, o.action);
    value::known(&o.before, m.key("before"));
    let (after, _) = o.after.unmark();
    if after.is_known() {
        value::known(after, m.key("after"));
    }
    if after.is_wholly_known() {
        m.bool("after_unknown", false);
    } else {
        value::unknown(after, m.key("after_unknown"));
    }
    m.bool("before_sensitive", o.sensitive);
    m.bool("after_sensitive", o.sensitive);
}

fn actions(m: &mut Members<'_>, action: Action) {
    let words: &[&str] = match action {
        Action::NoOp => &["no-op"],
        Action::Create => &["create"],
        Action::Read => &["read"],
        Action::Update => &["update"],
        Action::DeleteThenCreate => &["delete", "create"],
        Action::CreateThenDelete => &["create", "delete"],
        Action::Delete => &["delete"],
        Action::Forget => &["forget"],
    };
    m.array("actions", words, |w, out| string(out, w));
}

/// Appends a path as a list of names and positions.
fn path(p: &Path, out: &mut String) {
    array(out, &p.0, |step, out| match step {
        Step::Attr(name) | Step::Key(name) => string(out, name),
        Step::Index(i) => out.push_str(&i.to_string()),
        Step::Element(v) => value::known(v, out),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::{AbsProviderConfig, Module};
    use crate::config::model::ModuleNode;
    use crate::diag::{Diagnostics, Sources};
    use crate::engine::plan::ActionReason;
    use crate::state::State;
    use gpuform_schema::{Marks, Type};

    fn replacement() -> ResourceChange {
        let addr: crate::addr::ResourceInstance = "module.m.t_x.a[\"k\"]".parse().unwrap();
        ResourceChange {
            prev_addr: "t_x.a".parse().unwrap(),
            addr,
            deposed: None,
            provider: AbsProviderConfig {
                module: Module::root(),
                provider: Provider::implied("t"),
                alias: None,
                key: crate::addr::InstanceKey::None,
            },
            action: Action::CreateThenDelete,
            reason: ActionReason::ReplaceBecauseCannotUpdate,
            before: Value::object([("id", Value::from("1")), ("zone", Value::from("a"))]),
            after: Value::object([
                ("id", Value::unknown(Type::String)),
                ("zone", Value::from("b").with_marks(Marks::SENSITIVE)),
            ]),
            required_replace: vec![Path::attrs(["zone"]).index(0)],
            planned_private: Vec::new(),
            importing: None,
            generated_config: None,
            schema: Arc::default(),
            dependencies: Arc::default(),
            create_before_destroy: true,
        }
    }

    #[test]
    fn a_replacement_shows_both_sides_and_what_forces_it() {
        let mut out = String::new();
        resource_change(&replacement(), &mut out);
        let expected = [
            r#"{"address":"module.m.t_x.a[\"k\"]","previous_address":"t_x.a","module_address":"module.m","#,
            r#""mode":"managed","type":"t_x","name":"a","index":"k","#,
            r#""provider_name":"registry.terraform.io/hashicorp/t","change":{"actions":["create","delete"],"#,
            r#""before":{"id":"1","zone":"a"},"after":{"zone":"b"},"after_unknown":{"id":true},"#,
            r#""before_sensitive":{},"after_sensitive":{"zone":true},"replace_paths":[["zone",0]]},"#,
            r#""action_reason":"replace_because_cannot_update"}"#,
        ]
        .concat();
        assert_eq!(out, expected);
    }

    /// A plan with the given changes and nothing else.
    fn holding(changes: Vec<Arc<ResourceChange>>) -> Plan {
        Plan {
            mode: PlanMode::Normal,
            variables: BTreeMap::new(),
            changes,
            drift: Vec::new(),
            generated: Vec::new(),
            outputs: BTreeMap::new(),
            prior_state: State::default(),
            previous_state: State::default(),
            checks: Vec::new(),
            relevant_attributes: Vec::new(),
            targets: Vec::new(),
            excludes: Vec::new(),
            force_replace: Vec::new(),
            timestamp: String::new(),
            errored: false,
            complete: true,
            providers: Vec::new(),
            prepared: None,
        }
    }

    #[test]
    fn planned_values_follow_the_text_of_the_address() {
        let changes = ["a_x.a[2]", "data.a_x.a", "a_x.a[10]", "module.m.a_x.b", "u_x.a"].map(|address| {
            let mut change = replacement();
            change.addr = address.parse().unwrap();
            Arc::new(change)
        });
        let mut out = String::new();
        planned_values(&mut out, &holding(changes.to_vec()));
        let addresses: Vec<&str> =
            out.split(r#"{"address":""#).skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(addresses, ["a_x.a[10]", "a_x.a[2]", "data.a_x.a", "u_x.a", "module.m.a_x.b"]);
    }

    #[test]
    fn ten_thousand_changes_are_quick_to_write() {
        let root = ModuleNode {
            addr: Module::root(),
            module: Arc::default(),
            children: Vec::new(),
            providers: BTreeMap::new(),
            provider_keys: BTreeMap::new(),
            source: None,
        };
        let config =
            Config { root: Arc::new(root), sources: Sources::default(), reference_problems: Diagnostics::new() };
        let p = holding(vec![replacement().into(); 10_000]);
        let started = std::time::Instant::now();
        let text = plan(&p, &config, &Schemas::default());
        assert!(text.len() > 6_000_000 && text.ends_with(r#""complete":true,"errored":false}"#));
        // A debug build on a busy machine; optimized it takes some milliseconds.
        assert!(started.elapsed() < std::time::Duration::from_secs(10), "{:?}", started.elapsed());
    }
}
