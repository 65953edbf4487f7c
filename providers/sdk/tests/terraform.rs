//! The demo provider under the real Terraform: what the SDK promises is judged by Terraform's own checks of plans and
//! results. Skipped where there is no `terraform`.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const HEAD: &str = r#"
terraform {
  required_providers {
    demo = { source = "gpuform/demo" }
  }
}
provider "demo" {
  default_labels = { owner = "team" }
}
"#;

/// A working directory with a store of its own.
struct Workspace {
    folder: TempDir,
    variables: Vec<(&'static str, String)>,
}

/// What a run of Terraform said, and its exit code.
struct Run {
    output: String,
    code: Option<i32>,
}

impl Workspace {
    /// `None` where Terraform is not installed.
    fn new(configuration: &str) -> Option<Workspace> {
        if Command::new("terraform").arg("version").env("CHECKPOINT_DISABLE", "1").output().is_err() {
            eprintln!("skipped: there is no terraform here");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["plugins", "tmp"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        std::os::unix::fs::symlink(demo(), at("plugins/terraform-provider-demo")).unwrap();
        let overrides = format!("dev_overrides {{ \"gpuform/demo\" = {:?} }}", at("plugins"));
        std::fs::write(at("rc"), format!("provider_installation {{\n  {overrides}\n  direct {{}}\n}}\n")).unwrap();
        let mut workspace = Workspace { folder, variables: Vec::new() };
        workspace.configure(configuration);
        workspace.set("DEMO_STORE", workspace.path("store").display());
        Some(workspace)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn configure(&self, configuration: &str) {
        std::fs::write(self.path("main.tf"), format!("{HEAD}{configuration}")).unwrap();
    }

    fn set(&mut self, name: &'static str, value: impl ToString) {
        self.variables.push((name, value.to_string()));
    }

    fn run(&self, arguments: &[&str]) -> Run {
        let output = Command::new("terraform")
            .args(arguments)
            .current_dir(self.folder.path())
            .env("CHECKPOINT_DISABLE", "1")
            .env("TF_CLI_CONFIG_FILE", self.path("rc"))
            .env("TMPDIR", self.path("tmp"))
            .env("NO_COLOR", "1")
            .envs(self.variables.iter().map(|(n, v)| (*n, v.as_str())))
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].map(|b| String::from_utf8_lossy(&b).into_owned()).concat();
        Run { output: text, code: output.status.code() }
    }

    /// Applies; the plan after it must be empty.
    fn apply(&self) -> String {
        let applied = self.run(&["apply", "-auto-approve", "-no-color"]);
        assert_eq!(applied.code, Some(0), "{}", applied.output);
        let again = self.run(&["plan", "-detailed-exitcode", "-no-color"]);
        assert_eq!(again.code, Some(0), "the second plan is not empty: {}", again.output);
        applied.output
    }

    fn state(&self) -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(self.path("terraform.tfstate")).unwrap()).unwrap()
    }

    /// Names of what lies in a folder.
    fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(folder)).unwrap();
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }
}

/// The demo provider, which Cargo builds with the tests.
fn demo() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join("examples/terraform-provider-demo")
}

const MACHINE: &str = r#"
resource "demo_machine" "m" {
  name     = "m"
  zone     = "north"
  size     = 4
  password = "hunter2"
  share    = 0.1
  ports    = [443, 80]
  labels   = { a = "b" }
  policy   = jsonencode({ a = [1, 2], b = "c" })
  disk {
    size = 10
  }
  disk {
    size = 20
    type = "hdd"
  }
  rule {
    port = 22
  }
  rule {
    port = 80
  }
  upkeep {
    day = "mon"
  }
  timeouts {
    create = "1m"
  }
}
"#;

