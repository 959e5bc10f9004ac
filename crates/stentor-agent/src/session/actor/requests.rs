//! Answering the run.

use std::sync::Arc;

use stentor_journal::conversation::ConversationItem;
use stentor_journal::message::{Message, StopReason};
use stentor_journal::store::StoreError;
use stentor_text::visible::visible;

use super::permissions::CallToPermit;
use super::tools::CurrentTools;
use super::{Actor, answer};
use crate::event::StateChange;
use crate::model::{ModelError, ModelErrorKind, ModelInfo};
use crate::session::command::Reply;
use crate::tasks;
use crate::tool::ToolHost;
use crate::turn::{ModelCall, NOT_RUN_ABORTED, RefusalReason, RunRefusal, RunRequest, Verdict};

/// The longest name that a model gives a session.
const TITLE_BYTES: usize = 200;

impl Actor {
    pub(super) async fn serve(&mut self, request: RunRequest) {
        match request {
            RunRequest::BeginRun {
                may_compact,
                take_steering,
                reply,
            } => self.run_begins(may_compact, take_steering, reply),
            RunRequest::NextCall { reply } => answer(reply, self.next_call().await),
            RunRequest::Append {
                messages,
                sync,
                model_call,
                entry_id,
                reply,
            } => {
                if model_call {
                    self.count(&messages);
                }
                self.append(messages, sync, entry_id, reply);
            }
            RunRequest::Forget { entry_id, reply } => {
                self.log.forget(&entry_id);
                answer(reply, ());
            }
            RunRequest::FindFallback {
                error,
                tried,
                reply,
            } => {
                let plan = self.fallbacks.find(&self.models, &error, tried).await;
                answer(reply, plan);
            }
            RunRequest::ApplyFallback {
                plan,
                reason,
                reply,
            } => {
                let (models, log) = (&mut self.models, &mut self.log);
                let applied = self.fallbacks.apply(models, log, plan, reason);
                answer(reply, applied);
            }
            RunRequest::BeginCheckpoint { reply } => answer(reply, self.begin_checkpoint()),
            RunRequest::Consumed { model, usage } => {
                self.spending.count_summary(&mut self.log, &model, &usage);
            }
            RunRequest::RecordTools => self.spending.record_tools(&mut self.log),
            RunRequest::ConsumedByTools { reply } => {
                answer(reply, self.spending.count_tools(&mut self.log));
            }
            RunRequest::TakeQueued {
                or_follow_ups,
                reply,
            } => {
                let taken = self.deliver_to_run(or_follow_ups);
                self.answer_messages(reply, taken, |messages| messages);
            }
            RunRequest::Announcing { message, reply } => {
                self.queues.announced(&message);
                answer(reply, ());
            }
            RunRequest::Permit {
                call,
                is_own,
                is_background,
                spec,
                touches,
                is_approved,
                reply,
            } => {
                let wanted = CallToPermit {
                    call,
                    is_own,
                    is_background,
                    spec,
                    touches,
                    is_approved,
                };
                self.permit(wanted, reply);
            }
            RunRequest::LeavePlanMode { mode, reply } => {
                let left = self.permissions.leave_plan(&mut self.log, mode);
                answer(reply, left);
            }
            RunRequest::Automatic { reply } => answer(reply, self.automatic),
            RunRequest::LimitReached { reply } => {
                let limit = self.spending.limit_reached().await;
                answer(reply, limit.map(|why| why.to_string()));
            }
            RunRequest::PlanCompaction { reason, reply } => {
                answer(reply, self.plan_compaction(reason));
            }
            RunRequest::Compacted { result, reply } => {
                let recorded = self.compacted(result);
                self.answer_when_synced(reply, recorded);
            }
            RunRequest::HasNewestAnswer { response_id, reply } => {
                self.answer_has_newest(response_id, reply);
            }
            RunRequest::PeekSteering { reply } => answer(reply, self.queues.next_steering()),
            RunRequest::ModelGoesOn { reply } => answer(reply, self.model_goes_on().await),
            RunRequest::Job(report) => self.job_reported(*report).await,
            RunRequest::ModelBecame { info, reply } => self.model_became(info, reply),
            RunRequest::Titled { title, reply } => self.titled(&title, reply),
            RunRequest::Finish {
                may_compact,
                go_on,
                reply,
            } => self.finish(may_compact, go_on, reply).await,
        }
    }

    fn permit(&mut self, wanted: CallToPermit, reply: Reply<Verdict>) {
        let is_stopping = match wanted.is_background {
            true => self.background.is_closing(),
            false => self.activities.is_stopping(),
        };
        if is_stopping {
            // Nobody would answer a question now, and it would stay open for ever.
            answer(reply, Verdict::Denied(NOT_RUN_ABORTED.to_owned()));
        } else {
            self.permissions.permit(&mut self.log, wanted, reply);
        }
    }

    fn model_became(&mut self, info: Arc<ModelInfo>, reply: Reply<()>) {
        self.models.become_form(&mut self.log, info);
        answer(reply, ());
    }

