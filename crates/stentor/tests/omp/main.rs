//! The omp and pi dialect of the built program, over its pipes, with a scripted model.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "a test that cannot go on has failed"
)]

mod aborts;
mod auto_compacting;
mod bad_fields;
mod child;
mod choosing;
mod chunks;
mod commands;
mod compacting;
mod configured;
mod custom_messages;
mod deltas;
mod dialogs;
mod endings;
mod entries;
mod errors;
mod extension_life;
mod extension_ui;
mod fallback;
mod framing;
mod host_uris;
mod hosting;
mod json_mode;
mod login;
mod newer;
mod originals;
mod phases;
mod places;
mod process;
mod queues;
mod reading;
mod replay;
mod retries;
mod roles;
mod runs;
mod sessions;
mod shell;
mod slash;
mod steering;
mod stored;
mod strict;
mod subagent_control;
mod subagents;
mod tools;
mod transcript;
mod watching;
