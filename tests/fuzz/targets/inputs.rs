//! The smaller input files. The first byte says which one the rest is, by its place in [`NAMES`].

#![no_main]

use gpuform::cli::args::{StateFiles, VariableArg};
use gpuform::cli::backends;
use gpuform::cli::project::{Factory, Missing, Project, load_config};
use gpuform::diag::Diagnostics;
use gpuform::state::backend::check_workspace_name;
use gpuform::testing;
use gpuform_fuzz::{context, put, remove, told};
use std::path::Path;
use std::sync::Once;

const NAMES: [&str; 9] = [
    "terraform.tfvars",
    "terraform.tfvars.json",
    ".terraform.lock.hcl",
    "cli.tfrc",
    ".terraform/modules/modules.json",
    "a.tftest.hcl",
    "a.tftest.json",
    ".terraform/terraform.tfstate",
    ".terraform/environment",
];

/// Variables of all kinds for values to be converted to, a module and a provider that may be known.
const CONFIG: &str = r#"
variable "s" {
  type = string
}
variable "n" {
  type     = number
  nullable = false
  default  = 1
}
variable "a" {}
variable "l" {
  type = list(number)
}
variable "e" {
  type = set(any)
}
variable "m" {
  type = map(list(string))
}
variable "o" {
  type = object({ a = string, b = optional(number, 3), c = optional(list(object({ d = bool }))) })
  sensitive = true
  validation {
    condition     = var.o.b == 3
    error_message = "It is not."
  }
}
variable "t" {
  type = tuple([string, number])
}
module "child" {
  source  = "./child"
}
module "net" {
  source  = "hashicorp/consul/aws"
  version = ">= 1.0, < 2.0.0"
}
resource "null_resource" "a" {}
"#;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    static CONFIGURATION: Once = Once::new();
    CONFIGURATION.call_once(|| {
        put("main.tf", CONFIG);
        put("child/main.tf", "");
    });
    let Some((which, content)) = data.split_first() else { return };
    let Some(name) = NAMES.get(usize::from(which.wrapping_sub(b'0'))) else { return };
    NAMES.iter().for_each(|n| remove(n));
    put("cli.tfrc", "");
    put(name, content);
    let cx = context();
    let (config, mut diags) = load_config(&cx, Path::new("."), &[]);
    testing::load(Path::new("."), testing::DEFAULT_DIRECTORY, &cx.sources, &mut diags);
    if let Some(config) = &config {
        Factory::new(&cx, &mut diags).check(config, &mut diags);
    }
    told(&diags, &cx.sources);
    // What has to do with variables must not wait for modules that are there.
    if *which < b'2' {
        put("main.tf", CONFIG.split("module ").next().unwrap_or_default());
        let given = [VariableArg::Var("a=1".into()), VariableArg::File(name.into())];
        if let Err(d) = Project::open(&cx, &given, Missing::Fail) {
            told(&d, &cx.sources);
        }
        put("main.tf", CONFIG);
    }
    if let Err(d) = backends::recorded(&cx, &StateFiles::default()) {
        told(&d, &cx.sources);
    }
    if let Err(d) = check_workspace_name(&cx.workspace()) {
        told(&Diagnostics::from(*d), &cx.sources);
    }
});
