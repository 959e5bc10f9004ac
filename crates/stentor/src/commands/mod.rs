//! What the program can do, one module for each.

pub mod ask;
pub mod config;
pub mod describe;
pub mod export;
pub mod login;
pub mod models;
pub mod sessions;
