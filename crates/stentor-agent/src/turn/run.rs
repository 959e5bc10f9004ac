//! One run: turns of a model's answer and its tools, until nothing is left to do.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use stentor_journal::conversation::ConversationItem;
use stentor_journal::message::{KnownMessage, Message, StopReason};
use stentor_journal::store::StoreError;
use stentor_journal::usage::Usage;

use super::activity::OpenCalls;
use super::answer::{self, FinishedAnswer};
use super::compaction;
use super::link::{ModelCall, RefusalReason, RunLink, RunRefusal, RunRequest, RunStart};
use super::reminders::Reminders;
use super::run_hooks::{self, HookedPrompt};
use super::tools::{self, NotRecorded};
use crate::event::{EventKind, RunOutcome};
use crate::model::{Model, ModelError, ModelErrorKind};
use crate::rules;
use crate::tool::{ToolEffect, Touches};

/// What a run did.
#[derive(Default)]
pub(super) struct RunRecord {
    /// The messages it added, in order.
    pub messages: Vec<Arc<Message>>,
    pub usage: Usage,
    pub outcome: Option<RunOutcome>,
    /// The error behind a failed outcome, and the entry of the message that records it.
    pub failure: Option<(ModelError, String)>,
    /// True when something of the failed answer was shown.
    pub begun: bool,
    /// Messages of the agent itself for the next turn, on disk already.
    inject: Vec<ConversationItem>,
    reminders: Reminders,
}

/// Told when the first answer of a continuation has succeeded.
pub(super) type OnSuccess<'a> = &'a mut (dyn FnMut() + Send);

/// How a run begins.
pub(super) struct RunBeginning {
    /// Messages that are in the conversation and have not been announced yet.
    pub messages: Vec<ConversationItem>,
    /// Calls of the newest answer that are to run before the model is asked again.
    pub open_calls: Option<OpenCalls>,
    /// The context may be compacted first.
    pub may_compact: bool,
    /// Steering messages that wait are part of the first turn.
    pub take_steering: bool,
}

/// Runs turns. What was done until it stopped is in `ran`, also when it could not go on.
pub(super) async fn run(
    link: &RunLink,
    begin: RunBeginning,
    on_success: OnSuccess<'_>,
    ran: &mut RunRecord,
) -> Result<(), NotRecorded> {
    let steering = begin_run(link, begin.may_compact, begin.take_steering).await?;
    let mut prompt = run_hooks::prompt_text(link, &begin.messages);
    // Last asked in this run; it is told when the run is over, however that comes about.
    let mut asked = LastAskedModel::default();
    let mut open_calls = begin.open_calls;
    let mut injected = begin.messages;
    injected.extend(steering);
    loop {
        link.wait_for_capacity().await;
        link.hub.publish(EventKind::TurnStarted);
        for item in injected.drain(..) {
            if link.signals.unannounced.load(Ordering::Acquire) {
                let message = Arc::clone(&item.message);
                link.ask(|reply| RunRequest::Announcing { message, reply })
                    .await?;
            }
            announce(link, &item);
            ran.messages.push(item.message);
        }
        let next = match open_calls.take() {
            Some(open) => run_open_calls(link, open, ran).await?,
            None => turn(link, prompt.take(), ran, on_success, &mut asked).await?,
        };
        // An abort counts more than an interrupt: the next turn records that it was one.
        let aborted = link.cancel.is_cancelled() && ran.outcome.is_none();
        if matches!(next, AfterTurn::Over) || (link.signals.is_interrupted() && !aborted) {
            return Ok(());
        }
        injected = std::mem::take(&mut ran.inject);
        let would_stop = injected.is_empty() && ran.outcome.is_some();
        if would_stop || asked.takes_messages() {
            injected.extend(take_queued(link, would_stop).await?);
        }
        if injected.is_empty() && ran.outcome.is_some() {
            injected = remind(link, ran).await?;
            if injected.is_empty() {
                return Ok(());
            }
        }
        ran.outcome = None;
    }
}

/// Has the run begun, after a compaction where one is due, and gives the messages that steer it.
async fn begin_run(
    link: &RunLink,
    may_compact: bool,
    take_steering: bool,
) -> Result<Vec<ConversationItem>, NotRecorded> {
    let mut may_compact = may_compact;
    loop {
        let begun = link.ask(|reply| RunRequest::BeginRun {
            may_compact,
            take_steering,
            reply,
        });
        match begun.await?.map_err(NotRecorded::Store)? {
            RunStart::Begun(steering) => return Ok(steering),
            RunStart::CompactFirst(plan) => {
                compaction::compact_at_threshold(link, plan).await?;
                may_compact = false;
            }
        }
    }
}