#[test]
fn a_machine_lives_from_create_to_destroy() {
    let Some(w) = Workspace::new(MACHINE) else { return };
    assert!(w.apply().contains("1 added, 0 changed, 0 destroyed"));
    let machine = &w.state()["resources"][0]["instances"][0]["attributes"];
    assert_eq!(machine["labels_all"], serde_json::json!({"a": "b", "owner": "team"}));
    assert_eq!((&machine["image"], &machine["share"]), (&"linux".into(), &"0.1".parse().unwrap()));

    w.configure(&MACHINE.replace("size     = 4", "size = 8").replace("port = 80", "port = 81"));
    let plan = w.run(&["plan", "-no-color"]).output;
    assert!(plan.contains(r#"~ serial     = "north-4" -> (known after apply)"#), "{plan}");
    assert!(w.apply().contains("0 added, 1 changed, 0 destroyed"));

    w.configure(&MACHINE.replace("north", "south"));
    let plan = w.run(&["plan", "-no-color"]).output;
    assert!(plan.contains(r#"~ zone       = "north" -> "south" # forces replacement"#), "{plan}");
    assert!(w.apply().contains("1 added, 0 changed, 1 destroyed"));

    assert_eq!(w.run(&["destroy", "-auto-approve"]).code, Some(0));
    assert_eq!(w.names("store"), ["tokens"]);
    assert_eq!(w.names("tmp"), Vec::<String>::new(), "no socket is left behind");
}

#[test]
fn another_spelling_is_no_change_and_drift_is() {
    let Some(w) = Workspace::new(MACHINE) else { return };
    w.apply();
    w.configure(&MACHINE.replace(r#"jsonencode({ a = [1, 2], b = "c" })"#, r#""{ \"b\": \"c\", \"a\": [1,2] }""#));
    assert_eq!(w.run(&["plan", "-detailed-exitcode"]).code, Some(0));
    let file = w.names("store").into_iter().find(|n| n.starts_with("machine")).unwrap();
    let file = w.path("store").join(file);
    let text = std::fs::read_to_string(&file).unwrap().replace("\"size\": 4", "\"size\": 5");
    std::fs::write(&file, text).unwrap();
    let plan = w.run(&["plan", "-no-color"]).output;
    assert!(plan.contains("size       = 5 -> 4"), "{plan}");
    std::fs::remove_file(&file).unwrap();
    assert!(w.run(&["plan", "-no-color"]).output.contains("will be created"));
}

#[test]
fn computed_blocks_and_attributes_as_blocks_work_as_in_the_aws_provider() {
    let server = |inside: &str| format!("resource \"demo_server\" \"s\" {{\n  name = \"s\"\n{inside}\n}}\n");
    let root = "output \"root\" {\n  value = demo_server.s.root[0].disk_id\n}\n";
    let Some(w) = Workspace::new(&(server("") + root)) else { return };
    assert!(w.run(&["plan", "-no-color"]).output.contains("+ root (known after apply)"));
    assert!(w.apply().contains("root = \"root-of-server-"));
    w.configure(&server("ingress {\n port = 22\n }\n ingress {\n port = 80\n networks = [\"10.0.0.0/8\"]\n }"));
    w.apply();
    w.configure(&server("ingress = []\nroot {\n size = 20\n }"));
    w.apply();
    w.configure(&server("root {\n size = 20\n encrypted = true\n }"));
    assert!(w.run(&["plan", "-no-color"]).output.contains("encrypted = false -> true # forces replacement"));
}

#[test]
fn an_object_that_was_made_stays_in_the_state_when_something_fails_later() {
    let Some(mut w) = Workspace::new(MACHINE) else { return };
    w.set("DEMO_FAIL", "read:m");
    let failed = w.run(&["apply", "-auto-approve", "-no-color"]);
    assert_eq!(failed.code, Some(1));
    assert!(failed.output.contains("The read of \"m\" failed"), "{}", failed.output);
    assert_eq!(w.state()["resources"][0]["instances"][0]["status"], "tainted");
    w.set("DEMO_FAIL", "");
    assert!(w.apply().contains("1 added, 0 changed, 1 destroyed"));
}

#[test]
fn import_and_data_source_find_what_exists() {
    let thing = "resource \"demo_thing\" \"t\" {\n  name  = \"t\"\n  value = \"v\"\n}\n";
    let data = "data \"demo_thing\" \"d\" {\n  name = \"t\"\n}\noutput \"v\" {\n  value = data.demo_thing.d.value\n}\n";
    let Some(w) = Workspace::new(thing) else { return };
    w.apply();
    let id = w.state()["resources"][0]["instances"][0]["attributes"]["id"].as_str().unwrap().to_owned();
    assert_eq!(w.run(&["state", "rm", "demo_thing.t"]).code, Some(0));
    assert_eq!(w.run(&["import", "demo_thing.t", &id]).code, Some(0));
    w.configure(&format!("{thing}{data}"));
    assert!(w.apply().contains("v = \"v\""));
    w.configure(&data.replace("\"t\"", "\"u\""));
    let missing = w.run(&["plan", "-no-color"]).output;
    assert!(missing.contains("None is named \"u\""), "{missing}");
}

#[test]
fn a_plan_works_while_the_providers_configuration_is_unknown() {
    let body = |folder: &Path| {
        let folder = folder.join("elsewhere");
        format!(
            "resource \"terraform_data\" \"d\" {{\n  input = {folder:?}\n}}\n\
             provider \"demo\" {{\n  alias = \"later\"\n  store = terraform_data.d.output\n}}\n\
             resource \"demo_machine\" \"m\" {{\n  provider = demo.later\n  name = \"m\"\n  zone = \"north\"\n  size = 1\n}}\n"
        )
    };
    let Some(w) = Workspace::new("") else { return };
    w.configure(&body(w.folder.path()));
    let plan = w.run(&["plan", "-no-color"]);
    assert!(plan.output.contains("labels_all = (known after apply)"), "{}", plan.output);
    assert!(w.apply().contains("2 added"));
}

#[test]
fn bad_configurations_are_refused_with_their_place() {
    let bad =
        MACHINE.replace("north", "west").replace("labels   =", "closed = false\n  labels =").replace("= 4", "= 4.5");
    let Some(w) = Workspace::new(&bad) else { return };
    let refused = w.run(&["validate", "-no-color"]);
    assert_eq!(refused.code, Some(1));
    for part in
        ["\"west\" is none of \"north\", \"south\"", "\"ports\" conflicts with \"closed\"", "4.5 is not a whole number"]
    {
        assert!(refused.output.contains(part), "{part}: {}", refused.output);
    }
}
