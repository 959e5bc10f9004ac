//! Journals of a fleet on a real NATS server.

#[cfg(test)]
mod connecting;
#[cfg(test)]
mod consumers;
#[cfg(test)]
mod storage;
#[cfg(test)]
mod writers;
