//! Where the client's lines go.

use bytes::Bytes;
use serde_json::value::RawValue;
use stentor_wire::acp::method;

use super::envelope::{self, Envelope};
use super::{HOME, MAX_REQUESTS, Multiplexer, NodeNumber, Request, deadline};
use crate::proxy::{Owner, Place};

impl Multiplexer {
    /// Sends a line where it belongs. What is no JSON-RPC is answered by the client's own node.
    pub(super) async fn client_line(&mut self, line: Bytes) {
        let envelope = Envelope::read(&line);
        let Some(envelope) = envelope else {
            return self.send(HOME, line);
        };
        match (envelope.method.as_deref(), envelope.id) {
            (None, Some(id)) => {
                let id = id.get().to_owned();
                self.client_answer(&id, &envelope);
            }
            (Some(method::CANCEL_REQUEST), _) => {
                let wanted = envelope::request_in(envelope.params);
                let request = wanted.and_then(|id| self.requests.get(&id));
                let number = request.map_or(HOME, |request| request.node);
                self.send(number, line);
            }
            (Some(name), id) => {
                let name = name.to_owned();
                let id = id.map(|id| id.get().to_owned());
                let params = envelope.params.map(ToOwned::to_owned);
                self.client_call(&name, id, params, line).await;
            }
            (None, None) => self.send(HOME, line),
        }
    }

    /// The client answers a node.
    fn client_answer(&mut self, id: &str, envelope: &Envelope<'_>) {
        let asked = id.parse().ok().and_then(|id| self.asked.remove(&id));
        // What was withdrawn with its node needs no answer.
        let Some((number, own)) = asked else { return };
        if let Some(node) = self.nodes.get_mut(&number) {
            node.asked.remove(own.get());
            self.send(number, envelope::answer(own.get(), envelope).into());
        }
    }

    /// A request or a notification.
    async fn client_call(
        &mut self,
        name: &str,
        id: Option<String>,
        params: Option<Box<RawValue>>,
        line: Bytes,
    ) {
        if name == method::INITIALIZE {
            self.initialize.clone_from(&params);
        }
        let session = envelope::session_in(params.as_deref());
        let number = match session.as_deref() {
            Some(session) => {
                if let Some(recovery) = self.recovery_of(session, name) {
                    if let (false, Some(id)) = (recovery.hold(line), id) {
                        let why = "the session is without a node at the moment";
                        envelope::refuse(&mut self.to_client, &id, why);
                    }
                    return;
                }
                self.node_of(session, name).await
            }
            None => HOME,
        };
        if let Some(id) = id.filter(|_| self.requests.len() < MAX_REQUESTS) {
            let keeps = matches!(
                name,
                method::SESSION_NEW
                    | method::SESSION_LOAD
                    | method::SESSION_RESUME
                    | method::SESSION_FORK
            );
            let before = self.requests.get(&id).map(|request| request.deadline);
            let request = Request {
                node: number,
                method: name.to_owned(),
                session,
                params: params.filter(|_| keeps),
                deadline: before.unwrap_or_else(deadline),
            };
            self.requests.insert(id, request);
        }
        self.send(number, line);
    }

    /// The node for a line about a session. What opens one goes where it is now.
    async fn node_of(&mut self, session: &str, name: &str) -> NodeNumber {
        let open = self.sessions.get(session).map(|open| open.node);
        let may_move = matches!(
            name,
            method::SESSION_LOAD
                | method::SESSION_RESUME
                | method::SESSION_FORK
                | method::SESSION_DELETE
                | method::SESSION_SET_TITLE
                | method::SESSION_STATUS
        );
        if let (Some(open), false) = (open, may_move) {
            return open;
        }
        let located = self.upstreams.locate(session).await;
        match located.map(|located| located.owner) {
            Some(Owner::Node(node)) => self.node_at(&Place::Node(node)),
            Some(Owner::Here) => HOME,
            Some(Owner::Nobody | Owner::Moving) | None => open.unwrap_or(HOME),
        }
    }
}
