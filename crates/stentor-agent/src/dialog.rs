//! Questions to a person and things shown to one, beside the conversation.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use stentor_policy::PermissionAnswer;
use stentor_text::visible::visible;

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialog {
    pub title: String,
    pub kind: DialogKind,
    /// The form that this question stands for. A client that has forms shows it instead of the
    /// question.
    pub form: Option<Box<DialogForm>>,
    /// After this long the question answers itself with its default. None: it waits.
    pub timeout_ms: Option<u64>,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogKind {
    /// One of several options. Default: none.
    Select { options: Vec<DialogOption> },
    /// Any number of several options. Default: no answer.
    MultiSelect { options: Vec<DialogOption> },
    /// Whether a plan is accepted, and how it goes on then. Default: it is not.
    Plan(PresentedPlan),
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

/// What is filled in as a whole, where a client can show that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialogForm {
    /// What the person sees above it.
    pub message: String,
    /// Its fields, as a JSON schema.
    pub schema: Value,
    /// True when something in it must be answered by typing: it cannot be asked of a client that
    /// can only offer choices.
    pub needs_text: bool,
}

/// What a question is answered with where nobody can be asked it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnaskedAnswer {
    pub answer: DialogAnswer,
    /// Why, for people, where they should know.
    pub notice: Option<String>,
}

/// A plan that somebody may accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresentedPlan {
    /// In Markdown.
    pub plan: String,
    /// The call that presents it.
    pub call_id: String,
    /// What accepting it can mean, the usual first, and last that it is not accepted.
    pub options: Vec<DialogOption>,
}

/// The value of the option that does not accept a plan: plan mode goes on.
pub const KEEP_PLANNING: &str = "plan";

/// One option of a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialogOption {
    /// What the answer says.
    pub value: String,
    /// What the person sees.
    pub label: String,
    pub description: Option<String>,
    /// What choosing it permits or refuses, where the question is about a permission.
    pub permission: Option<PermissionAnswer>,
}

/// What a person answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogAnswer {
    /// To a selection, an input or an editor.
    Value(String),
    /// To a selection of any number.
    Values(Vec<String>),
    /// To a confirmation, or that a form is not filled in.
    Confirmed(bool),
    /// To a form: what was filled in, by the names of the fields.
    Filled(Map<String, Value>),
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
        if let DialogKind::Plan(presented) = &mut self.kind {
            make_visible(&mut presented.plan);
        }
        match &mut self.kind {
            DialogKind::Select { options }
            | DialogKind::MultiSelect { options }
            | DialogKind::Plan(PresentedPlan { options, .. }) => {
                for option in options {
                    make_visible(&mut option.label);
                    option.description.iter_mut().for_each(make_visible);
                }
            }
            DialogKind::Confirm { message, .. } => make_visible(message),
            DialogKind::Input { .. } | DialogKind::Editor { .. } => {}
        }
        if let Some(form) = &mut self.form {
            make_visible(&mut form.message);
            make_titles_visible(&mut form.schema);
        }
        self
    }

    /// What is asked as one text, for clients that have no place for more than a title.
    pub fn whole_title(&self) -> Cow<'_, str> {
        match &self.kind {
            DialogKind::MultiSelect { options } => {
                let mut text = format!("{}\n", self.title);
                for (number, option) in options.iter().enumerate() {
                    text.push_str(&format!("\n{}. {}", number + 1, option.label));
                    if let Some(about) = &option.description {
                        text.push_str(&format!(": {about}"));
                    }
                }
                text.push_str("\n\n");
                text.push_str(ANSWER_BY_NUMBERS);
                text.into()
            }
            DialogKind::Plan(presented) => {
                format!("{}\n\n{}", presented.plan.trim_end(), self.title).into()
            }
            DialogKind::Select { .. }
            | DialogKind::Confirm { .. }
            | DialogKind::Input { .. }
            | DialogKind::Editor { .. } => Cow::Borrowed(&self.title),
        }
    }

    /// The answer made to fit the question: one of the wrong kind counts as none, and the label
    /// of an option means the option, for clients that know options only by what they show.
    pub fn fit(&self, answer: DialogAnswer) -> DialogAnswer {
        match (&self.kind, answer) {
            (_, answer @ (DialogAnswer::Filled(_) | DialogAnswer::Confirmed(false)))
                if self.form.is_some() =>
            {
                answer
            }
            (DialogKind::Confirm { .. }, DialogAnswer::Confirmed(yes)) => {
                DialogAnswer::Confirmed(yes)
            }
            (
                DialogKind::Select { options } | DialogKind::Plan(PresentedPlan { options, .. }),
                DialogAnswer::Value(said),
            ) => {
                let chosen = named(options, &said);
                DialogAnswer::Value(chosen.map_or(said, |option| option.value.clone()))
            }
            (DialogKind::MultiSelect { options }, DialogAnswer::Values(said)) => {
                let values = said.into_iter().take(options.len()).map(|said| {
                    let chosen = named(options, &said);
                    chosen.map_or(said, |option| option.value.clone())
                });
                DialogAnswer::Values(values.collect())
            }
            (DialogKind::MultiSelect { options }, DialogAnswer::Value(said)) => {
                typed_choice(options, &said)
            }
            (DialogKind::Input { .. } | DialogKind::Editor { .. }, DialogAnswer::Value(value)) => {
                DialogAnswer::Value(value)
            }
            _ => DialogAnswer::Nothing,
        }
    }
}

/// Makes what a schema has for people visible. What goes back to who asks stays as it is.
fn make_titles_visible(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if ["title", "description"].contains(&name.as_str()) => {
                        if let Cow::Owned(shown) = visible(text) {
                            *text = shown;
                        }
                    }
                    value => make_titles_visible(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(make_titles_visible),
        _ => {}
    }
}

