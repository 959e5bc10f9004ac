//! Questions to a person whose client has no forms: as a permission request, which every client
//! has. What has a few fixed answers can be asked that way, what must be typed cannot.

use std::borrow::Cow;

use agent_client_protocol_schema::v1 as acp;
use stentor_agent::dialog::{Dialog, DialogAnswer, DialogClose, DialogKind, DialogOption};
use stentor_policy::PermissionAnswer;

/// A dialog as a choice between options.
pub(super) struct Choices {
    /// What the client shows above the options.
    pub call: acp::ToolCallUpdate,
    pub options: Vec<acp::PermissionOption>,
    /// What each of the options means.
    answers: Vec<DialogAnswer>,
}

impl Choices {
    /// The options of a dialog; `None` when it has none.
    pub fn of(id: u64, dialog: &Dialog) -> Option<Self> {
        let (message, offered): (Cow<'_, str>, Vec<OfferedChoice>) = match &dialog.kind {
            DialogKind::Confirm { message, lasting } => {
                let offered = confirmations(lasting.as_deref());
                (message.trim().into(), offered.into())
            }
            // One of several is better than none of them.
            DialogKind::Select { options } | DialogKind::MultiSelect { options } => {
                let offered = options.iter().map(|option| OfferedChoice {
                    label: option.label.clone(),
                    kind: option_kind(option.permission),
                    answer: DialogAnswer::Value(option.value.clone()),
                });
                (described(options).into(), offered.collect())
            }
            DialogKind::Plan(_) | DialogKind::Input { .. } | DialogKind::Editor { .. } => {
                return None;
            }
        };
        let mut fields = acp::ToolCallUpdateFields::new()
            .title(dialog.title.clone())
            .kind(acp::ToolKind::Other)
            .status(acp::ToolCallStatus::Pending);
        if !message.is_empty() {
            let text = acp::TextContent::new(message.into_owned());
            let content = acp::Content::new(acp::ContentBlock::Text(text));
            fields = fields.content(vec![acp::ToolCallContent::Content(content)]);
        }
        let options = offered.iter().enumerate().map(|(n, offered)| {
            acp::PermissionOption::new(option_id(n), offered.label.clone(), offered.kind)
        });
        Some(Self {
            call: acp::ToolCallUpdate::new(call_id(id), fields),
            options: options.collect(),
            answers: offered.into_iter().map(|offered| offered.answer).collect(),
        })
    }

    /// What was chosen.
    pub fn answer(&self, outcome: &acp::RequestPermissionOutcome) -> DialogAnswer {
        let acp::RequestPermissionOutcome::Selected(selected) = outcome else {
            return DialogAnswer::Nothing;
        };
        let numbered = self.answers.iter().enumerate();
        let mut chosen = numbered.filter(|(n, _)| option_id(*n) == *selected.option_id.0);
        chosen
            .next()
            .map_or(DialogAnswer::Nothing, |(_, answer)| answer.clone())
    }
}

/// What an option is to clients that colour or choose by it. One that says nothing of a permission
/// answers this once.
fn option_kind(permission: Option<PermissionAnswer>) -> acp::PermissionOptionKind {
    match permission {
        None | Some(PermissionAnswer::AllowOnce) => acp::PermissionOptionKind::AllowOnce,
        Some(PermissionAnswer::AllowAlways) => acp::PermissionOptionKind::AllowAlways,
        Some(PermissionAnswer::RejectOnce | PermissionAnswer::Cancelled) => {
            acp::PermissionOptionKind::RejectOnce
        }
        Some(PermissionAnswer::RejectAlways) => acp::PermissionOptionKind::RejectAlways,
    }
}

/// What the options mean, where that is said: the options themselves have no place for it.
fn described(options: &[DialogOption]) -> String {
    let lines = options.iter().filter_map(|option| {
        let about = option.description.as_ref()?;
        Some(format!("{}: {about}", option.label))
    });
    lines.collect::<Vec<_>>().join("\n")
}

struct OfferedChoice {
    label: String,
    kind: acp::PermissionOptionKind,
    answer: DialogAnswer,
}

/// Yes and no. There are clients that allow single calls without asking anybody, by the first
/// option of that kind: what lasts has none of that kind, and the no stands first.
fn confirmations(lasting: Option<&str>) -> [OfferedChoice; 2] {
    let offered = |label: &str, kind, yes| OfferedChoice {
        label: label.to_owned(),
        kind,
        answer: DialogAnswer::Confirmed(yes),
    };
    match lasting {
        Some(yes) => [
            offered("Not now", acp::PermissionOptionKind::RejectOnce, false),
            offered(yes, acp::PermissionOptionKind::AllowAlways, true),
        ],
        None => [
            offered("Yes", acp::PermissionOptionKind::AllowOnce, true),
            offered("No", acp::PermissionOptionKind::RejectOnce, false),
        ],
    }
}

/// Says that a question is closed, which the client shows as a call.
pub(super) fn closed(id: u64, close: &DialogClose) -> acp::ToolCallUpdate {
    let status = match close {
        DialogClose::Answered(
            DialogAnswer::Confirmed(true)
            | DialogAnswer::Value(_)
            | DialogAnswer::Values(_)
            | DialogAnswer::Filled(_),
        ) => acp::ToolCallStatus::Completed,
        DialogClose::Answered(DialogAnswer::Confirmed(false) | DialogAnswer::Nothing)
        | DialogClose::TimedOut
        | DialogClose::Withdrawn => acp::ToolCallStatus::Failed,
    };
    let fields = acp::ToolCallUpdateFields::new().status(status);
    acp::ToolCallUpdate::new(call_id(id), fields)
}

/// No call of a model has such an id.
fn call_id(id: u64) -> String {
    format!("question-{id}")
}

fn option_id(n: usize) -> String {
    format!("option-{}", n + 1)
}
