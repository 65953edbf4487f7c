//! Provider configurations with `for_each`, which OpenTofu adds: one instance for each key, chosen by resources and
//! module calls, and named in the state.

use crate::harness::{Work, apply, changes, demo_folder, problems};
use serde_json::Value;

/// Two stores by their key, for as many machines as asked for.
const REGIONS: &str = r#"
variable "regions" {
  type    = set(string)
  default = ["eu", "us"]
}
variable "machines" {
  type    = set(string)
  default = ["eu", "us"]
}
provider "demo" {
  alias    = "by_region"
  for_each = var.regions
  store    = "store-${each.value}"
}
resource "demo_thing" "a" {
  for_each = var.machines
  provider = demo.by_region[each.key]
  name     = each.key
}
"#;

const ONE: &str = "-var=machines=[\"eu\"]";

fn stored(work: &Work, store: &str) -> usize {
    let is_object = |name: &str| name.starts_with("thing-");
    let entries = std::fs::read_dir(work.path(store)).into_iter().flatten().flatten();
    entries.filter(|e| is_object(&e.file_name().to_string_lossy())).count()
}

#[test]
fn provider_for_each_configures_an_instance_for_each_key() {
    let Some(work) = demo_folder(REGIONS) else { return };
    assert_eq!(apply(&work, &[]), "Apply complete! Resources: 2 added, 0 changed, 0 destroyed.");
    assert_eq!((stored(&work, "store-eu"), stored(&work, "store-us")), (1, 1));
    assert_eq!(changes(&work, &[]), [""; 0]);
    assert_eq!(changes(&work, &[ONE]), ["delete demo_thing.a[\"us\"] (delete_because_each_key)"]);
    assert_eq!(apply(&work, &[ONE]), "Apply complete! Resources: 0 added, 0 changed, 1 destroyed.");
    assert_eq!((stored(&work, "store-eu"), stored(&work, "store-us")), (1, 0));
}

#[test]
fn provider_for_each_in_modules() {
    let Some(work) = demo_folder(
        r#"
provider "demo" {
  alias    = "by_region"
  for_each = { eu = "store-eu", us = "store-us" }
  store    = each.value
}
module "region" {
  for_each  = toset(["eu", "us"])
  source    = "./region"
  providers = { demo = demo.by_region[each.key] }
}
-- region/main.tf --
terraform {
  required_providers {
    demo = { source = "gpuform/demo" }
  }
}
resource "demo_thing" "a" {
  name = "a"
}
module "inner" {
  source    = "../inner"
  providers = { demo.here = demo }
}
-- inner/main.tf --
terraform {
  required_providers {
    demo = {
      source                = "gpuform/demo"
      configuration_aliases = [demo.here]
    }
  }
}
resource "demo_thing" "b" {
  provider = demo.here
  name     = "b"
}
"#,
    ) else {
        return;
    };
    assert_eq!(apply(&work, &[]), "Apply complete! Resources: 4 added, 0 changed, 0 destroyed.");
    assert_eq!((stored(&work, "store-eu"), stored(&work, "store-us")), (2, 2));
    work.ok(&["destroy", "-auto-approve"]);
    assert_eq!((stored(&work, "store-eu"), stored(&work, "store-us")), (0, 0));
}

