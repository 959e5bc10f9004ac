//! The OpenAI Chat Completions API, the wire of nearly everybody else.

mod argument_text;
mod calls;
mod content;
mod quirks;
pub mod request;
pub mod stream;
