//! One start and one end for every subagent, whatever happens to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stentor_agent::event::{EventKind, Subagent, SubagentEnd};
use stentor_agent::tool::{Progress, ToolHost, ToolOutput};
use stentor_agent::usage::Usage;
use tokio::time::Instant;

/// The number of the last subagent of this process.
static LAST_ID: AtomicU64 = AtomicU64::new(0);

/// What is said about a subagent that went away before it had a result.
pub(super) const CANCELLED: &str = "cancelled";

/// A subagent whose start was told. When this goes, its end is told and its usage counted.
pub(super) struct Telling {
    host: Arc<dyn ToolHost>,
    progress: Progress,
    agent: Arc<Subagent>,
    started: Instant,
    /// What it consumed so far.
    pub usage: Usage,
    /// Its result, and whether that is a failure.
    outcome: Option<(String, bool)>,
}

impl Telling {
    /// Tells that a subagent starts.
    pub fn start(
        host: Arc<dyn ToolHost>,
        progress: Progress,
        name: String,
        task: String,
        call_id: String,
    ) -> Self {
        let agent = Arc::new(Subagent {
            id: LAST_ID.fetch_add(1, Ordering::Relaxed) + 1,
            name,
            task,
            call_id,
        });
        host.publish(EventKind::SubagentStarted(Arc::clone(&agent)));
        Self {
            host,
            progress,
            agent,
            started: Instant::now(),
            usage: Usage::default(),
            outcome: None,
        }
    }

    pub fn id(&self) -> u64 {
        self.agent.id
    }

    /// Tells what it is doing, as soon as there is room for it.
    pub async fn doing(&self, status: String) {
        self.host.room().await;
        let line = format!("{}: {status}", self.agent.name);
        self.progress.report(ToolOutput::text(line));
        self.host.publish(EventKind::SubagentProgress {
            agent: Arc::clone(&self.agent),
            status,
        });
    }

    /// It has a result.
    pub fn succeeded(&mut self, result: &str) {
        self.outcome = Some((result.to_owned(), false));
    }

    /// It failed, and why.
    pub fn failed(&mut self, why: &str) {
        self.outcome = Some((why.to_owned(), true));
    }

    pub fn duration_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        self.host.consumed(self.usage);
        let outcome = self.outcome.take();
        let (result, failed) = outcome.unwrap_or_else(|| (CANCELLED.to_owned(), true));
        let end = SubagentEnd {
            result,
            failed,
            duration_ms: self.duration_ms(),
            usage: self.usage,
        };
        self.host.publish(EventKind::SubagentEnded {
            agent: Arc::clone(&self.agent),
            end: Arc::new(end),
        });
    }
}
