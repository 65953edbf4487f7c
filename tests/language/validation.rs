//! What is found without a plan, and where: names, arguments, blocks, types, duplicates, cycles, addresses, versions.

use crate::harness::{demo_folder, folder, plan_problems, problems, validated};

#[test]
fn undeclared_names_are_found_in_all_files() {
    let found = validated(
        r#"
output "a" {
  value = [var.nothing, local.nothing]
}
-- b.tf --
output "b" {
  value = terraform_data.nothing.id
}
output "c" {
  value = "${module.nothing.x} ${data.terraform_remote_state.nothing.outputs}"
}
"#,
    );
    assert_eq!(
        found,
        [
            "error b.tf:2,11-33 Reference to undeclared resource",
            "error b.tf:5,14-30 Reference to undeclared module",
            "error b.tf:5,34-69 Reference to undeclared resource",
            "error main.tf:2,12-23 Reference to undeclared input variable",
            "error main.tf:2,25-38 Reference to undeclared local value",
        ]
    );
}

#[test]
fn did_you_mean_another_name() {
    let work =
        folder("variable \"instance_type\" {\n  default = 1\n}\noutput \"o\" {\n  value = var.instance_tpye\n}\n");
    let errors = work.fails(&["validate", "-no-color"]);
    let words = errors.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.replace("│ ", "").contains("Did you mean \"instance_type\"?"), "{errors}");
}

#[test]
fn did_you_mean_another_argument() {
    let work = folder("resource \"terraform_data\" \"a\" {\n  inptu = 1\n}\n");
    let errors = work.fails(&["validate", "-no-color"]);
    assert!(errors.contains("Unsupported argument") && errors.contains("Did you mean \"input\"?"), "{errors}");
}

#[test]
fn unsupported_and_missing_arguments_and_blocks_of_a_provider() {
    let Some(work) = demo_folder(
        r#"
resource "demo_machine" "m" {
  name    = "m"
  size    = 1
  colour  = "red"
  address = null
  disk {}
  wheels {}
  labels {
    a = 1
  }
}
"#,
    ) else {
        return;
    };
    assert_eq!(
        problems(&work, &["validate", "-json"]),
        [
            "error main.tf:1,29-30 Missing required argument",
            "error main.tf:4,3-9 Unsupported argument",
            "error main.tf:6,8-9 Missing required argument",
            "error main.tf:7,3-9 Unsupported block type",
            "error main.tf:8,3-9 Unsupported block type",
        ]
    );
}

#[test]
fn arguments_of_a_wrong_type() {
    let Some(work) = demo_folder(
        "resource \"demo_machine\" \"m\" {\n  name   = [\"m\"]\n  zone   = \"north\"\n  size   = \"big\"\n  labels = \"a\"\n}\n",
    ) else {
        return;
    };
    assert_eq!(
        problems(&work, &["validate", "-json"]),
        [
            "error main.tf:2,12-17 Incorrect attribute value type",
            "error main.tf:4,12-17 Incorrect attribute value type",
            "error main.tf:5,12-15 Incorrect attribute value type",
        ]
    );
}

#[test]
fn attributes_that_do_not_exist() {
    let found = validated(
        r#"
resource "terraform_data" "a" {}
resource "terraform_data" "list" {
  count = 1
}
output "a" {
  value = terraform_data.a.idd
}
output "b" {
  value = terraform_data.list.id
}
"#,
    );
    assert_eq!(
        found,
        ["error main.tf:6,27-31 Unsupported attribute", "error main.tf:9,11-30 Missing resource instance key"]
    );
}

