//! The small things a scenario file is made of.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{
    Deserialize, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use stentor_agent::model::{ModelErrorKind, RateLimit};
use stentor_journal::message::StopReason;
use stentor_journal::usage::{Prices, Usage};

use super::mistake::Mistake;
use crate::script::scenario::{ErrorStep, Exhausted, UsageRule};

/// A word for the usual case, or a table for all of it.
pub enum WordOr<W, T> {
    Word(W),
    Table(T),
}

/// A text, or the deltas it comes in.
pub enum TextOrChunks {
    Text(String),
    Chunks(Vec<String>),
}

/// `"estimate"`, or token counts.
pub type UsageShape = WordOr<EstimateWord, UsageCounts>;

/// A kind of error, or a table with more about it.
pub type ErrorShape = WordOr<ModelErrorKind, ErrorTable>;

/// `"repeat-last"`, `"error"`, or `{ text = "…" }`.
pub type ExhaustedShape = WordOr<ExhaustedWord, ExhaustedTable>;

#[derive(serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EstimateWord {
    Estimate,
}

#[derive(serde::Deserialize)]
#[serde(try_from = "UsageTable")]
pub struct UsageCounts(pub Usage);

#[derive(Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct UsageTable {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: Option<u64>,
    cache_write_5m: Option<u64>,
    cache_write_1h: Option<u64>,
    reasoning: Option<u64>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorTable {
    kind: ModelErrorKind,
    message: Option<String>,
    status: Option<u16>,
    retry_after_ms: Option<u64>,
    rate_limit: Option<RateLimitTable>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimitTable {
    remaining: Option<u64>,
    limit: Option<u64>,
    reset_at_ms: Option<u64>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExhaustedWord {
    RepeatLast,
    Error,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExhaustedTable {
    text: String,
}

#[derive(Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PricesShape {
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopShape {
    Stop,
    Length,
    ToolUse,
}

impl TryFrom<UsageTable> for UsageCounts {
    type Error = Mistake;

    fn try_from(table: UsageTable) -> Result<Self, Mistake> {
        let parts = [table.cache_write_5m, table.cache_write_1h];
        let split: u64 = parts.into_iter().flatten().fold(0, u64::saturating_add);
        let cache_write = table.cache_write.unwrap_or(split);
        if split > cache_write {
            return Err(Mistake::CacheParts {
                parts: split,
                whole: cache_write,
            });
        }
        if table.reasoning.is_some_and(|part| part > table.output) {
            return Err(Mistake::MoreReasoningThanOutput);
        }
        Ok(Self(Usage {
            input: table.input,
            output: table.output,
            cache_read: table.cache_read,
            cache_write,
            cache_write_5m: table.cache_write_5m,
            cache_write_1h: table.cache_write_1h,
            reasoning: table.reasoning,
            ..Usage::default()
        }))
    }
}

impl From<UsageShape> for UsageRule {
    fn from(shape: UsageShape) -> Self {
        match shape {
            WordOr::Word(EstimateWord::Estimate) => Self::Estimate,
            WordOr::Table(counts) => Self::Fixed(counts.0),
        }
    }
}

impl From<ErrorShape> for ErrorStep {
    fn from(shape: ErrorShape) -> Self {
        match shape {
            WordOr::Word(kind) => Self::new(kind),
            WordOr::Table(table) => Self {
                kind: table.kind,
                message: table.message,
                status: table.status,
                retry_after_ms: table.retry_after_ms,
                rate_limit: table.rate_limit.map(|table| RateLimit {
                    remaining: table.remaining,
                    limit: table.limit,
                    reset_at_ms: table.reset_at_ms,
                }),
            },
        }
    }
}

impl From<ExhaustedShape> for Exhausted {
    fn from(shape: ExhaustedShape) -> Self {
        match shape {
            WordOr::Word(ExhaustedWord::RepeatLast) => Self::RepeatLast,
            WordOr::Word(ExhaustedWord::Error) => Self::Error,
            WordOr::Table(table) => Self::Text(table.text),
        }
    }
}

impl From<PricesShape> for Prices {
    fn from(shape: PricesShape) -> Self {
        Self {
            input: shape.input,
            output: shape.output,
            cache_read: shape.cache_read,
            cache_write: shape.cache_write,
        }
    }
}

impl From<StopShape> for StopReason {
    fn from(shape: StopShape) -> Self {
        match shape {
            StopShape::Stop => Self::Stop,
            StopShape::Length => Self::Length,
            StopShape::ToolUse => Self::ToolUse,
        }
    }
}

// Written by hand and not as an untagged enum, because those forget where an error was.
impl<'de, W: Deserialize<'de>, T: Deserialize<'de>> Deserialize<'de> for WordOr<W, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordOrVisitor<W, T>(PhantomData<(W, T)>);
        impl<'de, W: Deserialize<'de>, T: Deserialize<'de>> Visitor<'de> for WordOrVisitor<W, T> {
            type Value = WordOr<W, T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a word or a table")
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<Self::Value, E> {
                W::deserialize(word.into_deserializer()).map(WordOr::Word)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(WordOr::Table)
            }
        }
        deserializer.deserialize_any(WordOrVisitor(PhantomData))
    }
}

impl<'de> Deserialize<'de> for TextOrChunks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrChunksVisitor;
        impl<'de> Visitor<'de> for TextOrChunksVisitor {
            type Value = TextOrChunks;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(TextOrChunks::Text(text.to_owned()))
            }

            fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
                Ok(TextOrChunks::Text(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(TextOrChunks::Chunks)
            }
        }
        deserializer.deserialize_any(TextOrChunksVisitor)
    }
}
