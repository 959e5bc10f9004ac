//! What a run of characters between delimiters is: number, symbol, keyword, character.
//!
//! The rules are those of the EDN specification, with three things that Clojure's reader, which
//! existing clients were written against, has on top: ratios, keywords that begin with a digit
//! (`:1`), and letters outside ASCII.

use std::borrow::Cow;

use super::value::Value;

pub(super) fn is_whitespace(byte: u8) -> bool {
    matches!(byte, b' ' | b',' | b'\n' | b'\r' | b'\t' | 0x0b | 0x0c)
}

/// Whether the byte ends a number, symbol, keyword or character.
pub(super) fn is_delimiter(byte: u8) -> bool {
    const DELIMITERS: [bool; 256] = {
        let mut table = [false; 256];
        let bytes = b" ,\n\r\t\x0b\x0c\"();[]{}";
        let mut at = 0;
        while at < bytes.len() {
            table[bytes[at] as usize] = true;
            at += 1;
        }
        table
    };
    DELIMITERS[byte as usize]
}

/// Whether a token is meant as a number; it may still be a bad one.
pub(super) fn looks_like_number(token: &str) -> bool {
    match token.as_bytes() {
        [b'+' | b'-', digit, ..] | [digit, ..] => digit.is_ascii_digit(),
        [] => false,
    }
}

/// Reads a number; `None` if the token is none.
pub(super) fn number(token: &str) -> Option<Value<'_>> {
    let text = token.strip_prefix('+').unwrap_or(token);
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, rest) = split_digits(digits);
    if whole.is_empty() || (whole.len() > 1 && whole.starts_with('0')) {
        return None;
    }
    match rest {
        "" => Some(integer(text)),
        "N" => Some(integer(text.strip_suffix('N')?)),
        _ if rest.starts_with('/') => {
            let denominator = rest.strip_prefix('/')?;
            let (digits, end) = split_digits(denominator);
            let valid = end.is_empty() && !digits.is_empty() && digits.bytes().any(|d| d != b'0');
            valid.then_some(Value::Ratio(Cow::Borrowed(text)))
        }
        _ => decimal(text, rest),
    }
}

fn integer(text: &str) -> Value<'_> {
    text.parse()
        .map_or(Value::BigInt(Cow::Borrowed(text)), Value::Int)
}

/// `rest` is what follows the whole part: a fraction, an exponent, an `M`, in this order.
fn decimal<'a>(text: &'a str, rest: &str) -> Option<Value<'a>> {
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => {
            let (digits, rest) = split_digits(fraction);
            (!digits.is_empty()).then_some(rest)?
        }
        None => rest,
    };
    let rest = match rest.strip_prefix(['e', 'E']) {
        Some(exponent) => {
            let (digits, rest) =
                split_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
            (!digits.is_empty()).then_some(rest)?
        }
        None => rest,
    };
    match rest {
        "" => text.parse().ok().map(Value::Float),
        "M" => text
            .strip_suffix('M')
            .map(|text| Value::BigDec(Cow::Borrowed(text))),
        _ => None,
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text
        .bytes()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

pub(super) fn is_symbol(token: &str) -> bool {
    if token == "/" {
        return true;
    }
    match token.split_once('/') {
        Some((namespace, name)) => is_symbol_part(namespace) && is_symbol_part(name),
        None => is_symbol_part(token),
    }
}

/// Takes the name without its colon.
pub(super) fn is_keyword(name: &str) -> bool {
    let (first, second) = match name.split_once('/') {
        Some((namespace, name)) => (namespace, Some(name)),
        None => (name, None),
    };
    !first.is_empty()
        && !first.starts_with([':', '#'])
        && first.chars().all(is_symbol_char)
        && second.is_none_or(is_symbol_part)
}

/// A symbol without namespace.
pub(super) fn is_symbol_part(part: &str) -> bool {
    let begins_well = match part.as_bytes() {
        [] | [b':' | b'#' | b'0'..=b'9', ..] => false,
        [b'+' | b'-' | b'.', second, ..] => !second.is_ascii_digit(),
        _ => true,
    };
    begins_well && part.chars().all(is_symbol_char)
}

fn is_symbol_char(char: char) -> bool {
    match char {
        'a'..='z' | 'A'..='Z' | '0'..='9' => true,
        '.' | '*' | '+' | '!' | '-' | '_' | '?' | '$' | '%' | '&' | '=' | '<' | '>' => true,
        ':' | '#' => true,
        _ => !char.is_ascii() && !char.is_whitespace() && !char.is_control(),
    }
}

/// Whether a keyword or symbol of this name means the same to every parser of a frontend: ASCII,
/// and none of the characters with a second meaning.
///
/// In one pass, because it is asked for every key that is written.
pub(super) fn is_plain_name(name: &str) -> bool {
    let mut slashes = 0;
    // The length so far of the part before or behind the slash, and its first byte.
    let (mut part_len, mut first) = (0, b'a');
    for byte in name.bytes() {
        let fits = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'_' => true,
            b'0'..=b'9' => part_len > 1 || (part_len == 1 && !matches!(first, b'+' | b'-')),
            b'.' | b'?' => part_len > 0,
            b'*' | b'+' | b'!' | b'$' | b'%' | b'&' | b'=' | b'<' | b'>' => true,
            b'/' => part_len > 0 && slashes == 0,
            _ => false,
        };
        if !fits {
            return false;
        }
        if byte == b'/' {
            slashes += 1;
            part_len = 0;
        } else {
            if part_len == 0 {
                first = byte;
            }
            part_len += 1;
        }
    }
    part_len > 0
}

/// Reads what follows the backslash of a character; `None` if it names none.
pub(super) fn character(token: &str) -> Option<char> {
    let mut chars = token.chars();
    let first = chars.next()?;
    if chars.as_str().is_empty() {
        let is_blank = first != ',' && (first.is_whitespace() || first.is_control());
        return (!is_blank).then_some(first);
    }
    match token {
        "newline" => Some('\n'),
        "return" => Some('\r'),
        "space" => Some(' '),
        "tab" => Some('\t'),
        "formfeed" => Some('\u{c}'),
        "backspace" => Some('\u{8}'),
        _ if first == 'u' && token.len() == 5 => char::from_u32(hex4(chars.as_str())?),
        _ if first == 'o' && token.len() <= 4 => octal(chars.as_str()),
        _ => None,
    }
}

fn octal(digits: &str) -> Option<char> {
    let all_octal = digits.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    let number = u32::from_str_radix(digits, 8)
        .ok()
        .filter(|number| *number <= 0o377)?;
    all_octal.then(|| char::from_u32(number)).flatten()
}

/// Exactly four hexadecimal digits.
pub(super) fn hex4(digits: &str) -> Option<u32> {
    let valid = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    valid
        .then(|| u32::from_str_radix(digits, 16).ok())
        .flatten()
}
