//! One start and one end for every subagent, whatever happens to it; meanwhile it is a job of its
//! session, which clients list and stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;
use stentor_agent::event::{Event, EventKind, Subagent, SubagentEnd};
use stentor_agent::jobs::{JobEnd, JobKind, JobStatus, JobWork, RunningJob};
use stentor_agent::tool::{Progress, ToolHost, ToolOutput};
use stentor_journal::message::{KnownMessage, Message};
use stentor_journal::usage::Usage;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::SUBAGENT;
use super::activity::SubagentActivity;

/// The number of the last subagent of this process.
static LAST_ID: AtomicU64 = AtomicU64::new(0);

/// What is said about a subagent that went away before it had a result.
pub(super) const CANCELLED: &str = "cancelled";

/// The number of a new subagent.
pub(super) fn new_id() -> u64 {
    LAST_ID.fetch_add(1, Ordering::Relaxed) + 1
}

/// A subagent whose start was told. When this goes, its end is told. What it consumes its own session
/// counts into that of the host, call by call.
pub(super) struct PublishedSubagent {
    host: Arc<dyn ToolHost>,
    progress: Progress,
    agent: Arc<Subagent>,
    activity: SubagentActivity,
    started: Instant,
    /// What it consumed so far.
    pub usage: Usage,
    /// Its result or why there is none, and how that counts.
    outcome: Option<(String, JobStatus)>,
    /// Its place among the jobs of the session, if somebody keeps them.
    job: Option<RunningJob>,
}

impl PublishedSubagent {
    /// Tells that a subagent starts, which stops when `cancel` fires. Without a token it is a job
    /// already, of whoever started it in the background.
    pub fn start(
        host: Arc<dyn ToolHost>,
        progress: Progress,
        agent: Subagent,
        cancel: Option<CancellationToken>,
    ) -> Self {
        let work = JobWork {
            tool_name: SUBAGENT.to_owned(),
            tool_call_id: agent.call_id.clone(),
            what: format!("{}: {}", agent.name, agent.task),
        };
        // Whoever hears of the start finds the job.
        let job = host
            .jobs()
            .zip(cancel)
            .map(|(jobs, cancel)| jobs.start(JobKind::Subagent, work, cancel));
        let agent = Arc::new(agent);
        host.publish(EventKind::SubagentStarted(Arc::clone(&agent)));
        Self {
            host,
            progress,
            agent,
            activity: SubagentActivity::default(),
            started: Instant::now(),
            usage: Usage::default(),
            outcome: None,
            job,
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
            self.host.wait_for_capacity().await;
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
        self.host.wait_for_capacity().await;
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
        self.outcome = Some((result.to_owned(), JobStatus::Completed));
    }

    /// It has none: why, and whether it failed, was stopped or took too long.
    pub fn failed(&mut self, why: &str, status: JobStatus) {
        self.outcome = Some((why.to_owned(), status));
    }

    pub fn duration_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Drop for PublishedSubagent {
    fn drop(&mut self) {
        let outcome = self.outcome.take();
        let (result, status) =
            outcome.unwrap_or_else(|| (CANCELLED.to_owned(), JobStatus::Cancelled));
        if let Some(job) = self.job.take() {
            job.end(JobEnd {
                status,
                payload: Some(json!(result)),
                payload_file: None,
            });
        }
        let end = SubagentEnd {
            result,
            failed: status != JobStatus::Completed,
            cancelled: status == JobStatus::Cancelled,
            duration_ms: self.duration_ms(),
            usage: self.usage,
        };
        self.host.publish(EventKind::SubagentEnded {
            agent: Arc::clone(&self.agent),
            end: Arc::new(end),
        });
    }
}
