//! Sessions whose node is lost: they are loaded where they are then, and the client goes on with what
//! it has not seen.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use stentor_agent::tasks;
use stentor_wire::acp::method;
use tokio::time::Instant;

use super::broken::BrokenConnection;
use super::envelope;
use super::seen::MissedUpdates;
use super::{Multiplexer, NodeNumber, ProxyEvent, deadline};
use crate::proxy::{NodePlace, Owner, TAKEOVER_WAIT};

/// How long a session may be without a node before it is given up.
pub(super) const RECOVER_WAIT: Duration = Duration::from_secs(60);

/// How often it is looked for meanwhile, if nothing changes before.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How long a node may take to answer what it was asked about a session that has moved.
const LEAVE_WAIT: Duration = Duration::from_secs(5);

/// The node of a request that is to be sent again.
const NOWHERE: NodeNumber = 0;

/// Lines of the client that wait for a session.
const MAX_HELD: usize = 32;

/// How a node is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeLoss {
    /// It has ended the client's connection.
    Ended,
    /// The connection to it broke; it may be there.
    Broke,
    /// There was none yet.
    Unreached,
}

/// A session that is being looked for and loaded.
pub(super) struct Recovery {
    began: Instant,
    /// Where it no longer is.
    left: Option<NodePlace>,
    /// The proxy's request for it, while that is under way.
    request: Option<String>,
    /// The proxy's request to the node that no longer has it, which must be answered before.
    leaving: Option<String>,
    /// It is being looked for.
    is_sought: bool,
    /// It has left the node that is about to answer the request.
    has_moved: bool,
    /// Why it could not be loaded the last time.
    refusal: Option<String>,
    /// It may run on where it was.
    broken: Option<BrokenConnection>,
    /// What its client has not seen, as far as it has been replayed.
    missed: MissedUpdates,
    held: Vec<Bytes>,
}

impl Recovery {
    fn begin() -> Self {
        Self {
            began: Instant::now(),
            left: None,
            request: None,
            leaving: None,
            is_sought: false,
            has_moved: false,
            refusal: None,
            broken: None,
            missed: MissedUpdates::default(),
            held: Vec::new(),
        }
    }

    /// True when its former node need not be left any more.
    fn has_begun(&self) -> bool {
        self.is_sought || self.leaving.is_some()
    }

    /// The connection that broke, for who goes on without this.
    pub fn take_broken(&mut self) -> Option<BrokenConnection> {
        self.broken.take()
    }

    /// Where updates go while the session is replayed.
    pub fn replay(&mut self) -> Option<&mut MissedUpdates> {
        self.request.is_some().then_some(&mut self.missed)
    }

    /// Keeps a line until the session is open again. False when too many wait.
    pub fn hold(&mut self, line: Bytes) -> bool {
        let has_room = self.held.len() < MAX_HELD;
        if has_room {
            self.held.push(line);
        }
        has_room
    }
}

impl Multiplexer {
    /// The recovery that a line must wait for. What opens the session anew need not.
    pub(super) fn recovery_of(&mut self, session: &str, name: &str) -> Option<&mut Recovery> {
        if matches!(name, method::SESSION_LOAD | method::SESSION_RESUME) {
            return None;
        }
        self.sessions.get_mut(session)?.recovery.as_mut()
    }

    /// A node is lost: what it was asked is refused, what it asked is withdrawn, and its sessions are
    /// looked for elsewhere.
    pub(super) fn lose(&mut self, number: NodeNumber, loss: NodeLoss) {
        let Some(node) = self.nodes.remove(&number) else {
            return;
        };
        let (why, broken) = match (node.place, loss) {
            (NodePlace::Home, _) => ("the session is no longer here".to_owned(), None),
            (NodePlace::Node(name), NodeLoss::Ended) => {
                (format!("the node {name} no longer has the session"), None)
            }
            (NodePlace::Node(name), NodeLoss::Unreached) => {
                (format!("the node {name} cannot be reached"), None)
            }
            (NodePlace::Node(node), NodeLoss::Broke) => {
                let why = format!("the connection to the node {node} broke");
                self.hold_prompts(number);
                (why.clone(), Some(BrokenConnection { node, why }))
            }
        };
        self.refuse_requests(&why, |request| request.node == number);
        for asked in node.asked.into_values() {
            self.asked.remove(&asked);
            envelope::withdraw(&mut self.to_client, asked);
        }
        let sessions: Vec<String> = self
            .sessions
            .iter()
            .filter(|(_, open)| open.node == number)
            .map(|(id, _)| id.clone())
            .collect();
        for session in sessions {
            self.begin_recovery(session, broken.clone());
        }
    }

