//! Keys that a provider sends back in its answer, replaced before anybody sees or stores them.

use std::collections::VecDeque;

use memchr::memchr_iter;
use memchr::memmem::Finder;
use stentor_agent::live::LiveBlockKind;
use stentor_agent::model::ModelEvent;
use stentor_agent::tool::ToolOutput;
use stentor_journal::message::{ContentBlock, KnownBlock};
use stentor_text::redaction::MASK;

use crate::secret::Secret;

/// Replaces keys in the events of one answer, also those that are split over several deltas.
///
/// Only the keys themselves are replaced: an answer may well be about keys, and what merely looks
/// like one belongs to it.
/// It cannot be printed, as it holds the keys.
#[derive(Default)]
pub(crate) struct EchoFilter {
    keys: Vec<Finder<'static>>,
    /// The end of what came, which may be the beginning of a key.
    held: String,
    ready: VecDeque<ModelEvent>,
}

impl EchoFilter {
    pub(crate) fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        let mut keys: Vec<Finder<'static>> = Vec::new();
        for secret in secrets {
            let key = secret.expose();
            // In the arguments of a call, which are JSON, a slash may be escaped.
            for key in [key.to_owned(), key.replace('/', "\\/")] {
                let is_new = !keys.iter().any(|known| known.needle() == key.as_bytes());
                if is_unmistakable(&key) && is_new {
                    keys.push(Finder::new(key.as_bytes()).into_owned());
                }
            }
        }
        Self {
            keys,
            ..Self::default()
        }
    }

    /// The next event that can be handed on.
    pub(crate) fn pop(&mut self) -> Option<ModelEvent> {
        self.ready.pop_front()
    }

    /// Takes an event of the answer.
    pub(crate) fn push(&mut self, event: ModelEvent) {
        if self.keys.is_empty() {
            self.ready.push_back(event);
            return;
        }
        let event = match event {
            ModelEvent::Delta(text) => return self.push_text(text),
            ModelEvent::Started { response_id } => ModelEvent::Started {
                response_id: response_id.map(|id| self.replaced(id)),
            },
            ModelEvent::BlockStarted(LiveBlockKind::ToolCall { id, name }) => {
                ModelEvent::BlockStarted(LiveBlockKind::ToolCall {
                    id: self.replaced(id),
                    name: self.replaced(name),
                })
            }
            ModelEvent::Intent(text) => ModelEvent::Intent(self.replaced(text)),
            ModelEvent::BlockEnded { signature } => ModelEvent::BlockEnded {
                signature: signature.map(|signature| self.replaced(signature)),
            },
            event @ (ModelEvent::BlockStarted(_)
            | ModelEvent::Usage(_)
            | ModelEvent::Became(_)
            | ModelEvent::Titled(_)
            | ModelEvent::Nothing
            | ModelEvent::Finished(_)) => event,
        };
        if !matches!(event, ModelEvent::Usage(_) | ModelEvent::Nothing) {
            self.flush();
        }
        self.ready.push_back(event);
    }

    /// The result of a call without keys.
    pub(crate) fn cleaned(&self, mut output: ToolOutput) -> ToolOutput {
        for block in &mut output.content {
            if let ContentBlock::Known(KnownBlock::Text(block)) = block {
                block.text = self.replaced(std::mem::take(&mut block.text));
            }
        }
        if let Some(details) = output.details.take_if(|_| !self.keys.is_empty()) {
            let text = self.replaced(details.to_string());
            output.details = serde_json::from_str(&text).ok();
        }
        output
    }

    /// Nothing more comes: what was held back is no key.
    pub(crate) fn flush(&mut self) {
        if !self.held.is_empty() {
            let held = std::mem::take(&mut self.held);
            self.ready.push_back(ModelEvent::Delta(held));
        }
    }

    fn push_text(&mut self, text: String) {
        let mut text = match self.held.is_empty() {
            true => text,
            false => std::mem::take(&mut self.held) + &text,
        };
        text = self.replaced(text);
        let begun = self.keys.iter().map(|key| begun_bytes(&text, key.needle()));
        let kept = text.len() - begun.max().unwrap_or(0);
        // A key is ASCII or the text is not cut inside it: its beginning begins a character.
        self.held = text.split_off(text.floor_char_boundary(kept));
        if !text.is_empty() {
            self.ready.push_back(ModelEvent::Delta(text));
        }
    }

    fn replaced(&self, text: String) -> String {
        let mut text = text;
        for key in &self.keys {
            if key.find(text.as_bytes()).is_some()
                && let Ok(key) = std::str::from_utf8(key.needle())
            {
                text = text.replace(key, MASK);
            }
        }
        text
    }
}

