//! What the client's user interface shows on behalf of the sessions: dialogs, widgets, statuses,
//! notifications (sections 10.10 to 10.15 and 11.4).

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use stentor_agent::dialog::{Dialog, DialogAnswer, DialogKind, DialogOption, WidgetPlacement};
use stentor_agent::event::NoticeLevel;
use stentor_agent::permission::PermissionRequest;
use stentor_agent::session::SessionError;
use stentor_policy::PermissionAnswer;
use stentor_wire::edn::{EdnWriter, Keyword, Value, WriteEdn};
use stentor_wire::psi::ErrorCode;

use super::error::OpError;
use super::limits::{MAX_NOTIFICATIONS, NOTIFICATION_MS, QUESTION_BYTES};
use super::live::PsiSession;
use super::params::{missing, wrong};
use super::payload::message;
use super::request::{OpCall, OpDone, OpResult};

/// Dialogs, statuses, widgets and notifications.
#[derive(Default)]
pub(super) struct Ui {
    /// The first is open, the others wait for it.
    dialogs: VecDeque<AskedDialog>,
    asked: u64,
    panels: HashMap<Arc<str>, Panel>,
    notifications: VecDeque<Notification>,
    notified: u64,
}

/// The statuses and widgets of one session, by their keys.
#[derive(Debug, Clone, Default)]
pub(super) struct Panel {
    pub statuses: BTreeMap<String, String>,
    /// The lines of each. What is above the editor comes before what is below.
    pub widgets: BTreeMap<(WidgetPlacement, String), Vec<String>>,
}

/// Something a person should know, for a short while.
#[derive(Debug, Clone)]
pub(super) struct Notification {
    pub id: String,
    pub message: String,
    pub level: NoticeLevel,
    pub extension: Option<String>,
    shown_ms: u64,
}

/// A question as the client sees it.
#[derive(Clone)]
pub(super) struct AskedDialog {
    pub id: String,
    pub title: String,
    pub shape: DialogShape,
    pub live: Arc<PsiSession>,
    question: UiQuestion,
    /// The client answered; the session has yet to say that it is closed.
    answered: bool,
}

/// Which question of the session it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UiQuestion {
    Dialog(u64),
    Permission(u64),
}

/// What is asked.
#[derive(Debug, Clone, Default)]
pub(super) struct DialogShape {
    /// `confirm`, `select` or `input`.
    pub kind: &'static str,
    message: Option<String>,
    /// Of a selection.
    options: Option<Vec<DialogOption>>,
    /// Of an input.
    placeholder: Option<String>,
}

/// What the client answered to which question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UiAnswer {
    Dialog(u64, DialogAnswer),
    Permission(u64, PermissionAnswer),
}

impl Ui {
    /// Takes up a question. True when it is open at once.
    pub fn ask(
        &mut self,
        live: &Arc<PsiSession>,
        question: UiQuestion,
        title: String,
        shape: DialogShape,
    ) -> bool {
        self.asked += 1;
        self.dialogs.push_back(AskedDialog {
            id: format!("dialog-{}", self.asked),
            title,
            shape,
            live: Arc::clone(live),
            question,
            answered: false,
        });
        self.dialogs.len() == 1
    }

    /// Drops a question that is closed. True when another one is open now in its place.
    pub fn close(&mut self, session: &str, question: UiQuestion) -> bool {
        let is_it =
            |dialog: &AskedDialog| &*dialog.live.id == session && dialog.question == question;
        let was_open = self.dialogs.front().is_some_and(is_it);
        self.dialogs.retain(|dialog| !is_it(dialog));
        was_open && !self.dialogs.is_empty()
    }

    /// The question that is open.
    pub fn open_dialog(&self) -> Option<&AskedDialog> {
        self.dialogs.front().filter(|dialog| !dialog.answered)
    }

    /// How many questions wait behind the open one.
    pub fn waiting_dialogs(&self) -> usize {
        self.dialogs.len().saturating_sub(1)
    }

