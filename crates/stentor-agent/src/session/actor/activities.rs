//! What runs in a session, one activity at a time, and what waits for it to be over.

use std::sync::Arc;

use stentor_journal::message::ContentBlock;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::event::{CompactionReason, CompactionResult};
use crate::session::command::Reply;
use crate::session::error::SessionError;
use crate::session::handle::{Accepted, RunId};
use crate::session::options::RunOptions;
use crate::turn::CompactionError;

/// The activity of a session.
#[derive(Default)]
pub(super) struct Activities {
    current: Option<RunningActivity>,
    /// How many there have been.
    count: u64,
    pending: Vec<PendingActivity>,
}

/// Something that is running.
pub(super) struct RunningActivity {
    pub run: RunId,
    pub cancel: CancellationToken,
    pub cancel_retry: Arc<Notify>,
    /// Answered when it is over.
    pub waiters: Vec<Reply<()>>,
}

/// What begins when the activity that is being stopped is over.
pub(super) enum PendingActivity {
    Prompt {
        content: Vec<ContentBlock>,
        options: RunOptions,
        reply: Reply<Result<Accepted, SessionError>>,
    },
    Compact {
        reason: CompactionReason,
        instructions: Option<String>,
        reply: Reply<Result<CompactionResult, CompactionError>>,
    },
    Abort {
        reply: Reply<()>,
    },
}

impl Activities {
    pub fn is_any_running(&self) -> bool {
        self.current.is_some()
    }

    pub fn is_running(&self, run: RunId) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|activity| activity.run == run)
    }

    /// True when the activity was told to stop: it gets nothing more to do.
    pub fn is_stopping(&self) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|activity| activity.cancel.is_cancelled())
    }

    pub fn begin(&mut self) -> &RunningActivity {
        self.count += 1;
        self.current.insert(RunningActivity {
            run: RunId(self.count),
            cancel: CancellationToken::new(),
            cancel_retry: Arc::new(Notify::new()),
            waiters: Vec::new(),
        })
    }

    /// Tells the activity to stop.
    pub fn cancel(&self) {
        if let Some(activity) = &self.current {
            activity.cancel.cancel();
        }
    }

    /// Gives up waiting for a retry.
    pub fn cancel_retry(&self) {
        if let Some(activity) = &self.current {
            activity.cancel_retry.notify_waiters();
        }
    }

    /// Answers when the activity is over; at once when there is none.
    pub fn wait(&mut self, reply: Reply<()>) {
        match &mut self.current {
            Some(activity) => activity.waiters.push(reply),
            None => super::answer(reply, ()),
        }
    }

    /// The activity is over.
    pub fn end(&mut self) -> Option<RunningActivity> {
        self.current.take()
    }

    pub fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    pub fn pend(&mut self, pending: PendingActivity) {
        self.pending.push(pending);
    }

    pub fn take_pending(&mut self) -> Vec<PendingActivity> {
        std::mem::take(&mut self.pending)
    }
}
