//! What the program can do, one module for each.

pub mod agents;
pub mod ask;
pub mod complete;
pub mod config;
pub mod describe;
pub mod doctor;
pub mod extensions;
pub mod login;
pub mod mcp;
pub mod mcp_login;
pub mod models;
pub mod permissions;
pub mod pick_session;
pub mod rewind;
pub mod scenario;
pub mod session_changes;
pub mod sessions;
pub mod slash_commands;
pub mod trust;
pub mod usage;
