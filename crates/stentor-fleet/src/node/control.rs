//! What a node is asked by others: to move or to take a session, and to hand over all of them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{RequestErrorKind, Subscriber};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{Node, state_after};
use crate::directory::SessionActivity;
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::log::Log;

/// How long a node may take for what it is asked.
const ANSWER_WAIT: Duration = Duration::from_secs(30);

/// How long a session may take to be opened that this node has taken.
const OPEN_WAIT: Duration = Duration::from_secs(5);

/// How long another node may take to take a session.
const TAKE_WAIT: Duration = Duration::from_secs(10);

/// How often that is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What a node can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ControlRequest {
    /// Whether it is there.
    Hello,
    /// To hand over all sessions and to take none.
    Drain,
    /// To let another node have a session.
    Move { session: String, to: String },
    /// To open a session that is open nowhere.
    Take { session: String },
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
        let answer = match self.client().send_request(subject, request).await {
            Ok(answer) => answer,
            Err(why) if why.kind() == RequestErrorKind::NoResponders => {
                let there = self.nodes().into_iter().map(|node| node.id.name);
                return Err(FleetError::UnknownNode {
                    name: node.to_owned(),
                    there: there.collect(),
                });
            }
            Err(why) => return Err(FleetError::nats(DOING)(why)),
        };
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

    /// Answers requests. One may take a while, and whether the node is there is asked meanwhile.
    pub(super) async fn answer_control(self, mut requests: Subscriber) {
        loop {
            let request = tokio::select! {
                Some(request) = requests.next() => request,
                () = self.shared.end.cancelled() => return,
            };
            let node = self.clone();
            tokio::spawn(async move {
                let answer = match serde_json::from_slice(&request.payload) {
                    Ok(asked) => node.answer(asked).await,
                    Err(why) => refusal(format!("not understood: {why}")),
                };
                if let (Some(reply), Ok(text)) = (request.reply, serde_json::to_vec(&answer)) {
                    node.fleet().client().publish(reply, text.into()).await.ok();
                }
            });
        }
    }

    async fn answer(&self, asked: ControlRequest) -> ControlAnswer {
        match asked {
            ControlRequest::Hello => ControlAnswer {
                moved: 0,
                error: None,
            },
            ControlRequest::Drain => self.drain().await,
            ControlRequest::Move { session, to } => self.move_session(&session, to).await,
            ControlRequest::Take { session } => self.take_session(&session).await,
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
        let Some((log, file)) = self.open_session(session).await else {
            return refusal(format!("the session {session} is not open on this node"));
        };
        if to == self.fleet().this_node().name {
            return refusal(format!("the node `{to}` has the session already"));
        }
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
        let state = SessionActivity::HandedOver;
        self.hand_over(&log, file, state, Some(to.clone())).await;
        match self.taken_by(session).await {
            Some(owner) if owner == to => ControlAnswer {
                moved: 1,
                error: None,
            },
            Some(owner) => refusal(format!("the node `{owner}` has taken it instead")),
            None => refusal(format!("the node `{to}` has not taken it yet")),
        }
    }

    async fn take_session(&self, session: &str) -> ControlAnswer {
        let found = match self.fleet().read_record(session).await {
            Ok(found) => found,
            Err(why) => return refusal(why.to_string()),
        };
        let Some(held) = found else {
            return refusal(format!("the fleet has no session {session}"));
        };
        // Whoever owns it and is there keeps it: this is checked when it is claimed.
        match self.take(&held.record).await {
            Ok(()) => ControlAnswer {
                moved: 1,
                error: None,
            },
            Err(why) => refusal(why.to_string()),
        }
    }

    /// A session that is open here, or about to be: who has just taken one has not opened it yet.
    async fn open_session(&self, session: &str) -> Option<(Arc<Log>, PathBuf)> {
        let until = Instant::now() + OPEN_WAIT;
        loop {
            let open = self.shared.store.open_sessions();
            let found = open.into_iter().find(|(log, _)| log.id == session);
            let is_coming = self.shared.store.has(session) || self.taking().contains(session);
            if found.is_some() || !is_coming || Instant::now() > until {
                return found;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Who has a session that was handed over.
    async fn taken_by(&self, session: &str) -> Option<String> {
        let until = Instant::now() + TAKE_WAIT;
        loop {
            let owner = self.fleet().session(session).and_then(|found| found.owner);
            match owner {
                Some(owner) if owner != *self.fleet().this_node() => return Some(owner.name),
                _ if Instant::now() > until => return None,
                _ => tokio::time::sleep(LOOK_EVERY).await,
            }
        }
    }
}

fn refusal(why: String) -> ControlAnswer {
    ControlAnswer {
        moved: 0,
        error: Some(why),
    }
}
