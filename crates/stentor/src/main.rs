//! The `stentor` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    stentor::launcher::this_is_the_program();
    let status = stentor::program::run(std::env::args_os());
    stentor_tools::process::end_everything();
    status
}
