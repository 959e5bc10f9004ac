//! What the model has in the background: what the file says of it, and how the model learns that it
//! has ended.
//!
//! A job is noted in the file when it starts. Its end is a message that has the job's id in its
//! details, whether it waits or was delivered: a job without such a message behind its note is one
//! that the conversation believes to run. So a resumed session, a fork and a rewind each know what
//! the model has yet to be told, and tell it once.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use stentor_journal::message::UserContent;
use stentor_journal::store::{Entry, EntryKind, StoreError};

use super::Actor;
use super::activities::Activities;
use super::log::SessionLog;
use super::queues::QUEUED;
use super::restore::notes;
use super::runs::OpeningMessage;
use crate::event::{EventKind, NoticeLevel, NoticeSource};
use crate::jobs::{JOB_MESSAGE, Job, JobReport, Jobs, shortened};
use crate::model_host::OWN_TURN;
use crate::session::handle::RunId;
use crate::session::queues::{CustomPart, QueueKind, QueuedMessage};

/// The note on disk that a job runs in the background. Its data is a [`StoredJob`].
const JOB: &str = "stentor.job";

/// Runs in a row that the ends of jobs may begin while nobody says anything. Then they wait for a
/// person: a model that has a new job started by the end of each would go on for ever.
const MOST_UNASKED_RUNS: u32 = 20;

/// A job as it stands in the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StoredJob {
    id: String,
    number: u64,
    what: String,
}

/// What the actor knows of the jobs in the background.
pub(super) struct Background {
    jobs: Arc<Jobs>,
    /// The end of a job begins a run where nothing runs.
    wakes: bool,
    /// Somebody stopped the agent and has said nothing since.
    is_held: bool,
    unasked_runs: u32,
    /// The model has begun to work by itself, which no run has shown yet.
    model_waits: bool,
    /// The last of them, until somebody says something to it.
    unasked: Option<RunId>,
    is_closing: bool,
    /// Those whose end was not reported yet.
    running: BTreeMap<String, StoredJob>,
}

impl Background {
    pub fn new(jobs: Arc<Jobs>, wakes: bool) -> Self {
        Self {
            jobs,
            wakes,
            is_held: false,
            unasked_runs: 0,
            model_waits: false,
            unasked: None,
            is_closing: false,
            running: BTreeMap::new(),
        }
    }

    pub fn is_any_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// A person said something.
    pub fn prompted(&mut self) {
        self.is_held = false;
        self.unasked_runs = 0;
    }

    /// A run begins, which shows what the model does.
    pub fn run_begins(&mut self) {
        self.model_waits = false;
    }

    /// A person stopped the agent: nothing wakes it until they say something.
    pub fn hold(&mut self) {
        self.is_held = true;
    }

    /// The run that goes on though nobody asked for it. From now on somebody did.
    pub fn take_unasked(&mut self, activities: &Activities) -> Option<RunId> {
        self.unasked
            .take()
            .filter(|run| activities.is_running(*run))
    }

    /// Stops everything. What ends from now on is only recorded.
    pub fn close(&mut self) {
        self.is_closing = true;
        self.jobs.cancel_background();
    }

    pub fn is_closing(&self) -> bool {
        self.is_closing
    }

    fn may_wake(&self) -> bool {
        self.wakes && !self.is_held && !self.is_closing && self.unasked_runs < MOST_UNASKED_RUNS
    }

    /// Notes on disk again what runs.
    pub fn note_again(&self, log: &mut SessionLog) -> Result<(), StoreError> {
        let mut running = self.running.values();
        running.try_for_each(|job| log.note(JOB, job, true))
    }

    /// The jobs that the conversation believes to run and that do not.
    fn lost(&self, session: &str, context: &[Entry]) -> Vec<StoredJob> {
        let ended = ended_in(session, context);
        let mut seen = HashSet::new();
        notes(context, JOB)
            .filter_map(|data| StoredJob::deserialize(data).ok())
            .filter(|job| !ended.contains(job.id.as_str()) && !self.running.contains_key(&job.id))
            .filter(|job| seen.insert(job.id.clone()))
            .collect()
    }
}

impl Actor {
    pub(super) fn is_at_rest(&self) -> bool {
        !self.activities.is_any_running() && !self.background.is_any_running()
    }

    /// A job began or ended in the background.
    pub(super) async fn job_reported(&mut self, report: JobReport) {
        match report {
            JobReport::Started(job) => {
                let stored = StoredJob {
                    id: job.id.clone(),
                    number: job.number,
                    what: job.work.what.clone(),
                };
                if let Err(error) = self.log.note(JOB, &stored, true) {
                    tracing::warn!(%error, "a resumed session will not know of {}", job.id);
                }
                self.background.running.insert(job.id, stored);
            }
            JobReport::Ended { job, message } => {
                self.background.running.remove(&job.id);
                // What a subagent consumed outside a run is in no round of calls.
                self.spending.count_tools(&mut self.log);
                let text = message.unwrap_or_default();
                self.job_ended(&job, text).await;
            }
        }
        self.hub.publish(EventKind::JobsChanged);
    }

