//! What a session can be asked: each command of a handle, and what its actor does for it.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use stentor_journal::message::{ContentBlock, Message};
use stentor_journal::store::{Entry, EntryKind, OpenedSession, SessionHeader};
use stentor_policy::{PermissionAnswer, PermissionMode};
use tokio::sync::oneshot;

use super::restore::PLAN;
use super::{Actor, ActorCommand, Reply, answer};
use crate::dialog::DialogAnswer;
use crate::event::{
    CompactionReason, CompactionResult, InterruptMode, QueueMode, Queues, StateChange,
};
use crate::folder_texts::FolderTexts;
use crate::hub::{ClientNumber, Subscription};
use crate::model::ThinkingLevel;
use crate::session::cost::CostMeter;
use crate::session::error::SessionError;
use crate::session::handle::{Accepted, RunId, Session};
use crate::session::injected::{Delivery, Injected};
use crate::session::options::RunOptions;
use crate::session::queues::QueueKind;
use crate::session::rewind::{Rewind, RewindError, RewindReport};
use crate::session::state::{
    BashResult, ContextNeed, ForkPoint, InterruptOutcome, ModelAccess, ModelChoice,
    SessionSnapshot, SessionState, SessionStats,
};
use crate::tool::{Plan, Tool, ToolHost, ToolSpec};

/// The path to where a session goes on from, when it is read.
pub(in crate::session) type PathReading =
    oneshot::Receiver<Result<(SessionHeader, Vec<Entry>), SessionError>>;

/// Runs.
impl Session {
    /// Starts a run. Refused while one is running; one that is being aborted is waited for.
    pub async fn prompt(&self, content: Vec<ContentBlock>) -> Result<Accepted, SessionError> {
        self.prompt_with(content, RunOptions::default()).await
    }

    /// Starts a run that differs from the session in something.
    pub async fn prompt_with(
        &self,
        content: Vec<ContentBlock>,
        options: RunOptions,
    ) -> Result<Accepted, SessionError> {
        self.driving()?
            .ask_async(|actor, reply| Box::pin(actor.prompt(content, options, reply)))
            .await?
    }

    /// Stops whatever runs, then starts a run.
    pub async fn abort_and_prompt(
        &self,
        content: Vec<ContentBlock>,
    ) -> Result<Accepted, SessionError> {
        // Both in one, so that nobody else's prompt can come in between.
        self.driving()?
            .ask_async(|actor, reply| {
                // The answer to the prompt says that the abort is over too.
                let (nobody_waits, _) = oneshot::channel();
                actor.abort(nobody_waits);
                Box::pin(actor.prompt(content, RunOptions::default(), reply))
            })
            .await?
    }

    /// Puts a message of an extension into the conversation, now or when its time comes.
    pub async fn inject(&self, injected: Injected, delivery: Delivery) -> Result<(), SessionError> {
        self.driving()?
            .ask_async(move |actor, reply| {
                Box::pin(async move { answer(reply, actor.inject(injected, delivery).await) })
            })
            .await?
    }

    /// Stops whatever runs and returns when the session is idle.
    pub async fn abort(&self) -> Result<(), SessionError> {
        self.driving()?
            .ask_later(|actor, reply| actor.abort(reply))
            .await
    }

    /// Stops one run, if it is still going on, and returns when it is over.
    pub async fn abort_run(&self, run: RunId) -> Result<(), SessionError> {
        self.driving()?
            .ask_later(move |actor, reply| actor.abort_run(run, reply))
            .await
    }

    /// Lets the model call that is going on reach its end, then stops the run. Follow-ups stay
    /// queued; nothing is retried any more.
    pub async fn interrupt(&self) -> Result<InterruptOutcome, SessionError> {
        self.driving()?.ask(Actor::interrupt).await
    }

    /// Gives up waiting for an automatic retry.
    pub async fn abort_retry(&self) -> Result<(), SessionError> {
        self.driving()?
            .send(|actor| actor.activities.cancel_retry())
            .await
    }

    /// Compacts the conversation. A running turn is stopped first.
    pub async fn compact(
        &self,
        instructions: Option<String>,
    ) -> Result<CompactionResult, SessionError> {
        self.summarise(CompactionReason::Manual, instructions).await
    }

    /// Replaces the whole conversation by a summary that says how to go on. A running turn is
    /// stopped first.
    pub async fn hand_off(
        &self,
        instructions: Option<String>,
    ) -> Result<CompactionResult, SessionError> {
        self.summarise(CompactionReason::Handoff, instructions)
            .await
    }

