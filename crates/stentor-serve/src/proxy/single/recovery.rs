//! A client whose upstream is gone: it goes on where its session is then. What its dialect is told
//! depends on why: a session that has moved, or whose node is gone, runs no longer; one whose node only
//! could not be reached runs on, and is joined again.

use std::time::Duration;

use stentor_wire::attach::AttachRefusal;
use tokio::time::Instant;

use super::{CurrentUpstream, FAILED, Proxy, STOPPED, SingleProxyEnd, failed};
use crate::proxy::{FirstSession, GoesOn, NodePlace, TAKEOVER_WAIT, UpstreamStart};

/// How long a session may be without a node before its clients are given up.
const RECOVER_WAIT: Duration = Duration::from_secs(60);

/// How often it is looked for meanwhile, if nothing changes before.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How long the fleet may not know a session before it is taken for one in which nothing was said, and
/// which is gone with its node.
const UNKNOWN_WAIT: Duration = Duration::from_secs(3);

/// How often it is looked whether a run that was joined again goes on: its end may have come before the
/// client was back.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// A run that a client has joined again.
pub(super) struct RejoinedRun {
    node: String,
    session: String,
    /// Why it had to.
    why: String,
    next_look: Instant,
}

/// What a client that has lost its upstream knows of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ToldOfLoss {
    Nothing,
    /// What it asked is not answered, and its run goes on.
    Interrupted,
    /// What ran is over.
    Lost,
}

/// Waits until it is to be looked whether a run goes on.
pub(super) async fn look_at(rejoined: Option<&RejoinedRun>) {
    if let Some(rejoined) = rejoined {
        tokio::time::sleep_until(rejoined.next_look).await;
    }
}

impl Proxy {
    /// A session is no longer where it was.
    pub(super) async fn moved(&mut self, session: &str) -> Result<(), SingleProxyEnd> {
        if self.current.session.as_deref() != Some(session) || self.input_ended {
            return Ok(());
        }
        self.drain().await?;
        self.recover(true).await
    }

    /// Nothing more comes, without an end.
    pub(super) async fn broken(&mut self) -> Result<(), SingleProxyEnd> {
        match self.current.place {
            NodePlace::Home => Err(SingleProxyEnd::Refused(failed(
                "internal error of the server",
            ))),
            NodePlace::Node(_) if self.input_ended => Err(SingleProxyEnd::Ended(0)),
            NodePlace::Node(_) => self.recover(false).await,
        }
    }

    /// Goes on where the session is now. Until then the client is not read. A node from which the
    /// session `has_moved` is not asked for it again before another one should have taken it.
    pub(super) async fn recover(&mut self, has_moved: bool) -> Result<(), SingleProxyEnd> {
        let reason = match &self.current.place {
            NodePlace::Home => "this node no longer has the session".to_owned(),
            NodePlace::Node(node) if has_moved => {
                format!("the node {node} no longer has the session")
            }
            NodePlace::Node(node) => format!("the connection to the node {node} broke"),
        };
        let mut why = reason.clone();
        let session = self.current.session.take();
        let left = self.current.place.clone();
        let began = Instant::now();
        let mut told = ToldOfLoss::Nothing;
        self.rejoined = None;
        // It was begun there, and is answered with what else was.
        self.to_upstream.clear();
        while began.elapsed() < RECOVER_WAIT {
            let now = match has_moved {
                true => ToldOfLoss::Lost,
                false => self.known_of(&left, session.as_deref()),
            };
            self.tell(&mut told, now, &reason);
            self.flush().await?;
            // While this node is cut off itself, nothing is known of others.
            if now != ToldOfLoss::Nothing {
                let left = Some(&left).filter(|_| has_moved && began.elapsed() < TAKEOVER_WAIT);
                match self.reopened(session.as_deref(), left, began).await {
                    Ok((next, before)) => {
                        self.rejoin(told, &next, session, reason);
                        self.current = next;
                        self.to_client.extend_from_slice(&before);
                        return Ok(());
                    }
                    Err(refused) => why = refused.message,
                }
            }
            tokio::select! {
                () = self.upstreams.changed() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = self.upstreams.end.cancelled() => return Err(SingleProxyEnd::Ended(STOPPED)),
            }
        }
        self.tell(&mut told, ToldOfLoss::Lost, &reason);
        self.dialect.give_up(&why, &mut self.to_client);
        self.flush().await?;
        Err(SingleProxyEnd::Ended(FAILED))
    }

