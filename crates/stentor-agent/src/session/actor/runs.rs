//! Beginning, stopping and ending activities.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt;
use stentor_journal::conversation::ConversationItem;
use stentor_journal::message::{ContentBlock, Message};
use stentor_journal::store::StoreError;
use stentor_journal::usage::Usage;
use stentor_policy::PermissionMode;
use tokio::sync::oneshot;

use super::activities::PendingActivity;
use super::queues::append_queued;
use super::{Actor, TaskReport, answer};
use crate::event::{CompactionReason, EventKind, NoticeLevel, NoticeSource, RunEnd, RunOutcome};
use crate::model::ModelErrorKind;
use crate::session::command::Reply;
use crate::session::error::SessionError;
use crate::session::handle::{Accepted, RunId};
use crate::session::options::RunOptions;
use crate::session::queues::{QueueKind, QueuedMessage};
use crate::session::state::InterruptOutcome;
use crate::tasks;
use crate::turn::{self, AfterRun, RunLink, RunStart, RunWork};

/// How long the end of jobs in the background is awaited. What does not end meanwhile is killed when
/// this process ends.
const LONGEST_JOB_END: Duration = Duration::from_secs(4);

/// The message a run begins with.
pub(super) enum OpeningMessage {
    Prompt(Vec<ContentBlock>),
    Extension(Box<QueuedMessage>),
}

impl Actor {
    pub(super) async fn prompt(
        &mut self,
        content: Vec<ContentBlock>,
        options: RunOptions,
        reply: Reply<Result<Accepted, SessionError>>,
    ) {
        if !self.activities.is_any_running() {
            let started = self.accept(content, options).await;
            return answer(reply, started);
        }
        // Who heard that a run has ended may prompt at once.
        let is_over = self.signals.winding_up.load(Ordering::Acquire);
        if is_over || self.activities.is_stopping() {
            self.activities.pend(PendingActivity::Prompt {
                content,
                options,
                reply,
            });
        } else if let Some(run) = self.background.take_unasked(&self.activities) {
            // Whoever prompts cannot know of a run that nobody asked for.
            let joined = self.join(run, content).await;
            answer(reply, joined);
        } else {
            answer(reply, Err(SessionError::Busy));
        }
    }

    /// Has a prompt go into a run that the end of a job began, which is the prompt's from then on.
    async fn join(
        &mut self,
        run: RunId,
        content: Vec<ContentBlock>,
    ) -> Result<Accepted, SessionError> {
        self.enqueue(QueueKind::Steering, content).await?;
        self.background.prompted();
        let (go, _) = oneshot::channel();
        let after = self.hub.seq();
        Ok(Accepted {
            _go: go,
            run,
            after,
        })
    }

    async fn accept(
        &mut self,
        content: Vec<ContentBlock>,
        options: RunOptions,
    ) -> Result<Accepted, SessionError> {
        if content.is_empty() {
            return Err(SessionError::EmptyMessage);
        }
        self.set_for_run(options);
        self.background.prompted();
        let (go, gate) = oneshot::channel();
        let begun = self
            .begin_run(OpeningMessage::Prompt(content), Some(gate))
            .await;
        if begun.is_err() {
            self.set_for_run(RunOptions::default());
        }
        let run = begun?;
        let after = self.hub.seq();
        Ok(Accepted {
            _go: go,
            run,
            after,
        })
    }

