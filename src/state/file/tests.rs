//! The recorded files in `testdata/` were written by Terraform 1.11.4.

use super::*;
use crate::state::ObjectStatus;

fn recorded(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/src/state/testdata/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn read_state(bytes: &[u8]) -> State {
    read(bytes, "terraform.tfstate").map_err(|d| d.to_string()).unwrap().unwrap()
}

fn failure(text: &str) -> String {
    read(text.as_bytes(), "x.tfstate").unwrap_err().detail
}

#[test]
fn files_written_by_terraform_are_written_back_unchanged() {
    for name in ["modules.tfstate", "checks.tfstate", "odd.tfstate", "destroyed.tfstate"] {
        let bytes = recorded(name);
        let written = to_bytes(&read_state(&bytes)).unwrap();
        if let Some(line) = written.split(|b| *b == b'\n').zip(bytes.split(|b| *b == b'\n')).position(|(a, b)| a != b) {
            panic!("{name} differs in line {}", line + 1);
        }
        assert_eq!(written.len(), bytes.len(), "{name}");
    }
}

#[test]
fn any_valid_layout_is_read() {
    // Terraform made the second file of the first, and removed a resource while doing so.
    let mut state = read_state(&recorded("odd_before.tfstate"));
    assert!(state.remove(&"data.zz.x".parse().unwrap()).is_some());
    state.serial += 1;
    state.terraform_version = TERRAFORM_VERSION.into();
    assert_eq!(
        String::from_utf8(to_bytes(&state).unwrap()).unwrap(),
        String::from_utf8(recorded("odd.tfstate")).unwrap()
    );
}

#[test]
fn the_model_holds_what_the_file_says() {
    let s = read_state(&recorded("odd.tfstate"));
    let object = s.get(&"module.q[\"a\"].b.x[1]".parse().unwrap()).unwrap();
    assert_eq!(object.sensitive_paths[0].to_string(), ".z[\"k\"][3]");
    assert_eq!((object.private.as_slice(), object.schema_version), (&b"null"[..], 2));
    assert_eq!(object.dependencies.iter().map(ToString::to_string).collect::<Vec<_>>()[2..], ["module.k.a.b", "a.x"]);
    let instance = s.instance(&"module.q[\"a\"].b.x[1]".parse().unwrap()).unwrap();
    let (key, deposed) = instance.deposed.first_key_value().unwrap();
    assert_eq!((key.to_string().as_str(), deposed.status), ("abcdef01", ObjectStatus::Tainted));
    assert_eq!(s.outputs["e"].value.as_i64(), Some(1000));
}

#[test]
fn fields_of_newer_versions_are_kept() {
    let text = String::from_utf8(recorded("checks.tfstate")).unwrap().replacen(
        "\"sensitive_attributes\": [],\n",
        "\"sensitive_attributes\": [],\n          \"identity_schema_version\": 1,\n          \"identity\": {\n            \"id\": \"a\"\n          },\n",
        1,
    );
    assert_eq!(String::from_utf8(to_bytes(&read_state(text.as_bytes())).unwrap()).unwrap(), text);
}

#[test]
fn an_empty_file_is_no_state() {
    assert!(read(b"", "x.tfstate").unwrap().is_none());
}

#[test]
fn broken_files_say_what_is_wrong_and_where() {
    for (text, parts) in [
        ("garbage", vec!["x.tfstate is not valid JSON", "line 1 column 1", "x.tfstate.backup"]),
        ("{\"version\": 4,\n \"serial\"", vec!["not valid JSON", "line 2 column 9", "not changed"]),
        ("{}", vec!["no \"version\""]),
        ("[]", vec!["no \"version\""]),
        ("{\"version\":\"4\"}", vec!["no \"version\""]),
        ("{\"version\":3,\"modules\":[]}", vec!["version 3", "terraform apply -refresh-only"]),
        ("{\"version\":5,\"resources\":{}}", vec!["version 5", "newer program"]),
        ("{\"version\":4,\"serial\":\"1\"}", vec!["not a valid state file", "line 1 column 25"]),
        ("{\"version\":4} x", vec!["not valid JSON"]),
        ("{\"version\":4,\"resources\":[{\"mode\":\"bad\"}]}", vec!["\"bad\" is not a resource mode", "line 1"]),
        ("{\"version\":4,\"resources\":[{\"mode\":\"managed\"}]}", vec!["a resource has no \"type\""]),
    ] {
        let detail = failure(text);
        for part in parts {
            assert!(detail.contains(part), "{text}: {detail}");
        }
    }
    assert!(read(b"{\"version\":4,\n\"\xff\"", "x").unwrap_err().detail.contains("line 2 (byte 15)"));
}

#[test]
fn nulls_stand_for_what_is_left_out() {
    let provider = "provider[\\\"registry.terraform.io/x/y\\\"]";
    let instance =
        "{\"schema_version\":null,\"status\":null,\"deposed\":null,\"create_before_destroy\":null,\"attributes\":{}}";
    let resource = format!(
        "{{\"module\":null,\"mode\":\"managed\",\"type\":\"a\",\"name\":\"b\",\"provider\":\"{provider}\",\"instances\":[{instance}]}}"
    );
    let outputs = "{\"o\":{\"value\":1,\"type\":\"number\",\"sensitive\":null}}";
    let text = format!(
        "{{\"version\":4,\"serial\":null,\"lineage\":null,\"terraform_version\":null,\"outputs\":{outputs},\"resources\":[{resource}]}}"
    );
    let state = read_state(text.as_bytes());
    assert_eq!((state.serial, state.lineage.as_str(), state.outputs.len()), (0, "", 1));
    assert_eq!(state.instances().count(), 1);
}

#[test]
fn the_version_that_wrote_a_state_is_a_version() {
    let with = |version: &str| format!("{{\"version\":4,\"terraform_version\":\"{version}\"}}");
    for version in ["", "1.11.4", "v1.2.3.4", "99.0-beta1+x"] {
        assert_eq!(read_state(with(version).as_bytes()).terraform_version, version);
    }
    assert!(failure(&with("x")).contains("\"x\", which is not a version"));
}

#[test]
fn an_instance_may_appear_only_once() {
    let resource = |instances: &str| {
        format!(
            "{{\"mode\":\"managed\",\"type\":\"a\",\"name\":\"b\",\"provider\":\"provider[\\\"registry.terraform.io/x/y\\\"]\",\
             \"instances\":[{instances}]}}"
        )
    };
    let one = "{\"schema_version\":0,\"attributes\":{}}";
    let twice = format!("{{\"version\":4,\"resources\":[{}]}}", resource(&format!("{one},{one}")));
    assert!(failure(&twice).contains("appears twice"));
    let split = format!("{{\"version\":4,\"resources\":[{},{}]}}", resource(one), resource(one));
    assert!(failure(&split).contains("a.b appears twice"));
}

#[test]
fn every_cut_of_a_file_is_an_error() {
    let bytes = recorded("checks.tfstate");
    for end in 1..bytes.len() - 2 {
        assert!(read(&bytes[..end], "x").is_err(), "cut at {end}");
    }
}
