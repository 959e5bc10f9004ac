//! Questions of a server to a person, asked as the session's own questions.
//!
//! A client that has forms shows a form as one. Elsewhere a form of one field is one question, and one
//! of several is first shown as a whole and may be declined. Every question says which server asks, and what is answered goes to that server only.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use stentor_agent::dialog::{Dialog, DialogAnswer, DialogForm, DialogKind, DialogOption};
use stentor_agent::event::{EventKind, NoticeLevel, NoticeSource};
use stentor_agent::session::WeakSession;

use super::form::{ElicitationForm, FieldKind, FormField};

/// The longest text of a server that is shown in a question.
const SHOWN_CHARS: usize = 2_000;
/// How often a person is asked for an answer that fits.
const TRIES: usize = 3;

/// What a server wants to know.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ElicitParams {
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    message: String,
    #[serde(default)]
    requested_schema: Value,
    #[serde(default)]
    url: Option<String>,
}

/// What came of it.
enum ElicitationOutcome {
    Accepted(Option<Map<String, Value>>),
    Declined,
    /// Nobody chose: dismissed, or nobody there to ask.
    Cancelled,
}

/// Asks a person what a server wants to know.
pub(super) async fn elicit(server: &str, params: ElicitParams, session: &WeakSession) -> Value {
    let outcome = match params.mode.as_deref() {
        Some("url") => consent_to_address(server, &params, session).await,
        None | Some("form") => fill_in(server, &params, session).await,
        Some(_) => ElicitationOutcome::Declined,
    };
    match outcome {
        ElicitationOutcome::Accepted(Some(content)) => {
            json!({ "action": "accept", "content": content })
        }
        ElicitationOutcome::Accepted(None) => json!({ "action": "accept" }),
        ElicitationOutcome::Declined => json!({ "action": "decline" }),
        ElicitationOutcome::Cancelled => json!({ "action": "cancel" }),
    }
}

/// Shows an address and asks for consent. It is opened by the person, never by us.
async fn consent_to_address(
    server: &str,
    params: &ElicitParams,
    session: &WeakSession,
) -> ElicitationOutcome {
    let url = params.url.as_deref().unwrap_or_default();
    let Ok(parsed) = reqwest::Url::parse(url) else {
        return ElicitationOutcome::Declined;
    };
    if !["http", "https"].contains(&parsed.scheme()) {
        return ElicitationOutcome::Declined;
    }
    let host = parsed.host_str().unwrap_or_default();
    let message = format!(
        "{}\n\nOpen this address at {host} in a browser if you trust it:\n{parsed}\n\nThe server is \
         told that you agreed, not what you do there.",
        shown(&params.message)
    );
    let title = format!("The MCP server {server:?} asks you to open an address");
    confirmed(session, title, message).await
}

async fn fill_in(server: &str, params: &ElicitParams, session: &WeakSession) -> ElicitationOutcome {
    let Some(form) = ElicitationForm::of(&params.requested_schema) else {
        return ElicitationOutcome::Declined;
    };
    let questions = FormQuestions {
        server,
        asked: format!("The MCP server {server:?} asks: {}", shown(&params.message)),
        session,
    };
    match form.fields.as_slice() {
        [] => {
            let title = format!("The MCP server {server:?} asks");
            match confirmed(session, title, shown(&params.message)).await {
                ElicitationOutcome::Accepted(_) => ElicitationOutcome::Accepted(Some(Map::new())),
                not => not,
            }
        }
        [field] => {
            let before = format!("{}\n", questions.asked);
            questions.fields(&before, std::slice::from_ref(field)).await
        }
        _ => questions.whole(form, &shown(&params.message)).await,
    }
}

/// Who asks a person to fill in a form, and through what.
struct FormQuestions<'a> {
    server: &'a str,
    /// Who asks, and what.
    asked: String,
    session: &'a WeakSession,
}

/// What a person made of one field.
enum FieldAnswer {
    Given(Value),
    LeftOut,
    Declined,
    /// Nobody chose.
    Dismissed,
}

