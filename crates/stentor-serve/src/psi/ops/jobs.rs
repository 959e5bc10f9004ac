//! Background jobs (section 9.9).

use stentor_agent::jobs::{Job, JobStatus};

use crate::psi::error::OpError;
use crate::psi::params::word_of;
use crate::psi::payload::{self, job::ShownJob};
use crate::psi::request::{Call, Done, Handled};

/// What is listed when no status is named.
pub(in crate::psi) const USUAL: [JobStatus; 2] = [JobStatus::Running, JobStatus::PendingCancel];

pub(in crate::psi) async fn list(call: &mut Call<'_>) -> Handled {
    let statuses = match call.params.items("statuses")? {
        None => USUAL.to_vec(),
        Some(items) => items
            .iter()
            .filter_map(|item| JobStatus::parse(word_of(item)?))
            .collect(),
    };
    let live = call.target().await?;
    let jobs = with_status(live.session.jobs().list(), &statuses);
    Done::data(payload::map(|data| {
        data.key("jobs").vector(|list| {
            for job in &jobs {
                let session_id = &live.id;
                list.value(&ShownJob { job, session_id });
            }
        });
    }))
    .into()
}

pub(in crate::psi) async fn inspect(call: &mut Call<'_>) -> Handled {
    let id = call.params.filled("job-id")?;
    let live = call.target().await?;
    let job = live.session.jobs().find(id).ok_or_else(|| unknown(id))?;
    Done::data(payload::map(|data| {
        let shown = ShownJob {
            job: &job,
            session_id: &live.id,
        };
        data.field("job", &shown);
    }))
    .into()
}

pub(in crate::psi) async fn cancel(call: &mut Call<'_>) -> Handled {
    let id = call.params.filled("job-id")?;
    let live = call.target().await?;
    let job = live.session.cancel_job(id)?.ok_or_else(|| unknown(id))?;
    Done::data(payload::map(|data| {
        let shown = ShownJob {
            job: &job,
            session_id: &live.id,
        };
        data.field("accepted", &true).field("job", &shown);
    }))
    .into()
}

pub(in crate::psi) fn with_status(mut jobs: Vec<Job>, statuses: &[JobStatus]) -> Vec<Job> {
    jobs.retain(|job| statuses.contains(&job.status));
    jobs
}

fn unknown(id: &str) -> OpError {
    OpError::failed(format!("there is no job {id}"))
}
