//! Background jobs (section 9.9).

use stentor_agent::jobs::{Job, JobStatus};
use stentor_journal::clock::iso_time;
use stentor_wire::edn::{EdnWriter, Keyword, WriteEdn};

use super::error::OpError;
use super::params::word_of;
use super::request::{OpCall, OpDone, OpResult};

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

/// A job of a session, which has this id.
pub struct ShownJob<'a>(pub &'a Job, pub &'a str);

impl<'a> ShownJob<'a> {
    pub fn all(jobs: &'a [Job], session_id: &'a str) -> Vec<Self> {
        jobs.iter().map(|job| Self(job, session_id)).collect()
    }
}

/// `<job-id>  [<status>]  <tool-name>`.
pub fn list_line(job: &Job) -> String {
    let status = job.status.as_str();
    format!("{}  [{status}]  {}", job.id, job.work.tool_name)
}

impl WriteEdn for ShownJob<'_> {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        let Self(job, session_id) = self;
        let ended = job.ended.as_ref();
        let ended_at = ended.map(|ended| iso_time(ended.at_ms));
        let payload = ended.and_then(|ended| ended.payload.as_ref());
        let file = ended.and_then(|ended| ended.payload_file.as_ref());
        let file = file.map(|file| file.to_string_lossy());
        let status = Keyword(job.status.as_str());
        writer.map(|map| {
            map.field("job-id", &job.id)
                .field("thread-id", session_id)
                .field("tool-call-id", &job.work.tool_call_id)
                .field("tool-name", &job.work.tool_name)
                .field("job-kind", &Keyword(job.kind.as_str()))
                .field("workflow-ext-path", &None::<&str>)
                .field("workflow-id", &None::<&str>)
                .field("job-seq", &job.number)
                .field("started-at", &iso_time(job.started_ms))
                .field("completed-at", &ended_at)
                .field("completed-seq", &ended.map(|ended| ended.number))
                .field("status", &status)
                .field("terminal-payload", &payload)
                .field("terminal-payload-file", &file)
                .field(
                    "cancel-requested-at",
                    &job.cancel_requested_ms.map(iso_time),
                )
                .field("terminal-message-emitted", &ended.is_some())
                .field("terminal-message-emitted-at", &ended_at)
                .key("summary")
                .map(|summary| {
                    summary
                        .field("job-id", &job.id)
                        .field("tool-name", &job.work.tool_name)
                        .field("status", &status)
                        .field("status-label", job.status.as_str())
                        .field("is-terminal", &job.status.is_over())
                        .field("is-running", &(job.status == JobStatus::Running))
                        .field("is-cancelling", &(job.status == JobStatus::PendingCancel))
                        .field("list-line", &list_line(job));
                });
        });
    }
}
