//! The executable: everything is in the library.

use std::process::ExitCode;

/// A plan consists of many small objects: with the system's allocator, a fifth of the time would go to it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    gpuform::cli::main()
}
