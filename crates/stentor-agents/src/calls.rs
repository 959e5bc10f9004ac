//! What becomes of a child's tool call.

use std::sync::Arc;

use futures_util::stream;
use serde_json::{Map, Value, json};
use stentor_agent::model::{CallStep, CallStream};
use stentor_agent::tool::ToolOutput;
use stentor_client::{AgentEvent, ToolOutput as Output};
use stentor_journal::message::ContentBlock;

use crate::inbox::{Heard, Shared};

/// The steps of a call.
pub(crate) fn follow(shared: Arc<Shared>, id: String) -> CallStream {
    let state = Some((shared, id, false));
    Box::pin(stream::unfold(state, async |state| {
        let (shared, id, was_started) = state?;
        if was_started {
            // Whoever asked for the next step has published the one before.
            shared.announce(&id);
        }
        let step = next(&shared, &id).await?;
        let goes_on = !matches!(step, CallStep::Ended(_));
        Some((step, goes_on.then_some((shared, id, true))))
    }))
}

async fn next(shared: &Shared, id: &str) -> Option<CallStep> {
    loop {
        // Taken anew for each event: other calls read from the same child.
        let heard = shared.inbox.lock().await.next_of(id).await;
        match heard {
            Heard::Own(AgentEvent::ToolStarted { .. }) => return Some(CallStep::Started),
            Heard::Own(AgentEvent::ToolProgress { output, .. }) => {
                return Some(CallStep::Progress(converted(output, false)));
            }
            Heard::Own(AgentEvent::ToolEnded {
                output, is_error, ..
            }) => return Some(CallStep::Ended(converted(output, is_error))),
            Heard::Own(_) | Heard::Other => {}
            Heard::Nothing => return None,
        }
    }
}

fn converted(output: Output, is_error: bool) -> ToolOutput {
    let mut content = vec![ContentBlock::text(output.text)];
    let pictures = output.pictures.into_iter();
    content.extend(pictures.map(|(kind, data)| ContentBlock::image(data, kind)));
    let mut details = output.details;
    if !output.diffs.is_empty() {
        let diffs = output
            .diffs
            .iter()
            .map(|diff| json!({ "path": diff.path, "oldText": diff.old, "newText": diff.new }));
        let mut with = match details {
            Some(Value::Object(map)) => map,
            _ => Map::new(),
        };
        with.insert("diffs".to_owned(), diffs.collect());
        details = Some(Value::Object(with));
    }
    if is_error && details.is_none() {
        details = Some(Value::Object(Map::new()));
    }
    ToolOutput {
        content,
        details,
        is_error,
    }
}
