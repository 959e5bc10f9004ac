//! The text of simple PDF files, for models that cannot read PDF.
//!
//! Not a PDF reader: it finds content streams, plain or deflated, and takes the strings they show.
//! Files whose fonts have codes of their own yield nothing readable; then the note says so.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The most text that is taken from one document.
const TEXT_BYTES: usize = 200_000;
/// The most a compressed stream may grow to.
const STREAM_BYTES: usize = 8 << 20;

/// What stands for the document `name` where PDF cannot be sent.
pub fn lower(name: &str, base64: &str) -> String {
    let bytes = STANDARD.decode(base64).ok();
    let text = bytes.as_deref().and_then(extract);
    match text {
        Some(text) => format!(
            "<document name=\"{name}\" note=\"a PDF, as far as its text could be extracted\">\n\
             {text}\n</document>"
        ),
        None => format!(
            "(a PDF document named `{name}`, {} bytes, which this model cannot read and whose \
             text could not be extracted)",
            bytes.map_or(base64.len() / 4 * 3, |bytes| bytes.len())
        ),
    }
}

/// The readable text of a PDF, or `None` when there is none to be had simply.
pub fn extract(pdf: &[u8]) -> Option<String> {
    let mut text = String::new();
    let mut rest = pdf;
    while let Some((dictionary, stream, after)) = next_stream(rest) {
        if let Some(content) = content_of(dictionary, stream) {
            shown_text(&content, &mut text);
        }
        if text.len() > TEXT_BYTES {
            let mut end = TEXT_BYTES;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
            text.push_str("\n(the document goes on)");
            break;
        }
        rest = after;
    }
    let text = tidy(&text);
    is_readable(&text).then_some(text)
}

/// The next stream: the bytes of its dictionary, its own bytes, and what follows.
fn next_stream(pdf: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let at = memchr::memmem::find(pdf, b"stream")?;
    let (before, from) = pdf.split_at(at);
    let dictionary = match memchr::memmem::rfind(before, b" obj") {
        Some(start) => before.get(start..).unwrap_or_default(),
        None => before,
    };
    let body = from.get(b"stream".len()..)?;
    let body = body
        .strip_prefix(b"\r\n")
        .or_else(|| body.strip_prefix(b"\n"))
        .unwrap_or(body);
    let end = memchr::memmem::find(body, b"endstream")?;
    let (stream, after) = body.split_at(end);
    Some((dictionary, stream, after.get(b"endstream".len()..)?))
}

fn content_of(dictionary: &[u8], stream: &[u8]) -> Option<Vec<u8>> {
    let has = |word: &[u8]| memchr::memmem::find(dictionary, word).is_some();
    if has(b"/Image") || has(b"/FontFile") || has(b"/XRef") || has(b"/ObjStm") || has(b"/Length1") {
        return None;
    }
    if has(b"/FlateDecode") {
        return miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(stream, STREAM_BYTES).ok();
    }
    (!has(b"/Filter")).then(|| stream.to_vec())
}

/// Appends the strings shown between `BT` and `ET`.
fn shown_text(content: &[u8], out: &mut String) {
    let mut strings: Vec<u8> = Vec::new();
    let mut shows_text = false;
    let mut rest = content;
    while let Some((&first, after)) = rest.split_first() {
        match first {
            b'(' => rest = literal(after, &mut strings),
            b'<' if after.first() != Some(&b'<') => rest = hexadecimal(after, &mut strings),
            b'a'..=b'z' | b'A'..=b'Z' | b'\'' | b'"' | b'*' => {
                let end = after
                    .iter()
                    .position(|c| !(c.is_ascii_alphabetic() || matches!(c, b'*' | b'\'' | b'"')))
                    .unwrap_or(after.len());
                let (operator, behind) = rest.split_at(end + 1);
                match operator {
                    b"BT" => shows_text = true,
                    b"ET" => {
                        shows_text = false;
                        out.push('\n');
                    }
                    b"Tj" | b"TJ" if shows_text => push_latin(&strings, out),
                    b"'" | b"\"" if shows_text => {
                        out.push('\n');
                        push_latin(&strings, out);
                    }
                    b"Td" | b"TD" | b"T*" | b"Tm" if shows_text => out.push('\n'),
                    _ => {}
                }
                strings.clear();
                rest = behind;
            }
            _ => rest = after,
        }
    }
}

