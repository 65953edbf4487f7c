//! Installing what a configuration needs: providers from mirrors, modules, the dependency lock file. `init` and
//! `providers lock` install; the other commands find here what is installed.

pub mod cli_config;
pub mod installed;
pub mod lock_file;
mod mirror;
pub mod modules;
pub mod package;
pub mod providers;
pub mod requirements;
