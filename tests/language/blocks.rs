//! Blocks: resources, data sources, modules, providers, checks, provisioners, ephemeral things, `dynamic`.

use crate::harness::{apply, changes, demo_folder, folder, output_of, outputs, problems, shows, validated};
use serde_json::json;

#[test]
fn resource_count() {
    let work = folder(
        r#"
resource "terraform_data" "a" {
  count = 2
  input = "n${count.index}"
}
output "all" {
  value = [length(terraform_data.a), terraform_data.a[1].output, terraform_data.a[*].input]
}
"#,
    );
    assert_eq!(outputs(&work), json!({ "all": [2, "n1", ["n0", "n1"]] }));
    assert_eq!(work.ok(&["state", "list"]), "terraform_data.a[0]\nterraform_data.a[1]\n");
}

#[test]
fn resource_for_each() {
    let work = folder(
        r#"
resource "terraform_data" "map" {
  for_each = { a = 1, b = 2 }
  input    = "${each.key}${each.value}"
}
resource "terraform_data" "set" {
  for_each = toset(["x"])
  input    = each.key == each.value
}
output "all" {
  value = [terraform_data.map["b"].output, keys(terraform_data.map), terraform_data.set["x"].output]
}
"#,
    );
    assert_eq!(outputs(&work), json!({ "all": ["b2", ["a", "b"], true] }));
}

#[test]
fn resource_count_and_for_each_refuse_what_they_cannot_use() {
    let plan = |argument: &str| {
        let work = folder(&format!("resource \"terraform_data\" \"a\" {{\n  {argument}\n}}\n"));
        problems(&work, &["plan", "-json"])
    };
    assert_eq!(plan("count = -1"), ["error main.tf:2,11-13 Invalid count argument"]);
    assert_eq!(plan("count = null"), ["error main.tf:2,11-15 Invalid count argument"]);
    assert_eq!(plan("for_each = [\"a\"]"), ["error main.tf:2,14-19 Invalid for_each argument"]);
    assert_eq!(plan("for_each = toset([sensitive(\"a\")])"), ["error main.tf:2,14-37 Invalid for_each argument"]);
    assert_eq!(
        plan("for_each = { a = 1 }\n  count = 1"),
        ["error main.tf:2,3-11 Invalid combination of \"count\" and \"for_each\""]
    );
}

#[test]
fn resource_depends_on() {
    let work = folder(
        r#"
resource "terraform_data" "second" {
  depends_on = [terraform_data.first]
  provisioner "local-exec" {
    command = "cat file"
  }
}
resource "terraform_data" "first" {
  provisioner "local-exec" {
    command = "sleep 0.2; echo 1 > file"
  }
}
"#,
    );
    assert_eq!(apply(&work, &[]), "Apply complete! Resources: 2 added, 0 changed, 0 destroyed.");
}

#[test]
fn data_sources_of_a_provider() {
    let Some(work) = demo_folder(
        r#"
resource "demo_thing" "t" {
  name  = "box"
  value = "full"
}
data "demo_thing" "found" {
  name       = "box"
  depends_on = [demo_thing.t]
}
output "value" {
  value = data.demo_thing.found.value
}
"#,
    ) else {
        return;
    };
    assert_eq!(outputs(&work), json!({ "value": "full" }));
}

#[test]
fn module_inputs_and_outputs() {
    let value = output_of(
        r#"
module "m" {
  source = "./modules/m"
  name   = "x"
}
output "o" {
  value = module.m.greeting
}
-- modules/m/main.tf --
variable "name" {
  type = string
}
module "inner" {
  source = "../inner"
}
output "greeting" {
  value = "${module.inner.word} ${var.name} from ${basename(path.module)}"
}
-- modules/inner/main.tf --
output "word" {
  value = "hello"
}
"#,
    );
    assert_eq!(value, "hello x from m");
}

