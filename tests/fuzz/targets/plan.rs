//! A saved plan, shown and applied with the built-in provider. The input is the archive, or (because of the checksums
//! in it) what its first entry holds.

#![no_main]

use gpuform::cli::view;
use gpuform::engine::plan_file;
use gpuform::engine::schemas::Needed;
use gpuform::engine::{self, plan_file::SavedPlan};
use gpuform::state::{State, file};
use gpuform_fuzz::{STYLE, block_on, context, project, session, told};
use std::io::{Cursor, Write};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let archive = if plan_file::is_plan(data) { data.to_vec() } else { archive(data) };
    match plan_file::read(&archive, "plan") {
        Ok(saved) => use_up(saved),
        Err(d) => told(&(*d).into(), &project().config.sources),
    }
});

/// A plan file with this head and empty states.
fn archive(head: &[u8]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let state = file::to_bytes(&State::default()).expect("an empty state");
    for (name, content) in [("plan", head), ("state", &state), ("state-previous", &state)] {
        zip.start_file(name, options).expect("an entry");
        zip.write_all(content).expect("its content");
    }
    zip.finish().expect("an archive").into_inner()
}

fn use_up(mut saved: SavedPlan) {
    let project = project();
    let _ = saved.variables();
    saved.include_generated();
    let plan = match block_on(project.decode_plan(saved)) {
        Ok(plan) => plan,
        Err(d) => return told(&d, &project.config.sources),
    };
    view::plan::render(&plan, &project.config, STYLE, view::Next::Saved("plan"));
    let mut needed = Needed::default();
    needed.add_config(&project.config);
    if let Ok(schemas) = block_on(needed.load(&project.pool)) {
        view::json::plan(&plan, &project.config, &schemas);
    }
    let session = session(&context(), project.pool.clone());
    let applied = block_on(engine::apply(&session, &project.config, plan, None));
    told(&applied.diagnostics, &project.config.sources);
    if let Ok(bytes) = file::to_bytes(&applied.state) {
        assert!(file::read(&bytes, "again").is_ok(), "{}", String::from_utf8_lossy(&bytes));
    }
}
