//! Sessions whose node could not be reached and ran on: a prompt of the client that was under way is
//! answered when its run has ended, not before. What became of it is not known, so the answer is an
//! error.

use std::time::Duration;

use stentor_agent::tasks;
use stentor_wire::acp::method;

use super::{Multiplexer, NodeNumber, ProxyEvent};

/// The node of a prompt that waits for the end of its run.
const WAITING: NodeNumber = NodeNumber::MAX;

/// How often it is looked whether the run goes on.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// The connection to the node of a session broke.
#[derive(Debug, Clone)]
pub(super) struct BrokenConnection {
    pub node: String,
    pub why: String,
}

impl Multiplexer {
    /// Has the prompts wait that a node was sent and did not answer.
    pub(super) fn hold_prompts(&mut self, number: NodeNumber) {
        for request in self.requests.values_mut() {
            let session = request.session.as_deref();
            let open = session.and_then(|session| self.sessions.get(session));
            if request.node == number
                && request.method == method::SESSION_PROMPT
                && open.is_some_and(|open| open.node == number)
            {
                request.node = WAITING;
            }
        }
    }

    /// Refuses the prompts of a session that wait.
    pub(super) fn refuse_waiting(&mut self, session: &str, why: &str) {
        self.refuse_requests(why, |request| {
            request.node == WAITING && request.session.as_deref() == Some(session)
        });
    }

    /// True when the run of a session goes on, as far as is known.
    pub(super) fn runs_on(&self, session: &str, broken: &BrokenConnection) -> bool {
        self.upstreams.runs_at(session, &broken.node)
    }

    /// The client is back in a session whose connection broke.
    pub(super) fn rejoin(&mut self, session: &str, broken: BrokenConnection) {
        if let Some(open) = self.sessions.get_mut(session) {
            open.rejoined = Some(broken);
            self.check_later(session.to_owned());
        }
    }

    /// Answers the prompts of a run that has ended.
    pub(super) fn check_run(&mut self, session: &str) {
        let open = self.sessions.get(session);
        let Some(broken) = open.and_then(|open| open.rejoined.clone()) else {
            return;
        };
        if self.runs_on(session, &broken) {
            return self.check_later(session.to_owned());
        }
        if let Some(open) = self.sessions.get_mut(session) {
            open.rejoined = None;
        }
        self.refuse_waiting(session, &broken.why);
    }

    fn check_later(&self, session: String) {
        let events = self.sender.clone();
        tasks::spawn(async move {
            tokio::time::sleep(CHECK_EVERY).await;
            events.send(ProxyEvent::CheckRun(session)).await.ok();
        });
    }
}