    async fn summarise(
        &self,
        reason: CompactionReason,
        instructions: Option<String>,
    ) -> Result<CompactionResult, SessionError> {
        let compacted = self
            .driving()?
            .ask_later(move |actor, reply| actor.compact(reason, instructions, reply))
            .await?;
        Ok(compacted?)
    }

    /// Runs a shell command on the user's behalf. The model hears of it with the next prompt.
    pub async fn bash(
        &self,
        command: String,
        exclude_from_context: bool,
    ) -> Result<BashResult, SessionError> {
        self.bash_with(command, exclude_from_context, |_| ()).await
    }

    /// The same, and `began` is given the number of the command before anything of its output is
    /// published.
    pub async fn bash_with(
        &self,
        command: String,
        exclude_from_context: bool,
        began: impl FnOnce(u64) + Send + 'static,
    ) -> Result<BashResult, SessionError> {
        self.driving()?
            .ask_later(move |actor, reply| {
                let (shells, log) = (&mut actor.shells, &mut actor.log);
                began(shells.next_id());
                shells.start(log, command, exclude_from_context, reply);
            })
            .await?
    }

    /// Stops the user's shell commands; never those of the model.
    pub async fn abort_bash(&self) -> Result<(), SessionError> {
        self.driving()?
            .send(|actor| actor.shells.cancel_all())
            .await
    }

    /// Has a request for the end of the program published, when nothing runs any more.
    pub async fn ask_for_shutdown(&self) -> Result<(), SessionError> {
        self.driving()?.send(Actor::ask_for_shutdown).await
    }

    /// Stops whatever runs and ends the session, everything on disk. Also fine when it is gone. One
    /// of several clients that share the session only leaves it: what runs goes on.
    pub async fn close(&self) {
        if let Some(attachment) = &self.attachment {
            return attachment.leave();
        }
        self.end(false).await;
    }

    /// The same, but a question whether a call may run stays open: it is asked again when the
    /// session is opened.
    pub async fn suspend(&self) {
        self.end(true).await;
    }

    async fn end(&self, keeps_questions: bool) {
        let (reply, answer) = oneshot::channel();
        let close = ActorCommand::Close {
            keeps_questions,
            reply,
        };
        if self.commands.send(close).await.is_ok() {
            answer.await.ok();
        }
    }
}

/// Messages that wait.
impl Session {
    /// Queues a message for the running turn, or for the next run.
    pub async fn steer(&self, content: Vec<ContentBlock>) -> Result<(), SessionError> {
        self.enqueue(QueueKind::Steering, content).await
    }

    /// Queues a message for when the agent would stop.
    pub async fn follow_up(&self, content: Vec<ContentBlock>) -> Result<(), SessionError> {
        self.enqueue(QueueKind::FollowUp, content).await
    }

    async fn enqueue(
        &self,
        queue: QueueKind,
        content: Vec<ContentBlock>,
    ) -> Result<(), SessionError> {
        self.driving()?
            .ask_async(move |actor, reply| {
                Box::pin(async move { answer(reply, actor.enqueue(queue, content).await) })
            })
            .await?
    }

    /// Takes all waiting messages out of the queues and returns them.
    pub async fn clear_queues(&self) -> Result<Queues, SessionError> {
        self.driving()?
            .change(|actor| actor.queues.clear(&mut actor.log))
            .await
    }

    /// Takes one waiting message out. False when there was none with that text.
    pub async fn remove_queued(&self, queue: QueueKind, text: &str) -> Result<bool, SessionError> {
        let text = text.to_owned();
        self.driving()?
            .change(move |actor| actor.queues.remove(&mut actor.log, queue, &text))
            .await
    }

    /// Makes a waiting follow-up a steering message. False when there was none with that text.
    pub async fn promote_queued(&self, text: &str) -> Result<bool, SessionError> {
        let text = text.to_owned();
        self.driving()?
            .ask_async(move |actor, reply| {
                Box::pin(async move {
                    let promoted = actor.queues.promote(&mut actor.log, &text).await;
                    answer(reply, promoted);
                })
            })
            .await?
    }
}

