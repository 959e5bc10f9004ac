//! The handle by which everybody but the actor knows a session.

use std::sync::Arc;

use serde_json::Value;
use stentor_journal::message::{ContentBlock, KnownBlock, Message};
use stentor_journal::store::{Entry, Header, Opened};
use stentor_policy::{PermissionAnswer, PermissionMode};
use tokio::sync::{mpsc, oneshot};

use super::actor::{Actor, Beginning};
use super::command::{
    COMMANDS, Command, ModelCommand, Query, QueueCommand, Reply, RunCommand, SettingCommand,
    Started,
};
use super::dialogs::Dialogs;
use super::error::SessionError;
use super::hook_source::HookedSession;
use super::injected::{Delivery, Injected};
use super::options::{Environment, RunOptions, SessionOptions};
use super::queues::QueueKind;
use super::state::{BashResult, ForkPoint, Interrupted, ModelChoice, SessionState, SessionStats};
use crate::commands::{PromptSource, SlashCommands};
use crate::dialog::{Dialog, DialogAnswer};
use crate::event::{
    CompactionReason, CompactionResult, EventKind, InterruptMode, QueueMode, Queues,
};
use crate::hook_chain;
use crate::hooks::CommandRan;
use crate::hub::{Hub, Missed, Subscription};
use crate::jobs::Jobs;
use crate::model::ThinkingLevel;
use crate::subagents::Subagents;
use crate::tool::{Plan, Tool, ToolSpec};

/// A session. Cheap to clone; the session ends when it is closed or the last handle is dropped.
#[derive(Clone)]
pub struct Session {
    pub(super) id: Arc<str>,
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) hub: Hub,
    pub(super) dialogs: Arc<Dialogs>,
    pub(super) jobs: Arc<Jobs>,
    pub(super) subagents: Arc<Subagents>,
    pub(super) slash: Arc<SlashCommands>,
}

/// A prompt that was accepted and is on disk.
///
/// The run begins when this is dropped, so that a caller can write its answer first.
#[must_use = "the run begins when this is dropped"]
pub struct Accepted {
    _go: oneshot::Sender<()>,
    run: RunId,
    after: u64,
}

/// One run of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunId(u64);

impl Accepted {
    /// Which run it is.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// The number of the newest event when it was accepted: all events of the run are later.
    pub fn after(&self) -> u64 {
        self.after
    }
}

impl From<Started> for Accepted {
    fn from(started: Started) -> Self {
        let Started { go, run, after } = started;
        Self {
            _go: go,
            run: RunId(run),
            after,
        }
    }
}

impl Session {
    /// Starts a new session.
    pub fn start(environment: Environment, options: SessionOptions) -> Result<Self, SessionError> {
        Self::begin(environment, options, Beginning::New)
    }

    /// Goes on with a stored session. What `options` leaves open is taken from it.
    pub fn resume(
        environment: Environment,
        options: SessionOptions,
        opened: Opened,
    ) -> Result<Self, SessionError> {
        Self::begin(environment, options, Beginning::Resumed(Box::new(opened)))
    }

    fn begin(
        environment: Environment,
        options: SessionOptions,
        beginning: Beginning,
    ) -> Result<Self, SessionError> {
        let (commands, receiver) = mpsc::channel(COMMANDS);
        let (hooks, servers) = (options.hooks.clone(), options.servers.clone());
        let cwd = Arc::from(options.cwd.as_path());
        let resumed = matches!(beginning, Beginning::Resumed(_));
        let mut actor = Actor::new(environment, options, beginning, receiver)?;
        let session = Self {
            id: actor.id(),
            commands,
            hub: actor.hub(),
            dialogs: actor.dialogs(),
            jobs: actor.jobs(),
            subagents: actor.subagents(),
            slash: actor.slash(),
        };
        let hooked = HookedSession {
            session: session.downgrade(),
            cwd,
            resumed,
        };
        let attached = hooks.iter().map(|source| source.attach(hooked.clone()));
        let mut attached: Vec<_> = attached.collect();
        let servers = servers.filter(|servers| !servers.is_empty());
        if let Some(servers) = servers {
            let brought = servers.starter.attach(&servers, hooked);
            attached.push(brought.hooks);
            session.slash.add_source(brought.prompts);
        }
        if let Some(hooks) = hook_chain::all_in_one(attached) {
            actor.set_hooks(hooks);
        }
        tokio::spawn(actor.run());
        Ok(session)
    }

    /// Its id.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// What runs beside the conversation, and what ran.
    pub fn jobs(&self) -> &Arc<Jobs> {
        &self.jobs
    }

