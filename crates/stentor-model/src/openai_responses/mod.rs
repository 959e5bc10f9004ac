//! The OpenAI Responses API, and the form of it a ChatGPT subscription offers.

pub mod request;
pub mod stream;
mod items;
