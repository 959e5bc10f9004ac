//! Background jobs (section 9.9).

use stentor_agent::jobs::{Job, JobStatus};

use crate::psi::error::OpError;
use crate::psi::params::word_of;
use crate::psi::payload::job::ShownJob;
use crate::psi::request::{OpCall, OpDone, OpResult};

/// What is listed when no status is named.
pub const USUAL: [JobStatus; 2] = [JobStatus::Running, JobStatus::PendingCancel];

pub async fn list(call: &mut OpCall<'_>) -> OpResult {
    let named = call.params.items("statuses")?.map(|items| {
        let statuses = items.iter().map(|item| JobStatus::parse(word_of(item)?));
        statuses.flatten().collect::<Vec<_>>()
    });
    let live = call.target().await?;
    let jobs = with_status(
        live.session.jobs().list(),
        named.as_deref().unwrap_or(&USUAL),
    );
    OpDone::map(&[("jobs", &ShownJob::all(&jobs, &live.id))]).into()
}

pub async fn inspect(call: &mut OpCall<'_>) -> OpResult {
    let id = call.params.filled("job-id")?;
    let live = call.target().await?;
    let job = live.session.jobs().find(id).ok_or_else(|| unknown(id))?;
    OpDone::map(&[("job", &ShownJob(&job, &live.id))]).into()
}

pub async fn cancel(call: &mut OpCall<'_>) -> OpResult {
    let id = call.params.filled("job-id")?;
    let live = call.target().await?;
    let job = live.session.cancel_job(id)?.ok_or_else(|| unknown(id))?;
    let job = ShownJob(&job, &live.id);
    OpDone::map(&[("accepted", &true), ("job", &job)]).into()
}

pub fn with_status(mut jobs: Vec<Job>, statuses: &[JobStatus]) -> Vec<Job> {
    jobs.retain(|job| statuses.contains(&job.status));
    jobs
}

fn unknown(id: &str) -> OpError {
    OpError::failed(format!("there is no job {id}"))
}
