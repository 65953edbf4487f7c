//! The two programs, each run in a folder of its own at the same path, with an environment of its own.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One of the two.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Program {
    Gpuform,
    Terraform,
}

/// Whether the program to compare with is there; if not, says so.
pub fn terraform_is_here() -> bool {
    let version = Command::new("terraform").args(["version", "-json"]).env("CHECKPOINT_DISABLE", "1").output();
    let version = version.ok().and_then(|o| serde_json::from_slice::<Value>(&o.stdout).ok());
    let found = version.as_ref().and_then(|v| v["terraform_version"].as_str());
    match found {
        Some("1.11.4") => true,
        Some(other) => {
            println!("skipped: this compares with terraform 1.11.4, and the one here is {other}");
            false
        }
        None => {
            println!("skipped: there is no terraform 1.11.4 in PATH to compare with");
            false
        }
    }
}

/// A folder in which a program runs.
pub struct Folder {
    program: Program,
    home: tempfile::TempDir,
}

/// How a command ended.
pub struct Answer {
    /// The exit code; none where the program died or was stopped.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Answer {
    pub fn succeeded(&self) -> bool {
        self.code == Some(0)
    }

    /// The errors told in words: file, line and summary of each.
    pub fn errors_in_words(&self) -> Vec<(String, String, String)> {
        let mut found = Vec::new();
        let mut summary = None;
        for line in self.err.lines() {
            let line = line.trim_start_matches(['╷', '│', '╵', ' ']);
            if let Some(text) = line.strip_prefix("Error: ") {
                summary = Some(text.to_owned());
            } else if let Some((file, rest)) = line.strip_prefix("on ").and_then(|l| l.split_once(" line ")) {
                let number = rest.chars().take_while(char::is_ascii_digit).collect();
                found.extend(summary.take().map(|summary| (file.to_owned(), number, summary)));
            }
        }
        found
    }

    /// The diagnostics that errors are told with, from lines of JSON or a document.
    pub fn errors(&self) -> Vec<Value> {
        let of_document =
            serde_json::from_str::<Value>(&self.out).ok().and_then(|d| d["diagnostics"].as_array().cloned());
        let of_lines = || {
            let lines = self.out.lines().filter_map(|l| serde_json::from_str::<Value>(l).ok());
            lines.filter_map(|mut l| Some(l.get_mut("diagnostic")?.take())).collect()
        };
        let mut all = of_document.unwrap_or_else(of_lines);
        all.retain(|d| d["severity"] == "error");
        all
    }
}

/// A text without colours.
fn plain(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.filter_map(|p| Some(p.split_once('m')?.1)).collect::<String>()
}

/// A command that takes longer than this is stopped, and counts as one that died.
const PATIENCE: Duration = Duration::from_secs(600);

impl Folder {
    pub fn new(program: Program) -> Folder {
        let folder = Folder { program, home: tempfile::tempdir().unwrap() };
        std::fs::write(folder.home.path().join("cli.tfrc"), "").unwrap();
        std::fs::create_dir(folder.path()).unwrap();
        folder
    }

    pub fn path(&self) -> PathBuf {
        self.home.path().join("work")
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// The content of a file, without the name of the folder.
    pub fn read(&self, name: &str) -> String {
        self.anonymous(&std::fs::read_to_string(self.path().join(name)).unwrap_or_default())
    }

    fn anonymous(&self, text: &str) -> String {
        text.replace(&self.path().display().to_string(), "<folder>")
    }

    pub fn run(&self, args: &[&str]) -> Answer {
        self.run_with(args, "")
    }

    /// Runs a command with a text on its standard input. Names of the folder are left out of what it says.
    pub fn run_with(&self, args: &[&str], input: &str) -> Answer {
        let file = |name: &str| self.home.path().join(name);
        std::fs::write(file("in"), input).unwrap();
        let open = |name: &str| std::fs::File::create(file(name)).unwrap();
        let mut command = Command::new(match self.program {
            Program::Gpuform => std::env::var_os("DIFFERENTIAL_BIN").unwrap_or(env!("CARGO_BIN_EXE_gpuform").into()),
            Program::Terraform => "terraform".into(),
        });
        command.args(args).current_dir(self.path()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", self.home.path());
        command.env("TF_CLI_CONFIG_FILE", file("cli.tfrc")).env("CHECKPOINT_DISABLE", "1").env("NO_COLOR", "1");
        command.stdin(std::fs::File::open(file("in")).map_or(Stdio::null(), Stdio::from));
        let mut child = command.stdout(open("out")).stderr(open("err")).spawn().unwrap();
        let start = Instant::now();
        let mut pause = Duration::from_millis(2);
        let code = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status.code().filter(|c| *c < 3),
                None if start.elapsed() > PATIENCE => {
                    child.kill().unwrap();
                    child.wait().unwrap();
                    break None;
                }
                None => std::thread::sleep(pause),
            }
            pause = (pause * 2).min(Duration::from_millis(20));
        };
        let text = |name: &str| {
            let text = String::from_utf8_lossy(&std::fs::read(file(name)).unwrap()).into_owned();
            self.anonymous(&plain(&text))
        };
        Answer { code, out: text("out"), err: text("err") }
    }
}