    /// Takes a name that the model gave the conversation, unless somebody else has named it.
    fn titled(&mut self, title: &str, reply: Reply<()>) {
        let title = visible(title.lines().next().unwrap_or_default().trim()).into_owned();
        let title = title
            .get(..title.floor_char_boundary(TITLE_BYTES))
            .unwrap_or_default();
        let is_named = self.log.name() != self.title_of_model.as_ref();
        if !is_named && !title.is_empty() && self.log.name().is_none_or(|name| name != title) {
            match self.log.rename(title.to_owned()) {
                Ok(()) => {
                    self.title_of_model = Some(title.to_owned());
                    self.publish_change(StateChange::Name(Some(title.to_owned())));
                }
                Err(error) => tracing::warn!(%error, "the name of a session could not be recorded"),
            }
        }
        answer(reply, ());
    }

    /// Counts what a model call consumed.
    fn count(&mut self, messages: &[Arc<Message>]) {
        if let Some(message) = messages.first() {
            let answer = message.as_assistant();
            let usage = answer.map(|answer| answer.usage).unwrap_or_default();
            let model = answer.map(|answer| format!("{}/{}", answer.provider, answer.model));
            let model = model.unwrap_or_default();
            match answer.map(|answer| answer.stop_reason) {
                Some(StopReason::Error) => self.spending.count_failed(&model, &usage),
                _ => self.spending.count(&model, &usage),
            }
        }
    }

    fn append(
        &mut self,
        messages: Vec<Arc<Message>>,
        sync: bool,
        entry_id: Option<Arc<str>>,
        reply: Reply<Result<Vec<ConversationItem>, StoreError>>,
    ) {
        let mut known = entry_id.map(|id| id.to_string());
        if messages
            .iter()
            .any(|message| message.as_assistant().is_some())
        {
            self.permissions.answered();
        }
        let appended: Result<Vec<ConversationItem>, StoreError> = messages
            .into_iter()
            .map(|message| {
                let entry_id = known.take().unwrap_or_else(|| self.log.new_entry_id());
                self.log
                    .append_message(entry_id.clone(), Arc::clone(&message))?;
                Ok(ConversationItem { entry_id, message })
            })
            .collect();
        // What the run does next, such as to begin the calls of an answer, must not be known to fewer
        // than know the message.
        if sync || !self.log.survives_process() {
            self.answer_when_synced(reply, appended);
        } else {
            answer(reply, appended);
        }
    }

    async fn next_call(&mut self) -> Result<ModelCall, RunRefusal> {
        let model = self.models.current().map(|chosen| Arc::clone(&chosen.info));
        let entry_id = self.log.answer_entry_id();
        // A run that was told to stop makes no call any more, so no limit stops it either.
        if !self.activities.is_stopping()
            && let Some(why) = self.spending.limit_reached().await
        {
            return Err(RunRefusal {
                model,
                entry_id: Some(entry_id),
                why,
            });
        }
        self.deliver_asides();
        let opened = match self.models.current() {
            Some(chosen) => chosen.opened.clone(),
            None => Err(ModelError::new(
                ModelErrorKind::UnknownModel,
                "No model selected.",
            )),
        };
        let opened = opened.map_err(|error| RunRefusal {
            model,
            entry_id: Some(Arc::clone(&entry_id)),
            why: RefusalReason::Model(error),
        })?;
        let now = self.circumstances();
        let CurrentTools { tools, specs } = self.tools.current(now);
        Ok(ModelCall {
            entry_id,
            model: opened,
            thinking: self.models.current_thinking(),
            system: self.tools.system_prompt(&specs, now),
            messages: self.log.conversation().for_model(),
            specs,
            tools,
            place: Arc::clone(&self.tools.place),
            host: Arc::clone(&self.tools.host) as Arc<dyn ToolHost>,
            rules: Arc::clone(&self.rules),
        })
    }

    /// Answers with messages that were taken out of a queue, when they would survive a power cut.
    pub(super) fn answer_messages<T: Send + 'static>(
        &self,
        reply: Reply<Result<T, StoreError>>,
        taken: Result<Vec<ConversationItem>, StoreError>,
        made: impl FnOnce(Vec<ConversationItem>) -> T,
    ) {
        match taken {
            Ok(messages) if messages.is_empty() => answer(reply, Ok(made(messages))),
            taken => self.answer_when_synced(reply, taken.map(made)),
        }
    }

    /// Answers when what was appended would survive a power cut. The disk takes its time, and
    /// meanwhile the session must answer others.
    fn answer_when_synced<T: Send + 'static>(
        &self,
        reply: Reply<Result<T, StoreError>>,
        value: Result<T, StoreError>,
    ) {
        let value = match value {
            Ok(value) => value,
            Err(error) => return answer(reply, Err(error)),
        };
        let synced = self.log.sync();
        tasks::spawn(async move { answer(reply, synced.await.map(|()| value)) });
    }
}
