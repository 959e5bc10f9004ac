//! `ask`: questions to the person, with choices.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use stentor_agent::dialog::{DialogKind, DialogOption};
use stentor_agent::tool::{
    Circumstances, Tool, ToolContext, ToolEffect, ToolFuture, ToolOutput, ToolSpec, Touches,
};
use stentor_text::visible::visible;

use super::{own_words, put};
use crate::tool_call;
use crate::tool_error::ToolError;

/// The name of the tool.
pub const ASK: &str = "ask";

/// Questions of one call.
const MAX_QUESTIONS: usize = 8;
/// Options of one question.
const MAX_OPTIONS: usize = 20;
const QUESTION_CHARS: usize = 2_000;
const LABEL_CHARS: usize = 200;
const DESCRIPTION_CHARS: usize = 1_000;

/// The option that stands for none of the others.
const OTHER: &str = "Other (in your own words)";

/// Asks the person.
pub(crate) struct Ask {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    questions: Vec<AskedQuestion>,
}

#[derive(Debug, Deserialize)]
struct AskedQuestion {
    question: String,
    #[serde(default)]
    options: Vec<AskedOption>,
    /// Models trained with another program's tool write it that way.
    #[serde(default, alias = "multiSelect")]
    multi: bool,
}

#[derive(Debug, Deserialize)]
struct AskedOption {
    label: String,
    description: Option<String>,
}

/// What became of a question.
struct QuestionAnswer {
    selected: Vec<String>,
    own_words: Option<String>,
    /// Somebody wanted to answer in their own words and could not, or did not.
    has_no_words: bool,
}

impl Default for Ask {
    fn default() -> Self {
        let text = |says: &str| json!({ "type": "string", "description": says });
        let option = json!({
            "type": "object",
            "properties": {
                "label": text("What the user chooses, in a few words"),
                "description": text("What choosing it means")
            },
            "required": ["label"]
        });
        let question = json!({
            "type": "object",
            "properties": {
                "question": text("The question, complete in itself"),
                "options": {
                    "type": "array",
                    "items": option,
                    "description": "The choices, the one you recommend first. An answer in the \
                        user's own words is always possible, so do not offer one. Leave them out \
                        for a question that only has such answers"
                },
                "multi": { "type": "boolean", "description": "Several may be chosen" }
            },
            "required": ["question"]
        });
        Self {
            spec: ToolSpec {
                name: ASK.into(),
                label: ASK.into(),
                description: "Ask the user questions and wait for the answers. Use it when what \
                    you should do depends on something only the user can decide and you cannot \
                    find out yourself. Ask everything at once, and offer choices where you can."
                    .into(),
                parameters: json!({
                    "type": "object",
                    "properties": { "questions": { "type": "array", "items": question } },
                    "required": ["questions"]
                })
                .into(),
                effect: ToolEffect::Nothing,
            },
        }
    }
}

impl Tool for Ask {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, _: &Map<String, Value>, _: &Path) -> Touches {
        Touches::default()
    }

    fn is_offered(&self, now: Circumstances) -> bool {
        now.somebody_answers
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        tool_call::outcome(async move {
            let Arguments { questions } = tool_call::arguments(ASK, arguments)?;
            let questions = checked(questions)?;
            let mut answers = Vec::with_capacity(questions.len());
            for (index, question) in questions.iter().enumerate() {
                let title = match questions.as_slice() {
                    [_] => format!("The agent asks: {}", question.question),
                    all => {
                        let (number, of) = (index + 1, all.len());
                        format!("The agent asks ({number} of {of}): {}", question.question)
                    }
                };
                let answer = question.ask(&context, title).await?;
                let is_answered = answer.is_some();
                answers.push(answer);
                // Who does not answer one is not asked the others.
                if !is_answered {
                    break;
                }
            }
            Ok(output(&questions, &answers))
        })
    }
}