    /// Takes the client's answer to the open question (section 9.8). Without a reply it cancels.
    pub fn answer(
        &mut self,
        id: &str,
        reply: Option<&Value<'_>>,
    ) -> Result<(AskedDialog, UiAnswer), OpError> {
        let open = self.dialogs.front_mut().filter(|dialog| !dialog.answered);
        let none = || OpError::new(ErrorCode::NoActiveDialog, "no dialog is open");
        let open = open.ok_or_else(none)?;
        if open.id != id {
            let message = format!("{id} is not the dialog that is open");
            return Err(OpError::new(ErrorCode::DialogIdMismatch, message));
        }
        let answer = match open.question {
            UiQuestion::Dialog(number) => {
                dialog_answer(&open.shape, reply).map(|answer| UiAnswer::Dialog(number, answer))
            }
            UiQuestion::Permission(number) => permission_answer(&open.shape, reply)
                .map(|answer| UiAnswer::Permission(number, answer)),
        };
        let wrong = || OpError::params(":result does not fit the dialog's kind");
        let answer = answer.ok_or_else(wrong)?;
        open.answered = true;
        Ok((open.clone(), answer))
    }

    pub fn panel(&self, session: &str) -> Panel {
        self.panels.get(session).cloned().unwrap_or_default()
    }

    /// Sets or clears a status.
    pub fn set_status(&mut self, session: &Arc<str>, key: &str, text: Option<String>) {
        let panel = self.panels.entry(Arc::clone(session)).or_default();
        match text {
            Some(text) => panel.statuses.insert(key.to_owned(), text),
            None => panel.statuses.remove(key),
        };
    }

    /// Sets or clears a widget.
    pub fn set_widget(
        &mut self,
        session: &Arc<str>,
        key: &str,
        lines: Option<Vec<String>>,
        placement: WidgetPlacement,
    ) {
        let panel = self.panels.entry(Arc::clone(session)).or_default();
        panel.widgets.retain(|(_, name), _| name != key);
        if let Some(lines) = lines {
            panel.widgets.insert((placement, key.to_owned()), lines);
        }
    }

    /// Notes something to be shown.
    pub fn notify(
        &mut self,
        message: String,
        level: NoticeLevel,
        extension: Option<String>,
        now_ms: u64,
    ) -> Notification {
        self.notified += 1;
        let notification = Notification {
            id: format!("notification-{}", self.notified),
            message,
            level,
            extension,
            shown_ms: now_ms,
        };
        self.notifications.push_back(notification.clone());
        if self.notifications.len() > MAX_NOTIFICATIONS {
            self.notifications.pop_front();
        }
        notification
    }

    /// The notifications that are still shown.
    pub fn visible(&self, now_ms: u64) -> Vec<Notification> {
        let is_shown = |one: &&Notification| now_ms.saturating_sub(one.shown_ms) < NOTIFICATION_MS;
        self.notifications
            .iter()
            .filter(is_shown)
            .cloned()
            .collect()
    }
}

/// A session's dialog as the client can show it.
pub(super) fn shape_of(dialog: &Dialog) -> DialogShape {
    let mut shape = DialogShape::default();
    match &dialog.kind {
        DialogKind::Select { options } => {
            (shape.kind, shape.options) = ("select", Some(options.clone()));
        }
        DialogKind::Plan(presented) => {
            (shape.kind, shape.options) = ("select", Some(presented.options.clone()));
            shape.message = Some(dialog.whole_title().into_owned());
        }
        DialogKind::Confirm { message, .. } => {
            let message = Some(message).filter(|message| !message.is_empty());
            shape.message = Some(message.unwrap_or(&dialog.title).clone());
            shape.kind = "confirm";
        }
        DialogKind::MultiSelect { .. } => shape.kind = "input",
        DialogKind::Input { placeholder: text } | DialogKind::Editor { prefill: text } => {
            (shape.kind, shape.placeholder) = ("input", text.clone());
        }
    }
    shape
}

/// The question whether a call may run, as a selection: the client knows no permissions.
pub(super) fn permission_shape(request: &PermissionRequest) -> DialogShape {
    let what = match (&request.command, request.subject(QUESTION_BYTES)) {
        (Some(_), Some(command)) => format!("$ {command}"),
        _ => message::call_summary(&request.call),
    };
    let choices = request.choices(|answer| match answer {
        PermissionAnswer::AllowOnce => "Allow once",
        other => other.label(),
    });
    let options = choices.map(|choice| DialogOption {
        value: choice.answer.as_str().replace('_', "-"),
        label: choice.label,
        description: None,
        permission: Some(choice.answer),
    });
    DialogShape {
        kind: "select",
        message: Some(format!("Allow {what}? {}", request.reason)),
        options: Some(options.to_vec()),
        placeholder: None,
    }
}

