//! The differences that are meant to be: those that the README names under "What differs from Terraform 1.11", and defects
//! of Terraform's that end it.

use crate::batch::Facts;
use crate::deployment::BREAKS;

/// Why two answers about an expression or configuration may differ, if they may.
pub fn reason(text: &str, gpuform: &Facts, terraform: &Facts) -> Option<&'static str> {
    let of = |facts: &Facts, name: &str| facts.get(name).cloned().unwrap_or_default();
    let differ = |name: &str| gpuform.get(name) != terraform.get(name);
    let differing: Vec<&str> = gpuform.keys().chain(terraform.keys()).copied().filter(|n| differ(n)).collect();
    let is_about_second = |name: &&str| name.ends_with(", 2") || *name == "broken by";
    if ["verdict", "verdict, 2"].iter().any(|v| of(gpuform, v) == BREAKS) {
        return None;
    }
    if of(gpuform, "summary") == "Infinite number" {
        return Some("an infinite number is an error where it would be stored");
    }
    if of(terraform, "verdict") == BREAKS
        || of(terraform, "verdict, 2") == BREAKS && differing.iter().all(is_about_second)
    {
        return Some("Terraform ends without saying what is wrong, as where it finds its own plan inconsistent");
    }
    if differing.iter().all(|n| n.starts_with("shown") && shows_otherwise(&of(gpuform, n), &of(terraform, n))) {
        return Some(
            "a sensitive terraform_data.output is hidden in plans that people see, and an empty string is not null",
        );
    }
    let unsigned = |facts: &Facts, name: &str| of(facts, name).replace("-0", "0");
    if differing.iter().all(|n| n.starts_with("stored") && unsigned(gpuform, n) == unsigned(terraform, n)) {
        return Some("the sign of a negative zero is lost in other places");
    }
    let escaped = |n: &&str| of(gpuform, n).contains("\\x") || of(gpuform, n).contains("\\u");
    if differing.iter().all(|n| matches!(*n, "console" | "shown") && escaped(n)) {
        return Some("control characters are shown as escapes, also in texts of several lines");
    }
    let of_folder = |name: &str| text.contains(name) && (text.contains("abspath") || text.contains("path."));
    if of_folder("strrev(") || of_folder("sha") || of_folder("md5") || of_folder("base64") {
        return Some("the two programs run in folders with different names");
    }
    let words = |facts: &Facts, name: &str| of(facts, name).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    if differing.iter().all(|n| n.starts_with("shown") && words(gpuform, n) == words(terraform, n)) {
        return Some("white space at the beginning of a text of several lines is shown");
    }
    if text.contains("matchkeys(") && text.contains("later") {
        return Some("matchkeys is unknown as long as the keys to search for are");
    }
    None
}

/// Whether two plans differ only in lines that gpuform writes otherwise on purpose.
fn shows_otherwise(gpuform: &str, terraform: &str) -> bool {
    let mut theirs = terraform.lines().peekable();
    for line in gpuform.lines() {
        let about_marks = ["# Warning: this attribute value will", "# display in UI output", "# after applying this"];
        if theirs.peek() != Some(&line) && about_marks.iter().any(|start| line.trim_start().starts_with(start)) {
            continue;
        }
        let Some(other) = theirs.next() else { return false };
        if line == other {
            continue;
        }
        let (Some((ours, value)), Some((name, _))) = (line.split_once(" = "), other.split_once(" = ")) else {
            return false;
        };
        let hidden =
            ours.trim_start_matches([' ', '~', '+', '-']).trim_end() == "output" && value == "(sensitive value)";
        let empty = value == "\"\" -> (known after apply)" && other.ends_with(" = null -> (known after apply)");
        if ours != name || !(hidden || empty) {
            return false;
        }
        skip_value(other, &mut theirs);
    }
    theirs.next().is_none()
}

/// Goes past the lines of a value that begins in `first`.
fn skip_value<'a>(first: &str, lines: &mut impl Iterator<Item = &'a str>) {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let inside = depth(first) + 2;
    if !first.ends_with(['{', '[', '(']) && !first.ends_with("<<-EOT") {
        return;
    }
    for line in lines.by_ref() {
        if depth(line) == inside && line.trim_start().starts_with(['}', ']', ')', 'E']) {
            return;
        }
    }
}
