//! What runs beside a conversation: commands of the user, subagents, and what the model has started
//! in the background. Clients list it, look at it and stop it; the model does so with its own jobs.

mod control;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use stentor_journal::clock::SharedClock;

pub use control::{InputError, InputFuture, JobControl, JobInput, JobOutput, SentText};

/// Ended jobs that are remembered; the oldest is forgotten first.
pub const MAX_ENDED: usize = 200;

/// The type of the messages by which the model learns what has ended.
pub const JOB_MESSAGE: &str = "job";

/// Jobs of the model that run in the background at the same time. A further one is refused.
pub const MAX_IN_BACKGROUND: usize = 32;

/// Characters of what a job does that one line shows.
const SHOWN_CHARS: usize = 100;

/// Ended jobs of the model whose output is still there to be read. Of older ones it goes.
const MAX_READABLE: usize = 16;

/// The jobs of one session.
pub struct Jobs {
    clock: SharedClock,
    state: Mutex<JobsState>,
}

#[derive(Default)]
struct JobsState {
    started: u64,
    ended: u64,
    jobs: VecDeque<JobEntry>,
}

struct JobEntry {
    job: Job,
    cancel: CancellationToken,
    /// Fires when it has ended.
    over: CancellationToken,
    /// How a job in the background is reached.
    control: Option<Arc<dyn JobControl>>,
    /// How much of its output the model has read.
    read_to: u64,
    /// The model had it stopped, so it needs no message about its end.
    end_is_known: bool,
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
    /// The model has started it and goes on meanwhile: it is the model's to look after.
    pub is_background: bool,
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
    /// A shell command that the model runs in the background.
    Command,
    Subagent,
}

/// What is recorded of a job in the background.
#[derive(Debug, Clone, PartialEq)]
pub enum JobReport {
    Started(Job),
    Ended {
        job: Job,
        /// What the model is told, unless it knows.
        message: Option<String>,
    },
}

/// Too much runs in the background.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{MAX_IN_BACKGROUND} jobs run in the background already: stop one first, or wait for its end"
)]
pub struct TooManyJobs;

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

    /// How it ended or not, for a sentence.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Running => "is running",
            Self::PendingCancel => "is being stopped",
            Self::Completed => "has ended",
            Self::Failed => "has failed",
            Self::Cancelled => "was stopped",
            Self::TimedOut => "was stopped by its time limit",
        }
    }

    /// True when nothing runs any more.
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Running | Self::PendingCancel)
    }
}

impl Job {
    /// The job in one line.
    pub fn line(&self) -> String {
        let about = shortened(&self.work.what);
        format!("{}  [{}]  {about}", self.id, self.status.as_str())
    }
}

