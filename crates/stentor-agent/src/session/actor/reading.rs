//! What a session answers about itself. What is only in its file is read by other threads.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::Deserialize;
use serde_json::Value;
use stentor_journal::clock::{Clock, iso_time};
use stentor_journal::conversation::{estimate_text, estimate_tokens};
use stentor_journal::message::{KnownMessage, Message, ToolResultMessage};
use stentor_journal::store::{
    self, Entry, EntryKind, Journal, JournalReader, OpenedSession, SessionHeader, StoreError,
};
use stentor_journal::usage::Usage;

use super::permissions::PERMISSION_MODE;
use super::restore::notes;
use super::tools::CurrentTools;
use super::{Actor, answer};
use crate::session::command::Reply;
use crate::session::cost::CostMeter;
use crate::session::error::SessionError;
use crate::session::state::{
    ContextNeed, ContextUse, ForkPoint, SessionSnapshot, SessionState, SessionStats,
};
use crate::tasks;
use crate::tool::ToolHost;

/// A session made of a part of another, and the text of the message it stops before.
type ForkedSession = (OpenedSession, Option<String>);

impl Actor {
    pub(super) fn state(&self) -> SessionState {
        SessionState {
            id: Arc::clone(&self.id),
            file: self.log.path().map(Into::into),
            name: self.log.name().cloned(),
            cwd: self.cwd.to_path_buf(),
            model: self.models.info().cloned(),
            thinking: self.models.thinking(),
            is_running: self.activities.is_any_running(),
            is_compacting: self.signals.compacting.load(Ordering::Acquire),
            retry_attempt: self.signals.retry_attempt.load(Ordering::Acquire),
            interrupt_pending: self.signals.is_interrupted(),
            steering_mode: self.queues.steering_mode,
            follow_up_mode: self.queues.follow_up_mode,
            interrupt_mode: self.queues.interrupt_mode,
            auto_compaction: self.automatic.compaction,
            auto_retry: self.automatic.retry,
            permission_mode: self.permissions.mode(),
            mode_before_plan: self.permissions.mode_before_plan(),
            sandbox: Arc::clone(&self.sandbox),
            message_count: self.log.conversation().items().len(),
            queues: Arc::new(self.queues.texts()),
            context: self.context_use(),
            tokens_per_second: self.log.conversation().tokens_per_second(),
            plan: self.tools.host.plan(),
            leaf: self.log.leaf().cloned(),
            is_scoped: !self.models.scoped().is_empty(),
            scoped_models: self
                .models
                .scoped()
                .iter()
                .map(|scoped| Arc::clone(&scoped.model))
                .collect(),
            replaced_model: self.models.replaced.clone(),
        }
    }

    /// Answers with counts and sums, when what was consumed earlier is known.
    pub(super) fn answer_stats(&self, reply: Reply<Result<SessionStats, SessionError>>) {
        let counted = self.counted();
        tasks::spawn(async move { answer(reply, counted.await) });
    }

    /// Answers with what shows the cost of the session, when what was consumed earlier is known.
    pub(super) fn answer_cost(&self, reply: Reply<Result<CostMeter, SessionError>>) {
        let (earlier, now) = (self.spending.earlier(), self.tools.host.cost());
        tasks::spawn(async move {
            let earlier = earlier.get().await.map_err(SessionError::from);
            answer(reply, earlier.map(|earlier| now.after(&earlier.usage)));
        });
    }

    /// State, messages and, if wanted, counts and sums of the same moment.
    pub(super) fn answer_snapshot(&self, with_stats: bool, reply: Reply<SessionSnapshot>) {
        let mut snapshot = SessionSnapshot {
            state: self.state(),
            messages: self.log.conversation().messages(),
            stats: None,
        };
        if !with_stats {
            return answer(reply, snapshot);
        }
        let counted = self.counted();
        tasks::spawn(async move {
            snapshot.stats = counted.await.ok();
            answer(reply, snapshot);
        });
    }