/// Settings.
impl Session {
    /// Chooses a model.
    pub async fn set_model(&self, provider: &str, id: &str) -> Result<ModelChoice, SessionError> {
        let (provider, id) = (provider.to_owned(), id.to_owned());
        self.driving()?
            .change(move |actor| {
                let choice = actor.models.set(&mut actor.log, &provider, &id)?;
                actor.fallbacks.forget();
                Ok(choice)
            })
            .await?
    }

    /// Chooses the next model. `None` when there is no other.
    pub async fn cycle_model(&self, backward: bool) -> Result<Option<ModelChoice>, SessionError> {
        self.driving()?
            .change(move |actor| {
                let choice = actor.models.cycle(&mut actor.log, backward)?;
                if choice.is_some() {
                    actor.fallbacks.forget();
                }
                Ok(choice)
            })
            .await?
    }

    /// Chooses how long the model thinks. Returns the level that the model has.
    pub async fn set_thinking(&self, level: ThinkingLevel) -> Result<ThinkingLevel, SessionError> {
        self.driving()?
            .change(move |actor| actor.models.set_thinking(&mut actor.log, level))
            .await?
    }

    /// Chooses the next thinking level. `None` when there is no other.
    pub async fn cycle_thinking(&self) -> Result<Option<ThinkingLevel>, SessionError> {
        self.driving()?
            .change(|actor| actor.models.cycle_thinking(&mut actor.log))
            .await?
    }

    /// How many steering messages are delivered at once.
    pub async fn set_steering_mode(&self, mode: QueueMode) -> Result<(), SessionError> {
        self.driving()?
            .send(move |actor| {
                actor.queues.steering_mode = mode;
                actor.publish_change(StateChange::SteeringMode(mode));
            })
            .await
    }

    /// How many follow-ups are delivered at once.
    pub async fn set_follow_up_mode(&self, mode: QueueMode) -> Result<(), SessionError> {
        self.driving()?
            .send(move |actor| {
                actor.queues.follow_up_mode = mode;
                actor.publish_change(StateChange::FollowUpMode(mode));
            })
            .await
    }

    /// When a steering message gets through.
    pub async fn set_interrupt_mode(&self, mode: InterruptMode) -> Result<(), SessionError> {
        self.driving()?
            .send(move |actor| {
                actor.queues.set_interrupt_mode(mode);
                actor.publish_change(StateChange::InterruptMode(mode));
            })
            .await
    }

    /// Whether the conversation is compacted when it comes near the window.
    pub async fn set_auto_compaction(&self, on: bool) -> Result<(), SessionError> {
        self.driving()?
            .send(move |actor| {
                actor.automatic.compaction = on;
                actor.publish_change(StateChange::AutoCompaction(on));
            })
            .await
    }

    /// Whether a failed model call is repeated.
    pub async fn set_auto_retry(&self, on: bool) -> Result<(), SessionError> {
        self.driving()?
            .send(move |actor| {
                actor.automatic.retry = on;
                actor.publish_change(StateChange::AutoRetry(on));
            })
            .await
    }

    /// The stance where no permission rule decides.
    pub async fn set_permission_mode(&self, mode: PermissionMode) -> Result<(), SessionError> {
        self.driving()?
            .change(move |actor| actor.set_permission_mode(mode))
            .await
    }

    /// Names the session.
    pub async fn set_name(&self, name: &str) -> Result<(), SessionError> {
        let name = name.trim().to_owned();
        if name.is_empty() {
            return Err(SessionError::EmptyName);
        }
        self.driving()?
            .change(move |actor| {
                actor.log.rename(name.clone())?;
                actor.publish_change(StateChange::Name(Some(name)));
                Ok(())
            })
            .await?
    }

    /// Replaces the plan.
    pub async fn set_plan(&self, plan: Plan) -> Result<(), SessionError> {
        self.driving()?
            .send(move |actor| {
                // It is in no tool's result, so it gets an entry of its own.
                if let Err(error) = actor.log.note(PLAN, &plan, false) {
                    tracing::warn!(%error, "the plan may be outdated when the session is resumed");
                }
                actor.tools.host.set_plan(plan);
            })
            .await
    }

    /// Has what the texts of the folder say now take the place of what the session began with: the
    /// next model call has it.
    pub async fn set_folder_texts(&self, texts: FolderTexts) -> Result<(), SessionError> {
        self.driving()?
            .ask(move |actor| actor.set_folder_texts(texts))
            .await
    }

    /// Replaces the tools, from the next model call on.
    pub async fn set_tools(&self, tools: Vec<Arc<dyn Tool>>) -> Result<(), SessionError> {
        self.driving()?
            .send(move |actor| actor.tools.set(tools))
            .await
    }
}

