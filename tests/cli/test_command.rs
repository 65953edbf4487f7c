//! `gpuform test`: what a user gets from test files. Expectations about statuses, counts and exit codes were recorded
//! from Terraform 1.11 on the same files.

use crate::demo::{Work, is_built, text};
use serde_json::Value;

const CONFIG: &str = "variable \"v\" {\n  default = \"d\"\n  validation {\n    condition     = var.v != \"bad\"\n    error_message = \"v is bad\"\n  \
                      }\n}\nresource \"terraform_data\" \"a\" {\n  input = var.v\n}\ncheck \"c\" {\n  assert {\n    condition     = var.v != \"odd\"\n    \
                      error_message = \"v is odd\"\n  }\n}\noutput \"o\" {\n  value = terraform_data.a.output\n}\noutput \"id\" {\n  value = \
                      terraform_data.a.id\n}\n";

const DEMO: &str = "terraform {\n  required_providers {\n    demo = { source = \"gpuform/demo\" }\n  }\n}\nresource \"demo_thing\" \"a\" {\n  name = \"first\"\n}\nresource \
                    \"demo_thing\" \"b\" {\n  name = \"on-${demo_thing.a.id}\"\n}\noutput \"id\" {\n  value = demo_thing.a.id\n}\n";

/// A directory with the configuration above and one test file.
fn with_test(test: &str) -> Work {
    let work = Work::new(CONFIG);
    work.write("a.tftest.hcl", test);
    work
}

/// How each run of a JSON stream ended, and the counts at its end: passed, failed, errored, skipped.
fn results(work: &Work, args: &[&str]) -> (Vec<(String, String)>, [u64; 4]) {
    let out = work.run(&[&["test", "-json"], args].concat());
    let mut runs = Vec::new();
    let mut counts = [0; 4];
    for line in text(&out.stdout).lines() {
        let message: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        if let Some(status) = message["test_run"]["status"].as_str() {
            let name = message["test_run"]["run"].as_str().unwrap_or_default();
            runs.push((name.to_owned(), status.to_owned()));
        }
        if message["type"] == "test_summary" {
            let count = |name: &str| message["test_summary"][name].as_u64().unwrap_or(u64::MAX);
            counts = ["passed", "failed", "errored", "skipped"].map(count);
        }
    }
    (runs, counts)
}

