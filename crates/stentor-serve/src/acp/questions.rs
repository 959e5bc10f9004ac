//! Questions to the person at the client: permissions and dialogs (sections 9 and 12).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use agent_client_protocol_schema::v1 as acp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use stentor_agent::dialog::{
    Dialog, DialogAnswer, DialogClose, DialogForm, DialogKind, DialogOption, PresentedPlan,
    UnaskedAnswer,
};
use stentor_agent::permission::PermissionRequest;
use stentor_agent::session::Session;
use stentor_agent::tasks;
use stentor_policy::PermissionAnswer;
use stentor_wire::acp::method;
use stentor_wire::jsonrpc::{Id, encode};

use super::calls::{self, CallViewer};
use super::choices::{self, Choices};
use super::explicit_defaults::ExplicitDefaults;
use super::frames::update;
use super::outbound::{NoClientAnswer, Outbound, WaitingRequest};
use super::plan_request;

/// The questions of a session that are open.
pub(super) struct AcpQuestions {
    session: Session,
    outbound: Outbound,
    /// The requests, by question.
    permissions: HashMap<u64, Id>,
    dialogs: HashMap<u64, Id>,
    /// The dialogs among them that the client shows as a choice.
    choices: HashSet<u64>,
}

impl AcpQuestions {
    pub fn new(session: Session, outbound: Outbound) -> Self {
        Self {
            session,
            outbound,
            permissions: HashMap::new(),
            dialogs: HashMap::new(),
            choices: HashSet::new(),
        }
    }

    /// True when no question is open.
    pub fn is_empty(&self) -> bool {
        self.permissions.is_empty() && self.dialogs.is_empty()
    }

    /// Asks whether a call may run. Only a clear yes counts as one.
    pub fn permission(
        &mut self,
        id: u64,
        request: &Arc<PermissionRequest>,
        viewer: &CallViewer,
        trace: Option<acp::Meta>,
        frames: &mut Vec<u8>,
    ) {
        // The call waits for the answer, so the file is as it was. Clients that show the call and
        // not what comes with the question must know the change before it.
        let change = viewer.preview(&request.call);
        if !change.is_empty() {
            let preview = calls::previewed(&request.call.id, change.clone());
            let preview = acp::SessionUpdate::ToolCallUpdate(preview);
            update(frames, self.session.id(), preview);
        }
        // Nobody is there who may answer.
        if self.session.observes() {
            return;
        }
        let call = viewer.asked(request, change);
        let options = request.choices(PermissionAnswer::label).map(|choice| {
            let (id, kind) = (choice.answer.as_str(), option_kind(choice.answer));
            acp::PermissionOption::new(id, choice.label, kind)
        });
        let session_id = Arc::clone(self.session.id());
        let params =
            acp::RequestPermissionRequest::new(session_id, call, options.to_vec()).meta(trace);
        let Some(mut waiting) = self.request(method::REQUEST_PERMISSION, &params, frames) else {
            return self.give(id, PermissionAnswer::RejectOnce);
        };
        self.permissions.insert(id, waiting.id.clone());
        let session = self.session.clone();
        tasks::spawn(async move {
            let answer = match waiting.answer::<acp::RequestPermissionResponse>().await {
                Ok(response) => chosen(&response.outcome),
                // Somebody else may answer, now or later.
                Err(NoClientAnswer::Gone) if session.is_shared() => return,
                Err(_) if session.others_answer() => return,
                Err(error) => {
                    tracing::info!(%error, "a question was not answered and counts as rejected");
                    PermissionAnswer::RejectOnce
                }
            };
            // The session may have withdrawn the question meanwhile.
            session.answer_permission(id, answer).await.ok();
        });
    }

    /// A question is closed. If we closed it ourselves, or somebody else answered, the client need
    /// not answer any more.
    pub fn permission_answered(&mut self, id: u64, out: &mut Vec<u8>) {
        if let Some(request) = self.permissions.remove(&id) {
            self.withdraw(&request, out);
        }
    }

