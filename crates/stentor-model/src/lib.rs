//! The models: providers that are spoken to over the network, and two that need none.
//!
//! [`script`] plays a scenario file, for tests and for people who write frontends. [`offline`] is
//! the built-in guide that works by rule when no key is configured.

pub mod offline;
pub mod script;
