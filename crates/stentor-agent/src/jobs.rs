//! What runs beside a conversation: commands of the user, subagents. Clients list it, look at it
//! and stop it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use stentor_journal::clock::SharedClock;

/// Ended jobs that are remembered; the oldest is forgotten first.
pub const MAX_ENDED: usize = 200;

/// The jobs of one session.
pub struct Jobs {
    clock: SharedClock,
    state: Mutex<JobsState>,
}

#[derive(Default)]
struct JobsState {
    started: u64,
    ended: u64,
    jobs: VecDeque<Entry>,
}

struct Entry {
    job: Job,
    cancel: CancellationToken,
}

/// A job as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Unique in its session.
    pub id: String,
    pub kind: JobKind,
    pub work: JobWork,
    /// Counts the jobs of the session, from one.
    pub number: u64,
    pub status: JobStatus,
    pub started_ms: u64,
    pub cancel_requested_ms: Option<u64>,
    pub ended: Option<EndedJob>,
}

/// What a job does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobWork {
    pub tool_name: String,
    pub tool_call_id: String,
    /// For people: the command, the task.
    pub what: String,
}

/// What kind of thing a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobKind {
    /// A shell command of the user.
    Shell,
    Subagent,
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobStatus {
    Running,
    /// It was told to stop and has not stopped yet.
    PendingCancel,
    Completed,
    Failed,
    Cancelled,
    TimedOut,
}

/// The end of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct EndedJob {
    pub at_ms: u64,
    /// Counts the ends in the session, from one.
    pub number: u64,
    pub payload: Option<Value>,
    pub payload_file: Option<PathBuf>,
}

/// How a job ends.
#[derive(Debug, Clone, PartialEq)]
pub struct JobEnd {
    pub status: JobStatus,
    pub payload: Option<Value>,
    /// Where the whole of it is, if the payload is only a part.
    pub payload_file: Option<PathBuf>,
}

/// A job that is running. Dropped without an end, it counts as failed.
#[must_use = "a job that is dropped counts as failed"]
pub struct RunningJob {
    jobs: Arc<Jobs>,
    number: u64,
    over: bool,
}

impl JobStatus {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Running,
        Self::PendingCancel,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::TimedOut,
    ];

    /// Its name for clients.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::PendingCancel => "pending-cancel",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed-out",
        }
    }

    /// The status of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// True when nothing runs any more.
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Running | Self::PendingCancel)
    }
}

impl JobKind {
    /// Its name for clients.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Subagent => "subagent",
        }
    }
}

impl Jobs {
    /// No jobs yet.
    pub fn new(clock: SharedClock) -> Arc<Self> {
        Arc::new(Self {
            clock,
            state: Mutex::default(),
        })
    }

    /// Notes something that runs from now on and stops when `cancel` fires.
    pub fn start(
        self: &Arc<Self>,
        kind: JobKind,
        work: JobWork,
        cancel: CancellationToken,
    ) -> RunningJob {
        let started_ms = self.clock.now_ms();
        let mut state = self.lock();
        state.started += 1;
        let number = state.started;
        let job = Job {
            id: format!("job-{number}"),
            kind,
            work,
            number,
            status: JobStatus::Running,
            started_ms,
            cancel_requested_ms: None,
            ended: None,
        };
        state.jobs.push_back(Entry { job, cancel });
        RunningJob {
            jobs: Arc::clone(self),
            number,
            over: false,
        }
    }

    /// The jobs, in the order they started.
    pub fn list(&self) -> Vec<Job> {
        let state = self.lock();
        state.jobs.iter().map(|entry| entry.job.clone()).collect()
    }

    /// One job.
    pub fn find(&self, id: &str) -> Option<Job> {
        let state = self.lock();
        let entry = state.jobs.iter().find(|entry| entry.job.id == id)?;
        Some(entry.job.clone())
    }

    /// Tells a job to stop and returns it as it is then; one that is over stays as it is.
    pub fn cancel(&self, id: &str) -> Option<Job> {
        let now_ms = self.clock.now_ms();
        let mut state = self.lock();
        let entry = state.jobs.iter_mut().find(|entry| entry.job.id == id)?;
        entry.stop(now_ms);
        Some(entry.job.clone())
    }

