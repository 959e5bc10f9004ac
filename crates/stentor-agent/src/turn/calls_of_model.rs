//! Calls that their model runs itself: an agent that is used as a model, or a provider with tools of
//! its own. They are followed, not run: nobody is asked here and nothing is skipped.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::stream::{FuturesUnordered, StreamExt};
use stentor_journal::message::{Message, ToolCall};
use tokio::time::Instant;

use super::link::{ModelCall, RunLink, RunRequest};
use super::tools::{self, NotRecorded};
use crate::event::EventKind;
use crate::model::{CallStep, CallStream};
use crate::tool::{Place, ToolOutput};

/// The result of a call whose end was not waited for.
const ABORTED: &str = "Command aborted";

/// The result of a call of which nothing more was heard.
const UNKNOWN: &str = "How this call ended is unknown.";

/// Follows calls to their ends and returns their results, in the order of the calls.
pub(super) async fn follow(
    link: &RunLink,
    model_call: &ModelCall,
    calls: &[Arc<ToolCall>],
    streams: Vec<CallStream>,
) -> Result<Vec<Arc<Message>>, NotRecorded> {
    let place = &*model_call.place;
    let mut running: FuturesUnordered<_> = calls
        .iter()
        .zip(streams)
        .enumerate()
        .map(|(number, (call, steps))| async move {
            (number, follow_one(link, place, call, steps).await)
        })
        .collect();
    let mut outputs: Vec<Option<Arc<ToolOutput>>> = vec![None; calls.len()];
    let mut results = Vec::with_capacity(calls.len());
    offer_messages(link, model_call).await?;
    loop {
        let ended = tokio::select! {
            biased;
            ended = running.next() => ended,
            () = link.signals.steering_waits.notified() => {
                offer_messages(link, model_call).await?;
                continue;
            }
        };
        let Some((number, output)) = ended else {
            return Ok(results);
        };
        if let Some(slot) = outputs.get_mut(number) {
            *slot = Some(output);
        }
        // Results are announced in the order of the calls: those that are complete from the front.
        let complete = outputs.iter().skip(results.len()).map_while(Option::as_ref);
        let ready = calls.iter().skip(results.len()).zip(complete);
        let ready: Vec<_> = ready
            .map(|(call, output)| (Arc::clone(call), Arc::clone(output)))
            .collect();
        if ready.is_empty() {
            continue;
        }
        let recorded = tools::record(link, ready).await?;
        for item in &recorded {
            super::run::announce(link, item);
        }
        results.extend(tools::messages_of(recorded));
    }
}

/// Lets the model have what waits for it while its calls run: what it does after them depends on it.
async fn offer_messages(link: &RunLink, model_call: &ModelCall) -> Result<(), NotRecorded> {
    let waits = link.signals.queued.load(Ordering::Acquire);
    if waits && model_call.model.takes_messages() && !link.cancel.is_cancelled() {
        let peeked = link.ask(|reply| RunRequest::PeekSteering { reply });
        let messages = peeked.await?;
        if !messages.is_empty() {
            model_call.model.messages_wait(messages);
        }
    }
    Ok(())
}

async fn follow_one(
    link: &RunLink,
    place: &dyn Place,
    call: &Arc<ToolCall>,
    mut steps: CallStream,
) -> Arc<ToolOutput> {
    let mut started = None;
    let mut has_begun = false;
    let output = loop {
        let step = tokio::select! {
            biased;
            () = link.cancel.cancelled() => break ToolOutput::error(ABORTED),
            step = steps.next() => step,
        };
        if started.is_none() {
            link.wait_for_capacity().await;
            tools::started(link, call);
            started = Some(Instant::now());
        }
        let runs = matches!(step, Some(CallStep::Started | CallStep::Progress(_)));
        if runs && !std::mem::replace(&mut has_begun, true) {
            tools::begins(place, call).await;
        }
        match step {
            Some(CallStep::Started) => {}
            Some(CallStep::Progress(partial)) => {
                let (call, partial) = (Arc::clone(call), Arc::new(partial));
                link.hub.publish(EventKind::ToolProgress { call, partial });
            }
            Some(CallStep::Ended(output)) => break output,
            None => break ToolOutput::error(UNKNOWN),
        }
    };
    let took = match started {
        Some(started) => started.elapsed(),
        None => {
            tools::started(link, call);
            Default::default()
        }
    };
    let output = Arc::new(output);
    let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    tools::ended(link, call, &output, took);
    output
}
