//! Forms that an ACP agent asks to have filled in, a question for each field.

use serde_json::{Map, Number, Value, json};

use super::json::{list, str, text};
use crate::host::{AgentQuestion, Host, HostAnswer, QuestionKind};

/// Fields that a form may have. One with more is not asked.
const FIELDS: usize = 16;

/// How often a field is asked until its answer is one that it can have.
const ATTEMPTS: usize = 3;

/// A form, as questions.
pub(crate) struct AcpForm {
    fields: Vec<AcpField>,
}

struct AcpField {
    name: String,
    kind: AcpFieldKind,
    is_required: bool,
    question: AgentQuestion,
}

#[derive(Clone, Copy)]
enum AcpFieldKind {
    Text,
    Integer,
    Number,
    Boolean,
    List,
}

impl AcpForm {
    /// The form of an `elicitation/create`; none where it cannot be asked in questions.
    pub fn of(params: &Value) -> Option<Self> {
        if !matches!(str(params, "mode"), "form" | "") {
            return None;
        }
        let schema = params.get("requestedSchema")?;
        let properties = schema.get("properties")?.as_object()?;
        if properties.is_empty() || properties.len() > FIELDS {
            return None;
        }
        let required = list(schema, "required");
        let message = str(params, "message");
        let is_alone = properties.len() == 1;
        let fields = properties.iter().map(|(name, field)| {
            let title = text(field, "title").unwrap_or_else(|| name.clone());
            let (title, more) = match is_alone && !message.is_empty() {
                true => (message.to_owned(), text(field, "description")),
                false => (title, Some(message.to_owned()).filter(|m| !m.is_empty())),
            };
            let (kind, asked) = asked(field)?;
            Some(AcpField {
                name: name.clone(),
                kind,
                is_required: required.iter().any(|required| required == name),
                question: AgentQuestion {
                    title,
                    message: more,
                    kind: asked,
                },
            })
        });
        Some(Self {
            fields: fields.collect::<Option<_>>()?,
        })
    }

    /// Asks field by field, and leaves out what is optional and left empty. None as soon as one is not
    /// answered.
    pub async fn fill_in(self, host: &dyn Host) -> Option<Value> {
        let mut content = Map::new();
        for field in self.fields {
            if let Some(value) = field.fill_in(host).await? {
                content.insert(field.name, value);
            }
        }
        Some(Value::Object(content))
    }
}

impl AcpField {
    /// What it is filled in with, if with anything; none where it is not answered.
    async fn fill_in(&self, host: &dyn Host) -> Option<Option<Value>> {
        let mut question = self.question.clone();
        for _ in 0..ATTEMPTS {
            let answer = host.question(question.clone()).await;
            let is_empty = match &answer {
                HostAnswer::Value(text) => text.trim().is_empty(),
                HostAnswer::Values(values) => values.is_empty(),
                HostAnswer::Confirmed(_) => false,
                HostAnswer::Cancelled => return None,
            };
            if is_empty && !self.is_required {
                return Some(None);
            }
            if !is_empty && let Some(value) = value(self.kind, answer) {
                return Some(Some(value));
            }
            let wanted = match self.kind {
                AcpFieldKind::Integer => "a whole number",
                AcpFieldKind::Number => "a number",
                AcpFieldKind::Text | AcpFieldKind::Boolean | AcpFieldKind::List => "an answer",
            };
            question.title = format!("{} ({wanted} is required)", self.question.title);
        }
        None
    }
}

/// The answer to `elicitation/create`.
pub(super) fn result(content: Option<Value>) -> Value {
    match content {
        Some(content) => json!({ "action": "accept", "content": content }),
        None => json!({ "action": "cancel" }),
    }
}

fn asked(field: &Value) -> Option<(AcpFieldKind, QuestionKind)> {
    let prefill = || {
        let default = field.get("default").filter(|default| !default.is_null());
        default.map_or_else(String::new, |default| match default.as_str() {
            Some(text) => text.to_owned(),
            None => default.to_string(),
        })
    };
    Some(match str(field, "type") {
        "string" => match choices(field) {
            choices if choices.is_empty() => (AcpFieldKind::Text, QuestionKind::Text(prefill())),
            choices => (AcpFieldKind::Text, QuestionKind::Select(choices)),
        },
        "integer" => (AcpFieldKind::Integer, QuestionKind::Text(prefill())),
        "number" => (AcpFieldKind::Number, QuestionKind::Text(prefill())),
        "boolean" => (AcpFieldKind::Boolean, QuestionKind::Confirm),
        "array" => {
            let choices = choices(field.get("items")?);
            if choices.is_empty() {
                return None;
            }
            (AcpFieldKind::List, QuestionKind::MultiSelect(choices))
        }
        _ => return None,
    })
}

/// The values of a choice, with their labels.
fn choices(schema: &Value) -> Vec<(String, String)> {
    let named = ["oneOf", "anyOf"].iter().flat_map(|key| list(schema, key));
    let named = named.filter_map(|choice| {
        let value = text(choice, "const")?;
        Some((value.clone(), text(choice, "title").unwrap_or(value)))
    });
    let plain = list(schema, "enum").iter().filter_map(Value::as_str);
    let plain = plain.map(|value| (value.to_owned(), value.to_owned()));
    named.chain(plain).collect()
}

fn value(kind: AcpFieldKind, answer: HostAnswer) -> Option<Value> {
    Some(match (kind, answer) {
        (AcpFieldKind::Text, HostAnswer::Value(text)) => text.into(),
        (AcpFieldKind::Integer, HostAnswer::Value(text)) => text.trim().parse::<i64>().ok()?.into(),
        (AcpFieldKind::Number, HostAnswer::Value(text)) => {
            Value::Number(Number::from_f64(text.trim().parse().ok()?)?)
        }
        (AcpFieldKind::Boolean, HostAnswer::Confirmed(yes)) => yes.into(),
        (AcpFieldKind::List, HostAnswer::Values(values)) => values.into(),
        _ => return None,
    })
}
