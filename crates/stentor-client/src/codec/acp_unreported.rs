//! Files and terminals that an ACP agent asks for without having reported a call: each is shown as a
//! call of its own, so that whoever is asked about it knows what it belongs to.

use std::time::Duration;

use serde_json::{Value, json};
use stentor_wire::acp::method;

use super::json::{list, str};
use super::turn::TurnGrammar;
use super::{Effects, HostReply};
use crate::event::{AgentCall, CallOutput};

/// How long what the agent does next waits for the end of its commands.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

/// What the result of a call begins with whose command was left.
const STILL_RUNS: &str = "[The command still runs.]\n";

/// The calls that were made up for requests of a session.
#[derive(Default)]
pub(super) struct UnreportedCalls {
    last: u64,
    /// Terminals that are still used, with their calls.
    terminals: Vec<(String, String)>,
    /// The agent has gone on though its commands run: they are waited for, but not for long.
    is_leaving: bool,
}

/// What the answer to a request means for such a call.
pub(super) enum ConcernedCall {
    /// It is a file of this call, which is over then.
    File(String),
    /// It is the terminal of this call.
    Terminal(String),
    /// The command of this terminal may be over.
    TerminalEnd(String),
}

impl UnreportedCalls {
    /// The call that a request for a file or a terminal belongs to: one that was reported, else one of
    /// its own. None outside of a turn.
    pub fn call_of(
        &mut self,
        name: &str,
        params: &Value,
        turn: &mut TurnGrammar,
        fx: &mut Effects,
    ) -> Option<(String, Option<ConcernedCall>)> {
        if !turn.is_active() {
            return None;
        }
        let about = str(params, if is_terminal(name) { "command" } else { "path" });
        if let Some(id) = reported(turn, about) {
            // One that needs a file or a terminal is under way, reported or not.
            turn.started(&id, fx);
            return Some((id, None));
        }
        self.leave_terminals(turn, fx);
        self.last += 1;
        let id = format!("{PREFIX}{}", self.last);
        turn.called(made_up(id.clone(), name, params), fx);
        turn.started(&id, fx);
        let concerns = match is_terminal(name) {
            true => ConcernedCall::Terminal(id.clone()),
            false => ConcernedCall::File(id.clone()),
        };
        Some((id, Some(concerns)))
    }

    /// What the answer to a request about a terminal means.
    pub fn end_of_terminal(&self, terminal: &str) -> Option<ConcernedCall> {
        let mut terminals = self.terminals.iter();
        let is_known = terminals.any(|(id, _)| id == terminal);
        is_known.then(|| ConcernedCall::TerminalEnd(terminal.to_owned()))
    }

    /// Takes the answer to a request.
    pub fn answered(
        &mut self,
        concerns: ConcernedCall,
        answer: &HostReply,
        turn: &mut TurnGrammar,
        fx: &mut Effects,
    ) {
        match (concerns, answer) {
            (ConcernedCall::Terminal(call), HostReply::Terminal(Ok(terminal))) => {
                self.terminals.push((terminal.clone(), call.clone()));
                turn.progress(&call, shown(terminal), fx);
            }
            (ConcernedCall::File(call) | ConcernedCall::Terminal(call), answer) => {
                let (text, is_error) = match answer {
                    HostReply::File(Ok(text)) => (text.clone(), false),
                    HostReply::Written(Ok(())) => ("The file has been written.".to_owned(), false),
                    HostReply::File(Err(why))
                    | HostReply::Written(Err(why))
                    | HostReply::Terminal(Err(why)) => (why.to_string(), true),
                    _ => ("Nobody has answered.".to_owned(), true),
                };
                end(turn, &call, CallOutput::text(text), is_error, fx);
            }
            (ConcernedCall::TerminalEnd(terminal), answer) => {
                let failed = match answer {
                    HostReply::Exit(Ok(exit)) => exit.code != Some(0),
                    HostReply::Output(Ok(output)) => match &output.exit {
                        Some(exit) => exit.code != Some(0),
                        None => return,
                    },
                    // It was killed or released.
                    HostReply::Written(Ok(())) => false,
                    _ => return,
                };
                let place = self.terminals.iter().position(|(id, _)| *id == terminal);
                if let Some((id, call)) = place.map(|place| self.terminals.remove(place)) {
                    self.is_leaving &= !self.terminals.is_empty();
                    end(turn, &call, shown(&id), failed, fx);
                }
            }
        }
    }

    /// The agent goes on while its commands run. What it does next is shown after them, so they are
    /// left if they do not end soon.
    pub fn goes_on(&mut self, fx: &mut Effects) {
        if !self.terminals.is_empty() && !std::mem::replace(&mut self.is_leaving, true) {
            fx.wake_in = Some(ENDS_WITHIN);
        }
    }

    /// Leaves the commands that have not ended soon enough.
    pub fn leave_overdue(&mut self, turn: &mut TurnGrammar, fx: &mut Effects) {
        if self.is_leaving {
            self.leave_terminals(turn, fx);
        }
    }

    /// Leaves the commands that run: what they wrote so far is what their calls gave.
    pub fn leave_terminals(&mut self, turn: &mut TurnGrammar, fx: &mut Effects) {
        self.is_leaving = false;
        for (terminal, call) in std::mem::take(&mut self.terminals) {
            let output = CallOutput {
                text: STILL_RUNS.to_owned(),
                ..shown(&terminal)
            };
            end(turn, &call, output, false, fx);
        }
    }
}

/// How the ids of such calls begin.
const PREFIX: &str = "client_request_";

/// The call that was reported for a request about a path or a command: the only open one, else the one
/// that names it, else the first, which nothing else waits before.
fn reported(turn: &TurnGrammar, about: &str) -> Option<String> {
    let open = || turn.open().filter(|call| !call.id.starts_with(PREFIX));
    let names = |call: &&AgentCall| {
        let input = call.input.as_object();
        let mut values = input.into_iter().flat_map(|input| input.values());
        values.any(|value| value.as_str() == Some(about))
    };
    let call = open().find(names).or_else(|| open().next());
    call.map(|call| call.id.clone())
}

fn is_terminal(name: &str) -> bool {
    name == method::TERMINAL_CREATE
}

fn made_up(id: String, name: &str, params: &Value) -> AgentCall {
    let path = str(params, "path");
    let (tool, kind, input) = match name {
        method::READ_TEXT_FILE => ("read", "read", json!({ "path": path })),
        method::WRITE_TEXT_FILE => {
            let content = str(params, "content");
            ("write", "edit", json!({ "path": path, "content": content }))
        }
        _ => {
            let arguments = list(params, "args").iter().filter_map(Value::as_str);
            let words: Vec<&str> = std::iter::once(str(params, "command"))
                .chain(arguments)
                .collect();
            ("bash", "execute", json!({ "command": words.join(" ") }))
        }
    };
    AgentCall {
        id,
        name: tool.to_owned(),
        title: None,
        kind: Some(kind.to_owned()),
        input,
    }
}

fn shown(terminal: &str) -> CallOutput {
    CallOutput {
        terminals: vec![terminal.to_owned()],
        ..CallOutput::default()
    }
}

/// The turn may have ended before, and the call with it.
fn end(turn: &mut TurnGrammar, call: &str, output: CallOutput, is_error: bool, fx: &mut Effects) {
    if turn.open().any(|open| open.id == call) {
        turn.ended(call, output, is_error, fx);
    }
}
