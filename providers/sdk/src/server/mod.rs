//! The process around a provider.

use crate::provider::Provider;
use std::process::ExitCode;

/// Serves a provider to the tool that started this process; the whole of a provider's `main`.
pub fn serve<P: Provider>(_provider: P) -> ExitCode {
    eprintln!("This is the {} provider for gpuform and Terraform; they start it by themselves.", P::NAME);
    ExitCode::FAILURE
}
