//! Generates the plugin protocol's messages, clients and servers from `proto/` (no `protoc` needed).

use std::error::Error;

const FILES: [&str; 5] = ["tfplugin6.proto", "tfplugin5.proto", "undecoded.proto", "plugin.proto", "health.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(FILES, ["proto"])?;
    tonic_prost_build::configure()
        .btree_map(".")
        .include_file("protocols.rs")
        .emit_rerun_if_changed(false)
        .compile_fds(descriptors)?;
    Ok(())
}
