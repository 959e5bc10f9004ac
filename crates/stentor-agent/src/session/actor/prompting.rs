//! Starting, stopping and ending activities.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::FutureExt;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{Activity, Actor, Afterwards, News, Started, answer};
use crate::event::EventKind;
use crate::jobs::JobKind;
use crate::message::{ContentBlock, Message};
use crate::permission::PermissionAnswer;
use crate::session::command::Reply;
use crate::session::error::SessionError;
use crate::session::queues::QueueKind;
use crate::session::state::Interrupted;
use crate::turn::{self, Work};

impl Actor {
    pub(super) async fn prompt(
        &mut self,
        content: Vec<ContentBlock>,
        reply: Reply<Result<Started, SessionError>>,
    ) {
        if let Some(activity) = &self.activity {
            if activity.cancel.is_cancelled() {
                self.afterwards.push(Afterwards::Prompt { content, reply });
            } else {
                answer(reply, Err(SessionError::Busy));
            }
            return;
        }
        let result = self.begin_run(content).await;
        answer(reply, result);
    }

    async fn begin_run(&mut self, content: Vec<ContentBlock>) -> Result<Started, SessionError> {
        if content.is_empty() {
            return Err(SessionError::EmptyMessage);
        }
        match &self.settings.model {
            None => return Err(SessionError::NoModel),
            Some(chosen) => {
                if let Err(error) = &chosen.opened {
                    return Err(error.clone().into());
                }
            }
        }
        self.tell_unheard_bash()?;
        let message = Arc::new(Message::user(content, self.environment.clock.now_ms()));
        let id = self.new_entry_id();
        self.append_message(id, Arc::clone(&message))?;
        let mut messages = vec![message];
        messages.extend(self.deliver(QueueKind::Steering)?);
        self.record.sync().await?;
        let (go, gone) = oneshot::channel();
        self.start(Work::Answer(messages), Some(gone));
        Ok(Started { go })
    }

    /// Starts an activity. With a gate it begins when the gate opens or falls.
    pub(super) fn start(&mut self, work: Work, gate: Option<oneshot::Receiver<()>>) {
        self.signals.interrupted.store(false, Ordering::Release);
        let cancel = CancellationToken::new();
        let cancel_retry = CancellationToken::new();
        let link = self.link(cancel.clone(), cancel_retry.clone());
        self.activity = Some(Activity {
            cancel,
            cancel_retry,
            waiters: Vec::new(),
        });
        let news = self.news.0.clone();
        tokio::spawn(async move {
            if let Some(gate) = gate {
                // Opened or dropped, both mean: begin.
                gate.await.ok();
            }
            let done = AssertUnwindSafe(turn::perform(link, work))
                .catch_unwind()
                .await;
            if done.is_err() {
                // When the session is gone there is nobody left to tell.
                news.send(News::ActivityDied).await.ok();
            }
        });
    }

    pub(super) fn abort(&mut self, reply: Reply<()>) {
        match &mut self.activity {
            Some(activity) => {
                activity.cancel.cancel();
                activity.waiters.push(reply);
                self.answer_all_questions(PermissionAnswer::Cancelled);
            }
            None => answer(reply, ()),
        }
    }

    /// Lets the model call that is going on reach its end and stops the run then. Steering
    /// messages have nothing to steer any more and are given back.
    pub(super) fn interrupt(&mut self) -> Interrupted {
        let running = self.activity.as_ref();
        let Some(activity) = running.filter(|activity| !activity.cancel.is_cancelled()) else {
            return Interrupted::default();
        };
        activity.cancel_retry.cancel();
        let was_pending = self.signals.interrupted.swap(true, Ordering::AcqRel);
        Interrupted {
            accepted: !was_pending,
            pending: true,
            dropped_steering: self.drop_steering(),
        }
    }

    /// The activity would end. Messages that came meanwhile keep it going, if it may go on.
    pub(super) async fn finish(&mut self, go_on: bool, reply: Reply<Vec<Arc<Message>>>) {
        if go_on && self.afterwards.is_empty() && !self.signals.is_interrupted() {
            let queue = if self.waiting.has(QueueKind::Steering) {
                QueueKind::Steering
            } else {
                QueueKind::FollowUp
            };
            if let Ok(waiting) = self.deliver(queue)
                && !waiting.is_empty()
                && self.record.sync().await.is_ok()
            {
                answer(reply, waiting);
                return;
            }
        }
        // The run is told first: what it still holds must be gone when the next one begins.
        answer(reply, Vec::new());
        self.activity_over().await;
    }

    /// Marks the session idle, then tells everybody, then begins what waited for it.
    pub(super) async fn activity_over(&mut self) {
        let Some(activity) = self.activity.take() else {
            return;
        };
        self.signals.interrupted.store(false, Ordering::Release);
        if let Err(error) = self.tell_unheard_bash() {
            tracing::warn!(%error, "a command of the user could not be recorded");
        }
        let aborted = activity.cancel.is_cancelled();
        self.hub.publish(EventKind::Settled { aborted });
        for waiter in activity.waiters {
            answer(waiter, ());
        }
        self.begin_what_waited().await;
    }

    async fn begin_what_waited(&mut self) {
        let mut waited = std::mem::take(&mut self.afterwards).into_iter();
        for next in waited.by_ref() {
            match next {
                Afterwards::Prompt { content, reply } => self.prompt(content, reply).await,
                Afterwards::Compact {
                    instructions,
                    reply,
                } => self.compact(instructions, reply),
            }
            if self.activity.is_some() {
                break;
            }
        }
        // Only one can begin; the others are told what a late caller would be told.
        for late in waited {
            match late {
                Afterwards::Prompt { reply, .. } => answer(reply, Err(SessionError::Busy)),
                Afterwards::Compact { reply, .. } => {
                    answer(reply, Err(SessionError::Busy.to_string()));
                }
            }
        }
    }

    /// Stops everything and makes it last.
    pub(super) async fn wind_down(&mut self) {
        self.jobs.cancel_all(JobKind::Shell);
        self.answer_all_questions(PermissionAnswer::Cancelled);
        self.dialogs.withdraw_all();
        self.afterwards.clear();
        self.commands.close();
        if let Some(activity) = &self.activity {
            activity.cancel.cancel();
        }
        while self.activity.is_some() || self.running_bash > 0 {
            tokio::select! {
                Some(request) = self.requests.1.recv() => self.serve(request).await,
                Some(news) = self.news.1.recv() => self.hear(news).await,
                else => break,
            }
        }
        if let Err(error) = self.record.sync().await {
            tracing::error!(%error, "the session could not be saved");
        }
        self.hub.close();
    }
}