impl FormQuestions<'_> {
    /// Asks for a form of several fields. Clients that have forms show it as one; the others show
    /// what it is about, and then the fields one after the other.
    async fn whole(&self, mut form: ElicitationForm, message: &str) -> ElicitationOutcome {
        let titles: Vec<&str> = form.fields.iter().map(|field| &*field.title).collect();
        let about = format!("{message}\n\nIt wants to know: {}", titles.join(", "));
        let mut why = String::new();
        for _ in 0..TRIES {
            let dialog = Dialog {
                title: format!("The MCP server {:?} asks", self.server),
                kind: DialogKind::Confirm {
                    message: about.clone(),
                    lasting: None,
                },
                form: Some(Box::new(DialogForm {
                    message: format!("{}{why}", self.asked),
                    schema: form.to_schema(),
                    needs_text: form.needs_text(),
                })),
                timeout_ms: None,
            };
            let content = match self.session.ask_dialog(dialog).await {
                DialogAnswer::Filled(content) => content,
                DialogAnswer::Confirmed(true) => {
                    let before = format!("For the MCP server {:?}: ", self.server);
                    return self.fields(&before, &form.fields).await;
                }
                DialogAnswer::Confirmed(false) => return ElicitationOutcome::Declined,
                DialogAnswer::Value(_) | DialogAnswer::Values(_) | DialogAnswer::Nothing => {
                    return ElicitationOutcome::Cancelled;
                }
            };
            match form.read(&content) {
                Ok(content) => return ElicitationOutcome::Accepted(Some(content)),
                Err((field, wrong)) => why = format!("\n\n{field}: {wrong}"),
            }
            form.keep(&content);
        }
        self.give_up(why.trim());
        ElicitationOutcome::Cancelled
    }

    /// Asks for one field after the other.
    async fn fields(&self, before: &str, fields: &[FormField]) -> ElicitationOutcome {
        let mut content = Map::new();
        for field in fields {
            match self.field(before, field).await {
                FieldAnswer::Given(value) => drop(content.insert(field.name.clone(), value)),
                FieldAnswer::LeftOut => {}
                FieldAnswer::Declined => return ElicitationOutcome::Declined,
                FieldAnswer::Dismissed => return ElicitationOutcome::Cancelled,
            }
        }
        ElicitationOutcome::Accepted(Some(content))
    }

    async fn field(&self, before: &str, field: &FormField) -> FieldAnswer {
        let mut why = String::new();
        for _ in 0..TRIES {
            let dialog = Dialog {
                title: format!("{before}{}{why}", field.label()),
                kind: kind_of(field),
                form: Some(Box::new(DialogForm {
                    message: format!("{}{why}", self.asked),
                    schema: field.to_schema(),
                    needs_text: field.needs_text(),
                })),
                timeout_ms: None,
            };
            let read = match self.session.ask_dialog(dialog).await {
                DialogAnswer::Value(given) => field.read(&given),
                DialogAnswer::Filled(content) => field.read_json(content.get(&field.name)),
                DialogAnswer::Confirmed(false) => return FieldAnswer::Declined,
                DialogAnswer::Confirmed(true) | DialogAnswer::Values(_) | DialogAnswer::Nothing => {
                    return FieldAnswer::Dismissed;
                }
            };
            match read {
                Ok(Some(value)) => return FieldAnswer::Given(value),
                Ok(None) => return FieldAnswer::LeftOut,
                Err(wrong) => why = format!(" ({wrong})"),
            }
        }
        self.give_up(&format!("{}{why}", field.title));
        FieldAnswer::Dismissed
    }

    /// Notifies the person that the form is given up, and which answer did not fit.
    fn give_up(&self, why: &str) {
        let message = format!(
            "The form of the MCP server {:?} was cancelled after {TRIES} answers that do not fit: {why}",
            self.server
        );
        self.session.publish(EventKind::Notice {
            level: NoticeLevel::Warning,
            message,
            from: NoticeSource::Agent,
        });
    }
}

fn kind_of(field: &FormField) -> DialogKind {
    let option = |value: &str, label: &str| DialogOption {
        value: value.to_owned(),
        label: label.to_owned(),
        description: None,
        permission: None,
    };
    let mut options: Vec<DialogOption> = match &field.kind {
        FieldKind::Choice(choices) => choices
            .iter()
            .map(|choice| option(&choice.value, &choice.title))
            .collect(),
        FieldKind::Boolean => vec![option("true", "Yes"), option("false", "No")],
        FieldKind::Text { .. } | FieldKind::Number { .. } | FieldKind::Several { .. } => {
            return DialogKind::Input {
                placeholder: field.hint(),
            };
        }
    };
    if !field.is_required && options.iter().all(|option| !option.value.is_empty()) {
        options.push(option("", "Leave out"));
    }
    DialogKind::Select { options }
}

async fn confirmed(session: &WeakSession, title: String, message: String) -> ElicitationOutcome {
    let dialog = Dialog {
        title,
        kind: DialogKind::Confirm {
            message,
            lasting: None,
        },
        form: None,
        timeout_ms: None,
    };
    match session.ask_dialog(dialog).await {
        DialogAnswer::Confirmed(true) => ElicitationOutcome::Accepted(None),
        DialogAnswer::Confirmed(false) => ElicitationOutcome::Declined,
        DialogAnswer::Value(_)
        | DialogAnswer::Values(_)
        | DialogAnswer::Filled(_)
        | DialogAnswer::Nothing => ElicitationOutcome::Cancelled,
    }
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN_CHARS).collect()
}
