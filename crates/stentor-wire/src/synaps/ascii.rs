//! JSON in ASCII only.
//!
//! The bridge decodes each chunk it reads by itself, so a character of several bytes that is split
//! between two reads is lost there (section 2.2). Escaped, it survives any split.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};

/// Appends `value` as one line of ASCII JSON.
pub fn write_line(out: &mut Vec<u8>, value: &impl Serialize) -> Result<(), serde_json::Error> {
    let start = out.len();
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, Ascii);
    if let Err(error) = value.serialize(&mut serializer) {
        out.truncate(start);
        return Err(error);
    }
    out.push(b'\n');
    Ok(())
}

/// Appends `text` as it stands between the quotes of a JSON string.
pub fn escape_into(out: &mut Vec<u8>, text: &str) {
    let mut rest = text;
    while !rest.is_empty() {
        let plain = rest.bytes().take_while(|byte| is_plain(*byte)).count();
        let (head, tail) = rest.split_at(plain);
        out.extend_from_slice(head.as_bytes());
        let mut characters = tail.chars();
        if let Some(character) = characters.next() {
            escape_character(out, character);
        }
        rest = characters.as_str();
    }
}

fn is_plain(byte: u8) -> bool {
    (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\'
}

fn escape_character(out: &mut Vec<u8>, character: char) {
    match character {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\t' => out.extend_from_slice(b"\\t"),
        '\u{8}' => out.extend_from_slice(b"\\b"),
        '\u{c}' => out.extend_from_slice(b"\\f"),
        character => {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                escape_unit(out, *unit);
            }
        }
    }
}

fn escape_unit(out: &mut Vec<u8>, unit: u16) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"\\u");
    for shift in [12, 8, 4, 0] {
        out.push(DIGITS[usize::from(unit >> shift & 0xf)]);
    }
}

/// Compact JSON whose strings are ASCII.
struct Ascii;

impl Formatter for Ascii {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if fragment.is_ascii() && !fragment.contains('\u{7f}') {
            return CompactFormatter.write_string_fragment(writer, fragment);
        }
        let mut escaped = Vec::with_capacity(fragment.len() + 16);
        escape_into(&mut escaped, fragment);
        writer.write_all(&escaped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_becomes_ascii_and_reads_back() {
        for text in [
            "",
            "plain",
            "a\"b\\c\n\r\t\u{8}\u{c}\u{1}\u{7f}",
            "ä € 漢 😀",
            "\u{2028}",
        ] {
            let mut line = Vec::new();
            write_line(&mut line, &text).unwrap();
            assert!(line.is_ascii(), "{text:?}");
            assert_eq!(serde_json::from_slice::<String>(&line).unwrap(), text);
            let mut quoted = vec![b'"'];
            escape_into(&mut quoted, text);
            quoted.push(b'"');
            assert_eq!(serde_json::from_slice::<String>(&quoted).unwrap(), text);
        }
    }

    #[test]
    fn characters_beyond_the_basic_plane_become_surrogate_pairs() {
        let mut out = Vec::new();
        escape_into(&mut out, "😀");
        assert_eq!(out, b"\\ud83d\\ude00");
    }
}