/// What a reply means; `None` when it does not fit.
fn dialog_answer(shape: &DialogShape, reply: Option<&Value<'_>>) -> Option<DialogAnswer> {
    let is_confirm = shape.kind == "confirm";
    match reply {
        None => Some(DialogAnswer::Nothing),
        // The client cannot say false: it says nil (section 9.8).
        Some(Value::Nil) if is_confirm => Some(DialogAnswer::Confirmed(false)),
        Some(Value::Nil) => Some(DialogAnswer::Nothing),
        Some(Value::Bool(yes)) if is_confirm => Some(DialogAnswer::Confirmed(*yes)),
        Some(Value::Str(text)) if !is_confirm => Some(DialogAnswer::Value(text.to_string())),
        Some(_) => None,
    }
}

/// The answer that was chosen, by its value or as it was shown.
fn permission_answer(shape: &DialogShape, reply: Option<&Value<'_>>) -> Option<PermissionAnswer> {
    match reply {
        None | Some(Value::Nil) => Some(PermissionAnswer::RejectOnce),
        Some(Value::Str(text)) => {
            let mut shown = shape.options.iter().flatten();
            let chosen = shown.find(|option| *text == option.value || *text == option.label);
            chosen?.permission
        }
        Some(_) => None,
    }
}

/// The widgets, sorted by placement, extension and id.
pub(super) struct Widgets<'a>(pub &'a Panel);

/// The statuses, sorted by their keys.
pub(super) struct Statuses<'a>(pub &'a Panel);

/// `ui/dialog-requested`.
impl WriteEdn for AskedDialog {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        let shape = &self.shape;
        writer.map(|data| {
            data.field("dialog-id", &self.id)
                .field("kind", shape.kind)
                .field("title", &self.title)
                .field_if_some("message", shape.message.as_ref());
            if let Some(options) = &shape.options {
                data.key("options").maps(options, |map, option| {
                    map.field("value", &option.value)
                        .field("label", &option.label)
                        .field_if_some("description", option.description.as_ref());
                });
            }
            data.field_if_some("placeholder", shape.placeholder.as_ref());
        });
    }
}

impl WriteEdn for Widgets<'_> {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        writer.maps(&self.0.widgets, |map, ((placement, key), lines)| {
            let placement = match placement {
                WidgetPlacement::AboveEditor => "above-editor",
                WidgetPlacement::BelowEditor => "below-editor",
            };
            map.field("extension-id", key)
                .field("widget-id", key)
                .field("placement", &Keyword(placement))
                .field("content", lines)
                .key("content-lines")
                .maps(lines, |map, line| {
                    map.field("text", line);
                });
        });
    }
}

impl WriteEdn for Statuses<'_> {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        writer.maps(&self.0.statuses, |map, (key, text)| {
            map.field("extension-id", key).field("text", text);
        });
    }
}

/// `ui/notification`.
impl WriteEdn for Notification {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        writer.map(|data| {
            data.field("id", &self.id)
                .field("message", &self.message)
                .field("level", self.level.as_str())
                .field_if_some("extension-id", self.extension.as_ref());
        });
    }
}

pub async fn resolve(call: &mut OpCall<'_>) -> OpResult {
    let id = call.params.filled("dialog-id")?;
    let reply = call
        .params
        .given("result")
        .ok_or_else(|| missing("result"))?;
    if !matches!(reply, Value::Bool(_) | Value::Str(_) | Value::Nil) {
        return Err(wrong("result", "a boolean, a string or nil", reply));
    }
    answer(call, id, Some(reply)).await
}

pub async fn cancel(call: &mut OpCall<'_>) -> OpResult {
    let id = call.params.filled("dialog-id")?;
    answer(call, id, None).await
}

async fn answer(call: &OpCall<'_>, id: &str, reply: Option<&Value<'_>>) -> OpResult {
    let (dialog, given) = call.shared().ui().answer(id, reply)?;
    let session = &dialog.live.session;
    match given {
        // A question that closed by itself meanwhile wants no answer any more.
        UiAnswer::Dialog(number, answer) => {
            session.answer_dialog(number, answer).await?;
        }
        UiAnswer::Permission(number, answer) => {
            if answer.is_for_good() {
                // An answer for its whole life is stored nowhere else.
                dialog.live.locked().stays_loaded = true;
            }
            match session.answer_permission(number, answer).await {
                Ok(()) | Err(SessionError::NoSuchQuestion(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    OpDone::accepted().of(&dialog.live).into()
}