    /// Tells every running job of a kind to stop.
    pub fn cancel_all(&self, kind: JobKind) {
        let now_ms = self.clock.now_ms();
        let mut state = self.lock();
        for entry in &mut state.jobs {
            if entry.job.kind == kind {
                entry.stop(now_ms);
            }
        }
    }

    fn end(&self, number: u64, end: JobEnd) {
        let at_ms = self.clock.now_ms();
        let mut state = self.lock();
        state.ended += 1;
        let ended_number = state.ended;
        let entry = state
            .jobs
            .iter_mut()
            .find(|entry| entry.job.number == number);
        if let Some(entry) = entry {
            entry.job.status = end.status;
            entry.job.ended = Some(EndedJob {
                at_ms,
                number: ended_number,
                payload: end.payload,
                payload_file: end.payload_file,
            });
        }
        state.forget_old();
    }

    fn lock(&self) -> MutexGuard<'_, JobsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl JobsState {
    fn forget_old(&mut self) {
        let over = |entry: &Entry| entry.job.status.is_over();
        let ended = self.jobs.iter().filter(|entry| over(entry)).count();
        if ended > MAX_ENDED
            && let Some(oldest) = self.jobs.iter().position(over)
        {
            self.jobs.remove(oldest);
        }
    }
}

impl Entry {
    fn stop(&mut self, now_ms: u64) {
        if self.job.status == JobStatus::Running {
            self.job.status = JobStatus::PendingCancel;
            self.job.cancel_requested_ms = Some(now_ms);
            self.cancel.cancel();
        }
    }
}

impl RunningJob {
    /// Notes how it ended.
    pub fn end(mut self, end: JobEnd) {
        self.over = true;
        self.jobs.end(self.number, end);
    }
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        if !self.over {
            let end = JobEnd {
                status: JobStatus::Failed,
                payload: None,
                payload_file: None,
            };
            self.jobs.end(self.number, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use stentor_journal::clock::CountingClock;

    use super::*;

    fn jobs() -> Arc<Jobs> {
        Jobs::new(Arc::new(CountingClock::starting_at(100)))
    }

    fn work() -> JobWork {
        JobWork {
            tool_name: "bash".into(),
            tool_call_id: "bash-1".into(),
            what: "ls".into(),
        }
    }

    fn done(status: JobStatus) -> JobEnd {
        JobEnd {
            status,
            payload: None,
            payload_file: None,
        }
    }

    #[test]
    fn a_job_is_listed_cancelled_and_ends_once() {
        let jobs = jobs();
        let cancel = CancellationToken::new();
        let running = jobs.start(JobKind::Shell, work(), cancel.clone());
        assert_eq!(jobs.list()[0].status, JobStatus::Running);
        let told = jobs.cancel("job-1").unwrap();
        assert_eq!(
            (told.status, told.cancel_requested_ms),
            (JobStatus::PendingCancel, Some(101))
        );
        assert!(cancel.is_cancelled());
        assert_eq!(jobs.cancel("job-1"), Some(told));
        running.end(done(JobStatus::Cancelled));
        let job = jobs.find("job-1").unwrap();
        assert_eq!(job.status, JobStatus::Cancelled);
        assert_eq!(job.ended.as_ref().unwrap().number, 1);
        assert_eq!(jobs.cancel("job-1"), Some(job));
        assert_eq!(jobs.cancel("job-2"), None);
    }

    #[test]
    fn a_job_whose_task_died_counts_as_failed() {
        let jobs = jobs();
        drop(jobs.start(JobKind::Subagent, work(), CancellationToken::new()));
        assert_eq!(jobs.list()[0].status, JobStatus::Failed);
    }

    #[test]
    fn ended_jobs_are_forgotten_oldest_first_and_running_ones_never() {
        let jobs = jobs();
        let running = jobs.start(JobKind::Shell, work(), CancellationToken::new());
        for _ in 0..MAX_ENDED + 5 {
            let job = jobs.start(JobKind::Shell, work(), CancellationToken::new());
            job.end(done(JobStatus::Completed));
        }
        let left = jobs.list();
        assert_eq!(left.len(), MAX_ENDED + 1);
        assert_eq!((left[0].number, left[1].number), (1, 7));
        running.end(done(JobStatus::Completed));
    }
}