    /// The subagents at work for it.
    pub fn subagents(&self) -> &Arc<Subagents> {
        &self.subagents
    }

    /// The slash commands it has.
    pub fn slash(&self) -> &Arc<SlashCommands> {
        &self.slash
    }

    /// Has a source of prompts asked for slash commands, too.
    pub async fn add_prompts(&self, source: Arc<dyn PromptSource>) {
        self.slash.add_source(source);
        self.slash.refresh().await;
    }

    /// The slash commands may have changed: everybody is told if they did.
    pub async fn commands_changed(&self) {
        self.slash.refresh().await;
    }

    /// What is said to the agent for what a user said: a template, a skill or another prompt that
    /// its first text calls by name, else the same. Every way in that takes text of a person calls
    /// this before it prompts or queues.
    pub async fn expand(
        &self,
        content: Vec<ContentBlock>,
    ) -> Result<Vec<ContentBlock>, SessionError> {
        let Some(ContentBlock::Known(KnownBlock::Text(first))) = content.first() else {
            return Ok(content);
        };
        let expanded = self.slash.expand(&first.text).await;
        match expanded.map_err(SessionError::Command)? {
            None => Ok(content),
            Some(expanded) => {
                let rest = content.into_iter().skip(1);
                Ok(expanded.content.into_iter().chain(rest).collect())
            }
        }
    }

    /// Runs a command of an extension beside the conversation. `None` when it is nobody's.
    pub async fn run_command(&self, name: &str, arguments: &str) -> Option<CommandRan> {
        match self.slash.run(name, arguments) {
            Some(running) => running.await,
            None => None,
        }
    }

    /// Subscribes to what happens from now on.
    pub fn subscribe(&self) -> Subscription {
        self.hub.subscribe()
    }

    /// Subscribes to everything after event number `since`.
    pub fn subscribe_since(&self, since: u64) -> Result<Subscription, Missed> {
        self.hub.subscribe_since(since)
    }

