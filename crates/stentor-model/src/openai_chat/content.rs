//! Text that some servers send as a string and others in pieces.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Content of a delta: text, and reasoning where a server mixes it in.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    pub text: String,
    pub thinking: String,
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of parts")
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content::default())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Content, E> {
        self.visit_string(text.to_owned())
    }

    fn visit_string<E>(self, text: String) -> Result<Content, E> {
        Ok(Content {
            text,
            thinking: String::new(),
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Content, A::Error> {
        let mut content = Content::default();
        while let Some(part) = parts.next_element::<Part>()? {
            content.text.push_str(&part.text);
            content.thinking.push_str(&part.thinking.text);
        }
        Ok(content)
    }
}

/// `{"type":"text","text":…}` or `{"type":"thinking","thinking":[{"type":"text","text":…}]}`.
#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
    #[serde(default)]
    thinking: Box<Content>,
}

/// Arguments of a call: JSON text, or from some servers the object itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Arguments(pub String);

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ArgumentsVisitor)
    }
}

struct ArgumentsVisitor;

impl<'de> Visitor<'de> for ArgumentsVisitor {
    type Value = Arguments;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("arguments as a text or as an object")
    }

    fn visit_unit<E>(self) -> Result<Arguments, E> {
        Ok(Arguments::default())
    }

    fn visit_str<E>(self, text: &str) -> Result<Arguments, E> {
        Ok(Arguments(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Arguments, E> {
        Ok(Arguments(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Arguments, A::Error> {
        let mut map = Map::new();
        while let Some((name, value)) = entries.next_entry::<String, Value>()? {
            map.insert(name, value);
        }
        Ok(Arguments(Value::Object(map).to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_content_and_arguments_is_read() {
        for (json, text, thinking) in [
            (r#""a""#, "a", ""),
            ("null", "", ""),
            (
                r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#,
                "ab",
                "",
            ),
            (
                r#"[{"type":"thinking","thinking":[{"type":"text","text":"h"}]}]"#,
                "",
                "h",
            ),
        ] {
            let content: Content = serde_json::from_str(json).unwrap();
            assert_eq!(
                (content.text.as_str(), content.thinking.as_str()),
                (text, thinking)
            );
        }
        for (json, text) in [
            (r#""{\"a\":1}""#, r#"{"a":1}"#),
            (r#"{"a":1}"#, r#"{"a":1}"#),
            ("null", ""),
        ] {
            assert_eq!(serde_json::from_str::<Arguments>(json).unwrap().0, text);
        }
    }
}
