//! The omp and pi dialect of the built program, over its pipes, with a scripted model.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "a test that cannot go on has failed"
)]

mod bad_fields;
mod child;
mod chunks;
mod commands;
mod custom_messages;
mod deltas;
mod dialogs;
mod endings;
mod entries;
mod errors;
mod extension_ui;
mod fallback;
mod hosting;
mod login;
mod newer;
mod originals;
mod phases;
mod process;
mod roles;
mod runs;
mod sessions;
mod short_form;
mod stored;
mod strict;
mod subagents;
mod watching;
