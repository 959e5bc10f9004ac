//! The `stentor` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    stentor::program::run(std::env::args_os())
}
