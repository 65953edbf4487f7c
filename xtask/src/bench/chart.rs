//! The chart: for each row the time of both programs as bars on a logarithmic axis, as SVG without any script.

use crate::bench::Outcome;
use crate::bench::report::{ratios, time, title};
use std::fmt::Write;
use std::time::Duration;

const WIDTH: f64 = 960.0;
const LABELS: f64 = 330.0;
const BARS: f64 = 500.0;
const ROW: f64 = 34.0;
const TOP: f64 = 46.0;
/// The axis begins at a millisecond and has six decades.
const DECADES: f64 = 6.0;

/// Draws all rows.
pub fn draw(all: &[Outcome]) -> String {
    let height = TOP + ROW * all.len() as f64 + 12.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    legend(&mut svg);
    for decade in 0..=DECADES as u32 {
        let at = LABELS + BARS * f64::from(decade) / DECADES;
        let label = time(Duration::from_millis(10_u64.pow(decade)));
        let _ = writeln!(
            svg,
            "<path d=\"M{at} {TOP}V{}\" stroke=\"#ddd\"/><text x=\"{at}\" y=\"{}\" text-anchor=\"middle\" fill=\"#666\">{label}</text>",
            height - 8.0,
            TOP - 6.0
        );
    }
    for (i, o) in all.iter().enumerate() {
        row(&mut svg, o, TOP + ROW * i as f64 + 4.0);
    }
    svg.push_str("</svg>\n");
    svg
}

fn legend(svg: &mut String) {
    for (x, colour, name) in [(LABELS, OURS, "gpuform"), (LABELS + 90.0, THEIRS, "Terraform")] {
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"8\" width=\"12\" height=\"12\" fill=\"{colour}\"/><text x=\"{}\" y=\"18\">{name}</text>",
            x + 17.0
        );
    }
}

const OURS: &str = "#1b7f5c";
const THEIRS: &str = "#8a63d2";

fn row(svg: &mut String, o: &Outcome, top: f64) {
    let label = title(o).replace('`', "").replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(svg, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{label}</text>", LABELS - 8.0, top + 15.0);
    bar(svg, top, OURS, o.gpuform.median.wall, "");
    if let (Some(t), Some((faster, _))) = (&o.terraform, ratios(o)) {
        let least = if t.median.cut_off { "more than " } else { "" };
        bar(svg, top + 12.0, THEIRS, t.median.wall, &format!(" ({least}{faster:.0}×)"));
    }
}

fn bar(svg: &mut String, top: f64, colour: &str, wall: Duration, note: &str) {
    let decades = (wall.as_secs_f64() * 1000.0).max(1.0).log10().min(DECADES);
    let width = (BARS * decades / DECADES).max(1.0);
    let _ = writeln!(
        svg,
        "<rect x=\"{LABELS}\" y=\"{top}\" width=\"{width:.1}\" height=\"11\" fill=\"{colour}\"/><text x=\"{:.1}\" y=\"{}\" font-size=\"10\">{}{note}</text>",
        LABELS + width + 4.0,
        top + 9.0,
        time(wall)
    );
}
