//! On which node a new session begins.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use stentor_wire::acp::method;

use super::envelope::{self, LineEnvelope};
use super::{HOME, MAX_REQUESTS, Multiplexer, NodeNumber, ProxiedRequest, ToNode, deadline};
use crate::proxy::NodePlace;

const CWD: &str = "cwd";

impl Multiplexer {
    /// Begins a session where there is capacity for it.
    pub(super) async fn begin_session(&mut self, id: String, params: Box<RawValue>) {
        let before = self.requests.remove(&id);
        if self.requests.len() >= MAX_REQUESTS {
            let why = "too many requests are waiting for an answer";
            return envelope::refuse(&mut self.to_client, &id, why);
        }
        let request = ProxiedRequest {
            node: HOME,
            method: method::SESSION_NEW.to_owned(),
            session: None,
            params: Some(params),
            deadline: before.map_or_else(deadline, |request| request.deadline),
            full: Vec::new(),
        };
        self.try_next(id, request).await;
    }

    /// A node has no capacity for a session.
    pub(super) async fn has_no_capacity(&mut self, number: NodeNumber, line: &Bytes) {
        let id = LineEnvelope::read(line).and_then(|envelope| envelope.id);
        let Some((id, mut request)) = id.and_then(|id| self.requests.remove_entry(id.get())) else {
            return;
        };
        let place = self.nodes.get(&number).map(|node| node.place.clone());
        request.full.extend(place);
        self.try_next(id, request).await;
    }

    /// Asks the next node that could have the session. If none is left, the client's own says why.
    async fn try_next(&mut self, id: String, mut request: ProxiedRequest) {
        let params = request.params.as_deref().map_or("{}", RawValue::get);
        let read: Map<String, Value> = serde_json::from_str(params).unwrap_or_default();
        let cwd = read.get(CWD).and_then(Value::as_str).unwrap_or_default();
        let places = self.upstreams.places_for(cwd, &NodePlace::Home);
        let mut places = places.await.into_iter();
        let next = places.find(|place| !request.full.contains(place));
        let place = next.clone().unwrap_or(NodePlace::Home);
        let params = self.params_at(&place, params).await;
        let line = envelope::request(&id, method::SESSION_NEW, &params).into();
        request.node = self.node_at(&place);
        let line = match next {
            Some(_) => ToNode::Begin(line),
            None => ToNode::Line(line),
        };
        let number = request.node;
        self.requests.insert(id, request);
        self.send_to(number, line);
    }

    /// Parameters for the node at a place, which may have their folder elsewhere.
    pub(super) async fn params_at<'p>(&self, place: &NodePlace, params: &'p str) -> Cow<'p, str> {
        if *place == NodePlace::Home {
            return Cow::Borrowed(params);
        }
        let Ok(mut read) = serde_json::from_str::<Map<String, Value>>(params) else {
            return Cow::Borrowed(params);
        };
        let there = match read.get(CWD).and_then(Value::as_str) {
            Some(cwd) => self.upstreams.folder_at(place, cwd).await,
            None => return Cow::Borrowed(params),
        };
        match there {
            Cow::Borrowed(_) => Cow::Borrowed(params),
            Cow::Owned(there) => {
                read.insert(CWD.to_owned(), Value::String(there));
                Cow::Owned(Value::Object(read).to_string())
            }
        }
    }
}
