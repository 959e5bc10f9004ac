//! Checkpoints, and going back to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::json;
use stentor_checkpoint::CheckpointId;
use stentor_checkpoint::recorder::FilesRewound;
use stentor_journal::store::{self, Entry, EntryKind, JournalReader};
use stentor_text::visible::visible_name;
use tokio::sync::{mpsc, oneshot};

use super::Actor;
use super::restore::plan_in;
use crate::event::{EventKind, NoticeLevel, NoticeSource, StateChange};
use crate::hub::Hub;
use crate::session::options::SessionOptions;
use crate::session::rewind::places::{self, CHECKPOINT, REWOUND, RewindPlace};
use crate::session::rewind::{Rewind, RewindError, RewindReport, RewindScope};
use crate::tasks;
use crate::tool::ToolHost;
use crate::turn::RunRequest;
use crate::undo::{Undo, UndoHost, UndoSource};

/// What a session needs of itself to record what can be undone.
struct OwnUndo {
    requests: mpsc::Sender<RunRequest>,
    hub: Hub,
}

impl UndoHost for OwnUndo {
    fn begin_checkpoint(&self) -> BoxFuture<'static, Option<CheckpointId>> {
        let requests = self.requests.clone();
        Box::pin(async move {
            let (reply, id) = oneshot::channel();
            let asked = requests.send(RunRequest::BeginCheckpoint { reply }).await;
            asked.ok()?;
            id.await.ok()
        })
    }

    fn warn(&self, message: String) {
        self.hub.publish(EventKind::Notice {
            level: NoticeLevel::Warning,
            message,
            from: NoticeSource::Agent,
        });
    }
}

/// Where a session records what its calls change.
pub(super) fn of_session(
    options: &SessionOptions,
    id: &Arc<str>,
    hub: &Hub,
    requests: &mpsc::Sender<RunRequest>,
) -> Option<Arc<Undo>> {
    match options.undo.clone()? {
        UndoSource::Of(undo) => Some(Arc::new(undo.of_subagent())),
        UndoSource::Own(store) => {
            let host = OwnUndo {
                requests: requests.clone(),
                hub: hub.clone(),
            };
            Some(Arc::new(Undo::new(*store, id, Box::new(host))))
        }
    }
}

impl Actor {
    /// Records that something has changed that can be undone.
    pub(super) fn begin_checkpoint(&mut self) -> CheckpointId {
        let entry = self.log.new_entry_id();
        let id = CheckpointId::of_entry(&self.id, &entry);
        let kind = EntryKind::Custom {
            custom_type: CHECKPOINT.to_owned(),
            data: Some(json!({ "id": id.as_str() })),
        };
        let now_ms = self.log.now_ms();
        if let Err(error) = self.log.append_at(entry, now_ms, kind, false) {
            tracing::warn!(%error, "what is changed will not be undone when the session is resumed");
        }
        id
    }

    /// Nothing runs any more: what undo needs only during a run is let go.
    pub(super) fn finish_undo(&self) {
        if let (Some(undo), true) = (&self.undo, self.has_own_undo) {
            undo.finish();
        }
    }

    /// Goes back. The actor waits for the disk, since nothing may change in between: neither the
    /// conversation nor what its runs change.
    pub(super) async fn rewind(&mut self, wanted: Rewind) -> Result<RewindReport, RewindError> {
        if self.activities.is_any_running() {
            return Err(RewindError::Busy);
        }
        self.close_unanswered()?;
        self.shells.deliver(&mut self.log)?;
        let reader = self.log.reader()?;
        let entries = read(&reader).await?;
        let place = places::find(&entries, &wanted.target)?;
        let scope = wanted.scope.unwrap_or(place.scope);
        if scope == RewindScope::Files && self.undo.is_none() {
            return Err(RewindError::Off);
        }
        let entry = self.log.new_entry_id();
        let checkpoint = CheckpointId::of_entry(&self.id, &entry);
        let files = match self.undo.as_ref().filter(|_| scope.has_files()) {
            Some(undo) => {
                let ids = places::checkpoints(&entries, place.since);
                let rewound = undo.rewind(ids, wanted.force, checkpoint.clone()).await;
                let rewound = rewound.ok_or_else(RewindError::internal)?;
                Some(rewound.map_err(RewindError::Files)?)
            }
            None => None,
        };
        let has_checkpoint = files
            .as_ref()
            .is_some_and(|files| !files.done.changes.is_empty() && files.unrecorded.is_none());
        let from = self.log.leaf().cloned();
        let context = match scope.has_conversation() {
            true => self.go_to(&reader, place.leaf.clone()).await?,
            false => Vec::new(),
        };
        let note = json!({
            "from": from,
            "message": place.message,
            "scope": scope.as_str(),
            "checkpoint": has_checkpoint.then(|| checkpoint.as_str()),
        });
        let kind = EntryKind::Custom {
            custom_type: REWOUND.to_owned(),
            data: Some(note),
        };
        let now_ms = self.log.now_ms();
        self.log.append_at(entry, now_ms, kind, false)?;
        if scope.has_conversation() {
            self.note_settings_again()?;
            self.report_lost_jobs(&context)?;
            self.publish_change(StateChange::Leaf(self.log.leaf().cloned()));
        }
        let since = place.since;
        let mut report = report(place, scope, files);
        if scope.has_files() && self.undo.is_some() {
            report
                .unknown
                .extend(self.interrupted_changes(&entries, since));
            report.left_running = self.shells.left_running().commands();
        }
        if let (true, Some(undo)) = (scope.has_files(), &self.undo) {
            let ran = places::calls(&entries, since)
                .into_iter()
                .any(|call| self.tools.runs_commands(call, &self.cwd));
            report.has_ignored = ran && undo.has_ignored().await;
        }
        Ok(report)
    }