    /// Has the model told that a job ended: now if nothing runs, else before its next call. Without
    /// a text it knows.
    async fn job_ended(&mut self, job: &Job, text: String) {
        let details = json!({ "jobs": [{
            "id": job.id,
            "kind": job.kind.as_str(),
            "status": job.status.as_str(),
            "what": job.work.what,
        }]});
        if text.is_empty() {
            // It is in the file all the same, so that nobody is told later.
            let known = json!({ "details": details });
            if let Err(error) = self.log.note(JOB_ENDED, &known, true) {
                tracing::warn!(%error, "the end of {} was not recorded", job.id);
            }
            return;
        }
        let notice = self.notice(text, details);
        if !self.activities.is_any_running() && self.background.may_wake() {
            return self.wake(notice).await;
        }
        if !self.activities.is_any_running() && !self.background.is_closing {
            // Nobody would see it before the next prompt.
            self.hub.publish(EventKind::Notice {
                level: NoticeLevel::Info,
                message: format!("{} {}.", job.id, job.status.in_words()),
                from: NoticeSource::Agent,
            });
        }
        if let Err(error) = self.queues.enqueue(&mut self.log, notice).await {
            tracing::warn!(%error, "the end of {} is not known to the model", job.id);
        }
    }

    /// Begins a run with what waits, if there is something and nothing else runs.
    pub(super) async fn wake_for_notices(&mut self) {
        if self.activities.is_any_running() || !self.background.may_wake() {
            return;
        }
        if let Some(notice) = self.queues.take_notice() {
            self.wake(notice).await;
        } else if self.background.model_waits {
            self.model_goes_on().await;
        }
    }

    /// Begins a run that shows what the model does by itself. False when there can be none now.
    pub(super) async fn model_goes_on(&mut self) -> bool {
        if self.activities.is_any_running() {
            // It may be the end of a run, which shows nothing any more.
            self.background.model_waits = true;
            return false;
        }
        // A run that has ended meanwhile may have shown it.
        self.background.model_waits = false;
        if !self.background.may_wake() || !self.model_works() {
            return false;
        }
        let notice = self.notice(OWN_TURN.to_owned(), json!({}));
        self.background.unasked_runs += 1;
        let opening = OpeningMessage::Extension(Box::new(notice));
        match self.begin_run(opening, None).await {
            Ok(run) => {
                self.background.unasked = Some(run);
                true
            }
            Err(error) => {
                tracing::warn!(%error, "no run could be begun for what the model does by itself");
                false
            }
        }
    }

    fn model_works(&self) -> bool {
        let model = self.models.current();
        let model = model.and_then(|model| model.opened.as_ref().ok());
        model.is_some_and(|model| model.works_by_itself())
    }

    async fn wake(&mut self, notice: QueuedMessage) {
        self.background.unasked_runs += 1;
        let opening = OpeningMessage::Extension(Box::new(notice.clone()));
        let error = match self.begin_run(opening, None).await {
            Ok(run) => {
                self.background.unasked = Some(run);
                return;
            }
            Err(error) => error,
        };
        tracing::warn!(%error, "no run could be begun for a job that ended");
        let again = QueuedMessage {
            deliver_as: self.log.reserve_entry_id(),
            ..notice
        };
        if let Err(error) = self.queues.enqueue(&mut self.log, again).await {
            tracing::warn!(%error, "the end of a job is not known to the model");
        }
    }

    /// Has the model told, with the next prompt, of jobs that it believes to run and that do not.
    pub(super) fn report_lost_jobs(&mut self, context: &[Entry]) -> Result<(), StoreError> {
        let numbers = notes(context, JOB).filter_map(|data| data.get("number")?.as_u64());
        if let Some(last) = numbers.max() {
            self.background.jobs.go_on_after(last);
        }
        let lost = self.background.lost(&self.id, context);
        if lost.is_empty() {
            return Ok(());
        }
        let named = lost
            .iter()
            .map(|job| format!("{} (`{}`)", job.id, shortened(&job.what)));
        let named: Vec<String> = named.collect();
        let text = format!(
            "[These background jobs no longer run: {}. They ended with the process that ran them, or \
             belong to the session that this one was copied from.]",
            named.join(", ")
        );
        let jobs = lost
            .iter()
            .map(|job| json!({ "id": job.id, "status": "lost", "what": job.what }));
        let details = json!({ "jobs": jobs.collect::<Vec<Value>>() });
        let notice = self.notice(text, details);
        self.queues.enqueue_unsynced(&mut self.log, notice)
    }

    fn notice(&mut self, text: String, details: Value) -> QueuedMessage {
        let custom = CustomPart {
            custom_type: JOB_MESSAGE.to_owned(),
            display: true,
            details: Some(details),
        };
        self.queued(
            QueueKind::Notice,
            UserContent::Text(text),
            Some(custom),
            None,
        )
    }
}

/// The note on disk that a job ended whose end the model knows.
const JOB_ENDED: &str = "stentor.jobEnded";

/// The ids of the jobs whose end the model was told, or will be.
fn ended_in<'a>(session: &str, context: &'a [Entry]) -> HashSet<&'a str> {
    let delivered = context.iter().filter_map(|entry| match &entry.kind {
        EntryKind::CustomMessage {
            custom_type,
            details,
            ..
        } if custom_type == JOB_MESSAGE => details.as_ref(),
        _ => None,
    });
    // Those that wait in another session stay there.
    let is_mine = |data: &&Value| data.get("session").and_then(Value::as_str) == Some(session);
    let waiting = notes(context, QUEUED).filter(is_mine);
    let waiting = waiting.filter_map(|data| data.get("custom")?.get("details"));
    let known = notes(context, JOB_ENDED).filter_map(|data| data.get("details"));
    delivered
        .chain(waiting)
        .chain(known)
        .filter_map(|details| details.get("jobs")?.as_array())
        .flatten()
        .filter_map(|job| job.get("id")?.as_str())
        .collect()
}