fn interrupt(child: &std::process::Child) {
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

fn statuses(work: &Work) -> Vec<String> {
    results(work, &[]).0.into_iter().map(|(_, status)| status).collect()
}

#[test]
fn runs_pass_and_the_summary_says_so() {
    let work = with_test(
        "run \"one\" {\n  assert {\n    condition     = output.o == \"d\"\n    error_message = \"not d\"\n  }\n}\nrun \"two\" {\n  command = \
         plan\n}\n",
    );
    assert_eq!(
        work.ok(&["test", "-no-color"]),
        "a.tftest.hcl... in progress\n  run \"one\"... pass\n  run \"two\"... pass\na.tftest.hcl... tearing down\na.tftest.hcl... \
         pass\n\nSuccess! 2 passed, 0 failed.\n"
    );
}

#[test]
fn a_false_assertion_shows_the_values_and_later_runs_go_on() {
    let work = with_test(
        "run \"wrong\" {\n  assert {\n    condition     = output.o == \"e\"\n    error_message = \"o is ${output.o}\"\n  }\n}\nrun \"right\" {}\n",
    );
    let out = work.run(&["test", "-no-color"]);
    assert_eq!(out.status.code(), Some(1));
    let errors = text(&out.stderr);
    assert!(errors.contains("Error: Test assertion failed") && errors.contains("o is d"), "{errors}");
    assert!(
        errors.contains("on a.tftest.hcl line 3, in run \"wrong\":") && errors.contains("output.o is \"d\""),
        "{errors}"
    );
    assert!(text(&out.stdout).ends_with("\nFailure! 1 passed, 1 failed.\n"));
    assert_eq!(results(&work, &[]).1, [1, 1, 0, 0]);
}

#[test]
fn after_an_error_the_other_runs_of_the_file_are_skipped() {
    let work = with_test("run \"bad\" {\n  variables {\n    v = \"bad\"\n  }\n}\nrun \"next\" {}\n");
    work.write("b.tftest.hcl", "run \"other\" {}\n");
    let (runs, counts) = results(&work, &[]);
    let runs: Vec<(&str, &str)> = runs.iter().map(|(n, s)| (n.as_str(), s.as_str())).collect();
    assert_eq!(runs, [("bad", "error"), ("next", "skip"), ("other", "pass")]);
    assert_eq!(counts, [1, 0, 1, 1]);
}

#[test]
fn what_is_known_only_after_apply_is_an_error_in_a_plan() {
    let work = with_test(
        "run \"p\" {\n  command = plan\n  assert {\n    condition     = output.id != \"\"\n    error_message = \"no id\"\n  }\n}\n",
    );
    assert_eq!(statuses(&work), ["error"]);
    assert!(work.fails(&["test", "-no-color"]).contains("Error: Unknown condition value"));
}

#[test]
fn expected_failures_pass_and_missing_ones_are_errors() {
    let work = with_test(
        "run \"variable\" {\n  command = plan\n  variables {\n    v = \"bad\"\n  }\n  expect_failures = [var.v]\n}\nrun \"check\" {\n  variables {\n    v = \
         \"odd\"\n  }\n  expect_failures = [check.c]\n}\nrun \"missing\" {\n  expect_failures = [check.c]\n}\n",
    );
    assert_eq!(statuses(&work), ["pass", "pass", "error"]);
    assert!(work.fails(&["test", "-no-color"]).contains("Error: Missing expected failure"));
    work.write("a.tftest.hcl", "run \"local\" {\n  expect_failures = [local.x]\n}\n");
    assert!(work.fails(&["test", "-no-color"]).contains("Error: Invalid `expect_failures` reference"));
}

#[test]
fn a_failure_expected_of_an_apply_that_comes_while_planning_is_an_error() {
    let work = with_test("run \"a\" {\n  variables {\n    v = \"bad\"\n  }\n  expect_failures = [var.v]\n}\n");
    assert_eq!(statuses(&work), ["error"]);
    assert!(work.fails(&["test", "-no-color"]).contains("Error: Invalid value for variable"));
}

#[test]
fn a_check_that_fails_unexpectedly_is_an_error() {
    let work = with_test("run \"a\" {\n  variables {\n    v = \"odd\"\n  }\n}\n");
    assert_eq!(statuses(&work), ["error"]);
    assert!(work.fails(&["test", "-no-color"]).contains("Error: Check block assertion failed"));
}

#[test]
fn variables_come_from_the_run_the_file_and_outside_in_this_order() {
    let assert =
        |v: &str| format!("  assert {{\n    condition     = output.o == \"{v}\"\n    error_message = output.o\n  }}\n");
    let work = with_test(&format!(
        "variables {{\n  v = \"file-${{var.global}}\"\n}}\nrun \"file\" {{\n{}}}\nrun \"run\" {{\n  variables {{\n    v = \"run\"\n  }}\n{}}}\n",
        assert("file-g"),
        assert("run")
    ));
    assert_eq!(results(&work, &["-var=global=\"g\""]).1, [2, 0, 0, 0]);
    work.write("a.tftest.hcl", &format!("run \"outside\" {{\n{}}}\n", assert("arg")));
    work.write("terraform.tfvars", "v = \"tfvars\"\n");
    assert_eq!(results(&work, &["-var=v=arg"]).1, [1, 0, 0, 0]);
    std::fs::create_dir(work.path("tests")).unwrap();
    work.write("tests/terraform.tfvars", "v = \"tests\"\n");
    work.write("tests/b.tftest.hcl", &format!("run \"tests\" {{\n{}}}\n", assert("tests")));
    assert_eq!(results(&work, &["-filter=tests/b.tftest.hcl"]).1, [1, 0, 0, 0]);
}

#[test]
fn a_required_variable_without_a_value_is_named() {
    let work = Work::new("variable \"need\" {}\noutput \"o\" {\n  value = var.need\n}\n");
    work.write("a.tftest.hcl", "run \"a\" {}\n");
    let errors = work.fails(&["test", "-no-color"]);
    assert!(errors.contains("Error: No value for required variable") && errors.contains("\"need\""), "{errors}");
}

#[test]
fn runs_use_outputs_of_earlier_runs() {
    let work = with_test(
        "run \"one\" {}\nrun \"two\" {\n  variables {\n    v = \"${run.one.o}2\"\n  }\n  assert {\n    condition     = output.o == \"d2\" && run.one.o \
         == \"d\"\n    error_message = output.o\n  }\n}\n",
    );
    assert_eq!(results(&work, &[]).1, [2, 0, 0, 0]);
    for (reference, summary) in [
        ("run.later.o", "Reference to unavailable run block"),
        ("run.nothing.o", "Reference to unknown run block"),
        ("var.nothing", "Reference to unavailable variable"),
        ("terraform_data.a.id", "Invalid reference"),
    ] {
        work.write(
            "a.tftest.hcl",
            &format!("run \"one\" {{\n  variables {{\n    v = {reference}\n  }}\n}}\nrun \"later\" {{}}\n"),
        );
        let errors = work.fails(&["test", "-no-color"]);
        assert!(errors.contains(&format!("Error: {summary}")), "{errors}");
    }
}

#[test]
fn a_run_of_another_module_has_a_state_of_its_own() {
    let work = with_test(
        "run \"setup\" {\n  module {\n    source = \"./setup\"\n  }\n}\nrun \"main\" {\n  variables {\n    v = run.setup.made\n  }\n  assert {\n    condition     = \
         output.o == \"made in setup\"\n    error_message = output.o\n  }\n}\n",
    );
    std::fs::create_dir(work.path("setup")).unwrap();
    work.write(
        "setup/main.tf",
        "resource \"terraform_data\" \"s\" {\n  input = \"made in ${path.module}\"\n}\noutput \"made\" {\n  value = terraform_data.s.output\n}\n",
    );
    assert!(work.fails(&["test", "-no-color"]).contains("Error: Module not installed"));
    work.ok(&["init"]);
    assert_eq!(results(&work, &[]).1, [2, 0, 0, 0]);
}

#[test]
fn state_keys_choose_among_states() {
    let work = with_test(
        "run \"a\" {\n  state_key = \"A\"\n}\nrun \"b\" {\n  state_key = \"B\"\n  assert {\n    condition     = output.id != run.a.id\n    error_message = \
         \"same\"\n  }\n}\nrun \"again\" {\n  state_key = \"A\"\n  assert {\n    condition     = output.id == run.a.id\n    error_message = \"differs\"\n  }\n}\n",
    );
    assert_eq!(results(&work, &[]).1, [3, 0, 0, 0]);
}

#[test]
fn plan_options_refresh_only_target_and_replace() {
    let work = with_test(
        "run \"one\" {}\nrun \"refresh\" {\n  variables {\n    v = \"other\"\n  }\n  plan_options {\n    mode = refresh-only\n  }\n  assert {\n    condition     \
         = terraform_data.a.input == \"d\"\n    error_message = \"changed\"\n  }\n}\nrun \"replace\" {\n  plan_options {\n    replace = [terraform_data.a]\n    target  = \
         [terraform_data.a]\n  }\n  assert {\n    condition     = output.id != run.one.id\n    error_message = \"kept\"\n  }\n}\n",
    );
    assert_eq!(results(&work, &[]).1, [3, 0, 0, 0]);
}

#[test]
fn mock_providers_make_up_what_is_computed() {
    if !is_built() {
        return;
    }
    let work = Work::new(DEMO);
    work.write(
        "a.tftest.hcl",
        "mock_provider \"demo\" {}\nrun \"made_up\" {\n  assert {\n    condition     = can(regex(\"^[a-z0-9]{8}$\", output.id))\n    error_message = output.id\n  }\n}\n",
    );
    work.write(
        "b.tftest.hcl",
        "mock_provider \"demo\" {\n  mock_resource \"demo_thing\" {\n    defaults = {\n      id = \"given\"\n    }\n    override_during = plan\n  }\n}\nrun \"planned\" {\n  \
         command = plan\n  assert {\n    condition     = output.id == \"given\" && demo_thing.b.name == \"on-given\"\n    error_message = output.id\n  }\n}\nrun \
         \"applied\" {}\n",
    );
    assert_eq!(results(&work, &[]).1, [3, 0, 0, 0]);
    assert!(!work.path("store").exists(), "the real provider was not asked to make anything");
}

#[test]
fn mock_data_comes_from_files_too() {
    if !is_built() {
        return;
    }
    let work = Work::new(DEMO);
    std::fs::create_dir(work.path("mocks")).unwrap();
    work.write(
        "mocks/things.tfmock.hcl",
        "mock_resource \"demo_thing\" {\n  defaults = {\n    id = \"from-file\"\n  }\n}\n",
    );
    work.write(
        "a.tftest.hcl",
        "mock_provider \"demo\" {\n  alias  = \"fake\"\n  source = \"./mocks\"\n}\nrun \"a\" {\n  providers = {\n    demo = demo.fake\n  }\n  assert {\n    condition     = \
         output.id == \"from-file\"\n    error_message = output.id\n  }\n}\n",
    );
    assert_eq!(results(&work, &[]).1, [1, 0, 0, 0]);
}

#[test]
fn overrides_of_runs_come_before_those_of_files() {
    let work = with_test(
        "override_resource {\n  target = terraform_data.a\n  values = {\n    id = \"file\"\n  }\n}\nrun \"file\" {\n  assert {\n    condition     = output.id == \
         \"file\"\n    error_message = output.id\n  }\n}\nrun \"run\" {\n  state_key = \"other\"\n  override_resource {\n    target          = terraform_data.a\n    \
         override_during = plan\n    values = {\n      id = \"run\"\n    }\n  }\n  command = plan\n  assert {\n    condition     = output.id == \"run\"\n    \
         error_message = output.id\n  }\n}\n",
    );
    assert_eq!(results(&work, &[]).1, [2, 0, 0, 0]);
}

#[test]
fn override_module_gives_outputs_and_makes_nothing() {
    let work = Work::new(
        "module \"m\" {\n  source = \"./m\"\n}\noutput \"o\" {\n  value = module.m.made\n}\noutput \"p\" {\n  value = module.m.other\n}\n",
    );
    std::fs::create_dir(work.path("m")).unwrap();
    work.write(
        "m/main.tf",
        "resource \"terraform_data\" \"x\" {\n  lifecycle {\n    precondition {\n      condition     = path.module == \"elsewhere\"\n      error_message = \"made after \
         all\"\n    }\n  }\n}\noutput \"made\" {\n  value = terraform_data.x.id\n}\noutput \"other\" {\n  value = \"other\"\n}\n",
    );
    work.write(
        "a.tftest.hcl",
        "override_module {\n  target = module.m\n  outputs = {\n    made = \"given\"\n  }\n}\nrun \"a\" {\n  assert {\n    condition     = output.o == \"given\" && \
         output.p == null\n    error_message = \"o\"\n  }\n}\n",
    );
    work.ok(&["init"]);
    assert_eq!(results(&work, &[]).1, [1, 0, 0, 0]);
}

#[test]
fn override_data_replaces_what_would_be_read() {
    if !is_built() {
        return;
    }
    let work = Work::new(
        "terraform {\n  required_providers {\n    demo = { source = \"gpuform/demo\" }\n  }\n}\ndata \"demo_thing\" \"d\" {\n  name = \"nowhere\"\n}\noutput \"v\" {\n  \
         value = data.demo_thing.d.value\n}\n",
    );
    work.write("a.tftest.hcl", "run \"real\" {}\n");
    work.write(
        "b.tftest.hcl",
        "override_data {\n  target = data.demo_thing.d\n  values = {\n    value = \"given\"\n  }\n}\nrun \"given\" {\n  assert {\n    condition     = output.v == \
         \"given\"\n    error_message = output.v\n  }\n}\n",
    );
    assert_eq!(statuses(&work), ["error", "pass"]);
}

#[test]
fn provider_blocks_of_test_files_replace_those_of_the_configuration() {
    if !is_built() {
        return;
    }
    let work = Work::new(&format!("{DEMO}provider \"demo\" {{\n  store = \"/dev/null/store\"\n}}\n"));
    let store = work.path("store").display().to_string();
    work.write(
        "a.tftest.hcl",
        &format!(
            "variables {{\n  where = \"{store}\"\n}}\nprovider \"demo\" {{\n  store = var.where\n}}\nrun \"a\" {{}}\n"
        ),
    );
    assert_eq!(results(&work, &[]).1, [1, 0, 0, 0]);
    assert!(work.path("store").exists() && work.things().is_empty(), "made there, and destroyed");
}

#[test]
fn what_could_not_be_destroyed_is_listed() {
    if !is_built() {
        return;
    }
    let work = Work::new(DEMO);
    work.write("a.tftest.hcl", "run \"one\" {}\n");
    let mut c = work.command(&["test", "-no-color"]);
    let out = c.env("DEMO_FAIL", "delete:first").output().unwrap();
    let errors = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1));
    assert!(
        errors
            .contains("after executing a.tftest.hcl/one, and they need to be cleaned up manually:\n  - demo_thing.a\n"),
        "{errors}"
    );
    assert!(text(&out.stdout).ends_with("a.tftest.hcl... fail\n\nFailure! 1 passed, 0 failed.\n"));
    assert_eq!(work.things(), ["first"]);
}

