//! What an ACP agent refuses, and what of its answers is lost because it is too long to be read.

use stentor_wire::acp::method;
use stentor_wire::jsonrpc::{ErrorObject, Id, RawJson, code, encode};

use super::acp::{Acp, AcpReply, write};
use super::acp_calls::AcpCalls;
use super::pending::answer;
use super::{Effects, Responder};
use crate::error::ChildAgentError;
use crate::event::TurnEndReason;

/// The error of an agent that wants a login first.
const AUTH_REQUIRED: i64 = -32000;

/// Why something came to nothing that was written in one line.
const TOO_LONG: &str = "the line is too long to be read";

impl Acp {
    pub fn refused(&mut self, id: &Id, error: RawJson<'_>, fx: &mut Effects) {
        let number = id.as_i64().and_then(|id| u64::try_from(id).ok());
        let Some((expected, reply)) = self.pending.take(number) else {
            return;
        };
        let ErrorObject {
            code,
            message,
            data,
        } = ErrorObject::from(error);
        let details = data.as_ref().and_then(|data| {
            let details = data.as_str().or_else(|| data.get("details")?.as_str());
            details.map(str::to_owned)
        });
        let why = match details {
            Some(details) => format!("{message} ({details})"),
            None => message,
        };
        let error = match code {
            AUTH_REQUIRED => ChildAgentError::NeedsLogin(why.clone()),
            _ => ChildAgentError::Refused(why.clone()),
        };
        self.failed(&expected, reply, error, why, fx);
    }

    /// A request that has no usable answer, and why.
    fn failed(
        &mut self,
        expected: &AcpReply,
        reply: Option<Responder>,
        error: ChildAgentError,
        why: String,
        fx: &mut Effects,
    ) {
        match expected {
            AcpReply::Initialize => fx.opened = Some(Err(ChildAgentError::NotReady(why))),
            AcpReply::Session(_) => {
                self.is_repeating = false;
                self.is_opening = false;
                self.session_failed(reply, error, fx);
            }
            AcpReply::Prompt => {
                self.calls = AcpCalls::default();
                self.turn.end(TurnEndReason::Failed(why), None, fx);
            }
            AcpReply::Sessions | AcpReply::Steer | AcpReply::Done => answer(reply, Err(error)),
        }
    }

    /// The answer to a request was too long to be read.
    pub fn lost_answer(&mut self, id: &Id, why: &str, fx: &mut Effects) {
        let number = id.as_i64().and_then(|id| u64::try_from(id).ok());
        if let Some((expected, reply)) = self.pending.take(number) {
            let what = "a request";
            let error = ChildAgentError::BadAnswer {
                what,
                why: why.to_owned(),
            };
            self.failed(&expected, reply, error, why.to_owned(), fx);
        }
    }

    /// Something was lost that the turn may wait for: its prompt is answered no more.
    pub fn lost_turn(&mut self, why: &str, fx: &mut Effects) {
        let is_prompt = |expected: &AcpReply| matches!(expected, AcpReply::Prompt);
        if self.turn.is_active() {
            self.pending.take_where(is_prompt);
            self.calls = AcpCalls::default();
            let failed = TurnEndReason::Failed(why.to_owned());
            self.turn.end(failed, None, fx);
        }
    }

    /// A line was too long to be read. Whoever waits for what it says learns that: the agent for the
    /// answer to a request, we for the answer to ours.
    pub fn skipped_line(&mut self, start: &[u8], fx: &mut Effects) {
        let start = LineStart::read(start);
        match (start.id, start.method.as_deref()) {
            (_, Some(method::SESSION_UPDATE | method::CANCEL_REQUEST)) => {}
            (Some(id), Some(_)) => {
                let code = code::INVALID_REQUEST;
                write(fx, |out| {
                    encode::error(out, Some(&id), code, TOO_LONG, None)
                });
            }
            (Some(id), None) => {
                let why = format!("its answer cannot be used: {TOO_LONG}");
                self.lost_answer(&id, &why, fx);
            }
            (None, _) => {
                let why = format!("it wrote something that its turn may wait for: {TOO_LONG}");
                self.lost_turn(&why, fx);
            }
        }
    }
}

/// What can be seen of a frame by its first bytes: the keys before the first that has an object or an
/// array as its value.
#[derive(Default)]
struct LineStart {
    id: Option<Id>,
    method: Option<String>,
}

impl LineStart {
    fn read(bytes: &[u8]) -> Self {
        let mut found = Self::default();
        let text = String::from_utf8_lossy(bytes);
        let mut rest = text.trim_start().strip_prefix('{').unwrap_or_default();
        while let Some((key, after)) = scalar(rest) {
            let Some(value) = after.trim_start().strip_prefix(':') else {
                break;
            };
            let Some((value, after)) = scalar(value) else {
                break;
            };
            match key {
                "\"id\"" => found.id = serde_json::from_str(value).ok(),
                "\"method\"" => found.method = serde_json::from_str(value).ok(),
                _ => {}
            }
            rest = after.trim_start().strip_prefix(',').unwrap_or_default();
        }
        found
    }
}

/// The string, number or word that a text begins with, and what follows. None for anything else, and
/// for one that is cut off.
fn scalar(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = match text.strip_prefix('"') {
        Some(inner) => {
            let mut is_escaped = false;
            let ends = |c: char| {
                let is_end = c == '"' && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                is_end
            };
            inner.find(ends)? + 2
        }
        None => text.find([',', '}', ']', '{', '[', ':'])?,
    };
    text.split_at_checked(end)
        .filter(|(value, _)| !value.trim().is_empty())
        .map(|(value, rest)| (value.trim_end(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_line_tells_what_it_is() {
        let read = |start: &str| {
            let LineStart { id, method } = LineStart::read(start.as_bytes());
            let id = id.map(|id| serde_json::to_string(&id).unwrap());
            format!(
                "{} {}",
                id.as_deref().unwrap_or("-"),
                method.as_deref().unwrap_or("-")
            )
        };
        let table = [
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"fs/write_text_file","params":{"a"#,
                "7 fs/write_text_file",
            ),
            (
                r#"{ "method" : "a/b" , "id" : "x\"y" , "params" : {"#,
                r#""x\"y" a/b"#,
            ),
            (
                r#"{"jsonrpc": "2.0", "id": 3, "result": {"stopReason"#,
                "3 -",
            ),
            (
                r#"{"jsonrpc":"2.0","method":"session/update","params":{"id":1"#,
                "- session/update",
            ),
            (r#"{"result":{"x":1},"id":3}"#, "- -"),
            (r#"{"jsonrpc":"2.0","id":12"#, "- -"),
            (r#"{"x":"zzzz"#, "- -"),
            ("", "- -"),
            ("zzzz", "- -"),
        ];
        for (start, expected) in table {
            assert_eq!(read(start), expected, "{start}");
        }
    }
}
