//! Questions to a person whose client has no forms: as a permission request, which every client
//! has. What has a few fixed answers can be asked that way, what must be typed cannot.

use agent_client_protocol_schema::v1 as acp;
use stentor_agent::dialog::{Dialog, DialogAnswer, DialogClose, DialogKind};

/// A dialog as a choice between options.
pub(super) struct Choices {
    /// What the client shows above the options.
    pub call: acp::ToolCallUpdate,
    pub options: Vec<acp::PermissionOption>,
    answers: Vec<DialogAnswer>,
}

impl Choices {
    /// The options of a dialog; `None` when it has none.
    pub fn of(id: u64, dialog: &Dialog) -> Option<Self> {
        let (message, offered) = match &dialog.kind {
            DialogKind::Confirm { message } => {
                let yes = ("Yes".to_owned(), DialogAnswer::Confirmed(true));
                let no = ("No".to_owned(), DialogAnswer::Confirmed(false));
                (message.trim(), vec![yes, no])
            }
            DialogKind::Select { options } => {
                let offered = options.iter().map(|option| {
                    let answer = DialogAnswer::Value(option.value.clone());
                    (option.label.clone(), answer)
                });
                ("", offered.collect())
            }
            DialogKind::Input { .. } | DialogKind::Editor { .. } => return None,
        };
        let mut fields = acp::ToolCallUpdateFields::new()
            .title(dialog.title.clone())
            .kind(acp::ToolKind::Other)
            .status(acp::ToolCallStatus::Pending);
        if !message.is_empty() {
            let text = acp::TextContent::new(message);
            let content = acp::Content::new(acp::ContentBlock::Text(text));
            fields = fields.content(vec![acp::ToolCallContent::Content(content)]);
        }
        let options = offered.iter().enumerate().map(|(n, (label, answer))| {
            let kind = match answer {
                DialogAnswer::Confirmed(false) => acp::PermissionOptionKind::RejectOnce,
                DialogAnswer::Confirmed(true) | DialogAnswer::Value(_) | DialogAnswer::Nothing => {
                    acp::PermissionOptionKind::AllowOnce
                }
            };
            acp::PermissionOption::new(option_id(n), label.clone(), kind)
        });
        Some(Self {
            call: acp::ToolCallUpdate::new(call_id(id), fields),
            options: options.collect(),
            answers: offered.into_iter().map(|(_, answer)| answer).collect(),
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

/// Says that a question is closed, which the client shows as a call.
pub(super) fn closed(id: u64, close: &DialogClose) -> acp::ToolCallUpdate {
    let status = match close {
        DialogClose::Answered(DialogAnswer::Confirmed(true) | DialogAnswer::Value(_)) => {
            acp::ToolCallStatus::Completed
        }
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
