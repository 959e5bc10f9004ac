//! Sessions as their users see them: whole event sequences, what is on disk, what survives.
//!
//! Models are scripted and time is paused, so every test sees the same events every time.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "in a test a surprise ends the test"
)]

mod grammar;
mod props;
mod render;
mod stage;

mod aborting;
mod answers;
mod commands;
mod compacting;
mod events;
mod failing_sync;
mod hooks;
mod limits;
mod machine;
mod remembering;
mod retrying;
mod run_options;
mod settings;
mod slow_reading;
mod steering;
mod storing;
mod tools;
