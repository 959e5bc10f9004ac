//! Starting, stopping and ending activities.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::FutureExt;
use stentor_journal::message::{ContentBlock, Message};
use stentor_journal::store::{EntryKind, StoreError};
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use super::{Activity, Actor, Afterwards, News, Started, answer};
use crate::event::{CompactionReason, EventKind};
use crate::jobs::JobKind;
use crate::session::command::Reply;
use crate::session::error::SessionError;
use crate::session::options::RunOptions;
use crate::session::queues::QueueKind;
use crate::session::state::Interrupted;
use crate::turn::{self, AfterRun, RunStart, Work};

impl Actor {
    pub(super) async fn prompt(
        &mut self,
        content: Vec<ContentBlock>,
        options: RunOptions,
        reply: Reply<Result<Started, SessionError>>,
    ) {
        if let Some(activity) = &self.activity {
            // Who heard that a run has ended may speak at once.
            let over = self.signals.winding_up.load(Ordering::Acquire);
            if over || activity.cancel.is_cancelled() {
                self.afterwards.push(Afterwards::Prompt {
                    content,
                    options,
                    reply,
                });
            } else {
                answer(reply, Err(SessionError::Busy));
            }
            return;
        }
        self.set_for_run(options);
        let result = self.begin_run(content).await;
        if result.is_err() {
            self.set_for_run(RunOptions::default());
        }
        answer(reply, result);
    }

    async fn begin_run(&mut self, content: Vec<ContentBlock>) -> Result<Started, SessionError> {
        if content.is_empty() {
            return Err(SessionError::EmptyMessage);
        }
        self.return_from_fallback();
        self.must_have_model()?;
        self.tell_unheard_bash()?;
        let message = Arc::new(Message::user(content, self.environment.clock.now_ms()));
        let before = self.leaf.clone();
        let id = self.new_entry_id();
        self.append_message(id.clone(), Arc::clone(&message))?;
        if let Err(error) = self.record.sync().await {
            self.take_back(id, before);
            return Err(error.into());
        }
        let mut messages = vec![message];
        messages.extend(self.deliver_all(QueueKind::NextTurn));
        let (go, gone) = oneshot::channel();
        let after = self.hub.seq();
        let run = self.start(Work::Answer(messages), Some(gone));
        Ok(Started { go, run, after })
    }

    /// A message was refused, so it was never said: what comes next goes on from before it. The
    /// note of that is what a resumed session goes on from, too.
    fn take_back(&mut self, id: String, before: Option<String>) {
        self.conversation.forget(&id);
        self.leaf = before;
        let kind = EntryKind::ContextEdit {
            target_id: id,
            replacement: None,
        };
        if let Err(error) = self.append(kind, true) {
            tracing::warn!(%error, "a refused message will be there when the session is resumed");
        }
    }

    /// Why nothing can be answered, if that is so.
    pub(super) fn must_have_model(&self) -> Result<(), SessionError> {
        match self.model_of_now() {
            None => Err(SessionError::NoModel),
            Some(chosen) => match &chosen.opened {
                Ok(_) => Ok(()),
                Err(error) => Err(error.clone().into()),
            },
        }
    }

    /// Starts an activity and gives its number. With a gate it begins when the gate opens or falls.
    pub(super) fn start(&mut self, work: Work, gate: Option<oneshot::Receiver<()>>) -> u64 {
        self.activities += 1;
        let number = self.activities;
        self.signals.interrupted.store(false, Ordering::Release);
        // The end of the activity before is no end of this one.
        self.signals.winding_up.store(false, Ordering::Release);
        let cancel = CancellationToken::new();
        let cancel_retry = Arc::new(Notify::new());
        let link = self.link(cancel.clone(), Arc::clone(&cancel_retry));
        self.activity = Some(Activity {
            number,
            cancel,
            cancel_retry,
            waiters: Vec::new(),
        });
        let news = self.news.0.clone();
        let stopped = link.cancel.clone();
        tokio::spawn(async move {
            if let Some(gate) = gate {
                // Opened or dropped, both mean: begin. Who holds the gate may be the one that
                // waits for the abort, so an abort does not wait for the gate.
                tokio::select! {
                    _ = gate => {}
                    () = stopped.cancelled() => {}
                }
            }
            let done = AssertUnwindSafe(turn::perform(link, work))
                .catch_unwind()
                .await;
            if done.is_err() {
                // When the session is gone there is nobody left to tell.
                news.send(News::ActivityDied).await.ok();
            }
        });
        number
    }

    /// Stops one activity, and no other that has begun meanwhile.
    pub(super) fn abort_run(&mut self, run: u64, reply: Reply<()>) {
        match &self.activity {
            Some(activity) if activity.number == run => self.stop_activity(reply),
            _ => answer(reply, ()),
        }
    }

    pub(super) fn abort(&mut self, reply: Reply<()>) {
        if !self.afterwards.is_empty() {
            // What waits was asked for before this abort, so it is what this abort stops.
            self.afterwards.push(Afterwards::Abort { reply });
            return;
        }
        self.stop_activity(reply);
    }