    /// Records the message a run begins with and starts the run: every run begins here. The actor
    /// waits for the disk, since the message is acknowledged then.
    pub(super) async fn begin_run(
        &mut self,
        opening: OpeningMessage,
        gate: Option<oneshot::Receiver<()>>,
    ) -> Result<RunId, SessionError> {
        self.fallbacks
            .return_to_first(&mut self.models, &mut self.log);
        self.models.must_be_usable()?;
        self.background.run_begins();
        self.close_unanswered()?;
        self.shells.deliver(&mut self.log)?;
        let before = self.log.leaf().cloned();
        let is_prompt = matches!(opening, OpeningMessage::Prompt(_));
        let (id, message) = match opening {
            OpeningMessage::Prompt(content) => {
                let message = Arc::new(Message::user(content, self.log.now_ms()));
                let id = self.log.new_entry_id();
                self.log.append_message(id.clone(), Arc::clone(&message))?;
                (id, message)
            }
            OpeningMessage::Extension(queued) => {
                let item = append_queued(&mut self.log, &queued, true)?;
                (item.entry_id, item.message)
            }
        };
        if let Err(error) = self.log.sync().await {
            self.log.take_back(id, before);
            return Err(error.into());
        }
        let mut messages = vec![ConversationItem {
            entry_id: id,
            message,
        }];
        if is_prompt {
            let next_turn = self.queues.deliver_all(&mut self.log, QueueKind::NextTurn);
            messages.extend(next_turn);
        }
        messages.extend(self.queues.deliver_all(&mut self.log, QueueKind::Notice));
        Ok(self.start(RunWork::Answer(messages), gate))
    }

    /// Has the next run differ from the session, or no run any more.
    fn set_for_run(&mut self, options: RunOptions) {
        let RunOptions {
            model,
            thinking,
            permission_mode,
        } = options;
        self.models.set_for_run(model, thinking);
        self.permissions.set_for_run(permission_mode);
    }

    /// Starts an activity. With a gate it begins when the gate opens or falls.
    pub(super) fn start(&mut self, work: RunWork, gate: Option<oneshot::Receiver<()>>) -> RunId {
        self.signals.interrupted.store(false, Ordering::Release);
        // The end of the activity before is no end of this one.
        self.signals.winding_up.store(false, Ordering::Release);
        let activity = self.activities.begin();
        let (run, stopped) = (activity.run, activity.cancel.clone());
        let link = RunLink {
            hub: self.hub.clone(),
            clock: Arc::clone(&self.environment.clock),
            requests: self.requests.0.clone(),
            signals: Arc::clone(&self.signals),
            retry: self.retry,
            cwd: Arc::clone(&self.cwd),
            spill_dir: Arc::clone(&self.environment.spill_dir),
            sandbox: Arc::clone(&self.sandbox),
            session_id: Arc::clone(&self.id),
            session_file: self.log.path().map(Arc::from),
            watch: Arc::clone(&self.watch),
            hooks: self.tools.hooks.clone(),
            slash: Arc::clone(&self.tools.slash),
            undo: self.undo.clone(),
            cancel: activity.cancel.clone(),
            cancel_retry: Arc::clone(&activity.cancel_retry),
        };
        let reports = self.reports.0.clone();
        tasks::spawn(async move {
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
            let report = match done {
                Ok(Ok(())) => return,
                Ok(Err(_)) => TaskReport::ActivityGone(run),
                Err(_) => TaskReport::ActivityDied,
            };
            // When the session is gone there is nobody left to report to.
            reports.send(report).await.ok();
        });
        run
    }

    /// Stops one activity, and no other that has begun meanwhile.
    pub(super) fn abort_run(&mut self, run: RunId, reply: Reply<()>) {
        match self.activities.is_running(run) {
            true => self.stop_activity(reply),
            false => answer(reply, ()),
        }
    }

    pub(super) fn abort(&mut self, reply: Reply<()>) {
        if self.activities.has_pending() {
            // What waits was asked for before this abort, so it is what this abort stops.
            self.activities.pend(PendingActivity::Abort { reply });
            return;
        }
        self.stop_activity(reply);
    }

    /// Changes the mode, and stops a run whose model cannot keep to it: what an agent with tools of
    /// its own does is not decided call by call.
    pub(super) fn set_permission_mode(&mut self, mode: PermissionMode) {
        self.permissions.set_mode(&mut self.log, mode);
        let plans = self.permissions.current_mode() == PermissionMode::Plan;
        let runs = self.activities.is_any_running() && !self.activities.is_stopping();
        let model = self.models.current().and_then(|it| it.opened.as_ref().ok());
        if plans && runs && model.is_some_and(|model| model.changes_files()) {
            self.warn(
                "the run was stopped: its model runs tools of its own, which plan mode cannot hold \
                 to reading"
                    .to_owned(),
            );
            let (nobody_waits, _) = oneshot::channel();
            self.abort(nobody_waits);
        }
    }

