//! Input that is made to do harm, or might as well be: secrets in error messages, control sequences, values without
//! bounds, files that never end. The answer is a short error, soon.

use crate::demo::{Work, text};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Runs a command that must end within a minute even on a busy machine.
fn within_a_minute(mut command: Command) -> Output {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = child.id();
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(child.wait_with_output()));
    ended.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| panic!("{command:?} ({id}) did not end")).unwrap()
}

/// The errors of a command that must fail soon, without a crash, and without much output.
#[track_caller]
fn refused(work: &Work, args: &[&str]) -> String {
    let out = within_a_minute(work.command(args));
    let errors = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{}{errors}", text(&out.stdout));
    assert!(errors.len() < 100_000, "{} bytes of errors", errors.len());
    errors
}

#[test]
fn an_error_does_not_tell_a_sensitive_key() {
    let work = Work::new(
        "variable \"v\" {\n  sensitive = true\n  default   = \"hunter2\"\n}\nlocals {\n  a = { a = 1 }[var.v]\n  b = tomap({ a = 1 \
         })[var.v]\n  c = tomap({ (var.v) = \"x\" })\n}\nresource \"terraform_data\" \"a\" {\n  input = [local.a, local.b]\n}\nvariable \
         \"m\" {\n  type    = map(number)\n  default = {}\n}\noutput \"c\" {\n  sensitive = true\n  value     = sum([for k, v in local.c : \
         tonumber(v)])\n}\n",
    );
    let errors = work.fails(&["plan", "-no-color"]);
    assert!(errors.contains("sensitive") && !errors.contains("hunter2"), "{errors}");
}

#[test]
fn an_infinite_number_is_refused_where_it_would_be_stored() {
    let work = Work::new(
        "locals {\n  n = 1 / 0\n}\noutput \"o\" {\n  value = [local.n]\n}\nresource \"terraform_data\" \"a\" {\n  input = local.n > 5 ? 1e1000000000 : 0\n}\n",
    );
    let errors = work.fails(&["plan", "-no-color"]);
    assert!(errors.contains("main.tf line 5") && errors.contains("main.tf line 8"), "{errors}");
    assert_eq!(errors.matches("Infinite number").count(), 2, "{errors}");
}

