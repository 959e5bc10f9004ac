//! Keys and tokens, kept from being shown by accident.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use stentor_text::redaction;

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

/// `text` without any of `secrets` and without anything that looks like a key.
pub fn redact(text: &str, secrets: &[&Secret]) -> String {
    redaction::redact(text, secrets.iter().map(|secret| secret.expose()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_itself_in_no_format() {
        let secret = Secret::new("sk-very-secret");
        assert_eq!(format!("{secret} {secret:?}"), "… Secret(…)");
    }
}
