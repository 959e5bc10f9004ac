//! What of the lines of a node the client is sent.

use serde_json::value::RawValue;
use stentor_wire::acp::method;

use super::envelope::{self, LineEnvelope};
use super::{Multiplexer, NodeNumber, ProxiedRequest, ProxiedSession, SeenUpdates, seen};

/// What most lines begin with: pieces of answers.
const UPDATE: &[u8] = br#"{"jsonrpc":"2.0","method":"session/update""#;

impl ProxiedSession {
    /// An update: the client is sent it, unless it is part of a replay.
    fn update(&mut self, line: &[u8], to_client: &mut Vec<u8>) {
        match self.recovery.as_mut().and_then(|it| it.replay()) {
            Some(missed) => self.seen.compare(line, missed),
            None => {
                self.seen.note(line);
                to_client.extend_from_slice(line);
            }
        }
    }
}

impl Multiplexer {
    /// Takes what a node wrote.
    pub(super) async fn node_bytes(&mut self, number: NodeNumber, bytes: &[u8]) {
        let Some(node) = self.nodes.get_mut(&number) else {
            return;
        };
        node.lines.push(bytes);
        loop {
            let node = self.nodes.get_mut(&number);
            let Some(line) = node.and_then(|node| node.lines.next_line()) else {
                return;
            };
            if !line.starts_with(UPDATE) {
                let line = line.to_vec();
                self.node_line(number, &line).await;
                continue;
            }
            let session = seen::session_of(line);
            match session.and_then(|session| self.sessions.get_mut(session)) {
                Some(open) => open.update(line, &mut self.to_client),
                None => self.to_client.extend_from_slice(line),
            }
        }
    }

    async fn node_line(&mut self, number: NodeNumber, line: &[u8]) {
        let Some(envelope) = LineEnvelope::read(line) else {
            return self.to_client.extend_from_slice(line);
        };
        match (envelope.method.as_deref(), envelope.id) {
            (Some(name), Some(id)) => self.ask(number, name, id, envelope.params),
            (Some(method::CANCEL_REQUEST), None) => {
                let wanted = envelope::request_in(envelope.params);
                let node = self.nodes.get(&number);
                let known = node.zip(wanted).and_then(|(node, id)| node.asked.get(&id));
                if let Some(known) = known {
                    envelope::withdraw(&mut self.to_client, *known);
                }
            }
            (None, Some(id)) if envelope::is_own(id.get()) => {
                let refusal = envelope.error.map(envelope::message_in);
                self.own_answer(id.get(), refusal);
            }
            (None, Some(id)) => {
                self.to_client.extend_from_slice(line);
                if let Some(request) = self.requests.remove(id.get()) {
                    let session = request.session.clone();
                    self.note_answer(number, request, &envelope);
                    if let Some(session) = session {
                        self.leave_when_answered(&session);
                    }
                }
            }
            (Some(_), None) | (None, None) => self.to_client.extend_from_slice(line),
        }
    }

    /// A node asks the client, which knows the request by a number of the connection.
    fn ask(&mut self, number: NodeNumber, name: &str, id: &RawValue, params: Option<&RawValue>) {
        let Some(node) = self.nodes.get_mut(&number) else {
            return;
        };
        self.count += 1;
        node.asked.insert(id.get().to_owned(), self.count);
        self.asked.insert(self.count, (number, id.to_owned()));
        let params = params.map_or("{}", RawValue::get);
        let request = envelope::request(&self.count.to_string(), name, params);
        self.to_client.extend_from_slice(&request);
    }

    /// Notes which sessions are open after an answer.
    fn note_answer(
        &mut self,
        number: NodeNumber,
        request: ProxiedRequest,
        envelope: &LineEnvelope<'_>,
    ) {
        let is_fine = envelope.error.is_none();
        let session = match request.method.as_str() {
            method::SESSION_NEW | method::SESSION_FORK => envelope::session_in(envelope.result),
            _ => request.session,
        };
        let (Some(session), true) = (session, is_fine) else {
            return;
        };
        match (request.method.as_str(), request.params) {
            (method::SESSION_CLOSE | method::SESSION_DELETE, _) => {
                self.refuse_waiting(&session, "the session was closed");
                self.sessions.remove(&session);
            }
            (
                method::SESSION_NEW
                | method::SESSION_FORK
                | method::SESSION_LOAD
                | method::SESSION_RESUME,
                Some(params),
            ) => {
                let before = self.sessions.remove(&session);
                let mut open = ProxiedSession {
                    node: number,
                    params,
                    seen: SeenUpdates::default(),
                    recovery: None,
                    rejoined: None,
                };
                let mut recovery = None;
                if let Some(before) = before {
                    (open.seen, open.rejoined) = (before.seen, before.rejoined);
                    recovery = before.recovery;
                }
                self.sessions.insert(session.clone(), open);
                // The client was quicker than the proxy.
                if let Some(mut recovery) = recovery {
                    if let Some(broken) = recovery.take_broken() {
                        self.rejoin(&session, broken);
                    }
                    self.send_held(number, recovery);
                }
            }
            _ => {}
        }
    }
}