#[test]
fn control_characters_are_shown_as_escapes() {
    let work = Work::new(
        "resource \"terraform_data\" \"a\" {\n  input = \"\\u0000\\u001b[31m\\u200d\"\n}\nresource \"terraform_data\" \"b\" {\n  for_each = \
         toset([\"k\\u001b\"])\n  input    = \"a\\nb\\u001b[2J\"\n}\noutput \"o\" {\n  value = \"x\\ny\\u001b\"\n}\n",
    );
    let plan = work.ok(&["plan", "-no-color"]);
    assert!(plan.contains(r#""\x00\x1b[31m\u200d""#) && plan.contains(r"b\x1b[2J"), "{plan}");
    assert!(plan.contains(r#"terraform_data.b["k\u001b"] will be created"#), "{plan}");
    let applied = work.ok(&["apply", "-auto-approve", "-no-color"]);
    let shown = [plan, applied, work.ok(&["show", "-no-color"]), work.ok(&["output"]), work.ok(&["plan", "-no-color"])];
    assert!(shown.iter().all(|s| !s.contains('\u{1b}')));
}

#[test]
fn very_long_names_are_shown() {
    let name = "n".repeat(100_000);
    let work = Work::new(&format!("output \"{name}\" {{\n  value = 1\n}}\noutput \"a\" {{\n  value = 2\n}}\n"));
    assert!(work.ok(&["plan", "-no-color"]).contains(&name));
    work.ok(&["apply", "-auto-approve", "-no-color"]);
    assert!(work.ok(&["output"]).contains(&name));
}

#[test]
fn values_that_nest_too_deeply_are_refused() {
    let chain: String = (1..3000).map(|i| format!("  l{i} = [local.l{}]\n", i - 1)).collect();
    let work =
        Work::new(&format!("locals {{\n  l0 = [\"x\"]\n{chain}}}\noutput \"o\" {{\n  value = local.l2999\n}}\n"));
    assert!(refused(&work, &["plan", "-no-color"]).contains("levels deep"));
    work.write("main.tf", &format!("output \"o\" {{\n  value = [1]{}\n}}\n", "[*]".repeat(10_000)));
    assert!(refused(&work, &["plan", "-no-color"]).contains("Nesting too deep"));
}

#[test]
fn values_that_double_again_and_again_are_refused() {
    let doubled = |first: &str, next: &str| {
        let chain: String =
            (1..=40).map(|i| format!("  l{i} = {}\n", next.replace('@', &format!("local.l{}", i - 1)))).collect();
        format!("locals {{\n  l0 = {first}\n{chain}}}\noutput \"o\" {{\n  value = length(local.l40)\n}}\n")
    };
    let work = Work::new("");
    for (first, next) in [
        ("\"x\"", "\"${@}${@}\""),
        ("\"x\"", "join(\"\", [@, @])"),
        ("\"x\"", "replace(@, \"/.*/\", \"$0$0\")"),
        ("[1]", "[@, @]"),
        ("[1]", "concat(@, @)"),
        ("[1]", "flatten([@, @])"),
    ] {
        work.write("main.tf", &doubled(first, next));
        let errors = refused(&work, &["plan", "-no-color"]);
        assert!(errors.contains("too l") && errors.contains("main.tf line"), "{errors}");
    }
}

#[test]
fn a_file_that_is_no_configuration_gives_a_few_errors() {
    let work = Work::new("");
    std::fs::copy("/bin/ls", work.path("main.tf")).unwrap();
    refused(&work, &["validate", "-no-color"]);
    work.write("main.tf", "output \"a\" {\n  value = 1\n}\n");
    let mut plan = work.command(&["plan", "-no-color"]);
    plan.env("TF_CLI_CONFIG_FILE", "/bin/ls");
    assert!(within_a_minute(plan).stderr.len() < 100_000);
}

#[test]
fn files_that_never_end_are_refused() {
    let work = Work::new("output \"a\" {\n  value = 1\n}\n");
    assert!(Command::new("mkfifo").arg(work.path("pipe")).status().unwrap().success());
    for call in ["file(\"pipe\")", "filesha256(\"pipe\")", "filebase64(\"/dev/zero\")"] {
        work.write("main.tf", &format!("output \"a\" {{\n  value = {call}\n}}\n"));
        let errors = refused(&work, &["plan", "-no-color"]);
        assert!(errors.contains("main.tf line 2") && errors.contains("regular file"), "{errors}");
    }
    work.write("main.tf", "output \"a\" {\n  value = 1\n}\n");
    std::os::unix::fs::symlink("/dev/zero", work.path("zero.tf")).unwrap();
    assert!(refused(&work, &["plan", "-no-color"]).contains("zero.tf"));
    std::fs::remove_file(work.path("zero.tf")).unwrap();
    std::os::unix::fs::symlink("pipe", work.path("terraform.tfstate")).unwrap();
    assert!(refused(&work, &["plan", "-no-color", "-lock=false"]).contains("pipe"));
    std::os::unix::fs::symlink("pipe", work.path("pipe.tf")).unwrap();
    let out = within_a_minute(work.command(&["fmt", "pipe.tf"]));
    assert!(out.status.code() == Some(2) && text(&out.stderr).contains("regular file"), "{}", text(&out.stderr));
    std::fs::remove_file(work.path("pipe.tf")).unwrap();
    std::fs::remove_file(work.path("terraform.tfstate")).unwrap();
    assert!(refused(&work, &["plan", "-no-color", "-var-file=pipe"]).contains("nobody writes"));
    assert!(refused(&work, &["plan", "-no-color", "-var-file=/dev/zero"]).contains("64 MiB"));
    let mut plan = work.command(&["plan", "-no-color"]);
    plan.env("TF_CLI_CONFIG_FILE", "/dev/zero");
    let out = within_a_minute(plan);
    assert!(text(&out.stdout).contains("64 MiB") || text(&out.stderr).contains("64 MiB"));
}

/// Sends a signal.
fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn the_first_interrupt_ends_planning_and_evaluation() {
    let evaluating = "output \"a\" {\n  value = length([for a in range(1000) : [for b in range(1000) : [for c in range(9) : a]]])\n}\n";
    let planning = "resource \"terraform_data\" \"a\" {\n  count = 500000\n}\n";
    for (config, name) in [(evaluating, "-INT"), (planning, "-TERM")] {
        let work = Work::new(config);
        let mut plan = work.command(&["plan", "-no-color", "-out=p"]);
        let child = plan.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_secs(1));
        signal(&child, name);
        let begin = Instant::now();
        let out = child.wait_with_output().unwrap();
        assert_eq!(out.status.code(), Some(1), "{}{}", text(&out.stdout), text(&out.stderr));
        assert!(begin.elapsed() < Duration::from_secs(20));
        assert!(text(&out.stderr).contains("Interrupt received. Stopping."), "{}", text(&out.stderr));
        assert!(!work.path("p").exists());
    }
}

#[test]
fn all_errors_of_one_expression_are_shown() {
    let many = "join(\"\", formatlist(\"%d\", range(10000)))";
    let work = Work::new(&format!("output \"a\" {{\n  value = replace({many}, \"\", {many})\n}}\n"));
    assert_eq!(work.fails(&["plan", "-no-color"]).matches("Error: ").count(), 2);
}

#[test]
fn a_damaged_plan_file_is_refused() {
    let work = Work::new(
        "variable \"v\" {\n  default = { a = [1] }\n}\nresource \"terraform_data\" \"a\" {\n  input = var.v\n}\n",
    );
    work.ok(&["plan", "-no-color", "-out=good"]);
    let good = std::fs::read(work.path("good")).unwrap();
    let mut damaged =
        vec![good[..good.len() - 1].to_vec(), good[..good.len() / 2].to_vec(), good[good.len() / 2..].to_vec()];
    for at in (0..good.len()).step_by(good.len() / 24) {
        let mut flipped = good.clone();
        flipped[at] ^= 1;
        damaged.push(flipped);
    }
    let mut checksums = 0;
    for bytes in damaged {
        std::fs::write(work.path("bad"), bytes).unwrap();
        let out = within_a_minute(work.command(&["show", "-no-color", "bad"]));
        let errors = text(&out.stderr);
        // Not every bit of an archive means something.
        assert!(matches!(out.status.code(), Some(0 | 1)) && !errors.contains("panicked"), "{errors}");
        checksums += usize::from(errors.contains("hecksum"));
    }
    assert!(checksums > 5, "{checksums}");
}

#[test]
fn two_applies_at_once_lose_nothing() {
    let config = |n: u32| {
        format!(
            "resource \"terraform_data\" \"a\" {{\n  count = {n}\n  provisioner \"local-exec\" {{\n    command = \"sleep 1\"\n  }}\n}}\n"
        )
    };
    let work = Work::new(&config(2));
    let apply = || {
        let mut command = work.command(&["apply", "-auto-approve", "-no-color"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let both = [apply(), apply()].map(|child| child.wait_with_output().unwrap());
    let failed: Vec<String> = both.iter().filter(|o| !o.status.success()).map(|o| text(&o.stderr)).collect();
    assert!(failed.len() < 2 && failed.iter().all(|e| e.contains("lock")), "{failed:?}");
    assert_eq!(work.ok(&["state", "list"]), "terraform_data.a[0]\nterraform_data.a[1]\n");
    assert!(work.ok(&["plan", "-no-color"]).contains("No changes"));
}

#[test]
fn a_serial_that_cannot_grow_is_refused() {
    let work = Work::new("output \"a\" {\n  value = 1\n}\n");
    let state = format!("{{\"version\":4,\"serial\":{},\"lineage\":\"l\"}}", u64::MAX);
    work.write("terraform.tfstate", &state);
    assert!(refused(&work, &["apply", "-auto-approve", "-no-color"]).contains(&u64::MAX.to_string()));
    assert_eq!(work.read("terraform.tfstate"), state);
}

#[test]
fn a_template_cannot_render_itself() {
    let work = Work::new("output \"a\" {\n  value = templatefile(\"t.tmpl\", {})\n}\n");
    work.write("t.tmpl", "${templatefile(\"t.tmpl\", {})}");
    assert!(refused(&work, &["plan", "-no-color"]).contains("cannot render another template"));
}

#[test]
fn an_archive_that_unpacks_to_far_more_is_refused() {
    use std::io::Write;
    let work = Work::new("");
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file("plan", zip::write::SimpleFileOptions::default()).unwrap();
    zip.write_all(&vec![0; 64 << 20]).unwrap();
    std::fs::write(work.path("bomb"), zip.finish().unwrap().into_inner()).unwrap();
    assert!(refused(&work, &["show", "-no-color", "bomb"]).contains("too large"));
}

#[test]
fn what_a_provisioner_or_connection_complains_of_is_hidden_where_it_is_sensitive() {
    for block in [
        "provisioner \"local-exec\" {\n  command = \"true\"\n  interpreter = [var.s]\n}",
        "connection {\n  host = \"127.0.0.1\"\n}\nprovisioner \"file\" {\n  source = var.s\n  destination = \"/x\"\n}",
        "connection {\n  host = \"127.0.0.1\"\n}\nprovisioner \"remote-exec\" {\n  script = var.s\n}",
        "connection {\n  host = \"127.0.0.1\"\n  type = var.s\n}\nprovisioner \"remote-exec\" {\n  inline = [\"true\"]\n}",
        "connection {\n  host = var.s\n  timeout = \"1s\"\n}\nprovisioner \"remote-exec\" {\n  inline = [\"true\"]\n}",
    ] {
        let variable = "variable \"s\" {\n  sensitive = true\n  default   = \"hunter2\"\n}\n";
        let work = Work::new(&format!("{variable}resource \"terraform_data\" \"a\" {{\n{block}\n}}\n"));
        for json in [&["apply", "-auto-approve"][..], &["apply", "-auto-approve", "-json"]] {
            let out = work.run(json);
            let all = String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned();
            assert_eq!(out.status.code(), Some(1), "{block}: {all}");
            assert!(all.contains("(sensitive value)") && !all.contains("hunter2"), "{block}: {all}");
        }
    }
}
