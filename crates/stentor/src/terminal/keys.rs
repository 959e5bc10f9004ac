//! From the bytes of a terminal to the keys that were pressed.

/// A key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    Char(char),
    Enter,
    /// A line break in the text: Alt and Enter.
    Newline,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    WordLeft,
    WordRight,
    /// A control character, by its letter.
    Ctrl(char),
    Alt(char),
    Escape,
    Paste(String),
}

/// The longest paste that is taken; the rest of it is dropped.
const LONGEST_PASTE_BYTES: usize = 1 << 20;
/// Longer escape sequences mean nothing to us.
const LONGEST_SEQUENCE_BYTES: usize = 32;

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// Takes bytes and gives keys.
#[derive(Debug, Default)]
pub struct KeyDecoder {
    /// The beginning of a key whose rest has not come yet.
    begun: Vec<u8>,
    paste: Option<Vec<u8>>,
}

impl KeyDecoder {
    /// The keys in these bytes and those before them.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.begun.extend_from_slice(bytes);
        let mut keys = Vec::new();
        loop {
            if self.paste.is_some() {
                match self.pasted() {
                    Some(text) => keys.push(Key::Paste(text)),
                    None => return keys,
                }
            }
            match first_key(&self.begun) {
                FirstKey::Nothing => return keys,
                FirstKey::PasteBegins => {
                    self.begun.drain(..PASTE_BEGINS.len());
                    self.paste = Some(Vec::new());
                }
                FirstKey::Key(key, length) => {
                    self.begun.drain(..length);
                    keys.extend(key);
                }
            }
        }
    }

    /// True when it cannot be told yet whether Escape was pressed or something else.
    pub fn is_ambiguous(&self) -> bool {
        self.paste.is_none() && self.begun.first() == Some(&0x1b)
    }

    /// Nothing more came: what has begun was Escape.
    pub fn give_up(&mut self) -> Option<Key> {
        if !self.is_ambiguous() {
            return None;
        }
        self.begun.clear();
        Some(Key::Escape)
    }

    /// The text that was pasted, when its end is there.
    fn pasted(&mut self) -> Option<String> {
        let paste = self.paste.as_mut()?;
        let end = self
            .begun
            .windows(PASTE_ENDS.len())
            .position(|window| window == PASTE_ENDS);
        let complete = match end {
            Some(end) => end,
            // Its end may have begun.
            None => self.begun.len().saturating_sub(PASTE_ENDS.len() - 1),
        };
        let room = LONGEST_PASTE_BYTES.saturating_sub(paste.len());
        paste.extend(self.begun.drain(..complete).take(room));
        end?;
        self.begun.drain(..PASTE_ENDS.len());
        let bytes = self.paste.take()?;
        let text = String::from_utf8_lossy(&bytes);
        Some(text.replace("\r\n", "\n").replace('\r', "\n"))
    }
}

enum FirstKey {
    /// The bytes are not complete.
    Nothing,
    PasteBegins,
    /// A key, or bytes that mean nothing, and how many.
    Key(Option<Key>, usize),
}

fn first_key(bytes: &[u8]) -> FirstKey {
    let Some(first) = bytes.first() else {
        return FirstKey::Nothing;
    };
    let one = |key: Key| FirstKey::Key(Some(key), 1);
    match first {
        0x1b => escape(bytes),
        b'\r' => one(Key::Enter),
        b'\t' => one(Key::Tab),
        0x7f | 0x08 => one(Key::Backspace),
        0 => FirstKey::Key(None, 1),
        control @ 1..=26 => one(Key::Ctrl(char::from(b'a' + control - 1))),
        27..=31 => FirstKey::Key(None, 1),
        _ => character(bytes).map_or(FirstKey::Nothing, |(c, length)| {
            FirstKey::Key(c.map(Key::Char), length)
        }),
    }
}

/// The first character; `None` when its rest has not come.
fn character(bytes: &[u8]) -> Option<(Option<char>, usize)> {
    let start = bytes.get(..bytes.len().min(4))?;
    let chunk = start.utf8_chunks().next()?;
    if let Some(c) = chunk.valid().chars().next() {
        return Some((Some(c), c.len_utf8()));
    }
    let invalid = chunk.invalid();
    let is_beginning = std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
    match is_beginning && invalid.len() == bytes.len() {
        true => None,
        false => Some((None, invalid.len().max(1))),
    }
}