/// Going back.
impl Session {
    pub(in crate::session) async fn ask_to_rewind(
        &self,
        wanted: Rewind,
    ) -> Result<RewindReport, RewindError> {
        self.driving()?
            .ask_async(move |actor, reply| {
                Box::pin(async move { answer(reply, actor.rewind(wanted).await) })
            })
            .await?
    }
}

/// Answers to questions.
impl Session {
    /// Answers a permission question.
    pub async fn answer_permission(
        &self,
        id: u64,
        given: PermissionAnswer,
    ) -> Result<(), SessionError> {
        self.driving()?
            .ask_async(move |actor, reply| {
                Box::pin(async move {
                    let (permissions, log) = (&mut actor.permissions, &mut actor.log);
                    answer(reply, permissions.answer(log, id, given).await);
                })
            })
            .await?
    }

    /// Answers a question. False when no such question is open: it was answered or timed out.
    pub async fn answer_dialog(&self, id: u64, given: DialogAnswer) -> Result<bool, SessionError> {
        self.driving()?
            .ask(move |actor| actor.dialogs.answer(id, given))
            .await
    }
}

/// What a session is, has and stores.
impl Session {
    /// The session as it is.
    pub async fn state(&self) -> Result<SessionState, SessionError> {
        self.ask(|actor| actor.state()).await
    }

    /// True when nothing runs and nothing goes on in the background that would begin a run.
    pub async fn is_at_rest(&self) -> Result<bool, SessionError> {
        self.ask(|actor| actor.is_at_rest()).await
    }

    /// What shows at any time what the session has cost.
    pub async fn cost(&self) -> Result<CostMeter, SessionError> {
        self.ask_later(|actor, reply| actor.answer_cost(reply))
            .await?
    }

    /// Counts and sums.
    pub async fn stats(&self) -> Result<SessionStats, SessionError> {
        self.ask_later(|actor, reply| actor.answer_stats(reply))
            .await?
    }

    /// State, messages and, with `with_stats`, counts and sums in one answer.
    pub async fn snapshot(&self, with_stats: bool) -> Result<SessionSnapshot, SessionError> {
        self.ask_later(move |actor, reply| actor.answer_snapshot(with_stats, reply))
            .await
    }

    /// The model that answers now, for what is asked of it beside the conversation.
    pub async fn model_access(&self) -> Result<ModelAccess, SessionError> {
        self.ask(|actor| {
            let chosen = actor.models.current().ok_or(SessionError::NoModel)?;
            Ok(ModelAccess {
                model: chosen.opened.clone()?,
                host: Arc::clone(&actor.tools.host) as Arc<dyn ToolHost>,
            })
        })
        .await?
    }

    /// The tools its model may call.
    pub async fn tools(&self) -> Result<Arc<[ToolSpec]>, SessionError> {
        self.ask(|actor| {
            let now = actor.circumstances();
            actor.tools.current(now).specs
        })
        .await
    }

    /// About how many tokens the next request takes without its prompt.
    pub async fn context_need(&self) -> Result<ContextNeed, SessionError> {
        self.ask(Actor::context_need).await
    }

    /// The messages in context.
    pub async fn messages(&self) -> Result<Vec<Arc<Message>>, SessionError> {
        self.ask(|actor| actor.log.conversation().messages()).await
    }

    /// The text of the last answer that has any.
    pub async fn last_assistant_text(&self) -> Result<Option<String>, SessionError> {
        self.ask(|actor| actor.log.conversation().last_assistant_text())
            .await
    }

    /// Stores something in the session that is never in context. Returns the id of its entry.
    pub async fn append_custom(
        &self,
        custom_type: String,
        data: Option<Value>,
    ) -> Result<String, SessionError> {
        let kind = EntryKind::Custom { custom_type, data };
        let appended = self
            .driving()?
            .change(|actor| actor.log.append(kind, false))
            .await?;
        Ok(appended?)
    }

    /// The entries from the first to the one the session goes on from.
    pub async fn active_path(&self) -> Result<(SessionHeader, Vec<Entry>), SessionError> {
        self.ask_later(|actor, reply| actor.answer_path(reply))
            .await?
    }