/// Reads a `(…)` string behind its parenthesis; returns what follows it.
fn literal<'a>(mut rest: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let mut depth = 1;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'\\' => {
                let Some((&escaped, after)) = rest.split_first() else {
                    break;
                };
                rest = after;
                match escaped {
                    b'n' | b'r' => out.push(b'\n'),
                    b't' => out.push(b'\t'),
                    b'\n' | b'\r' | b'b' | b'f' => {}
                    b'0'..=b'7' => {
                        let mut code = u32::from(escaped - b'0');
                        for _ in 0..2 {
                            let Some((&digit @ b'0'..=b'7', after)) = rest.split_first() else {
                                break;
                            };
                            code = code * 8 + u32::from(digit - b'0');
                            rest = after;
                        }
                        out.push(u8::try_from(code & 0xff).unwrap_or(b'?'));
                    }
                    other => out.push(other),
                }
            }
            b'(' => {
                depth += 1;
                out.push(first);
            }
            b')' => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
                out.push(first);
            }
            other => out.push(other),
        }
    }
    rest
}

/// Reads a `<…>` string behind its bracket; returns what follows it.
fn hexadecimal<'a>(rest: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let end = rest.iter().position(|c| *c == b'>').unwrap_or(rest.len());
    let (digits, after) = rest.split_at(end);
    let digits: Vec<u8> = digits
        .iter()
        .filter_map(|c| {
            char::from(*c)
                .to_digit(16)
                .and_then(|d| u8::try_from(d).ok())
        })
        .collect();
    out.extend(digits.chunks(2).map(|pair| match pair {
        [high, low] => high * 16 + low,
        [high] => high * 16,
        _ => 0,
    }));
    after.get(1..).unwrap_or_default()
}

fn push_latin(bytes: &[u8], out: &mut String) {
    out.extend(bytes.iter().map(|byte| char::from(*byte)));
}

fn tidy(text: &str) -> String {
    let lines = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// Text in the file's own codes is full of control characters.
fn is_readable(text: &str) -> bool {
    let all = text.chars().count();
    let words = text
        .chars()
        .filter(|c| c.is_alphanumeric() || c.is_ascii_punctuation() || c.is_whitespace());
    let controls = text
        .chars()
        .filter(|c| c.is_control() && *c != '\n' && *c != '\t')
        .count();
    all > 0 && controls * 20 < all && words.count() * 10 >= all * 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pdf(filter: &str, content: &[u8]) -> Vec<u8> {
        let mut bytes = format!(
            "%PDF-1.4\n4 0 obj\n<< {filter} /Length {} >>\nstream\n",
            content.len()
        )
        .into_bytes();
        bytes.extend_from_slice(content);
        bytes.extend_from_slice(b"\nendstream\nendobj\n%%EOF");
        bytes
    }

    const PAGE: &[u8] =
        b"BT /F1 12 Tf 72 700 Td (Hello \\(there\\)) Tj 0 -14 Td [(Wor) -20 (ld) 3 <21>] TJ ET";

    #[test]
    fn the_shown_strings_of_plain_and_deflated_pages_are_found() {
        assert_eq!(extract(&pdf("", PAGE)).unwrap(), "Hello (there)\nWorld!");
        let deflated = miniz_oxide::deflate::compress_to_vec_zlib(PAGE, 6);
        assert_eq!(
            extract(&pdf("/Filter /FlateDecode", &deflated)).unwrap(),
            "Hello (there)\nWorld!"
        );
    }

    #[test]
    fn codes_of_the_files_own_are_not_taken_for_text() {
        assert_eq!(extract(&pdf("", b"BT <000100020003> Tj ET")), None);
        assert!(lower("x.pdf", "AAAA").contains("`x.pdf`, 3 bytes"));
        assert!(lower("x.pdf", "not base64!").contains("cannot read"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = extract(&pdf("", &bytes));
            let _ = extract(&bytes);
        }
    }
}