    /// What calls from an entry on may have changed that ran when their process ended.
    pub(in crate::session) fn interrupted_changes(
        &self,
        entries: &[Entry],
        since: usize,
    ) -> Vec<String> {
        let calls = places::interrupted(entries, since).into_iter();
        let changed = calls.filter_map(|call| self.tools.changed_by(call, &self.cwd));
        changed.collect()
    }

    /// Has the conversation go on from another entry. Returns what is in its context then.
    async fn go_to(
        &mut self,
        reader: &Arc<dyn JournalReader>,
        leaf: Option<String>,
    ) -> Result<Vec<Entry>, RewindError> {
        let path = match leaf.clone() {
            Some(leaf) => {
                let reader = Arc::clone(reader);
                blocking(move || reader.path_to(&leaf)).await??
            }
            None => Vec::new(),
        };
        let context = store::in_context(path);
        self.log.move_to(leaf);
        self.restore_messages(&context);
        self.tools
            .host
            .set_plan(plan_in(&context).unwrap_or_default());
        Ok(context)
    }
}

fn report(place: RewindPlace, scope: RewindScope, files: Option<FilesRewound>) -> RewindReport {
    let mut report = RewindReport {
        scope,
        message: place.message,
        text: place.text,
        restored: Vec::new(),
        restored_of_jobs: BTreeMap::new(),
        changed: Vec::new(),
        lost: Vec::new(),
        unknown: Vec::new(),
        running: Vec::new(),
        left_running: Vec::new(),
        has_ignored: false,
        missing_checkpoints: 0,
    };
    let Some(FilesRewound {
        plan,
        done,
        unrecorded,
    }) = files
    else {
        return report;
    };
    let failed = |path: &std::path::Path| done.failed.iter().any(|(other, _)| other == path);
    let was_done =
        |path: &std::path::Path| done.changes.files.iter().any(|change| change.path == path);
    let all = plan.steps.iter().chain(&plan.changed);
    for step in all.filter(|step| was_done(&step.path)) {
        let restored = match &step.during {
            Some(jobs) => report.restored_of_jobs.entry(jobs.clone()).or_default(),
            None => &mut report.restored,
        };
        restored.push(visible_name(&step.shown()).into_owned());
    }
    let left = plan.changed.iter();
    let left = left.filter(|step| !was_done(&step.path) && !failed(&step.path));
    report.changed = left.map(|step| shown(&step.path)).collect();
    let lost = plan.lost.iter().chain(&done.failed);
    report.lost = lost.map(|(path, why)| (shown(path), why.clone())).collect();
    report.unknown = plan.unknown;
    report.unknown.extend(unrecorded);
    report.running = plan.running;
    report.missing_checkpoints = plan.missing;
    report
}

/// A path as people are shown it: names may have been chosen to look like something else.
fn shown(path: &std::path::Path) -> String {
    visible_name(&path.to_string_lossy()).into_owned()
}

async fn read(reader: &Arc<dyn JournalReader>) -> Result<Vec<Entry>, RewindError> {
    let reader = Arc::clone(reader);
    Ok(blocking(move || reader.read_all()).await??)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, RewindError> {
    let done = tasks::spawn_blocking(work).await;
    done.map_err(|error| RewindError::Stopped(error.to_string()))
}
