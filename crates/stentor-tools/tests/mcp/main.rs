//! MCP servers as sessions see them: real processes and real sockets, a scripted model.

#[cfg(test)]
mod faults;
#[cfg(test)]
mod http;
#[cfg(test)]
mod over_http;
#[cfg(test)]
mod sharing;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod working;