#[test]
fn parts_of_attributes_that_no_value_has() {
    let found = validated(
        r#"
variable "key" {}
resource "terraform_data" "one" {}
resource "terraform_data" "list" {
  count = 1
}
resource "terraform_data" "map" {
  for_each = toset(["a"])
}
output "a" {
  value = [terraform_data.one.id.x, terraform_data.list[0].id[0], terraform_data.map["a"].id.x]
}
output "b" {
  value = try(terraform_data.list[0].id.x, terraform_data.list.0.id.x)
}
output "not_fixed" {
  value = [terraform_data.one.output.x[0], terraform_data.list[*].id.x, terraform_data.map[var.key].id.x, [for t in terraform_data.map : t.id.x]]
}
"#,
    );
    assert_eq!(
        found,
        [
            "error main.tf:10,33-35 Unsupported attribute",
            "error main.tf:10,62-65 Invalid index",
            "error main.tf:10,93-95 Unsupported attribute",
            "error main.tf:13,40-42 Unsupported attribute",
            "error main.tf:13,68-70 Unsupported attribute",
        ]
    );
}

#[test]
fn attributes_of_modules_that_do_not_exist() {
    let found = validated(
        "module \"m\" {\n  source = \"./m\"\n}\noutput \"o\" {\n  value = module.m.nothing\n}\n-- m/main.tf --\n",
    );
    assert_eq!(found, ["error main.tf:5,19-27 Unsupported attribute"]);
}

#[test]
fn module_arguments_unsupported_and_missing() {
    let found = validated(
        r#"
module "m" {
  source = "./m"
  other  = 1
}
-- m/main.tf --
variable "needed" {}
"#,
    );
    assert_eq!(found, ["error main.tf:1,12-13 Missing required argument", "error main.tf:3,3-8 Unsupported argument",]);
}

#[test]
fn duplicate_declarations() {
    let found = validated(
        r#"
variable "v" {}
variable "v" {}
output "o" {
  value = 1
}
output "o" {
  value = 2
}
resource "terraform_data" "a" {}
resource "terraform_data" "a" {}
-- b.tf --
resource "terraform_data" "a" {}
"#,
    );
    assert_eq!(
        found,
        [
            "error main.tf:2,1-13 Duplicate variable declaration",
            "error main.tf:6,1-11 Duplicate output definition",
            "error main.tf:9,1-30 Duplicate resource \"terraform_data\" configuration",
            "error main.tf:10,1-30 Duplicate resource \"terraform_data\" configuration",
        ]
    );
}

#[test]
fn duplicate_arguments() {
    assert_eq!(validated("locals {\n  a = 1\n  a = 2\n}\n"), ["error main.tf:3,3-4 Attribute redefined"]);
}

#[test]
fn duplicate_provider_configurations() {
    let found = validated("provider \"terraform\" {}\nprovider \"terraform\" {}\n");
    assert_eq!(found, ["error main.tf:2,1-21 Duplicate provider configuration"]);
}

#[test]
fn cycles_are_reported_with_their_members() {
    let work = folder("locals {\n  a = local.b\n  b = local.a\n}\n");
    let errors = work.fails(&["validate", "-no-color"]);
    assert!(errors.contains("Cycle") && errors.contains("local.a") && errors.contains("local.b"), "{errors}");
}

#[test]
fn what_refers_to_itself_hides_no_other_mistake() {
    let files = "locals {\n  a = local.a\n  b = nope\n}\n";
    assert_eq!(
        validated(files),
        ["error main.tf:2,7-14 Self-referencing local value", "error main.tf:3,7-11 Invalid reference"]
    );
    let files = "resource \"terraform_data\" \"r\" {\n  count = length(terraform_data.r[0].id)\n}\n";
    assert_eq!(plan_problems(files), ["error main.tf:2,18-40 Self-referential block"]);
}

#[test]
fn cycles_through_modules() {
    let found = validated(
        r#"
module "a" {
  source = "./m"
  v      = module.b.v
}
module "b" {
  source = "./m"
  v      = module.a.v
}
-- m/main.tf --
variable "v" {}
output "v" {
  value = var.v
}
"#,
    );
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("error Cycle: "), "{found:?}");
}

