//! Answering the run.

use std::sync::Arc;

use stentor_journal::store::{CONSUMED_BY_SUMMARY, CONSUMED_BY_TOOLS, EntryKind, StoreError};
use stentor_journal::usage::Usage;

use super::{Actor, Consumed, answer};
use crate::event::BudgetLimit;
use crate::model::{ModelError, ModelErrorKind};
use crate::tool::{Tool, ToolHost, ToolSpec};
use crate::turn::{Automatic, ModelCall, Refusal, Request, Why};

/// The tools of one model call, and what the model is told of them.
pub(super) struct ToolsOfNow {
    pub tools: Arc<[Arc<dyn Tool>]>,
    pub specs: Arc<[ToolSpec]>,
}

impl Actor {
    pub(super) async fn serve(&mut self, request: Request) {
        match request {
            Request::Append {
                messages,
                sync,
                model_call,
                reply,
            } => {
                if let Some(answer) = messages.first().filter(|_| model_call) {
                    let usage = answer.as_assistant().map(|answer| answer.usage);
                    // An unread file will tell of this answer too, when it is read.
                    if let Consumed::Known { .. } = self.consumed {
                        self.count(&usage.unwrap_or_default());
                    }
                }
                let ids: Result<Vec<String>, StoreError> = messages
                    .into_iter()
                    .map(|message| {
                        let id = self.new_entry_id();
                        self.append_message(id.clone(), message)?;
                        Ok(id)
                    })
                    .collect();
                if sync && ids.is_ok() {
                    // The disk takes its time: meanwhile the session must answer others.
                    let synced = self.record.sync();
                    tokio::spawn(async move { answer(reply, synced.await.and(ids)) });
                } else {
                    answer(reply, ids);
                }
            }
            Request::Forget { entry_id, reply } => {
                self.forget(&entry_id);
                answer(reply, ());
            }
            Request::FindFallback {
                error,
                tried,
                reply,
            } => {
                let plan = self.find_fallback(&error, &tried);
                answer(reply, plan);
            }
            Request::ApplyFallback {
                plan,
                reason,
                reply,
            } => {
                let applied = self.apply_fallback(plan, reason);
                answer(
                    reply,
                    applied.map(|fallback| (fallback, self.model_named())),
                );
            }
            Request::NextCall { reply } => {
                let call = self.next_call();
                answer(reply, call);
            }
            Request::Consumed { usage } => {
                self.count(&usage);
                self.record_consumption(CONSUMED_BY_SUMMARY, &usage);
            }
            Request::ConsumedByTools { reply } => {
                let usage = self.consumed_by_tools();
                answer(reply, usage);
            }
            Request::BeginRun {
                may_compact,
                take_steering,
                reply,
            } => self.run_begins(may_compact, take_steering, reply),
            Request::TakeQueued {
                or_follow_ups,
                reply,
            } => {
                let taken = self.deliver_to_run(or_follow_ups);
                self.answer_when_lasting(reply, taken);
            }
            Request::Announcing { message, reply } => {
                self.announced(&message);
                answer(reply, ());
            }
            Request::Permit {
                call,
                spec,
                touches,
                reply,
            } => {
                self.permit(call, &spec, &touches, reply);
            }
            Request::Automatic { reply } => {
                let automatic = Automatic {
                    retry: self.settings.auto_retry,
                    compaction: self.settings.auto_compaction,
                };
                answer(reply, automatic);
            }
            Request::PlanCompaction { reason, reply } => {
                answer(reply, self.plan_compaction(reason));
            }
            Request::Compacted { result, reply } => {
                let recorded = self.compacted(result);
                self.answer_when_lasting_one(reply, recorded);
            }
            Request::Finish {
                may_compact,
                go_on,
                reply,
            } => self.finish(may_compact, go_on, reply).await,
        }
    }

    fn count(&mut self, more: &Usage) {
        if let Consumed::Known { usage, turns } = &mut self.consumed {
            usage.add(more);
            *turns += 1;
            // The tools of the answer that is counted may only use what it leaves.
            let left = self.settings.budget.left_after(usage, *turns);
            self.host.set_budget_left(left);
        }
    }

    /// Takes a failed answer out of the context. The edits let a resumed session do the same.
    fn forget(&mut self, entry_id: &str) {
        for target_id in self.conversation.forget(entry_id) {
            let kind = EntryKind::ContextEdit {
                target_id,
                replacement: None,
            };
            if let Err(error) = self.append(kind, true) {
                tracing::warn!(%error, "a failed answer will be in context when the session is resumed");
            }
        }
    }

