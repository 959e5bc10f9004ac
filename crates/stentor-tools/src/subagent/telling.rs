//! One start and one end for every subagent, whatever happens to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stentor_agent::event::{Event, EventKind, Subagent, SubagentEnd};
use stentor_agent::message::{KnownMessage, Message};
use stentor_agent::tool::{Progress, ToolHost, ToolOutput};
use stentor_agent::usage::Usage;
use tokio::time::Instant;

use super::activity::Activity;

/// The number of the last subagent of this process.
static LAST_ID: AtomicU64 = AtomicU64::new(0);

/// What is said about a subagent that went away before it had a result.
pub(super) const CANCELLED: &str = "cancelled";

/// The number of a new subagent.
pub(super) fn new_id() -> u64 {
    LAST_ID.fetch_add(1, Ordering::Relaxed) + 1
}

/// A subagent whose start was told. When this goes, its end is told and its usage counted.
pub(super) struct Telling {
    host: Arc<dyn ToolHost>,
    progress: Progress,
    agent: Arc<Subagent>,
    activity: Activity,
    started: Instant,
    /// What it consumed so far.
    pub usage: Usage,
    outcome: Outcome,
}

/// What became of it.
enum Outcome {
    Cancelled,
    Succeeded(String),
    Failed(String),
}

impl Telling {
    /// Tells that a subagent starts.
    pub fn start(host: Arc<dyn ToolHost>, progress: Progress, agent: Subagent) -> Self {
        let agent = Arc::new(agent);
        host.publish(EventKind::SubagentStarted(Arc::clone(&agent)));
        Self {
            host,
            progress,
            agent,
            activity: Activity::default(),
            started: Instant::now(),
            usage: Usage::default(),
            outcome: Outcome::Cancelled,
        }
    }

    pub fn id(&self) -> u64 {
        self.agent.id
    }

    /// Something happened in its session: tells it, as soon as there is room for it.
    pub async fn hear(&mut self, event: &Event) {
        if let EventKind::MessageEnded { message, .. } = &event.kind
            && let Message::Known(KnownMessage::Assistant(answer)) = &**message
        {
            self.usage.add(&answer.usage);
        }
        let watched = self.host.subagents().is_some_and(|all| all.is_watched());
        if watched {
            self.host.room().await;
            self.host.publish(EventKind::SubagentEvent {
                agent: Arc::clone(&self.agent),
                event: Box::new(event.clone()),
            });
        }
        if let Some(status) = self.activity.status(event) {
            self.doing(status).await;
        }
    }

    /// Tells what it is doing.
    async fn doing(&self, status: String) {
        self.host.room().await;
        let line = format!("{}: {status}", self.agent.name);
        self.progress.report(ToolOutput::text(line));
        self.host.publish(EventKind::SubagentProgress {
            agent: Arc::clone(&self.agent),
            status,
            work: Arc::new(self.activity.work(self.duration_ms())),
        });
    }

    /// It has a result.
    pub fn succeeded(&mut self, result: &str) {
        self.outcome = Outcome::Succeeded(result.to_owned());
    }

    /// It failed, and why.
    pub fn failed(&mut self, why: &str) {
        self.outcome = Outcome::Failed(why.to_owned());
    }

    pub fn duration_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        self.host.consumed(self.usage);
        let outcome = std::mem::replace(&mut self.outcome, Outcome::Cancelled);
        let (result, failed, cancelled) = match outcome {
            Outcome::Succeeded(result) => (result, false, false),
            Outcome::Failed(why) => (why, true, false),
            Outcome::Cancelled => (CANCELLED.to_owned(), true, true),
        };
        let end = SubagentEnd {
            result,
            failed,
            cancelled,
            duration_ms: self.duration_ms(),
            usage: self.usage,
        };
        self.host.publish(EventKind::SubagentEnded {
            agent: Arc::clone(&self.agent),
            end: Arc::new(end),
        });
    }
}