const COUNTED: &str = r#"
-- m/main.tf --
variable "n" {}
resource "terraform_data" "a" {
  input = var.n
}
output "n" {
  value = terraform_data.a.output
}
"#;

#[test]
fn module_count() {
    let module = r#"
module "m" {
  source = "./m"
  count  = 2
  n      = count.index
}
output "o" {
  value = module.m[*].n
}
"#;
    let work = folder(&format!("{module}{COUNTED}"));
    assert_eq!(outputs(&work), json!({ "o": [0, 1] }));
    assert_eq!(work.ok(&["state", "list"]), "module.m[0].terraform_data.a\nmodule.m[1].terraform_data.a\n");
}

#[test]
fn module_for_each() {
    let module = r#"
module "m" {
  source   = "./m"
  for_each = { a = 1, b = 2 }
  n        = each.value
}
output "o" {
  value = { for k, m in module.m : k => m.n }
}
"#;
    let work = folder(&format!("{module}{COUNTED}"));
    assert_eq!(outputs(&work), json!({ "o": { "a": 1, "b": 2 } }));
    assert_eq!(work.ok(&["state", "list"]), "module.m[\"a\"].terraform_data.a\nmodule.m[\"b\"].terraform_data.a\n");
}

#[test]
fn module_depends_on() {
    let work = folder(
        r#"
resource "terraform_data" "first" {
  provisioner "local-exec" {
    command = "sleep 0.2; echo 1 > file"
  }
}
module "m" {
  source     = "./m"
  depends_on = [terraform_data.first]
}
-- m/main.tf --
resource "terraform_data" "second" {
  provisioner "local-exec" {
    command = "cat file"
  }
}
"#,
    );
    assert_eq!(apply(&work, &[]), "Apply complete! Resources: 2 added, 0 changed, 0 destroyed.");
}

#[test]
fn provider_aliases() {
    let Some(work) = demo_folder(
        r#"
provider "demo" {
  default_labels = { from = "default" }
}
provider "demo" {
  alias          = "other"
  default_labels = { from = "other" }
}
resource "demo_machine" "m" {
  for_each = toset(["m"])
  provider = demo.other
  name     = "m"
  zone     = "north"
  size     = 1
}
output "labels" {
  value = demo_machine.m["m"].labels_all
}
"#,
    ) else {
        return;
    };
    assert_eq!(outputs(&work), json!({ "labels": { "from": "other" } }));
}

#[test]
fn module_providers_and_configuration_aliases() {
    let Some(work) = demo_folder(
        r#"
provider "demo" {
  alias          = "west"
  default_labels = { from = "west" }
}
module "m" {
  source    = "./m"
  providers = { demo.inner = demo.west }
}
output "labels" {
  value = module.m.labels
}
-- m/main.tf --
terraform {
  required_providers {
    demo = {
      source                = "gpuform/demo"
      configuration_aliases = [demo.inner]
    }
  }
}
resource "demo_machine" "m" {
  provider = demo.inner
  name     = "m"
  zone     = "north"
  size     = 1
}
output "labels" {
  value = demo_machine.m.labels_all
}
"#,
    ) else {
        return;
    };
    assert_eq!(outputs(&work), json!({ "labels": { "from": "west" } }));
    work.write("main.tf", "module \"m\" {\n  source = \"./m\"\n}\n");
    assert_eq!(
        problems(&work, &["validate", "-json"]),
        ["error main.tf:1,1-11 Missing required provider configuration"]
    );
}

#[test]
fn check_with_a_failing_assertion_is_a_warning() {
    let work = folder(
        r#"
variable "health" {
  default = "ill"
}
check "health" {
  assert {
    condition     = var.health == "well"
    error_message = "It is ${var.health}."
  }
}
"#,
    );
    assert_eq!(problems(&work, &["plan", "-json"]), ["warning main.tf:6,21-41 Check block assertion failed"]);
    assert_eq!(apply(&work, &[]), "Apply complete! Resources: 0 added, 0 changed, 0 destroyed.");
    let state: serde_json::Value = serde_json::from_str(&work.read("terraform.tfstate")).unwrap();
    assert_eq!(state["check_results"][0]["status"], "fail");
}

