//! Questions of sessions, as elicitations of clients that show them to a person.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use stentor_agent::dialog::{Dialog, DialogAnswer, DialogKind};
use stentor_agent::permission::PermissionRequest;
use stentor_agent::session::Session;
use stentor_agent::tasks;
use stentor_policy::PermissionAnswer;
use tokio::task::AbortHandle;

use super::client::McpClient;

/// The longest command that a question shows.
const SUBJECT_BYTES: usize = 4 * 1024;

/// The open questions of one session. Bounded by what a session may have open.
pub(super) struct McpQuestions {
    client: Arc<McpClient>,
    open: HashMap<QuestionNumber, AbortHandle>,
}

#[derive(PartialEq, Eq, Hash)]
enum QuestionNumber {
    Permission(u64),
    Dialog(u64),
}

/// What a person answered.
enum ElicitedAnswer {
    Accepted(Map<String, Value>),
    Declined,
    Cancelled,
}

impl McpQuestions {
    pub fn new(client: Arc<McpClient>) -> Self {
        Self {
            client,
            open: HashMap::new(),
        }
    }

    /// Asks whether a call may run.
    pub fn permission(&mut self, session: &Session, id: u64, request: &PermissionRequest) {
        let (client, session) = (Arc::clone(&self.client), session.downgrade());
        let (message, schema) = permission_form(request);
        let task = tasks::spawn(async move {
            let answer = match elicit(&client, &message, &schema).await {
                ElicitedAnswer::Accepted(content) => {
                    let decision = content.get("decision").cloned().unwrap_or_default();
                    serde_json::from_value(decision).unwrap_or(PermissionAnswer::RejectOnce)
                }
                ElicitedAnswer::Declined => PermissionAnswer::RejectOnce,
                ElicitedAnswer::Cancelled => PermissionAnswer::Cancelled,
            };
            if let Some(session) = session.upgrade() {
                // It may have been answered otherwise meanwhile.
                let _ = session.answer_permission(id, answer).await;
            }
        });
        self.open
            .insert(QuestionNumber::Permission(id), task.abort_handle());
    }

    /// Asks anything else.
    pub fn dialog(&mut self, session: &Session, id: u64, dialog: &Arc<Dialog>) {
        let (client, session) = (Arc::clone(&self.client), session.downgrade());
        let dialog = Arc::clone(dialog);
        let task = tasks::spawn(async move {
            let (message, schema) = dialog_form(&dialog);
            let answered = elicit(&client, &message, &schema).await;
            let answer = dialog_answer(&dialog, answered);
            if let Some(session) = session.upgrade() {
                // It may have been answered otherwise meanwhile.
                let _ = session.answer_dialog(id, answer).await;
            }
        });
        self.open
            .insert(QuestionNumber::Dialog(id), task.abort_handle());
    }

    /// A permission was decided: by our client, or otherwise.
    pub fn permission_answered(&mut self, id: u64) {
        self.close(&QuestionNumber::Permission(id));
    }

    /// A question was closed: by our client, or otherwise.
    pub fn dialog_closed(&mut self, id: u64) {
        self.close(&QuestionNumber::Dialog(id));
    }

    fn close(&mut self, question: &QuestionNumber) {
        if let Some(task) = self.open.remove(question) {
            task.abort();
        }
    }
}

impl Drop for McpQuestions {
    fn drop(&mut self) {
        for (_, task) in self.open.drain() {
            task.abort();
        }
    }
}

async fn elicit(client: &McpClient, message: &str, schema: &Value) -> ElicitedAnswer {
    let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
    let Some(mut answer) = client.ask("elicitation/create", &params).await else {
        return ElicitedAnswer::Cancelled;
    };
    let content = answer.get_mut("content").map(Value::take);
    match (answer.get("action").and_then(Value::as_str), content) {
        (Some("accept"), Some(Value::Object(content))) => ElicitedAnswer::Accepted(content),
        (Some("accept"), _) => ElicitedAnswer::Accepted(Map::new()),
        (Some("decline"), _) => ElicitedAnswer::Declined,
        _ => ElicitedAnswer::Cancelled,
    }
}

fn permission_form(request: &PermissionRequest) -> (String, Value) {
    let mut message = format!("May this run? {}", request.reason);
    if let Some(subject) = request.subject(SUBJECT_BYTES) {
        message.push_str(&format!("\n{}: {subject}", request.call.name));
    }
    let choices = request.choices(PermissionAnswer::label);
    let names = choices.map(|choice| choice.label);
    let values = PermissionAnswer::CHOICES;
    let schema = json!({
        "type": "object",
        "properties": {
            "decision": { "type": "string", "enum": values, "enumNames": names },
        },
        "required": ["decision"],
    });
    (message, schema)
}

fn dialog_form(dialog: &Dialog) -> (String, Value) {
    let mut message = dialog.title.clone();
    let mut is_required = true;
    let answer = match &dialog.kind {
        DialogKind::Select { options } => {
            let values: Vec<&str> = options.iter().map(|one| one.value.as_str()).collect();
            let labels: Vec<&str> = options.iter().map(|one| one.label.as_str()).collect();
            json!({ "type": "string", "enum": values, "enumNames": labels })
        }
        DialogKind::MultiSelect { options } => {
            let labels: Vec<Value> = options
                .iter()
                .map(|one| json!({ "const": one.value, "title": one.label }))
                .collect();
            json!({ "type": "array", "items": { "anyOf": labels } })
        }
        DialogKind::Plan(presented) => {
            message = dialog.whole_title().into_owned();
            let options = presented.options.iter();
            let (values, labels): (Vec<&str>, Vec<&str>) = options
                .map(|one| (one.value.as_str(), one.label.as_str()))
                .unzip();
            json!({ "type": "string", "enum": values, "enumNames": labels })
        }
        DialogKind::Confirm { message: more, .. } => {
            message.push_str(&format!("\n{more}"));
            is_required = false;
            json!({ "type": "boolean", "default": true })
        }
        DialogKind::Input { placeholder } => {
            json!({ "type": "string", "description": placeholder.as_deref().unwrap_or_default() })
        }
        DialogKind::Editor { prefill } => {
            json!({ "type": "string", "default": prefill.as_deref().unwrap_or_default() })
        }
    };
    let required: &[&str] = if is_required { &["answer"] } else { &[] };
    let schema = json!({
        "type": "object",
        "properties": { "answer": answer },
        "required": required,
    });
    (message, schema)
}

fn dialog_answer(dialog: &Dialog, answered: ElicitedAnswer) -> DialogAnswer {
    let is_confirmation = matches!(dialog.kind, DialogKind::Confirm { .. });
    match answered {
        ElicitedAnswer::Accepted(content) => match (content.get("answer"), is_confirmation) {
            (Some(Value::String(text)), false) => DialogAnswer::Value(text.clone()),
            (Some(Value::Array(values)), false) => {
                let texts = values.iter().filter_map(Value::as_str);
                DialogAnswer::Values(texts.map(str::to_owned).collect())
            }
            (Some(Value::Bool(yes)), true) => DialogAnswer::Confirmed(*yes),
            (None, true) => DialogAnswer::Confirmed(true),
            _ => DialogAnswer::Nothing,
        },
        ElicitedAnswer::Declined if is_confirmation => DialogAnswer::Confirmed(false),
        ElicitedAnswer::Declined | ElicitedAnswer::Cancelled => DialogAnswer::Nothing,
    }
}
