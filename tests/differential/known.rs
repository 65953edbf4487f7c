//! The differences that are meant to be: those that the README names under "What differs from Terraform 1.11".

use crate::batch::Facts;

/// Why two answers about an expression or configuration may differ, if they may.
pub fn reason(text: &str, gpuform: &Facts, terraform: &Facts) -> Option<&'static str> {
    let of = |facts: &Facts, name: &str| facts.get(name).cloned().unwrap_or_default();
    let differ = |name: &str| gpuform.get(name) != terraform.get(name);
    let differing: Vec<&str> = gpuform.keys().chain(terraform.keys()).copied().filter(|n| differ(n)).collect();
    if of(gpuform, "summary") == "Infinite number" {
        return Some("an infinite number is an error where it would be stored");
    }
    if of(terraform, "verdict") == "breaks the program" {
        return Some("Terraform ends without naming an expression, as where it finds its own plan inconsistent");
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
        return Some(
            "the plan is laid out differently: white space at the beginning of texts, columns of names with accents",
        );
    }
    if text.contains("matchkeys(") && text.contains("later") {
        return Some("matchkeys is unknown as long as the keys to search for are");
    }
    if differing.iter().all(|n| *n == "stage") {
        return Some("an error is found earlier or later, on the way from plan to apply");
    }
    None
}
