//! Calls that their model runs itself: an agent that is used as a model, or a provider with tools of
//! its own. They are followed, not run: nobody is asked here and nothing is skipped.

use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt};
use stentor_journal::message::{Message, ToolCall};
use tokio::time::Instant;

use super::link::RunLink;
use super::tools::{self, NotRecorded};
use crate::event::EventKind;
use crate::model::{CallStep, CallStream};
use crate::tool::ToolOutput;

/// The result of a call whose end was not waited for.
const ABORTED: &str = "Command aborted";

/// The result of a call of which nothing more was heard.
const UNKNOWN: &str = "How this call ended is unknown.";

/// Follows calls to their ends and returns their results, in the order of the calls.
pub(super) async fn follow(
    link: &RunLink,
    calls: &[Arc<ToolCall>],
    streams: Vec<CallStream>,
) -> Result<Vec<Arc<Message>>, NotRecorded> {
    let mut running: FuturesUnordered<_> = calls
        .iter()
        .zip(streams)
        .enumerate()
        .map(|(place, (call, steps))| async move { (place, follow_one(link, call, steps).await) })
        .collect();
    let mut outputs: Vec<Option<Arc<ToolOutput>>> = vec![None; calls.len()];
    let mut results = Vec::with_capacity(calls.len());
    while let Some((place, output)) = running.next().await {
        if let Some(slot) = outputs.get_mut(place) {
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
    Ok(results)
}

async fn follow_one(
    link: &RunLink,
    call: &Arc<ToolCall>,
    mut steps: CallStream,
) -> Arc<ToolOutput> {
    let mut started = None;
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
