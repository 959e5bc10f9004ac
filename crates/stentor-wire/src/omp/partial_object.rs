//! A JSON object that is still being written, shown as a complete one at any moment.
//!
//! A model writes the arguments of a tool call piece by piece. A snapshot of the message must show
//! an object all the same, so what has arrived is kept up to the last point at which it can be
//! closed, and closed there. Appending costs what is appended; showing costs one copy.

/// Deeper nesting is not shown; readers refuse it anyway.
const MAX_DEPTH: usize = 120;

/// The text of an object as far as it has arrived.
#[derive(Debug, Default)]
pub struct PartialObject {
    /// What has arrived, white space between tokens left out: it must fit on one line.
    clean: Vec<u8>,
    /// Up to here it can be closed.
    safe: usize,
    /// The closing bytes of what is open, outermost first.
    open: Vec<u8>,
    state: ParserState,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ParserState {
    #[default]
    Start,
    /// After `{`.
    KeyOrEnd,
    /// After `,` in an object.
    Key,
    Colon,
    /// After `[`.
    ValueOrEnd,
    Value,
    Text {
        is_key: bool,
        escape: Escape,
    },
    Number {
        start: usize,
    },
    Word {
        rest: &'static [u8],
    },
    AfterValue,
    Done,
    /// It is no JSON object; nothing of it can be shown.
    Invalid,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    None,
    Backslash,
    /// Inside `\uXXXX`.
    Hex {
        digits: u8,
        code: u16,
        after_high: bool,
    },
    /// After the escape of a high surrogate: `\` must follow.
    High,
    /// After the escape of a high surrogate and `\`: `u` must follow.
    HighBackslash,
}

impl PartialObject {
    /// Takes the next piece.
    pub fn append(&mut self, piece: &str) {
        let mut rest = piece.as_bytes();
        while let Some((&byte, after)) = rest.split_first() {
            if let ParserState::Text {
                is_key,
                escape: Escape::None,
            } = self.state
            {
                let plain = plain_run(rest);
                if plain > 0 {
                    let (run, after) = rest.split_at(plain);
                    self.clean.extend_from_slice(run);
                    self.mark_text(is_key);
                    rest = after;
                    continue;
                }
            }
            self.take(byte);
            rest = after;
        }
    }

    /// Appends the object, closed where it can be closed.
    pub fn write(&self, out: &mut Vec<u8>) {
        if self.safe == 0 || self.state == ParserState::Invalid {
            out.extend_from_slice(b"{}");
            return;
        }
        out.extend_from_slice(self.clean.get(..self.safe).unwrap_or_default());
        if let ParserState::Text { is_key: false, .. } = self.state {
            out.push(b'"');
        }
        out.extend(self.open.iter().rev());
    }

    fn take(&mut self, byte: u8) {
        match self.state {
            ParserState::Text { is_key, escape } => self.take_text(byte, is_key, escape),
            ParserState::Number { start } => {
                if matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E') {
                    self.clean.push(byte);
                } else if self.is_number(start) {
                    self.value_ends();
                    self.take(byte);
                } else {
                    self.state = ParserState::Invalid;
                }
            }
            ParserState::Word { rest } => match rest.split_first() {
                Some((expected, rest)) if *expected == byte => {
                    self.clean.push(byte);
                    self.state = ParserState::Word { rest };
                    if rest.is_empty() {
                        self.value_ends();
                    }
                }
                _ => self.state = ParserState::Invalid,
            },
            ParserState::Invalid => {}
            _ if matches!(byte, b' ' | b'\t' | b'\r' | b'\n') => {}
            _ => self.take_token(byte),
        }
    }

