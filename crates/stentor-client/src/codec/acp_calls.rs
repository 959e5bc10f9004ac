//! The tool calls of an ACP agent, put together from their updates.

use serde_json::{Value, json};

use super::Effects;
use super::json::{list, str, text};
use super::turn::TurnGrammar;
use crate::event::{AgentCall, AgentLocation, CallOutput, FileDiff};

/// Calls that are remembered; the oldest goes when there are more.
const CALLS: usize = 1024;

/// Places of one call that are remembered.
const LOCATIONS: usize = 64;

/// What is known of the calls of a session.
#[derive(Default)]
pub(super) struct AcpCalls {
    calls: Vec<AcpCall>,
}

struct AcpCall {
    call: AgentCall,
    output: CallOutput,
    is_announced: bool,
}

impl AcpCalls {
    /// Takes a `tool_call` or a `tool_call_update`.
    pub fn take(&mut self, update: &Value, turn: &mut TurnGrammar, fx: &mut Effects) {
        let id = str(update, "toolCallId");
        let place = self.learn(update);
        let Some(call) = place.and_then(|place| self.calls.get_mut(place)) else {
            return;
        };
        let has_content = update.get("content").is_some_and(Value::is_array);
        if has_content || update.get("rawOutput").is_some() {
            learn_output(&mut call.output, update);
        }
        learn_locations(&mut call.output, update);
        let output = call.output.clone();
        match str(update, "status") {
            "in_progress" => {
                self.announce(turn, fx);
                turn.started(id, fx);
                if has_content {
                    turn.progress(id, output, fx);
                }
            }
            status @ ("completed" | "failed") => {
                self.announce(turn, fx);
                turn.ended(id, output, status == "failed", fx);
                self.calls.retain(|call| call.call.id != id);
            }
            // What a call that runs already has written.
            _ if has_content && turn.has_started(id) => turn.progress(id, output, fx),
            _ => {}
        }
    }

    /// Announces every call that has not been: their arguments are complete, since something else
    /// came after them.
    pub fn announce(&mut self, turn: &mut TurnGrammar, fx: &mut Effects) {
        for call in self.calls.iter_mut().filter(|call| !call.is_announced) {
            call.is_announced = true;
            turn.called(call.call.clone(), fx);
        }
    }

    /// What is known of a call, with what an update of it says.
    pub fn learned(&mut self, update: &Value) -> Option<AgentCall> {
        let place = self.learn(update)?;
        self.calls.get(place).map(|call| call.call.clone())
    }

    fn learn(&mut self, update: &Value) -> Option<usize> {
        let id = text(update, "toolCallId")?;
        let place = match self.calls.iter().position(|call| call.call.id == id) {
            Some(place) => place,
            None => {
                if self.calls.len() >= CALLS {
                    self.calls.remove(0);
                }
                let call = AgentCall {
                    id,
                    input: json!({}),
                    ..AgentCall::default()
                };
                self.calls.push(AcpCall {
                    call,
                    output: CallOutput::default(),
                    is_announced: false,
                });
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls.get_mut(place)?.call;
        if let Some(kind) = text(update, "kind") {
            call.kind = Some(kind);
        }
        if let Some(title) = text(update, "title") {
            call.title = Some(title);
        }
        match text(update, "name") {
            Some(name) => call.name = name,
            None if call.name.is_empty() || Some(&call.name) == call.kind.as_ref() => {
                call.name = call.kind.clone().unwrap_or_else(|| "other".to_owned());
            }
            None => {}
        }
        if let Some(input) = update.get("rawInput").filter(|input| !input.is_null()) {
            call.input = input.clone();
        }
        Some(place)
    }
}

fn learn_locations(output: &mut CallOutput, update: &Value) {
    if update.get("locations").is_some_and(Value::is_array) {
        let locations = list(update, "locations").iter().take(LOCATIONS);
        let locations = locations.filter_map(|location| {
            Some(AgentLocation {
                path: text(location, "path")?.into(),
                line: location.get("line").and_then(Value::as_u64),
            })
        });
        output.locations = locations.collect();
    }
}

fn learn_output(output: &mut CallOutput, update: &Value) {
    if update.get("content").is_some_and(Value::is_array) {
        output.text.clear();
        output.pictures.clear();
        output.diffs.clear();
        output.terminals.clear();
        for item in list(update, "content") {
            match str(item, "type") {
                "content" => content(output, item.get("content").unwrap_or(&Value::Null)),
                "diff" => output.diffs.push(FileDiff {
                    path: str(item, "path").into(),
                    old: text(item, "oldText"),
                    new: str(item, "newText").to_owned(),
                }),
                "terminal" => output.terminals.push(str(item, "terminalId").to_owned()),
                _ => {}
            }
        }
    }
    if let Some(raw) = update.get("rawOutput").filter(|raw| !raw.is_null()) {
        // What a terminal of ours shows is known here, and often repeated there.
        if output.text.is_empty()
            && output.terminals.is_empty()
            && let Some(said) = raw.as_str().or_else(|| raw_text(raw))
        {
            output.text = said.to_owned();
        }
        output.details = raw.get("details").or(Some(raw)).cloned();
    }
}

/// The text in the raw output of a tool, by the names it has with the agents there are.
fn raw_text(raw: &Value) -> Option<&str> {
    let mut names = ["output", "formatted_output", "aggregated_output"].iter();
    names.find_map(|name| raw.get(*name)?.as_str())
}

fn content(output: &mut CallOutput, block: &Value) {
    match str(block, "type") {
        "text" => output.text.push_str(str(block, "text")),
        "image" => output.pictures.push((
            str(block, "mimeType").to_owned(),
            str(block, "data").to_owned(),
        )),
        "resource" => {
            let resource = block.get("resource").unwrap_or(&Value::Null);
            output.text.push_str(str(resource, "text"));
        }
        "resource_link" => output.text.push_str(str(block, "uri")),
        _ => {}
    }
}