    fn stop_activity(&mut self, reply: Reply<()>) {
        self.background.hold();
        self.permissions.cancel_questions();
        self.activities.cancel();
        self.activities.wait(reply);
    }

    /// Lets the model call that is going on reach its end and stops the run then. Steering
    /// messages have nothing to steer any more and are given back.
    pub(super) fn interrupt(&mut self) -> InterruptOutcome {
        if !self.activities.is_any_running() || self.activities.is_stopping() {
            return InterruptOutcome::default();
        }
        self.activities.cancel_retry();
        let was_pending = self.signals.interrupted.swap(true, Ordering::AcqRel);
        InterruptOutcome {
            accepted: !was_pending,
            pending: true,
            dropped_steering: self.queues.drop_steering(&mut self.log),
        }
    }

    /// A run begins, unless the context must be compacted first.
    pub(super) fn run_begins(
        &mut self,
        may_compact: bool,
        take_steering: bool,
        reply: Reply<Result<RunStart, StoreError>>,
    ) {
        let threshold = CompactionReason::Threshold;
        if may_compact && let Some(plan) = self.plan_compaction(threshold).transpose() {
            return answer(reply, Ok(RunStart::CompactFirst(plan)));
        }
        self.signals.winding_up.store(false, Ordering::Release);
        self.signals.in_run.store(true, Ordering::Release);
        self.hub.publish(EventKind::RunStarted);
        let steering = match take_steering {
            true => self.deliver_to_run(false),
            false => Ok(Vec::new()),
        };
        self.answer_messages(reply, steering, RunStart::Begun);
    }

    /// The activity would end. A compaction that is due and messages that came meanwhile keep it
    /// going, if it may go on.
    pub(super) async fn finish(&mut self, may_compact: bool, go_on: bool, reply: Reply<AfterRun>) {
        // The abort may have come after the run looked: the queues must survive it.
        let may_go_on = !self.activities.is_stopping() && !self.signals.is_interrupted();
        let threshold = CompactionReason::Threshold;
        if may_compact
            && may_go_on
            && let Some(plan) = self.plan_compaction(threshold).transpose()
        {
            return answer(reply, AfterRun::Compact(plan));
        }
        if go_on && may_go_on {
            match self.queues.deliver_to_run(&mut self.log, true) {
                Ok(waiting) if waiting.is_empty() => {}
                Ok(waiting) => {
                    // They are in the conversation now, so the run goes on with them even when
                    // the disk fails here: the run's next message meets the failure and reports
                    // it.
                    if let Err(error) = self.log.sync().await {
                        tracing::warn!(%error, "queued messages may not survive a power cut");
                    }
                    return answer(reply, AfterRun::GoOn(waiting));
                }
                Err(error) => tracing::warn!(%error, "queued messages could not be delivered"),
            }
        }
        // The run is answered first: what it still holds must be gone when the next one begins.
        answer(reply, AfterRun::Idle);
        self.activity_over().await;
    }

    /// What waits for the run. Nothing for one that was told to stop: the queues survive an abort.
    pub(super) fn deliver_to_run(
        &mut self,
        or_follow_ups: bool,
    ) -> Result<Vec<ConversationItem>, StoreError> {
        if self.activities.is_stopping() {
            return Ok(Vec::new());
        }
        self.queues.deliver_to_run(&mut self.log, or_follow_ups)
    }

    /// The activity ended by a panic.
    pub(super) async fn activity_died(&mut self) {
        let message = "the agent had an internal error and gave up this run".to_owned();
        self.hub.publish(EventKind::Notice {
            level: NoticeLevel::Error,
            message: message.clone(),
            from: NoticeSource::Agent,
        });
        self.publish_run_end(RunOutcome::Failed {
            kind: ModelErrorKind::Other,
            message,
            status: None,
        });
        self.activity_over().await;
    }

