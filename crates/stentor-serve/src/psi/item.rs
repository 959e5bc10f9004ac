//! What the connection hands to the writer: one item per request, its parts in order.

use std::sync::Arc;

use stentor_agent::hub::Subscription;
use stentor_agent::session::Accepted;
use stentor_wire::psi::{Topic, TopicSet};

use super::live::PsiSession;
use crate::merge::PlacedAnswer;

/// The answer to one request, or something that happens by itself, and its place among the events
/// of a session.
pub(super) type PsiItem = PlacedAnswer<ItemParts>;

/// What is written together.
pub(super) struct ItemParts {
    /// The request that causes the events among them.
    pub cause: CausingRequest,
    pub parts: Vec<ItemPart>,
}

/// The id of the request that causes something.
pub(super) type CausingRequest = Option<Arc<str>>;

/// One step of an item.
pub(super) enum ItemPart {
    /// A frame that is an answer. With the one to an accepted request, which has this id, the request
    /// is no longer pending.
    Answer(Option<Arc<str>>, Vec<u8>),
    /// An event with a payload that is one written form.
    Event {
        topic: Topic,
        /// The session it belongs to, if the focus decides whether it goes out.
        session: Option<Arc<str>>,
        data: Vec<u8>,
    },
    /// `session/updated`, then `footer/updated`.
    Snapshots(Arc<PsiSession>),
    /// What a request that held the snapshots of this session back changed is in the snapshots behind it.
    SnapshotsHeld(Arc<PsiSession>),
    /// `Snapshots` of the session that is focused when they go out.
    FocusedSnapshots,
    /// `footer/updated`, which no request causes.
    Footer(Arc<PsiSession>),
    Context,
    /// `session/resumed`, then `session/rehydrated`.
    Rehydration(Arc<PsiSession>),
    /// Everything the user interface shows.
    UiSnapshot,
    /// What the client wipes when it sees the answer to a navigation, and so must be written again
    /// (section 18.4). No request causes it.
    Wiped,
    /// The session whose events go out from now on.
    Focus(Arc<PsiSession>),
    Topics(TopicSet),
    /// A session whose events are published from now on.
    Attach(Arc<PsiSession>, Subscription),
    /// One whose events are not published any more.
    Detach(Arc<str>),
    /// The events of the run of this session that begins now have the cause of the item.
    RunBegins(Arc<str>),
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
    pub fn event(topic: Topic, data: Vec<u8>) -> Self {
        let session = None;
        Self::Event {
            topic,
            session,
            data,
        }
    }

    /// What begins a run that was accepted, behind its answer.
    pub fn run(live: &PsiSession, accepted: Accepted) -> Vec<Self> {
        let begins = Self::RunBegins(Arc::clone(&live.id));
        vec![begins, Self::Release(accepted)]
    }
}
