//! The other end: spawns an agent as a child process and drives it over stdin and stdout.
//!
//! One module for each dialect that can be driven; [`synaps`] is the first.

pub mod synaps;
