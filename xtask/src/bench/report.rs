//! The table: for the terminal while rows are measured, and as a page of the documentation.

use crate::bench::Outcome;
use crate::bench::measure::Sample;
use crate::bench::rows::Target;
use std::fmt::Write;
use std::time::Duration;

/// Where and what was measured.
pub struct About {
    pub quick: bool,
    pub processor: String,
    pub cores: usize,
    pub gpuform: String,
    pub terraform: Option<String>,
}

/// A row in words.
pub fn line(o: &Outcome) -> String {
    let mut ours = format!("{:<18} gpuform {:>9} {:>9}", o.row.name, time(o.gpuform.wall), memory(o.gpuform.memory));
    if let Some(alone) = &o.alone {
        let _ = write!(ours, " (the provider alone {})", time(alone.wall));
    }
    match (&o.terraform, ratios(o)) {
        (Some(t), Some((faster, share))) => {
            format!(
                "{ours}   terraform {:>9} {:>9}   {faster:.1}× faster, {share:.2} of the memory",
                time(t.wall),
                memory(t.memory)
            )
        }
        _ => ours,
    }
}

/// The title with its size.
pub fn title(o: &Outcome) -> String {
    o.row.title.replace("{n}", &thousands(o.size))
}

/// How many times faster, and the share of the memory.
pub fn ratios(o: &Outcome) -> Option<(f64, f64)> {
    let t = o.terraform.as_ref()?;
    Some((t.wall.as_secs_f64() / o.gpuform.wall.as_secs_f64(), o.gpuform.memory as f64 / t.memory as f64))
}

/// The table in Markdown.
pub fn table(all: &[Outcome]) -> String {
    let mut out = String::from(
        "| work | gpuform | CPU | memory | Terraform | CPU | memory | faster | target | met |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |\n",
    );
    for o in all {
        let cells = |s: &Sample| format!("{} | {} | {}", time(s.wall), time(s.cpu), memory(s.memory));
        let bound = o.alone.map_or_else(String::new, |a| format!(" (the provider alone: {})", time(a.wall)));
        let theirs = o.terraform.as_ref().map_or_else(|| " | | ".to_owned(), cells);
        let faster = ratios(o).map_or_else(String::new, |(f, _)| format!("{}×", factor(f)));
        let (target, met) = verdict(o, all);
        let met = met.map_or("", |m| if m { "yes" } else { "no" });
        let _ =
            writeln!(out, "| {}{bound} | {} | {theirs} | {faster} | {target} | {met} |", title(o), cells(&o.gpuform));
    }
    out
}

/// The page `docs/bench/results.md`.
pub fn page(all: &[Outcome], about: &About) -> String {
    let command = if about.quick { "cargo xtask bench --quick" } else { "cargo xtask bench" };
    let terraform = about.terraform.as_deref().unwrap_or("no Terraform");
    format!(
        "# Measured\n\n{} beside {terraform}, on {} cores of {}, by `{command}`. Both programs ran alternately on the same \
         inputs; times and memory are medians. \"CPU\" is user and system time of the program and its plugins, \"memory\" \
         the largest resident size. What the time goes to is in [performance.md](../performance.md).\n\n![chart](chart.svg)\n\n{}",
        about.gpuform,
        about.cores,
        about.processor,
        table(all)
    )
}

/// The target in words, and whether it is met; the latter is unknown where there is nothing to compare with.
fn verdict(o: &Outcome, all: &[Outcome]) -> (String, Option<bool>) {
    let ratios = ratios(o);
    let per_resource = |o: &Outcome| o.gpuform.wall.as_secs_f64() / f64::from(o.size.max(1));
    let linear = |like: &str, limit: f64| {
        let base = all.iter().find(|b| b.row.name == like)?;
        Some(per_resource(o) <= per_resource(base) * limit)
    };
    match o.row.target {
        Target::None => (String::new(), None),
        Target::Faster(n) => (format!("{n}×"), ratios.map(|(f, _)| f >= n)),
        Target::NearAlone(n, factor) => {
            let near = o.alone.map(|a| o.gpuform.wall.as_secs_f64() <= a.wall.as_secs_f64() * factor);
            let met = ratios.zip(near).map(|((f, _), near)| f >= n && near);
            (format!("{n}×, and {factor} × the provider alone"), met)
        }
        Target::FasterInMemory(n, share) => {
            (format!("{n}×, {share} of the memory"), ratios.map(|(f, m)| f >= n && m <= share))
        }
        Target::Within(ms) => (format!("{ms} ms"), Some(o.gpuform.wall <= Duration::from_millis(ms))),
        Target::Linear { like, factor } => {
            (format!("per resource within {:.0} % of 10,000", (factor - 1.0) * 100.0), linear(like, factor))
        }
        Target::LinearWithin { like, factor, seconds, memory: bytes } => {
            let fits = o.gpuform.wall <= Duration::from_secs(seconds) && o.gpuform.memory <= bytes;
            let text = format!("the same; {seconds} s and {}", memory(bytes));
            (text, linear(like, factor).map(|l| l && fits))
        }
    }
}

/// A duration with three figures.
pub fn time(d: Duration) -> String {
    let ms = d.as_secs_f64() * 1000.0;
    match ms {
        _ if ms < 10.0 => format!("{ms:.1} ms"),
        _ if ms < 1000.0 => format!("{ms:.0} ms"),
        _ if ms < 10_000.0 => format!("{:.2} s", ms / 1000.0),
        _ => format!("{:.1} s", ms / 1000.0),
    }
}

fn memory(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

fn factor(f: f64) -> String {
    if f < 10.0 { format!("{f:.1}") } else { format!("{f:.0}") }
}

fn thousands(n: u32) -> String {
    if n < 1000 { n.to_string() } else { format!("{},{:03}", thousands(n / 1000), n % 1000) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!(thousands(1_050_007), "1,050,007");
        assert_eq!(time(Duration::from_micros(4_210)), "4.2 ms");
        assert_eq!(time(Duration::from_millis(61_234)), "61.2 s");
        assert_eq!((factor(3.06), factor(312.4)), ("3.1".to_owned(), "312".to_owned()));
    }
}
