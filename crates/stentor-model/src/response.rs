//! What a response brings: a stream of events, or something that is no answer.

use reqwest::StatusCode;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};

use crate::failure::without_markup;

/// The most of a page that is repeated in an error.
const SHOWN_CHARS: usize = 200;

/// What the body of a response is, from its head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResponseBody {
    /// Server-sent events, or nothing known to be something else: not every server labels them.
    Events,
    Json,
    Html,
    Nothing,
    /// By this method, which nobody asked for.
    Compressed(String),
}

impl ResponseBody {
    pub(crate) fn announced(status: StatusCode, headers: &HeaderMap) -> Self {
        let text = |name| {
            let value = headers.get(name)?.to_str().ok()?;
            Some(value.trim().to_ascii_lowercase())
        };
        let encoding = text(CONTENT_ENCODING).unwrap_or_default();
        let kind = text(CONTENT_TYPE).unwrap_or_default();
        if matches!(status, StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT) {
            Self::Nothing
        } else if !matches!(encoding.as_str(), "" | "identity") {
            Self::Compressed(encoding)
        } else if kind.starts_with("application/json") {
            Self::Json
        } else if kind.starts_with("text/html") || kind.starts_with("application/xhtml") {
            Self::Html
        } else {
            Self::Events
        }
    }

    /// What came, in words.
    pub(crate) fn description(&self, text: &[u8]) -> String {
        match self {
            Self::Nothing => "the server sent no answer".to_owned(),
            Self::Compressed(method) => {
                format!("the answer is compressed with {method}, which was not requested")
            }
            Self::Html => format!("received an HTML page instead of an answer{}", shown(text)),
            Self::Json => format!("received JSON instead of an event stream{}", shown(text)),
            Self::Events => format!(
                "received something other than an event stream{}",
                shown(text)
            ),
        }
    }
}

/// The beginning of a body, until it turns out to be a stream of events.
#[derive(Debug, Default)]
pub(crate) struct FirstBytes {
    bytes: Vec<u8>,
    is_over: bool,
}

impl FirstBytes {
    const KEPT_BYTES: usize = 4 << 10;

    pub(crate) fn push(&mut self, chunk: &[u8]) {
        if !self.is_over {
            let room = Self::KEPT_BYTES - self.bytes.len();
            let taken = chunk.get(..room.min(chunk.len())).unwrap_or_default();
            self.bytes.extend_from_slice(taken);
        }
    }

    /// It is a stream of events.
    pub(crate) fn seen_event(&mut self) {
        self.is_over = true;
        self.bytes = Vec::new();
    }

    /// What came instead, in words, of a body that has ended. One that only begins like a stream of
    /// events was cut off.
    pub(crate) fn instead_of_events(&self) -> Option<String> {
        const GZIP: &[u8] = b"\x1f\x8b";
        if self.is_over {
            return None;
        }
        if self.bytes.trim_ascii().is_empty() {
            return Some(ResponseBody::Nothing.description(&[]));
        }
        if is_stream(&self.bytes) {
            return None;
        }
        let body = match self.bytes.trim_ascii_start().first() {
            Some(b'<') => ResponseBody::Html,
            Some(b'{' | b'[') => ResponseBody::Json,
            _ if self.bytes.starts_with(GZIP) => ResponseBody::Compressed("gzip".to_owned()),
            _ => ResponseBody::Events,
        };
        Some(body.description(&self.bytes))
    }
}

/// True for what could become a stream of events: comments, and fields that come before data.
fn is_stream(bytes: &[u8]) -> bool {
    const FIELDS: [&[u8]; 5] = [b":", b"data", b"event", b"id", b"retry"];
    let mut lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r'));
    lines.all(|line| {
        let is_field = |field: &&[u8]| line.starts_with(field) || field.starts_with(line);
        line.is_empty() || FIELDS.iter().any(is_field)
    })
}

/// `: the beginning of the text`, if there is text.
fn shown(text: &[u8]) -> String {
    let text = without_markup(&String::from_utf8_lossy(text));
    let is_hidden = |c: char| c.is_control() || c == char::REPLACEMENT_CHARACTER;
    let text: String = text.replace(is_hidden, " ");
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.chars().nth(SHOWN_CHARS) {
        _ if text.is_empty() => String::new(),
        None => format!(": {text}"),
        Some(_) => format!(": {}…", text.chars().take(SHOWN_CHARS).collect::<String>()),
    }
}
