//! What tools give back: text and images.

use serde::{Deserialize, Serialize};

/// A piece of content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Content {
    Text(Text),
    Image(Image),
}

/// Text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Text {
    pub text: String,
}

/// An image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// Base64.
    pub data: String,
    /// Such as `image/png`.
    pub mime_type: String,
}

/// Content as an extension may write it: a string is one piece of text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
// The name that code generated from the published schema has.
#[cfg_attr(test, schemars(rename = "Words"))]
#[serde(untagged, expecting = "`content` must be a string or a list of pieces")]
pub enum ContentInput {
    Text(String),
    Pieces(Vec<Content>),
}

impl ContentInput {
    /// The pieces.
    pub fn into_pieces(self) -> Vec<Content> {
        match self {
            Self::Text(text) => vec![Content::Text(Text { text })],
            Self::Pieces(pieces) => pieces,
        }
    }
}

impl Default for ContentInput {
    fn default() -> Self {
        Self::Pieces(Vec::new())
    }
}
