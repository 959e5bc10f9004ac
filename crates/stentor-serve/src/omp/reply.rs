//! What a command comes to, and the frame that says so.

use std::io::Write;

use serde::Serialize;
use serde_json::value::RawValue;
use stentor_agent::agent::AgentError;
use stentor_agent::session::SessionError;
use stentor_wire::omp::command::Refused;
use stentor_wire::omp::facts::RESPONSE_TOO_LONG;
use stentor_wire::omp::response::Response;

use super::framing::Framing;

/// Why a prompt without `streamingBehavior` is refused during a run: pi's own sentence.
const BUSY: &str = "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.";

/// The data of a successful answer, as JSON.
#[derive(Debug, Default)]
pub(super) struct AnswerData(Option<Vec<u8>>);

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct CommandFailure {
    pub message: String,
    /// A word for programs.
    pub code: Option<&'static str>,
}

/// What a command comes to.
pub(super) type CommandOutcome = Result<AnswerData, CommandFailure>;

impl AnswerData {
    /// No data at all.
    pub fn none() -> Self {
        Self(None)
    }

    /// An explicit null.
    pub fn null() -> Self {
        Self(Some(b"null".to_vec()))
    }

    /// Data of any shape.
    pub fn of(data: &impl Serialize) -> CommandOutcome {
        match serde_json::to_vec(data) {
            Ok(json) => Ok(Self(Some(json))),
            Err(error) => Err(CommandFailure::new(format!(
                "the answer cannot be written: {error}"
            ))),
        }
    }

    /// Data that is JSON already.
    pub fn raw(json: Vec<u8>) -> Self {
        Self(Some(json))
    }
}

impl CommandFailure {
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: None,
        }
    }

    pub fn coded(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: Some(code),
        }
    }
}

impl From<SessionError> for CommandFailure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Busy => Self::new(BUSY),
            error => Self::new(error.to_string()),
        }
    }
}

impl From<AgentError> for CommandFailure {
    fn from(error: AgentError) -> Self {
        Self::new(error.to_string())
    }
}

/// The object that says what a command came to, not yet framed.
#[derive(Debug)]
pub(super) struct UnframedAnswer {
    object: Vec<u8>,
    /// What is said in its place when it is too long for the transport.
    too_long: Vec<u8>,
}

impl UnframedAnswer {
    /// The answer to a command.
    pub fn of(id: Option<&RawValue>, command: &str, outcome: &CommandOutcome) -> Self {
        let object = match outcome {
            Ok(AnswerData(None)) => json(&Response::<()>::success(id, command, None)),
            Ok(AnswerData(Some(data))) => with_data(id, command, data),
            Err(failure) => {
                let mut response = Response::failure(id, command, &failure.message);
                response.code = failure.code;
                json(&response)
            }
        };
        let too_long = json(&Response::failure(id, command, RESPONSE_TOO_LONG));
        Self { object, too_long }
    }

    /// The answer to a line that is no command.
    pub fn to(refused: &Refused) -> Self {
        let error = refused.to_string();
        Self {
            object: json(&Response::refusal(refused, &error)),
            too_long: Vec::new(),
        }
    }

    /// Appends its frame, in the way frames are ended at this moment.
    pub fn write(self, framing: &Framing, frames: &mut Vec<u8>) {
        let start = frames.len();
        frames.extend_from_slice(&self.object);
        if framing.finish(frames, start).is_err() {
            frames.extend_from_slice(&self.too_long);
            frames.push(b'\n');
        }
    }
}

/// The data may nest deeper than a reader of JSON here would follow, so it is written as it is and
/// not passed through one.
fn with_data(id: Option<&RawValue>, command: &str, data: &[u8]) -> Vec<u8> {
    let mut object = Vec::with_capacity(data.len() + 128);
    object.push(b'{');
    if let Some(id) = id {
        write!(object, "\"id\":{},", id.get()).ok();
    }
    write!(
        object,
        "\"type\":\"response\",\"command\":\"{command}\",\"success\":true,\"data\":"
    )
    .ok();
    object.extend_from_slice(data);
    object.push(b'}');
    object
}

fn json<D: Serialize>(response: &Response<'_, D>) -> Vec<u8> {
    serde_json::to_vec(response).unwrap_or_else(|error| {
        tracing::error!(%error, "an answer could not be written");
        Vec::new()
    })
}

#[cfg(test)]
mod tests {
    use stentor_wire::omp::facts::MAX_REASSEMBLED_BYTES;

    use super::*;

    fn written(framing: &Framing, outcome: &CommandOutcome) -> String {
        let id = RawValue::from_string("\"7\"".to_owned()).unwrap();
        let mut frames = Vec::new();
        UnframedAnswer::of(Some(&id), "c", outcome).write(framing, &mut frames);
        String::from_utf8(frames).unwrap()
    }

    #[test]
    fn an_answer_carries_id_and_command_and_data_only_if_there_is_some() {
        let framing = Framing::default();
        for (outcome, expected) in [
            (
                Ok(AnswerData::none()),
                r#"{"id":"7","type":"response","command":"c","success":true}"#,
            ),
            (
                Ok(AnswerData::null()),
                r#"{"id":"7","type":"response","command":"c","success":true,"data":null}"#,
            ),
            (
                Err(CommandFailure::coded("busy", "no")),
                r#"{"id":"7","type":"response","command":"c","success":false,"error":"no","code":"busy"}"#,
            ),
        ] {
            assert_eq!(written(&framing, &outcome), format!("{expected}\n"));
        }
    }

    #[test]
    fn data_too_long_for_the_transport_becomes_a_failure_with_the_id() {
        let framing = Framing::default();
        framing.use_chunks();
        let outcome = Ok(AnswerData::raw(vec![b'1'; MAX_REASSEMBLED_BYTES]));
        assert_eq!(
            written(&framing, &outcome),
            "{\"id\":\"7\",\"type\":\"response\",\"command\":\"c\",\"success\":false,\"error\":\"RPC response exceeded the transport limit\"}\n"
        );
    }
}
