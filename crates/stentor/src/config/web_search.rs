//! Who searches the web.

use serde_json::{Value as Json, json};

use super::error::ValueProblem;
use super::value::{SettingValue, WrittenValue};

/// Who searches the web for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebSearch {
    /// Nobody.
    Off,
    /// The service at `web.search_url`.
    Service,
    /// The provider of the model, with its own search.
    Provider,
}

const WORDS: [(&str, WebSearch); 3] = [
    ("off", WebSearch::Off),
    ("service", WebSearch::Service),
    ("provider", WebSearch::Provider),
];

impl SettingValue for WebSearch {
    fn read(input: &WrittenValue<'_>) -> Result<Self, ValueProblem> {
        input.word(&WORDS)
    }

    fn shown(&self) -> Json {
        let word = WORDS.iter().find(|(_, search)| search == self);
        json!(word.map(|(word, _)| word))
    }
}
