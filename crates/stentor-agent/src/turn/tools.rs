//! The tool calls of one answer: started in the order of the calls, results kept in that order.
//!
//! Calls of tools that may run together do, above all those that only read; every other call runs
//! alone. A steering message that must
//! not wait skips the calls that have not started. Every call gets a result, whatever happens.

use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use serde_json::{Map, Value};
use stentor_journal::conversation::ConversationItem;
use stentor_journal::message::{KnownMessage, Message, ToolCall, ToolResultMessage};
use stentor_journal::store::StoreError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::SKIPPED;
use super::calls_of_model;
use super::link::{ActorGone, ModelCall, RunLink, RunRequest, Verdict};
use super::run_hooks;
use crate::arguments;
use crate::event::EventKind;
use crate::permission::CallRefused;
use crate::tool::{Place, Progress, Tool, ToolContext, ToolEffect, ToolOutput, ToolSpec, Touches};

/// Calls of one answer that run at the same time. The others wait for one of them to end.
const CALLS_AT_ONCE: usize = 16;

/// How long a tool may take to end by itself after it was told to stop. A command that has to be killed
/// takes a sixth of a second by itself, and what it wrote belongs to its result: on a busy machine, too.
const GRACE: Duration = Duration::from_secs(1);

/// Why the results could not be recorded.
pub(super) enum NotRecorded {
    Gone,
    Store(StoreError),
}

impl From<ActorGone> for NotRecorded {
    fn from(_: ActorGone) -> Self {
        Self::Gone
    }
}

/// Runs the calls and returns their results, in the order of the calls.
pub(super) async fn run_calls(
    link: &RunLink,
    model_call: &ModelCall,
    calls: &[Arc<ToolCall>],
    unreadable: &HashMap<String, String>,
) -> Result<Vec<Arc<Message>>, NotRecorded> {
    let mut results = Vec::with_capacity(calls.len());
    while let Some(rest) = calls.get(results.len()..).filter(|rest| !rest.is_empty()) {
        if !link.cancel.is_cancelled() {
            let streams = rest
                .iter()
                .map_while(|call| model_call.model.elsewhere(call));
            let streams: Vec<_> = streams.collect();
            if let Some(followed) = rest.get(..streams.len()).filter(|calls| !calls.is_empty()) {
                results.extend(calls_of_model::follow(link, model_call, followed, streams).await?);
                continue;
            }
        }
        if let Some(why) = why_none_starts(link) {
            results.extend(skip_all(link, rest, why).await?);
            break;
        }
        let together = rest
            .iter()
            .take_while(|call| runs_together(model_call, call))
            .count()
            .max(1);
        let batch = rest.get(..together).unwrap_or(rest);
        results.extend(run_batch(link, model_call, batch, unreadable).await?);
    }
    Ok(results)
}

/// The result of calls that have not started instead of being run, if none may start any more.
fn why_none_starts(link: &RunLink) -> Option<&'static str> {
    if link.cancel.is_cancelled() {
        Some(super::NOT_RUN_ABORTED)
    } else if link.signals.is_interrupted() {
        Some(super::STOPPED)
    } else if link.signals.steering_now.load(Ordering::Acquire) {
        Some(SKIPPED)
    } else {
        None
    }
}

/// Gives every call the same result without running it. All of them are on disk before the first
/// is announced: one wait for the disk, however many there are.
pub(super) async fn skip_all(
    link: &RunLink,
    calls: &[Arc<ToolCall>],
    text: &str,
) -> Result<Vec<Arc<Message>>, NotRecorded> {
    if calls.is_empty() {
        return Ok(Vec::new());
    }
    let output = Arc::new(ToolOutput::error(text));
    let skipped = calls
        .iter()
        .map(|call| (Arc::clone(call), Arc::clone(&output)));
    let recorded = record(link, skipped.collect()).await?;
    for (call, item) in calls.iter().zip(&recorded) {
        link.wait_for_capacity().await;
        started(link, call);
        ended(link, call, &output, 0);
        super::run::announce(link, item);
    }
    Ok(messages_of(recorded))
}