#[test]
fn self_is_for_provisioners_and_postconditions() {
    let found = validated("resource \"terraform_data\" \"a\" {\n  input = self.id\n}\n");
    assert_eq!(found, ["error main.tf:2,11-15 Invalid \"self\" reference"]);
}

#[test]
fn count_and_each_are_for_blocks_that_repeat() {
    let found = validated(
        "output \"o\" {\n  value = [count.index, each.key]\n}\nresource \"terraform_data\" \"a\" {\n  input = each.value\n}\n",
    );
    assert_eq!(
        found,
        [
            "error main.tf:2,12-23 Reference to \"count\" in non-counted context",
            "error main.tf:2,25-33 Reference to \"each\" in context without for_each",
            "error main.tf:5,11-21 each.value cannot be used in this context",
        ]
    );
}

#[test]
fn invalid_addresses_in_blocks() {
    let found = validated(
        r#"
moved {
  from = terraform_data.a.b.c
  to   = terraform_data
}
removed {
  from = terraform_data.a[0]
}
resource "terraform_data" "x" {
  provider   = "a.b.c"
}
"#,
    );
    assert!(found.len() >= 4, "{found:?}");
    for line in ["main.tf:2,", "main.tf:3,", "main.tf:6,", "main.tf:9,"] {
        assert!(found.iter().any(|f| f.contains(line)), "{line}: {found:?}");
    }
}

#[test]
fn invalid_addresses_on_the_command_line() {
    let work = folder("resource \"terraform_data\" \"a\" {}\n");
    for option in
        ["-target=terraform_data", "-replace=terraform_data.a.b", "-target=module.", "-replace=terraform_data.a[x]"]
    {
        let errors = work.fails(&["plan", "-no-color", option]);
        assert!(errors.to_lowercase().contains("invalid "), "{option}: {errors}");
    }
}

#[test]
fn invalid_names() {
    let found =
        validated("variable \"1a\" {}\noutput \"a b\" {\n  value = 1\n}\nresource \"terraform_data\" \"x.y\" {}\n");
    assert_eq!(
        found,
        [
            "error main.tf:1,10-14 Invalid variable name",
            "error main.tf:2,8-13 Invalid output name",
            "error main.tf:5,27-32 Invalid resource name"
        ]
    );
}

#[test]
fn reserved_variable_names() {
    assert_eq!(validated("variable \"count\" {}\n"), ["error main.tf:1,10-17 Invalid variable name"]);
}

#[test]
fn required_version() {
    assert!(validated("terraform {\n  required_version = \">= 1.5, < 2.0, != 1.6.0\"\n}\n").is_empty());
    let found = problems(&folder("terraform {\n  required_version = \"~> 0.12.0\"\n}\n"), &["plan", "-json"]);
    assert_eq!(found, ["error main.tf:2,3-33 Unsupported Terraform Core version"]);
    assert_eq!(
        validated("terraform {\n  required_version = \"latest\"\n}\n"),
        ["error main.tf:2,22-30 Invalid version constraint"]
    );
}

#[test]
fn required_provider_versions() {
    let found = validated(
        "terraform {\n  required_providers {\n    a = { source = \"x/y\", version = \"one\" }\n    b = { source = \"x/y/z/w\" }\n  }\n}\n",
    );
    assert_eq!(
        found,
        ["error main.tf:3,37-42 Invalid version constraint", "error main.tf:4,20-29 Invalid provider source string"]
    );
}

#[test]
fn syntax_errors_of_all_files() {
    let work = folder("output \"a\" {\n  value = 1 +\n}\n-- b.tf --\nlocals {\n  a = [1, 2\n}\n");
    let found = problems(&work, &["validate", "-json"]);
    assert_eq!(found, ["error b.tf:3,1-2 Missing item separator", "error main.tf:2,14-3,1 Invalid expression"]);
}

