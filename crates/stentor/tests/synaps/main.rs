//! The built program as the rpc child of the synaps bridge, over real pipes.
//!
//! `child` spawns it and compares whole frames; `bridge` is a parent that behaves as the bridge
//! does. Each test names the clause of the protocol it shows.

#[cfg(test)]
mod attachments;
#[cfg(test)]
mod bridge;
#[cfg(test)]
mod child;
#[cfg(test)]
mod client;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod conversations;
#[cfg(test)]
mod endings;
#[cfg(test)]
mod framing;
#[cfg(test)]
mod providers;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod subagents;
#[cfg(test)]
mod surroundings;
#[cfg(test)]
mod turns;
