//! What a session does from a prompt until nothing automatic follows: runs, retries, compactions.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use stentor_journal::conversation::ConversationItem;
use stentor_journal::message::{Message, ToolCall};
use tokio::sync::oneshot;

use super::compaction::{self, CompactionError, CompactionFailure};
use super::link::{ActorGone, AfterRun, FallbackPlan, RunLink, RunRequest};
use super::run::{self, RunBeginning, RunRecord};
use super::tools::NotRecorded;
use crate::event::{
    CompactionReason, CompactionResult, EventKind, NoticeLevel, NoticeSource, RunEnd, RunOutcome,
};
use crate::model::{ModelError, ModelErrorKind};

/// Calls of an answer that have no result.
pub(crate) struct OpenCalls {
    pub answer: Arc<Message>,
    pub calls: Vec<Arc<ToolCall>>,
}

/// What the session was asked to do.
pub(crate) enum RunWork {
    /// Answer messages that are already in the conversation.
    Answer(Vec<ConversationItem>),
    /// Go on with the calls of the newest answer.
    GoOn(OpenCalls),
    /// Compact because somebody asked for it.
    Compact {
        reason: CompactionReason,
        instructions: Option<String>,
        reply: oneshot::Sender<Result<CompactionResult, CompactionError>>,
    },
}

/// Does it. When it returns the session is idle; it is gone when it returns an error.
pub(crate) async fn perform(link: RunLink, work: RunWork) -> Result<(), ActorGone> {
    match work {
        RunWork::Answer(messages) => {
            let begin = RunBeginning {
                messages,
                open_calls: None,
                may_compact: true,
                take_steering: !link.watch.steering_waits_for_first_call,
            };
            answer(&link, begin).await
        }
        RunWork::GoOn(open) => {
            let begin = RunBeginning {
                messages: Vec::new(),
                open_calls: Some(open),
                may_compact: false,
                take_steering: false,
            };
            answer(&link, begin).await
        }
        RunWork::Compact {
            reason,
            instructions,
            reply,
        } => {
            let done = compaction::compact_as_asked(&link, reason, instructions).await;
            let result = match done {
                Ok(result) => Ok(result),
                Err(CompactionFailure::Failed(error)) => Err(error),
                Err(CompactionFailure::Gone) => return Err(ActorGone),
            };
            let next = finish(&link, true, false).await;
            // A client that no longer waits for the result lost nothing: the entry is on disk.
            reply.send(result).ok();
            match next? {
                Some(next) => {
                    let may_compact = true;
                    let next = RunBeginning {
                        may_compact,
                        ..next
                    };
                    answer(&link, next).await
                }
                None => Ok(()),
            }
        }
    }
}

async fn answer(link: &RunLink, begin: RunBeginning) -> Result<(), ActorGone> {
    let mut retries = Retries::default();
    let mut next = begin;
    link.slash.refresh().await;
    loop {
        let mut ran = RunRecord::default();
        let stopped = {
            let mut on_success = || retries.succeeded(link);
            run::run(link, next, &mut on_success, &mut ran).await
        };
        match stopped {
            Ok(()) => {}
            Err(NotRecorded::Gone) => return Err(ActorGone),
            Err(NotRecorded::Store(error)) => {
                ran.outcome = Some(run::store_failure(&error));
                ran.failure = None;
            }
        }
        let then = decide(link, &ran, &mut retries).await;
        let went_well = matches!(
            ran.outcome,
            Some(RunOutcome::Completed | RunOutcome::Refused | RunOutcome::OutputLimit)
        );
        let failed = ran.failure.clone();
        if !link.cancel.is_cancelled() {
            // The run may have written commands; a client sees them before the run's end.
            link.slash.refresh().await;
        }
        end_run(link, ran, !matches!(then, RunFollowUp::Over));
        let again = match (then, failed) {
            (RunFollowUp::Retry, Some((error, entry_id))) => {
                retry(link, &mut retries, &error, entry_id, false).await
            }
            (RunFollowUp::Fallback(plan), Some((error, entry_id))) => {
                fall_back(link, &mut retries, plan, &error).await;
                retry(link, &mut retries, &error, entry_id, true).await
            }
            (RunFollowUp::Compact, Some((_, entry_id))) => {
                forget(link, entry_id).await;
                retries.compacted = true;
                compaction::compact_overflow(link).await
            }
            _ => {
                retries.gave_up(link);
                false
            }
        };
        if again {
            next = RunBeginning {
                messages: Vec::new(),
                open_calls: None,
                may_compact: false,
                take_steering: !link.watch.steering_waits_for_first_call,
            };
            continue;
        }
        // After a failure or an abort what waits stays waiting: going on would repeat it.
        match finish(link, went_well, went_well).await {
            Ok(Some(begin)) => {
                next = begin;
                retries = Retries::default();
            }
            Ok(None) => return Ok(()),
            Err(ActorGone) => return Err(ActorGone),
        }
    }
}

