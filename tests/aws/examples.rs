//! Every configuration in `examples/` is what it says it is: it can be applied, has then nothing to change, and can be
//! destroyed without a trace.

use crate::cloud::{Cloud, Installation, Stack};
use serde_json::Value;
use std::path::PathBuf;

#[test]
fn quickstart_has_a_spot_and_a_training_instance() {
    let Some(example) = Example::of("quickstart") else { return };
    let outputs = example.round_trip();
    assert_eq!(outputs["instances"]["value"]["spot"]["type"], "g5.2xlarge");
    assert_eq!(outputs["instances"]["value"]["training"]["type"], "p4d.24xlarge");
    assert_eq!(outputs["bucket"]["value"], "quickstart-data-123456789012");
}

#[test]
fn startup_takes_one_spot_gpu_below_its_price() {
    let Some(example) = Example::of("startup") else { return };
    let outputs = example.round_trip();
    assert!(outputs["price_now"]["value"].as_f64().unwrap() <= 0.75);
    assert_eq!(outputs["bucket"]["value"], "startup-models-123456789012");
}

#[test]
fn startup_does_not_start_above_its_price() {
    let Some(example) = Example::of("startup") else { return };
    example.stack.gpuform(&["init"], 0);
    let said = example.stack.gpuform(&["apply", "-auto-approve", "-var=max_price=0.01"], 1);
    assert!(said.contains("above max_price"), "{said}");
}

#[test]
fn training_cluster_has_sixteen_gpus_and_up() {
    let Some(example) = Example::of("training-cluster") else { return };
    let outputs = example.round_trip();
    assert_eq!(outputs["capacity"]["value"]["min"]["gpus"], 16);
    assert_eq!(outputs["capacity"]["value"]["max"]["gpu_memory_gib"], 1280);
    assert_eq!(outputs["data_lake"]["value"], "training-lake-123456789012");
}

/// A copy of an example, and a cloud of its own to apply it to.
struct Example {
    stack: Stack,
    _cloud: Cloud,
}

impl Example {
    fn of(name: &str) -> Option<Example> {
        let cloud = Cloud::start()?;
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples").join(name);
        let files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
        Some(Example { stack: Stack::new(&cloud, Installation::Mirror, &files), _cloud: cloud })
    }

    /// Applies, plans again, destroys, and gives the outputs.
    fn round_trip(&self) -> Value {
        let stack = &self.stack;
        stack.gpuform(&["init"], 0);
        stack.gpuform(&["validate"], 0);
        stack.apply();
        let again = stack.gpuform(&["plan", "-detailed-exitcode"], 0);
        assert!(again.contains("No changes"), "{again}");
        let outputs = serde_json::from_str(&stack.gpuform(&["output", "-json"], 0)).unwrap();
        stack.gpuform(&["destroy", "-auto-approve"], 0);
        assert_eq!(stack.gpuform(&["state", "list"], 0), "");
        outputs
    }
}
