use super::*;
use crate::diag::FileId;
use crate::lang::parse::parse_expression;

/// A module with `var.v`, `local.l`, `module.m` and the resources t.one (single), t.many (count), data.d.x.
struct Fake {
    resources: Vec<Resource>,
}

impl Symbols for Fake {
    fn variable(&self, name: &str) -> Option<Slot> {
        (name == "v").then_some(7)
    }
    fn local(&self, name: &str) -> Option<Slot> {
        (name == "l").then_some(1)
    }
    fn module_call(&self, name: &str) -> Option<Slot> {
        (name == "m").then_some(2)
    }
    fn resource(&self, resource: &Resource) -> Option<Slot> {
        self.resources.iter().position(|r| r == resource).map(|i| i as Slot)
    }
    fn keys(&self, resource: Slot) -> Keys {
        if resource == 1 { Keys::Count } else { Keys::Single }
    }
    fn names(&self, kind: Declared) -> Vec<&str> {
        match kind {
            Declared::Variables => vec!["v"],
            Declared::Locals => vec!["l"],
            Declared::ModuleCalls => vec!["m"],
        }
    }
    fn resources(&self) -> Vec<&Resource> {
        self.resources.iter().collect()
    }
    fn place(&self) -> String {
        "the root module".into()
    }
}

fn check(text: &str, allowed: Allowed) -> (Vec<(Target, u8)>, Vec<String>) {
    let symbols = Fake {
        resources: vec![
            Resource::managed("t", "one"),
            Resource::managed("t", "many"),
            Resource { mode: Mode::Data, ty: "d".into(), name: "x".into() },
        ],
    };
    let mut expr = parse_expression(text, FileId(0), 0).expect("valid");
    let mut diags = Diagnostics::new();
    resolve(&mut expr, &symbols, allowed, &mut diags);
    let mut targets = Vec::new();
    expr.visit_traversals(&mut |t| targets.push((t.target.clone(), t.consumed)));
    let place = |d: &crate::diag::Diagnostic| d.subject.map(|r| &text[r.start as usize..r.end as usize]).unwrap_or("");
    (targets, diags.iter().map(|d| format!("{}: {}", place(d), d.summary)).collect())
}

#[test]
fn names_get_their_slots() {
    for (text, expected) in [
        ("var.v.x", (Target::Variable(7), 1)),
        ("local.l[0]", (Target::Local(1), 1)),
        ("module.m.out", (Target::ModuleCall(2), 1)),
        ("t.one.id", (Target::Resource(0), 1)),
        ("resource.t.one.id", (Target::Resource(0), 2)),
        ("t.many[0].id", (Target::Resource(1), 1)),
        ("data.d.x.y", (Target::Resource(2), 2)),
        ("path.module", (Target::PathModule, 1)),
        ("terraform.workspace", (Target::TerraformWorkspace, 1)),
    ] {
        assert_eq!(check(text, Allowed::default()), (vec![expected], vec![]), "{text}");
    }
    let everything = Allowed { count: true, each: true, self_object: true, ..Allowed::default() };
    assert_eq!(check("count.index", everything).0, [(Target::CountIndex, 1)]);
    assert_eq!(check("each.value.x", everything).0, [(Target::EachValue, 1)]);
    assert_eq!(check("self.id", everything).0, [(Target::SelfObject, 0)]);
}

#[test]
fn variables_of_loops_hide_everything_else() {
    assert_eq!(check("[for var in [1] : var.v]", Allowed::default()), (vec![], vec![]));
    assert_eq!(check("\"%{ for i, each in [1] }${each.foo}%{ endfor }\"", Allowed::default()).1, Vec::<String>::new());
    let iterator = [Str::from("setting")];
    let scoped = Allowed { scoped: &iterator, ..Allowed::default() };
    assert_eq!(check("setting.value", scoped), (vec![(Target::Scoped, 0)], vec![]));
}

/// Summaries and places as recorded from Terraform.
#[test]
fn what_cannot_be_referred_to() {
    for (text, expected) in [
        ("var.x", "var.x: Reference to undeclared input variable"),
        ("local.x", "local.x: Reference to undeclared local value"),
        ("module.x.y.z", "module.x.y: Reference to undeclared module"),
        ("data.x", "data.x: Invalid reference"),
        ("data.x[0]", "[0]: Invalid reference"),
        ("data.x.y.z", "data.x.y: Reference to undeclared resource"),
        ("t.zero.id", "t.zero: Reference to undeclared resource"),
        ("t[0].x", "[0]: Invalid reference"),
        ("foo", "foo: Invalid reference"),
        ("resource.t", "resource.t: Invalid reference"),
        ("each.key", "each.key: Reference to \"each\" in context without for_each"),
        ("each.value", "each.value: each.value cannot be used in this context"),
        ("each.foo", "each.foo: Invalid \"each\" attribute"),
        ("count.index", "count.index: Reference to \"count\" in non-counted context"),
        ("count.foo", "count.foo: Invalid \"count\" attribute"),
        ("self.x", "self: Invalid \"self\" reference"),
        ("path.foo", "path.foo: Invalid \"path\" attribute"),
        ("terraform.env", "terraform.env: Invalid \"terraform\" attribute"),
        ("template.foo", "template: Reserved symbol name"),
        ("lazy.foo", "lazy: Reserved symbol name"),
        ("t.many.id", "t.many: Missing resource instance key"),
        ("t.one[0].id", "t.one[0]: Unexpected resource instance key"),
        ("{ var.v = 1 }", "var.v: Ambiguous attribute key"),
        ("t.one.x[var.nope]", "var.nope: Reference to undeclared input variable"),
    ] {
        assert_eq!(check(text, Allowed::default()).1, [expected], "{text}");
    }
}

#[test]
fn a_missing_name_is_told_twice_as_tools_expect() {
    for (text, at, summary) in [
        ("var", "var", "Reference to undeclared input variable"),
        ("var[\"v\"]", "[\"v\"]", "Reference to undeclared input variable"),
        ("local", "local", "Reference to undeclared local value"),
        ("path", "path", "Invalid \"path\" attribute"),
    ] {
        let expected = [format!("{at}: Invalid reference"), format!("{at}: {summary}")];
        assert_eq!(check(text, Allowed::default()).1, expected, "{text}");
    }
}
