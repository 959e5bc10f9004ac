//! Answering the run.

use std::sync::Arc;

use super::{Actor, Consumed, answer};
use crate::event::BudgetLimit;
use crate::session::queues::QueueKind;
use crate::store::StoreError;
use crate::tool::{Tool, ToolHost, ToolSpec};
use crate::turn::{ModelCall, Refusal, Request, Why};

impl Actor {
    pub(super) async fn serve(&mut self, request: Request) {
        match request {
            Request::Append {
                messages,
                sync,
                reply,
            } => {
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
            Request::Forget { entry_id } => self.conversation.forget_last(&entry_id),
            Request::NextCall { reply } => {
                let call = self.next_call();
                answer(reply, call);
            }
            Request::Consumed { usage } => {
                if let Consumed::Known { usage: sum, turns } = &mut self.consumed {
                    sum.add(&usage);
                    *turns += 1;
                }
            }
            Request::TakeSteering { reply } => {
                let taken = self.deliver(QueueKind::Steering);
                self.answer_when_lasting(reply, taken);
            }
            Request::TakeFollowUp { reply } => {
                let taken = self.deliver(QueueKind::FollowUp);
                self.answer_when_lasting(reply, taken);
            }
            Request::Permit {
                call,
                spec,
                touches,
                reply,
            } => {
                self.permit(call, &spec, &touches, reply);
            }
            Request::AutoRetry { reply } => answer(reply, self.settings.auto_retry),
            Request::PlanCompaction { reason, reply } => {
                answer(reply, self.plan_compaction(reason));
            }
            Request::Compacted { result, reply } => {
                let recorded = self.compacted(result);
                self.answer_when_lasting_one(reply, recorded);
            }
            Request::Finish { go_on, reply } => self.finish(go_on, reply).await,
        }
    }

    fn next_call(&mut self) -> Result<ModelCall, Refusal> {
        let model = self.settings.info().cloned();
        if let Some(why) = self.budget_reached() {
            return Err(Refusal { model, why });
        }
        let opened = match &self.settings.model {
            Some(chosen) => chosen.opened.clone(),
            None => Err(crate::model::ModelError::new(
                crate::model::ModelErrorKind::UnknownModel,
                "No model selected.",
            )),
        };
        match opened {
            Err(error) => Err(Refusal {
                model,
                why: Why::Model(error),
            }),
            Ok(model) => {
                let (tools, specs) = self.tools_of_now();
                Ok(ModelCall {
                    model,
                    thinking: self.settings.thinking,
                    system: Arc::clone(&self.system_prompt),
                    messages: self.conversation.for_model(),
                    specs,
                    tools,
                    place: Arc::clone(&self.place),
                    host: Arc::clone(&self.host) as Arc<dyn ToolHost>,
                })
            }
        }
    }

    /// The session's own tools, and those its hooks bring. Of tools with the same name the
    /// session's own, then the first, is meant.
    fn tools_of_now(&self) -> (Arc<[Arc<dyn Tool>]>, Arc<[ToolSpec]>) {
        let brought = self.hooks.as_ref().map(|hooks| hooks.tools());
        let Some(brought) = brought.filter(|tools| !tools.is_empty()) else {
            return (Arc::clone(&self.tools), Arc::clone(&self.specs));
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
        (tools.into(), specs)
    }

    fn budget_reached(&mut self) -> Option<Why> {
        let budget = self.settings.budget;
        if budget == crate::session::Budget::default() {
            return None;
        }
        let (usage, turns) = self.consumed_so_far().ok()?;
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
    fn answer_when_lasting_one<T: Send + 'static>(
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
