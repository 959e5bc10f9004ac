//! The words in double braces that a scenario's texts may contain.

use std::borrow::Cow;

/// What the words stand for in one answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TemplateValues {
    pub last_user: String,
    pub last_tool_result: String,
    /// How long the model was to think.
    pub thinking: &'static str,
    /// The number of the answer in its session, from 1.
    pub turn: u64,
    /// How often the turn has been played, from 1.
    pub n: u64,
}

impl TemplateValues {
    /// `text` with its words replaced. Anything else in braces is left alone, because texts about
    /// code have braces of their own.
    pub fn fill<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.fill_counting(text, self.n)
    }

    /// The same with another `{{n}}`.
    pub fn fill_counting<'a>(&self, text: &'a str, n: u64) -> Cow<'a, str> {
        if !text.contains("{{") {
            return Cow::Borrowed(text);
        }
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        // Goes from left to right once, so that what is filled in is never filled in again.
        while let Some((before, after)) = rest.split_once("{{") {
            filled.push_str(before);
            let word = after.split_once("}}");
            let value = word.and_then(|(word, _)| self.value(word.trim(), n));
            match (value, word) {
                (Some(value), Some((_, after))) => {
                    filled.push_str(&value);
                    rest = after;
                }
                _ => {
                    filled.push_str("{{");
                    rest = after;
                }
            }
        }
        filled.push_str(rest);
        Cow::Owned(filled)
    }

    fn value(&self, word: &str, n: u64) -> Option<Cow<'_, str>> {
        match word {
            "last_user" => Some(Cow::Borrowed(&self.last_user)),
            "last_tool_result" => Some(Cow::Borrowed(&self.last_tool_result)),
            "thinking" => Some(Cow::Borrowed(self.thinking)),
            "turn" => Some(Cow::Owned(self.turn.to_string())),
            "n" => Some(Cow::Owned(n.to_string())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_words_are_replaced_once_and_everything_else_is_left_alone() {
        let values = TemplateValues {
            last_user: "say {{turn}}".into(),
            last_tool_result: "ok".into(),
            thinking: "low",
            turn: 3,
            n: 1,
        };
        for (text, filled) in [
            ("plain", "plain"),
            ("{{last_user}}!", "say {{turn}}!"),
            ("{{ turn }}/{{n}}", "3/1"),
            ("{{thinking}}", "low"),
            ("{{other}} {{last_tool_result}}", "{{other}} ok"),
            ("{{ {{turn}}", "{{ 3"),
            ("open {{turn", "open {{turn"),
            ("{{{turn}}}", "{{{turn}}}"),
        ] {
            assert_eq!(values.fill(text), filled, "{text}");
        }
        assert_eq!(values.fill_counting("{{n}} ", 7), "7 ");
    }
}