    /// Counts and sums of now, when what was consumed earlier is known.
    fn counted(&self) -> impl Future<Output = Result<SessionStats, SessionError>> + 'static {
        let now = self.spending.now();
        let mut stats = SessionStats {
            id: Arc::clone(&self.id),
            file: self.log.path().map(Into::into),
            user_messages: 0,
            assistant_messages: 0,
            tool_calls: 0,
            tool_results: 0,
            total_messages: self.log.conversation().items().len(),
            context_usage: Usage::default(),
            total_usage: now.usage,
            total_turns: now.turns,
            context: self.context_use(),
        };
        for item in self.log.conversation().items() {
            match &*item.message {
                Message::Known(KnownMessage::User(_)) => stats.user_messages += 1,
                Message::Known(KnownMessage::Assistant(message)) => {
                    stats.assistant_messages += 1;
                    stats.tool_calls += message.tool_calls().count();
                    stats.context_usage.add(&message.usage);
                }
                Message::Known(KnownMessage::ToolResult(result)) => {
                    stats.tool_results += 1;
                    for usage in reported_by_subagents(result) {
                        stats.context_usage.add(&usage);
                    }
                }
                Message::Known(_) | Message::Other(_) => {}
            }
        }
        let earlier = self.spending.earlier();
        async move {
            let earlier = earlier.get().await?;
            stats.total_usage.add(&earlier.usage);
            stats.total_turns += earlier.turns;
            Ok(stats)
        }
    }

    /// Answers with the entries from the first to the one the session goes on from.
    pub(super) fn answer_path(
        &self,
        reply: Reply<Result<(SessionHeader, Vec<Entry>), SessionError>>,
    ) {
        let leaf = self.log.leaf().cloned();
        self.answer_from_journal(reply, |journal, header| {
            let path = match leaf {
                Some(leaf) => journal.path_to(&leaf)?,
                None => journal.read_all()?,
            };
            Ok((header.clone(), path))
        });
    }

    /// Answers whether the newest answer with this response id is on the path the session goes on
    /// from. One that cannot be found is not.
    pub(super) fn answer_has_newest(&self, response_id: String, reply: Reply<bool>) {
        let (Some(leaf), Ok(reader)) = (self.log.leaf().cloned(), self.log.reader()) else {
            return answer(reply, false);
        };
        tasks::spawn_blocking(move || {
            let found = reader.newest_answer_is_on_path(&leaf, &response_id);
            answer(reply, found.unwrap_or(false));
        });
    }

    /// Answers with what `read` makes of the journal, which it reads on another thread.
    pub(super) fn answer_from_journal<T: Send + 'static>(
        &self,
        reply: Reply<Result<T, SessionError>>,
        read: impl FnOnce(&dyn JournalReader, &SessionHeader) -> Result<T, SessionError>
        + Send
        + 'static,
    ) {
        let header = self.log.header().clone();
        match self.log.reader() {
            Ok(reader) => {
                tasks::spawn_blocking(move || answer(reply, read(&*reader, &header)));
            }
            Err(error) => answer(reply, Err(error.into())),
        }
    }

    /// Copies the conversation up to a point into a new session.
    pub(super) fn answer_fork(
        &self,
        point: ForkPoint,
        id: Option<String>,
        reply: Reply<Result<ForkedSession, SessionError>>,
    ) {
        let Some(path) = self.log.journal().and_then(Journal::path) else {
            return answer(reply, self.fork_in_memory(point, id));
        };
        let path = path.to_path_buf();
        let leaf = self.log.leaf().cloned();
        let clock = Arc::clone(&self.environment.clock);
        let journals = Arc::clone(&self.environment.journals);
        let mode = self.permissions.mode_note();
        let stored = self.log.stored_ancestor();
        self.answer_from_journal(reply, move |journal, header| {
            let (up_to, text) = fork_end(journal, leaf, point)?;
            let up_to = up_to.and_then(stored);
            let header = fork_header(header, Some(&path), id, &*clock);
            let folder = path.parent().unwrap_or(&path);
            let mut opened = match up_to {
                None => empty(journals.create(folder, header, &*clock)?),
                Some(id) => journals.fork(&path, Some(&id), folder, header, &*clock)?,
            };
            keep_mode(&mut opened, mode, &*clock)?;
            Ok((opened, text))
        });
    }

    fn fork_in_memory(
        &self,
        point: ForkPoint,
        id: Option<String>,
    ) -> Result<ForkedSession, SessionError> {
        let reader = self.log.reader()?;
        let (up_to, text) = fork_end(&*reader, self.log.leaf().cloned(), point)?;
        let journal = self.log.journal().ok_or(SessionError::NothingToFork)?;
        let header = fork_header(journal.header(), None, id, &*self.environment.clock);
        let mut opened = match up_to {
            None => empty(store::memory(header)),
            Some(id) => store::fork_in_memory(journal, Some(&id), header)?,
        };
        let mode = self.permissions.mode_note();
        keep_mode(&mut opened, mode, &*self.environment.clock)?;
        Ok((opened, text))
    }

    pub(super) fn context_need(&mut self) -> ContextNeed {
        let now = self.circumstances();
        let CurrentTools { specs, .. } = self.tools.current(now);
        let system = self.tools.system_prompt(&specs, now);
        let tools = specs.iter().map(|spec| {
            let described = estimate_text(&spec.name) + estimate_text(&spec.description);
            described + estimate_text(&spec.parameters.to_string())
        });
        let items = self.log.conversation().items().iter();
        ContextNeed {
            instructions: estimate_text(&system) + tools.sum::<u64>(),
            conversation: items.map(|item| estimate_tokens(&item.message)).sum(),
        }
    }

    fn context_use(&self) -> ContextUse {
        let window = self.models.info().map_or(0, |info| info.context_window);
        ContextUse {
            tokens: self.log.conversation().counted_tokens(),
            window,
        }
    }
}