    fn next_call(&mut self) -> Result<ModelCall, Refusal> {
        let model = self.model_of_now().map(|chosen| Arc::clone(&chosen.info));
        // A run that was told to stop makes no call any more, so no limit stops it either.
        if !self.is_stopping()
            && let Some(why) = self.budget_reached()
        {
            return Err(Refusal { model, why });
        }
        self.deliver_asides();
        let opened = match self.model_of_now() {
            Some(chosen) => chosen.opened.clone(),
            None => Err(ModelError::new(
                ModelErrorKind::UnknownModel,
                "No model selected.",
            )),
        };
        match opened {
            Err(error) => Err(Refusal {
                model,
                why: Why::Model(error),
            }),
            Ok(model) => {
                let ToolsOfNow { tools, specs } = self.tools_of_now();
                Ok(ModelCall {
                    model,
                    thinking: self.thinking_of_now(),
                    system: self.slash.system_prompt(&self.system_prompt, &specs),
                    messages: self.conversation.for_model(),
                    specs,
                    tools,
                    place: Arc::clone(&self.place),
                    host: Arc::clone(&self.host) as Arc<dyn ToolHost>,
                })
            }
        }
    }

    /// Counts what tools consumed, on disk too: it is in no message.
    fn consumed_by_tools(&mut self) -> Usage {
        let by_tools = self.host.take_consumed();
        if by_tools.is_zero() {
            return by_tools;
        }
        if let Consumed::Known { usage, .. } = &mut self.consumed {
            usage.add(&by_tools);
        }
        self.record_consumption(CONSUMED_BY_TOOLS, &by_tools);
        by_tools
    }

    /// Puts what is in no message into the file, so that a resumed session counts it too.
    fn record_consumption(&mut self, custom_type: &str, usage: &Usage) {
        let kind = EntryKind::Custom {
            custom_type: custom_type.to_owned(),
            data: serde_json::to_value(usage).ok(),
        };
        if let Err(error) = self.append(kind, false) {
            tracing::warn!(%error, "what was consumed could not be recorded");
        }
    }

    /// The session's own tools, and those its hooks bring. Of tools with the same name the
    /// session's own, then the first, is meant.
    pub(super) fn tools_of_now(&mut self) -> ToolsOfNow {
        self.renew_tools();
        let brought = self.hooks.as_ref().map(|hooks| hooks.tools());
        let Some(brought) = brought.filter(|tools| !tools.is_empty()) else {
            return ToolsOfNow {
                tools: Arc::clone(&self.tools),
                specs: Arc::clone(&self.specs),
            };
        };
        let mut tools = self.tools.to_vec();
        for tool in brought {
            if tools
                .iter()
                .all(|have| have.spec().name != tool.spec().name)
            {
                tools.push(tool);
            }
        }
        let specs = tools.iter().map(|tool| tool.spec().clone()).collect();
        ToolsOfNow {
            tools: tools.into(),
            specs,
        }
    }

    /// Tells the model of tools as they are now.
    fn renew_tools(&mut self) {
        let renewed: Vec<Option<Arc<dyn Tool>>> =
            self.tools.iter().map(|tool| tool.renewed()).collect();
        if renewed.iter().any(Option::is_some) {
            let both = self.tools.iter().zip(renewed);
            let tools = both.map(|(tool, new)| new.unwrap_or_else(|| Arc::clone(tool)));
            self.set_tools(tools.collect());
        }
    }

    fn budget_reached(&mut self) -> Option<Why> {
        let budget = self.settings.budget;
        if budget == crate::session::Budget::default() {
            return None;
        }
        let (usage, turns) = match self.consumed_so_far() {
            Ok(consumed) => consumed,
            // A limit that cannot be checked must not be passed.
            Err(error) => {
                let text = format!("cannot tell how much of the budget is left: {error}");
                return Some(Why::Model(ModelError::new(ModelErrorKind::Other, text)));
            }
        };
        let (limit, message) = if let Some(most) = budget.turns.filter(|most| turns >= *most) {
            (
                BudgetLimit::Turns,
                format!("Budget reached: {turns} of {most} model calls are used."),
            )
        } else if let Some(most) = budget.tokens.filter(|most| usage.total_tokens >= *most) {
            let used = usage.total_tokens;
            (
                BudgetLimit::Tokens,
                format!("Budget reached: {used} of {most} tokens are used."),
            )
        } else if let Some(most) = budget.cost.filter(|most| usage.cost.total >= *most) {
            let used = usage.cost.total;
            (
                BudgetLimit::Cost,
                format!("Budget reached: ${used:.4} of ${most:.4} are spent."),
            )
        } else {
            return None;
        };
        Some(Why::Budget { limit, message })
    }

    fn answer_when_lasting<T: Send + 'static>(
        &self,
        reply: crate::session::command::Reply<Result<Vec<T>, StoreError>>,
        value: Result<Vec<T>, StoreError>,
    ) {
        match value {
            Ok(value) if !value.is_empty() => self.answer_when_lasting_one(reply, Ok(value)),
            other => answer(reply, other),
        }
    }

    /// Answers when what was appended would survive a power cut.
    pub(super) fn answer_when_lasting_one<T: Send + 'static>(
        &self,
        reply: crate::session::command::Reply<Result<T, StoreError>>,
        value: Result<T, StoreError>,
    ) {
        let synced = self.record.sync();
        tokio::spawn(async move {
            let value = match value {
                Ok(value) => synced.await.map(|()| value),
                Err(error) => Err(error),
            };
            answer(reply, value);
        });
    }
}
