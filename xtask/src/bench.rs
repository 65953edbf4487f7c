//! `cargo xtask bench`: gpuform beside Terraform, on the same inputs in the same run. This file takes the options and
//! runs the rows; `bench/` has what is measured (`rows`, `inputs`), how (`measure`), and how it is shown (`report`,
//! `chart`).

mod chart;
pub mod inputs;
mod measure;
mod report;
mod rows;

use crate::Result;
use crate::process::Interrupt;
use crate::workspace::Workspace;
use measure::{Ended, Sample};
use rows::Row;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How often a program is measured, and after how much time in one row it is not started again.
struct Effort {
    runs: usize,
    enough: Duration,
}

/// The options of the task.
#[derive(Default)]
struct Options {
    quick: bool,
    only: Vec<String>,
    executables: Option<PathBuf>,
}

/// What was measured for a row.
pub struct Outcome {
    pub row: Row,
    pub size: u32,
    pub gpuform: Measured,
    pub terraform: Option<Measured>,
    /// What the provider needs by itself.
    pub alone: Option<Measured>,
}

/// The median of several runs.
pub struct Measured {
    pub median: Sample,
    pub runs: usize,
}

/// Terraform is not waited for longer than this: where its time grows with the square of the size, it would need hours.
pub const LIMIT: Duration = Duration::from_secs(300);

/// Runs the task.
///
/// # Errors
/// When something cannot be built, when a measured command fails, or at Ctrl-C.
pub fn run(arguments: &[String]) -> Result {
    let options = Options::parse(arguments)?;
    let workspace = Workspace::find()?;
    let interrupt = Interrupt::listen()?;
    let bench = Bench::prepare(&options, &workspace, &interrupt)?;
    let chosen =
        rows::all().into_iter().filter(|r| options.only.is_empty() || options.only.iter().any(|o| o == r.name));
    let mut outcomes = Vec::new();
    for row in chosen {
        let size = if options.quick { row.quick } else { row.size };
        let outcome = bench.row(row, size)?;
        println!("{}", report::line(&outcome));
        outcomes.push(outcome);
    }
    let about = bench.about(options.quick);
    println!("\n{}", report::table(&outcomes));
    if options.only.is_empty() {
        let place = workspace.root.join("docs/bench");
        let write = |name: &str, text: String| {
            fs::create_dir_all(&place)
                .and_then(|()| fs::write(place.join(name), text))
                .map_err(|e| format!("{}: {e}", place.join(name).display()))
        };
        write("results.md", report::page(&outcomes, &about))?;
        write("chart.svg", chart::draw(&outcomes))?;
        println!("Written to docs/bench/results.md and docs/bench/chart.svg.");
    }
    Ok(())
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options::default();
        let mut rest = arguments.iter();
        while let Some(a) = rest.next() {
            let mut value = || rest.next().cloned().ok_or_else(|| format!("{a} needs a value."));
            match a.as_str() {
                "--quick" => options.quick = true,
                "--only" => options.only.push(value()?),
                "--executables" => options.executables = Some(value()?.into()),
                other => return Err(format!("bench has no option \"{other}\".\n\n{}", crate::HELP)),
            }
        }
        let rows = rows::all();
        if let Some(unknown) = options.only.iter().find(|o| !rows.iter().any(|r| r.name == **o)) {
            let names: Vec<&str> = rows.iter().map(|r| r.name).collect();
            return Err(format!("there is no row \"{unknown}\"; there are {}.", names.join(", ")));
        }
        Ok(options)
    }
}

