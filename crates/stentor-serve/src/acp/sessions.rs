//! The sessions of a connection, as its reader knows them: whose mailbox is which, and what cancels
//! the prompts that were put into it.
//!
//! Only the reader has this table. A task that has nothing open and nothing in its mailbox reports
//! how many requests it has handled. If these are all it was sent, it is let go; else it goes on.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use stentor_wire::jsonrpc::Id;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::connection::AcpContext;
use super::error::Refusal;
use super::limits;
use super::params::RequestedSession;
use super::request::{RequestKind, SessionMessage, SessionRequest};
use super::session_task::SessionTask;

/// The sessions of a connection.
pub(super) struct AcpSessions {
    context: Arc<AcpContext>,
    known: HashMap<Arc<str>, KnownSession>,
    tasks: JoinSet<()>,
    finished: (mpsc::Sender<FinishedTask>, mpsc::Receiver<FinishedTask>),
}

/// A session that the client has opened, or that something is done with.
#[derive(Default)]
struct KnownSession {
    task: Option<TaskHandle>,
    /// The last request that opens or closes it opens it. A title is set without.
    is_opened: bool,
    /// What it is opened with when the next request names it, if it has no task.
    unloaded: Option<Arc<RequestedSession>>,
}

struct TaskHandle {
    mailbox: mpsc::Sender<SessionMessage>,
    /// How many requests it was sent.
    sent: u64,
    /// What cancels its prompts; those that have been answered are cancelled.
    prompts: Vec<(Id, CancellationToken)>,
}

/// A task has nothing open and nothing to do.
pub(super) struct FinishedTask {
    pub session: Arc<str>,
    pub handled: u64,
    /// What the session is opened with again; `None` when it is closed.
    pub unloaded: Option<Arc<RequestedSession>>,
}

impl TaskHandle {
    fn cancel(&self, only: Option<&Id>) {
        for (id, cancel) in &self.prompts {
            if only.is_none_or(|only| only == id) {
                cancel.cancel();
            }
        }
    }
}

impl AcpSessions {
    pub fn new(context: Arc<AcpContext>) -> Self {
        Self {
            context,
            known: HashMap::new(),
            tasks: JoinSet::new(),
            finished: mpsc::channel(limits::FINISHED_TASKS),
        }
    }

    pub fn contains(&self, id: &str) -> bool {
        self.known.contains_key(id)
    }

    /// Whether a session is in memory, or about to be.
    pub fn is_loaded(&self, id: &str) -> bool {
        let known = self.known.get(id);
        known.is_some_and(|known| known.is_opened && known.task.is_some())
    }

    pub fn ids(&self) -> HashSet<Arc<str>> {
        self.known.keys().cloned().collect()
    }

    /// Puts a request into the mailbox of a session, whose task is started if it has none. Waits
    /// while the mailbox is full: no task waits for the client, so it does not stay full.
    pub async fn send(&mut self, session: &str, request: SessionRequest) {
        let id = request.id.clone();
        let opens = request.kind.opens();
        let (task, is_opened) = self.task(session);
        *is_opened = opens.unwrap_or(*is_opened);
        if let RequestKind::Prompt(prompt, _) = &request.kind {
            let open = |(_, cancel): &(Id, CancellationToken)| !cancel.is_cancelled();
            task.prompts.retain(open);
            task.prompts.push((id.clone(), prompt.cancel.clone()));
        }
        task.sent += 1;
        let message = SessionMessage::Request(Box::new(request));
        if task.mailbox.send(message).await.is_err() {
            // It has panicked.
            self.known.remove(session);
            let refusal = Refusal::internal("The session was closed after an internal error.");
            self.context.answer::<()>(&id, Err(refusal)).await;
        }
    }

    /// Cancels the prompts of a session, in its mailbox or being answered. False when there are
    /// none.
    pub fn cancel(&self, session: &str) -> bool {
        let known = self.known.get(session);
        let Some(task) = known.and_then(|known| known.task.as_ref()) else {
            return false;
        };
        let mut prompts = task.prompts.iter();
        let has_prompts = prompts.any(|(_, cancel)| !cancel.is_cancelled());
        task.cancel(None);
        has_prompts
    }

    /// Stops what runs in a session, whoever began it.
    pub async fn abort(&mut self, session: &str) {
        let known = self.known.get_mut(session);
        if let Some(task) = known.and_then(|known| known.task.as_mut()) {
            task.sent += 1;
            // It may have panicked.
            task.mailbox.send(SessionMessage::Abort).await.ok();
        }
    }

    /// Cancels the prompt of one request.
    pub fn cancel_request(&self, request: &Id) {
        for task in self.known.values().filter_map(|known| known.task.as_ref()) {
            task.cancel(Some(request));
        }
    }

    /// Waits for a task that has nothing to do any more, and lets it go.
    pub async fn let_one_go(&mut self) {
        let Some(finished) = self.finished.1.recv().await else {
            return;
        };
        let known = self.known.get_mut(&finished.session);
        let is_done = |known: &&mut KnownSession| {
            let task = known.task.as_ref();
            task.is_some_and(|task| task.sent == finished.handled)
        };
        if let Some(known) = known.filter(is_done) {
            known.task = None;
            known.is_opened = false;
            known.unloaded = finished.unloaded;
            if known.unloaded.is_none() {
                self.known.remove(&finished.session);
            }
        }
        while self.tasks.try_join_next().is_some() {}
    }

    /// Cancels everything, closes all sessions and waits until they are. In sessions that others
    /// may have to do with, everything goes on.
    pub async fn end(&mut self) {
        for task in self.known.drain().filter_map(|(_, known)| known.task) {
            if !self.context.agent.is_sharing() {
                task.cancel(None);
            }
        }
        while self.tasks.join_next().await.is_some() {}
    }

    /// Its task, which is started if it has none, and whether it is opened.
    fn task(&mut self, session: &str) -> (&mut TaskHandle, &mut bool) {
        let session: Arc<str> = Arc::from(session);
        let known = self.known.entry(Arc::clone(&session)).or_default();
        let wanted = known.unloaded.take();
        let task = known.task.get_or_insert_with(|| {
            let (mailbox, receiver) = mpsc::channel(limits::MAILBOX);
            let context = Arc::clone(&self.context);
            let finished = self.finished.0.clone();
            let task = SessionTask::new(context, session, receiver, finished, wanted);
            self.tasks.spawn(task.run());
            TaskHandle {
                mailbox,
                sent: 0,
                prompts: Vec::new(),
            }
        });
        (task, &mut known.is_opened)
    }
}
