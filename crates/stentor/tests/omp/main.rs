//! The omp and pi dialect of the built program, over its pipes, with a scripted model.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "a test that cannot go on has failed"
)]

mod child;
mod commands;
mod extensions;
mod framing;
mod hosting;
mod models;
mod originals;
mod prompts;
mod runs;
mod sessions;
mod starting;
mod strict;
mod subagents;
mod transcript;
