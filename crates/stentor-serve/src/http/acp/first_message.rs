//! What ACP over WebSocket wants of frames before the agent sees them.

use serde_json::json;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::message::{BATCH, MessageEnvelope};
use crate::http::web_socket::close;

/// Whether the first message, an `initialize`, was seen.
#[derive(Debug, Default)]
pub(in crate::http) struct FirstMessage {
    is_initialized: bool,
}

impl FirstMessage {
    /// `None` when the frame goes to the agent, else our answer to it, or the end.
    pub fn check(&mut self, frame: &str) -> Result<Option<String>, CloseFrame> {
        if frame.trim_start().starts_with('[') {
            return Ok(Some(BATCH.to_owned()));
        }
        let envelope = MessageEnvelope::read(frame);
        let method = envelope.as_ref().and_then(|read| read.method.as_deref());
        let is_initialize = method == Some("initialize");
        let id = envelope.as_ref().and_then(MessageEnvelope::id);
        match (self.is_initialized, is_initialize, id) {
            (false, true, Some(_)) => {
                self.is_initialized = true;
                Ok(None)
            }
            (false, _, _) => {
                let why = "the first message must be an initialize request";
                Err(close(CloseCode::Protocol, why))
            }
            (true, true, id) => Ok(Some(again(id))),
            (true, false, _) => Ok(None),
        }
    }
}

fn again(id: Option<&str>) -> String {
    let error = json!({ "code": -32600, "message": "the connection is initialized already" });
    let id = id.unwrap_or("null");
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_message_is_an_initialize_and_no_other_is() {
        let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#;
        let other = r#"{"jsonrpc":"2.0","id":2,"method":"session/new"}"#;
        for frame in [other, "nonsense", r#"{"method":"initialize"}"#] {
            let refused = FirstMessage::default().check(frame).unwrap_err();
            assert_eq!(refused.code, CloseCode::Protocol, "{frame}");
        }
        let mut first = FirstMessage::default();
        assert_eq!(first.check("[]").unwrap().as_deref(), Some(BATCH));
        assert_eq!(first.check(initialize), Ok(None));
        assert_eq!(first.check(other), Ok(None));
        let again = first.check(initialize).unwrap().unwrap();
        assert!(
            again.contains("-32600") && again.contains(r#""id":1"#),
            "{again}"
        );
    }
}