#[test]
fn what_a_failed_apply_has_made_is_destroyed() {
    if !is_built() {
        return;
    }
    let work = Work::new(&format!(
        "{DEMO}resource \"demo_thing\" \"c\" {{\n  name       = \"c\"\n  depends_on = [demo_thing.b]\n}}\n"
    ));
    work.write("a.tftest.hcl", "run \"one\" {}\nrun \"two\" {}\n");
    let mut c = work.command(&["test", "-no-color"]);
    let out = c.env("DEMO_FAIL", "create:c").output().unwrap();
    assert!(text(&out.stdout).ends_with("\nFailure! 0 passed, 1 failed, 1 skipped.\n"), "{}", text(&out.stdout));
    assert!(text(&out.stderr).contains("The create of \"c\" failed"));
    assert!(work.things().is_empty());
}

#[test]
fn an_interrupt_lets_the_run_finish_skips_the_others_and_destroys() {
    if !is_built() {
        return;
    }
    let work = Work::new(DEMO);
    work.write("a.tftest.hcl", "run \"one\" {}\nrun \"two\" {}\n");
    let mut c = work.command(&["test", "-no-color"]);
    c.env("DEMO_DELAY_MS", "700").stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = c.spawn().unwrap();
    while work.things().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    interrupt(&child);
    let out = child.wait_with_output().unwrap();
    let shown = text(&out.stdout);
    assert!(shown.contains("run \"one\"... pass\n  run \"two\"... skip\n"), "{shown}{}", text(&out.stderr));
    assert!(shown.ends_with("\nSuccess! 1 passed, 0 failed, 1 skipped.\n"), "{shown}");
    assert!(work.things().is_empty());
}

