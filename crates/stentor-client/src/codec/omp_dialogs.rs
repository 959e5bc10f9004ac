//! What an omp or pi asks, and what it shows as a dialog.

use serde_json::Value;

use super::json::{list, str, text};
use super::omp::Omp;
use super::omp_shapes::{permission_options, question};
use super::{AgentRequest, Effects};
use crate::event::{AgentEvent, AgentNoticeLevel};
use crate::host::{Permission, QuestionKind};

/// Dialogs that are remembered for their answers.
const DIALOGS: usize = 256;

/// A dialog that is open.
pub(super) struct OmpDialog {
    pub number: u64,
    pub id: String,
    pub is_confirm: bool,
}

impl Omp {
    pub fn dialog(&mut self, frame: &Value, fx: &mut Effects) {
        let title = str(frame, "title").to_owned();
        let ask = match str(frame, "method") {
            "select" => {
                let options = list(frame, "options").iter().filter_map(Value::as_str);
                let options: Vec<&str> = options.collect();
                match permission_options(&title, &options) {
                    Some(options) => {
                        let call = self.turn.newest();
                        AgentRequest::Permission(Permission {
                            call: call.map(|call| self.turn.open_call(&call.id)),
                            tool: call.map(|call| call.name.clone()),
                            kind: None,
                            input: call.map(|call| call.input.clone()).unwrap_or_default(),
                            title,
                            options,
                        })
                    }
                    None => question(
                        title,
                        None,
                        QuestionKind::Select(
                            options
                                .iter()
                                .map(|o| ((*o).to_owned(), (*o).to_owned()))
                                .collect(),
                        ),
                    ),
                }
            }
            "confirm" => question(title, text(frame, "message"), QuestionKind::Confirm),
            "input" => question(title, None, QuestionKind::Text(String::new())),
            "editor" => {
                let prefill = text(frame, "prefill").unwrap_or_default();
                question(title, None, QuestionKind::Text(prefill))
            }
            "notify" => {
                let level = match str(frame, "notifyType") {
                    "warning" => AgentNoticeLevel::Warning,
                    "error" => AgentNoticeLevel::Error,
                    _ => AgentNoticeLevel::Info,
                };
                let text = str(frame, "message").to_owned();
                return fx.events.push_back(AgentEvent::Notice { level, text });
            }
            "cancel" => {
                let target = str(frame, "targetId");
                if let Some(place) = self.dialogs.iter().position(|dialog| dialog.id == target) {
                    fx.withdrawn.push(self.dialogs.remove(place).number);
                }
                return;
            }
            _ => return,
        };
        if self.dialogs.len() >= DIALOGS {
            self.dialogs.remove(0);
        }
        self.last_dialog += 1;
        self.dialogs.push(OmpDialog {
            number: self.last_dialog,
            id: str(frame, "id").to_owned(),
            is_confirm: str(frame, "method") == "confirm",
        });
        fx.asks.push((self.last_dialog, ask));
    }
}
