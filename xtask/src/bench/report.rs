//! The table: for the terminal while rows are measured, and as a page of the documentation.

use crate::bench::rows::Target;
use crate::bench::{Measured, Outcome};
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
    let ours = &o.gpuform.median;
    let mut text = format!("{:<18} gpuform {:>9} {:>9}", o.row.name, time(ours.wall), memory(ours.memory));
    if let Some(alone) = &o.alone {
        let _ = write!(text, " (the provider alone {})", time(alone.median.wall));
    }
    if let (Some(t), Some((faster, share))) = (&o.terraform, ratios(o)) {
        let t = &t.median;
        let least = if t.cut_off { "more than " } else { "" };
        let _ = write!(
            text,
            "   terraform {:>9} {:>9}   {least}{faster:.1}× faster, {share:.2} of the memory",
            time(t.wall),
            memory(t.memory)
        );
    }
    text
}

/// The title with its size.
pub fn title(o: &Outcome) -> String {
    o.row.title.replace("{n}", &thousands(o.size))
}

/// How many times faster (at least, where Terraform was cut off), and the share of the memory.
pub fn ratios(o: &Outcome) -> Option<(f64, f64)> {
    let (ours, t) = (&o.gpuform.median, &o.terraform.as_ref()?.median);
    Some((t.wall.as_secs_f64() / ours.wall.as_secs_f64(), ours.memory as f64 / t.memory as f64))
}

/// The table in Markdown.
pub fn table(all: &[Outcome]) -> String {
    let mut out = String::from(
        "| work | gpuform | CPU | memory | Terraform | CPU | memory | runs | target | measured | met |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- | --- |\n",
    );
    for o in all {
        let cells = |m: &Measured| {
            let (s, least) = (&m.median, if m.median.cut_off { "> " } else { "" });
            format!("{least}{} | {least}{} | {}", time(s.wall), time(s.cpu), memory(s.memory))
        };
        let theirs = o.terraform.as_ref().map_or_else(|| " | | ".to_owned(), cells);
        let runs = o.terraform.as_ref().map_or_else(String::new, |t| format!(" / {}", t.runs));
        let Verdict { target, measured, met } = verdict(o, all);
        let met = met.map_or("", |m| if m { "yes" } else { "no" });
        let _ = writeln!(
            out,
            "| {} | {} | {theirs} | {}{runs} | {target} | {measured} | {met} |",
            title(o),
            cells(&o.gpuform),
            o.gpuform.runs
        );
    }
    out
}

/// The page `docs/bench/results.md`.
pub fn page(all: &[Outcome], about: &About) -> String {
    let command = if about.quick { "cargo xtask bench --quick" } else { "cargo xtask bench" };
    let terraform = about.terraform.as_deref().unwrap_or("no Terraform");
    format!(
        "# Measured\n\n{} beside {terraform}, on {} cores of {}, by `{command}`. Both programs ran alternately on the same \
         inputs; times and memory are medians of as many runs as \"runs\" says (gpuform / Terraform). \"CPU\" is user and \
         system time of the program and its plugins, \"memory\" the largest resident size. A run of Terraform is stopped \
         after {}; its row then says what it needed more than. \"The provider alone\" is a program that makes the same calls \
         of the same provider, as many at once, without an engine. What the time goes to is in \
         [performance.md](../performance.md).\n\n![chart](chart.svg)\n\n{}",
        about.gpuform,
        about.cores,
        about.processor,
        time(super::LIMIT),
        table(all)
    )
}

/// What a row aims at and came to, in words; whether the target is met is unknown where there is nothing to compare with.
struct Verdict {
    target: String,
    measured: String,
    met: Option<bool>,
}

fn verdict(o: &Outcome, all: &[Outcome]) -> Verdict {
    let (ours, ratios) = (&o.gpuform.median, ratios(o));
    let least = if o.terraform.as_ref().is_some_and(|t| t.median.cut_off) { "> " } else { "" };
    let times = ratios.map(|(faster, _)| format!("{least}{}×", factor(faster))).unwrap_or_default();
    let each = |o: &Outcome| o.gpuform.median.wall.as_secs_f64() / f64::from(o.size.max(1));
    let of_each = format!("{:.1} µs each", each(o) * 1e6);
    // How the time per resource relates to that of another row.
    let growth = |like: &str| all.iter().find(|b| b.row.name == like).map(|base| each(o) / each(base));
    let grown = |g: Option<f64>| g.map_or_else(|| of_each.clone(), |g| format!("{of_each}, {g:.2} of that"));
    let each_target = |factor: f64| format!("time of each at most {factor} of that among 10,000");
    match o.row.target {
        Target::None => Verdict { target: String::new(), measured: of_each, met: None },
        Target::Faster(n) => Verdict { target: format!("{n}×"), measured: times, met: ratios.map(|(f, _)| f >= n) },
        Target::NearAlone(n, limit) => {
            let share = o.alone.as_ref().map(|a| ours.wall.as_secs_f64() / a.median.wall.as_secs_f64());
            let alone = o.alone.as_ref().map(|a| time(a.median.wall)).unwrap_or_default();
            let measured = share.map_or(times.clone(), |s| format!("{times}, {s:.2} of it ({alone})"));
            let met = ratios.zip(share).map(|((f, _), share)| f >= n && share <= limit);
            Verdict { target: format!("{n}×, {limit} of the provider alone"), measured, met }
        }
        Target::FasterInMemory(n, limit) => Verdict {
            target: format!("{n}×, {limit} of the memory"),
            measured: ratios.map_or(String::new(), |(_, share)| format!("{times}, {share:.2} of the memory")),
            met: ratios.map(|(f, share)| f >= n && share <= limit),
        },
        Target::Within(ms) => Verdict {
            target: format!("{ms} ms"),
            measured: time(ours.wall),
            met: Some(ours.wall <= Duration::from_millis(ms)),
        },
        Target::Linear { like, factor } => {
            let growth = growth(like);
            Verdict { target: each_target(factor), measured: grown(growth), met: growth.map(|g| g <= factor) }
        }
        Target::LinearWithin { like, factor, seconds, memory: bytes } => {
            let growth = growth(like);
            let fits = ours.wall <= Duration::from_secs(seconds) && ours.memory <= bytes;
            Verdict {
                target: format!("{}, {seconds} s, {}", each_target(factor), memory(bytes)),
                measured: grown(growth),
                met: growth.map(|g| g <= factor && fits),
            }
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
