//! Functions: how they are called, and the rules that many share. Each function has recorded results beside its code.

use crate::harness::{answers, console, demo_folder, error_of, folder};

#[test]
fn functions_in_the_namespace_core() {
    answers(&[("core::upper(\"a\")", "\"A\""), ("core::max(1, core::length([1, 2]))", "2")]);
}

#[test]
fn functions_of_a_provider() {
    let Some(work) = demo_folder("output \"name\" {\n  value = provider::demo::slug(\"My Big Server\")\n}\n") else {
        return;
    };
    assert_eq!(console(&work, "provider::demo::slug(\"My Big Server\")"), "\"my-big-server\"");
    let refused = console(&work, "provider::demo::slug(\" \")");
    assert!(refused.contains("There is no word in the text."), "{refused}");
}

#[test]
fn functions_of_the_built_in_provider() {
    let work = folder(
        "terraform {\n  required_providers {\n    terraform = { source = \"terraform.io/builtin/terraform\" }\n  }\n}\n",
    );
    assert_eq!(console(&work, "provider::terraform::encode_expr({ a = [1] })"), "<<EOT\n{\n  a = [1]\n}\nEOT");
    assert_eq!(console(&work, "provider::terraform::decode_tfvars(\"a = 1\").a"), "1");
    assert_eq!(console(&work, "provider::terraform::encode_tfvars({ b = true })"), "<<EOT\nb = true\n\nEOT");
}

#[test]
fn functions_that_do_not_exist_get_a_suggestion() {
    let answer = console(&folder(""), "uper(\"a\")");
    assert!(answer.contains("Call to unknown function") && answer.contains("\"upper\""), "{answer}");
}

// The next four are not in Terraform 1.11, but in OpenTofu.

#[test]
fn function_convert() {
    answers(&[
        ("convert(\"true\", bool)", "true"),
        ("convert([\"b\", \"a\", \"b\"], set(string))", "toset([\n  \"a\",\n  \"b\",\n])"),
        ("convert({}, object({ name = optional(string, \"x\") }))", "{\n  \"name\" = \"x\"\n}"),
        ("core::convert([1, \"2\"], tuple([string, number]))", "[\n  \"1\",\n  2,\n]"),
        ("[for n in [\"1\"] : convert(n, number)]", "[\n  1,\n]"),
        ("can(convert(\"x\", number))", "false"),
    ]);
    assert_eq!(error_of("convert(\"x\", number)"), "Invalid function argument");
    assert_eq!(error_of("convert(\"x\", nummber)"), "Invalid type specification");
    assert_eq!(error_of("convert(\"x\")"), "Not enough function arguments");
}

#[test]
fn function_cidrcontains() {
    answers(&[
        ("cidrcontains(\"10.0.0.0/8\", \"10.1.2.3\")", "true"),
        ("cidrcontains(\"10.0.0.0/8\", \"10.1.0.0/16\")", "true"),
        ("cidrcontains(\"10.1.0.0/16\", \"10.0.0.0/8\")", "false"),
        ("cidrcontains(\"fe80::/48\", \"fe80::1\")", "true"),
    ]);
    assert_eq!(error_of("cidrcontains(\"10.0.0.0/8\", \"::1\")"), "Error in function call");
    assert_eq!(error_of("cidrcontains(\"x\", \"10.1.2.3\")"), "Invalid function argument");
}

#[test]
fn function_base64gunzip() {
    answers(&[("base64gunzip(base64gzip(\"text\"))", "\"text\"")]);
    assert_eq!(error_of("base64gunzip(\"aGk=\")"), "Error in function call");
}

#[test]
fn function_urldecode() {
    answers(&[("urldecode(\"a%20b+c%2F\")", "\"a b c/\""), ("urldecode(urlencode(\"é/ &\"))", "\"é/ &\"")]);
    assert_eq!(error_of("urldecode(\"%zz\")"), "Error in function call");
}

#[test]
fn format_verbs() {
    answers(&[
        (
            "format(\"%5.2f|%-4s|%04d|%x|%q|%v|%%\", 3.14159, \"a\", 7, 255, \"q\", [1])",
            "\" 3.14|a   |0007|ff|\\\"q\\\"|[1]|%\"",
        ),
        ("format(\"%[2]s %[1]s\", \"a\", \"b\")", "\"b a\""),
        ("formatlist(\"%s!\", [\"a\", \"b\"])", "tolist([\n  \"a!\",\n  \"b!\",\n])"),
    ]);
    assert_eq!(error_of("format(\"%d\", \"x\")"), "Error in function call");
}

#[test]
fn regular_expressions_and_their_captures() {
    answers(&[
        ("regex(\"[0-9]+\", \"a12b\")", "\"12\""),
        ("regex(\"(a)(b)?\", \"ac\")", "[\n  \"a\",\n  tostring(null),\n]"),
        ("regex(\"(?P<year>\\\\d{4})\", \"in 2024\")", "{\n  \"year\" = \"2024\"\n}"),
        ("regexall(\"a(.)\", \"ab ac\")", "tolist([\n  [\n    \"b\",\n  ],\n  [\n    \"c\",\n  ],\n])"),
        ("replace(\"a1b2\", \"/([a-z])(\\\\d)/\", \"$2$1\")", "\"1a2b\""),
    ]);
    assert_eq!(error_of("regex(\"(?=a)\", \"a\")"), "Invalid function argument");
}