/// What follows a run.
enum RunFollowUp {
    Over,
    Retry,
    /// Another model is asked.
    Fallback(FallbackPlan),
    Compact,
}

async fn decide(link: &RunLink, ran: &RunRecord, retries: &mut Retries) -> RunFollowUp {
    let Some((error, _)) = &ran.failure else {
        return RunFollowUp::Over;
    };
    retries.last_error = Some(error.message.clone());
    if link.cancel.is_cancelled() || link.signals.is_interrupted() {
        return RunFollowUp::Over;
    }
    let automatic = link.ask(|reply| RunRequest::Automatic { reply }).await;
    let automatic = automatic.unwrap_or_default();
    if error.kind == ModelErrorKind::ContextOverflow {
        return if automatic.compaction && !retries.compacted {
            RunFollowUp::Compact
        } else {
            RunFollowUp::Over
        };
    }
    if error.kind == ModelErrorKind::AnswerTooLong {
        // What came is kept, and whoever is asked next would go on from there.
        return RunFollowUp::Over;
    }
    if !automatic.retry || (ran.begun && !link.retry.after_output) {
        return RunFollowUp::Over;
    }
    let then = another_attempt(link, error, retries).await;
    if matches!(then, RunFollowUp::Over) {
        return then;
    }
    // An attempt that the budget forbids would end with the budget's words instead of the error.
    match link.ask(|reply| RunRequest::LimitReached { reply }).await {
        Ok(None) => then,
        Err(ActorGone) => RunFollowUp::Over,
        Ok(Some(limit)) => {
            link.hub.publish(EventKind::Notice {
                level: NoticeLevel::Warning,
                message: format!("Not tried again. {limit}"),
                from: NoticeSource::Agent,
            });
            RunFollowUp::Over
        }
    }
}

/// How a call that failed is repeated, if it is.
async fn another_attempt(link: &RunLink, error: &ModelError, retries: &Retries) -> RunFollowUp {
    let may_repeat = error.is_transient() && retries.attempt < link.retry.max_attempts;
    if !may_repeat || is_of_the_model(error.kind) {
        let (error, tried) = (error.clone(), retries.tried.clone());
        let found = link.ask(|reply| RunRequest::FindFallback {
            error,
            tried,
            reply,
        });
        if let Ok(Some(plan)) = found.await {
            return RunFollowUp::Fallback(plan);
        }
    }
    if may_repeat {
        RunFollowUp::Retry
    } else {
        RunFollowUp::Over
    }
}

/// True when the same model would fail again for a while, but another one need not.
fn is_of_the_model(kind: ModelErrorKind) -> bool {
    match kind {
        ModelErrorKind::Overloaded | ModelErrorKind::RateLimited => true,
        ModelErrorKind::Server
        | ModelErrorKind::Network
        | ModelErrorKind::BrokenStream
        | ModelErrorKind::Silence
        | ModelErrorKind::AnswerTooLong
        | ModelErrorKind::Auth
        | ModelErrorKind::Quota
        | ModelErrorKind::ContextOverflow
        | ModelErrorKind::InvalidRequest
        | ModelErrorKind::UnknownModel
        | ModelErrorKind::Other => false,
    }
}

/// Lets another model step in. If somebody has chosen one meanwhile, that one is asked.
async fn fall_back(link: &RunLink, retries: &mut Retries, plan: FallbackPlan, error: &ModelError) {
    if retries.attempt >= link.retry.max_attempts {
        // The other model has all its attempts before it.
        retries.attempt = 0;
    }
    retries.tried.push(plan.info.full_name());
    let reason = error.message.clone();
    let applied = link.ask(|reply| RunRequest::ApplyFallback {
        plan,
        reason,
        reply,
    });
    if let Ok(Some((fallback, model))) = applied.await {
        let role = fallback.role.clone();
        link.hub
            .publish(EventKind::FallbackApplied(Arc::new(fallback)));
        retries.stands_in = Some((model, role));
    }
}

