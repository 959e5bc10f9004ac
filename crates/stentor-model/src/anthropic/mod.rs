//! The Anthropic Messages API.

pub mod request;
pub mod stream;
mod thinking;