    /// The activity ended where it was, because it is to go on when the session is opened again.
    pub(super) async fn activity_gone(&mut self, run: RunId) {
        if self.activities.is_running(run) {
            self.publish_run_end(RunOutcome::Aborted);
            self.activity_over().await;
        }
    }

    /// Publishes the end of a run that did not publish it: clients wait for the end of every run
    /// that began.
    fn publish_run_end(&self, outcome: RunOutcome) {
        if self.signals.in_run.swap(false, Ordering::AcqRel) {
            self.hub.publish(EventKind::RunEnded(Arc::new(RunEnd {
                messages: Vec::new(),
                usage: Usage::default(),
                outcome,
                will_retry: false,
            })));
        }
    }

    /// Marks the session idle, then publishes that, then begins what waited for it.
    async fn activity_over(&mut self) {
        let Some(activity) = self.activities.end() else {
            return;
        };
        self.signals.interrupted.store(false, Ordering::Release);
        self.signals.retry_attempt.store(0, Ordering::Release);
        self.set_for_run(RunOptions::default());
        self.queues.forget_unannounced();
        self.finish_undo();
        // A run that died leaves its questions behind.
        self.permissions.cancel_questions();
        if let Err(error) = self.shells.deliver(&mut self.log) {
            tracing::warn!(%error, "a command of the user could not be recorded");
        }
        self.deliver_asides();
        let aborted = activity.cancel.is_cancelled();
        self.hub.publish(EventKind::Settled { aborted });
        for waiter in activity.waiters {
            answer(waiter, ());
        }
        self.begin_pending().await;
        if !aborted {
            self.wake_for_notices().await;
        }
        self.publish_shutdown();
    }

    /// Somebody wants the program to end, which it does when nothing runs any more.
    pub(super) fn ask_for_shutdown(&mut self) {
        self.shutdown_asked = true;
        self.publish_shutdown();
    }

    fn publish_shutdown(&mut self) {
        if !self.activities.is_any_running() && std::mem::take(&mut self.shutdown_asked) {
            self.hub.publish(EventKind::ShutdownAsked);
        }
    }

    /// Takes what waited in the order it was asked for. One of it may begin something that the
    /// next has to wait for again.
    async fn begin_pending(&mut self) {
        for next in self.activities.take_pending() {
            match next {
                PendingActivity::Prompt {
                    content,
                    options,
                    reply,
                } => self.prompt(content, options, reply).await,
                PendingActivity::Compact {
                    reason,
                    instructions,
                    reply,
                } => self.compact(reason, instructions, reply),
                PendingActivity::Abort { reply } => self.abort(reply),
            }
        }
    }

    /// Stops everything and makes it last. Questions that are kept are asked again when the session
    /// is opened.
    pub(super) async fn wind_down(&mut self, keeps_questions: bool) {
        self.shells.cancel_all();
        self.background.close();
        match keeps_questions {
            true => self.permissions.suspend_questions(),
            false => self.permissions.cancel_all_questions(),
        }
        self.activities.cancel();
        self.dialogs.withdraw_all();
        drop(self.activities.take_pending());
        self.commands.close();
        let mut too_long = pin!(tokio::time::sleep(LONGEST_JOB_END));
        loop {
            let is_busy = self.activities.is_any_running() || self.shells.is_any_running();
            if !is_busy && !self.background.is_any_running() {
                break;
            }
            tokio::select! {
                () = &mut too_long, if !is_busy => break,
                Some(request) = self.requests.1.recv() => self.serve(request).await,
                Some(report) = self.reports.1.recv() => self.take_report(report).await,
                else => break,
            }
        }
        if let Err(error) = self.log.sync().await {
            tracing::error!(%error, "the session could not be saved");
        }
        if let Some(hooks) = self.tools.hooks.take() {
            hooks.session_ended().await;
        }
    }
}