#[test]
fn dates_and_durations() {
    answers(&[
        (
            "formatdate(\"EEE, DD MMM YYYY hh:mm ZZZ\", \"2024-02-29T13:05:00+02:00\")",
            "\"Thu, 29 Feb 2024 13:05 +0200\"",
        ),
        ("timeadd(\"2024-02-28T23:00:00Z\", \"1h30m\")", "\"2024-02-29T00:30:00Z\""),
        ("timecmp(\"2024-01-01T00:00:00Z\", \"2024-01-01T01:00:00+01:00\")", "0"),
    ]);
}

#[test]
fn yaml_json_and_csv() {
    answers(&[
        ("yamlencode({ a = [1, \"true\"] })", "<<EOT\n\"a\":\n- 1\n- \"true\"\n\nEOT"),
        ("yamldecode(\"a: &x [1, yes]\\nb: *x\").b", "[\n  1,\n  true,\n]"),
        ("jsonencode({ b = \"<&>\", a = null })", "\"{\\\"a\\\":null,\\\"b\\\":\\\"\\\\u003c\\\\u0026\\\\u003e\\\"}\""),
        ("jsondecode(\"[1, 1.50, \\\"x\\\"]\")", "[\n  1,\n  1.5,\n  \"x\",\n]"),
        ("csvdecode(\"a,b\\n1,\\\"x, y\\\"\\n\")", "tolist([\n  {\n    \"a\" = \"1\"\n    \"b\" = \"x, y\"\n  },\n])"),
    ]);
}

#[test]
fn sets_and_maps_are_in_order() {
    answers(&[
        ("toset([\"b\", \"a\", \"B\"])", "toset([\n  \"B\",\n  \"a\",\n  \"b\",\n])"),
        ("keys({ b = 1, a = 2 })", "[\n  \"a\",\n  \"b\",\n]"),
        ("sort([\"10\", \"9\", \"a\"])", "tolist([\n  \"10\",\n  \"9\",\n  \"a\",\n])"),
        ("toset([10, 9])", "toset([\n  9,\n  10,\n])"),
    ]);
}

#[test]
fn null_arguments() {
    answers(&[("coalesce(null, \"\", \"a\")", "\"a\""), ("merge(null, { a = 1 })", "{\n  \"a\" = 1\n}")]);
    assert_eq!(error_of("upper(null)"), "Invalid function argument");
}

#[test]
fn sensitive_arguments_make_sensitive_results() {
    answers(&[
        ("upper(sensitive(\"a\"))", "(sensitive value)"),
        ("nonsensitive(upper(sensitive(\"a\")))", "\"A\""),
        ("issensitive(concat([1], sensitive([2])))", "true"),
        ("length(sensitive([1]))", "(sensitive value)"),
    ]);
}

#[test]
fn unknown_arguments_make_unknown_results() {
    let work = folder("resource \"terraform_data\" \"a\" {}\n");
    assert_eq!(console(&work, "upper(terraform_data.a.id)"), "(known after apply)");
    assert_eq!(console(&work, "length([terraform_data.a.id])"), "1");
    assert_eq!(console(&work, "[1, terraform_data.a.id]"), "[\n  1,\n  (known after apply),\n]");
}

#[test]
fn templatestring_renders_a_template_from_a_value() {
    let work = folder("locals {\n  template = \"$${a} and $${upper(a)}\"\n}\n");
    assert_eq!(console(&work, "templatestring(local.template, { a = \"x\" })"), "\"x and X\"");
}

#[test]
fn templatefile_renders_a_file() {
    let work = folder("-- greet.tftpl --\n%{ for n in names ~}\nHello ${n}\n%{ endfor ~}\n");
    assert_eq!(
        console(&work, "templatefile(\"greet.tftpl\", { names = [\"A\", \"B\"] })"),
        "<<EOT\nHello A\nHello B\n\nEOT"
    );
}

/// Found by the differential test; a value that is not known yet counts in these.
#[test]
fn functions_of_values_not_known_yet() {
    let work = folder(
        "resource \"terraform_data\" \"later\" {\n  input = 1\n}\nlocals {\n  word = tostring(terraform_data.later.output)\n  \
         set  = toset([local.word, \"known\"])\n}\n",
    );
    let open = "(known after apply)";
    for (expression, expected) in [
        ("sum([local.word, null])", open),
        ("sum(tolist([local.word, \"x\"]))", open),
        ("setproduct(toset([]), local.set, [\"a\"])", open),
        ("jsonencode(setproduct([], [local.word]))", "\"[]\""),
        ("tolist(local.set)", open),
        ("matchkeys([1], [local.word], [])", "tolist([])"),
    ] {
        assert_eq!(console(&work, expression), expected, "{expression}");
    }
}

/// Found by the differential test.
#[test]
fn sets_and_marks_in_functions() {
    answers(&[
        ("one([{ a = sensitive(1), b = 2 }])", "(sensitive value)"),
        ("type(setsubtract([], [[1]]))", "set(\n    tuple([\n        number,\n    ]),\n)"),
        ("setunion([], [{ a = 1 }])", "toset([\n  {\n    \"a\" = 1\n  },\n])"),
        ("\"${1 ~} \"", "\"1\""),
        ("\" ${~ 1}\"", "\"1\""),
    ]);
    assert_eq!(error_of("setunion([1], [], [{}])"), "Error in function call");
    assert_eq!(error_of("\"${[1] ~} \""), "Invalid template interpolation value");
    assert_eq!(error_of("core::nope()"), "Unknown provider function");
    assert_eq!(error_of("provider::terraform::encode_expr(1)"), "Unknown provider function");
}
