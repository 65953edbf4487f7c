//! `gpuform fmt`: what it prints, what it writes, and its exit codes, as Terraform 1.11.4 has them.

use crate::demo::{Work, text};
use std::io::Write;
use std::process::{Output, Stdio};

const ODD: &str = "a   =1\n";
const CANONICAL: &str = "a = 1\n";

/// Runs gpuform with something on standard input.
fn piped(work: &Work, args: &[&str], input: &str) -> Output {
    let mut child =
        work.command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// A directory with a file of every kind in it.
fn tree() -> Work {
    let work = Work::new(ODD);
    for dir in ["b/c", "a", ".hidden", "old~"] {
        std::fs::create_dir_all(work.path(dir)).unwrap();
    }
    for file in
        ["b/x.tf", "b/c/y.tf", "a/q.tfvars", "a/t.tftest.hcl", ".hidden/h.tf", "old~/o.tf", ".dot.tf", "j.tf.json"]
    {
        work.write(file, ODD);
    }
    work
}

fn code(out: &Output) -> Option<i32> {
    out.status.code()
}

#[test]
fn files_of_the_directory_are_rewritten_and_listed() {
    let work = tree();
    assert_eq!(work.ok(&["fmt"]), "main.tf\n");
    assert_eq!(work.read("main.tf"), CANONICAL);
    assert_eq!(work.read("b/x.tf"), ODD);
    assert_eq!(work.ok(&["fmt"]), "");
}

#[test]
fn recursion_skips_hidden_directories_and_links() {
    let work = tree();
    std::os::unix::fs::symlink("b", work.path("link")).unwrap();
    assert_eq!(work.ok(&["fmt", "-recursive"]), "a/q.tfvars\na/t.tftest.hcl\nb/c/y.tf\nb/x.tf\nmain.tf\n");
    for untouched in [".hidden/h.tf", "old~/o.tf", ".dot.tf", "j.tf.json"] {
        assert_eq!(work.read(untouched), ODD, "{untouched}");
    }
}

#[test]
fn targets_are_files_or_directories() {
    let work = tree();
    let here = work.path("a").display().to_string();
    assert_eq!(work.ok(&["fmt", "b/", ".dot.tf", &here]), "b/x.tf\n.dot.tf\na/q.tfvars\na/t.tftest.hcl\n");
    for wrong in ["nowhere", "j.tf.json"] {
        let out = work.run(&["fmt", wrong]);
        assert_eq!(code(&out), Some(2), "{wrong}");
        assert!(text(&out.stderr).contains(wrong));
    }
}

#[test]
fn check_writes_nothing_and_says_so_by_its_exit_code() {
    let work = Work::new(ODD);
    let out = work.run(&["fmt", "-check"]);
    assert_eq!((code(&out), text(&out.stdout)), (Some(3), "main.tf\n".into()));
    assert_eq!(work.read("main.tf"), ODD);
    work.write("main.tf", CANONICAL);
    assert_eq!(code(&work.run(&["fmt", "-check"])), Some(0));
}

#[test]
fn flags_choose_what_is_shown_and_written() {
    let work = Work::new("a = 1\nb = 2\n\n\nc {}\n\n\nx  = 1");
    let diff = "--- old/main.tf\n+++ new/main.tf\n@@ -5,4 +5,4 @@\n c {}\n \n \n-x  = 1\n\\ No newline at end of file\n+x = 1\n\\ No newline at end of file\n";
    assert_eq!(work.ok(&["fmt", "-diff", "-list=false", "-write=false"]), diff);
    assert_eq!(work.ok(&["fmt", "-diff", "-write=false"]), format!("main.tf\n{diff}"));
    assert_eq!(work.ok(&["fmt", "-list=false"]), "");
    assert!(work.read("main.tf").ends_with("x = 1"));
}

#[test]
fn standard_input_is_printed() {
    let work = Work::new("");
    let out = piped(&work, &["fmt", "-"], "a   =1");
    assert_eq!((code(&out), text(&out.stdout)), (Some(0), CANONICAL.into()));
    let out = piped(&work, &["fmt", "-check", "-"], ODD);
    assert_eq!((code(&out), text(&out.stdout)), (Some(3), String::new()));
    let out = piped(&work, &["fmt", "-diff", "-"], ODD);
    assert_eq!(text(&out.stdout), "--- old/<stdin>\n+++ new/<stdin>\n@@ -1 +1 @@\n-a   =1\n+a = 1\n");
}

#[test]
fn files_with_errors_stay_and_the_others_are_rewritten() {
    let work = Work::new(ODD);
    work.write("bad.tf", "a   = 1 }\n");
    let out = work.run(&["fmt", "-no-color"]);
    assert_eq!((code(&out), text(&out.stdout)), (Some(2), "main.tf\n".into()));
    assert!(text(&out.stderr).contains("on bad.tf line 1"), "{}", text(&out.stderr));
    assert_eq!(work.read("bad.tf"), "a   = 1 }\n");
    assert_eq!(code(&piped(&work, &["fmt", "-"], "a = \n")), Some(2));
    work.write("main.tf", ODD);
    let out = work.run(&["fmt", "-check"]);
    assert_eq!((code(&out), text(&out.stdout)), (Some(2), String::new()));
}