/// The questions as they may be asked, or why they may not.
fn checked(mut questions: Vec<AskedQuestion>) -> Result<Vec<AskedQuestion>, ToolError> {
    if questions.is_empty() || questions.len() > MAX_QUESTIONS {
        return Err(ToolError::refused(format!(
            "Ask between 1 and {MAX_QUESTIONS} questions, not {}.",
            questions.len()
        )));
    }
    for question in &mut questions {
        shorter_than(QUESTION_CHARS, "A question", &question.question)?;
        if question.question.trim().is_empty() {
            return Err(ToolError::refused("A question is empty."));
        }
        if question.options.len() > MAX_OPTIONS {
            return Err(ToolError::refused(format!(
                "A question has at most {MAX_OPTIONS} options."
            )));
        }
        let mut labels: Vec<String> = Vec::new();
        for option in &mut question.options {
            shorter_than(LABEL_CHARS, "The label of an option", &option.label)?;
            if let Some(description) = &option.description {
                shorter_than(
                    DESCRIPTION_CHARS,
                    "The description of an option",
                    description,
                )?;
            }
            // It is what comes back, also from clients that show nothing else.
            option.label = visible(option.label.trim()).replace('\n', " ");
            if option.label.is_empty() || labels.contains(&option.label) || option.label == OTHER {
                return Err(ToolError::refused(format!(
                    "The labels of the options must differ and say something: {:?} does not.",
                    option.label
                )));
            }
            labels.push(option.label.clone());
        }
    }
    Ok(questions)
}

fn shorter_than(most: usize, what: &str, text: &str) -> Result<(), ToolError> {
    match text.chars().nth(most) {
        None => Ok(()),
        Some(_) => Err(ToolError::refused(format!(
            "{what} has at most {most} characters."
        ))),
    }
}

impl AskedQuestion {
    /// Asks it. `None` when nobody answered.
    async fn ask(
        &self,
        context: &ToolContext,
        title: String,
    ) -> Result<Option<QuestionAnswer>, ToolError> {
        if self.options.is_empty() {
            let words = own_words(context, title).await?;
            return Ok(words.map(|words| QuestionAnswer {
                selected: Vec::new(),
                own_words: Some(words),
                has_no_words: false,
            }));
        }
        let reply = put(context, title.clone(), self.kind()).await?;
        let Some(chosen) = reply.0 else {
            return Ok(None);
        };
        let is_offered = |text: &&String| self.options.iter().any(|option| option.label == **text);
        let selected: Vec<String> = chosen.iter().filter(is_offered).cloned().collect();
        let mut own = chosen.iter().filter(|text| !is_offered(text));
        let own_words = match own.next() {
            None => None,
            Some(other) if other == OTHER => own_words(context, title).await?,
            // The client has a place to type at once.
            Some(words) => super::DialogReply(Some(vec![words.clone()])).text(),
        };
        let wanted_words = chosen.iter().any(|text| text == OTHER);
        Ok(Some(QuestionAnswer {
            has_no_words: wanted_words && own_words.is_none(),
            selected,
            own_words,
        }))
    }

    fn kind(&self) -> DialogKind {
        let option = |label: &str, description: Option<&String>| DialogOption {
            value: label.to_owned(),
            label: label.to_owned(),
            description: description.cloned(),
            permission: None,
        };
        let offered = self.options.iter();
        let offered = offered.map(|choice| option(&choice.label, choice.description.as_ref()));
        let options = offered.chain([option(OTHER, None)]).collect();
        match self.multi {
            true => DialogKind::MultiSelect { options },
            false => DialogKind::Select { options },
        }
    }
}

impl QuestionAnswer {
    fn told(&self) -> String {
        let mut parts = Vec::new();
        if !self.selected.is_empty() {
            parts.push(self.selected.join(", "));
        }
        if let Some(words) = &self.own_words {
            parts.push(format!("in the user's own words: {words}"));
        }
        if self.has_no_words {
            parts.push(
                "the user wants to answer in their own words and could not here: ask in your \
                 message and end your turn"
                    .to_owned(),
            );
        }
        match parts.is_empty() {
            true => "none of the options".to_owned(),
            false => parts.join("; "),
        }
    }
}

fn output(questions: &[AskedQuestion], answers: &[Option<QuestionAnswer>]) -> ToolOutput {
    let mut text = Vec::new();
    let mut results = Vec::new();
    for (index, question) in questions.iter().enumerate() {
        let answer = answers.get(index).and_then(Option::as_ref);
        let told = answer.map_or_else(|| "no answer".to_owned(), QuestionAnswer::told);
        text.push(format!("{}\nAnswer: {told}", question.question));
        let options = question.options.iter();
        let labels: Vec<&str> = options.map(|option| option.label.as_str()).collect();
        results.push(json!({
            "question": question.question,
            "options": labels,
            "multi": question.multi,
            "selectedOptions": answer.map(|answer| &answer.selected),
            "customInput": answer.and_then(|answer| answer.own_words.as_ref()),
        }));
    }
    if !answers.iter().all(Option::is_some) {
        text.push(
            "The user did not answer. Go on with what seems best and say what you assumed, or end \
             your turn if you cannot go on without an answer."
                .to_owned(),
        );
    }
    ToolOutput::text(text.join("\n\n")).with_details(json!({ "results": results }))
}
