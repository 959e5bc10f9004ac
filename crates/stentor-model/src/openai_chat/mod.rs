//! The OpenAI Chat Completions API, the wire of nearly everybody else.

mod argument_text;
mod calls;
pub mod request;
pub mod stream;
pub(crate) use calls::made_up_id;
mod content;
mod quirks;
