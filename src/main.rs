//! The executable: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    gpuform::cli::main()
}
