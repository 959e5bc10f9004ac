//! The OpenAI Responses API, and the form of it a ChatGPT subscription offers.

mod items;
pub mod request;
mod server_items;
pub mod stream;
