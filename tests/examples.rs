//! Every configuration in `examples/` is what it says it is: it can be applied, has then nothing to change, and can be
//! destroyed without a trace. The built executables are used, against the AWS API on loopback of `tests/clouds`.
//!
//! `cargo xtask test` prepares the Python environment that this needs and says where it is in `GPUFORM_TEST_PYTHON`.

#![allow(clippy::unwrap_used)]

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

#[test]
fn quickstart_has_a_spot_and_a_training_instance() {
    let Some(stack) = Stack::of("quickstart") else { return };
    let outputs = stack.round_trip();
    assert_eq!(outputs["instances"]["value"]["spot"]["type"], "g5.2xlarge");
    assert_eq!(outputs["instances"]["value"]["training"]["type"], "p4d.24xlarge");
    assert_eq!(outputs["bucket"]["value"], "quickstart-data-123456789012");
}

#[test]
fn startup_takes_one_spot_gpu_below_its_price() {
    let Some(stack) = Stack::of("startup") else { return };
    let outputs = stack.round_trip();
    assert!(outputs["price_now"]["value"].as_f64().unwrap() <= 0.75);
    assert_eq!(outputs["bucket"]["value"], "startup-models-123456789012");
}

#[test]
fn startup_does_not_start_above_its_price() {
    let Some(stack) = Stack::of("startup") else { return };
    stack.gpuform(&["init"], 0);
    let said = stack.gpuform(&["apply", "-auto-approve", "-var=max_price=0.01"], 1);
    assert!(said.contains("above max_price"), "{said}");
}

#[test]
fn training_cluster_has_sixteen_gpus_and_up() {
    let Some(stack) = Stack::of("training-cluster") else { return };
    let outputs = stack.round_trip();
    assert_eq!(outputs["capacity"]["value"]["min"]["gpus"], 16);
    assert_eq!(outputs["capacity"]["value"]["max"]["gpu_memory_gib"], 1280);
    assert_eq!(outputs["data_lake"]["value"], "training-lake-123456789012");
}

/// A copy of an example, and a cloud of its own to apply it to.
struct Stack {
    folder: tempfile::TempDir,
    server: Child,
    address: String,
}

impl Stack {
    /// `None` where the tests run without `cargo xtask test`, which says so; never on CI.
    fn of(example: &str) -> Option<Stack> {
        let Some(python) = std::env::var_os("GPUFORM_TEST_PYTHON") else {
            assert!(std::env::var_os("CI").is_none(), "GPUFORM_TEST_PYTHON is not set: run \"cargo xtask test\"");
            eprintln!("skipped: the example {example} needs the Python environment that \"cargo xtask test\" prepares");
            return None;
        };
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(root.join("examples").join(example)).unwrap().map(Result::unwrap) {
            std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
        install_provider(folder.path());
        let mut server = Command::new(python)
            .arg(root.join("tests/clouds/aws.py"))
            .args(["--die-with-parent", "--settle", "0.05"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Some(Stack { folder, server, address })
    }

    /// Applies, plans again, destroys, and gives the outputs.
    fn round_trip(&self) -> Value {
        self.gpuform(&["init"], 0);
        self.gpuform(&["validate"], 0);
        self.gpuform(&["apply", "-auto-approve"], 0);
        let again = self.gpuform(&["plan", "-detailed-exitcode"], 0);
        assert!(again.contains("No changes"), "{again}");
        let outputs = serde_json::from_str(&self.gpuform(&["output", "-json"], 0)).unwrap();
        self.gpuform(&["destroy", "-auto-approve"], 0);
        assert_eq!(self.gpuform(&["state", "list"], 0), "");
        outputs
    }

    /// Runs a command, which must end with this exit code, and gives what it printed.
    fn gpuform(&self, arguments: &[&str], code: i32) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpuform"));
        for name in std::env::vars().map(|(n, _)| n).filter(|n| n.starts_with("AWS_") || n.starts_with("TF_")) {
            command.env_remove(name);
        }
        let output = command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("TF_CLI_CONFIG_FILE", self.folder.path().join("settings.tfrc"))
            .env("NO_COLOR", "1")
            .env("NO_PROXY", "127.0.0.1")
            .env("AWS_ENDPOINT_URL", &self.address)
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_CONFIG_FILE", "/dev/null")
            .env("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
            .output()
            .unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "gpuform {}\n{out}\n{err}", arguments.join(" "));
        if code == 0 { out.into_owned() } else { format!("{out}{err}") }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Makes a mirror with the AWS provider, which lies beside the executable under test, and a CLI configuration for it.
fn install_provider(folder: &Path) {
    let provider = PathBuf::from(env!("CARGO_BIN_EXE_gpuform")).with_file_name("terraform-provider-aws");
    assert!(provider.exists(), "{} is missing: run \"cargo xtask test\"", provider.display());
    let system = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let version = env!("CARGO_PKG_VERSION");
    let mirror = folder.join("mirror");
    let place = mirror.join(format!("registry.terraform.io/gpuform/aws/{version}/{system}_{machine}"));
    std::fs::create_dir_all(&place).unwrap();
    std::os::unix::fs::symlink(provider, place.join(format!("terraform-provider-aws_v{version}"))).unwrap();
    let text =
        format!("provider_installation {{\n  filesystem_mirror {{\n    path = \"{}\"\n  }}\n}}\n", mirror.display());
    std::fs::write(folder.join("settings.tfrc"), text).unwrap();
}
