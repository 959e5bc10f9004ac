//! What the chat completions and the Responses API have in common.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};
use stentor_journal::message::{DocumentBlock, ImageBlock, ToolCall};

use crate::transcript::{ToolAnswer, TranscriptPart, split_media};

/// What a document without a name is called: the APIs want one.
const UNNAMED_PDF: &str = "document.pdf";

/// Data inside an address, written where it goes: pictures are large.
pub(crate) struct DataUrl<'a> {
    mime_type: &'a str,
    data: &'a str,
}

impl<'a> DataUrl<'a> {
    pub(crate) fn of_image(image: &'a ImageBlock) -> Self {
        Self {
            mime_type: &image.mime_type,
            data: &image.data,
        }
    }

    pub(crate) fn of_document(document: &'a DocumentBlock) -> Self {
        Self {
            mime_type: &document.mime_type,
            data: &document.data,
        }
    }
}

impl fmt::Display for DataUrl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "data:{};base64,{}", self.mime_type, self.data)
    }
}

impl Serialize for DataUrl<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

pub(crate) fn file_name(document: &DocumentBlock) -> &str {
    document.name.as_deref().unwrap_or(UNNAMED_PDF)
}

/// The arguments of a call, which these APIs want as JSON in a string.
pub(crate) fn arguments_text(call: &ToolCall) -> String {
    serde_json::to_string(&call.arguments).unwrap_or_default()
}

/// The text of a result, which says itself whether the call failed, and what is not text of it.
pub(crate) fn result_text<'p, 'a>(
    answer: &'p ToolAnswer<'a>,
) -> (Cow<'p, str>, Vec<&'p TranscriptPart<'a>>) {
    let (text, media) = split_media(&answer.parts);
    match answer.is_error {
        true => (Cow::Owned(format!("Error: {text}")), media),
        false => (text, media),
    }
}
