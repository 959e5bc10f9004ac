//! What can be wrong with EDN text.

/// What is wrong with the text, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {offset}")]
pub struct ReadError {
    /// Where the offending form starts.
    pub offset: usize,
    pub kind: ReadErrorKind,
}

/// What is wrong with the text. It never quotes the text, which may be huge or secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReadErrorKind {
    #[error("no form")]
    Empty,
    #[error("a second form")]
    SecondForm,
    #[error("{0} is not closed")]
    Unclosed(&'static str),
    #[error("unexpected {0:?}")]
    UnexpectedClose(char),
    #[error("nothing follows {0}")]
    Dangling(&'static str),
    #[error("map with a key without a value")]
    OddMap,
    #[error("map with a key that occurs twice")]
    DuplicateKey,
    #[error("set with an element that occurs twice")]
    DuplicateElement,
    #[error("nesting deeper than {0}")]
    TooDeep(usize),
    #[error("invalid number")]
    InvalidNumber,
    #[error("invalid symbol")]
    InvalidSymbol,
    #[error("invalid keyword")]
    InvalidKeyword,
    #[error("invalid character")]
    InvalidCharacter,
    #[error("invalid escape in a string")]
    InvalidEscape,
    #[error("half a surrogate pair")]
    UnpairedSurrogate,
    #[error("`#` before something that cannot follow it")]
    InvalidDispatch,
    #[error("unknown tag")]
    UnknownTag,
    #[error("invalid #inst")]
    InvalidInst,
    #[error("invalid #uuid")]
    InvalidUuid,
}