    /// What is to be said of the session that was on the node which is left.
    fn known_of(&self, left: &NodePlace, session: Option<&str>) -> ToldOfLoss {
        let runs_on = match (left, session) {
            (NodePlace::Node(node), Some(session)) => self.upstreams.runs_at(session, node),
            (NodePlace::Home, _) | (_, None) => false,
        };
        match (self.upstreams.is_connected(), runs_on) {
            (false, _) => ToldOfLoss::Nothing,
            (true, true) => ToldOfLoss::Interrupted,
            (true, false) => ToldOfLoss::Lost,
        }
    }

    /// Tells the client what it has not been told.
    fn tell(&mut self, told: &mut ToldOfLoss, now: ToldOfLoss, why: &str) {
        match (*told, now) {
            (ToldOfLoss::Nothing, ToldOfLoss::Lost) => {
                self.dialect.lost(why, &mut self.to_client);
            }
            (ToldOfLoss::Nothing, ToldOfLoss::Interrupted) => {
                self.dialect.interrupted(why, &mut self.to_client);
            }
            (ToldOfLoss::Interrupted, ToldOfLoss::Lost) => {
                self.dialect.end_run(why, &mut self.to_client);
            }
            (ToldOfLoss::Nothing, ToldOfLoss::Nothing)
            | (ToldOfLoss::Interrupted, ToldOfLoss::Nothing | ToldOfLoss::Interrupted)
            | (ToldOfLoss::Lost, _) => return,
        }
        *told = now;
    }

    /// Notes a run that the client has joined again.
    fn rejoin(
        &mut self,
        told: ToldOfLoss,
        next: &CurrentUpstream,
        session: Option<String>,
        why: String,
    ) {
        if let (ToldOfLoss::Interrupted, NodePlace::Node(node), Some(session)) =
            (told, &next.place, session)
        {
            self.rejoined = Some(RejoinedRun {
                node: node.clone(),
                session,
                why,
                next_look: Instant::now() + CHECK_EVERY,
            });
        }
    }

    /// Ends a run that has ended before the client had joined it again.
    pub(super) fn check_run(&mut self) {
        let Some(mut rejoined) = self.rejoined.take() else {
            return;
        };
        let is_in = self.current.session.as_ref() == Some(&rejoined.session);
        if is_in && self.upstreams.runs_at(&rejoined.session, &rejoined.node) {
            rejoined.next_look = Instant::now() + CHECK_EVERY;
            self.rejoined = Some(rejoined);
        } else if is_in {
            self.dialect.end_run(&rejoined.why, &mut self.to_client);
        }
    }

    async fn reopened(
        &mut self,
        session: Option<&str>,
        left: Option<&NodePlace>,
        began: Instant,
    ) -> Result<(CurrentUpstream, Vec<u8>), AttachRefusal> {
        let Some(session) = session else {
            if self.dialect.begins_with_session() && !self.upstreams.observes() {
                return self.begun_anew().await;
            }
            let UpstreamStart { flags, first } = self.dialect.arrival(self.upstreams.flags(), None);
            let goes_on = GoesOn::ByItself;
            return self.prepared(NodePlace::Home, flags, first, goes_on).await;
        };
        let is_known = self.upstreams.locate(session).await.is_some();
        let place = self.upstreams.place_of(session, &NodePlace::Home).await;
        if left == Some(&place) {
            return Err(failed("no other node has taken the session"));
        }
        let flags = self.dialect.flags_in(self.upstreams.flags(), session);
        let first = FirstSession::AsFlagged;
        let goes_on = GoesOn::With(session);
        match self.prepared(place, flags, first, goes_on).await {
            Err(_) if !is_known && began.elapsed() > UNKNOWN_WAIT => self.begun_anew().await,
            reopened => reopened,
        }
    }

    /// An upstream with a new session, for a client whose session is gone with nothing in it.
    async fn begun_anew(&mut self) -> Result<(CurrentUpstream, Vec<u8>), AttachRefusal> {
        let UpstreamStart { flags, .. } = self.dialect.arrival(self.upstreams.flags(), None);
        let mut refused = failed("no node has capacity");
        let folder = self.upstreams.folder();
        let places = self.upstreams.places_for(folder, &NodePlace::Home);
        for place in places.await {
            let first = FirstSession::New;
            let prepared = self.prepared(place, flags.clone(), first, GoesOn::WithNew);
            match prepared.await {
                Ok(prepared) => return Ok(prepared),
                Err(why) => refused = why,
            }
        }
        Err(refused)
    }
}
