//! Keys and tokens, kept from being shown by accident.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;

/// A key or token. Neither `Debug` nor `Display` shows it; only [`Secret::expose`] does.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Wraps a key.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The key itself, to be put into a request header and nowhere else.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// True when there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// What stands where a key was.
const MASK: &str = "[key]";

/// The shortest text that is taken for a secret wherever it appears: a shorter one, such as the
/// placeholder `x` of a local server, would tear words apart and protects nothing.
const SHORTEST_SECRET_BYTES: usize = 6;

/// How keys of the known providers begin. A provider that echoes a key it was sent may have
/// shortened it, so that comparing with the key itself is not enough.
const KEY_BEGINNINGS: [&str; 9] = [
    "sk-", "sk_", "AIza", "gsk_", "xai-", "ghu_", "gho_", "ghp_", "tgp_",
];

/// `text` without any of `secrets` and without anything that looks like a key.
pub fn redact(text: &str, secrets: &[&Secret]) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        if secret.expose().len() >= SHORTEST_SECRET_BYTES && text.contains(secret.expose()) {
            text = text.replace(secret.expose(), MASK);
        }
    }
    for beginning in KEY_BEGINNINGS {
        text = mask_words_beginning_with(&text, beginning);
    }
    text
}

/// Masks every word of `text` that begins so and goes on for at least four more characters.
fn mask_words_beginning_with(text: &str, beginning: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(beginning) {
        let (before, word) = rest.split_at(at);
        let starts_a_word = before
            .chars()
            .next_back()
            .is_none_or(|c| !c.is_alphanumeric());
        let end = word
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*' | '.')))
            .unwrap_or(word.len());
        let (key, after) = word.split_at(end.max(beginning.len()));
        out.push_str(before);
        if starts_a_word && key.len() >= beginning.len() + 4 {
            out.push_str(MASK);
        } else {
            out.push_str(key);
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_itself_in_no_format() {
        let secret = Secret::new("sk-very-secret");
        assert_eq!(format!("{secret} {secret:?}"), "… Secret(…)");
    }

    #[test]
    fn keys_vanish_from_texts_whole_or_shortened() {
        let key = Secret::new("my-own-token");
        for (text, clean) in [
            ("bad key my-own-token!", "bad key [key]!"),
            (
                "Incorrect API key provided: sk-proj-***abcd.",
                "Incorrect API key provided: [key]",
            ),
            ("task-oriented ask-me", "task-oriented ask-me"),
            ("sk-", "sk-"),
            ("AIzaSyA1234567 is wrong", "[key] is wrong"),
        ] {
            assert_eq!(redact(text, &[&key]), clean);
        }
    }
}
