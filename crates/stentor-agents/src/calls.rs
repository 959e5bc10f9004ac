//! What becomes of a child's tool call.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select_all;
use futures_util::stream;
use serde_json::{Map, Value, json};
use stentor_agent::model::{CallStep, CallStream};
use stentor_agent::tool::ToolOutput;
use stentor_client::{AgentEvent, CallOutput as Output};
use stentor_journal::message::ContentBlock;
use tokio::sync::{OwnedMutexGuard, watch};
use tokio::time::{Instant, sleep_until};

use crate::inbox::{CallEvent, Inbox};
use crate::session_agent::SessionAgent;
use crate::terminals::TerminalScreen;

/// The least time between two reports of what a terminal shows.
const REPORT_INTERVAL: Duration = Duration::from_millis(50);

/// The steps of a call.
pub(crate) fn follow(agent: SessionAgent, id: String) -> CallStream {
    agent.shared.follow(&id);
    let call = ChildCall {
        agent,
        id,
        output: Output::default(),
        screens: Vec::new(),
        next_report: Instant::now(),
    };
    Box::pin(stream::unfold(Some((call, false)), async |state| {
        let (mut call, was_started) = state?;
        if was_started {
            // Whoever asked for the next step has published the one before.
            call.agent.shared.announce(&call.id);
        }
        let step = call.next().await?;
        let goes_on = !matches!(step, CallStep::Ended(_));
        Some((step, goes_on.then_some((call, true))))
    }))
}

/// What a call waits for.
enum Heard {
    Event(CallEvent),
    /// Messages wait for the child, which whoever reads from it gives it.
    Offer(OwnedMutexGuard<Inbox>),
}

struct ChildCall {
    agent: SessionAgent,
    id: String,
    /// What the child last reported of it.
    output: Output,
    /// The terminals that are part of that.
    screens: Vec<watch::Receiver<TerminalScreen>>,
    next_report: Instant,
}

impl Drop for ChildCall {
    fn drop(&mut self) {
        self.agent.shared.leave(&self.id);
    }
}

impl ChildCall {
    async fn next(&mut self) -> Option<CallStep> {
        loop {
            // The inbox is taken anew for each event: other calls read from the same child.
            let (agent, id) = (&self.agent, &self.id);
            let heard = async {
                let mut inbox = Arc::clone(&agent.shared.inbox).lock_owned().await;
                tokio::select! {
                    biased;
                    event = inbox.next_of(id) => Heard::Event(event),
                    () = agent.shared.offered.notified() => Heard::Offer(inbox),
                }
            };
            let heard = tokio::select! {
                biased;
                heard = heard => heard,
                () = changed(&mut self.screens, self.next_report) => {
                    self.next_report = Instant::now() + REPORT_INTERVAL;
                    return Some(CallStep::Progress(self.shown(false)));
                }
            };
            let event = match heard {
                // Nothing else may come between: a message that is half given would be lost.
                Heard::Offer(mut inbox) => {
                    self.agent.steer_early(&mut inbox).await;
                    continue;
                }
                Heard::Event(CallEvent::Own(event)) => *event,
                Heard::Event(CallEvent::Aside(event)) => {
                    self.aside(*event);
                    continue;
                }
                Heard::Event(CallEvent::Other) => continue,
                Heard::Event(CallEvent::Nothing) => return None,
            };
            match event {
                AgentEvent::ToolStarted { .. } => return Some(CallStep::Started),
                AgentEvent::ToolProgress { output, .. } => {
                    self.reported(output);
                    return Some(CallStep::Progress(self.shown(false)));
                }
                AgentEvent::ToolEnded {
                    output, is_error, ..
                } => {
                    self.reported(output);
                    return Some(CallStep::Ended(self.shown(is_error)));
                }
                _ => {}
            }
        }
    }

    /// What is shown at once, though a call runs.
    fn aside(&self, event: AgentEvent) {
        match event {
            AgentEvent::Plan(entries) => self.agent.show_plan(entries),
            AgentEvent::Notice { text, .. } | AgentEvent::Lost { why: text } => {
                self.agent.warn(&text);
            }
            _ => {}
        }
    }

    fn reported(&mut self, output: Output) {
        let terminals = output.terminals.iter();
        let screens = terminals.filter_map(|id| self.agent.shared.terminals.screen(id));
        self.screens = screens.collect();
        self.output = output;
    }

    /// What is shown of it: what the child reported, and what its terminals show.
    fn shown(&mut self, is_error: bool) -> ToolOutput {
        let mut output = self.output.clone();
        for screen in &mut self.screens {
            output.text.push_str(&screen.borrow_and_update().shown());
        }
        converted(output, is_error)
    }
}

/// Resolves when one of the terminals shows something new, but not before that time.
async fn changed(screens: &mut [watch::Receiver<TerminalScreen>], not_before: Instant) {
    if screens.is_empty() {
        return std::future::pending().await;
    }
    // First: a change that was looked at would be lost if something else came meanwhile.
    sleep_until(not_before).await;
    let changes = screens.iter_mut().map(|screen| {
        Box::pin(async {
            if screen.changed().await.is_err() {
                // It is gone: what it shows stays.
                std::future::pending::<()>().await;
            }
        })
    });
    select_all(changes).await;
}

fn converted(output: Output, is_error: bool) -> ToolOutput {
    let mut content = vec![ContentBlock::text(output.text)];
    let pictures = output.pictures.into_iter();
    content.extend(pictures.map(|(kind, data)| ContentBlock::image(data, kind)));
    let mut details = output.details;
    let mut add = |name: &str, value: Value| {
        let mut with = match details.take() {
            Some(Value::Object(map)) => map,
            _ => Map::new(),
        };
        with.insert(name.to_owned(), value);
        details = Some(Value::Object(with));
    };
    if !output.locations.is_empty() {
        let locations = output
            .locations
            .iter()
            .map(|location| json!({ "path": location.path, "line": location.line }));
        add("locations", locations.collect());
    }
    if !output.diffs.is_empty() {
        let diffs = output
            .diffs
            .iter()
            .map(|diff| json!({ "path": diff.path, "oldText": diff.old, "newText": diff.new }));
        add("diffs", diffs.collect());
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