#[test]
fn blocks_and_arguments_that_the_language_does_not_have() {
    let found = validated("resorce \"a\" \"b\" {}\nx = 1\nresource \"a\" {}\nvariable \"v\" {\n  typ = string\n}\n");
    assert_eq!(
        found,
        [
            "error main.tf:1,1-8 Unsupported block type",
            "error main.tf:2,1-2 Unsupported argument",
            "error main.tf:3,14-15 Missing name for resource",
            "error main.tf:5,3-6 Unsupported argument",
        ]
    );
}

#[test]
fn resource_types_that_a_provider_does_not_have() {
    let found = validated("resource \"terraform_dat\" \"a\" {}\n");
    assert_eq!(found, ["error main.tf:1,10-25 Invalid resource type"]);
}

#[test]
fn a_module_is_valid_for_any_values_of_its_variables() {
    let files = r#"
module "m" {
  source = "./m"
  name   = "x"
}
-- m/main.tf --
variable "name" {}
variable "settings" {
  type    = object({ label = string })
  default = null
}
resource "terraform_data" "optional" {
  count = var.settings == null ? 0 : 1
  input = "${var.settings.label}-${tonumber(var.name)}"
}
"#;
    assert!(validated(files).is_empty());
    folder(files).ok(&["plan"]);
}

#[test]
fn rules_of_a_variable_see_the_value_that_a_module_is_given() {
    let found = validated(
        r#"
module "m" {
  source = "./m"
  size   = 3
  list   = "x"
}
-- m/main.tf --
variable "size" {
  validation {
    condition     = var.size > 5
    error_message = "Too small."
  }
}
variable "other" {
  default = "b"
  validation {
    condition     = var.other == "b" && var.size == 4
    error_message = "Wrong."
  }
}
variable "list" {
  type = list(string)
}
"#,
    );
    assert_eq!(
        found,
        ["error main.tf:3,12-13 Invalid value for variable", "error main.tf:4,12-15 Invalid value for input variable"]
    );
}

#[test]
fn depends_on_of_a_resource_on_itself() {
    let with = |reference: &str| {
        validated(&format!("resource \"terraform_data\" \"a\" {{\n  depends_on = [terraform_data.a{reference}]\n}}\n"))
    };
    assert_eq!(with(""), [""; 0]);
    assert_eq!(with(".id"), ["error main.tf:2,33-36 Invalid depends_on reference"]);
}

#[test]
fn providers_of_a_module_that_do_not_exist_are_told_once() {
    let found = validated(
        "module \"m\" {\n  source    = \"./m\"\n  providers = { terraform.x = terraform.y }\n}\n-- m/main.tf --\n\
         resource \"terraform_data\" \"a\" {\n  provider = terraform.x\n}\n",
    );
    let errors: Vec<_> = found.iter().filter(|d| d.starts_with("error")).collect();
    assert_eq!(errors, ["error missing provider provider[\"terraform.io/builtin/terraform\"].y"]);
}

/// Terraform's validation takes the key of every module instance for unknown; only its plan knows that there is none.
#[test]
fn each_and_count_in_the_arguments_of_a_single_module_are_errors_of_the_plan() {
    let work = folder(
        r#"
module "a" {
  source = "./m"
  x      = each.key
}
module "b" {
  source = "./m"
  x      = count.index
}
module "c" {
  source = "./m"
  x      = each.value
}
-- m/main.tf --
variable "x" {}
"#,
    );
    assert_eq!(problems(&work, &["validate", "-json"]), [""; 0]);
    assert_eq!(
        problems(&work, &["plan", "-json"]),
        [
            "error main.tf:3,12-20 Reference to \"each\" in context without for_each",
            "error main.tf:7,12-23 Reference to \"count\" in non-counted context",
            "error main.tf:11,12-22 each.value cannot be used in this context",
        ]
    );
}

