//! Doing what handles ask for.

use stentor_journal::store::EntryKind;
use tokio::sync::oneshot;

use super::restore::PLAN;
use super::{Actor, answer};
use crate::event::{EventKind, StateChange};
use crate::session::command::{
    Command, ModelCommand, Query, QueueCommand, RunCommand, SettingCommand,
};
use crate::session::error::SessionError;
use crate::session::options::RunOptions;
use crate::tool::{Plan, ToolHost};

impl Actor {
    pub(super) async fn handle(&mut self, command: Command) {
        match command {
            Command::Run(command) => self.handle_run(command).await,
            Command::Queue(command) => self.handle_queue(command).await,
            Command::Model(command) => self.handle_model(command),
            Command::Setting(command) => self.handle_setting(command),
            Command::Query(query) => self.answer_query(query),
            Command::AnswerDialog {
                id,
                answer: given,
                reply,
            } => answer(reply, self.dialogs.answer(id, given)),
            Command::AnswerPermission {
                id,
                answer: given,
                reply,
            } => {
                let result = self.permissions.answer(id, given).await;
                answer(reply, result);
            }
            Command::AppendCustom {
                custom_type,
                data,
                reply,
            } => {
                let kind = EntryKind::Custom { custom_type, data };
                let appended = self.log.append(kind, false);
                answer(reply, appended.map_err(SessionError::from));
            }
            // The loop itself takes this one.
            Command::Close { reply } => answer(reply, ()),
        }
    }

    async fn handle_run(&mut self, command: RunCommand) {
        match command {
            RunCommand::Prompt {
                content,
                options,
                reply,
            } => self.prompt(content, options, reply).await,
            RunCommand::Inject {
                injected,
                delivery,
                reply,
            } => {
                let result = self.inject(injected, delivery).await;
                answer(reply, result);
            }
            RunCommand::Abort { reply } => self.abort(reply),
            RunCommand::AbortRun { run, reply } => self.abort_run(run, reply),
            RunCommand::AbortAndPrompt { content, reply } => {
                // The answer to the prompt says that the abort is over too.
                let (nobody_waits, _) = oneshot::channel();
                self.abort(nobody_waits);
                self.prompt(content, RunOptions::default(), reply).await;
            }
            RunCommand::Interrupt { reply } => {
                let interrupted = self.interrupt();
                answer(reply, interrupted);
            }
            RunCommand::AbortRetry => self.activities.cancel_retry(),
            RunCommand::Compact {
                reason,
                instructions,
                reply,
            } => self.compact(reason, instructions, reply),
            RunCommand::Bash {
                command,
                exclude_from_context,
                reply,
            } => self.shells.start(command, exclude_from_context, reply),
            RunCommand::AbortBash => self.shells.cancel_all(),
            RunCommand::AskForShutdown => self.ask_for_shutdown(),
        }
    }

    async fn handle_queue(&mut self, command: QueueCommand) {
        match command {
            QueueCommand::Enqueue {
                queue,
                content,
                reply,
            } => {
                let result = self.enqueue(queue, content).await;
                answer(reply, result);
            }
            QueueCommand::Clear { reply } => {
                let cleared = self.queues.clear(&mut self.log);
                answer(reply, cleared);
            }
            QueueCommand::Remove { queue, text, reply } => {
                let removed = self.queues.remove(&mut self.log, queue, &text);
                answer(reply, removed);
            }
            QueueCommand::Promote { text, reply } => {
                let promoted = self.queues.promote(&mut self.log, &text).await;
                answer(reply, promoted);
            }
        }
    }

    fn handle_model(&mut self, command: ModelCommand) {
        let log = &mut self.log;
        match command {
            ModelCommand::Set {
                provider,
                id,
                reply,
            } => {
                let result = self.models.set(log, &provider, &id);
                if result.is_ok() {
                    self.fallbacks.forget();
                }
                answer(reply, result);
            }
            ModelCommand::Cycle { backward, reply } => {
                let result = self.models.cycle(log, backward);
                if let Ok(Some(_)) = &result {
                    self.fallbacks.forget();
                }
                answer(reply, result);
            }
            ModelCommand::SetThinking { level, reply } => {
                answer(reply, self.models.set_thinking(log, level));
            }
            ModelCommand::CycleThinking { reply } => {
                answer(reply, self.models.cycle_thinking(log));
            }
        }
    }

    fn handle_setting(&mut self, command: SettingCommand) {
        match command {
            SettingCommand::SteeringMode(mode) => self.queues.set_steering_mode(mode),
            SettingCommand::FollowUpMode(mode) => self.queues.set_follow_up_mode(mode),
            SettingCommand::InterruptMode(mode) => self.queues.set_interrupt_mode(mode),
            SettingCommand::AutoCompaction(on) => {
                self.automatic.compaction = on;
                self.publish_change(StateChange::AutoCompaction(on));
            }
            SettingCommand::AutoRetry(on) => {
                self.automatic.retry = on;
                self.publish_change(StateChange::AutoRetry(on));
            }
            SettingCommand::PermissionMode(mode) => self.permissions.set_mode(&mut self.log, mode),
            SettingCommand::Name { name, reply } => {
                let result = self.set_name(&name);
                answer(reply, result);
            }
            SettingCommand::Plan(plan) => self.set_plan(plan),
            SettingCommand::Tools(tools) => self.tools.set(tools),
        }
    }

    fn answer_query(&mut self, query: Query) {
        match query {
            Query::State { reply } => answer(reply, Box::new(self.state())),
            Query::Stats { reply } => self.answer_stats(reply),
            Query::Tools { reply } => answer(reply, self.tools.current().specs),
            Query::Messages { reply } => answer(reply, self.log.conversation().messages()),
            Query::LastText { reply } => {
                answer(reply, self.log.conversation().last_assistant_text());
            }
            Query::ActivePath { reply } => self.answer_active_path(reply),
            Query::Entries { reply } => self.answer_from_journal(reply, |journal, header| {
                Ok((header.clone(), journal.read_all()?))
            }),
            Query::UserMessages { reply } => {
                self.answer_from_journal(reply, |journal, _| Ok(journal.user_messages()?));
            }
            Query::Fork { point, id, reply } => self.answer_fork(point, id, reply),
        }
    }

    /// A plan that a client set is in no tool's result, so it gets an entry of its own.
    fn set_plan(&mut self, plan: Plan) {
        if let Err(error) = self.log.note(PLAN, &plan, false) {
            tracing::warn!(%error, "the plan may be an older one when the session is resumed");
        }
        self.tools.host.set_plan(plan);
    }

    fn set_name(&mut self, name: &str) -> Result<(), SessionError> {
        let name = name.trim();
        if name.is_empty() {
            return Err(SessionError::EmptyName);
        }
        self.log.rename(name)?;
        self.publish_change(StateChange::Name(Some(name.to_owned())));
        Ok(())
    }

    fn publish_change(&self, change: StateChange) {
        self.hub.publish(EventKind::StateChanged(change));
    }
}
