//! What the connection hands to the writer: one item per request, its parts in order.

use std::sync::Arc;

use stentor_agent::hub::Subscription;
use stentor_agent::session::Accepted;
use stentor_wire::psi::{Refused, Topic, TopicSet};

use super::error::OpError;
use super::live::Live;
use crate::merge::Placed;

/// The answer to one request, or something that happens by itself: its parts, and its place among
/// the events of a session.
pub(super) type Item = Placed<Vec<Part>>;

/// The id of the request that causes something.
pub(super) type Cause = Option<Arc<str>>;

/// One step of an item.
pub(super) enum Part {
    /// The answer to an accepted request; with it the request is no longer pending.
    Response {
        id: Arc<str>,
        op: String,
        data: Option<Vec<u8>>,
    },
    /// The same, when it went wrong.
    Error {
        id: Arc<str>,
        op: String,
        error: OpError,
    },
    /// An answer to a line that was no acceptable request.
    Refused(Refused),
    /// An event with a payload that is one written form.
    Event {
        topic: Topic,
        /// The session it belongs to, if the focus decides whether it goes out.
        session: Option<Arc<str>>,
        cause: Cause,
        data: Vec<u8>,
    },
    /// `session/updated`, then `footer/updated`.
    Snapshots(Arc<Live>, Cause),
    /// What a request that held the snapshots of this session back changed is in the snapshots behind it.
    SnapshotsHeld(Arc<Live>),
    /// `Snapshots` of the session that is focused when they go out.
    FocusedSnapshots(Cause),
    Footer(Arc<Live>),
    Context(Cause),
    /// `session/resumed`, then `session/rehydrated`.
    Rehydration(Arc<Live>, Cause),
    /// Everything the user interface shows.
    UiSnapshot,
    /// Only the widgets and the statuses.
    UiLists,
    /// The session whose events go out from now on.
    Focus(Arc<Live>),
    Topics(TopicSet),
    /// A session whose events are published from now on.
    Attach(Arc<Live>, Subscription),
    /// One whose events are not published any more.
    Detach(Arc<str>),
    /// The events of the run that begins now are caused by this request.
    RunBegins(Arc<str>, Cause),
    /// The run begins when this is dropped, which is when everything before it is handed over.
    Release(Accepted),
    /// The run of this session stops after the current model call.
    Interrupting(Arc<Live>),
    /// Nothing follows.
    End,
}

impl Part {
    /// What makes the writer publish the events of a session from its beginning on, or from what
    /// goes on in it.
    pub fn attach(live: &Arc<Live>) -> Self {
        Self::Attach(Arc::clone(live), live.session.subscribe_first())
    }
}