#[test]
fn check_with_scoped_data() {
    let work = folder(
        r#"
check "remote" {
  data "terraform_remote_state" "other" {
    backend = "local"
    config  = { path = "missing.tfstate" }
  }
  assert {
    condition     = data.terraform_remote_state.other.outputs.a == 1
    error_message = "It is not 1."
  }
}
"#,
    );
    // That the data cannot be read is a warning too, and nothing more.
    let found = problems(&work, &["plan", "-json"]);
    assert!(!found.is_empty() && found.iter().all(|p| p.starts_with("warning ")), "{found:?}");
    work.write("missing.tfstate", r#"{ "version": 4, "outputs": { "a": { "value": 1, "type": "number" } } }"#);
    assert!(problems(&work, &["plan", "-json"]).is_empty());
}

#[test]
fn provisioner_local_exec() {
    let work = folder(
        r#"
resource "terraform_data" "a" {
  input = "x"
  provisioner "local-exec" {
    command     = "echo \"$WORD ${self.input}\" > ../made; pwd"
    working_dir = "sub"
    environment = { WORD = "hi" }
    interpreter = ["/bin/sh", "-c"]
  }
  provisioner "local-exec" {
    command    = "exit 3"
    on_failure = continue
  }
  provisioner "local-exec" {
    when    = destroy
    command = "echo '${self.output} is gone' > made"
  }
}
-- sub/empty --
"#,
    );
    assert_eq!(apply(&work, &[]), "Apply complete! Resources: 1 added, 0 changed, 0 destroyed.");
    assert_eq!(work.read("made"), "hi x\n");
    work.ok(&["destroy", "-auto-approve"]);
    assert_eq!(work.read("made"), "x is gone\n");
}

#[test]
fn provisioner_that_fails_taints_the_resource() {
    let work = folder(
        r#"
resource "terraform_data" "a" {
  provisioner "local-exec" {
    command = "test -e allowed"
  }
}
"#,
    );
    let errors = work.fails(&["apply", "-auto-approve", "-no-color"]);
    assert!(errors.contains("local-exec provisioner error"), "{errors}");
    assert_eq!(changes(&work, &[]), ["replace terraform_data.a (tainted)"]);
    work.write("allowed", "");
    assert_eq!(apply(&work, &[]), "Apply complete! Resources: 1 added, 0 changed, 1 destroyed.");
}

#[test]
fn dynamic_blocks() {
    let Some(work) = demo_folder(
        r#"
resource "demo_machine" "m" {
  name = "m"
  zone = "north"
  size = 1
  dynamic "disk" {
    for_each = { a = 10, b = 20 }
    content {
      size = disk.value
      type = disk.key == "a" ? "ssd" : "hdd"
    }
  }
  disk {
    size = 30
  }
}
output "disks" {
  value = [for d in demo_machine.m.disk : "${d.size}${d.type}"]
}
"#,
    ) else {
        return;
    };
    assert_eq!(outputs(&work), json!({ "disks": ["10ssd", "20hdd", "30ssd"] }));
}

#[test]
fn dynamic_blocks_with_an_iterator() {
    let Some(work) = demo_folder(
        r#"
resource "demo_machine" "m" {
  name = "m"
  zone = "north"
  size = 1
  dynamic "rule" {
    for_each = toset(["80", "443"])
    iterator = port
    content {
      port = port.value
    }
  }
}
output "ports" {
  value = sort([for r in demo_machine.m.rule : "${r.port}/${r.protocol}"])
}
"#,
    ) else {
        return;
    };
    assert_eq!(outputs(&work), json!({ "ports": ["443/tcp", "80/tcp"] }));
}

#[test]
fn dynamic_blocks_over_values_not_known_yet() {
    let Some(work) = demo_folder(
        r#"
resource "terraform_data" "sizes" {
  input = [1, 2]
}
resource "demo_machine" "m" {
  name = "m"
  zone = "north"
  size = 1
  dynamic "disk" {
    for_each = terraform_data.sizes.output
    content {
      size = disk.value
    }
  }
}
output "disks" {
  value = demo_machine.m.disk[*].size
}
"#,
    ) else {
        return;
    };
    assert_eq!(outputs(&work), json!({ "disks": [1, 2] }));
}

#[test]
fn dynamic_blocks_refuse_labels_for_blocks_without() {
    let Some(work) = demo_folder(
        r#"
resource "demo_machine" "m" {
  name = "m"
  zone = "north"
  size = 1
  dynamic "disk" {
    for_each = [1]
    labels   = ["a"]
    content {
      size = 1
    }
  }
  dynamic "nothing" {
    for_each = [1]
    content {}
  }
}
"#,
    ) else {
        return;
    };
    assert_eq!(
        problems(&work, &["validate", "-json"]),
        ["error main.tf:7,5-11 Unsupported argument", "error main.tf:12,11-20 Unsupported block type"]
    );
}

#[test]
fn terraform_data_replaces_by_triggers() {
    let work = folder(
        r#"
variable "v" {
  default = 1
}
resource "terraform_data" "a" {
  input            = "same"
  triggers_replace = { v = var.v }
}
"#,
    );
    apply(&work, &[]);
    assert_eq!(changes(&work, &["-var=v=2"]), ["replace terraform_data.a (cannot_update)"]);
    let plan = work.ok(&["plan", "-no-color", "-var=v=2"]);
    shows(&plan, "# terraform_data.a must be replaced\n~ triggers_replace = {\n~ v = 1 -> \"2\"");
}

#[test]
fn terraform_remote_state_reads_outputs() {
    let work = folder(
        r#"
data "terraform_remote_state" "other" {
  backend  = "local"
  config   = { path = "other.tfstate" }
  defaults = { b = "default" }
}
output "o" {
  value = data.terraform_remote_state.other.outputs
}
-- other.tfstate --
{ "version": 4, "serial": 1, "lineage": "x", "outputs": { "a": { "value": [1], "type": ["list", "number"] } } }
"#,
    );
    assert_eq!(outputs(&work), json!({ "o": { "a": [1], "b": "default" } }));
}

#[test]
fn write_only_arguments_are_not_stored() {
    let Some(work) = demo_folder(
        r#"
resource "demo_machine" "m" {
  name        = "m"
  zone        = "north"
  size        = 1
  key         = "hunter2"
  key_version = 1
}
output "key" {
  value = demo_machine.m.key == null
}
"#,
    ) else {
        return;
    };
    let plan = work.ok(&["plan", "-no-color", "-out=p"]);
    assert!(!plan.contains("hunter2"), "{plan}");
    work.ok(&["apply", "p"]);
    assert!(!work.read("terraform.tfstate").contains("hunter2"));
    assert_eq!(work.ok(&["output", "-raw", "key"]), "true");
}

#[test]
fn write_only_arguments_take_ephemeral_values() {
    let Some(work) = demo_folder(
        r#"
variable "key" {
  ephemeral = true
}
resource "demo_machine" "m" {
  name        = "m"
  zone        = "north"
  size        = 1
  key         = var.key
  key_version = 1
}
"#,
    ) else {
        return;
    };
    work.ok(&["apply", "-auto-approve", "-var=key=12345"]);
    let stored = std::fs::read_dir(work.path("store")).unwrap().flatten().find(|e| e.path().is_file()).unwrap();
    assert!(std::fs::read_to_string(stored.path()).unwrap().contains("\"key_length\": 5"));
}

#[test]
fn locals_refuse_duplicates() {
    let found = validated("locals {\n  a = 1\n}\nlocals {\n  a = 2\n}\n");
    assert_eq!(found, ["error main.tf:5,3-8 Duplicate local value definition"]);
}
