//! What the program can do, one module for each.

pub mod acp;
pub mod ask;
pub mod config;
pub mod describe;
pub mod export;
pub mod extensions;
pub mod login;
pub mod mcp;
pub mod models;
pub mod permissions;
pub mod sessions;
pub mod slash_commands;
pub mod trust;