/// Runs calls at the same time, a bounded number of them, and gives the results of those that
/// started: from the front on, and at least one, unless none may start.
///
/// The calls and the recording of their results are polled together. Both ask the actor through
/// one bounded queue, and a call that is not polled can hold a place in it that it was given: a
/// recording that is waited for alone could then wait for ever.
async fn run_batch(
    link: &RunLink,
    model_call: &ModelCall,
    batch: &[Arc<ToolCall>],
    unreadable: &HashMap<String, String>,
) -> Result<Vec<Arc<Message>>, NotRecorded> {
    let mut running = FuturesUnordered::new();
    let mut to_start = batch.iter().enumerate();
    // Calls that ended while results were recorded.
    let mut over = VecDeque::new();
    let mut outputs: VecDeque<Option<Arc<ToolOutput>>> = VecDeque::new();
    let mut results: Vec<Arc<Message>> = Vec::with_capacity(batch.len());
    loop {
        while running.len() + over.len() < CALLS_AT_ONCE && why_none_starts(link).is_none() {
            if !link.hub.has_capacity() {
                if running.len() + over.len() > 0 {
                    break;
                }
                link.wait_for_capacity().await;
                continue;
            }
            let Some((place, call)) = to_start.next() else {
                break;
            };
            started(link, call);
            outputs.push_back(None);
            let bad = unreadable.get(&call.id).map(String::as_str);
            running.push(async move {
                let ran = run_caught(link, model_call, call, bad).await;
                ran.map(|(output, took)| (place, Arc::new(output), took))
            });
        }
        let next = match over.pop_front() {
            Some(next) => Some(next),
            None => running.next().await,
        };
        let Some(next) = next else {
            return Ok(results);
        };
        let (place, output, took) = next?;
        let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        if let (Some(call), Some(slot)) = (batch.get(place), outputs.get_mut(place - results.len()))
        {
            ended(link, call, &output, duration_ms);
            *slot = Some(output);
        }
        // Results are announced in the order of the calls: those that are now complete from the front.
        let mut ready = Vec::new();
        for call in batch.iter().skip(results.len()) {
            match outputs.front_mut().and_then(Option::take) {
                Some(output) => ready.push((Arc::clone(call), output)),
                None => break,
            }
            outputs.pop_front();
        }
        if ready.is_empty() {
            continue;
        }
        let mut recording = pin!(record(link, ready));
        let recorded = loop {
            tokio::select! {
                biased;
                recorded = &mut recording => break recorded?,
                Some(ended) = running.next() => over.push_back(ended),
            }
        };
        for item in &recorded {
            super::run::announce(link, item);
        }
        results.extend(messages_of(recorded));
    }
}

/// Runs one call. A tool that panics, wherever, is a failed call and not a dead session.
async fn run_caught(
    link: &RunLink,
    model_call: &ModelCall,
    call: &Arc<ToolCall>,
    unreadable: Option<&str>,
) -> Result<(ToolOutput, Duration), ActorGone> {
    let work = AssertUnwindSafe(run_call(link, model_call, call, unreadable)).catch_unwind();
    let ran = work.await.unwrap_or_else(|_| {
        let name = &call.name;
        let why = format!("Tool {name} had an internal error: this is a bug");
        Err(NotRun::Because(why))
    });
    match ran {
        Ok(ran) => Ok((ran.output, ran.took)),
        Err(NotRun::Because(why)) => Ok((ToolOutput::error(why), Duration::ZERO)),
        Err(NotRun::Suspended) => Err(ActorGone),
    }
}

/// Why a call did not run.
enum NotRun {
    /// The text for the model.
    Because(String),
    /// It is asked about again when the session is opened.
    Suspended,
}

impl<T: ToString> From<T> for NotRun {
    fn from(why: T) -> Self {
        Self::Because(why.to_string())
    }
}

/// What a tool gave, and how long it worked: the time that somebody was asked does not count.
struct CallRan {
    output: ToolOutput,
    took: Duration,
}

/// Runs one call, unless something is in the way.
async fn run_call(
    link: &RunLink,
    model_call: &ModelCall,
    call: &Arc<ToolCall>,
    unreadable: Option<&str>,
) -> Result<CallRan, NotRun> {
    let tool =
        find(model_call, &call.name).ok_or_else(|| format!("Tool {} not found", call.name))?;
    if let Some(why) = unreadable {
        let why = format!("Validation failed for tool \"{}\":\n  - {why}", call.name);
        return Err(why.into());
    }
    let arguments = arguments::validate(tool.spec(), &call.arguments)?;
    // What hooks make of the call is what the policy and the person decide on.
    let (wanted, arguments) = run_hooks::before_call(link, call, tool.spec(), arguments).await?;
    let touches = tool.touches(&arguments, &link.cwd).settle(&link.cwd);
    let spec = ToolSpec {
        effect: tool.effect_of(&arguments),
        ..tool.spec().clone()
    };
    let effect = spec.effect;
    match permit(link, &wanted, spec, touches.clone()).await {
        Ok(Verdict::Allowed) => {}
        Ok(Verdict::Denied(why)) => return Err(why.into()),
        Ok(Verdict::Suspended) => return Err(NotRun::Suspended),
        Err(ActorGone) => return Err(CallRefused::Aborted.into()),
    }
    if link.cancel.is_cancelled() {
        return Err(CallRefused::Aborted.into());
    }
    let started = Instant::now();
    let tool = Arc::clone(tool);
    let run = execute(link, model_call, call, tool, arguments, touches, effect);
    let output = run.await;
    let took = started.elapsed();
    let output = run_hooks::after_call(link, &wanted, output).await;
    Ok(CallRan { output, took })
}