/// The programs and the folder they work in.
struct Bench<'a> {
    gpuform: PathBuf,
    /// The provider, and the program that calls it without an engine.
    demo: PathBuf,
    alone: PathBuf,
    terraform: Option<PathBuf>,
    folder: Folder,
    settings: PathBuf,
    quick: bool,
    interrupt: &'a Interrupt,
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl<'a> Bench<'a> {
    fn prepare(options: &Options, workspace: &Workspace, interrupt: &'a Interrupt) -> Result<Bench<'a>> {
        let (gpuform, plugins) = match &options.executables {
            Some(place) => {
                let place = place.canonicalize().map_err(|e| format!("{}: {e}", place.display()))?;
                (place.join("gpuform"), place)
            }
            None => {
                println!("Building optimised executables (the first time takes minutes)");
                let own = ["build", "--release", "--package", "gpuform", "--bins", "--example", ALONE];
                interrupt.run(&mut workspace.cargo(&own))?;
                let demo = ["build", "--release", "--package", "gpuform-provider-sdk", "--example", DEMO];
                interrupt.run(&mut workspace.cargo(&demo))?;
                (workspace.executable("gpuform", true), workspace.target.join("release/examples"))
            }
        };
        let folder = Folder(workspace.target.join(format!("bench-{}", std::process::id())));
        let settings = folder.0.join("cli.tfrc");
        let text = format!(
            "disable_checkpoint = true\nprovider_installation {{\n  dev_overrides {{\n    \"gpuform/demo\" = \"{}\"\n  }}\n  direct {{}}\n}}\n",
            plugins.display()
        );
        fs::create_dir_all(&folder.0)
            .and_then(|()| fs::write(&settings, text))
            .map_err(|e| format!("{}: {e}", folder.0.display()))?;
        let terraform = find("terraform");
        if terraform.is_none() {
            println!("There is no \"terraform\" in PATH: gpuform is measured alone.");
        }
        let (demo, alone) = (plugins.join(DEMO), plugins.join(ALONE));
        Ok(Bench { gpuform, demo, alone, terraform, folder, settings, quick: options.quick, interrupt })
    }

    fn effort(&self, terraform: bool) -> Effort {
        let (runs, seconds) = match (self.quick, terraform) {
            (false, false) => (5, 30),
            (false, true) => (3, 20),
            (true, false) => (3, 3),
            (true, true) => (1, 0),
        };
        Effort { runs, enough: Duration::from_secs(seconds) }
    }

    /// Measures both programs alternately.
    fn row(&self, row: Row, size: u32) -> Result<Outcome> {
        let failed = |e: std::io::Error| format!("{}: {e}", row.name);
        let _ = fs::remove_dir_all(self.folder.0.join(row.name));
        let mut ours = Place::new(&self.gpuform, self.folder.0.join(row.name).join("gpuform"), &self.settings);
        fs::create_dir_all(&ours.folder).and_then(|()| (row.input)(&ours.folder, size)).map_err(failed)?;
        for command in row.seed {
            ours.run(command, self.interrupt)?;
        }
        let mut theirs = None;
        if let (Some(program), true) = (&self.terraform, row.terraform) {
            let place = Place::new(program, self.folder.0.join(row.name).join("terraform"), &self.settings);
            copy(&ours.folder, &place.folder).map_err(failed)?;
            theirs = Some(place);
        }
        for place in std::iter::once(&mut ours).chain(&mut theirs) {
            for command in row.before {
                if place.run(command, self.interrupt)?.cut_off {
                    return Err(format!("{}: what comes before the measured command takes too long.", row.name));
                }
            }
            place.keep().map_err(failed)?;
        }
        let mut runs = vec![Runs::new(&ours, row.command.iter().copied(), self.effort(false))];
        runs.extend(theirs.as_ref().map(|p| Runs::new(p, row.command.iter().copied(), self.effort(true))));
        let alone = Place::new(&self.alone, self.folder.0.join(row.name).join("alone"), &self.settings);
        let (demo, count) = (self.demo.display().to_string(), size.to_string());
        if let Some(what) = row.alone {
            fs::create_dir_all(&alone.folder).map_err(failed)?;
            runs.push(Runs::new(&alone, [demo.as_str(), what, count.as_str()], self.effort(false)));
        }
        while runs.iter_mut().map(|r| r.once(self.interrupt)).collect::<Result<Vec<bool>>>()?.contains(&true) {}
        let mut medians = runs.iter().map(|r| {
            let runs = r.samples.len();
            measure::median(&r.samples).map(|median| Measured { median, runs })
        });
        let gpuform = medians.next().flatten().ok_or("nothing was measured")?;
        let terraform = theirs.as_ref().and_then(|_| medians.next().flatten());
        let alone = medians.next().flatten();
        let _ = fs::remove_dir_all(self.folder.0.join(row.name));
        Ok(Outcome { row, size, gpuform, terraform, alone })
    }

    /// The machine and the programs, for the report.
    fn about(&self, quick: bool) -> report::About {
        let version = |program: &Path| {
            let out = Command::new(program).arg("version").env("CHECKPOINT_DISABLE", "1").output().ok()?;
            String::from_utf8_lossy(&out.stdout).lines().next().map(str::to_owned)
        };
        let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpu.lines().find_map(|l| l.strip_prefix("model name")?.split_once(": ").map(|(_, m)| m.to_owned()));
        report::About {
            quick,
            processor: model.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            gpuform: version(&self.gpuform).unwrap_or_default(),
            terraform: self.terraform.as_deref().and_then(version),
        }
    }
}

/// A command that is measured several times.
struct Runs<'a> {
    place: &'a Place<'a>,
    command: Vec<&'a str>,
    effort: Effort,
    samples: Vec<Sample>,
}

