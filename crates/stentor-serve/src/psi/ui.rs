//! What the client's user interface shows on behalf of the sessions.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use stentor_agent::dialog::{Dialog, DialogAnswer, DialogKind, DialogOption, WidgetPlacement};
use stentor_agent::permission::PermissionRequest;
use stentor_policy::PermissionAnswer;

use super::limits::{MAX_NOTIFICATIONS, NOTIFICATION_MS, QUESTION_BYTES};
use super::live::Live;

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
    statuses: BTreeMap<String, String>,
    widgets: BTreeMap<(Place, String), Widget>,
}

/// Above comes before below, as their names on the wire sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Above,
    Below,
}

/// Lines beside the editor.
#[derive(Debug, Clone)]
pub(super) struct Widget {
    place: Place,
    pub lines: Vec<String>,
}

/// Something a person should know, for a short while.
#[derive(Debug, Clone)]
pub(super) struct Notification {
    pub id: String,
    pub message: String,
    pub level: &'static str,
    pub extension: Option<String>,
    shown_ms: u64,
}

/// A question as the client sees it.
#[derive(Clone)]
pub(super) struct AskedDialog {
    pub id: String,
    pub title: String,
    pub shape: DialogShape,
    pub live: Arc<Live>,
    pub question: Question,
    /// The client answered; the session has yet to say that it is closed.
    answered: bool,
}

/// Which question of the session it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
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

/// What the client answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Given {
    Dialog(DialogAnswer),
    Permission(PermissionAnswer),
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
pub(super) enum Reply {
    Bool(bool),
    Text(String),
    Nil,
    Cancel,
}

impl DialogShape {
    /// Its name on the wire.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Confirm { .. } => "confirm",
            Self::Select { .. } => "select",
            Self::Input { .. } => "input",
        }
    }
}

