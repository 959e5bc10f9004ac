//! Models over real sockets: a server on loopback speaks each API, faults included.

#[cfg(test)]
mod conversation;
#[cfg(test)]
mod echoes;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod login;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod reach;
#[cfg(test)]
mod real;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod scripts;
#[cfg(test)]
mod server;
#[cfg(test)]
mod server_tools;
#[cfg(test)]
mod setup;
