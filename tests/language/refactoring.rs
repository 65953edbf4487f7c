//! `moved`, `removed` and `import`.

use crate::harness::{add_files, apply, changes, demo_folder, folder, plan_problems, problems};

#[test]
fn moved_resource() {
    let work = folder("resource \"terraform_data\" \"a\" {}\n");
    apply(&work, &[]);
    add_files(
        &work,
        "resource \"terraform_data\" \"b\" {}\nmoved {\n  from = terraform_data.a\n  to   = terraform_data.b\n}\n",
    );
    assert_eq!(changes(&work, &[]), ["move terraform_data.b from terraform_data.a"]);
    assert_eq!(apply(&work, &[]), "Apply complete! Resources: 0 added, 0 changed, 0 destroyed.");
    assert_eq!(work.ok(&["state", "list"]), "terraform_data.b\n");
}

#[test]
fn moved_in_a_chain() {
    let work = folder("resource \"terraform_data\" \"a\" {}\n");
    apply(&work, &[]);
    add_files(
        &work,
        r#"
resource "terraform_data" "c" {
  for_each = toset(["k"])
}
moved {
  from = terraform_data.b
  to   = terraform_data.c["k"]
}
moved {
  from = terraform_data.a
  to   = terraform_data.b
}
"#,
    );
    assert_eq!(changes(&work, &[]), ["move terraform_data.c[\"k\"] from terraform_data.a"]);
}

#[test]
fn moved_into_a_module() {
    let work = folder("resource \"terraform_data\" \"a\" {}\n");
    apply(&work, &[]);
    add_files(
        &work,
        r#"
module "m" {
  source = "./m"
}
moved {
  from = terraform_data.a
  to   = module.m.terraform_data.inner
}
-- m/main.tf --
resource "terraform_data" "inner" {}
"#,
    );
    work.ok(&["get"]);
    assert_eq!(changes(&work, &[]), ["move module.m.terraform_data.inner from terraform_data.a"]);
}

#[test]
fn moved_module() {
    let module = "-- m/main.tf --\nresource \"terraform_data\" \"inner\" {}\n";
    let work = folder(&format!("module \"old\" {{\n  source = \"./m\"\n}}\n{module}"));
    apply(&work, &[]);
    work.write(
        "main.tf",
        "module \"new\" {\n  source = \"./m\"\n  count  = 1\n}\nmoved {\n  from = module.old\n  to   = module.new[0]\n}\n",
    );
    work.ok(&["get"]);
    assert_eq!(changes(&work, &[]), ["move module.new[0].terraform_data.inner from module.old.terraform_data.inner"]);
}

#[test]
fn moved_to_another_type_through_the_provider() {
    let Some(work) = demo_folder("resource \"demo_thing\" \"t\" {\n  name  = \"n\"\n  value = \"v\"\n}\n") else {
        return;
    };
    apply(&work, &[]);
    let before = work.ids();
    work.write(
        "main.tf",
        r#"
resource "demo_item" "i" {
  title = "n"
  value = "w"
}
moved {
  from = demo_thing.t
  to   = demo_item.i
}
"#,
    );
    assert_eq!(changes(&work, &[]), ["update demo_item.i from demo_thing.t"]);
    assert_eq!(apply(&work, &[]), "Apply complete! Resources: 0 added, 1 changed, 0 destroyed.");
    assert_eq!((work.ids(), work.ok(&["state", "list"]).trim()), (before, "demo_item.i"));
    assert!(changes(&work, &[]).is_empty());
}

#[test]
fn moved_to_another_type_that_refuses() {
    let Some(work) = demo_folder("resource \"terraform_data\" \"a\" {}\n") else { return };
    apply(&work, &[]);
    work.write(
        "main.tf",
        "resource \"demo_item\" \"i\" {\n  title = \"n\"\n}\nmoved {\n  from = terraform_data.a\n  to   = demo_item.i\n}\n",
    );
    assert_eq!(problems(&work, &["plan", "-json"]), ["error Unsupported move"]);
}

