//! One start and one end for every subagent, whatever happens to it; meanwhile it is a job of its
//! session, which clients list and stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;
use stentor_agent::event::{EventKind, Subagent, SubagentEnd};
use stentor_agent::jobs::{JobEnd, JobKind, JobStatus, JobWork, RunningJob};
use stentor_agent::tool::{Progress, ToolContext, ToolHost, ToolOutput};
use stentor_agent::usage::Usage;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::SUBAGENT;

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
    /// Its result or why there is none, and how that counts.
    outcome: Option<(String, JobStatus)>,
    /// Its place among the jobs of the session, if somebody keeps them.
    job: Option<RunningJob>,
    /// Fires when the call must end, and when the job is stopped.
    pub cancel: CancellationToken,
}

impl Telling {
    /// Tells that a subagent starts.
    pub fn start(context: &ToolContext, name: String, task: String) -> Self {
        let host = Arc::clone(&context.host);
        let cancel = context.cancel.child_token();
        let work = JobWork {
            tool_name: SUBAGENT.to_owned(),
            tool_call_id: context.call_id.clone(),
            what: format!("{name}: {task}"),
        };
        // Whoever hears of the start finds the job.
        let job = host
            .jobs()
            .map(|jobs| jobs.start(JobKind::Subagent, work, cancel.clone()));
        let agent = Arc::new(Subagent {
            id: LAST_ID.fetch_add(1, Ordering::Relaxed) + 1,
            name,
            task,
            call_id: context.call_id.clone(),
        });
        host.publish(EventKind::SubagentStarted(Arc::clone(&agent)));
        Self {
            host,
            progress: context.progress.clone(),
            agent,
            started: Instant::now(),
            usage: Usage::default(),
            outcome: None,
            job,
            cancel,
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

impl Drop for Telling {
    fn drop(&mut self) {
        self.host.consumed(self.usage);
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
            duration_ms: self.duration_ms(),
            usage: self.usage,
        };
        self.host.publish(EventKind::SubagentEnded {
            agent: Arc::clone(&self.agent),
            end: Arc::new(end),
        });
    }
}