/// As OpenTofu has it: the address of the provider is that of the instance then, with the key at its end.
#[test]
fn provider_for_each_in_the_state() {
    let Some(work) = demo_folder(REGIONS) else { return };
    apply(&work, &[]);
    let state: Value = serde_json::from_str(&work.read("terraform.tfstate")).unwrap();
    let resource = &state["resources"][0];
    assert_eq!(resource.get("provider"), None);
    let address = |key: &str| format!("provider[\"registry.terraform.io/gpuform/demo\"].by_region[\"{key}\"]");
    assert_eq!(resource["instances"][0]["provider"], address("eu"));
    assert_eq!(resource["instances"][1]["provider"], address("us"));
    work.ok(&["state", "mv", "demo_thing.a[\"us\"]", "demo_thing.b"]);
    let moved = work.read("terraform.tfstate");
    assert!(moved.contains(r#"by_region[\"us\"]"#), "{moved}");
}

#[test]
fn provider_for_each_goes_to_another_instance() {
    let Some(work) = demo_folder(REGIONS) else { return };
    apply(&work, &[]);
    work.write("main.tf", &REGIONS.replace("demo.by_region[each.key]", "demo.by_region[\"eu\"]"));
    // The new store does not have the object of the other one.
    assert_eq!(changes(&work, &[]), ["create demo_thing.a[\"us\"]", "drift delete demo_thing.a[\"us\"]"]);
}

#[test]
fn provider_for_each_and_a_saved_plan() {
    let Some(work) = demo_folder(REGIONS) else { return };
    work.ok(&["plan", "-out=p"]);
    work.ok(&["apply", "p"]);
    assert_eq!((stored(&work, "store-eu"), stored(&work, "store-us")), (1, 1));
    work.ok(&["plan", "-destroy", "-out=p"]);
    work.ok(&["apply", "p"]);
    assert_eq!((stored(&work, "store-eu"), stored(&work, "store-us")), (0, 0));
}

#[test]
fn provider_for_each_without_the_key_of_an_object_to_destroy() {
    let Some(work) = demo_folder(REGIONS) else { return };
    apply(&work, &[]);
    let plan = ["plan", "-json", "-var=regions=[\"eu\"]"];
    let missing = ["error main.tf:16,29-37 Provider instance not present"];
    assert_eq!(problems(&work, &plan), missing);
    let lost = ["error Provider instance not present"];
    assert_eq!(problems(&work, &[&plan[..], &[ONE]].concat()), lost);
    assert_eq!(problems(&work, &[&plan[..], &["-destroy"]].concat()), lost);
    work.write("main.tf", &REGIONS[..REGIONS.find("resource").unwrap()]);
    assert_eq!(problems(&work, &plan), lost);
    assert_eq!(apply(&work, &[]), "Apply complete! Resources: 0 added, 0 changed, 2 destroyed.");
}

#[test]
fn provider_for_each_refuses_what_it_cannot_use() {
    let validated = |provider: &str, resource: &str| {
        let work = demo_folder(&format!(
            "provider \"demo\" {{\n  {provider}\n}}\nresource \"demo_thing\" \"a\" {{\n  name = \"a\"\n  {resource}\n}}\n\
             resource \"terraform_data\" \"x\" {{}}\nlocals {{\n  x = [terraform_data.x.id]\n}}\n"
        ));
        work.map(|w| problems(&w, &["plan", "-json"]))
    };
    let Some(without_alias) = validated("for_each = toset([\"a\"])", "") else { return };
    assert_eq!(without_alias, ["error main.tf:2,3-11 Invalid for_each in provider block"]);
    let cases = [
        ("for_each = toset([\"a\"])", "", "error main.tf:2,3-11 Invalid for_each in provider block"),
        ("alias = \"r\"\n  count = 2", "", "error main.tf:3,3-8 Reserved argument name in provider block"),
        ("alias = \"r\"\n  for_each = [\"a\"]", "", "error main.tf:3,14-19 Invalid for_each argument"),
        (
            "alias = \"r\"\n  for_each = toset([sensitive(\"a\")])",
            "",
            "error main.tf:3,14-37 Invalid for_each argument",
        ),
        ("alias = \"r\"\n  for_each = toset(local.x)", "", "error main.tf:3,14-28 Invalid for_each argument"),
        (
            "alias = \"r\"\n  for_each = toset([\"k\"])",
            "provider = demo.r",
            "error main.tf:7,14-20 Provider instance key required",
        ),
        ("alias = \"r\"\n  ", "provider = demo.r[\"k\"]", "error main.tf:7,21-24 Invalid provider instance key"),
        (
            "alias = \"r\"\n  for_each = toset([\"k\"])",
            "provider = demo.r[\"l\"]",
            "error main.tf:7,21-24 Provider instance not present",
        ),
        (
            "alias = \"r\"\n  for_each = toset([\"k\"])",
            "provider = demo.r[null]",
            "error main.tf:7,21-25 Invalid provider instance key",
        ),
        (
            "alias = \"r\"\n  for_each = toset([\"k\"])",
            "provider = demo.r[terraform_data.x.id]",
            "error main.tf:7,21-40 Invalid provider instance key",
        ),
        (
            "alias = \"r\"\n  for_each = toset([\"k\"])",
            "provider = demo[\"k\"]",
            "error main.tf:7,18-23 Invalid provider configuration reference",
        ),
    ];
    for (provider, resource, expected) in cases {
        assert_eq!(validated(provider, resource).unwrap_or_default(), [expected], "{provider} {resource}");
    }
}

#[test]
fn provider_for_each_that_goes_together_with_its_objects_is_warned_about() {
    let Some(work) = demo_folder(&REGIONS.replace("var.machines", "var.regions")) else { return };
    let warning = ["warning main.tf:15,14-25 Provider configuration for_each matches resource or module"];
    assert_eq!(problems(&work, &["validate", "-json"]), warning);
}

#[test]
fn provider_for_each_mocked_in_tests() {
    let Some(work) = demo_folder(REGIONS) else { return };
    let test = "mock_provider \"demo\" {\n  alias = \"by_region\"\n}\nrun \"both\" {\n  assert {\n    condition = \
                length(demo_thing.a) == 2\n    error_message = \"two\"\n  }\n}\n";
    work.write("both.tftest.hcl", test);
    assert!(work.ok(&["test"]).contains("1 passed, 0 failed."));
    assert_eq!(stored(&work, "store-eu"), 0);
}