    /// Asks a person something: with a form if the client has forms, else as a choice.
    pub fn dialog(
        &mut self,
        id: u64,
        dialog: &Arc<Dialog>,
        has_forms: bool,
        trace: Option<acp::Meta>,
        out: &mut Vec<u8>,
    ) {
        if self.session.observes() {
            return;
        }
        if let DialogKind::Plan(presented) = &dialog.kind {
            return self.plan(id, &dialog.title, presented, trace, out);
        }
        let params = has_forms.then(|| {
            let mut params = form(self.session.id(), dialog);
            if let (Some(params), Some(trace)) = (params.as_object_mut(), trace) {
                params.insert("_meta".into(), trace.into());
            }
            params
        });
        let waiting =
            params.and_then(|params| self.request(method::ELICITATION_CREATE, &params, out));
        let Some(waiting) = waiting else {
            return self.choice(id, dialog, out);
        };
        let dialog = Arc::clone(dialog);
        self.await_dialog(id, waiting, move |form: FormAnswer| form.to_dialog(&dialog));
    }

    /// Hands the client's answer to a dialog to the session; without one it gets its default.
    fn await_dialog<T: DeserializeOwned + Send>(
        &mut self,
        id: u64,
        mut waiting: WaitingRequest,
        meaning: impl FnOnce(T) -> DialogAnswer + Send + 'static,
    ) {
        self.dialogs.insert(id, waiting.id.clone());
        let session = self.session.clone();
        tasks::spawn(async move {
            let answer = match waiting.answer().await {
                Ok(answer) => meaning(answer),
                Err(NoClientAnswer::Gone) if session.is_shared() => return,
                Err(_) => return session.cannot_answer(id, unasked(DialogAnswer::Nothing)),
            };
            session.answer_dialog(id, answer).await.ok();
        });
    }

    /// Asks a person to choose; what cannot be asked that way gets its default. Nobody begins to fill
    /// in a form that cannot be filled in to its end.
    fn choice(&mut self, id: u64, dialog: &Arc<Dialog>, out: &mut Vec<u8>) {
        let session = self.session.clone();
        if let Some(form) = &dialog.form
            && form.needs_text
        {
            return self.cannot_fill_in(id, form);
        }
        let asked = Choices::of(id, dialog).and_then(|choices| {
            let session_id = Arc::clone(session.id());
            let (call, options) = (choices.call.clone(), choices.options.clone());
            let params = acp::RequestPermissionRequest::new(session_id, call, options);
            let waiting = self.request(method::REQUEST_PERMISSION, &params, out)?;
            Some((choices, waiting))
        });
        let Some((choices, waiting)) = asked else {
            // What is left out of a form is no reason to dismiss the rest of it.
            return match dialog.form {
                Some(_) => self.answer_unasked(id, DialogAnswer::Filled(Map::new())),
                None => self.answer_nothing(id),
            };
        };
        self.choices.insert(id);
        let chosen =
            move |response: acp::RequestPermissionResponse| choices.answer(&response.outcome);
        self.await_dialog(id, waiting, chosen);
    }

    /// Asks whether a plan is accepted: as a permission for the call that presents it, which switches
    /// the mode. That is how other agents ask, and clients know it.
    fn plan(
        &mut self,
        id: u64,
        title: &str,
        presented: &PresentedPlan,
        trace: Option<acp::Meta>,
        out: &mut Vec<u8>,
    ) {
        let (call, options) = plan_request::of(title, presented);
        let session_id = Arc::clone(self.session.id());
        let params = acp::RequestPermissionRequest::new(session_id, call, options).meta(trace);
        match self.request(method::REQUEST_PERMISSION, &params, out) {
            Some(waiting) => self.await_dialog(id, waiting, plan_request::answer),
            None => self.answer_nothing(id),
        }
    }

    /// The question cannot be asked here: it gets its default, unless somebody else answers it.
    fn answer_nothing(&self, id: u64) {
        self.answer_unasked(id, DialogAnswer::Nothing);
    }

    fn answer_unasked(&self, id: u64, answer: DialogAnswer) {
        self.session.cannot_answer(id, unasked(answer));
    }

    fn cannot_fill_in(&self, id: u64, form: &DialogForm) {
        let asked = sentence(calls::one_line(&form.message));
        let notice = format!("{asked} This client cannot show the form, so nobody was asked.");
        let unasked = UnaskedAnswer {
            answer: DialogAnswer::Nothing,
            notice: Some(notice),
        };
        self.session.cannot_answer(id, unasked);
    }