/// Whether a key can be told from the words of an answer. A local server is often given a
/// placeholder such as `ollama`, which an answer may name.
fn is_unmistakable(key: &str) -> bool {
    let has_digit = key.bytes().any(|byte| byte.is_ascii_digit());
    key.len() >= 12 || (key.len() >= 8 && has_digit)
}

/// How many bytes at the end of `text` are the beginning of `key`.
fn begun_bytes(text: &str, key: &[u8]) -> usize {
    let Some(first) = key.first() else {
        return 0;
    };
    let bytes = text.as_bytes();
    let start = bytes.len().saturating_sub(key.len() - 1);
    let end = bytes.get(start..).unwrap_or_default();
    let mut places = memchr_iter(*first, end);
    let found = places.find(|at| end.get(*at..).is_some_and(|tail| key.starts_with(tail)));
    found.map_or(0, |at| end.len() - at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: &str = "abab-key-0123/456";

    fn filtered(deltas: &[&str]) -> Vec<ModelEvent> {
        let key = Secret::new(KEY);
        let mut filter = EchoFilter::new([&key]);
        filter.push(ModelEvent::BlockStarted(LiveBlockKind::Text));
        for delta in deltas {
            filter.push(ModelEvent::Delta((*delta).to_owned()));
        }
        filter.push(ModelEvent::BlockEnded { signature: None });
        std::iter::from_fn(|| filter.pop()).collect()
    }

    fn text_of(events: &[ModelEvent]) -> String {
        let texts = events.iter().map(|event| match event {
            ModelEvent::Delta(text) => text.as_str(),
            _ => "",
        });
        texts.collect()
    }

    #[test]
    fn a_delta_without_the_beginning_of_a_key_is_not_held_back() {
        let events = filtered(&["one", "two a", "b", "c"]);
        let deltas = events.iter().filter_map(|event| match event {
            ModelEvent::Delta(text) => Some(text.as_str()),
            _ => None,
        });
        assert_eq!(deltas.collect::<Vec<_>>(), ["one", "two ", "abc"]);
    }

    #[test]
    fn a_key_with_an_escaped_slash_is_replaced() {
        let escaped = KEY.replace('/', "\\/");
        assert_eq!(
            text_of(&filtered(&["{\"a\":\"", &escaped, "\"}"])),
            "{\"a\":\"[key]\"}"
        );
    }

    #[test]
    fn placeholders_are_no_keys() {
        for (key, is_key) in [
            ("x", false),
            ("ollama", false),
            ("lm-studio", false),
            ("hunter22", true),
            ("my-own-token", true),
        ] {
            assert_eq!(is_unmistakable(key), is_key, "{key}");
        }
    }

    proptest! {
        #[test]
        fn a_key_is_replaced_however_the_answer_is_cut(
            parts in proptest::collection::vec("(abab-key-0123/456|abab|a|é|x){0,3}", 1..4),
            cuts in proptest::collection::vec(0_usize..200, 0..8),
        ) {
            let text = parts.concat();
            let mut cuts: Vec<usize> =
                cuts.into_iter().map(|at| text.floor_char_boundary(at)).collect();
            cuts.push(0);
            cuts.push(text.len());
            cuts.sort_unstable();
            let deltas: Vec<&str> = cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]).collect();
            prop_assert_eq!(text_of(&filtered(&deltas)), text.replace(KEY, MASK));
        }
    }
}
