//! Making visible what would otherwise act on a terminal or deceive a reader.
//!
//! Text of models, tools, files and servers may hold escape sequences that drive a terminal, and
//! marks that show a line in another order than it is run. Wherever such text is shown to a person,
//! it goes through here first.

use std::borrow::Cow;
use std::io::{self, Write};

/// The text with every character that is not seen, or turns others around, as `\u{…}`. Line breaks
/// and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_deceptive) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_deceptive(c) {
            true => shown.extend(c.escape_unicode()),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// The same for what must stay on its line, such as the name of a file: line breaks and tabs are shown
/// by their numbers, too.
pub fn visible_name(name: &str) -> Cow<'_, str> {
    let breaks = ['\n', '\t'];
    match visible(name) {
        shown if !shown.contains(breaks) => shown,
        shown => {
            let shown = shown.replace('\n', "\\u{a}").replace('\t', "\\u{9}");
            Cow::Owned(shown)
        }
    }
}

/// True for what acts on a terminal, has no width, or changes the order in which text is shown.
fn is_deceptive(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // A soft hyphen, and what joins or separates without being seen. The joiners U+200C and
        // U+200D are letters' business: words of several languages and pictures need them.
        '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}' => true,
        // Marks of direction.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' => true,
        '\u{2066}'..='\u{206f}' => true,
        // Line breaks of which a terminal knows nothing, and letters that nothing shows.
        '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}

/// Writes text so that it is [`visible`].
#[derive(Debug)]
pub struct VisibleWriter<W> {
    out: W,
    /// The beginning of a character whose rest has not come yet: at most three bytes.
    begun: Vec<u8>,
}

impl<W: Write> VisibleWriter<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self {
            out,
            begun: Vec::new(),
        }
    }
}

impl<W: Write> Write for VisibleWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut pending = std::mem::take(&mut self.begun);
        pending.extend_from_slice(bytes);
        let mut shown = String::with_capacity(pending.len());
        let mut chunks = pending.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            shown.push_str(&visible(chunk.valid()));
            let is_last = chunks.peek().is_none();
            match chunk.invalid() {
                [] => {}
                begun if is_last && is_beginning(begun) => self.begun = begun.to_vec(),
                _ => shown.push(char::REPLACEMENT_CHARACTER),
            }
        }
        self.out.write_all(shown.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// True when more bytes could make it a character.
fn is_beginning(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_on_its_line() {
        for (name, shown) in [
            ("ünïcödé.txt", "ünïcödé.txt"),
            ("a\nb\tc\u{1b}[2J", "a\\u{a}b\\u{9}c\\u{1b}[2J"),
        ] {
            assert_eq!(visible_name(name), shown);
        }
    }

    #[test]
    fn what_acts_or_deceives_is_shown_by_its_number_and_the_rest_stays() {
        for (text, shown) in [
            (
                "plain, ünïcödé, 日本\n\tindented",
                "plain, ünïcödé, 日本\n\tindented",
            ),
            ("a\u{1b}[2Jb\u{7}", "a\\u{1b}[2Jb\\u{7}"),
            ("safe\rrm x", "safe\\u{d}rm x"),
            ("\u{9b}31m\u{7f}", "\\u{9b}31m\\u{7f}"),
            ("ls \u{202e}x- mr", "ls \\u{202e}x- mr"),
            (
                "a\u{200b}b\u{2066}c\u{2069}",
                "a\\u{200b}b\\u{2066}c\\u{2069}",
            ),
            ("👩\u{200d}💻", "👩\u{200d}💻"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn a_character_may_come_in_pieces() {
        let text = "é\u{202e}日\u{1b}x";
        let mut out = Vec::new();
        let mut writer = VisibleWriter::new(&mut out);
        for byte in text.bytes() {
            writer.write_all(&[byte]).unwrap();
        }
        writer.write_all(b"\xff\xc3").unwrap();
        writer.write_all(b"!").unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "é\\u{202e}日\\u{1b}x\u{fffd}\u{fffd}!"
        );
    }
}