    /// The number of the newest event.
    pub fn seq(&self) -> u64 {
        self.hub.seq()
    }

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
        let started = self
            .ask(|reply| RunCommand::Prompt {
                content,
                options,
                reply,
            })
            .await??;
        Ok(started.into())
    }

    /// Queues a message for the running turn, or for the next run.
    pub async fn steer(&self, content: Vec<ContentBlock>) -> Result<(), SessionError> {
        let queue = QueueKind::Steering;
        self.ask(|reply| QueueCommand::Enqueue {
            queue,
            content,
            reply,
        })
        .await?
    }

    /// Queues a message for when the agent would stop.
    pub async fn follow_up(&self, content: Vec<ContentBlock>) -> Result<(), SessionError> {
        let queue = QueueKind::FollowUp;
        self.ask(|reply| QueueCommand::Enqueue {
            queue,
            content,
            reply,
        })
        .await?
    }

    /// Puts a message of an extension into the conversation, now or when its time comes.
    pub async fn inject(&self, injected: Injected, delivery: Delivery) -> Result<(), SessionError> {
        self.ask(|reply| RunCommand::Inject {
            injected,
            delivery,
            reply,
        })
        .await?
    }

    /// Has everybody told that the program should end, when nothing runs any more.
    pub async fn ask_for_shutdown(&self) -> Result<(), SessionError> {
        self.send(RunCommand::AskForShutdown).await
    }

    /// Takes all waiting messages out of the queues and returns them.
    pub async fn clear_queues(&self) -> Result<Queues, SessionError> {
        self.ask(|reply| QueueCommand::Clear { reply }).await
    }

    /// Takes one waiting message out. False when there was none with that text.
    pub async fn remove_queued(&self, queue: QueueKind, text: &str) -> Result<bool, SessionError> {
        let text = text.to_owned();
        self.ask(|reply| QueueCommand::Remove { queue, text, reply })
            .await
    }

    /// Makes a waiting follow-up a steering message. False when there was none with that text.
    pub async fn promote_queued(&self, text: &str) -> Result<bool, SessionError> {
        let text = text.to_owned();
        self.ask(|reply| QueueCommand::Promote { text, reply })
            .await?
    }

    /// Stops whatever runs and returns when the session is idle.
    pub async fn abort(&self) -> Result<(), SessionError> {
        self.ask(|reply| RunCommand::Abort { reply }).await
    }

    /// Stops one run, if it is still going on, and returns when it is over.
    pub async fn abort_run(&self, run: RunId) -> Result<(), SessionError> {
        let RunId(run) = run;
        self.ask(|reply| RunCommand::AbortRun { run, reply }).await
    }

    /// Stops whatever runs, then starts a run.
    pub async fn abort_and_prompt(
        &self,
        content: Vec<ContentBlock>,
    ) -> Result<Accepted, SessionError> {
        let started = self
            .ask(|reply| RunCommand::AbortAndPrompt { content, reply })
            .await??;
        Ok(started.into())
    }

    /// Lets the model call that is going on reach its end, then stops the run. Follow-ups stay
    /// queued; nothing is retried any more.
    pub async fn interrupt(&self) -> Result<Interrupted, SessionError> {
        self.ask(|reply| RunCommand::Interrupt { reply }).await
    }

    /// Gives up waiting for an automatic retry.
    pub async fn abort_retry(&self) -> Result<(), SessionError> {
        self.send(RunCommand::AbortRetry).await
    }

    /// Runs a shell command on the user's behalf. The model hears of it with the next prompt.
    pub async fn bash(
        &self,
        command: String,
        exclude_from_context: bool,
    ) -> Result<BashResult, SessionError> {
        self.ask(|reply| RunCommand::Bash {
            command,
            exclude_from_context,
            reply,
        })
        .await?
    }

    /// Stops the user's shell commands; never those of the model.
    pub async fn abort_bash(&self) -> Result<(), SessionError> {
        self.send(RunCommand::AbortBash).await
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
        let result = self
            .ask(|reply| RunCommand::Compact {
                reason,
                instructions,
                reply,
            })
            .await?;
        Ok(result?)
    }

    /// Chooses a model.
    pub async fn set_model(&self, provider: &str, id: &str) -> Result<ModelChoice, SessionError> {
        let (provider, id) = (provider.to_owned(), id.to_owned());
        self.ask(|reply| ModelCommand::Set {
            provider,
            id,
            reply,
        })
        .await?
    }

    /// Chooses the next model. `None` when there is no other.
    pub async fn cycle_model(&self, backward: bool) -> Result<Option<ModelChoice>, SessionError> {
        self.ask(|reply| ModelCommand::Cycle { backward, reply })
            .await?
    }

    /// Chooses how long the model thinks. Returns the level that the model has.
    pub async fn set_thinking(&self, level: ThinkingLevel) -> Result<ThinkingLevel, SessionError> {
        self.ask(|reply| ModelCommand::SetThinking { level, reply })
            .await?
    }

    /// Chooses the next thinking level. `None` when there is no other.
    pub async fn cycle_thinking(&self) -> Result<Option<ThinkingLevel>, SessionError> {
        self.ask(|reply| ModelCommand::CycleThinking { reply })
            .await?
    }

    /// How many steering messages are delivered at once.
    pub async fn set_steering_mode(&self, mode: QueueMode) -> Result<(), SessionError> {
        self.send(SettingCommand::SteeringMode(mode)).await
    }

    /// How many follow-ups are delivered at once.
    pub async fn set_follow_up_mode(&self, mode: QueueMode) -> Result<(), SessionError> {
        self.send(SettingCommand::FollowUpMode(mode)).await
    }

    /// When a steering message gets through.
    pub async fn set_interrupt_mode(&self, mode: InterruptMode) -> Result<(), SessionError> {
        self.send(SettingCommand::InterruptMode(mode)).await
    }

    /// Whether the conversation is compacted when it comes near the window.
    pub async fn set_auto_compaction(&self, on: bool) -> Result<(), SessionError> {
        self.send(SettingCommand::AutoCompaction(on)).await
    }

    /// Whether a failed model call is repeated.
    pub async fn set_auto_retry(&self, on: bool) -> Result<(), SessionError> {
        self.send(SettingCommand::AutoRetry(on)).await
    }

    /// The stance where no permission rule decides.
    pub async fn set_permission_mode(&self, mode: PermissionMode) -> Result<(), SessionError> {
        self.send(SettingCommand::PermissionMode(mode)).await
    }

    /// Whether somebody can be asked. Where nobody can, asking means denying.
    pub async fn set_can_ask(&self, can_ask: bool) -> Result<(), SessionError> {
        // Not by way of the actor: who asks next must find it so.
        self.dialogs.set_can_ask(can_ask);
        Ok(())
    }

    /// Answers a permission question.
    pub async fn answer_permission(
        &self,
        id: u64,
        answer: PermissionAnswer,
    ) -> Result<(), SessionError> {
        self.ask(|reply| Command::AnswerPermission { id, answer, reply })
            .await?
    }

    /// Whether somebody answers questions.
    pub fn can_ask(&self) -> bool {
        self.dialogs.can_ask()
    }

    /// Asks a person. [`DialogAnswer::Nothing`] at once when nobody can be asked; dropping the
    /// future withdraws the question.
    pub async fn ask_dialog(&self, dialog: Dialog) -> DialogAnswer {
        Arc::clone(&self.dialogs).ask(dialog).await
    }

    /// Answers a question. False when no such question is open: it was answered or timed out.
    pub async fn answer_dialog(&self, id: u64, answer: DialogAnswer) -> Result<bool, SessionError> {
        self.ask(|reply| Command::AnswerDialog { id, answer, reply })
            .await
    }

    /// Tells every subscriber something: a status, a widget, a notice, a subagent's progress.
    pub fn publish(&self, event: EventKind) {
        self.hub.publish(event);
    }

    /// Names the session.
    pub async fn set_name(&self, name: &str) -> Result<(), SessionError> {
        let name = name.to_owned();
        self.ask(|reply| SettingCommand::Name { name, reply })
            .await?
    }

    /// Replaces the plan.
    pub async fn set_plan(&self, plan: Plan) -> Result<(), SessionError> {
        self.send(SettingCommand::Plan(plan)).await
    }

    /// Replaces the tools, from the next model call on.
    pub async fn set_tools(&self, tools: Vec<Arc<dyn Tool>>) -> Result<(), SessionError> {
        self.send(SettingCommand::Tools(tools)).await
    }

    /// Keeps something in the session that is never in context. Returns the id of its entry.
    pub async fn append_custom(
        &self,
        custom_type: String,
        data: Option<Value>,
    ) -> Result<String, SessionError> {
        self.ask(|reply| Command::AppendCustom {
            custom_type,
            data,
            reply,
        })
        .await?
    }

    /// The session as it is.
    pub async fn state(&self) -> Result<SessionState, SessionError> {
        Ok(*self.ask(|reply| Query::State { reply }).await?)
    }

    /// Counts and sums.
    pub async fn stats(&self) -> Result<SessionStats, SessionError> {
        Ok(*self.ask(|reply| Query::Stats { reply }).await??)
    }

    /// The tools its model is told of.
    pub async fn tools(&self) -> Result<Arc<[ToolSpec]>, SessionError> {
        self.ask(|reply| Query::Tools { reply }).await
    }

    /// The messages in context.
    pub async fn messages(&self) -> Result<Vec<Arc<Message>>, SessionError> {
        self.ask(|reply| Query::Messages { reply }).await
    }

    /// The text of the last answer that has any.
    pub async fn last_assistant_text(&self) -> Result<Option<String>, SessionError> {
        self.ask(|reply| Query::LastText { reply }).await
    }

    /// The entries from the first to the one the session goes on from.
    pub async fn active_path(&self) -> Result<(Header, Vec<Entry>), SessionError> {
        self.ask(|reply| Query::ActivePath { reply }).await?
    }

    /// Every entry of the session, of all branches, in the order they were made.
    pub async fn entries(&self) -> Result<(Header, Vec<Entry>), SessionError> {
        self.ask(|reply| Query::Entries { reply }).await?
    }

    /// Entry id and text of every user message: where one can fork.
    pub async fn user_messages(&self) -> Result<Vec<(String, String)>, SessionError> {
        self.ask(|reply| Query::UserMessages { reply }).await?
    }

    /// Copies the conversation up to a point into a new session, ready to be resumed. With
    /// [`ForkPoint::Before`] also the text of the message it stops before.
    pub async fn fork(&self, point: ForkPoint) -> Result<(Opened, Option<String>), SessionError> {
        self.fork_as(point, None).await
    }

    /// The same, into a session with a certain id.
    pub async fn fork_as(
        &self,
        point: ForkPoint,
        id: Option<String>,
    ) -> Result<(Opened, Option<String>), SessionError> {
        self.ask(|reply| Query::Fork { point, id, reply }).await?
    }

    /// Stops whatever runs and ends the session, everything on disk. Also fine when it is gone.
    pub async fn close(&self) {
        self.ask(|reply| Command::Close { reply }).await.ok();
    }

    async fn send(&self, command: impl Into<Command>) -> Result<(), SessionError> {
        self.commands
            .send(command.into())
            .await
            .map_err(|_| SessionError::Closed)
    }

    async fn ask<T, C: Into<Command>>(
        &self,
        make: impl FnOnce(Reply<T>) -> C,
    ) -> Result<T, SessionError> {
        let (reply, answer) = oneshot::channel();
        self.send(make(reply)).await?;
        answer.await.map_err(|_| SessionError::Closed)
    }
}