    pub fn dialog_closed(&mut self, id: u64, close: &DialogClose, frames: &mut Vec<u8>) {
        if let Some(request) = self.dialogs.remove(&id) {
            self.withdraw(&request, frames);
        }
        if self.choices.remove(&id) {
            let closed = choices::closed(id, close);
            let closed = acp::SessionUpdate::ToolCallUpdate(closed);
            update(frames, self.session.id(), closed);
        }
    }

    fn request(
        &self,
        method: &str,
        params: &impl serde::Serialize,
        frames: &mut Vec<u8>,
    ) -> Option<WaitingRequest> {
        let waiting = self.outbound.issue().ok()?;
        match encode::request(frames, &waiting.id, method, &ExplicitDefaults(params)) {
            Ok(()) => {
                frames.push(b'\n');
                Some(waiting)
            }
            Err(error) => {
                tracing::error!(%error, "a request could not be written");
                None
            }
        }
    }

    /// Notifies the client that a request of ours is moot, unless it has answered it.
    fn withdraw(&self, request: &Id, frames: &mut Vec<u8>) {
        if !self.outbound.withdraw(request) {
            return;
        }
        let params = json!({ "requestId": request });
        match encode::notification(frames, method::CANCEL_REQUEST, &params) {
            Ok(()) => frames.push(b'\n'),
            Err(error) => tracing::error!(%error, "a notification could not be written"),
        }
    }

    fn give(&self, id: u64, answer: PermissionAnswer) {
        let session = self.session.clone();
        tasks::spawn(async move {
            session.answer_permission(id, answer).await.ok();
        });
    }
}

fn unasked(answer: DialogAnswer) -> UnaskedAnswer {
    UnaskedAnswer {
        answer,
        notice: None,
    }
}

/// A text that another sentence can follow.
fn sentence(mut text: String) -> String {
    let ends = ['.', '!', '?', ':', ';', '…', '。', '！', '？'];
    if !text.ends_with(ends) {
        text.push('.');
    }
    text
}

fn chosen(outcome: &acp::RequestPermissionOutcome) -> PermissionAnswer {
    let chosen = match outcome {
        acp::RequestPermissionOutcome::Selected(selected) => &*selected.option_id.0,
        _ => return PermissionAnswer::RejectOnce,
    };
    let mut choices = PermissionAnswer::CHOICES.into_iter();
    let answer = choices.find(|answer| answer.as_str() == chosen);
    answer.unwrap_or(PermissionAnswer::RejectOnce)
}

/// What a client takes an answer for.
fn option_kind(answer: PermissionAnswer) -> acp::PermissionOptionKind {
    match answer {
        PermissionAnswer::AllowOnce => acp::PermissionOptionKind::AllowOnce,
        PermissionAnswer::AllowAlways => acp::PermissionOptionKind::AllowAlways,
        PermissionAnswer::RejectOnce | PermissionAnswer::Cancelled => {
            acp::PermissionOptionKind::RejectOnce
        }
        PermissionAnswer::RejectAlways => acp::PermissionOptionKind::RejectAlways,
    }
}

/// The one field of a form.
const FIELD: &str = "answer";

fn form(session_id: &Arc<str>, dialog: &Dialog) -> Value {
    if let Some(form) = &dialog.form {
        return json!({
            "sessionId": session_id,
            "mode": "form",
            "message": form.message,
            "requestedSchema": form.schema,
        });
    }
    let (message, field) = match &dialog.kind {
        DialogKind::Select { options } | DialogKind::Plan(PresentedPlan { options, .. }) => {
            let options = form_options(options);
            (&dialog.title, json!({ "type": "string", "oneOf": options }))
        }
        DialogKind::MultiSelect { options } => {
            let options = form_options(options);
            let field = json!({ "type": "array", "items": { "anyOf": options } });
            (&dialog.title, field)
        }
        DialogKind::Confirm { message, .. } => (message, json!({ "type": "boolean" })),
        DialogKind::Input { placeholder } => (
            &dialog.title,
            json!({ "type": "string", "description": placeholder }),
        ),
        DialogKind::Editor { prefill } => (
            &dialog.title,
            json!({ "type": "string", "default": prefill }),
        ),
    };
    let mut field = field;
    if let Some(field) = field.as_object_mut() {
        field.retain(|_, value| !value.is_null());
        field.insert("title".into(), json!(dialog.title));
    }
    let message = match message.trim() {
        "" => &dialog.title,
        _ => message,
    };
    json!({
        "sessionId": session_id,
        "mode": "form",
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": { FIELD: field },
            "required": [FIELD],
        },
    })
}

