//! The server and its relays, over real sockets and pipes.

#[cfg(test)]
mod broken_links;
#[cfg(test)]
mod handshake;
#[cfg(test)]
mod relays;
#[cfg(test)]
mod server;
#[cfg(test)]
mod sharing;
#[cfg(test)]
mod starting;
#[cfg(test)]
#[path = "../support/world.rs"]
mod world;
