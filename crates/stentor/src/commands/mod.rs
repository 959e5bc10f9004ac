//! What the program can do, one module for each.

pub mod config;
pub mod describe;
