//! What the connection hands to the writer: one item per request, its parts in order.

use std::sync::Arc;

use stentor_agent::hub::Subscription;
use stentor_agent::session::Accepted;
use stentor_wire::psi::{ErrorCode, Refused, Topic, TopicSet};

use super::live::Live;

/// The answer to one request, or something that happens by itself.
///
/// It is written after all events up to the number that was the newest when it was made, and
/// before later ones: what an operation caused comes before its answer, what it started after it.
pub(super) struct Item {
    pub after: Option<After>,
    pub parts: Vec<Part>,
}

/// A place among the events of a session.
pub(super) struct After {
    pub session: Arc<str>,
    pub seq: u64,
}

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
    Snapshots {
        live: Arc<Live>,
        cause: Cause,
    },
    /// What a request that held the snapshots of this session back changed has been told.
    SnapshotsHeld(Arc<Live>),
    /// `Snapshots` of the session that is focused when they go out.
    FocusedSnapshots {
        cause: Cause,
    },
    Footer {
        live: Arc<Live>,
        cause: Cause,
    },
    Context {
        cause: Cause,
    },
    /// `session/resumed`, then `session/rehydrated`.
    Rehydration {
        live: Arc<Live>,
        cause: Cause,
    },
    /// Everything the user interface shows.
    UiSnapshot,
    /// Only the widgets and the statuses.
    UiLists,
    /// The session whose events go out from now on.
    Focus(Arc<Live>),
    Topics(TopicSet),
    /// A session whose events are to be told from now on.
    Attach {
        live: Arc<Live>,
        events: Subscription,
    },
    /// One whose events are not told any more.
    Detach(Arc<Live>),
    /// The events of the run that begins now are caused by this request.
    RunBegins {
        session: Arc<str>,
        cause: Cause,
    },
    /// The run begins when this is dropped, which is when everything before it is handed over.
    Release(Accepted),
    /// The run of this session stops after the current model call.
    Interrupting(Arc<Live>),
    /// Nothing follows.
    End,
}

impl Part {
    /// What makes the writer tell the events of a session from its beginning on.
    pub fn attach(live: &Arc<Live>) -> Self {
        let events = live
            .session
            .subscribe_since(0)
            .unwrap_or_else(|_| live.session.subscribe());
        Self::Attach {
            live: Arc::clone(live),
            events,
        }
    }
}

/// Why an operation was not done.
#[derive(Debug)]
pub(super) struct OpError {
    pub code: ErrorCode,
    pub message: String,
    /// One written form.
    pub data: Option<Vec<u8>>,
}

impl OpError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The parameters are wrong.
    pub fn params(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidParams, message)
    }
}