fn form_options(options: &[DialogOption]) -> Vec<Value> {
    let option = |option: &DialogOption| {
        let title = match &option.description {
            Some(about) => format!("{}: {about}", option.label),
            None => option.label.clone(),
        };
        json!({ "const": option.value, "title": title })
    };
    options.iter().map(option).collect()
}

#[derive(Deserialize)]
struct FormAnswer {
    action: String,
    #[serde(default)]
    content: Option<Map<String, Value>>,
}

impl FormAnswer {
    fn to_dialog(&self, dialog: &Dialog) -> DialogAnswer {
        if dialog.form.is_some() {
            return match self.action.as_str() {
                "accept" => DialogAnswer::Filled(self.content.clone().unwrap_or_default()),
                "decline" => DialogAnswer::Confirmed(false),
                _ => DialogAnswer::Nothing,
            };
        }
        let field = self.content.as_ref().and_then(|content| content.get(FIELD));
        match (self.action.as_str(), field, &dialog.kind) {
            ("accept", Some(Value::Bool(yes)), DialogKind::Confirm { .. }) => {
                DialogAnswer::Confirmed(*yes)
            }
            ("accept", Some(Value::String(text)), _) => DialogAnswer::Value(text.clone()),
            ("accept", Some(Value::Array(values)), _) => {
                let texts = values.iter().filter_map(Value::as_str);
                DialogAnswer::Values(texts.map(str::to_owned).collect())
            }
            _ => DialogAnswer::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialog(kind: DialogKind) -> Dialog {
        Dialog {
            title: "Title".into(),
            kind,
            form: None,
            timeout_ms: None,
        }
    }

    #[test]
    fn each_kind_of_dialog_is_a_form_with_one_field() {
        let select = DialogKind::Select {
            options: vec![DialogOption {
                value: "v".into(),
                label: "Label".into(),
                description: None,
                permission: None,
            }],
        };
        let confirm = DialogKind::Confirm {
            message: "Sure?".into(),
            lasting: None,
        };
        let input = DialogKind::Input { placeholder: None };
        let editor = DialogKind::Editor {
            prefill: Some("old".into()),
        };
        for (kind, message, field) in [
            (
                select,
                "Title",
                json!({ "type": "string", "oneOf": [{ "const": "v", "title": "Label" }], "title": "Title" }),
            ),
            (
                confirm,
                "Sure?",
                json!({ "type": "boolean", "title": "Title" }),
            ),
            (
                input,
                "Title",
                json!({ "type": "string", "title": "Title" }),
            ),
            (
                editor,
                "Title",
                json!({ "type": "string", "default": "old", "title": "Title" }),
            ),
        ] {
            let form = form(&Arc::from("s"), &dialog(kind));
            // What is written is what the official type reads.
            let read: acp::CreateElicitationRequest = serde_json::from_value(form.clone()).unwrap();
            assert_eq!(read.message, message);
            assert_eq!(form["requestedSchema"]["properties"]["answer"], field);
        }
    }

    #[test]
    fn only_an_accepted_form_is_an_answer() {
        let confirm = dialog(DialogKind::Confirm {
            message: String::new(),
            lasting: None,
        });
        let input = dialog(DialogKind::Input { placeholder: None });
        for (dialog, answer, expected) in [
            (
                &confirm,
                json!({ "action": "accept", "content": { "answer": true } }),
                DialogAnswer::Confirmed(true),
            ),
            (
                &input,
                json!({ "action": "accept", "content": { "answer": "x" } }),
                DialogAnswer::Value("x".into()),
            ),
            (&input, json!({ "action": "accept" }), DialogAnswer::Nothing),
            (
                &input,
                json!({ "action": "decline", "content": { "answer": "x" } }),
                DialogAnswer::Nothing,
            ),
            (
                &confirm,
                json!({ "action": "cancel" }),
                DialogAnswer::Nothing,
            ),
        ] {
            let answer: FormAnswer = serde_json::from_value(answer).unwrap();
            assert_eq!(answer.to_dialog(dialog), expected);
        }
    }
}
