//! Questions to a person and things shown to one, beside the conversation.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use stentor_text::visible::visible;

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialog {
    pub title: String,
    pub kind: DialogKind,
    /// After this long the question answers itself with its default. None: it waits.
    pub timeout_ms: Option<u64>,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogKind {
    /// One of several options. Default: none.
    Select { options: Vec<DialogOption> },
    /// Yes or no. Default: no.
    Confirm {
        message: String,
        /// What a yes does from then on, for a button, if it does more than answer this once.
        lasting: Option<String>,
    },
    /// A line of text. Default: none.
    Input { placeholder: Option<String> },
    /// A longer text. Default: none.
    Editor { prefill: Option<String> },
}

/// One option of a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialogOption {
    /// What the answer says.
    pub value: String,
    /// What the person sees.
    pub label: String,
    pub description: Option<String>,
}

/// What a person answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogAnswer {
    /// To a selection, an input or an editor.
    Value(String),
    /// To a confirmation.
    Confirmed(bool),
    /// Nothing: cancelled, timed out, aborted, or nobody to ask. The asker uses its default.
    Nothing,
}

/// How a question was closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogClose {
    Answered(DialogAnswer),
    TimedOut,
    /// What asked no longer wants to know.
    Withdrawn,
}

/// Where a widget is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WidgetPlacement {
    #[default]
    AboveEditor,
    BelowEditor,
}

impl Dialog {
    /// The same with what would not be seen made visible: programs ask with text of others in it.
    /// What a person only edits stays as it is.
    #[must_use]
    pub fn made_visible(mut self) -> Self {
        let make_visible = |text: &mut String| {
            if let Cow::Owned(shown) = visible(text) {
                *text = shown;
            }
        };
        make_visible(&mut self.title);
        match &mut self.kind {
            DialogKind::Select { options } => {
                for option in options {
                    make_visible(&mut option.label);
                    option.description.iter_mut().for_each(make_visible);
                }
            }
            DialogKind::Confirm { message, .. } => make_visible(message),
            DialogKind::Input { .. } | DialogKind::Editor { .. } => {}
        }
        self
    }

    /// The answer made to fit the question: one of the wrong kind counts as none, and the label
    /// of an option means the option, for clients that know options only by what they show.
    pub fn fit(&self, answer: DialogAnswer) -> DialogAnswer {
        match (&self.kind, answer) {
            (DialogKind::Confirm { .. }, DialogAnswer::Confirmed(yes)) => {
                DialogAnswer::Confirmed(yes)
            }
            (DialogKind::Select { options }, DialogAnswer::Value(said)) => {
                let by_value = options.iter().find(|option| option.value == said);
                let by_label = || options.iter().find(|option| option.label == said);
                let chosen = by_value.or_else(by_label);
                DialogAnswer::Value(chosen.map_or(said, |option| option.value.clone()))
            }
            (DialogKind::Input { .. } | DialogKind::Editor { .. }, DialogAnswer::Value(value)) => {
                DialogAnswer::Value(value)
            }
            _ => DialogAnswer::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_may_be_chosen_by_what_the_person_sees() {
        let select = Dialog {
            title: "Which?".into(),
            kind: DialogKind::Select {
                options: vec![DialogOption {
                    value: "a1".into(),
                    label: "The first".into(),
                    description: None,
                }],
            },
            timeout_ms: None,
        };
        for said in ["a1", "The first"] {
            assert_eq!(
                select.fit(DialogAnswer::Value(said.into())),
                DialogAnswer::Value("a1".into())
            );
        }
    }

    #[test]
    fn an_answer_of_the_wrong_kind_counts_as_none() {
        let confirm = Dialog {
            title: "Sure?".into(),
            kind: DialogKind::Confirm {
                message: String::new(),
                lasting: None,
            },
            timeout_ms: None,
        };
        assert_eq!(
            confirm.fit(DialogAnswer::Confirmed(true)),
            DialogAnswer::Confirmed(true)
        );
        assert_eq!(
            confirm.fit(DialogAnswer::Value("yes".into())),
            DialogAnswer::Nothing
        );
    }
}