impl Ui {
    /// Takes up a question. True when it is open at once.
    pub fn ask(
        &mut self,
        live: &Arc<Live>,
        question: Question,
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
    pub fn close(&mut self, session: &str, question: Question) -> bool {
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
    pub fn answer(&mut self, id: &str, reply: Reply) -> Result<(AskedDialog, Given), NotTaken> {
        let open = self.dialogs.front_mut().filter(|dialog| !dialog.answered);
        let open = open.ok_or(NotTaken::NoneOpen)?;
        if open.id != id {
            return Err(NotTaken::OtherOpen);
        }
        let given = match open.question {
            Question::Dialog(_) => Given::Dialog(dialog_answer(&open.shape, reply)?),
            Question::Permission(_) => Given::Permission(permission_answer(&open.shape, reply)?),
        };
        open.answered = true;
        Ok((open.clone(), given))
    }

    pub fn panel(&self, session: &str) -> Panel {
        self.panels.get(session).cloned().unwrap_or_default()
    }

    pub fn statuses(&self, session: &str) -> impl Iterator<Item = (&String, &String)> {
        self.panels
            .get(session)
            .into_iter()
            .flat_map(|panel| &panel.statuses)
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
        let place = match placement {
            WidgetPlacement::AboveEditor => Place::Above,
            WidgetPlacement::BelowEditor => Place::Below,
        };
        if let Some(lines) = lines {
            let widget = Widget { place, lines };
            panel.widgets.insert((place, key.to_owned()), widget);
        }
    }

    /// Notes something to be shown.
    pub fn notify(
        &mut self,
        message: String,
        level: &'static str,
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
    pub fn visible(&self, now_ms: u64) -> impl Iterator<Item = &Notification> {
        self.notifications
            .iter()
            .filter(move |one| now_ms.saturating_sub(one.shown_ms) < NOTIFICATION_MS)
    }
}

impl Panel {
    pub fn statuses(&self) -> impl Iterator<Item = (&String, &String)> {
        self.statuses.iter()
    }

    pub fn widgets(&self) -> impl Iterator<Item = (&String, &Widget)> {
        self.widgets.iter().map(|((_, key), widget)| (key, widget))
    }
}

impl Widget {
    /// Its place, as the wire names it.
    pub fn placement(&self) -> &'static str {
        match self.place {
            Place::Above => "above-editor",
            Place::Below => "below-editor",
        }
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
        DialogKind::MultiSelect { .. } => DialogShape::Input { placeholder: None },
        DialogKind::Confirm { message, .. } => DialogShape::Confirm {
            message: if message.is_empty() {
                dialog.title.clone()
            } else {
                message.clone()
            },
        },
        DialogKind::Input { placeholder } => DialogShape::Input {
            placeholder: placeholder.clone(),
        },
        DialogKind::Editor { prefill } => DialogShape::Input {
            placeholder: prefill.clone(),
        },
    }
}

/// The question whether a call may run, as a selection: the client knows no permissions.
pub(super) fn permission_shape(request: &PermissionRequest) -> DialogShape {
    let summary = || super::payload::tool::summary(&request.call);
    let what = match (&request.command, request.subject(QUESTION_BYTES)) {
        (Some(_), Some(command)) => format!("$ {command}"),
        _ => summary(),
    };
    let option = |(value, label, answer): (&str, &str, PermissionAnswer)| DialogOption {
        value: value.to_owned(),
        label: request.choice(answer, label),
        description: None,
    };
    DialogShape::Select {
        message: Some(format!("Allow {what}? {}", request.reason)),
        options: PERMISSION_OPTIONS.map(option).to_vec(),
    }
}

/// The choices, in their order. What says "always" goes on with how far that reaches.
const PERMISSION_OPTIONS: [(&str, &str, PermissionAnswer); 4] = [
    ("allow-once", "Allow once", PermissionAnswer::AllowOnce),
    (
        "allow-always",
        "Always allow",
        PermissionAnswer::AllowAlways,
    ),
    ("reject-once", "Reject", PermissionAnswer::RejectOnce),
    (
        "reject-always",
        "Always reject",
        PermissionAnswer::RejectAlways,
    ),
];

fn dialog_answer(shape: &DialogShape, reply: Reply) -> Result<DialogAnswer, NotTaken> {
    match (shape, reply) {
        (_, Reply::Cancel) => Ok(DialogAnswer::Nothing),
        // The client cannot say false: it says nil (section 9.8).
        (DialogShape::Confirm { .. }, Reply::Nil) => Ok(DialogAnswer::Confirmed(false)),
        (DialogShape::Confirm { .. }, Reply::Bool(yes)) => Ok(DialogAnswer::Confirmed(yes)),
        (DialogShape::Confirm { .. }, Reply::Text(_)) => Err(NotTaken::WrongType),
        (_, Reply::Text(text)) => Ok(DialogAnswer::Value(text)),
        (_, Reply::Nil) => Ok(DialogAnswer::Nothing),
        (_, Reply::Bool(_)) => Err(NotTaken::WrongType),
    }
}

/// The answer that was chosen, by its value or as it was shown.
fn permission_answer(shape: &DialogShape, reply: Reply) -> Result<PermissionAnswer, NotTaken> {
    let text = match reply {
        Reply::Cancel | Reply::Nil => return Ok(PermissionAnswer::RejectOnce),
        Reply::Bool(_) => return Err(NotTaken::WrongType),
        Reply::Text(text) => text,
    };
    let shown = match shape {
        DialogShape::Select { options, .. } => options.as_slice(),
        DialogShape::Confirm { .. } | DialogShape::Input { .. } => &[],
    };
    let chosen = shown
        .iter()
        .find(|option| text == option.value || text == option.label)
        .ok_or(NotTaken::WrongType)?;
    PERMISSION_OPTIONS
        .iter()
        .find(|(value, ..)| chosen.value == *value)
        .map(|(_, _, answer)| *answer)
        .ok_or(NotTaken::WrongType)
}
