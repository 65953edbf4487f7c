//! `gpuform graph`, as Terraform 1.11.4 draws it.

use crate::demo::Work;

const CONFIG: &str = r#"variable "x" {
  default = 1
  validation {
    condition     = var.x == local.l
    error_message = "x"
  }
}
locals {
  l = 1
}
resource "terraform_data" "a" {
  input = var.x
}
resource "terraform_data" "b" {
  count = 2
  input = terraform_data.a.id
}
module "m" {
  source = "./m"
  i      = terraform_data.b[0].id
}
resource "terraform_data" "c" {
  input      = module.m
  depends_on = [terraform_data.a]
}
check "k" {
  assert {
    condition     = terraform_data.a.id != ""
    error_message = "x"
  }
}
"#;

const MODULE: &str = r#"variable "i" {}
resource "terraform_data" "z" {
  input = var.i
}
output "o" {
  value = terraform_data.z.id
}
"#;

fn work() -> Work {
    let work = Work::new(CONFIG);
    std::fs::create_dir(work.path("m")).unwrap();
    work.write("m/main.tf", MODULE);
    work.ok(&["init"]);
    work
}

#[test]
fn resources_are_drawn_with_what_they_depend_on() {
    let expected = r#"digraph G {
  rankdir = "RL";
  node [shape = rect, fontname = "sans-serif"];
  "terraform_data.a" [label="terraform_data.a"];
  "terraform_data.b" [label="terraform_data.b"];
  "terraform_data.c" [label="terraform_data.c"];
  subgraph "cluster_module.m" {
    label = "module.m"
    fontname = "sans-serif"
    "module.m.terraform_data.z" [label="terraform_data.z"];
  }
  "terraform_data.b" -> "terraform_data.a";
  "terraform_data.c" -> "module.m.terraform_data.z";
  "module.m.terraform_data.z" -> "terraform_data.b";
}
"#;
    assert_eq!(work().ok(&["graph"]), expected);
}

#[test]
fn a_plan_is_drawn_with_everything_it_evaluates() {
    let expected = r#"digraph {
	compound = "true"
	newrank = "true"
	subgraph "root" {
		"[root] module.m.terraform_data.z (expand)" [label = "module.m.terraform_data.z", shape = "box"]
		"[root] provider[\"terraform.io/builtin/terraform\"]" [label = "provider[\"terraform.io/builtin/terraform\"]", shape = "diamond"]
		"[root] terraform_data.a (expand)" [label = "terraform_data.a", shape = "box"]
		"[root] terraform_data.b (expand)" [label = "terraform_data.b", shape = "box"]
		"[root] terraform_data.c (expand)" [label = "terraform_data.c", shape = "box"]
		"[root] var.x" [label = "var.x", shape = "note"]
		"[root] check.k (expand)" -> "[root] check.k (report)"
		"[root] check.k (expand)" -> "[root] terraform_data.a (expand)"
		"[root] module.m (close)" -> "[root] module.m.output.o (expand)"
		"[root] module.m.output.o (expand)" -> "[root] module.m.terraform_data.z (expand)"
		"[root] module.m.terraform_data.z (expand)" -> "[root] module.m.var.i (expand)"
		"[root] module.m.var.i (expand)" -> "[root] module.m (expand)"
		"[root] module.m.var.i (expand)" -> "[root] terraform_data.b (expand)"
		"[root] provider[\"terraform.io/builtin/terraform\"] (close)" -> "[root] terraform_data.c (expand)"
		"[root] root" -> "[root] check.k (expand)"
		"[root] root" -> "[root] provider[\"terraform.io/builtin/terraform\"] (close)"
		"[root] terraform_data.a (expand)" -> "[root] provider[\"terraform.io/builtin/terraform\"]"
		"[root] terraform_data.a (expand)" -> "[root] var.x (validation)"
		"[root] terraform_data.b (expand)" -> "[root] terraform_data.a (expand)"
		"[root] terraform_data.c (expand)" -> "[root] module.m (close)"
		"[root] var.x (validation)" -> "[root] local.l (expand)"
		"[root] var.x (validation)" -> "[root] var.x"
	}
}
"#;
    assert_eq!(work().ok(&["graph", "-type=plan"]), expected);
}

#[test]
fn what_is_stored_is_drawn_for_its_destruction() {
    let work = work();
    work.ok(&["apply", "-auto-approve"]);
    let drawn = work.ok(&["graph", "-type=plan-destroy"]);
    for edge in [
        r#""[root] terraform_data.a (destroy)" -> "[root] terraform_data.b (destroy)""#,
        r#""[root] module.m.terraform_data.z (destroy)" -> "[root] terraform_data.c (destroy)""#,
    ] {
        assert!(drawn.contains(edge), "{drawn}");
    }
    work.write("main.tf", "");
    let drawn = work.ok(&["graph"]);
    assert!(drawn.contains(r#""module.m.terraform_data.z" [label="terraform_data.z"];"#), "{drawn}");
    work.ok(&["plan", "-out=p"]);
    let drawn = work.ok(&["graph", "-plan=p"]);
    assert!(
        drawn.contains(r#""[root] terraform_data.b[1] (destroy)" [label = "terraform_data.b", shape = "box"]"#),
        "{drawn}"
    );
}

#[test]
fn cycles_are_errors_unless_they_are_to_be_drawn() {
    let work = Work::new("locals {\n  a = local.b\n  b = local.a\n}\n");
    assert!(work.fails(&["graph"]).contains("Cycle"));
    let drawn = work.ok(&["graph", "-type=plan", "-draw-cycles"]);
    assert!(drawn.contains(r#""[root] local.a (expand)" -> "[root] local.b (expand)""#), "{drawn}");
}
