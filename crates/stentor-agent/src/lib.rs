//! The agent: sessions, turns, queues, permissions, compaction, retry and the store.
//!
//! Nothing in this crate knows a wire protocol. A dialect calls [`session::Session`] and reads
//! [`event::Event`]s; a model implements [`model::Model`]; a tool implements [`tool::Tool`].
//!
//! Read in this order: [`message`], [`usage`], [`model`], [`tool`], [`permission`] and [`event`]
//! are the vocabulary; [`session`] owns the state; [`turn`] is what happens in a run; [`store`] is
//! what is on disk.

pub mod agent;
pub mod agent_folders;
pub mod arguments;
pub mod clock;
pub mod commands;
pub mod context_files;
pub mod conversation;
pub mod dialog;
pub mod event;
pub mod export;
pub mod fallback;
mod foreign_roles;
pub mod hook_chain;
pub mod hooks;
pub mod hub;
pub mod jobs;
pub mod left_running;
pub mod live;
pub mod memory;
pub mod message;
pub mod model;
pub mod permission;
pub mod policy;
pub mod project_files;
pub mod redaction;
pub mod rules;
pub mod sandbox;
pub mod session;
pub mod session_files;
pub mod store;
pub mod subagents;
pub mod system_prompt;
pub mod tool;
pub mod tool_servers;
pub mod turn;
pub mod usage;
pub mod visible;
