//! Chunks of text: the one update that is written thousands of times (section 7).

use super::MAX_CHUNK_BYTES;

/// Whose text it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkKind {
    User,
    Agent,
    Thought,
}

impl ChunkKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::User => "user_message_chunk",
            Self::Agent => "agent_message_chunk",
            Self::Thought => "agent_thought_chunk",
        }
    }
}

/// The frames of one message's chunks. Everything but the text is made once.
#[derive(Debug, Clone)]
pub struct ChunkFrames {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl ChunkFrames {
    /// Frames for the chunks of a message.
    pub fn new(kind: ChunkKind, session_id: &str, message_id: &str) -> Self {
        let mut head =
            br#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"#.to_vec();
        string(&mut head, session_id);
        head.extend_from_slice(br#","update":{"sessionUpdate":""#);
        head.extend_from_slice(kind.as_str().as_bytes());
        head.extend_from_slice(br#"","content":{"type":"text","text":"#);
        let mut tail = br#"},"messageId":"#.to_vec();
        string(&mut tail, message_id);
        tail.extend_from_slice(b"}}}\n");
        Self { head, tail }
    }

    /// Appends `text`, in as many frames as it takes, each with its line end.
    pub fn write(&self, out: &mut Vec<u8>, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.floor_char_boundary(MAX_CHUNK_BYTES.min(rest.len()));
            let (piece, later) = rest.split_at(end);
            rest = later;
            out.extend_from_slice(&self.head);
            string(out, piece);
            out.extend_from_slice(&self.tail);
        }
    }
}

/// A JSON string, its quotes included.
fn string(out: &mut Vec<u8>, text: &str) {
    // Writing a string to memory cannot fail; were it to, the frame would be empty, not broken.
    if serde_json::to_writer(&mut *out, text).is_err() {
        out.extend_from_slice(b"\"\"");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(text: &str) -> String {
        let mut out = Vec::new();
        ChunkFrames::new(ChunkKind::Agent, "s \"1\"", "m1").write(&mut out, text);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_chunk_is_one_line_with_its_text_escaped() {
        assert_eq!(
            frames("a\n\"b\" \u{1f600}"),
            concat!(
                r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s \"1\"","#,
                r#""update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","#,
                r#""text":"a\n\"b\" 😀"},"messageId":"m1"}}}"#,
                "\n"
            )
        );
    }

    #[test]
    fn no_text_is_no_frame() {
        assert_eq!(frames(""), "");
    }

    #[test]
    fn a_long_text_is_split_between_characters_and_nothing_is_lost() {
        let text = "ä€".repeat(MAX_CHUNK_BYTES / 3);
        let frames = frames(&text);
        let pieces: Vec<String> = frames
            .lines()
            .map(|line| {
                let frame: serde_json::Value = serde_json::from_str(line).unwrap();
                let text = &frame["params"]["update"]["content"]["text"];
                text.as_str().unwrap().to_owned()
            })
            .collect();
        assert!(pieces.len() > 1);
        assert!(pieces.iter().all(|piece| piece.len() <= MAX_CHUNK_BYTES));
        assert_eq!(pieces.concat(), text);
    }
}