    /// The first byte of a token.
    fn take_token(&mut self, byte: u8) {
        self.clean.push(byte);
        match (self.state, byte) {
            (ParserState::Start, b'{') | (ParserState::Value | ParserState::ValueOrEnd, b'{') => {
                self.opens(b'}', ParserState::KeyOrEnd);
            }
            (ParserState::Value | ParserState::ValueOrEnd, b'[') => {
                self.opens(b']', ParserState::ValueOrEnd)
            }
            (ParserState::KeyOrEnd | ParserState::Key, b'"') => self.state = text(true),
            (ParserState::Colon, b':') => self.state = ParserState::Value,
            (ParserState::Value | ParserState::ValueOrEnd, b'"') => {
                self.state = text(false);
                self.safe = self.clean.len();
            }
            (ParserState::Value | ParserState::ValueOrEnd, b'-' | b'0'..=b'9') => {
                let start = self.clean.len() - 1;
                self.state = ParserState::Number { start };
            }
            (ParserState::Value | ParserState::ValueOrEnd, b't') => {
                self.state = ParserState::Word { rest: b"rue" }
            }
            (ParserState::Value | ParserState::ValueOrEnd, b'f') => {
                self.state = ParserState::Word { rest: b"alse" }
            }
            (ParserState::Value | ParserState::ValueOrEnd, b'n') => {
                self.state = ParserState::Word { rest: b"ull" }
            }
            (ParserState::AfterValue, b',') => {
                self.state = match self.open.last() {
                    Some(b'}') => ParserState::Key,
                    _ => ParserState::Value,
                };
            }
            (ParserState::AfterValue | ParserState::KeyOrEnd | ParserState::ValueOrEnd, _)
                if self.open.last() == Some(&byte) =>
            {
                self.open.pop();
                self.value_ends();
            }
            _ => self.state = ParserState::Invalid,
        }
    }

    fn take_text(&mut self, byte: u8, is_key: bool, escape: Escape) {
        self.clean.push(byte);
        let next = match (escape, byte) {
            (Escape::None, b'"') => {
                if is_key {
                    self.state = ParserState::Colon;
                } else {
                    self.value_ends();
                }
                return;
            }
            (Escape::None, b'\\') => Escape::Backslash,
            (Escape::Backslash, b'u') => hex(false),
            (Escape::Backslash, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                Escape::None
            }
            (Escape::High, b'\\') => Escape::HighBackslash,
            (Escape::HighBackslash, b'u') => hex(true),
            (
                Escape::Hex {
                    digits,
                    code,
                    after_high,
                },
                _,
            ) if byte.is_ascii_hexdigit() => {
                let digit = char::from(byte).to_digit(16).unwrap_or(0) as u16;
                let code = code << 4 | digit;
                match (digits, code, after_high) {
                    (0..3, ..) => Escape::Hex {
                        digits: digits + 1,
                        code,
                        after_high,
                    },
                    (_, 0xd800..=0xdbff, false) => Escape::High,
                    (_, 0xdc00..=0xdfff, true) => Escape::None,
                    (_, 0xd800..=0xdfff, _) | (_, _, true) => {
                        self.state = ParserState::Invalid;
                        return;
                    }
                    _ => Escape::None,
                }
            }
            // A control character, or an escape there is not.
            _ => {
                self.state = ParserState::Invalid;
                return;
            }
        };
        self.state = ParserState::Text {
            is_key,
            escape: next,
        };
        if next == Escape::None {
            self.mark_text(is_key);
        }
    }

    fn mark_text(&mut self, is_key: bool) {
        if !is_key {
            self.safe = self.clean.len();
        }
    }

    fn opens(&mut self, closer: u8, state: ParserState) {
        if self.open.len() == MAX_DEPTH {
            self.state = ParserState::Invalid;
            return;
        }
        self.open.push(closer);
        self.state = state;
        self.safe = self.clean.len();
    }

    fn value_ends(&mut self) {
        self.safe = self.clean.len();
        self.state = if self.open.is_empty() {
            ParserState::Done
        } else {
            ParserState::AfterValue
        };
    }

    fn is_number(&self, start: usize) -> bool {
        self.clean
            .get(start..)
            .is_some_and(|text| serde_json::from_slice::<serde_json::Number>(text).is_ok())
    }
}

fn text(is_key: bool) -> ParserState {
    ParserState::Text {
        is_key,
        escape: Escape::None,
    }
}

