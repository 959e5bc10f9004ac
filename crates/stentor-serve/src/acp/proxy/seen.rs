//! What a client has seen of a session. When the session goes on elsewhere, its history is replayed
//! there, and the client is sent what it has not seen and nothing else: ids of messages and calls are
//! the same live and replayed.

use std::collections::VecDeque;

use memchr::memmem;

/// The newest messages and calls that are remembered of a session.
const MAX_SEEN: usize = 128;

/// What may have been missed, in bytes. A client that missed more has to load the session.
const MAX_MISSED_BYTES: usize = 4 << 20;

const MESSAGE: &[u8] = br#""messageId":""#;
const CALL: &[u8] = br#""toolCallId":""#;
const SESSION: &[u8] = br#""sessionId":""#;
const OF_USER: &[u8] = br#""sessionUpdate":"user_message_chunk""#;
const NEW_CALL: &[u8] = br#""sessionUpdate":"tool_call""#;
const CHANGED_CALL: &[u8] = br#""sessionUpdate":"tool_call_update""#;
const ENDS: [&[u8]; 2] = [br#""status":"completed""#, br#""status":"failed""#];

/// The newest that a client has seen of a session.
#[derive(Debug, Default)]
pub(super) struct SeenUpdates {
    /// Ids of messages, and of calls that have ended.
    ids: VecDeque<Box<[u8]>>,
    /// Ids of calls that have not.
    running: VecDeque<Box<[u8]>>,
}

/// What a replay has that its client has not seen.
#[derive(Debug, Default)]
pub(super) struct MissedUpdates {
    /// The ends of calls that the client saw begin.
    calls: Vec<u8>,
    /// What comes behind the newest that the client has seen.
    rest: Vec<u8>,
}

/// The session of an update.
pub(super) fn session_of(line: &[u8]) -> Option<&str> {
    std::str::from_utf8(value(line, SESSION)?).ok()
}

impl SeenUpdates {
    /// The client is sent an update.
    pub fn note(&mut self, line: &[u8]) {
        if let Some(call) = value(line, CALL) {
            let has_ended = ENDS.iter().any(|end| memmem::find(line, end).is_some());
            match has_ended {
                true => {
                    self.running.retain(|id| **id != *call);
                    remember(&mut self.ids, call);
                }
                false => remember(&mut self.running, call),
            }
        } else if let Some(message) = value(line, MESSAGE) {
            remember(&mut self.ids, message);
        }
    }

    /// Takes an update of a replay.
    pub fn compare(&self, line: &[u8], missed: &mut MissedUpdates) {
        let id = value(line, CALL).or_else(|| value(line, MESSAGE));
        let is_in =
            |ids: &VecDeque<Box<[u8]>>| id.is_some_and(|id| ids.iter().any(|of| **of == *id));
        if is_in(&self.running) {
            append_change(&mut missed.calls, line);
            missed.rest.clear();
        } else if is_in(&self.ids) {
            missed.rest.clear();
        } else if memmem::find(line, OF_USER).is_none()
            && missed.rest.len() + line.len() <= MAX_MISSED_BYTES
        {
            // What the client itself said it knows, and by no id.
            missed.rest.extend_from_slice(line);
        }
    }
}

impl MissedUpdates {
    /// Appends it, in its order.
    pub fn append_to(&self, seen: &mut SeenUpdates, to_client: &mut Vec<u8>) {
        for lines in [&self.calls, &self.rest] {
            for line in lines.split_inclusive(|byte| *byte == b'\n') {
                seen.note(line);
            }
            to_client.extend_from_slice(lines);
        }
    }
}

/// Appends a call of a replay as a change of one that the client knows.
fn append_change(lines: &mut Vec<u8>, line: &[u8]) {
    match memmem::find(line, NEW_CALL) {
        Some(at) => {
            let (head, rest) = line.split_at(at);
            lines.extend_from_slice(head);
            lines.extend_from_slice(CHANGED_CALL);
            lines.extend_from_slice(rest.get(NEW_CALL.len()..).unwrap_or_default());
        }
        None => lines.extend_from_slice(line),
    }
}

fn remember(ids: &mut VecDeque<Box<[u8]>>, id: &[u8]) {
    if ids.iter().rev().any(|known| **known == *id) {
        return;
    }
    if ids.len() >= MAX_SEEN {
        ids.pop_front();
    }
    ids.push_back(id.into());
}

/// The text behind a key. What looks like a key inside of a text has its quotes escaped.
fn value<'l>(line: &'l [u8], key: &[u8]) -> Option<&'l [u8]> {
    let rest = line.get(memmem::find(line, key)? + key.len()..)?;
    rest.get(..memchr::memchr(b'"', rest)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str, text: &str) -> String {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{{\"sessionId\":\"s\",\"update\":{{\"sessionUpdate\":\"agent_message_chunk\",\"messageId\":\"{id}\",\"content\":{{\"text\":\"{text}\"}}}}}}}}\n"
        )
    }

    fn call(kind: &str, id: &str, status: &str) -> String {
        format!(
            "{{\"params\":{{\"sessionId\":\"s\",\"update\":{{\"sessionUpdate\":\"{kind}\",\"toolCallId\":\"{id}\",\"status\":\"{status}\"}}}}}}\n"
        )
    }

    #[test]
    fn what_a_client_has_not_seen_follows_and_nothing_else() {
        let mut seen = SeenUpdates::default();
        for line in [
            message("m1", "one"),
            call("tool_call", "c1", "pending"),
            call("tool_call_update", "c1", "completed"),
            call("tool_call", "c2", "in_progress"),
            // Of an answer that was never recorded.
            message("lost", "\\\"messageId\\\":\\\"m9"),
        ] {
            seen.note(line.as_bytes());
        }
        let mut missed = MissedUpdates::default();
        let user = message("u", "typed").replace("agent_message", "user_message");
        for line in [
            message("m0", "long ago"),
            message("m1", "one"),
            call("tool_call", "c1", "completed"),
            call("tool_call", "c2", "failed"),
            user,
            message("m2", "two"),
            call("tool_call", "c3", "completed"),
        ] {
            seen.compare(line.as_bytes(), &mut missed);
        }
        let mut sent = Vec::new();
        missed.append_to(&mut seen, &mut sent);
        let expected = [
            call("tool_call_update", "c2", "failed"),
            message("m2", "two"),
            call("tool_call", "c3", "completed"),
        ];
        assert_eq!(String::from_utf8(sent).unwrap(), expected.concat());
        assert!(seen.running.is_empty());
        assert_eq!(session_of(message("m", "t").as_bytes()), Some("s"));
    }
}
