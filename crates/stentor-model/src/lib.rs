//! The models: providers over HTTP, the catalogue, and where credentials come from.
//!
//! Read in this order: [`remote`] is a model behind a wire; [`wire`] names the wires and what each
//! one does; [`transcript`] puts a conversation of any origin into an order every wire accepts;
//! [`registry`] knows which models there are and which of them can be used.

pub mod answer;
pub mod anthropic;
pub mod catalogue;
pub mod configuration;
pub mod credential;
pub mod failure;
pub mod gemini;
pub mod http;
pub mod login;
pub mod openai_chat;
pub mod openai_responses;
pub mod pdf;
pub mod registry;
pub mod remote;
pub mod secret;
pub mod sse;
pub mod transcript;
pub mod wire;