    /// A session is no longer on its node, which goes on with others.
    pub(super) fn session_moved(&mut self, number: NodeNumber, session: &str) {
        let left = self.nodes.get(&number).map(|node| node.place.clone());
        let open = self.sessions.get_mut(session);
        let Some(open) = open.filter(|open| open.node == number) else {
            return;
        };
        if let Some(recovery) = &mut open.recovery {
            recovery.has_moved |= recovery.request.is_some();
            return;
        }
        open.recovery = Some(Recovery {
            left,
            ..Recovery::begin()
        });
        let (name, events) = (session.to_owned(), self.sender.clone());
        tasks::spawn(async move {
            tokio::time::sleep(LEAVE_WAIT).await;
            events.send(ProxyEvent::Leave(name)).await.ok();
        });
        self.leave_when_answered(session);
    }

    /// Leaves a session that has moved when its node has answered what it was asked.
    pub(super) fn leave_when_answered(&mut self, session: &str) {
        let mut requests = self.requests.values();
        if !requests.any(|request| request.session.as_deref() == Some(session)) {
            self.leave(session);
        }
    }

    /// Leaves a session that has moved.
    pub(super) fn leave(&mut self, session: &str) {
        let open = self.sessions.get(session);
        let recovery = open.and_then(|open| open.recovery.as_ref());
        if recovery.is_none_or(|recovery| recovery.has_begun()) {
            return;
        }
        let id = self.own_id();
        let params = serde_json::json!({ "sessionId": session }).to_string();
        let close = envelope::request(&id, method::SESSION_CLOSE, &params);
        if let Some(open) = self.sessions.get_mut(session)
            && let Some(recovery) = &mut open.recovery
        {
            recovery.leaving = Some(id);
            let number = open.node;
            self.send(number, close.into());
        }
    }

    /// A node has closed a session that it no longer has.
    fn has_left(&mut self, session: String) {
        let why = "the session goes on elsewhere";
        self.refuse_requests(why, |request| request.session.as_deref() == Some(&*session));
        self.begin_recovery(session, None);
    }

    /// A node could not be reached: its lines go where their sessions are by now.
    pub(super) async fn unreached(&mut self, number: NodeNumber, lines: Vec<Bytes>) {
        let now = Instant::now();
        for line in lines {
            let envelope = envelope::LineEnvelope::read(&line);
            let id = envelope.and_then(|envelope| envelope.id);
            let Some(id) = id.map(RawValue::get) else {
                continue;
            };
            let Some(request) = self.requests.get_mut(id) else {
                continue;
            };
            if request.method == method::SESSION_NEW {
                self.has_no_capacity(number, &line).await;
                continue;
            }
            // What is too late is refused with the rest that was asked of the node.
            if now < request.deadline {
                request.node = NOWHERE;
                let as_given = request.params.as_deref();
                let as_given =
                    as_given.map(|given| envelope::request(id, &request.method, given.get()));
                let line = as_given.map_or(line.clone(), Bytes::from);
                let events = self.sender.clone();
                tasks::spawn(async move {
                    tokio::time::sleep(LOOK_EVERY).await;
                    events.send(ProxyEvent::Again(line)).await.ok();
                });
            }
        }
        self.lose(number, NodeLoss::Unreached);
    }

    pub(super) fn refuse_requests(
        &mut self,
        why: &str,
        is_lost: impl Fn(&super::ProxiedRequest) -> bool,
    ) {
        let lost = self.requests.extract_if(|_, request| is_lost(request));
        for (id, _) in lost {
            envelope::refuse(&mut self.to_client, &id, why);
        }
    }

    fn begin_recovery(&mut self, session: String, broken: Option<BrokenConnection>) {
        if let Some(open) = self.sessions.get_mut(&session) {
            let rejoined = open.rejoined.take();
            let recovery = open.recovery.get_or_insert_with(Recovery::begin);
            let before = recovery.broken.take();
            recovery.broken = broken.or(before).or(rejoined);
            (recovery.request, recovery.leaving) = (None, None);
            recovery.is_sought = true;
            self.look_later(session);
        }
    }

