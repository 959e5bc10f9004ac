//! The agent: sessions, turns, queues, compaction and retry.
//!
//! Nothing in this crate knows a wire protocol. A dialect calls [`session::Session`] and reads
//! [`event::Event`]s; a model implements [`model::Model`]; a tool implements [`tool::Tool`].
//!
//! Read in this order: [`model`], [`tool`], [`permission`] and [`event`] are the vocabulary;
//! [`session`] owns the state; [`turn`] is what happens in a run. What a conversation consists of
//! and how it is kept is in `stentor-journal`.

pub mod agent;
pub mod agent_folders;
pub mod arguments;
pub mod box_error;
mod budget;
pub mod commands;
pub mod context_files;
pub mod dialog;
pub mod event;
pub mod fallback;
pub mod folder_texts;
pub mod hook_chain;
pub mod hooks;
pub mod hub;
pub mod jobs;
pub mod left_running;
pub mod live;
pub mod live_sessions;
pub mod memory;
pub mod model;
pub mod model_host;
pub mod permission;
mod plan;
pub mod plan_mode;
pub mod project_files;
pub mod repository;
pub mod reservations;
pub mod rules;
pub mod sandbox;
pub mod session;
pub mod subagents;
pub mod system_prompt;
pub mod tasks;
pub mod tool;
mod tool_output;
pub mod tool_servers;
mod tool_spec;
pub mod turn;
pub mod undo;
