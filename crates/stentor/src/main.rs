//! The `stentor` program.

use std::process::ExitCode;

use stentor::launcher::{HELPER_WORD, run_helper};

fn main() -> ExitCode {
    // First, because every command a session runs pays for what comes before.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == HELPER_WORD) {
        return run_helper(words);
    }
    stentor::launcher::this_is_the_program();
    let status = stentor::program::run(std::env::args_os());
    stentor_tools::process::end_everything();
    status
}