    fn stop_activity(&mut self, reply: Reply<()>) {
        self.cancel_questions();
        match &mut self.activity {
            Some(activity) => {
                activity.cancel.cancel();
                activity.waiters.push(reply);
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
        activity.cancel_retry.notify_waiters();
        let was_pending = self.signals.interrupted.swap(true, Ordering::AcqRel);
        Interrupted {
            accepted: !was_pending,
            pending: true,
            dropped_steering: self.drop_steering(),
        }
    }

    /// A run begins, unless the context must be compacted first.
    pub(super) fn run_begins(
        &mut self,
        may_compact: bool,
        take_steering: bool,
        reply: Reply<Result<RunStart, StoreError>>,
    ) {
        if may_compact
            && let Some(plan) = self
                .plan_compaction(CompactionReason::Threshold)
                .transpose()
        {
            return answer(reply, Ok(RunStart::CompactFirst(plan)));
        }
        self.signals.winding_up.store(false, Ordering::Release);
        self.signals.in_run.store(true, Ordering::Release);
        self.hub.publish(EventKind::RunStarted);
        if !take_steering {
            return answer(reply, Ok(RunStart::Begun(Vec::new())));
        }
        let taken = self.deliver_to_run(false);
        let lasts = taken.as_ref().is_ok_and(Vec::is_empty);
        let started = taken.map(RunStart::Begun);
        if lasts {
            answer(reply, started);
        } else {
            self.answer_when_lasting_one(reply, started);
        }
    }

    /// The activity would end. A compaction that is due and messages that came meanwhile keep it
    /// going, if it may go on.
    pub(super) async fn finish(&mut self, may_compact: bool, go_on: bool, reply: Reply<AfterRun>) {
        // The abort may have come after the run looked: the queues must survive it.
        let may_go_on = !self.is_stopping() && !self.signals.is_interrupted();
        if may_compact
            && may_go_on
            && let Some(plan) = self
                .plan_compaction(CompactionReason::Threshold)
                .transpose()
        {
            return answer(reply, AfterRun::Compact(plan));
        }
        if go_on && may_go_on {
            let queue = if self.waiting.has(QueueKind::Steering) {
                QueueKind::Steering
            } else {
                QueueKind::FollowUp
            };
            match self.deliver(queue) {
                Ok(waiting) if waiting.is_empty() => {}
                Ok(waiting) => {
                    // They are in the conversation now, so the run goes on with them even when
                    // the disk fails here: the run's next message meets the failure and tells it.
                    if let Err(error) = self.record.sync().await {
                        tracing::warn!(%error, "queued messages may not survive a power cut");
                    }
                    answer(reply, AfterRun::GoOn(waiting));
                    return;
                }
                Err(error) => tracing::warn!(%error, "queued messages could not be delivered"),
            }
        }
        // The run is told first: what it still holds must be gone when the next one begins.
        answer(reply, AfterRun::Idle);
        self.activity_over().await;
    }

    /// Marks the session idle, then tells everybody, then begins what waited for it.
    pub(super) async fn activity_over(&mut self) {
        let Some(activity) = self.activity.take() else {
            return;
        };
        self.signals.interrupted.store(false, Ordering::Release);
        self.signals.retry_attempt.store(0, Ordering::Release);
        self.set_for_run(RunOptions::default());
        self.forget_unannounced();
        // A run that died leaves its questions behind.
        self.cancel_questions();
        if let Err(error) = self.tell_unheard_bash() {
            tracing::warn!(%error, "a command of the user could not be recorded");
        }
        self.deliver_asides();
        let aborted = activity.cancel.is_cancelled();
        self.hub.publish(EventKind::Settled { aborted });
        for waiter in activity.waiters {
            answer(waiter, ());
        }
        self.begin_what_waited().await;
        self.tell_shutdown();
    }

    /// Somebody wants the program to end, which it does when nothing runs any more.
    pub(super) fn ask_for_shutdown(&mut self) {
        self.shutdown_asked = true;
        self.tell_shutdown();
    }

    fn tell_shutdown(&mut self) {
        if self.activity.is_none() && std::mem::take(&mut self.shutdown_asked) {
            self.hub.publish(EventKind::ShutdownAsked);
        }
    }

    /// Takes what waited in the order it was asked for. One of it may begin something that the
    /// next has to wait for again.
    async fn begin_what_waited(&mut self) {
        for next in std::mem::take(&mut self.afterwards) {
            match next {
                Afterwards::Prompt {
                    content,
                    options,
                    reply,
                } => self.prompt(content, options, reply).await,
                Afterwards::Compact {
                    reason,
                    instructions,
                    reply,
                } => self.compact(reason, instructions, reply),
                Afterwards::Abort { reply } => self.abort(reply),
            }
        }
    }

    /// True when the activity was told to stop: it gets nothing more to do.
    pub(super) fn is_stopping(&self) -> bool {
        self.activity
            .as_ref()
            .is_some_and(|activity| activity.cancel.is_cancelled())
    }

    /// Stops everything and makes it last.
    pub(super) async fn wind_down(&mut self) {
        self.jobs.cancel_all(JobKind::Shell);
        self.cancel_questions();
        if let Some(activity) = &self.activity {
            activity.cancel.cancel();
        }
        self.dialogs.withdraw_all();
        self.afterwards.clear();
        self.commands.close();
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
        if let Some(hooks) = self.hooks.take() {
            hooks.session_ended().await;
        }
    }
}
