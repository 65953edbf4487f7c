//! A state file, read, shown, written, and planned upon; or a journal: as it is where it starts as a journal does, or
//! lines (after one that says `J`) that become its records with right checksums.

#![no_main]

use gpuform::addr::Mode;
use gpuform::cli::view;
use gpuform::engine::schemas::Needed;
use gpuform::engine::{self, PlanOptions};
use gpuform::state::{State, file, journal, ops};
use gpuform_fuzz::{STYLE, block_on, context, folder, project, put, session, told};

const MARK: &[u8] = b"\xa7gpj";

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if data.starts_with(MARK) {
        recover(data);
    } else if let Some(lines) = data.strip_prefix(b"J\n") {
        recover(&framed(lines));
    } else if let Ok(Some(state)) = file::read(data, "terraform.tfstate") {
        look(&state);
    }
});

fn framed(lines: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, line) in lines.split(|b| *b == b'\n').enumerate() {
        let mut checked = (line.len() as u32).to_le_bytes().to_vec();
        let mut rest = (number as u64).to_le_bytes().to_vec();
        rest.extend((number as u64).to_le_bytes());
        rest.extend(line);
        checked.extend(&rest);
        out.extend(MARK);
        out.extend((line.len() as u32).to_le_bytes());
        out.extend(crc32fast::hash(&checked).to_le_bytes());
        out.extend(rest);
    }
    out
}

fn recover(journal: &[u8]) {
    let path = folder().join("journal");
    put("journal", journal);
    if let Ok(Some(recovery)) = journal::recover(&path, None) {
        look(&recovery.state);
        if let Ok(open) = journal::Journal::reopen(&path, &recovery) {
            open.operation();
        }
    }
}

fn look(state: &State) {
    let project = project();
    let cx = context();
    if let Ok(bytes) = file::to_bytes(state) {
        let again = file::read(&bytes, "again");
        assert!(again.is_ok_and(|s| s.as_ref() == Some(state)), "{}", String::from_utf8_lossy(&bytes));
    }
    let _ = ops::list(state, &[]);
    let mut needed = Needed::default();
    for (addr, resource) in state.resources().filter(|(_, r)| r.provider.provider.is_builtin()) {
        if addr.resource.mode == Mode::Managed {
            needed.add(&resource.provider.provider, addr.resource.mode, &addr.resource.ty);
        }
    }
    if let Ok(schemas) = block_on(needed.load(&project.pool)) {
        view::state::whole(Some(state), &schemas, STYLE);
        view::json::state(Some(state), &schemas);
    }
    let session = session(&cx, project.pool.clone());
    let timestamp = "2026-01-02T03:04:05Z".to_owned();
    let options = PlanOptions { refresh: true, timestamp, ..PlanOptions::default() };
    let (plan, diags) = block_on(engine::plan(&session, &project.config, state, &options));
    told(&diags, &project.config.sources);
    if let Some(plan) = plan {
        view::plan::render(&plan, &project.config, STYLE, view::Next::Unsaved);
    }
}
