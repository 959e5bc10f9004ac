//! Cursors in `_meta`: where a client is in the events of a session that it shares, and how it goes
//! on from there over another connection.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use stentor_agent::hub::{Cursor, CursorMissed};
use stentor_wire::jsonrpc::RawJson;

use super::error::{AcpResult, Refusal};
use super::params::params;

/// How every update begins; where `_meta` is put.
const UPDATE_HEAD: &[u8] = br#"{"jsonrpc":"2.0","method":"session/update","params":{"#;

/// What a client wants to do with cursors when it opens a session.
#[derive(Debug, Default)]
pub(super) struct WantedCursor {
    /// Every update is to say where it is.
    pub numbers_updates: bool,
    /// The client has everything up to here.
    pub after: Option<Cursor>,
}

/// Where the updates of a session begin, for who opened it.
pub(super) struct UpdatesStart {
    pub cursor: Cursor,
    /// What goes on follows with the same number.
    pub more: bool,
    /// What became of the cursor that the client gave, if it gave one.
    pub outcome: Option<Result<(), CursorMissed>>,
}

/// Reads `_meta.stentor.cursor`: `true`, or `epoch` and `number`.
pub(super) fn wanted(raw: RawJson<'_>) -> AcpResult<WantedCursor> {
    #[derive(Deserialize)]
    struct CursorParams {
        #[serde(rename = "_meta", default)]
        meta: Option<Map<String, Value>>,
    }
    let CursorParams { meta } = params(raw)?;
    let own = meta.as_ref().and_then(|meta| meta.get("stentor"));
    let invalid = || {
        let text = "_meta.stentor.cursor must be true or an object with epoch and number";
        Refusal::invalid_params(text)
    };
    match own.and_then(|own| own.get("cursor")) {
        None | Some(Value::Null | Value::Bool(false)) => Ok(WantedCursor::default()),
        Some(Value::Bool(true)) => Ok(WantedCursor {
            numbers_updates: true,
            after: None,
        }),
        Some(given) => {
            let epoch = given.get("epoch").and_then(Value::as_str);
            let number = given.get("number").and_then(Value::as_u64);
            let (epoch, number) = epoch.zip(number).ok_or_else(invalid)?;
            let epoch = epoch.into();
            Ok(WantedCursor {
                numbers_updates: true,
                after: Some(Cursor { epoch, number }),
            })
        }
    }
}

impl UpdatesStart {
    /// True when the client goes on from its own cursor.
    pub fn is_resumed(&self) -> bool {
        matches!(self.outcome, Some(Ok(())))
    }

    /// What the answer to the request that opened the session has of it.
    pub fn to_meta(&self) -> Value {
        let mut meta = to_json(&self.cursor);
        if self.more
            && let Some(meta) = meta.as_object_mut()
        {
            meta.insert("more".into(), true.into());
        }
        let (outcome, catch_up) = match self.outcome {
            None => return meta,
            Some(Ok(())) => ("resumed", None),
            Some(Err(CursorMissed::OtherEpoch)) => ("other-epoch", Some("session/load")),
            Some(Err(CursorMissed::TooOld)) => ("too-old", Some("session/load")),
        };
        if let Some(meta) = meta.as_object_mut() {
            meta.insert("outcome".into(), outcome.into());
            if let Some(method) = catch_up {
                meta.insert("catchUp".into(), method.into());
            }
        }
        meta
    }
}

fn to_json(cursor: &Cursor) -> Value {
    json!({ "epoch": &*cursor.epoch, "number": cursor.number })
}

/// Puts the cursor into the updates that begin at `start`: they are what event `number` became.
/// All but the last say that `more` of it follows, so that a client knows what it has not whole. What
/// went on when the client came has the number at which its events `begin`, and is never whole.
pub(super) fn stamp(frames: &mut Vec<u8>, start: usize, begin: &Cursor, number: u64) {
    let written = frames.split_off(start.min(frames.len()));
    let is_update = |line: &&[u8]| line.starts_with(UPDATE_HEAD);
    let lines = || written.split_inclusive(|byte| *byte == b'\n');
    let mut left = lines().filter(is_update).count();
    for line in lines() {
        let Some(rest) = line.strip_prefix(UPDATE_HEAD) else {
            frames.extend_from_slice(line);
            continue;
        };
        left -= 1;
        let mut cursor = json!({ "epoch": &*begin.epoch, "number": number });
        if (left > 0 || number <= begin.number)
            && let Some(cursor) = cursor.as_object_mut()
        {
            cursor.insert("more".into(), true.into());
        }
        let meta = json!({ "stentor": { "cursor": cursor } });
        frames.extend_from_slice(UPDATE_HEAD);
        frames.extend_from_slice(format!("\"_meta\":{meta},").as_bytes());
        frames.extend_from_slice(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_update_of_an_event_says_that_nothing_more_follows() {
        let update = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s"}}"#;
        let request = r#"{"jsonrpc":"2.0","id":1,"method":"session/request_permission"}"#;
        let mut frames = format!("before\n{update}\n{update}\n{request}\n").into_bytes();
        let begin = Cursor {
            epoch: "e".into(),
            number: 6,
        };
        stamp(&mut frames, "before\n".len(), &begin, 7);
        let head = r#"{"jsonrpc":"2.0","method":"session/update","params":{"_meta":"#;
        let expected = [
            "before".to_owned(),
            format!(
                r#"{head}{{"stentor":{{"cursor":{{"epoch":"e","number":7,"more":true}}}}}},"sessionId":"s"}}}}"#
            ),
            format!(
                r#"{head}{{"stentor":{{"cursor":{{"epoch":"e","number":7}}}}}},"sessionId":"s"}}}}"#
            ),
            request.to_owned(),
        ];
        let lines: Vec<&str> = std::str::from_utf8(&frames).unwrap().lines().collect();
        assert_eq!(lines, expected);
    }
}