    /// Looks for a session that has lost its node, and loads it there.
    pub(super) async fn look_for(&mut self, session: String) {
        let Some(open) = self.sessions.get(&session) else {
            return;
        };
        let Some(recovery) = &open.recovery else {
            return;
        };
        let waited = recovery.began.elapsed();
        if waited >= RECOVER_WAIT {
            return self.give_up(&session);
        }
        if !self.upstreams.is_connected() {
            // Nothing is known of others.
            return self.look_later(session);
        }
        let left = recovery.left.clone().filter(|_| waited < TAKEOVER_WAIT);
        let broken = recovery.broken.clone();
        if let Some(broken) = broken.filter(|broken| !self.runs_on(&session, broken)) {
            self.refuse_waiting(&session, &broken.why);
            let open = self.sessions.get_mut(&session);
            if let Some(recovery) = open.and_then(|open| open.recovery.as_mut()) {
                recovery.broken = None;
            }
        }
        let located = self.upstreams.locate(&session).await;
        let place = match located.map(|located| located.owner) {
            Some(Owner::Node(node)) => NodePlace::Node(node),
            Some(Owner::Moving) if waited < TAKEOVER_WAIT => return self.look_later(session),
            Some(Owner::Here | Owner::Nobody | Owner::Moving) | None => NodePlace::Home,
        };
        if left.as_ref() == Some(&place) {
            // Another node is to take it first.
            return self.look_later(session);
        }
        let number = self.node_at(&place);
        let id = self.own_id();
        let Some(open) = self.sessions.get_mut(&session) else {
            return;
        };
        open.node = number;
        let mut params = load_params(&open.params, &session);
        if let Some(recovery) = &mut open.recovery {
            recovery.request = Some(id.clone());
            recovery.has_moved = false;
            recovery.missed = MissedUpdates::default();
        }
        if let Cow::Owned(there) = self.params_at(&place, &params).await {
            params = there;
        }
        let line = envelope::request(&id, method::SESSION_LOAD, &params);
        self.send(number, line.into());
    }

    /// A node has answered the proxy, or refused what that asked.
    pub(super) fn own_answer(&mut self, id: &str, refusal: Option<String>) {
        let answered = self.sessions.iter().find_map(|(session, open)| {
            let recovery = open.recovery.as_ref()?;
            let has_left = recovery.leaving.as_deref() == Some(id);
            let is_it = has_left || recovery.request.as_deref() == Some(id);
            is_it.then(|| (session.clone(), has_left))
        });
        // It may have been `initialize`.
        let Some((session, has_left)) = answered else {
            return;
        };
        if has_left {
            return self.has_left(session);
        }
        let Some(open) = self.sessions.get_mut(&session) else {
            return;
        };
        if refusal.is_some() {
            if let Some(recovery) = &mut open.recovery {
                recovery.refusal = refusal;
            }
            return self.look_later(session);
        }
        let number = open.node;
        if let Some(mut recovery) = open.recovery.take() {
            let missed = &recovery.missed;
            missed.append_to(&mut open.seen, &mut self.to_client);
            if let Some(broken) = recovery.take_broken() {
                self.rejoin(&session, broken);
            }
            match recovery.has_moved {
                true => self.moved_again(number, &session, recovery),
                false => self.send_held(number, recovery),
            }
        }
    }

    /// A session was loaded where it no longer is: what waits for it waits on.
    fn moved_again(&mut self, number: NodeNumber, session: &str, before: Recovery) {
        self.session_moved(number, session);
        let open = self.sessions.get_mut(session);
        if let Some(recovery) = open.and_then(|open| open.recovery.as_mut()) {
            recovery.held = before.held;
        }
    }

    /// Sends the lines that waited for a session.
    pub(super) fn send_held(&mut self, number: NodeNumber, recovery: Recovery) {
        for line in recovery.held {
            self.note_held(number, &line);
            self.send(number, line);
        }
    }

    /// A line that waited counts among the client's requests from now on.
    fn note_held(&mut self, number: NodeNumber, line: &Bytes) {
        if let Some(envelope) = envelope::LineEnvelope::read(line)
            && let (Some(id), Some(name)) = (envelope.id, envelope.method)
        {
            let request = super::ProxiedRequest {
                node: number,
                method: name.into_owned(),
                session: envelope::session_in(envelope.params),
                params: None,
                deadline: deadline(),
                full: Vec::new(),
            };
            self.requests.insert(id.get().to_owned(), request);
        }
    }

    fn look_later(&self, session: String) {
        let (upstreams, events) = (self.upstreams.clone(), self.sender.clone());
        tasks::spawn(async move {
            tokio::select! {
                () = upstreams.changed() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            events.send(ProxyEvent::LookFor(session)).await.ok();
        });
    }

    fn give_up(&mut self, session: &str) {
        let open = self.sessions.remove(session);
        let recovery = open.and_then(|open| open.recovery);
        let (held, refusal) = recovery.map(|it| (it.held, it.refusal)).unwrap_or_default();
        let why = refusal.as_deref().unwrap_or("no node has the session");
        self.refuse_waiting(session, why);
        for line in held {
            let envelope = envelope::LineEnvelope::read(&line);
            if let Some(id) = envelope.and_then(|envelope| envelope.id) {
                envelope::refuse(&mut self.to_client, id.get(), why);
            }
        }
    }
}

/// The parameters with which a session is loaded: those it was opened with, and its id.
fn load_params(opened_with: &RawValue, session: &str) -> String {
    let params: Option<Map<String, Value>> = serde_json::from_str(opened_with.get()).ok();
    let mut params = params.unwrap_or_default();
    params.insert("sessionId".to_owned(), Value::from(session));
    Value::Object(params).to_string()
}
