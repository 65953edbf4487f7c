//! Tests of configurations (`gpuform test`): files of run blocks that plan or apply a configuration, look at the result,
//! and destroy what they have made. Nothing here prints: what happens is told to a [`Watcher`], which the command line
//! renders for people, as JSON and as JUnit reports.
//!
//! `loader` reads test files into the `model`, `runner` carries them out, `mocks` are providers that only pretend,
//! `stand_ins` tells the engine where a test replaces something, `variables` and `scope` say what names mean.

mod assertions;
mod cleanup;
mod expected;
mod files;
mod generate;
mod loader;
mod mocks;
pub mod model;
mod modules;
mod overrides;
mod prepare;
mod runner;
mod scope;
mod stand_ins;
mod variables;
mod watcher;

pub use files::{DEFAULT_DIRECTORY, module_key};
pub use loader::load;
pub use modules::{each as each_module, key_of, modules, wanted};
pub use runner::{Inputs, Programs, run};
pub use variables::Given;
pub use watcher::{Counts, Left, Outcome, Reached, Shown, Stage, Status, Watcher};
