//! What a node is asked by others: to move a session, and to hand over all of them.

use std::time::Duration;

use async_nats::Subscriber;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};

use super::{Node, state_after};
use crate::directory::SessionState;
use crate::error::FleetError;
use crate::fleet::Fleet;

/// How long a node may take for what it is asked.
const ANSWER_WAIT: Duration = Duration::from_secs(30);

/// What a node can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ControlRequest {
    /// To hand over all sessions and to take none.
    Drain,
    /// To let another node have a session.
    Move { session: String, to: String },
}

/// What it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlAnswer {
    /// How many sessions were handed over.
    pub moved: usize,
    /// Why not.
    pub error: Option<String>,
}

impl Fleet {
    /// Asks a node for something.
    pub async fn ask(
        &self,
        node: &str,
        asked: &ControlRequest,
    ) -> Result<ControlAnswer, FleetError> {
        const DOING: &str = "ask a node";
        let text = serde_json::to_vec(asked).map_err(FleetError::nats(DOING))?;
        let request = async_nats::Request::new()
            .payload(text.into())
            .timeout(Some(ANSWER_WAIT));
        let subject = self.control_subject(node);
        let answer = self.client().send_request(subject, request).await;
        let answer = answer.map_err(FleetError::nats(DOING))?;
        serde_json::from_slice(&answer.payload).map_err(FleetError::nats(DOING))
    }

    fn control_subject(&self, node: &str) -> String {
        self.subject(&["node", node, "control"])
    }
}

impl Node {
    pub(super) async fn subscribe_control(&self) -> Result<Subscriber, FleetError> {
        let subject = self.fleet().control_subject(&self.fleet().this_node().name);
        let subscribed = self.fleet().client().subscribe(subject).await;
        subscribed.map_err(FleetError::nats("listen to other nodes"))
    }

    /// Answers one request after the other.
    pub(super) async fn answer_control(self, mut requests: Subscriber) {
        loop {
            let request = tokio::select! {
                Some(request) = requests.next() => request,
                () = self.shared.end.cancelled() => return,
            };
            let answer = match serde_json::from_slice(&request.payload) {
                Ok(asked) => self.answer(asked).await,
                Err(why) => refusal(format!("not understood: {why}")),
            };
            if let (Some(reply), Ok(text)) = (request.reply, serde_json::to_vec(&answer)) {
                self.fleet().client().publish(reply, text.into()).await.ok();
            }
        }
    }

    async fn answer(&self, asked: ControlRequest) -> ControlAnswer {
        match asked {
            ControlRequest::Drain => self.drain().await,
            ControlRequest::Move { session, to } => self.move_session(&session, to).await,
        }
    }

    /// Hands over all sessions. Other nodes learn with the next renewal that this one takes none.
    async fn drain(&self) -> ControlAnswer {
        self.begin_hand_over().await;
        let open = self.shared.store.open_sessions();
        let moved = open.len();
        let unfinished = self.unfinished().await;
        let handing_over = open.into_iter().map(|(log, file)| {
            let state = state_after(unfinished.contains(&file));
            async move { self.hand_over(&log, file, state, None).await }
        });
        futures_util::future::join_all(handing_over).await;
        ControlAnswer { moved, error: None }
    }

    async fn move_session(&self, session: &str, to: String) -> ControlAnswer {
        let open = self.shared.store.open_sessions();
        let found = open.into_iter().find(|(log, _)| log.id == session);
        let Some((log, file)) = found else {
            return refusal(format!("the session {session} is not open on this node"));
        };
        // Those that have come since the last look count, too.
        if let Err(why) = self.fleet().look_at_nodes().await {
            return refusal(why.to_string());
        }
        let place = log.about().place.clone();
        let nodes = self.fleet().nodes();
        match nodes.iter().find(|node| node.id.name == to) {
            None => return refusal(format!("there is no node `{to}`")),
            Some(node) if !node.has(&place) => {
                return refusal(format!("the node `{to}` has no place `{place}`"));
            }
            Some(node) if node.free() == 0 => {
                return refusal(format!("the node `{to}` takes no more sessions"));
            }
            Some(_) => {}
        }
        let state = SessionState::HandedOver;
        self.hand_over(&log, file, state, Some(to)).await;
        ControlAnswer {
            moved: 1,
            error: None,
        }
    }
}

fn refusal(why: String) -> ControlAnswer {
    ControlAnswer {
        moved: 0,
        error: Some(why),
    }
}
