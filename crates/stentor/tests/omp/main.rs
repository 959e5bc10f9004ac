//! The omp and pi dialect of the built program, over its pipes, with a scripted model.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "a test that cannot go on has failed"
)]

mod child;
mod commands;
mod deltas;
mod dialogs;
mod errors;
mod extension_ui;
mod hosting;
mod login;
mod originals;
mod process;
mod runs;
mod sessions;
mod subagents;
mod watching;
