//! `plan -generate-config-out`: configuration for imported objects that have none. The expected files are those that
//! Terraform 1.11 writes, but for its name.

use crate::demo::{self, Work};

const PROVIDERS: &str = "terraform {\n  required_providers {\n    demo = { source = \"gpuform/demo\" }\n  }\n}\n";

/// A machine whose attributes need care when they are written.
const MACHINE: &str = r#"
resource "demo_machine" "m" {
  name   = "web \"x\" $${y} %%{if} \\ back\nsecond $${z}"
  zone   = "north"
  size   = 4
  policy = jsonencode({ a = [1, 2.5, true, null], b = { c = "x$${q}", "d e" = "multi\nline" }, e = [], f = {} })
  share  = 0.1
  ports  = [80, 443]
  labels = { "a" = "1", "b c" = "x\ny", "d.e" = "3", "1f" = "3", "true" = "t", "$${x}" = "t" }
  disk {
    size = 1
  }
  disk {
    size = 2
    type = "hdd"
  }
  rule {
    port = 22
  }
  upkeep {
    day = "mon"
  }
}
"#;

const GENERATED: &str = r#"# __generated__ by gpuform
# Please review these resources and move them into your main configuration files.

# __generated__ by gpuform from "ID"
resource "demo_machine" "m" {
  address     = "10.0.0.1"
  closed      = null
  image       = "linux"
  key         = null
  key_version = null
  labels = {
    "$${x}" = "t"
    "1f"    = "3"
    a       = "1"
    "b c"   = "x\ny"
    "d.e"   = "3"
    true    = "t"
  }
  name     = "web \"x\" $${y} %%{if} \\ back\nsecond $${z}"
  password = null # sensitive
  policy = jsonencode({
    a = [1, 2.5, true, null]
    b = {
      c     = "x$${q}"
      "d e" = "multi\nline"
    }
    e = []
    f = {}
  })
  ports = [80, 443]
  share = 0.1
  size  = 4
  zone  = "north"
  disk {
    size = 1
    type = "ssd"
  }
  disk {
    size = 2
    type = "hdd"
  }
  rule {
    port     = 22
    protocol = "tcp"
  }
  upkeep {
    day  = "mon"
    hour = 3
  }
}
"#;

/// A working directory whose store holds an object that the configuration imports but does not declare; its ID.
fn with_object(resource: &str, addr: &str) -> (Work, String) {
    let work = Work::new(&format!("{PROVIDERS}{resource}\noutput \"id\" {{\n  value = {addr}.id\n}}\n"));
    work.ok(&["apply", "-auto-approve"]);
    let id = work.ok(&["output", "-raw", "id"]);
    std::fs::remove_file(work.path("terraform.tfstate")).unwrap();
    work.write("main.tf", &format!("{PROVIDERS}import {{\n  to = {addr}\n  id = \"{id}\"\n}}\n"));
    (work, id)
}

#[test]
fn an_object_is_imported_with_configuration_made_from_it() {
    if !demo::is_built() {
        return;
    }
    let (work, id) = with_object(MACHINE, "demo_machine.m");
    let errors = work.fails(&["plan"]);
    assert!(errors.contains("Error: Configuration for import target does not exist"), "{errors}");
    let shown = work.ok(&["plan", "-generate-config-out=made.tf", "-out=saved"]);
    assert!(shown.contains("# (config will be generated)"), "{shown}");
    assert!(shown.contains("Plan: 1 to import, 0 to add, 0 to change, 0 to destroy."), "{shown}");
    assert_eq!(work.read("made.tf"), GENERATED.replace("ID", &id));
    // A saved plan has what it needs, whatever became of the file.
    std::fs::rename(work.path("made.tf"), work.path("main2.tf")).unwrap();
    let done = work.ok(&["apply", "saved"]);
    assert!(done.contains("Resources: 1 imported, 0 added, 0 changed, 0 destroyed."), "{done}");
    assert!(work.ok(&["plan"]).contains("No changes."));
}

#[test]
fn generated_configuration_is_written_although_it_needs_work() {
    if !demo::is_built() {
        return;
    }
    let config = "resource \"demo_machine\" \"m\" {\n  name = \"n\"\n  zone = \"south\"\n  size = 4\n}\n";
    let (work, id) = with_object(config, "demo_machine.m");
    let store = work.path("store").join(format!("{id}.json"));
    let grown = std::fs::read_to_string(&store).unwrap().replace("\"size\": 4", "\"size\": 65");
    std::fs::write(store, grown).unwrap();
    let errors = work.fails(&["plan", "-generate-config-out=made.tf"]);
    assert!(errors.contains("Too large") && errors.contains("on made.tf line"), "{errors}");
    let made = work.read("made.tf");
    assert!(made.contains("\n# __generated__ by gpuform\nresource \"demo_machine\" \"m\" {\n"), "{made}");
    assert!(made.contains("\n  size        = 65\n"), "{made}");
    let errors = work.fails(&["plan", "-generate-config-out=made.tf"]);
    assert!(errors.contains("Error: Target generated file already exists"), "{errors}");
    let errors = work.fails(&["plan", "-generate-config-out=other.tf", "-destroy"]);
    assert!(errors.contains("Error: Invalid generate-config-out flag"), "{errors}");
}