    /// What goes on and happens from now on, and the path to where the session goes on from at the
    /// same moment, which is read on another thread.
    pub(in crate::session) async fn joined_at(
        &self,
        client: Option<ClientNumber>,
    ) -> Result<(Subscription, PathReading), SessionError> {
        self.ask(move |actor| {
            let mut newest_first = actor.log.conversation().items().iter().rev();
            let last = newest_first.find(|item| item.message.as_assistant().is_some());
            let events = actor.hub.join(client, last.map(|answer| &*answer.entry_id));
            let (reply, reading) = oneshot::channel();
            actor.answer_path(reply);
            (events, reading)
        })
        .await
    }

    /// Every entry of the session, of all branches, in the order they were made.
    pub async fn entries(&self) -> Result<(SessionHeader, Vec<Entry>), SessionError> {
        self.ask_later(|actor, reply| {
            actor.answer_from_journal(reply, |journal, header| {
                Ok((header.clone(), journal.read_all()?))
            });
        })
        .await?
    }

    /// Entry id and text of every user message: where one can fork.
    pub async fn user_messages(&self) -> Result<Vec<(String, String)>, SessionError> {
        self.ask_later(|actor, reply| {
            actor.answer_from_journal(reply, |journal, _| Ok(journal.user_messages()?));
        })
        .await?
    }

    /// Copies the conversation up to a point into a new session, ready to be resumed. With
    /// [`ForkPoint::Before`] also the text of the message it stops before.
    pub async fn fork(
        &self,
        point: ForkPoint,
    ) -> Result<(OpenedSession, Option<String>), SessionError> {
        self.fork_as(point, None).await
    }

    /// The same, into a session with a certain id.
    pub async fn fork_as(
        &self,
        point: ForkPoint,
        id: Option<String>,
    ) -> Result<(OpenedSession, Option<String>), SessionError> {
        self.ask_later(|actor, reply| actor.answer_fork(point, id, reply))
            .await?
    }
}

/// How a command reaches the actor.
impl Session {
    /// Has the actor do something that is not answered.
    /// Somebody can be asked now: what was asked when the process ended is asked again. Nobody
    /// waits for that; a session that is busy has nothing of the kind.
    pub(in crate::session) fn ask_again(&self) {
        let act = ActorCommand::Act(Box::new(Actor::ask_again));
        self.commands.try_send(act).ok();
    }

    /// Nobody is left to answer: what is asked about a call is denied.
    pub(in crate::session) fn nobody_answers(&self) {
        let act = ActorCommand::Act(Box::new(|actor: &mut Actor| {
            actor.permissions.close_unanswerable_questions();
        }));
        self.commands.try_send(act).ok();
    }

    async fn send(
        &self,
        act: impl FnOnce(&mut Actor) + Send + 'static,
    ) -> Result<(), SessionError> {
        let sent = self.commands.send(ActorCommand::Act(Box::new(act))).await;
        sent.map_err(|_| SessionError::Closed)
    }

    /// Asks for something the actor has at once.
    pub(in crate::session) async fn ask<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Actor) -> T + Send + 'static,
    ) -> Result<T, SessionError> {
        self.ask_later(|actor, reply| answer(reply, act(actor)))
            .await
    }

    /// Asks for a change of what is recorded. It is answered when the change would outlive this
    /// process.
    async fn change<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Actor) -> T + Send + 'static,
    ) -> Result<T, SessionError> {
        let asked = self.ask(|actor| (act(actor), actor.log.outlives()));
        let (value, outlives) = asked.await?;
        if let Some(outlives) = outlives {
            outlives.await?;
        }
        Ok(value)
    }

    /// Asks for something that is answered later, maybe by somebody else than the actor.
    async fn ask_later<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Actor, Reply<T>) + Send + 'static,
    ) -> Result<T, SessionError> {
        let (reply, answer) = oneshot::channel();
        self.send(|actor| act(actor, reply)).await?;
        answer.await.map_err(|_| SessionError::Closed)
    }

    /// Asks for something the actor itself waits with, for the disk: nothing may come in between.
    async fn ask_async<T: Send + 'static>(
        &self,
        act: impl for<'a> FnOnce(&'a mut Actor, Reply<T>) -> BoxFuture<'a, ()> + Send + 'static,
    ) -> Result<T, SessionError> {
        let (reply, answer) = oneshot::channel();
        let act = ActorCommand::ActAsync(Box::new(|actor| act(actor, reply)));
        let sent = self.commands.send(act).await;
        sent.map_err(|_| SessionError::Closed)?;
        answer.await.map_err(|_| SessionError::Closed)
    }
}
