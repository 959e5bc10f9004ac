//! What an ACP agent asks of its client: permissions, files, terminals.

use serde_json::{Value, json};
use stentor_wire::acp::method;
use stentor_wire::jsonrpc::{Id, code, encode};

use super::acp::{Acp, write};
use super::acp_forms::{self, AcpForm};
use super::acp_unreported::ConcernedCall;
use super::json::{list, str, text};
use super::{AgentRequest, Effects, HostReply};
use crate::host::{
    HostPermissionAnswer, HostRefusal, OpenCall, Permission, PermissionKind, PermissionOption,
    TerminalExit, TerminalRequest,
};

/// Requests of the agent that may wait for their answers.
const ASKED: usize = 256;

/// A request of the agent that waits for its answer.
pub(super) struct AcpRequest {
    pub number: u64,
    pub id: Id,
    kind: AskedKind,
    /// What its answer means for a call that the agent has not reported.
    pub concerns: Option<ConcernedCall>,
}

/// What the answer to a request looks like when nobody gives one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AskedKind {
    Permission,
    Form,
    Other,
}

impl Acp {
    /// Takes a request of the agent: what it asks goes to the host.
    pub fn ask(&mut self, id: Id, name: &str, params: &Value, fx: &mut Effects) {
        let terminal = || str(params, "terminalId").to_owned();
        if self.asked.len() >= ASKED {
            let code = code::INTERNAL_ERROR;
            let text = "Too many requests at once";
            return write(fx, |out| encode::error(out, Some(&id), code, text, None));
        }
        let is_offered = match name {
            method::READ_TEXT_FILE => self.offers.read_files,
            method::WRITE_TEXT_FILE => self.offers.write_files,
            method::TERMINAL_CREATE => self.offers.terminals,
            _ => false,
        };
        let (call, mut concerns) = match is_offered {
            true => {
                self.calls.announce(&mut self.turn, fx);
                let call = self.unreported.call_of(name, params, &mut self.turn, fx);
                call.map_or((None, None), |(id, concerns)| {
                    (Some(self.turn.open_call(&id)), concerns)
                })
            }
            false => (None, None),
        };
        let ask = match name {
            method::REQUEST_PERMISSION => {
                let update = params.get("toolCall").unwrap_or(&Value::Null);
                let call = self.calls.learned(update);
                self.calls.announce(&mut self.turn, fx);
                // Whoever is asked knows the call as one that is under way.
                if let Some(call) = &call {
                    self.turn.started(&call.id, fx);
                }
                let options = list(params, "options").iter().filter_map(permission_option);
                AgentRequest::Permission(Permission {
                    call: call.as_ref().map(|call| self.turn.open_call(&call.id)),
                    tool: call.as_ref().map(|call| call.name.clone()),
                    kind: call.as_ref().and_then(|call| call.kind.clone()),
                    title: call
                        .as_ref()
                        .and_then(|call| call.title.clone())
                        .unwrap_or_default(),
                    input: call.map(|call| call.input).unwrap_or_default(),
                    options: options.collect(),
                })
            }
            method::ELICITATION_CREATE if self.offers.questions => match AcpForm::of(params) {
                Some(form) => AgentRequest::Form(form),
                None => {
                    let (code, text) = (code::INVALID_PARAMS, "This form cannot be shown");
                    return write(fx, |out| encode::error(out, Some(&id), code, text, None));
                }
            },
            method::READ_TEXT_FILE if self.offers.read_files => AgentRequest::ReadFile {
                call,
                path: str(params, "path").into(),
                line: params.get("line").and_then(Value::as_u64),
                limit: params.get("limit").and_then(Value::as_u64),
            },
            method::WRITE_TEXT_FILE if self.offers.write_files => AgentRequest::WriteFile {
                call,
                path: str(params, "path").into(),
                text: str(params, "content").to_owned(),
            },
            method::TERMINAL_CREATE if self.offers.terminals => {
                AgentRequest::TerminalCreate(terminal_of(params, call))
            }
            method::TERMINAL_OUTPUT if self.offers.terminals => {
                AgentRequest::TerminalOutput(terminal())
            }
            method::TERMINAL_WAIT_FOR_EXIT if self.offers.terminals => {
                AgentRequest::TerminalWait(terminal())
            }
            method::TERMINAL_KILL if self.offers.terminals => AgentRequest::TerminalKill {
                id: terminal(),
                release: false,
            },
            method::TERMINAL_RELEASE if self.offers.terminals => AgentRequest::TerminalKill {
                id: terminal(),
                release: true,
            },
            _ => {
                let code = code::METHOD_NOT_FOUND;
                let text = "Method not found";
                return write(fx, |out| encode::error(out, Some(&id), code, text, None));
            }
        };
        if let AgentRequest::TerminalOutput(id)
        | AgentRequest::TerminalWait(id)
        | AgentRequest::TerminalKill { id, .. } = &ask
        {
            concerns = self.unreported.end_of_terminal(id);
        }
        self.last_asked += 1;
        self.asked.push(AcpRequest {
            number: self.last_asked,
            id,
            kind: match ask {
                AgentRequest::Permission(_) => AskedKind::Permission,
                AgentRequest::Form(_) => AskedKind::Form,
                _ => AskedKind::Other,
            },
            concerns,
        });
        fx.asks.push((self.last_asked, ask));
    }

