//! `stentor acp` from the outside: a client that writes lines and reads lines.
//!
//! Every message the program writes is checked against the official JSON schema, whatever else a
//! test is about. Whole messages are compared, with ids and times replaced by a fixed rule.

#[cfg(test)]
mod attack;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod client;
#[cfg(test)]
mod content;
#[cfg(test)]
mod costs;
#[cfg(test)]
mod elicitation;
#[cfg(test)]
mod envelopes;
#[cfg(test)]
mod files;
#[cfg(test)]
mod handshake;
#[cfg(test)]
mod notices;
#[cfg(test)]
mod outbound;
#[cfg(test)]
mod permissions;
#[cfg(test)]
mod reopening;
#[cfg(test)]
mod run_options;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod steering;
#[cfg(test)]
mod stopping;
#[cfg(test)]
mod terminals;
#[cfg(test)]
mod tool_servers;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod unloading;
#[cfg(test)]
mod unstable;
#[cfg(test)]
mod world;