fn hex(after_high: bool) -> Escape {
    Escape::Hex {
        digits: 0,
        code: 0,
        after_high,
    }
}

/// How many bytes from the front are text without a special meaning.
fn plain_run(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\')
        .unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn shown(pieces: &[&str]) -> String {
        let mut object = PartialObject::default();
        for piece in pieces {
            object.append(piece);
        }
        let mut out = Vec::new();
        object.write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_has_arrived_is_closed_where_it_can_be() {
        for (text, expected) in [
            ("", "{}"),
            ("  {", "{}"),
            (r#"{"comm"#, "{}"),
            (r#"{"command""#, "{}"),
            (r#"{"command": "#, "{}"),
            (r#"{"command":"sle"#, r#"{"command":"sle"}"#),
            (r#"{"command":"sleep 1"}"#, r#"{"command":"sleep 1"}"#),
            (r#"{"a": 12"#, "{}"),
            (r#"{"a": 12,"#, r#"{"a":12}"#),
            (r#"{"a": tru"#, "{}"),
            (r#"{"a": true"#, r#"{"a":true}"#),
            (r#"{"a": [1, {"b": "x\"#, r#"{"a":[1,{"b":"x"}]}"#),
            (r#"{"a": "x\ud83d"#, r#"{"a":"x"}"#),
            (r#"{"a": "x\ud83d\ude00"#, r#"{"a":"x\ud83d\ude00"}"#),
            ("{\n  \"a\": \"b\"\n}\n", r#"{"a":"b"}"#),
        ] {
            assert_eq!(shown(&[text]), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_object_is_shown_as_an_empty_one() {
        for text in [
            "[1]",
            "12",
            "{]",
            "{\"a\" 1}",
            "{\"a\":01,",
            "{\"a\":\"\\x\"",
            "{\"a\":\"\n\"}",
            "{} x",
            "{\"a\":\"\\ud83d!",
            "nonsense",
        ] {
            assert_eq!(shown(&[text]), "{}", "{text}");
        }
        let deep = format!("{{\"a\":{}", "[".repeat(10_000));
        assert_eq!(shown(&[&deep]), "{}");
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                object_of(inner),
            ]
        })
    }

    fn object_of(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
        prop::collection::vec((any::<String>(), inner), 0..4)
            .prop_map(|fields| Value::Object(fields.into_iter().collect()))
    }

    proptest! {
        #[test]
        fn every_beginning_of_an_object_is_shown_as_an_object_on_one_line(
            value in object_of(json()), pretty: bool,
        ) {
            let text = if pretty {
                serde_json::to_string_pretty(&value).unwrap()
            } else {
                value.to_string()
            };
            let mut object = PartialObject::default();
            for piece in text.split_inclusive(|_| true) {
                object.append(piece);
                let mut out = Vec::new();
                object.write(&mut out);
                prop_assert!(!out.contains(&b'\n'));
                let shown: Value = serde_json::from_slice(&out).unwrap();
                prop_assert!(shown.is_object());
            }
            let mut out = Vec::new();
            object.write(&mut out);
            let read_at_once: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(serde_json::from_slice::<Value>(&out).unwrap(), read_at_once);
        }

        #[test]
        fn nothing_a_model_may_write_breaks_it(pieces in prop::collection::vec(any::<String>(), 0..8)) {
            let mut object = PartialObject::default();
            for piece in &pieces {
                object.append(piece);
            }
            let mut out = Vec::new();
            object.write(&mut out);
            prop_assert!(serde_json::from_slice::<Value>(&out).unwrap().is_object());
        }

        #[test]
        fn nothing_that_looks_like_json_breaks_it(text in r#"\{[\{\}\[\]",:\\u0-9a-f \-.etrnlsd]{0,40}"#) {
            let mut out = Vec::new();
            let mut object = PartialObject::default();
            object.append(&text);
            object.write(&mut out);
            prop_assert!(serde_json::from_slice::<Value>(&out).unwrap().is_object());
        }
    }
}