impl<'a> Runs<'a> {
    fn new(place: &'a Place<'a>, command: impl IntoIterator<Item = &'a str>, effort: Effort) -> Runs<'a> {
        Runs { place, command: command.into_iter().collect(), effort, samples: Vec::new() }
    }

    /// Runs the command once more, unless that is enough; whether it did.
    fn once(&mut self, interrupt: &Interrupt) -> Result<bool> {
        let spent: Duration = self.samples.iter().map(|s| s.wall).sum();
        if self.samples.len() >= self.effort.runs || !self.samples.is_empty() && spent >= self.effort.enough {
            return Ok(false);
        }
        self.place.reset().map_err(|e| format!("{}: {e}", self.place.folder.display()))?;
        self.samples.push(self.place.run(&self.command, interrupt)?);
        Ok(true)
    }
}

const DEMO: &str = "terraform-provider-demo";
const ALONE: &str = "provider-alone";
const STATE: &str = "terraform.tfstate";

/// One program in its working directory.
struct Place<'a> {
    program: &'a Path,
    folder: PathBuf,
    settings: &'a Path,
}

impl Place<'_> {
    fn new<'a>(program: &'a Path, folder: PathBuf, settings: &'a Path) -> Place<'a> {
        Place { program, folder, settings }
    }

    fn kept(&self) -> PathBuf {
        self.folder.with_extension("kept")
    }

    /// What every run starts from.
    fn keep(&self) -> std::io::Result<()> {
        for name in [STATE, "store"] {
            let path = self.folder.join(name);
            if path.exists() {
                copy(&path, &self.kept().join(name))?;
            }
        }
        Ok(())
    }

    /// Back to what was kept: a run must not see what the one before it has made.
    fn reset(&self) -> std::io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().contains(STATE) {
                fs::remove_file(entry.path())?;
            }
        }
        let _ = fs::remove_dir_all(self.folder.join("store"));
        if self.kept().exists() { copy(&self.kept(), &self.folder) } else { Ok(()) }
    }

    /// Runs a command that must succeed.
    fn run(&self, arguments: &[&str], interrupt: &Interrupt) -> Result<Sample> {
        let log = self.folder.with_extension("log");
        let told = |e: std::io::Error| format!("{}: {e}", self.program.display());
        let out = File::create(&log).map_err(told)?;
        let mut command = Command::new(self.program);
        for (name, _) in std::env::vars_os().filter(|(n, _)| n.to_string_lossy().starts_with("TF_")) {
            command.env_remove(name);
        }
        command.args(arguments).current_dir(&self.folder).env("CHECKPOINT_DISABLE", "1");
        command.env("TF_CLI_CONFIG_FILE", self.settings).env("DEMO_STORE", self.folder.join("store"));
        command.stdin(Stdio::null()).stderr(out.try_clone().map_err(told)?).stdout(out);
        let Ended { success, sample } = measure::run(&mut command, LIMIT).map_err(told)?;
        if interrupt.requested() {
            return Err("Interrupted.".to_owned());
        }
        if !success && !sample.cut_off {
            let text = fs::read_to_string(&log).unwrap_or_default();
            return Err(format!("{} {} failed:\n{text}", self.program.display(), arguments.join(" ")));
        }
        Ok(sample)
    }
}

/// Copies a file or a whole folder.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::copy(from, to).map(drop)
}

/// An executable in PATH.
fn find(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|p| p.join(name)).find(|p| p.is_file())
}
