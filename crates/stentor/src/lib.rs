//! The parts of the `stentor` program: its command line, its configuration, what it prints.
//!
//! They are a library so that each can be tested by itself; `main.rs` puts them together.

pub mod acp;
pub mod agents;
pub mod args;
pub mod asked_session;
pub mod attached_files;
pub mod checked_result;
pub mod choose_model;
pub mod commands;
pub mod config;
pub mod default_model;
pub mod dialect;
pub mod environment;
pub mod export;
pub mod extensions;
pub mod frontend;
pub mod launcher;
pub mod log;
pub mod logins;
pub mod mcp_servers;
pub mod models;
pub mod notes;
pub mod omp;
pub mod overview;
pub mod print;
pub mod program;
pub mod relay;
pub mod released;
pub mod repeated_calls;
pub mod rpc;
pub mod rpc_edn;
pub mod sandbox;
pub mod serve;
pub mod session_name;
pub mod session_places;
pub mod setup;
pub mod shell_argument;
pub mod slash;
pub mod socket;
pub mod stored_answers;
pub mod terminal;
pub mod trust;
pub mod typed_prompt;
pub mod untrusted;
pub mod user_folders;