/// One turn: the hooks are asked about what the user said, then the model.
async fn turn(
    link: &RunLink,
    prompt: Option<Arc<str>>,
    ran: &mut RunRecord,
    on_success: OnSuccess<'_>,
    asked: &mut LastAskedModel,
) -> Result<AfterTurn, NotRecorded> {
    let verdict = match prompt {
        Some(text) => run_hooks::before_prompt(link, text).await,
        None => HookedPrompt::Ask(Vec::new()),
    };
    match verdict {
        HookedPrompt::Ask(added) => {
            for message in added {
                let item = append(link, &message, true).await?;
                announce(link, &item);
                ran.messages.push(message);
            }
            match link.ask(|reply| RunRequest::NextCall { reply }).await? {
                Ok(call) => {
                    asked.now(&call.model);
                    let asking = ask_model(link, &call, ran, on_success);
                    match &link.undo {
                        Some(undo) if call.model.changes_files() => {
                            let (effect, touches) = (ToolEffect::Executes, Touches::default());
                            undo.watch(effect, &touches, asking).await
                        }
                        _ => asking.await,
                    }
                }
                Err(refusal) => refused(link, refusal, ran).await,
            }
        }
        HookedPrompt::Answered(text) => answered(link, text, ran).await,
        HookedPrompt::Denied(reason) => {
            let why = RefusalReason::Hook(reason);
            let refusal = RunRefusal {
                model: None,
                entry_id: None,
                why,
            };
            refused(link, refusal, ran).await
        }
    }
}

/// The rest of a turn whose answer is there: its calls run now.
async fn run_open_calls(
    link: &RunLink,
    open: OpenCalls,
    ran: &mut RunRecord,
) -> Result<AfterTurn, NotRecorded> {
    let OpenCalls { answer, calls } = open;
    let call = match link.ask(|reply| RunRequest::NextCall { reply }).await? {
        Ok(call) => call,
        Err(refusal) => {
            tools::skip_all(link, &calls, super::NOT_RUN_FAILED).await?;
            return refused(link, refusal, ran).await;
        }
    };
    let results = tools::run_calls(link, &call, &calls, &HashMap::new()).await?;
    ran.messages.extend(results.iter().cloned());
    let by_tools = link
        .ask(|reply| RunRequest::ConsumedByTools { reply })
        .await?;
    ran.usage.add(&by_tools);
    link.hub.publish(EventKind::TurnEnded {
        message: answer,
        tool_results: results.into(),
    });
    Ok(AfterTurn::Again)
}

/// The model that was asked last. It is told when another one is asked and when the run is over.
#[derive(Default)]
struct LastAskedModel(Option<Arc<dyn Model>>);

impl LastAskedModel {
    fn now(&mut self, model: &Arc<dyn Model>) {
        if let Some(before) = self.0.replace(Arc::clone(model))
            && !Arc::ptr_eq(&before, model)
            // In another form it goes on with what it does.
            && before.switched_to(model.info()).is_none()
        {
            before.run_ended();
        }
    }

    fn takes_messages(&self) -> bool {
        self.0.as_ref().is_none_or(|model| model.takes_messages())
    }
}

impl Drop for LastAskedModel {
    fn drop(&mut self) {
        if let Some(model) = &self.0 {
            model.run_ended();
        }
    }
}

/// Announces a complete message.
pub(super) fn announce(link: &RunLink, item: &ConversationItem) {
    let number = link.signals.next_number();
    let message = Arc::clone(&item.message);
    link.hub.publish(EventKind::MessageStarted {
        number,
        entry_id: Arc::from(item.entry_id.as_str()),
        message: Arc::clone(&message),
    });
    link.hub
        .publish(EventKind::MessageEnded { number, message });
}

/// Whether the queues are looked at after a turn.
enum AfterTurn {
    /// Yes. If the run has an outcome it would stop, unless something waits.
    Again,
    /// No: the run was stopped or failed.
    Over,
}

