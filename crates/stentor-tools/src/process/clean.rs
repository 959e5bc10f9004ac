//! From the bytes a command writes to text that can be shown.

/// Drops escape sequences, carriage returns and other control characters, and makes the rest
/// valid UTF-8. Sequences and characters may be cut anywhere between two chunks.
#[derive(Debug, Default)]
pub(crate) struct Cleaner {
    state: EscapeState,
    /// The start of a character whose end has not come yet.
    partial: Vec<u8>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum EscapeState {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate byte such as `(`: one more byte follows.
    Intermediate,
    /// After `ESC [`, up to a final byte.
    Control,
    /// After `ESC ]` and the like, up to BEL or `ESC \`.
    String,
    /// In such a string, after an ESC.
    StringEscape,
}

impl Cleaner {
    /// Appends the text of `bytes` to `text`.
    pub(crate) fn clean(&mut self, bytes: &[u8], text: &mut String) {
        if self.state == EscapeState::Text
            && self.partial.is_empty()
            && bytes.iter().all(|byte| is_plain(*byte))
            && let Ok(plain) = std::str::from_utf8(bytes)
        {
            text.push_str(plain);
            return;
        }
        let mut kept = std::mem::take(&mut self.partial);
        for byte in bytes {
            if self.keeps(*byte) {
                kept.push(*byte);
            }
        }
        self.partial = push_complete(&kept, text);
    }

    /// Appends what is left at the end: a character that was never finished.
    pub(crate) fn finish(&mut self, text: &mut String) {
        if !std::mem::take(&mut self.partial).is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
        self.state = EscapeState::Text;
    }

    fn keeps(&mut self, byte: u8) -> bool {
        const ESC: u8 = 0x1b;
        const BEL: u8 = 0x07;
        let (state, keep) = match (self.state, byte) {
            (EscapeState::Text, ESC) => (EscapeState::Escape, false),
            (EscapeState::Text, byte) => (EscapeState::Text, is_plain(byte) || byte >= 0x80),
            (EscapeState::Escape, b'[') => (EscapeState::Control, false),
            (EscapeState::Escape, b']' | b'P' | b'X' | b'^' | b'_') => (EscapeState::String, false),
            (EscapeState::Escape, 0x20..=0x2f) => (EscapeState::Intermediate, false),
            (EscapeState::Escape | EscapeState::Intermediate, ESC) => (EscapeState::Escape, false),
            // A newline was not part of any sequence.
            (EscapeState::Escape | EscapeState::Intermediate | EscapeState::Control, b'\n') => {
                (EscapeState::Text, true)
            }
            (EscapeState::Intermediate, 0x20..=0x2f) => (EscapeState::Intermediate, false),
            (EscapeState::Escape | EscapeState::Intermediate, _) => (EscapeState::Text, false),
            (EscapeState::Control, 0x40..=0x7e) => (EscapeState::Text, false),
            (EscapeState::Control, ESC) => (EscapeState::Escape, false),
            (EscapeState::Control, _) => (EscapeState::Control, false),
            (EscapeState::String, BEL) => (EscapeState::Text, false),
            (EscapeState::String, ESC) => (EscapeState::StringEscape, false),
            // A string never spans lines; one that seems to was cut off.
            (EscapeState::String | EscapeState::StringEscape, b'\n') => (EscapeState::Text, true),
            (EscapeState::StringEscape, b'\\') => (EscapeState::Text, false),
            (EscapeState::String | EscapeState::StringEscape, _) => (EscapeState::String, false),
        };
        self.state = state;
        keep
    }
}

/// A printable ASCII character, a newline or a tab.
fn is_plain(byte: u8) -> bool {
    matches!(byte, 0x20..=0x7e | b'\n' | b'\t')
}

/// Appends the complete characters of `bytes`, and gives back the start of one that is not.
fn push_complete(bytes: &[u8], text: &mut String) -> Vec<u8> {
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        text.push_str(chunk.valid());
        let invalid = chunk.invalid();
        if invalid.is_empty() {
            continue;
        }
        let may_continue = chunks.peek().is_none()
            && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
        if may_continue {
            return invalid.to_vec();
        }
        text.push(char::REPLACEMENT_CHARACTER);
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cleaned(chunks: &[&[u8]]) -> String {
        let mut cleaner = Cleaner::default();
        let mut text = String::new();
        for chunk in chunks {
            cleaner.clean(chunk, &mut text);
        }
        cleaner.finish(&mut text);
        text
    }

    #[test]
    fn escape_sequences_and_control_characters_go() {
        for (bytes, expected) in [
            (&b"plain\n\ttext"[..], "plain\n\ttext"),
            (b"\x1b[31mred\x1b[0m\n", "red\n"),
            (b"50%\r100%\r\n", "50%100%\n"),
            (b"\x1b]0;title\x07after", "after"),
            (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            (b"\x1b(Bcharset\x1b7\x1b8", "charset"),
            (b"nul\0bell\x07back\x08", "nulbellback"),
            (b"\x1b[2K\x1b[1;1Hx", "x"),
            (b"cut \x1b[31\nnext", "cut \nnext"),
            (
                b"caf\xc3\xa9 \xff bad \xc3",
                "caf\u{e9} \u{fffd} bad \u{fffd}",
            ),
        ] {
            assert_eq!(cleaned(&[bytes]), expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_character_cut_between_chunks_is_whole_again() {
        assert_eq!(cleaned(&[b"a\xf0\x9f", b"\x98", b"\x80b"]), "a\u{1f600}b");
    }

    proptest! {
        #[test]
        fn where_the_chunks_are_cut_makes_no_difference(
            bytes in proptest::collection::vec(
                prop_oneof![any::<u8>(), Just(0x1b), Just(b'['), Just(b'm'), Just(0xc3)], 0..60),
            at in 0usize..60,
        ) {
            let (left, right) = bytes.split_at(at.min(bytes.len()));
            prop_assert_eq!(cleaned(&[left, right]), cleaned(&[&bytes]));
        }
    }
}