/// Waits as long as it takes and says whether the run goes on.
async fn retry(
    link: &RunLink,
    retries: &mut Retries,
    error: &ModelError,
    entry_id: String,
    at_once: bool,
) -> bool {
    retries.attempt += 1;
    link.signals
        .retry_attempt
        .store(retries.attempt, Ordering::Release);
    let delay = if at_once {
        Duration::ZERO
    } else {
        link.retry
            .delay(retries.attempt, error, link.clock.random())
    };
    let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
    // Whoever sees the event may cancel at once, so this listens before it is published.
    let mut given_up = pin!(link.cancel_retry.notified());
    given_up.as_mut().enable();
    link.hub.publish(EventKind::RetryStarted {
        attempt: retries.attempt,
        max_attempts: link.retry.max_attempts,
        delay_ms,
        // A longer wait than ours is the provider's wish, were it cut or not.
        asked_for: error.retry_after_ms.is_some_and(|ms| ms >= delay_ms),
        rate_limit: error.rate_limit,
        error: error.message.clone(),
    });
    forget(link, entry_id).await;
    tokio::select! {
        () = tokio::time::sleep(delay) => true,
        () = link.cancel.cancelled() => retries.cancelled(link),
        () = given_up => retries.cancelled(link),
    }
}

/// Takes a failed answer out of the context. The events of that come before what follows.
async fn forget(link: &RunLink, entry_id: String) {
    let request = |reply| RunRequest::Forget { entry_id, reply };
    // A session that is gone has nothing to forget.
    link.ask(request).await.ok();
}

/// The retries since the last success.
#[derive(Default)]
struct Retries {
    attempt: u32,
    last_error: Option<String>,
    compacted: bool,
    /// The models that stepped in, by their full names.
    tried: Vec<String>,
    /// The model that stepped in last and its chain, until it has answered.
    stands_in: Option<(String, String)>,
}

impl Retries {
    fn succeeded(&mut self, link: &RunLink) {
        self.last_error = None;
        if let Some((model, role)) = self.stands_in.take() {
            link.hub
                .publish(EventKind::FallbackSucceeded { model, role });
        }
        self.tried.clear();
        if self.attempt > 0 {
            self.end(link, true, None);
        }
    }

    fn cancelled(&mut self, link: &RunLink) -> bool {
        self.end(link, false, Some("Retry cancelled".to_owned()));
        false
    }

    fn gave_up(&mut self, link: &RunLink) {
        if self.attempt > 0 {
            let why = self.last_error.clone();
            self.end(link, false, why);
        }
    }

    fn end(&mut self, link: &RunLink, success: bool, final_error: Option<String>) {
        let attempt = std::mem::take(&mut self.attempt);
        link.signals.retry_attempt.store(0, Ordering::Release);
        link.hub.publish(EventKind::RetryEnded {
            success,
            attempt,
            final_error,
        });
    }
}

fn end_run(link: &RunLink, ran: RunRecord, will_retry: bool) {
    link.signals.in_run.store(false, Ordering::Release);
    link.signals
        .winding_up
        .store(!will_retry, Ordering::Release);
    link.hub.publish(EventKind::RunEnded(Arc::new(RunEnd {
        messages: ran.messages,
        usage: ran.usage,
        outcome: ran.outcome.unwrap_or(RunOutcome::Completed),
        will_retry,
    })));
}

/// Ends the activity, unless messages wait that it should go on with.
async fn finish(
    link: &RunLink,
    go_on: bool,
    may_compact: bool,
) -> Result<Option<RunBeginning>, ActorGone> {
    let mut may_compact = may_compact;
    loop {
        let finished = link.ask(|reply| RunRequest::Finish {
            may_compact,
            go_on,
            reply,
        });
        match finished.await? {
            AfterRun::Idle => return Ok(None),
            AfterRun::Compact(plan) => {
                compaction::compact_at_threshold(link, plan).await?;
                may_compact = false;
            }
            AfterRun::GoOn(messages) => {
                // The queue has had its turn.
                return Ok(Some(RunBeginning {
                    messages,
                    open_calls: None,
                    may_compact: false,
                    take_steering: false,
                }));
            }
        }
    }
}
