//! What of the lines of a node the client is sent.

use serde_json::value::RawValue;
use stentor_wire::acp::method;

use super::envelope::{self, Envelope};
use super::{Multiplexer, NodeNumber, OpenSession, Request};

/// What most lines begin with: pieces of answers.
const UPDATE: &[u8] = br#"{"jsonrpc":"2.0","method":"session/update""#;

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
            if line.starts_with(UPDATE) {
                self.to_client.extend_from_slice(line);
                continue;
            }
            let line = line.to_vec();
            self.node_line(number, &line).await;
        }
    }

    async fn node_line(&mut self, number: NodeNumber, line: &[u8]) {
        let Some(envelope) = Envelope::read(line) else {
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
                let is_fine = envelope.error.is_none();
                self.own_answer(id.get(), is_fine);
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
    fn note_answer(&mut self, number: NodeNumber, request: Request, envelope: &Envelope<'_>) {
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
                self.sessions.remove(&session);
            }
            (
                method::SESSION_NEW
                | method::SESSION_FORK
                | method::SESSION_LOAD
                | method::SESSION_RESUME,
                Some(params),
            ) => {
                let open = OpenSession {
                    node: number,
                    params,
                    recovery: None,
                };
                self.sessions.insert(session, open);
            }
            _ => {}
        }
    }
}