/// Asks the model, and runs the tools it calls.
async fn ask_model(
    link: &RunLink,
    call: &ModelCall,
    ran: &mut RunRecord,
    on_success: OnSuccess<'_>,
) -> Result<AfterTurn, NotRecorded> {
    let aborted_before = link.cancel.is_cancelled();
    let answer = if aborted_before {
        answer::aborted_before_it_began(link, call)
    } else {
        answer::ask(link, call).await
    };
    let FinishedAnswer {
        number,
        message,
        usage,
        stop_reason,
        calls,
        unreadable,
        error,
        refused,
        begun,
        stopped_by,
    } = answer;
    ran.usage.add(&usage);
    // A turn without tools ends with its answer, so this is the point to make it last.
    let entry = MessageEntry {
        id: Some(Arc::clone(&call.entry_id)),
        sync: calls.is_empty(),
        model_call: !aborted_before,
    };
    let recorded = append_as(link, &message, entry).await;
    // Who saw it in the making sees the end of it, also when the disk failed: that comes next.
    if aborted_before {
        link.hub.publish(EventKind::MessageStarted {
            number,
            entry_id: Arc::clone(&call.entry_id),
            message: Arc::clone(&message),
        });
    }
    link.hub.publish(EventKind::MessageEnded {
        number,
        message: Arc::clone(&message),
    });
    ran.messages.push(Arc::clone(&message));
    if error.is_none() && stop_reason != StopReason::Aborted {
        on_success();
    }
    let results = match (&recorded, stop_reason) {
        (Err(_), _) => Ok(Vec::new()),
        (Ok(_), StopReason::Error) => tools::skip_all(link, &calls, super::NOT_RUN_FAILED).await,
        (Ok(_), StopReason::Aborted) => tools::skip_all(link, &calls, super::NOT_RUN_ABORTED).await,
        (
            Ok(_),
            StopReason::Stop | StopReason::Length | StopReason::ToolUse | StopReason::Unknown,
        ) => tools::run_calls(link, call, &calls, &unreadable).await,
    };
    ran.messages.extend(results.iter().flatten().cloned());
    if !calls.is_empty() {
        let by_tools = link
            .ask(|reply| RunRequest::ConsumedByTools { reply })
            .await?;
        ran.usage.add(&by_tools);
    }
    link.hub.publish(EventKind::TurnEnded {
        message,
        tool_results: results.iter().flatten().cloned().collect(),
    });
    let entry_id = recorded?.entry_id;
    results?;
    if !stopped_by.is_empty() && !link.cancel.is_cancelled() {
        let reminder = rules::reminder(&stopped_by, link.clock.now_ms());
        ran.inject.push(append(link, &reminder, true).await?);
        return Ok(AfterTurn::Again);
    }
    if stop_reason == StopReason::Aborted {
        ran.outcome = Some(RunOutcome::Aborted);
        return Ok(AfterTurn::Over);
    }
    if let Some(error) = error {
        ran.begun = begun;
        ran.outcome = Some(RunOutcome::Failed {
            kind: error.kind,
            message: error.message.clone(),
            status: error.status,
        });
        ran.failure = Some((error, entry_id));
        return Ok(AfterTurn::Over);
    }
    // A model that ran all of its calls itself may be done with them.
    if !calls.is_empty() && (stop_reason != StopReason::Stop || link.cancel.is_cancelled()) {
        // If it was stopped during the tools, the next turn records it as an aborted answer.
        return Ok(AfterTurn::Again);
    }
    ran.reminders.saw(call.host.plan());
    ran.outcome = Some(if refused {
        RunOutcome::Refused
    } else if stop_reason == StopReason::Length {
        RunOutcome::OutputLimit
    } else {
        RunOutcome::Completed
    });
    Ok(AfterTurn::Again)
}

/// Reminds a run that would stop of what it has still to do.
async fn remind(link: &RunLink, ran: &mut RunRecord) -> Result<Vec<ConversationItem>, NotRecorded> {
    if ran.outcome != Some(RunOutcome::Completed) || link.cancel.is_cancelled() {
        return Ok(Vec::new());
    }
    let Some(reminder) = ran.reminders.next(link) else {
        return Ok(Vec::new());
    };
    Ok(vec![append(link, &reminder, true).await?])
}

/// How a message is recorded.
struct MessageEntry {
    /// Its id, if that is known already.
    id: Option<Arc<str>>,
    /// It must survive a power cut.
    sync: bool,
    /// It is what a model call brought.
    model_call: bool,
}

async fn append(
    link: &RunLink,
    message: &Arc<Message>,
    sync: bool,
) -> Result<ConversationItem, NotRecorded> {
    let entry = MessageEntry {
        id: None,
        sync,
        model_call: false,
    };
    append_as(link, message, entry).await
}

