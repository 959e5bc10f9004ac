//! What goes through a tunnel: a byte for the kind, a number, most significant byte first, and the
//! content. Items, which are handed on there, are numbered in their order; everything else has the
//! number of the last item before it and may be lost.

use bytes::{BufMut, Bytes, BytesMut};
use serde::{Deserialize, Serialize};

use super::limits::MESSAGE_COST;

/// A byte and a number.
pub(super) const HEADER_BYTES: usize = 9;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TunnelMessage {
    /// Bytes of the dialect.
    Data(Bytes),
    /// It is there, and has handed on the items up to this number.
    Received(u64),
    /// The client is in the session with this id now.
    Session(String),
    /// The session with this id goes on elsewhere.
    Moved(String),
    /// Nothing follows. From the client's side: its input has ended.
    End(TunnelEnd),
    /// It lacks items from this number on: they are to be sent again.
    Again(u64),
    /// It gives up.
    Break,
}

/// How a dialect ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TunnelEnd {
    #[serde(default)]
    pub status: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    #[serde(default)]
    pub goes_on_elsewhere: bool,
}

/// Why a message cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum BadTunnelMessage {
    #[error("a message is too short")]
    TooShort,
    #[error("a message is of an unknown kind, {0}")]
    Kind(u8),
    #[error("the content of a message cannot be read")]
    Content,
}

impl TunnelMessage {
    /// What it takes of the window: what is not handed on takes nothing.
    pub fn cost(&self) -> u64 {
        match self {
            Self::Data(bytes) => bytes.len() as u64 + MESSAGE_COST,
            Self::Session(_) | Self::Moved(_) | Self::End(_) => MESSAGE_COST,
            Self::Received(_) | Self::Again(_) | Self::Break => 0,
        }
    }

    /// The message with its number.
    pub fn write(&self, number: u64) -> Bytes {
        let (kind, content): (u8, &[u8]) = match self {
            Self::Data(bytes) => (0, bytes),
            Self::Received(bytes) => (1, &bytes.to_be_bytes()),
            Self::Session(id) => (2, id.as_bytes()),
            // It is plain data and can be written.
            Self::End(end) => (3, &serde_json::to_vec(end).unwrap_or_default()),
            Self::Again(number) => (4, &number.to_be_bytes()),
            Self::Break => (5, &[]),
            Self::Moved(id) => (6, id.as_bytes()),
        };
        let mut written = BytesMut::with_capacity(HEADER_BYTES + content.len());
        written.put_u8(kind);
        written.put_u64(number);
        written.put_slice(content);
        written.freeze()
    }

    /// A message and its number.
    pub fn read(mut payload: Bytes) -> Result<(u64, Self), BadTunnelMessage> {
        let header = payload.split_to(HEADER_BYTES.min(payload.len()));
        let (Some(kind), Some(number)) = (header.first(), number(header.get(1..))) else {
            return Err(BadTunnelMessage::TooShort);
        };
        let message = match kind {
            0 => Self::Data(payload),
            1 => Self::Received(content_number(&payload)?),
            2 => Self::Session(text(&payload)?),
            3 => {
                Self::End(serde_json::from_slice(&payload).map_err(|_| BadTunnelMessage::Content)?)
            }
            4 => Self::Again(content_number(&payload)?),
            5 => Self::Break,
            6 => Self::Moved(text(&payload)?),
            other => return Err(BadTunnelMessage::Kind(*other)),
        };
        Ok((number, message))
    }
}

fn text(bytes: &[u8]) -> Result<String, BadTunnelMessage> {
    String::from_utf8(bytes.to_vec()).map_err(|_| BadTunnelMessage::Content)
}

fn number(bytes: Option<&[u8]>) -> Option<u64> {
    Some(u64::from_be_bytes(bytes?.try_into().ok()?))
}

fn content_number(bytes: &[u8]) -> Result<u64, BadTunnelMessage> {
    number(Some(bytes)).ok_or(BadTunnelMessage::Content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_written_and_read_alike() {
        let end = TunnelEnd {
            status: 2,
            refused: Some("no".to_owned()),
            goes_on_elsewhere: true,
        };
        for (number, message) in [
            TunnelMessage::Data(Bytes::from_static(b"{}\n")),
            TunnelMessage::Received(u64::MAX),
            TunnelMessage::Session("s-1".to_owned()),
            TunnelMessage::Moved("s-2".to_owned()),
            TunnelMessage::End(end),
            TunnelMessage::Again(3),
            TunnelMessage::Break,
        ]
        .into_iter()
        .enumerate()
        {
            let number = number as u64 + 7;
            let read = TunnelMessage::read(message.write(number)).unwrap();
            assert_eq!(read, (number, message));
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for (bytes, why) in [
            (&b""[..], BadTunnelMessage::TooShort),
            (b"\x00\0\0\0\0\0\0\0", BadTunnelMessage::TooShort),
            (b"\x09\0\0\0\0\0\0\0\x01", BadTunnelMessage::Kind(9)),
            (b"\x01\0\0\0\0\0\0\0\x01abc", BadTunnelMessage::Content),
            (b"\x02\0\0\0\0\0\0\0\x01\xff", BadTunnelMessage::Content),
            (b"\x04\0\0\0\0\0\0\0\x01", BadTunnelMessage::Content),
            (b"\x03\0\0\0\0\0\0\0\x01{", BadTunnelMessage::Content),
        ] {
            assert_eq!(TunnelMessage::read(Bytes::from_static(bytes)), Err(why));
        }
    }
}
