//! The OpenAI Chat Completions API, the wire of nearly everybody else.

pub mod request;
pub mod stream;
mod calls;
pub(crate) use calls::made_up_id;
mod content;
mod quirks;