/// How options are chosen in a line of text.
const ANSWER_BY_NUMBERS: &str =
    "Answer with the numbers of all that apply, separated by commas, or in your own words.";

/// The option that a text means.
fn named<'a>(options: &'a [DialogOption], said: &str) -> Option<&'a DialogOption> {
    let by_value = options.iter().find(|option| option.value == said);
    by_value.or_else(|| options.iter().find(|option| option.label == said))
}

/// The options that a line of text means: several by their numbers, which is how they are shown, or
/// one by its name, or several by either. What means none is an answer in the person's own words.
fn typed_choice(options: &[DialogOption], said: &str) -> DialogAnswer {
    let said = said.trim();
    if said.is_empty() {
        return DialogAnswer::Nothing;
    }
    let numbered = |word: &str| {
        let number = word.trim().parse::<usize>().ok()?;
        options.get(number.checked_sub(1)?)
    };
    if !said.split(',').all(|word| numbered(word).is_some())
        && let Some(only) = named(options, said)
    {
        return DialogAnswer::Values(vec![only.value.clone()]);
    }
    let mut values: Vec<String> = Vec::new();
    for word in said.split(',') {
        let word = word.trim();
        let Some(option) = numbered(word).or_else(|| named(options, word)) else {
            return DialogAnswer::Values(vec![said.to_owned()]);
        };
        if !values.contains(&option.value) {
            values.push(option.value.clone());
        }
    }
    DialogAnswer::Values(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_options_are_chosen_by_values_labels_numbers_or_own_words() {
        let option = |value: &str, label: &str| DialogOption {
            value: value.into(),
            label: label.into(),
            description: None,
            permission: None,
        };
        let options = vec![option("a", "First"), option("b", "Second, third")];
        let dialog = Dialog {
            title: "Which?".into(),
            kind: DialogKind::MultiSelect { options },
            form: None,
            timeout_ms: None,
        };
        let typed = |text: &str| dialog.fit(DialogAnswer::Value(text.into()));
        let values = |all: &[&str]| {
            DialogAnswer::Values(all.iter().map(|value| (*value).to_owned()).collect())
        };
        assert_eq!(typed("1, 2"), values(&["a", "b"]));
        assert_eq!(typed("2,2"), values(&["b"]));
        assert_eq!(typed("First"), values(&["a"]));
        assert_eq!(typed("Second, third"), values(&["b"]));
        assert_eq!(typed("neither, I think"), values(&["neither, I think"]));
        assert_eq!(typed("0"), values(&["0"]));
        assert_eq!(typed("  "), DialogAnswer::Nothing);
        let many = DialogAnswer::Values(vec!["First".into(); 1000]);
        assert_eq!(dialog.fit(many), values(&["a", "a"]));
        assert_eq!(
            dialog.whole_title(),
            "Which?\n\n1. First\n2. Second, third\n\nAnswer with the numbers of all that apply, \
             separated by commas, or in your own words."
        );
    }

    #[test]
    fn a_number_means_the_option_at_its_place_also_where_others_are_called_by_numbers() {
        let options = ["3", "1", "1, 2", "8"].map(|label| DialogOption {
            value: label.into(),
            label: label.into(),
            description: None,
            permission: None,
        });
        for (said, expected) in [
            ("1", vec!["3"]),
            ("3", vec!["1, 2"]),
            ("1, 2", vec!["3", "1"]),
            ("8", vec!["8"]),
            ("8, 1", vec!["8", "3"]),
        ] {
            let expected = expected.into_iter().map(str::to_owned).collect();
            let chosen = typed_choice(&options, said);
            assert_eq!(chosen, DialogAnswer::Values(expected), "{said}");
        }
    }

    #[test]
    fn an_option_may_be_chosen_by_what_the_person_sees() {
        let select = Dialog {
            title: "Which?".into(),
            kind: DialogKind::Select {
                options: vec![DialogOption {
                    value: "a1".into(),
                    label: "The first".into(),
                    description: None,
                    permission: None,
                }],
            },
            form: None,
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
    fn a_form_is_filled_in_declined_or_answered_as_the_question_it_stands_for() {
        let schema = serde_json::json!({
            "properties": { "title": { "title": "a\u{202e}b", "default": "a\u{202e}b" } },
        });
        let dialog = Dialog {
            title: "Name".into(),
            kind: DialogKind::Input { placeholder: None },
            form: Some(Box::new(DialogForm {
                message: "a\u{202e}b".into(),
                schema,
                needs_text: true,
            })),
            timeout_ms: None,
        };
        let filled = DialogAnswer::Filled(Map::from_iter([("title".into(), "x".into())]));
        let declined = DialogAnswer::Confirmed(false);
        let typed = DialogAnswer::Value("x".into());
        for answer in [filled.clone(), declined, typed] {
            assert_eq!(dialog.fit(answer.clone()), answer);
        }
        let form = dialog.clone().made_visible().form.unwrap();
        let shown = visible("a\u{202e}b");
        let field = &form.schema["properties"]["title"];
        assert_eq!(
            (&*form.message, &field["title"]),
            (&*shown, &Value::from(&*shown))
        );
        assert_eq!(field["default"], "a\u{202e}b");
        let plain = Dialog {
            form: None,
            ..dialog
        };
        assert_eq!(plain.fit(filled), DialogAnswer::Nothing);
    }

    #[test]
    fn an_answer_of_the_wrong_kind_counts_as_none() {
        let confirm = Dialog {
            title: "Sure?".into(),
            kind: DialogKind::Confirm {
                message: String::new(),
                lasting: None,
            },
            form: None,
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