async fn append_as(
    link: &RunLink,
    message: &Arc<Message>,
    entry: MessageEntry,
) -> Result<ConversationItem, NotRecorded> {
    let messages = vec![Arc::clone(message)];
    let items = link
        .ask(|reply| RunRequest::Append {
            messages,
            sync: entry.sync,
            model_call: entry.model_call,
            entry_id: entry.id,
            reply,
        })
        .await?
        .map_err(NotRecorded::Store)?;
    // One message is one item.
    items.into_iter().next().ok_or(NotRecorded::Gone)
}

/// The messages that wait for the run: those that steer, or else follow-ups if it would stop.
async fn take_queued(
    link: &RunLink,
    or_follow_ups: bool,
) -> Result<Vec<ConversationItem>, NotRecorded> {
    if link.cancel.is_cancelled() || !link.signals.queued.load(Ordering::Acquire) {
        return Ok(Vec::new());
    }
    let taken = link.ask(|reply| RunRequest::TakeQueued {
        or_follow_ups,
        reply,
    });
    taken.await?.map_err(NotRecorded::Store)
}

/// Ends the run with a text that no model wrote. It is said in the name of the model in use, which
/// is the one a resumed session goes on with.
async fn answered(
    link: &RunLink,
    text: String,
    ran: &mut RunRecord,
) -> Result<AfterTurn, NotRecorded> {
    let (model, entry_id) = match link.ask(|reply| RunRequest::NextCall { reply }).await? {
        Ok(call) => (Some(Arc::clone(call.model.info())), Some(call.entry_id)),
        Err(refusal) => (refusal.model, refusal.entry_id),
    };
    let (number, message) = answer::without_model(link, model.as_ref(), entry_id.as_ref(), text);
    let entry = MessageEntry {
        id: entry_id,
        sync: true,
        model_call: false,
    };
    let recorded = append_as(link, &message, entry).await;
    link.hub.publish(EventKind::MessageEnded {
        number,
        message: Arc::clone(&message),
    });
    ran.messages.push(Arc::clone(&message));
    link.hub.publish(EventKind::TurnEnded {
        message,
        tool_results: Arc::new([]),
    });
    recorded?;
    ran.outcome = Some(RunOutcome::Completed);
    Ok(AfterTurn::Again)
}

/// Ends the run because no model may or can be called. Clients see why as a failed answer.
async fn refused(
    link: &RunLink,
    refusal: RunRefusal,
    ran: &mut RunRecord,
) -> Result<AfterTurn, NotRecorded> {
    let RunRefusal {
        model,
        entry_id,
        why,
    } = refusal;
    let mut message = answer::unwritten(model.as_ref(), link.clock.now_ms());
    message.stop_reason = StopReason::Error;
    message.error_message = Some(why.to_string());
    let message: Arc<Message> = Arc::new(KnownMessage::Assistant(message).into());
    let entry = MessageEntry {
        id: entry_id,
        sync: true,
        model_call: false,
    };
    let recorded = append_as(link, &message, entry).await;
    announce(
        link,
        &recorded
            .as_ref()
            .map_or_else(|_| unrecorded(&message), ConversationItem::clone),
    );
    ran.messages.push(Arc::clone(&message));
    link.hub.publish(EventKind::TurnEnded {
        message,
        tool_results: Arc::new([]),
    });
    recorded?;
    ran.outcome = Some(match why {
        RefusalReason::Hook(message) => RunOutcome::Failed {
            kind: ModelErrorKind::Other,
            message,
            status: None,
        },
        RefusalReason::Budget { limit, message } => RunOutcome::BudgetReached { limit, message },
        RefusalReason::Model(ModelError {
            kind,
            message,
            status,
            ..
        }) => RunOutcome::Failed {
            kind,
            message,
            status,
        },
    });
    Ok(AfterTurn::Over)
}

/// A message that the disk refused.
fn unrecorded(message: &Arc<Message>) -> ConversationItem {
    ConversationItem {
        entry_id: String::new(),
        message: Arc::clone(message),
    }
}

/// A failure of the disk, in the words of a failed run.
pub(super) fn store_failure(error: &StoreError) -> RunOutcome {
    RunOutcome::Failed {
        kind: ModelErrorKind::Other,
        message: format!("the session could not be saved: {error}"),
        status: None,
    }
}