impl JobKind {
    /// Its name for clients.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Command => "command",
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
        let number = self.enter(&mut self.lock(), kind, work, cancel, None);
        self.running(number)
    }

    /// Notes something that the model has started and that goes on in the background.
    pub fn start_in_background(
        self: &Arc<Self>,
        kind: JobKind,
        work: JobWork,
        cancel: CancellationToken,
        control: Arc<dyn JobControl>,
    ) -> Result<RunningJob, TooManyJobs> {
        let mut state = self.lock();
        let running = state.jobs.iter().filter(|entry| entry.runs_in_background());
        if running.count() >= MAX_IN_BACKGROUND {
            return Err(TooManyJobs);
        }
        let number = self.enter(&mut state, kind, work, cancel, Some(control));
        Ok(self.running(number))
    }

    fn enter(
        &self,
        state: &mut JobsState,
        kind: JobKind,
        work: JobWork,
        cancel: CancellationToken,
        control: Option<Arc<dyn JobControl>>,
    ) -> u64 {
        state.started += 1;
        let number = state.started;
        let job = Job {
            id: format!("job-{number}"),
            kind,
            work,
            number,
            is_background: control.is_some(),
            status: JobStatus::Running,
            started_ms: self.clock.now_ms(),
            cancel_requested_ms: None,
            ended: None,
        };
        state.jobs.push_back(JobEntry {
            job,
            cancel,
            over: CancellationToken::new(),
            control,
            read_to: 0,
            end_is_known: false,
        });
        number
    }

    fn running(self: &Arc<Self>, number: u64) -> RunningJob {
        RunningJob {
            jobs: Arc::clone(self),
            number,
            over: false,
        }
    }

    /// The next job has a higher number than this: a resumed session does not use ids again.
    pub fn go_on_after(&self, number: u64) {
        let mut state = self.lock();
        state.started = state.started.max(number);
    }

    /// Those that the model has in the background and that still run.
    pub fn in_background(&self) -> Vec<Job> {
        let state = self.lock();
        let running = state.jobs.iter().filter(|entry| entry.runs_in_background());
        running.map(|entry| entry.job.clone()).collect()
    }

    /// How a job of the model's is reached.
    pub fn control(&self, id: &str) -> Option<Arc<dyn JobControl>> {
        let state = self.lock();
        let entry = state.jobs.iter().find(|entry| entry.job.id == id)?;
        entry.control.clone()
    }

    /// What a job of the model's has put out since the model last read it.
    pub fn read_new(&self, id: &str) -> Option<JobOutput> {
        let mut state = self.lock();
        let entry = state.jobs.iter_mut().find(|entry| entry.job.id == id)?;
        let output = entry.control.as_ref()?.output(entry.read_to);
        entry.read_to = output.next;
        Some(output)
    }

    /// The end of what a job of the model's has put out, which stays unread for the model.
    pub fn peek(&self, id: &str) -> Option<JobOutput> {
        let state = self.lock();
        let entry = state.jobs.iter().find(|entry| entry.job.id == id)?;
        Some(entry.control.as_ref()?.output(entry.read_to))
    }

    /// The last lines a job of the model's has put out, for people. It stays unread for the model.
    pub fn shown_output(&self, id: &str) -> Option<String> {
        let output = self.control(id)?.output(0);
        let text = last_lines(output.text.trim_end());
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Waits until a job has ended; at once when there is none.
    pub async fn ended(&self, id: &str) {
        let over = {
            let state = self.lock();
            let entry = state.jobs.iter().find(|entry| entry.job.id == id);
            entry.map(|entry| entry.over.clone())
        };
        if let Some(over) = over {
            over.cancelled().await;
        }
    }

    /// The model has a job stopped: its end is no news then.
    pub fn end_is_known(&self, id: &str) {
        let mut state = self.lock();
        let mut jobs = state.jobs.iter_mut();
        if let Some(entry) = jobs.find(|entry| entry.job.id == id) {
            entry.end_is_known = true;
        }
    }

    /// Tells everything that the model has in the background to stop.
    pub fn cancel_background(&self) {
        let now_ms = self.clock.now_ms();
        let mut state = self.lock();
        for entry in &mut state.jobs {
            if entry.job.is_background {
                entry.stop(now_ms);
            }
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
            entry.over.cancel();
        }
        state.forget_old();
    }

    fn lock(&self) -> MutexGuard<'_, JobsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl JobsState {
    fn forget_old(&mut self) {
        let over = |entry: &JobEntry| entry.job.status.is_over();
        let ended = self.jobs.iter().filter(|entry| over(entry)).count();
        if ended > MAX_ENDED
            && let Some(oldest) = self.jobs.iter().position(over)
        {
            self.jobs.remove(oldest);
        }
        let readable = |entry: &&mut JobEntry| over(entry) && entry.control.is_some();
        let readable = self.jobs.iter_mut().rev().filter(readable);
        for entry in readable.skip(MAX_READABLE) {
            entry.control = None;
        }
    }
}

impl JobEntry {
    fn runs_in_background(&self) -> bool {
        self.job.is_background && !self.job.status.is_over()
    }

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

    /// The job as it is now.
    pub fn job(&self) -> Option<Job> {
        self.entry(|entry| entry.job.clone())
    }

    /// True when the model had it stopped.
    pub fn is_end_known(&self) -> bool {
        self.entry(|entry| entry.end_is_known).unwrap_or_default()
    }

    fn entry<T>(&self, look: impl FnOnce(&JobEntry) -> T) -> Option<T> {
        let state = self.jobs.lock();
        let mut jobs = state.jobs.iter();
        jobs.find(|entry| entry.job.number == self.number).map(look)
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

/// The end of an output, as much as one looks at.
fn last_lines(text: &str) -> &str {
    const LINES: usize = 40;
    const BYTES: usize = 8 * 1024;
    let from = text.ceil_char_boundary(text.len().saturating_sub(BYTES));
    let text = text.get(from..).unwrap_or_default();
    match memchr::memrchr_iter(b'\n', text.as_bytes()).nth(LINES - 1) {
        Some(before) => text.get(before + 1..).unwrap_or_default(),
        None => text,
    }
}

/// What a job does, as much as fits one line.
pub fn shortened(what: &str) -> String {
    let line = what.lines().next().unwrap_or_default();
    let mut about: String = line.chars().take(SHOWN_CHARS).collect();
    if about.len() < what.len() {
        about.push('…');
    }
    about
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

    #[test]
    fn of_a_long_output_the_last_lines_are_shown() {
        let text: String = (0..100).map(|n| format!("{n}\n")).collect();
        let shown = last_lines(text.trim_end());
        assert_eq!(shown.lines().count(), 40);
        assert!(shown.starts_with("60\n") && shown.ends_with("99"));
        assert_eq!(last_lines("a"), "a");
    }
}
