//! Doing what handles ask for.

use stentor_journal::store::EntryKind;
use tokio::sync::oneshot;

use super::{Actor, answer};
use crate::jobs::JobKind;
use crate::session::command::Command;
use crate::session::error::SessionError;
use crate::session::options::RunOptions;

impl Actor {
    pub(super) async fn handle(&mut self, command: Command) {
        match command {
            Command::Prompt {
                content,
                options,
                reply,
            } => self.prompt(content, options, reply).await,
            Command::Enqueue {
                queue,
                content,
                reply,
            } => {
                let result = self.enqueue(queue, content).await;
                answer(reply, result);
            }
            Command::Inject {
                injected,
                delivery,
                reply,
            } => {
                let result = self.inject(injected, delivery).await;
                answer(reply, result);
            }
            Command::AskForShutdown => self.ask_for_shutdown(),
            Command::ClearQueues { reply } => {
                let cleared = self.clear_queues();
                answer(reply, cleared);
            }
            Command::RemoveQueued { queue, text, reply } => {
                let removed = self.remove_queued(queue, &text);
                answer(reply, removed);
            }
            Command::PromoteQueued { text, reply } => {
                let promoted = self.promote_queued(&text).await;
                answer(reply, promoted);
            }
            Command::Abort { reply } => self.abort(reply),
            Command::AbortRun { run, reply } => self.abort_run(run, reply),
            Command::AbortAndPrompt { content, reply } => {
                // The answer to the prompt says that the abort is over too.
                let (nobody_waits, _) = oneshot::channel();
                self.abort(nobody_waits);
                self.prompt(content, RunOptions::default(), reply).await;
            }
            Command::Interrupt { reply } => {
                let interrupted = self.interrupt();
                answer(reply, interrupted);
            }
            Command::AbortRetry => {
                if let Some(activity) = &self.activity {
                    activity.cancel_retry.notify_waiters();
                }
            }
            Command::Bash {
                command,
                exclude_from_context,
                reply,
            } => {
                self.start_bash(command, exclude_from_context, reply);
            }
            Command::AbortBash => self.jobs.cancel_all(JobKind::Shell),
            Command::Compact {
                reason,
                instructions,
                reply,
            } => self.compact(reason, instructions, reply),
            Command::SetModel {
                provider,
                id,
                reply,
            } => {
                let result = self.set_model(&provider, &id);
                answer(reply, result);
            }
            Command::CycleModel { backward, reply } => {
                let result = self.cycle_model(backward);
                answer(reply, result);
            }
            Command::SetThinking { level, reply } => {
                let result = self.set_thinking(level);
                answer(reply, result);
            }
            Command::CycleThinking { reply } => {
                let result = self.cycle_thinking();
                answer(reply, result);
            }
            Command::SetSteeringMode(mode) => self.set_steering_mode(mode),
            Command::SetFollowUpMode(mode) => self.set_follow_up_mode(mode),
            Command::SetInterruptMode(mode) => self.set_interrupt_mode(mode),
            Command::SetAutoCompaction(on) => self.set_auto_compaction(on),
            Command::SetAutoRetry(on) => self.set_auto_retry(on),
            Command::SetPermissionMode(mode) => self.set_permission_mode(mode),
            Command::AnswerDialog {
                id,
                answer: given,
                reply,
            } => {
                answer(reply, self.dialogs.answer(id, given));
            }
            Command::AnswerPermission {
                id,
                answer: given,
                reply,
            } => {
                let result = self.answer_question(id, given).await;
                answer(reply, result);
            }
            Command::SetName { name, reply } => {
                let result = self.set_name(&name);
                answer(reply, result);
            }
            Command::SetPlan(plan) => self.set_plan(plan),
            Command::SetTools(tools) => self.set_tools(tools),
            Command::SetFolderTexts { texts, reply } => {
                self.set_folder_texts(texts);
                answer(reply, ());
            }
            Command::AppendCustom {
                custom_type,
                data,
                reply,
            } => {
                let kind = EntryKind::Custom { custom_type, data };
                let appended = self.append(kind, false);
                answer(reply, appended.map_err(SessionError::from));
            }
            Command::State { reply } => answer(reply, Box::new(self.state())),
            Command::Stats { reply } => answer(reply, self.stats().map(Box::new)),
            Command::Tools { reply } => answer(reply, self.tools_of_now().specs),
            Command::Messages { reply } => answer(reply, self.conversation.messages()),
            Command::Snapshot { with_stats, reply } => answer(reply, self.snapshot(with_stats)),
            Command::LastText { reply } => answer(reply, self.conversation.last_assistant_text()),
            Command::ActivePath { reply } => answer(reply, self.active_path()),
            Command::Entries { reply } => answer(reply, self.entries()),
            Command::UserMessages { reply } => {
                answer(
                    reply,
                    self.record.user_messages().map_err(SessionError::from),
                );
            }
            Command::Fork { point, id, reply } => {
                let forked = self.fork(point, id);
                answer(reply, forked);
            }
            // The loop itself takes this one.
            Command::Close { reply } => answer(reply, ()),
        }
    }
}