#[test]
fn moved_to_an_object_that_exists_is_a_warning() {
    let work = folder("resource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" {}\n");
    apply(&work, &[]);
    add_files(
        &work,
        "resource \"terraform_data\" \"b\" {}\nmoved {\n  from = terraform_data.a\n  to   = terraform_data.b\n}\n",
    );
    assert_eq!(problems(&work, &["plan", "-json"]), ["warning Unresolved resource instance address changes"]);
    assert_eq!(changes(&work, &[]), ["delete terraform_data.a (delete_because_no_resource_config)"]);
}

#[test]
fn moved_blocks_that_contradict() {
    let found = plan_problems(
        r#"
resource "terraform_data" "b" {}
moved {
  from = terraform_data.a
  to   = terraform_data.a
}
moved {
  from = terraform_data.b
  to   = terraform_data.c
}
moved {
  from = terraform_data.x
  to   = terraform_data.y
}
moved {
  from = terraform_data.x
  to   = terraform_data.z
}
"#,
    );
    assert_eq!(
        found,
        [
            "error main.tf:2,1-6 Redundant move statement",
            "error main.tf:6,1-6 Moved object still exists",
            "error main.tf:14,1-6 Ambiguous move statements",
        ]
    );
}

#[test]
fn count_added_to_a_resource_moves_its_object() {
    let work = folder("resource \"terraform_data\" \"a\" {}\n");
    apply(&work, &[]);
    work.write("main.tf", "resource \"terraform_data\" \"a\" {\n  count = 1\n}\n");
    assert_eq!(changes(&work, &[]), ["move terraform_data.a[0] from terraform_data.a"]);
}

#[test]
fn removed_forgets_without_destroying() {
    let work = folder(
        "resource \"terraform_data\" \"a\" {\n  provisioner \"local-exec\" {\n    when    = destroy\n    command = \"exit 1\"\n  }\n}\n",
    );
    apply(&work, &[]);
    work.write("main.tf", "removed {\n  from = terraform_data.a\n  lifecycle {\n    destroy = false\n  }\n}\n");
    let plan = work.ok(&["plan", "-no-color"]);
    assert!(plan.contains("# terraform_data.a will no longer be managed by"), "{plan}");
    assert_eq!(apply(&work, &[]), "Apply complete! Resources: 0 added, 0 changed, 0 destroyed.");
    assert_eq!(work.ok(&["state", "list"]), "");
}

/// As recorded from Terraform: also for instances and modules; one that fails stops its object alone, unless it may
/// fail; a tainted object has none.
#[test]
fn removed_provisioners() {
    let objects = r#"
resource "terraform_data" "count" {
  count = 2
  input = "c${count.index}"
}
resource "terraform_data" "each" {
  for_each = toset(["x"])
}
resource "terraform_data" "two" {}
resource "terraform_data" "fails" {}
resource "terraform_data" "tainted" {}
module "m" {
  source = "./m"
}
-- m/main.tf --
resource "terraform_data" "in" {
  input = "in"
}
"#;
    let work = folder(objects);
    apply(&work, &[]);
    work.ok(&["taint", "terraform_data.tainted"]);
    let removed = |from: &str, commands: &[&str]| {
        let one = |c: &&str| format!("  provisioner \"local-exec\" {{\n    when = destroy\n    {c} >> out\"\n  }}\n");
        format!("removed {{\n  from = {from}\n{}}}\n", commands.iter().map(one).collect::<String>())
    };
    let blocks = [
        removed("terraform_data.count", &["command = \"echo count ${count.index} ${self.input}"]),
        removed("terraform_data.each", &["command = \"echo each ${each.key}"]),
        removed(
            "terraform_data.two",
            &["on_failure = continue\n    command = \"echo two 1 >> out; exit 1", "command = \"echo two 2"],
        ),
        removed("terraform_data.fails", &["command = \"echo fails >> out; exit 1", "command = \"echo never"]),
        removed("terraform_data.tainted", &["command = \"echo never"]),
        removed("module.m.terraform_data.in", &["command = \"echo module ${self.input}"]),
    ];
    work.write("main.tf", &blocks.concat());
    let failed = problems(&work, &["apply", "-auto-approve", "-json"]);
    assert_eq!(failed, ["error main.tf:29,28-29 local-exec provisioner error"]);
    let mut out: Vec<String> = work.read("out").lines().map(str::to_owned).collect();
    let two: Vec<&String> = out.iter().filter(|l| l.starts_with("two")).collect();
    assert_eq!(two, ["two 1", "two 2"]);
    out.sort();
    assert_eq!(out, ["count 0 c0", "count 1 c1", "each x", "fails", "module in", "two 1", "two 2"]);
    assert_eq!(work.ok(&["state", "list"]), "terraform_data.fails\n");
}

/// Terraform finds such mistakes while it applies.
#[test]
fn removed_provisioners_are_checked_where_they_would_run() {
    let wrong = "removed {\n  from = terraform_data.a\n  provisioner \"local-exec\" {\n    when = destroy\n    comand = \"x\"\n  }\n}\n";
    assert_eq!(plan_problems(wrong), [""; 0]);
    let work = folder("resource \"terraform_data\" \"a\" {}\n");
    apply(&work, &[]);
    work.write("main.tf", wrong);
    assert_eq!(
        problems(&work, &["plan", "-json"]),
        ["error main.tf:3,28-29 Missing required argument", "error main.tf:5,5-11 Unsupported argument"]
    );
}

#[test]
fn removed_module() {
    let work = folder("module \"m\" {\n  source = \"./m\"\n}\n-- m/main.tf --\nresource \"terraform_data\" \"a\" {}\n");
    apply(&work, &[]);
    work.write("main.tf", "removed {\n  from = module.m\n  lifecycle {\n    destroy = false\n  }\n}\n");
    apply(&work, &[]);
    assert_eq!(work.ok(&["state", "list"]), "");
}

#[test]
fn removed_objects_must_not_be_declared() {
    let found = plan_problems("resource \"terraform_data\" \"a\" {}\nremoved {\n  from = terraform_data.a\n}\n");
    assert_eq!(found, ["error main.tf:1,1-30 Removed resource still exists"]);
}

#[test]
fn import_block() {
    let work = folder("import {\n  to = terraform_data.a\n  id = \"given\"\n}\nresource \"terraform_data\" \"a\" {}\n");
    assert_eq!(changes(&work, &[]), ["import terraform_data.a importing given"]);
    let applied = work.ok(&["apply", "-auto-approve", "-no-color"]);
    assert!(applied.contains("Apply complete! Resources: 1 imported, 0 added, 0 changed, 0 destroyed."), "{applied}");
    assert_eq!(changes(&work, &[]), [] as [&str; 0]);
}

#[test]
fn import_block_with_for_each() {
    let work = folder(
        r#"
locals {
  ids = { a = "one", b = "two" }
}
import {
  for_each = local.ids
  to       = terraform_data.x[each.key]
  id       = each.value
}
resource "terraform_data" "x" {
  for_each = local.ids
}
"#,
    );
    assert_eq!(
        changes(&work, &[]),
        ["import terraform_data.x[\"a\"] importing one", "import terraform_data.x[\"b\"] importing two"]
    );
}

#[test]
fn import_of_objects_of_a_provider() {
    let Some(work) = demo_folder("resource \"demo_thing\" \"t\" {\n  name  = \"n\"\n  value = \"v\"\n}\n") else {
        return;
    };
    apply(&work, &[]);
    let id = work.ok(&["state", "show", "-no-color", "demo_thing.t"]);
    let id = id.split('"').find(|part| part.starts_with("thing-")).unwrap().to_owned();
    work.ok(&["state", "rm", "demo_thing.t"]);
    let import = format!("import {{\n  to = demo_thing.t\n  id = \"{id}\"\n}}\n");
    work.write("import.tf", &import);
    assert_eq!(changes(&work, &[]), [format!("import demo_thing.t importing {id}")]);
    work.write("import.tf", &import.replace("thing-", "thing-nothing-"));
    assert_eq!(problems(&work, &["plan", "-json"]), ["error Cannot import non-existent remote object"]);
}

#[test]
fn import_needs_a_resource() {
    let found = plan_problems("import {\n  to = terraform_data.a\n  id = \"x\"\n}\n");
    assert_eq!(found, ["error main.tf:2,8-24 Configuration for import target does not exist"]);
}

#[test]
fn import_with_the_configuration_in_another_directory() {
    let work = folder("-- there/main.tf --\nresource \"terraform_data\" \"a\" {}\n");
    std::fs::remove_file(work.path("main.tf")).unwrap();
    let errors = work.fails(&["import", "-no-color", "terraform_data.a", "x"]);
    assert!(errors.contains("No configuration files") && errors.contains("-config=DIR"), "{errors}");
    work.ok(&["import", "-config=there", "terraform_data.a", "x"]);
    assert_eq!(work.ok(&["state", "list"]), "terraform_data.a\n");
}
