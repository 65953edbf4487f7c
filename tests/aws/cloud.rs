//! What the tests of the AWS provider share: an AWS API on loopback with its admin endpoint (`tests/clouds`), boto3 as
//! an independent client, and a working directory in which gpuform and terraform run against it.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A running cloud, empty at first. It ends with the test.
pub struct Cloud {
    server: Child,
    python: PathBuf,
    /// `http://127.0.0.1:PORT`
    pub address: String,
}

impl Cloud {
    /// `None` where the tests run without `cargo xtask test`, which says so; never on CI.
    pub fn start() -> Option<Cloud> {
        let Some(python) = std::env::var_os("GPUFORM_TEST_PYTHON") else {
            assert!(std::env::var_os("CI").is_none(), "GPUFORM_TEST_PYTHON is not set: run \"cargo xtask test\"");
            eprintln!("skipped: this needs the Python environment that \"cargo xtask test\" prepares");
            return None;
        };
        let mut server = Command::new(&python)
            .arg(root().join("tests/clouds/aws.py"))
            .args(["--die-with-parent", "--settle", "0.05"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Some(Cloud { server, python: python.into(), address })
    }

    /// A request to the admin endpoint: `POST`, `faults`, and a body where there is one.
    pub fn admin(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut stream = TcpStream::connect(self.address.trim_start_matches("http://")).unwrap();
        let length = body.len();
        write!(stream, "{method} /_admin/{path} HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, document) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(" 200 "), "{method} {path}: {answer}");
        serde_json::from_str(document).unwrap()
    }

    /// Adds a fault.
    pub fn fault(&self, fault: Value) {
        self.admin("POST", "faults", &fault);
    }

    /// How many calls faults have been applied to.
    pub fn faults_applied(&self) -> u64 {
        let faults = self.admin("GET", "faults", &Value::Null);
        faults["faults"].as_array().unwrap().iter().map(|f| f["applied"].as_u64().unwrap()).sum()
    }

    /// How often an action has been called.
    pub fn calls(&self, service: &str, action: &str) -> u64 {
        self.admin("GET", "counts", &Value::Null)["counts"][service][action].as_u64().unwrap_or(0)
    }

    /// Runs lines of Python that have boto3 clients (`ec2`, `s3`, `iam`, `kms`, `autoscaling`) at hand, and gives the
    /// value that they leave in `found`.
    pub fn boto(&self, lines: &str) -> Value {
        let before = format!(
            "import boto3, json, botocore.config\n\
             settings = botocore.config.Config(s3={{'addressing_style': 'path'}})\n\
             def client(name): return boto3.client(name, endpoint_url='{}', region_name='us-east-1',\n\
             \x20   aws_access_key_id='test', aws_secret_access_key='test', config=settings)\n\
             ec2, s3, iam, kms, autoscaling = map(client, ('ec2', 's3', 'iam', 'kms', 'autoscaling'))\n\
             found = None\n",
            self.address
        );
        let script = format!("{before}{lines}\nprint(json.dumps(found, default=str))");
        let mut command = Command::new(&self.python);
        without_settings(&mut command);
        let output = command.args(["-c", &script]).env("NO_PROXY", "127.0.0.1").output().unwrap();
        assert!(output.status.success(), "{lines}\n{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// What the cloud holds, `{kind: [ids]}`, without what has ended and waits to be forgotten.
    pub fn inventory(&self) -> Value {
        self.boto(include_str!("inventory.py"))
    }

    /// Fails unless the cloud holds what it held `before`.
    pub fn expect(&self, before: &Value) {
        let now = self.inventory();
        for (kind, before) in before.as_object().unwrap() {
            let (now, before) = (now[kind].as_array().unwrap(), before.as_array().unwrap());
            let left: Vec<&Value> = now.iter().filter(|id| !before.contains(id)).collect();
            let lost: Vec<&Value> = before.iter().filter(|id| !now.contains(id)).collect();
            assert!(left.is_empty() && lost.is_empty(), "{kind}: {left:?} are left, {lost:?} are gone");
        }
    }

    /// The IDs of the objects of a kind, as `inventory.py` names it.
    pub fn ids(&self, kind: &str) -> Vec<String> {
        serde_json::from_value(self.inventory()[kind].clone()).unwrap()
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// How the tools find the provider.
#[derive(Clone, Copy)]
pub enum Installation {
    /// Where it was built; needs no `init`.
    Override,
    /// In a mirror, as in a package of a release.
    Mirror,
}

/// A working directory.
pub struct Stack {
    folder: tempfile::TempDir,
    address: String,
}

impl Stack {
    /// A directory with these files of the checkout.
    pub fn new(cloud: &Cloud, installation: Installation, files: &[PathBuf]) -> Stack {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            std::fs::copy(root().join(file), folder.path().join(file.file_name().unwrap())).unwrap();
        }
        std::fs::write(folder.path().join("settings.tfrc"), install(folder.path(), installation)).unwrap();
        Stack { folder, address: cloud.address.clone() }
    }

    /// A directory with a configuration of `tests/aws/configs`.
    pub fn of(cloud: &Cloud, config: &str) -> Stack {
        let files = ["provider", config].map(|name| PathBuf::from(format!("tests/aws/configs/{name}.tf")));
        Stack::new(cloud, Installation::Override, &files)
    }

    /// A directory with resources written in the test.
    pub fn with(cloud: &Cloud, resources: &str) -> Stack {
        let stack = Stack::new(cloud, Installation::Override, &["tests/aws/configs/provider.tf".into()]);
        stack.write("main.tf", resources);
        stack
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// A tool with arguments, ready to start, with this cloud and nothing of the user's in its environment.
    pub fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        without_settings(&mut command);
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("TF_CLI_CONFIG_FILE", self.path("settings.tfrc"))
            .env("TF_VAR_endpoint", &self.address)
            .env("CHECKPOINT_DISABLE", "1")
            .env("NO_COLOR", "1")
            .env("NO_PROXY", "127.0.0.1")
            .env("AWS_ENDPOINT_URL", &self.address)
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_CONFIG_FILE", "/dev/null")
            .env("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs gpuform, which must end with this exit code, and gives what it printed (with errors, unless the code is 0).
    pub fn gpuform(&self, arguments: &[&str], code: i32) -> String {
        self.run(GPUFORM, arguments, code)
    }

    /// Runs gpuform or terraform.
    pub fn run(&self, program: &str, arguments: &[&str], code: i32) -> String {
        let output = self.command(program, arguments).output().unwrap();
        let all = text(&output);
        assert_eq!(output.status.code(), Some(code), "{program} {}\n{all}", arguments.join(" "));
        if code == 0 { String::from_utf8_lossy(&output.stdout).into_owned() } else { all }
    }

    /// Applies, and says how long it took.
    pub fn apply(&self) -> Duration {
        let start = Instant::now();
        self.gpuform(&["apply", "-auto-approve"], 0);
        start.elapsed()
    }

    /// Fails unless a plan finds nothing to change.
    pub fn expect_no_changes(&self, arguments: &[&str]) {
        let plan = [&["plan", "-detailed-exitcode"], arguments].concat();
        let output = self.command(GPUFORM, &plan).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    }

    /// The managed resources in the state, as `show -json` has them.
    pub fn resources(&self) -> Vec<Value> {
        resources(&self.gpuform(&["show", "-json"], 0))
    }

    /// An attribute of a resource in the state.
    pub fn attribute(&self, address: &str, name: &str) -> Value {
        let all = self.resources();
        let found = all.iter().find(|r| r["address"] == address);
        found.unwrap_or_else(|| panic!("{address} is not in the state"))["values"][name].clone()
    }
}

/// The image that instances of tests boot.
pub const IMAGE: &str = r#"
data "aws_ami" "ubuntu" {
  most_recent = true
  owners      = ["099720109477"]
  filter {
    name   = "name"
    values = ["ubuntu/images/hvm-ssd/ubuntu-jammy-22.04-amd64-server-*"]
  }
}
"#;

pub const GPUFORM: &str = env!("CARGO_BIN_EXE_gpuform");

/// The managed resources of a state that `show -json` printed.
pub fn resources(json: &str) -> Vec<Value> {
    let state: Value = serde_json::from_str(json).unwrap();
    let all = state["values"]["root_module"]["resources"].as_array().cloned().unwrap_or_default();
    all.into_iter().filter(|r| r["mode"] == "managed").collect()
}

/// What a command printed, errors last.
pub fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn without_settings(command: &mut Command) {
    for name in std::env::vars().map(|(n, _)| n).filter(|n| n.starts_with("AWS_") || n.starts_with("TF_")) {
        command.env_remove(name);
    }
}

/// Puts the AWS provider, which lies beside the executable under test, where the tools look for it, and gives the CLI
/// configuration that says so.
fn install(folder: &Path, installation: Installation) -> String {
    let provider = PathBuf::from(GPUFORM).with_file_name("terraform-provider-aws");
    assert!(provider.exists(), "{} is missing: run \"cargo xtask test\"", provider.display());
    let (place, name, method) = match installation {
        Installation::Override => {
            let place = folder.join("override");
            let method =
                format!("dev_overrides {{\n    \"gpuform/aws\" = \"{}\"\n  }}\n  direct {{}}", place.display());
            (place, "terraform-provider-aws".to_owned(), method)
        }
        Installation::Mirror => {
            let system = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
            let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
            let (mirror, version) = (folder.join("mirror"), env!("CARGO_PKG_VERSION"));
            let place = mirror.join(format!("registry.terraform.io/gpuform/aws/{version}/{system}_{machine}"));
            let method = format!("filesystem_mirror {{\n    path = \"{}\"\n  }}", mirror.display());
            (place, format!("terraform-provider-aws_v{version}"), method)
        }
    };
    std::fs::create_dir_all(&place).unwrap();
    symlink(provider, place.join(name)).unwrap();
    format!("provider_installation {{\n  {method}\n}}\n")
}
