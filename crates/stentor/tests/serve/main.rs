//! The server and its relays, over real sockets and pipes.

#[cfg(test)]
mod access;
#[cfg(test)]
mod acp_http;
#[cfg(test)]
mod agent_sessions;
#[cfg(test)]
mod approvals;
#[cfg(test)]
mod asking_back;
#[cfg(test)]
mod broken_links;
#[cfg(test)]
mod clients;
#[cfg(test)]
mod cursors;
#[cfg(test)]
mod handshake;
#[cfg(test)]
mod http_client;
#[cfg(test)]
mod idle_sessions;
#[cfg(test)]
mod joining;
#[cfg(test)]
mod kills;
#[cfg(test)]
mod message_ids;
#[cfg(test)]
mod not_reading;
#[cfg(test)]
mod observers;
#[cfg(test)]
mod page;
#[cfg(test)]
mod psi_tree;
#[cfg(test)]
mod relays;
#[cfg(test)]
mod sandboxed;
#[cfg(test)]
mod server;
#[cfg(test)]
mod sharing;
#[cfg(test)]
mod starting;
#[cfg(test)]
mod synaps_cursors;
#[cfg(test)]
mod untouched;
#[cfg(test)]
mod web_socket;
#[cfg(test)]
#[path = "../support/world.rs"]
mod world;
