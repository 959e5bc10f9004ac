//! Where the client's lines go.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::value::RawValue;
use stentor_wire::acp::method;

use super::envelope::{self, LineEnvelope};
use super::{HOME, MAX_REQUESTS, Multiplexer, NodeNumber, ProxiedRequest, deadline};
use crate::proxy::{NodePlace, Owner};

impl Multiplexer {
    /// Sends a line where it belongs. What is no JSON-RPC is answered by the client's own node.
    pub(super) async fn client_line(&mut self, line: Bytes) {
        let envelope = LineEnvelope::read(&line);
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
    fn client_answer(&mut self, id: &str, envelope: &LineEnvelope<'_>) {
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
        mut id: Option<String>,
        params: Option<Box<RawValue>>,
        mut line: Bytes,
    ) {
        if name == method::INITIALIZE {
            self.initialize.clone_from(&params);
        }
        let params = match (name, id, params) {
            (method::SESSION_NEW, Some(id), Some(params)) if !self.upstreams.observes() => {
                return self.begin_session(id, params).await;
            }
            (_, given, params) => {
                id = given;
                params
            }
        };
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
                method::SESSION_LOAD | method::SESSION_RESUME | method::SESSION_FORK
            );
            if let (true, Some(given)) = (keeps, &params) {
                line = self.line_at(number, &id, name, given.get(), line).await;
            }
            let before = self.requests.get(&id).map(|request| request.deadline);
            let request = ProxiedRequest {
                node: number,
                method: name.to_owned(),
                session,
                params: params.filter(|_| keeps),
                deadline: before.unwrap_or_else(deadline),
                full: Vec::new(),
            };
            self.requests.insert(id, request);
        }
        self.send(number, line);
    }

    /// A request as its node is to have it, which may have its folder elsewhere.
    async fn line_at(
        &self,
        number: NodeNumber,
        id: &str,
        name: &str,
        params: &str,
        line: Bytes,
    ) -> Bytes {
        let place = self.nodes.get(&number).map(|node| &node.place);
        let params = match place {
            Some(place) => Some(self.params_at(place, params).await),
            None => None,
        };
        match params {
            Some(Cow::Owned(params)) => envelope::request(id, name, &params).into(),
            Some(Cow::Borrowed(_)) | None => line,
        }
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
            Some(Owner::Node(node)) => self.node_at(&NodePlace::Node(node)),
            Some(Owner::Here) => HOME,
            Some(Owner::Nobody | Owner::Moving) | None => open.unwrap_or(HOME),
        }
    }
}