#[test]
fn bodies_are_checked_beside_a_wrong_count_and_in_modules_without_instances() {
    let found = validated(
        r#"
resource "terraform_data" "a" {
  for_each = 5
  input    = 1 + "a"
}
module "m" {
  source = "./m"
  count  = 0
}
-- m/main.tf --
resource "terraform_data" "b" {
  count = "x"
  input = 1 + "a"
}
"#,
    );
    assert_eq!(
        found,
        [
            "error m/main.tf:2,11-14 Incorrect value type",
            "error m/main.tf:3,15-18 Invalid operand",
            "error main.tf:2,14-15 Invalid for_each argument",
            "error main.tf:3,18-21 Invalid operand",
        ]
    );
}

#[test]
fn provider_blocks_that_nothing_uses_are_not_looked_at() {
    let unused = "provider \"terraform\" {\n  foo = var.nope\n}\n";
    assert_eq!(validated(unused), [""; 0]);
    let used = format!("{unused}resource \"terraform_data\" \"a\" {{}}\n");
    assert_eq!(validated(&used), ["error main.tf:2,3-6 Unsupported argument"]);
}

#[test]
fn a_connection_of_a_resource_with_a_destroy_provisioner_refers_to_nothing_else() {
    let found = validated(
        r#"
resource "terraform_data" "a" {}
resource "terraform_data" "b" {
  connection {
    host = terraform_data.a.id
  }
  provisioner "local-exec" {
    command = "true"
    when    = destroy
  }
}
"#,
    );
    assert_eq!(found, ["error main.tf:4,12-31 Invalid reference from destroy provisioner"]);
}

#[test]
fn two_imports_of_one_instance_name_its_resource() {
    let import = "import {\n  to = terraform_data.a[0]\n  id = \"x\"\n}\n";
    let found = validated(&format!("resource \"terraform_data\" \"a\" {{\n  count = 1\n}}\n{import}{import}"));
    assert_eq!(found, ["error main.tf:9,8-27 Duplicate import configuration for \"terraform_data.a\""]);
}

#[test]
fn names_without_a_value_are_told_where_the_objects_referred_to_exist() {
    // A body or expression is evaluated only where the objects that it refers to are there.
    let found = validated(
        r#"
resource "terraform_data" "b" {}
resource "terraform_data" "a" {
  input            = var.nope
  triggers_replace = terraform_data.nope.id
}
output "o" {
  value = [var.nope, each.key, terraform_data.b.nope]
}
locals {
  a = [local.nope, module.nope]
  b = var.nope
}
"#,
    );
    let expected = [
        "error main.tf:4,22-41 Reference to undeclared resource",
        "error main.tf:7,48-53 Unsupported attribute",
        "error main.tf:10,20-31 Reference to undeclared module",
        "error main.tf:11,7-15 Reference to undeclared input variable",
    ];
    assert_eq!(found, expected);
}

#[test]
fn functions_of_providers_need_a_written_requirement() {
    let found = validated(
        "resource \"terraform_data\" \"a\" {}\noutput \"o\" {\n  value = provider::terraform::encode_expr(1)\n}\n",
    );
    assert_eq!(found, ["error main.tf:3,11-43 Unknown provider function"]);
}

#[test]
fn contents_of_blocks_that_cannot_be_made_are_not_looked_at() {
    let Some(work) = demo_folder(
        r#"
resource "demo_server" "s" {
  name = demo_thing.nope.id
  dynamic "root" {
    for_each = var.nope
    content {
      size = var.nope2
    }
  }
}
"#,
    ) else {
        return;
    };
    let expected = [
        "error main.tf:2,10-25 Reference to undeclared resource",
        "error main.tf:4,16-24 Reference to undeclared input variable",
    ];
    assert_eq!(problems(&work, &["validate", "-json"]), expected);
}

#[test]
fn contents_of_blocks_that_are_not_known_are_not_evaluated() {
    let Some(work) = demo_folder(
        r#"
variable "u" {
  type = list(string)
}
resource "demo_server" "s" {
  name = "s"
  dynamic "root" {
    for_each = var.u
    content {
      size = [1]
    }
  }
}
"#,
    ) else {
        return;
    };
    assert_eq!(problems(&work, &["validate", "-json"]), [""; 0]);
}