fn escape(bytes: &[u8]) -> FirstKey {
    match bytes.get(1) {
        None => FirstKey::Nothing,
        Some(b'[') => control_sequence(bytes),
        Some(b'O') => match bytes.get(2) {
            None => FirstKey::Nothing,
            Some(last) => FirstKey::Key(cursor_key(*last, false), 3),
        },
        Some(b'\r' | b'\n') => FirstKey::Key(Some(Key::Newline), 2),
        Some(0x7f | 0x08) => FirstKey::Key(Some(Key::Ctrl('w')), 2),
        Some(0x1b) => FirstKey::Key(Some(Key::Escape), 1),
        Some(_) => match bytes.get(1..).and_then(character) {
            None => FirstKey::Nothing,
            Some((c, length)) => FirstKey::Key(c.map(Key::Alt), length + 1),
        },
    }
}

/// `ESC [ parameters letter`.
fn control_sequence(bytes: &[u8]) -> FirstKey {
    if bytes.starts_with(PASTE_BEGINS) {
        return FirstKey::PasteBegins;
    }
    let end = bytes
        .iter()
        .skip(2)
        .position(|byte| (0x40..=0x7e).contains(byte));
    let Some(end) = end.map(|end| end + 2) else {
        return match bytes.len() > LONGEST_SEQUENCE_BYTES {
            true => FirstKey::Key(None, bytes.len()),
            false => FirstKey::Nothing,
        };
    };
    let parameters = bytes.get(2..end).unwrap_or_default();
    // `1;5C` is Right with Control, `1;3C` with Alt.
    let is_modified = parameters.contains(&b';');
    let key = match (bytes.get(end), parameters) {
        (Some(b'~'), [b'1' | b'7', ..]) => Some(Key::Home),
        (Some(b'~'), [b'4' | b'8', ..]) => Some(Key::End),
        (Some(b'~'), [b'3', ..]) => Some(Key::Delete),
        (Some(b'Z'), _) => Some(Key::BackTab),
        (Some(last), _) => cursor_key(*last, is_modified),
        (None, _) => None,
    };
    FirstKey::Key(key, end + 1)
}

fn cursor_key(last: u8, is_modified: bool) -> Option<Key> {
    Some(match (last, is_modified) {
        (b'A', _) => Key::Up,
        (b'B', _) => Key::Down,
        (b'C', false) => Key::Right,
        (b'C', true) => Key::WordRight,
        (b'D', false) => Key::Left,
        (b'D', true) => Key::WordLeft,
        (b'H', _) => Key::Home,
        (b'F', _) => Key::End,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_what_terminals_send_for_them() {
        for (bytes, keys) in [
            (&b"a\xc3\xa9"[..], vec![Key::Char('a'), Key::Char('é')]),
            (b"\r\t\x7f", vec![Key::Enter, Key::Tab, Key::Backspace]),
            (b"\x03\x04", vec![Key::Ctrl('c'), Key::Ctrl('d')]),
            (b"\x1b[A\x1bOB", vec![Key::Up, Key::Down]),
            (b"\x1b[1;5C\x1b[3~", vec![Key::WordRight, Key::Delete]),
            (b"\x1bb\x1b\r", vec![Key::Alt('b'), Key::Newline]),
            (b"\x1b[99;99Xa", vec![Key::Char('a')]),
            (b"\xffa", vec![Key::Char('a')]),
            (
                b"\x1b[200~one\r\ntwo\x1b[201~x",
                vec![Key::Paste("one\ntwo".into()), Key::Char('x')],
            ),
        ] {
            assert_eq!(KeyDecoder::default().push(bytes), keys, "{bytes:?}");
            let mut decoder = KeyDecoder::default();
            let one_by_one = bytes.iter().flat_map(|byte| decoder.push(&[*byte]));
            assert_eq!(
                one_by_one.collect::<Vec<_>>(),
                keys,
                "{bytes:?} byte by byte"
            );
        }
    }

    #[test]
    fn escape_alone_is_known_when_nothing_follows() {
        let mut decoder = KeyDecoder::default();
        assert_eq!(decoder.push(b"\x1b"), []);
        assert!(decoder.is_ambiguous());
        assert_eq!(decoder.give_up(), Some(Key::Escape));
        assert_eq!(decoder.push(b"a"), [Key::Char('a')]);
    }
}