/// The last entry of a fork, and the text of the message it stops before.
fn fork_end(
    journal: &dyn JournalReader,
    leaf: Option<String>,
    point: ForkPoint,
) -> Result<(Option<String>, Option<String>), SessionError> {
    let entry = |id: &str| -> Result<Option<Entry>, SessionError> {
        let entries = journal.read_all()?;
        Ok(entries.into_iter().rev().find(|entry| entry.id == id))
    };
    match point {
        ForkPoint::Leaf => Ok((leaf, None)),
        ForkPoint::After(id) => match entry(&id)? {
            Some(entry) => Ok((Some(entry.id), None)),
            None => Err(SessionError::UnknownEntry(id)),
        },
        ForkPoint::Before(id) => {
            let entry = entry(&id)?.ok_or(SessionError::NotAUserMessage)?;
            let EntryKind::Message { message } = &entry.kind else {
                return Err(SessionError::NotAUserMessage);
            };
            let user = message.as_user().ok_or(SessionError::NotAUserMessage)?;
            Ok((entry.parent_id, Some(user.content.text())))
        }
    }
}

/// A copy is in the mode of its session, also where it ends before that was chosen.
fn keep_mode(
    opened: &mut OpenedSession,
    mode: Option<Value>,
    clock: &dyn Clock,
) -> Result<(), StoreError> {
    let Some(mode) = mode else {
        return Ok(());
    };
    if notes(&opened.context, PERMISSION_MODE).last() == Some(&mode) {
        return Ok(());
    }
    let is_taken = |id: &str| opened.context.iter().any(|entry| entry.id == id);
    let entry = Entry {
        id: store::new_entry_id(clock, is_taken),
        parent_id: opened.leaf.take(),
        timestamp: iso_time(clock.now_ms()),
        kind: EntryKind::Custom {
            custom_type: PERMISSION_MODE.to_owned(),
            data: Some(mode),
        },
    };
    opened.journal.append(&entry)?;
    opened.leaf = Some(entry.id.clone());
    opened.context.push(entry);
    Ok(())
}

fn fork_header(
    of: &SessionHeader,
    path: Option<&Path>,
    id: Option<String>,
    clock: &dyn Clock,
) -> SessionHeader {
    SessionHeader {
        version: store::CURRENT_VERSION,
        id: id.unwrap_or_else(|| clock.session_id()),
        timestamp: iso_time(clock.now_ms()),
        cwd: of.cwd.clone(),
        parent_session: path.map(|path| path.to_string_lossy().into_owned()),
        title: None,
    }
}

/// A session without entries.
fn empty(journal: Box<dyn Journal>) -> OpenedSession {
    OpenedSession {
        journal,
        context: Vec::new(),
        leaf: None,
        name: None,
        model: None,
        thinking_level: None,
        warnings: Vec::new(),
    }
}

/// What the subagents of a call consumed, as its result says.
fn reported_by_subagents(result: &ToolResultMessage) -> impl Iterator<Item = Usage> {
    let reports = result.details.as_ref().and_then(|details| {
        let reports = details.get("subagents")?;
        reports.as_array()
    });
    reports.into_iter().flatten().filter_map(|report| {
        let usage = report.get("usage")?;
        Usage::deserialize(usage).ok()
    })
}