#[test]
fn a_second_interrupt_stops_at_once_and_lists_what_exists() {
    if !is_built() {
        return;
    }
    let work = Work::new(DEMO);
    work.write("a.tftest.hcl", "run \"one\" {}\n");
    let mut c = work.command(&["test", "-no-color"]);
    c.env("DEMO_DELAY_MS", "1500").stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = c.spawn().unwrap();
    while work.things().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    for _ in 0..2 {
        interrupt(&child);
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let out = child.wait_with_output().unwrap();
    let errors = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{errors}");
    assert!(errors.contains("while executing a.tftest.hcl/one:\n  - demo_thing.a\n"), "{errors}");
    assert!(work.things().contains(&"first".to_owned()), "nothing was destroyed");
}

#[test]
fn secrets_do_not_show_in_failed_assertions() {
    let work = Work::new(
        "variable \"s\" {\n  sensitive = true\n  default   = \"hunter2\"\n}\nvariable \"e\" {\n  ephemeral = true\n  default   = \"hunter3\"\n}\noutput \"s\" {\n  value     = \
         var.s\n  sensitive = true\n}\n",
    );
    work.write(
        "a.tftest.hcl",
        "run \"a\" {\n  assert {\n    condition     = output.s == \"x\"\n    error_message = \"s is ${output.s}\"\n  }\n  assert {\n    condition     = var.e == \"x\"\n    \
         error_message = \"e is ${var.e}\"\n  }\n}\n",
    );
    let out = work.run(&["test", "-no-color", "-verbose"]);
    let all = text(&out.stdout) + &text(&out.stderr);
    assert!(all.contains("Test assertion failed") && !all.contains("hunter"), "{all}");
    assert!(all.contains("Error message refers to sensitive values"), "{all}");
}

#[test]
fn test_files_are_found_by_place_and_filter() {
    let work = with_test("run \"root\" {}\n");
    for dir in ["tests", "other"] {
        std::fs::create_dir(work.path(dir)).unwrap();
        work.write(&format!("{dir}/b.tftest.hcl"), &format!("run \"{dir}\" {{}}\n"));
    }
    let names = |args: &[&str]| results(&work, args).0.into_iter().map(|(n, _)| n).collect::<Vec<_>>();
    assert_eq!(names(&[]), ["root", "tests"]);
    assert_eq!(names(&["-test-directory=other"]), ["root", "other"]);
    assert_eq!(names(&["-filter=tests/b.tftest.hcl"]), ["tests"]);
    assert_eq!(names(&["-filter=b.tftest.hcl"]), Vec::<String>::new());
    assert!(work.fails(&["test", "-test-directory=../x", "-no-color"]).contains("Error: Invalid testing directory"));
}

#[test]
fn json_syntax_says_the_same() {
    let work = Work::new(CONFIG);
    work.write(
        "a.tftest.json",
        r#"{"variables": {"v": "j"}, "run": {"one": {"assert": [{"condition": "${output.o == \"j\"}", "error_message": "o"}]}}}"#,
    );
    assert_eq!(results(&work, &[]).1, [1, 0, 0, 0]);
}

#[test]
fn mistakes_in_test_files_are_all_reported_before_anything_runs() {
    let work = with_test(
        "run \"a\" {\n  nope    = 1\n  command = destroy\n  assert {\n    condition     = true\n    error_message = \"x\"\n  }\n}\nrun \"a\" {}\nrunner \"b\" {}\n\
         override_module {\n  target = terraform_data.a\n}\noverride_data {\n  values = {}\n}\nmock_provider \"x\" {}\nprovider \"x\" {}\n",
    );
    let errors = work.fails(&["test", "-no-color"]);
    for summary in [
        "Unsupported argument",
        "Invalid \"command\" keyword",
        "Invalid assert expression",
        "Duplicate \"run\" block names",
        "Unsupported block type",
        "Invalid override target",
        "Missing target attribute",
        "Duplicate provider block",
    ] {
        assert!(errors.contains(&format!("Error: {summary}\n")), "{summary} in {errors}");
    }
    assert!(work.fails(&["validate", "-no-color"]).contains("Error: Duplicate \"run\" block names"));
    work.ok(&["validate", "-no-tests"]);
}

#[test]
fn the_json_stream_has_the_published_messages() {
    let work = with_test("run \"a\" {}\nrun \"p\" {\n  command = plan\n}\n");
    let out = work.run(&["test", "-json", "-verbose"]);
    let messages: Vec<Value> = text(&out.stdout).lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let kinds: Vec<&str> = messages.iter().filter_map(|m| m["type"].as_str()).collect();
    assert_eq!(
        kinds,
        [
            "version",
            "test_abstract",
            "test_file",
            "test_run",
            "test_run",
            "test_state",
            "test_run",
            "test_run",
            "test_plan",
            "test_file",
            "test_run",
            "test_file",
            "test_summary"
        ]
    );
    assert_eq!(messages[1]["@message"], "Found 1 file and 2 run blocks");
    assert_eq!(messages[1]["test_abstract"], serde_json::json!({"a.tftest.hcl": ["a", "p"]}));
    assert_eq!(messages[5]["test_state"]["root_module"]["resources"][0]["address"], "terraform_data.a");
    assert_eq!(messages[8]["test_plan"]["resource_changes"][0]["change"]["actions"], serde_json::json!(["no-op"]));
    assert_eq!(messages[12]["test_summary"]["status"], "pass");
}

#[test]
fn a_junit_report_is_written() {
    let work = with_test(
        "run \"ok\" {}\nrun \"wrong\" {\n  assert {\n    condition     = output.o == \"<\"\n    error_message = \"no <\"\n  }\n}\nrun \"bad\" {\n  variables {\n    v = \
         \"bad\"\n  }\n}\nrun \"left\" {}\n",
    );
    work.run(&["test", "-junit-xml=report.xml"]);
    let xml = work.read("report.xml");
    assert!(
        xml.contains("<testsuite name=\"a.tftest.hcl\" tests=\"4\" skipped=\"1\" failures=\"1\" errors=\"1\">"),
        "{xml}"
    );
    assert!(xml.contains("<failure message=\"1 of 1 assertions failed: no &lt;\"><![CDATA["), "{xml}");
    assert!(xml.contains("<error message=\"Encountered an error\"><![CDATA["), "{xml}");
    assert!(xml.contains("<skipped message=\"Testcase skipped due to a previous testcase error\">"), "{xml}");
    assert!(
        work.fails(&["test", "-no-color", "-junit-xml=main.tf/report.xml"]).contains("JUnit report cannot be written")
    );
}
