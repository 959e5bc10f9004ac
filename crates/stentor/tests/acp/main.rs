//! `stentor acp` from the outside: a client that writes lines and reads lines.
//!
//! Every message the program writes is checked against the official JSON schema, whatever else a
//! test is about. Whole messages are compared, with ids and times replaced by a fixed rule.

mod client;
mod client_services;
mod content;
mod handshake;
mod permissions;
mod sessions;
mod settings;
mod stopping;
mod tool_servers;
mod turns;
mod world;
