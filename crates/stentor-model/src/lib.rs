//! The models: providers that are spoken to over the network, and two that need none.
//!
//! Read in this order: [`remote`] is a model behind a wire; [`wire`] names the wires and what each
//! one does; [`transcript`] puts a conversation of any origin into an order every wire accepts;
//! [`registry`] knows which models there are and which of them can be used. [`script`] plays a
//! scenario file, for tests and for people who write frontends; [`offline`] is the built-in guide
//! that works by rule when no key is configured.

pub mod answer;
pub mod anthropic;
pub mod call;
mod call_id;
pub mod catalogue;
pub mod configuration;
pub mod credential;
mod echo;
pub mod failure;
pub mod gemini;
mod held_answer;
pub mod hosted;
pub mod login;
pub mod offline;
mod openai;
pub mod openai_chat;
pub mod openai_responses;
mod output_schema;
mod reading;
pub mod registry;
pub mod remote;
mod response;
pub mod script;
mod server_call;
pub mod transcript;
pub mod wire;

pub use stentor_oauth::secret;