    /// Answers a request of the agent.
    pub fn answer_request(&mut self, ask: u64, answer: HostReply, fx: &mut Effects) {
        let Some(place) = self.asked.iter().position(|asked| asked.number == ask) else {
            return;
        };
        let AcpRequest {
            id, kind, concerns, ..
        } = self.asked.remove(place);
        if let Some(concerns) = concerns {
            let turn = &mut self.turn;
            self.unreported.answered(concerns, &answer, turn, fx);
        }
        let result = match answer {
            HostReply::Permission(HostPermissionAnswer::Selected(option)) => {
                Ok(json!({ "outcome": { "outcome": "selected", "optionId": option } }))
            }
            HostReply::Form(content) => Ok(acp_forms::result(content)),
            HostReply::Withdrawn if kind == AskedKind::Form => Ok(acp_forms::result(None)),
            HostReply::Withdrawn if kind == AskedKind::Other => {
                let why = "too many requests at once".to_owned();
                Err(HostRefusal::Because(why))
            }
            HostReply::Permission(HostPermissionAnswer::Cancelled)
            | HostReply::Question(_)
            | HostReply::Withdrawn => Ok(json!({ "outcome": { "outcome": "cancelled" } })),
            HostReply::File(text) => text.map(|text| json!({ "content": text })),
            HostReply::Written(done) => done.map(|()| json!({})),
            HostReply::Terminal(id) => id.map(|id| json!({ "terminalId": id })),
            HostReply::Output(output) => output.map(|output| {
                let mut shown = json!({ "output": output.output, "truncated": output.truncated });
                if let (Some(exit), Some(shown)) = (output.exit, shown.as_object_mut()) {
                    shown.insert("exitStatus".to_owned(), exit_status(&exit));
                }
                shown
            }),
            HostReply::Exit(exit) => exit.map(|exit| exit_status(&exit)),
        };
        match result {
            Ok(result) => write(fx, |out| encode::result(out, &id, &result)),
            Err(refusal) => {
                let code = match refusal {
                    HostRefusal::NotOffered => code::METHOD_NOT_FOUND,
                    HostRefusal::Because(_) => code::INTERNAL_ERROR,
                };
                let text = refusal.to_string();
                write(fx, |out| encode::error(out, Some(&id), code, &text, None));
            }
        }
    }
}

fn permission_option(option: &Value) -> Option<PermissionOption> {
    let kind = match str(option, "kind") {
        "allow_once" => PermissionKind::AllowOnce,
        "allow_always" => PermissionKind::AllowAlways,
        "reject_once" => PermissionKind::RejectOnce,
        "reject_always" => PermissionKind::RejectAlways,
        _ => return None,
    };
    Some(PermissionOption {
        id: text(option, "optionId")?,
        name: str(option, "name").to_owned(),
        kind,
    })
}

fn terminal_of(params: &Value, call: Option<OpenCall>) -> TerminalRequest {
    let args = list(params, "args").iter().filter_map(Value::as_str);
    let env = list(params, "env").iter();
    TerminalRequest {
        call,
        command: str(params, "command").to_owned(),
        args: args.map(str::to_owned).collect(),
        env: env
            .map(|pair| (str(pair, "name").to_owned(), str(pair, "value").to_owned()))
            .collect(),
        cwd: text(params, "cwd").map(Into::into),
        output_limit_bytes: params.get("outputByteLimit").and_then(Value::as_u64),
    }
}

fn exit_status(exit: &TerminalExit) -> Value {
    json!({ "exitCode": exit.code, "signal": exit.signal })
}
