//! The arguments of a call as they grow, and whether they are complete.

use serde::de::IgnoredAny;

/// A bare value, such as `null`, can only be told to be complete by reading all of it again; longer
/// ones are taken to be complete when the answer ends.
const BARE_BYTES: usize = 64;

/// JSON text that comes in fragments. A byte is looked at once, however many fragments there are.
#[derive(Debug, Default)]
pub(super) struct ArgumentText {
    text: String,
    progress: ArgumentProgress,
}

#[derive(Debug, Default)]
enum ArgumentProgress {
    /// Nothing but white space.
    #[default]
    Blank,
    /// Inside an object or an array.
    Inside {
        depth: usize,
        string: Option<Quoted>,
    },
    /// A whole object or array, with nothing but white space behind it.
    Whole,
    /// A value that is no object or array.
    Bare,
    /// Whatever comes, it will not be one JSON value.
    Never,
}

#[derive(Debug)]
enum Quoted {
    Plain,
    /// Behind a backslash.
    Escaped,
}

impl ArgumentText {
    pub(super) fn push_str(&mut self, fragment: &str) {
        let start = self.text.len();
        self.text.push_str(fragment);
        for (offset, byte) in fragment.bytes().enumerate() {
            if self.advance(byte) {
                let value = self.text.get(..=start + offset).unwrap_or_default();
                self.progress = match serde_json::from_str::<IgnoredAny>(value) {
                    Ok(_) => ArgumentProgress::Whole,
                    Err(_) => ArgumentProgress::Never,
                };
            }
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// True when it is one whole JSON value.
    pub(super) fn is_complete(&self) -> bool {
        match &self.progress {
            ArgumentProgress::Whole => true,
            ArgumentProgress::Bare => {
                self.text.len() <= BARE_BYTES
                    && serde_json::from_str::<IgnoredAny>(&self.text).is_ok()
            }
            ArgumentProgress::Blank | ArgumentProgress::Inside { .. } | ArgumentProgress::Never => {
                false
            }
        }
    }

    /// Takes one byte. True when it closes the outermost bracket.
    fn advance(&mut self, byte: u8) -> bool {
        match &mut self.progress {
            ArgumentProgress::Blank => match byte {
                b'{' | b'[' => {
                    self.progress = ArgumentProgress::Inside {
                        depth: 1,
                        string: None,
                    };
                }
                b' ' | b'\t' | b'\r' | b'\n' => {}
                _ => self.progress = ArgumentProgress::Bare,
            },
            ArgumentProgress::Inside { depth, string } => match (&string, byte) {
                (Some(Quoted::Escaped), _) => *string = Some(Quoted::Plain),
                (Some(Quoted::Plain), b'\\') => *string = Some(Quoted::Escaped),
                (Some(Quoted::Plain), b'"') => *string = None,
                (None, b'"') => *string = Some(Quoted::Plain),
                (None, b'{' | b'[') => *depth += 1,
                (None, b'}' | b']') => {
                    *depth -= 1;
                    return *depth == 0;
                }
                (Some(Quoted::Plain) | None, _) => {}
            },
            ArgumentProgress::Whole if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') => {
                self.progress = ArgumentProgress::Never;
            }
            ArgumentProgress::Whole | ArgumentProgress::Bare | ArgumentProgress::Never => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_beginning_is_complete_exactly_when_it_is_one_json_value() {
        for text in [
            r#" {"a":"}\"]\\","b":[1,{"c":null}]}  "#,
            r#"{"a":1}{"b":2}"#,
            r#"[1,2] x"#,
            r#"{a}"#,
            r#"[}"#,
            r#"{"a":[}"#,
            "null ",
            "\"text\"",
            "12 3",
            "nonsense",
            r#"{"é":"\u00e9"}"#,
        ] {
            let mut arguments = ArgumentText::default();
            let mut so_far = String::new();
            for fragment in text.split_inclusive(|_| true) {
                arguments.push_str(fragment);
                so_far.push_str(fragment);
                assert_eq!(
                    arguments.is_complete(),
                    serde_json::from_str::<IgnoredAny>(&so_far).is_ok(),
                    "{so_far}"
                );
            }
            assert_eq!(arguments.as_str(), text);
        }
    }
}
