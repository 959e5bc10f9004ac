//! An answer as the events of a model: words one after the other, without delay.

use stentor_agent::live::LiveBlockKind;
use stentor_agent::model::{Finish, ModelEvent};
use stentor_journal::message::StopReason;
use stentor_journal::usage::Usage;

use super::answer::GuideAnswer;

/// The events of `answer`. `input_chars` is how long the question was.
pub fn events(answer: GuideAnswer, input_chars: u64) -> Vec<ModelEvent> {
    let mut said = SpeechEvents {
        events: vec![ModelEvent::Started { response_id: None }],
        chars: 0,
    };
    said.block(LiveBlockKind::Text, &answer.text);
    let stop_reason = if answer.calls.is_empty() {
        StopReason::Stop
    } else {
        StopReason::ToolUse
    };
    for (id, call) in answer.calls {
        let arguments = serde_json::Value::Object(call.arguments).to_string();
        let name = call.tool.to_owned();
        said.block(LiveBlockKind::ToolCall { id, name }, &arguments);
    }
    let usage = Usage {
        input: input_chars.div_ceil(4),
        output: said.chars.div_ceil(4),
        ..Usage::default()
    };
    let mut events = said.events;
    events.push(ModelEvent::Finished(Finish {
        stop_reason,
        refused: false,
        usage,
    }));
    events
}

struct SpeechEvents {
    events: Vec<ModelEvent>,
    chars: u64,
}

impl SpeechEvents {
    fn block(&mut self, kind: LiveBlockKind, text: &str) {
        if text.is_empty() {
            return;
        }
        self.events.push(ModelEvent::BlockStarted(kind));
        for word in words(text) {
            self.chars += word.chars().count() as u64;
            self.events.push(ModelEvent::Delta(word.to_owned()));
        }
        self.events.push(ModelEvent::BlockEnded { signature: None });
    }
}

/// The words of `text`, each with the whitespace behind it.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let word = rest
            .trim_start()
            .trim_start_matches(|char: char| !char.is_whitespace());
        let next = word.trim_start();
        let (first, after) = rest.split_at_checked(rest.len() - next.len())?;
        rest = after;
        (!first.is_empty()).then_some(first)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_is_a_word_with_the_space_behind_it() {
        for (text, expected) in [
            ("", vec![]),
            ("one", vec!["one"]),
            (
                "I am  here.\n\n    - x\n",
                vec!["I ", "am  ", "here.\n\n    ", "- ", "x\n"],
            ),
            ("  \n", vec!["  \n"]),
            (" é ü", vec![" é ", "ü"]),
        ] {
            assert_eq!(words(text).collect::<Vec<_>>(), expected, "{text:?}");
        }
    }
}
