//! Who may: a token that lets its bearer drive, and one that lets it watch.

use std::hint::black_box;

use crate::connection::Access;

/// The tokens of a server.
#[derive(Clone)]
pub struct ServerTokens {
    pub drive: Token,
    pub observe: Token,
}

/// A secret. It is never printed.
#[derive(Clone)]
pub struct Token(String);

/// No token is shorter than this.
const SHORTEST_BYTES: usize = 32;

/// Text that is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a token is at least {SHORTEST_BYTES} letters, digits, `-` or `_`")]
pub struct NoToken;

impl Token {
    /// The token `text` is.
    pub fn parse(text: &str) -> Result<Self, NoToken> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        match text.len() >= SHORTEST_BYTES && text.bytes().all(is_plain) {
            true => Ok(Self(text.to_owned())),
            false => Err(NoToken),
        }
    }

    /// Its text, for the file it is kept in and the address that is printed once.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Takes the same time wherever the texts differ.
    fn is(&self, given: &str) -> bool {
        let (own, given) = (self.0.as_bytes(), given.as_bytes());
        let differ = |sum: u8, (a, b): (&u8, &u8)| black_box(sum | (a ^ b));
        own.len() == given.len() && own.iter().zip(given).fold(0, differ) == 0
    }
}

impl ServerTokens {
    /// What the bearer of a token may, if it is one of ours. Both are compared every time.
    pub fn access(&self, given: &str) -> Option<Access> {
        let (drives, observes) = (self.drive.is(given), self.observe.is(given));
        match (drives, observes) {
            (true, _) => Some(Access::Drive),
            (false, true) => Some(Access::Observe),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_all_of_its_text() {
        let tokens = ServerTokens {
            drive: Token::parse(&"d".repeat(43)).unwrap(),
            observe: Token::parse(&"o".repeat(43)).unwrap(),
        };
        assert_eq!(tokens.access(&"d".repeat(43)), Some(Access::Drive));
        assert_eq!(tokens.access(&"o".repeat(43)), Some(Access::Observe));
        for wrong in ["", "d", &"d".repeat(42), &"d".repeat(44), &"D".repeat(43)] {
            assert_eq!(tokens.access(wrong), None, "{wrong}");
        }
        for text in ["", "short", &"é".repeat(40), &" ".repeat(40)] {
            assert!(Token::parse(text).is_err(), "{text}");
        }
    }
}
