//! What the connection hands to the writer: one item per request, its parts in order.

use std::sync::Arc;

use stentor_agent::hub::Subscription;
use stentor_agent::session::Accepted;
use stentor_wire::psi::{Refused, Topic, TopicSet};

use super::error::OpError;
use super::live::PsiSession;
use crate::merge::PlacedAnswer;

/// The answer to one request, or something that happens by itself: its parts, and its place among
/// the events of a session.
pub(super) type PsiItem = PlacedAnswer<Vec<ItemPart>>;

/// The id of the request that causes something.
pub(super) type CausingRequest = Option<Arc<str>>;

/// One step of an item.
pub(super) enum ItemPart {
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
        cause: CausingRequest,
        data: Vec<u8>,
    },
    /// `session/updated`, then `footer/updated`.
    Snapshots(Arc<PsiSession>, CausingRequest),
    /// What a request that held the snapshots of this session back changed is in the snapshots behind it.
    SnapshotsHeld(Arc<PsiSession>),
    /// `Snapshots` of the session that is focused when they go out.
    FocusedSnapshots(CausingRequest),
    Footer(Arc<PsiSession>),
    Context(CausingRequest),
    /// `session/resumed`, then `session/rehydrated`.
    Rehydration(Arc<PsiSession>, CausingRequest),
    /// Everything the user interface shows.
    UiSnapshot,
    /// Only the widgets and the statuses.
    UiLists,
    /// The session whose events go out from now on.
    Focus(Arc<PsiSession>),
    Topics(TopicSet),
    /// A session whose events are published from now on.
    Attach(Arc<PsiSession>, Subscription),
    /// One whose events are not published any more.
    Detach(Arc<str>),
    /// The events of the run that begins now are caused by this request.
    RunBegins(Arc<str>, CausingRequest),
    /// The run begins when this is dropped, which is when everything before it is handed over.
    Release(Accepted),
    /// The run of this session stops after the current model call.
    Interrupting(Arc<PsiSession>),
    /// Nothing follows.
    End,
}

impl ItemPart {
    /// What makes the writer publish the events of a session from its beginning on, or from what
    /// goes on in it.
    pub fn attach(live: &Arc<PsiSession>) -> Self {
        Self::Attach(Arc::clone(live), live.session.subscribe_first())
    }

    /// An event that no focus holds back.
    pub fn event(topic: Topic, data: Vec<u8>, cause: &CausingRequest) -> Self {
        Self::Event {
            topic,
            session: None,
            cause: cause.clone(),
            data,
        }
    }

    /// What begins a run that was accepted, behind its answer.
    pub fn run(live: &PsiSession, cause: CausingRequest, accepted: Accepted) -> Vec<Self> {
        let begins = Self::RunBegins(Arc::clone(&live.id), cause);
        vec![begins, Self::Release(accepted)]
    }
}
