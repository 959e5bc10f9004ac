//! Questions of a server to a person, asked as the session's own questions.
//!
//! A form of one field is one question. One of several, or of none, is first shown as a whole and may
//! be declined. Every question says which server asks, and what is answered goes to that server only.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use stentor_agent::dialog::{Dialog, DialogAnswer, DialogKind, DialogOption};
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
    let message = shown(&params.message);
    let before = match form.fields.as_slice() {
        [_] => format!("The MCP server {server:?} asks: {message}\n"),
        fields => {
            let mut text = message;
            if !fields.is_empty() {
                let titles: Vec<&str> = fields.iter().map(|field| field.title.as_str()).collect();
                text.push_str(&format!("\n\nIt wants to know: {}", titles.join(", ")));
            }
            let title = format!("The MCP server {server:?} asks");
            match confirmed(session, title, text).await {
                ElicitationOutcome::Accepted(_) => format!("For the MCP server {server:?}: "),
                not => return not,
            }
        }
    };
    let mut content = Map::new();
    for field in &form.fields {
        match answer(&before, field, session).await {
            Some(Some(value)) => drop(content.insert(field.name.clone(), value)),
            Some(None) => {}
            None => return ElicitationOutcome::Cancelled,
        }
    }
    ElicitationOutcome::Accepted(Some(content))
}

/// The answer to a field: a value, or nothing for one that is left out. `None` when nobody chose.
async fn answer(before: &str, field: &FormField, session: &WeakSession) -> Option<Option<Value>> {
    let mut why = String::new();
    for _ in 0..TRIES {
        let dialog = Dialog {
            title: format!("{before}{}{why}", field.label()),
            kind: kind_of(field),
            timeout_ms: None,
        };
        let DialogAnswer::Value(given) = session.ask_dialog(dialog).await else {
            return None;
        };
        match field.read(&given) {
            Ok(value) => return Some(value),
            Err(wrong) => why = format!(" ({wrong})"),
        }
    }
    None
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
        timeout_ms: None,
    };
    match session.ask_dialog(dialog).await {
        DialogAnswer::Confirmed(true) => ElicitationOutcome::Accepted(None),
        DialogAnswer::Confirmed(false) => ElicitationOutcome::Declined,
        DialogAnswer::Value(_) | DialogAnswer::Values(_) | DialogAnswer::Nothing => {
            ElicitationOutcome::Cancelled
        }
    }
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN_CHARS).collect()
}
