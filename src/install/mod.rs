//! Installing what a configuration needs: providers from mirrors and registries, modules, the dependency lock file.

pub mod cli_config;
pub mod lock_file;
pub mod modules;
pub mod providers;
