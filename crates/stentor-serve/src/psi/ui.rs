//! What the client's user interface shows on behalf of the sessions.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use stentor_agent::dialog::{Dialog, DialogAnswer, DialogKind, DialogOption, WidgetPlacement};
use stentor_agent::event::NoticeLevel;
use stentor_agent::permission::PermissionRequest;
use stentor_policy::PermissionAnswer;

use super::limits::{MAX_NOTIFICATIONS, NOTIFICATION_MS, QUESTION_BYTES};
use super::live::PsiSession;
use super::payload::tool;

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
#[derive(Debug, Clone)]
pub(super) enum DialogShape {
    Confirm {
        message: String,
    },
    Select {
        message: Option<String>,
        options: Vec<DialogOption>,
    },
    Input {
        placeholder: Option<String>,
    },
}

/// What the client answered to which question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UiAnswer {
    Dialog(u64, DialogAnswer),
    Permission(u64, PermissionAnswer),
}

/// Why an answer is not taken (section 9.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotTaken {
    NoneOpen,
    OtherOpen,
    WrongType,
}

/// What the client replies to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UiReply {
    Bool(bool),
    Text(String),
    Nil,
    Cancel,
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

    /// Takes the client's answer to the open question.
    pub fn answer(
        &mut self,
        id: &str,
        reply: UiReply,
    ) -> Result<(AskedDialog, UiAnswer), NotTaken> {
        let open = self.dialogs.front_mut().filter(|dialog| !dialog.answered);
        let open = open.ok_or(NotTaken::NoneOpen)?;
        if open.id != id {
            return Err(NotTaken::OtherOpen);
        }
        let given = match open.question {
            UiQuestion::Dialog(id) => UiAnswer::Dialog(id, dialog_answer(&open.shape, reply)?),
            UiQuestion::Permission(id) => {
                UiAnswer::Permission(id, permission_answer(&open.shape, reply)?)
            }
        };
        open.answered = true;
        Ok((open.clone(), given))
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
    match &dialog.kind {
        DialogKind::Select { options } => DialogShape::Select {
            message: None,
            options: options.clone(),
        },
        DialogKind::Plan(presented) => DialogShape::Select {
            message: Some(dialog.whole_title().into_owned()),
            options: presented.options.clone(),
        },
        DialogKind::Confirm { message, .. } => {
            let message = Some(message).filter(|message| !message.is_empty());
            DialogShape::Confirm {
                message: message.unwrap_or(&dialog.title).clone(),
            }
        }
        DialogKind::MultiSelect { .. } => DialogShape::Input { placeholder: None },
        DialogKind::Input { placeholder }
        | DialogKind::Editor {
            prefill: placeholder,
        } => DialogShape::Input {
            placeholder: placeholder.clone(),
        },
    }
}

/// The question whether a call may run, as a selection: the client knows no permissions.
pub(super) fn permission_shape(request: &PermissionRequest) -> DialogShape {
    let what = match (&request.command, request.subject(QUESTION_BYTES)) {
        (Some(_), Some(command)) => format!("$ {command}"),
        _ => tool::summary(&request.call),
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
    DialogShape::Select {
        message: Some(format!("Allow {what}? {}", request.reason)),
        options: options.to_vec(),
    }
}

fn dialog_answer(shape: &DialogShape, reply: UiReply) -> Result<DialogAnswer, NotTaken> {
    match (shape, reply) {
        (_, UiReply::Cancel) => Ok(DialogAnswer::Nothing),
        // The client cannot say false: it says nil (section 9.8).
        (DialogShape::Confirm { .. }, UiReply::Nil) => Ok(DialogAnswer::Confirmed(false)),
        (DialogShape::Confirm { .. }, UiReply::Bool(yes)) => Ok(DialogAnswer::Confirmed(yes)),
        (DialogShape::Confirm { .. }, UiReply::Text(_)) => Err(NotTaken::WrongType),
        (_, UiReply::Text(text)) => Ok(DialogAnswer::Value(text)),
        (_, UiReply::Nil) => Ok(DialogAnswer::Nothing),
        (_, UiReply::Bool(_)) => Err(NotTaken::WrongType),
    }
}

/// The answer that was chosen, by its value or as it was shown.
fn permission_answer(shape: &DialogShape, reply: UiReply) -> Result<PermissionAnswer, NotTaken> {
    match (shape, reply) {
        (_, UiReply::Cancel | UiReply::Nil) => Ok(PermissionAnswer::RejectOnce),
        (DialogShape::Select { options, .. }, UiReply::Text(text)) => {
            // They are shown in the order of the answers.
            let mut shown = options.iter().zip(PermissionAnswer::CHOICES);
            let chosen = shown.find(|(option, _)| text == option.value || text == option.label);
            chosen.map(|(_, answer)| answer).ok_or(NotTaken::WrongType)
        }
        _ => Err(NotTaken::WrongType),
    }
}
