//! The modules that runs use in place of the configuration under test: under which keys they are installed.

use super::files::module_key;
use super::model::{AlternateModule, Run, Suite, TestFile};
use crate::config::manifest::Wanted;
use crate::install::modules::TestModule;

/// The key under which the module of a run is installed: `test.FILE.RUN`.
pub fn key_of(file: &TestFile, run: &Run) -> String {
    format!("test.{}.{}", module_key(&file.name), run.name)
}

/// All modules that the runs of a suite use, to be installed.
pub fn modules(suite: &Suite) -> Vec<TestModule> {
    each(suite).map(|(key, m)| TestModule { key, source: m.source.clone(), source_range: m.source_range }).collect()
}

/// All of them, with their keys.
pub fn each(suite: &Suite) -> impl Iterator<Item = (String, &AlternateModule)> {
    let runs = suite.files.iter().flat_map(|f| f.runs.iter().map(move |r| (f, r)));
    runs.filter_map(|(f, r)| Some((key_of(f, r), r.module.as_ref()?)))
}

/// What has to be installed for a run.
pub fn wanted(m: &AlternateModule) -> Wanted<'_> {
    Wanted { range: m.range, source: &m.source, source_range: m.source_range, version: m.version.as_ref() }
}