async fn permit(
    link: &RunLink,
    call: &Arc<ToolCall>,
    spec: ToolSpec,
    touches: Touches,
) -> Result<Verdict, ActorGone> {
    let call = Arc::clone(call);
    let answer = link.ask(|reply| RunRequest::Permit {
        call,
        is_own: true,
        is_background: false,
        spec,
        touches,
        is_approved: false,
        reply,
    });
    tokio::select! {
        // A question that is suspended is closed before the run is stopped.
        biased;
        verdict = answer => verdict,
        () = link.cancel.cancelled() => Ok(Verdict::Denied(super::NOT_RUN_ABORTED.to_owned())),
    }
}

async fn execute(
    link: &RunLink,
    model_call: &ModelCall,
    call: &Arc<ToolCall>,
    tool: Arc<dyn Tool>,
    arguments: Map<String, Value>,
    touches: Touches,
    effect: ToolEffect,
) -> ToolOutput {
    let judged = Arc::new(touches);
    let over = Arc::new(AtomicBool::new(false));
    let cancel = link.cancel.child_token();
    let context = ToolContext {
        call_id: call.id.clone(),
        cwd: Arc::clone(&link.cwd),
        cancel: cancel.clone(),
        progress: progress(link, call, &over),
        place: Arc::clone(&model_call.place),
        host: Arc::clone(&model_call.host),
        spill_dir: Arc::clone(&link.spill_dir),
        touches: Arc::clone(&judged),
    };
    // Also when the tool panics: no report of a call may follow its end.
    let _over = CallOverGuard(over);
    let running = async {
        begins(&*model_call.place, call).await;
        tool.run(arguments, context).await
    };
    let ended = async {
        tokio::select! {
            output = running => output,
            () = overdue(&cancel) => ToolOutput::error("Command aborted"),
        }
    };
    match &link.undo {
        Some(undo) => undo.watch(effect, &judged, ended).await,
        None => ended.await,
    }
}

/// Lets the place of the tools know that a call runs now.
pub(super) async fn begins(place: &dyn Place, call: &ToolCall) {
    if let Err(error) = place.call_begins(&call.id).await {
        tracing::warn!(
            error,
            "the place of the tools could not be notified of a call"
        );
    }
}

/// Says that a call is over, when it goes.
struct CallOverGuard(Arc<AtomicBool>);

impl Drop for CallOverGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Resolves when a tool was told to stop and did not.
async fn overdue(cancel: &CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(GRACE).await;
}

/// Reports of a call, until it is over: a late one must not follow the end.
fn progress(link: &RunLink, call: &Arc<ToolCall>, over: &Arc<AtomicBool>) -> Progress {
    let (hub, call, over) = (link.hub.clone(), Arc::clone(call), Arc::clone(over));
    Progress::new(move |partial| {
        if !over.load(Ordering::Acquire) {
            let (call, partial) = (Arc::clone(&call), Arc::new(partial));
            hub.publish(EventKind::ToolProgress { call, partial });
        }
    })
}

pub(super) fn started(link: &RunLink, call: &Arc<ToolCall>) {
    link.hub.publish(EventKind::ToolStarted {
        call: Arc::clone(call),
    });
}

pub(super) fn ended(
    link: &RunLink,
    call: &Arc<ToolCall>,
    output: &Arc<ToolOutput>,
    duration_ms: u64,
) {
    let (call, output) = (Arc::clone(call), Arc::clone(output));
    link.hub.publish(EventKind::ToolEnded {
        call,
        output,
        duration_ms,
    });
}

/// Puts results on disk.
pub(super) async fn record(
    link: &RunLink,
    ready: Vec<(Arc<ToolCall>, Arc<ToolOutput>)>,
) -> Result<Vec<ConversationItem>, NotRecorded> {
    let messages: Vec<Arc<Message>> = ready
        .into_iter()
        .map(|(call, output)| {
            Arc::new(Message::from(KnownMessage::ToolResult(ToolResultMessage {
                tool_call_id: call.id.clone(),
                tool_name: call.name.clone(),
                content: output.content.clone(),
                details: output.details.clone(),
                is_error: output.is_error,
                timestamp: link.clock.now_ms(),
                rest: Default::default(),
            })))
        })
        .collect();
    let recorded = link.ask(|reply| RunRequest::Append {
        messages,
        sync: true,
        model_call: false,
        entry_id: None,
        reply,
    });
    recorded.await?.map_err(NotRecorded::Store)
}

/// The messages of what was recorded.
pub(super) fn messages_of(recorded: Vec<ConversationItem>) -> Vec<Arc<Message>> {
    recorded.into_iter().map(|item| item.message).collect()
}

fn runs_together(model_call: &ModelCall, call: &ToolCall) -> bool {
    // A call that its model runs may have the name of a tool that is here as well.
    !model_call.model.runs_itself(call)
        && find(model_call, &call.name).is_some_and(|tool| tool.runs_together())
}

fn find<'a>(model_call: &'a ModelCall, name: &str) -> Option<&'a Arc<dyn Tool>> {
    model_call
        .tools
        .iter()
        .find(|tool| tool.spec().name == name)
}
