//! The Google Gemini API.

pub mod request;
pub mod stream;
