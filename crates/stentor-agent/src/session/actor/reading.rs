//! What the session says about itself.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use stentor_journal::clock::iso_time;
use stentor_journal::message::{KnownMessage, Message};
use stentor_journal::store::{self, Entry, Header, Journal, Opened, StoreError};
use stentor_journal::usage::Usage;

use super::{Actor, Consumed};
use crate::session::error::SessionError;
use crate::session::state::{ContextUse, ForkPoint, SessionSnapshot, SessionState, SessionStats};
use crate::tool::ToolHost;

impl Actor {
    pub(super) fn state(&self) -> SessionState {
        let is_compacting = self.signals.compacting.load(Ordering::Acquire);
        SessionState {
            id: Arc::clone(&self.id),
            file: self.record.path().map(Into::into),
            name: self.name.clone(),
            cwd: self.cwd.to_path_buf(),
            model: self.settings.info().cloned(),
            thinking: self.settings.thinking,
            is_running: self.activity.is_some(),
            is_compacting,
            retry_attempt: self.signals.retry_attempt.load(Ordering::Acquire),
            interrupt_pending: self.signals.is_interrupted(),
            steering_mode: self.settings.steering_mode,
            follow_up_mode: self.settings.follow_up_mode,
            interrupt_mode: self.settings.interrupt_mode,
            auto_compaction: self.settings.auto_compaction,
            auto_retry: self.settings.auto_retry,
            permission_mode: self.policy.mode(),
            sandbox: Arc::clone(&self.sandbox),
            message_count: self.conversation.items().len(),
            queues: Arc::new(self.waiting.texts()),
            context: self.context_use(),
            tokens_per_second: self.conversation.tokens_per_second(),
            plan: self.host.plan(),
            leaf: self.leaf.clone(),
            is_scoped: !self.settings.scoped_models.is_empty(),
            scoped_models: self
                .settings
                .scoped_models
                .iter()
                .map(|scoped| Arc::clone(&scoped.model))
                .collect(),
        }
    }

    pub(super) fn snapshot(&mut self, with_stats: bool) -> Box<SessionSnapshot> {
        let stats = with_stats.then(|| self.stats());
        Box::new(SessionSnapshot {
            state: self.state(),
            messages: self.conversation.messages(),
            stats: stats.and_then(Result::ok),
        })
    }

    pub(super) fn stats(&mut self) -> Result<SessionStats, SessionError> {
        let (total_usage, total_turns) = self.consumed_so_far()?;
        let mut stats = SessionStats {
            id: Arc::clone(&self.id),
            file: self.record.path().map(Into::into),
            user_messages: 0,
            assistant_messages: 0,
            tool_calls: 0,
            tool_results: 0,
            total_messages: self.conversation.items().len(),
            context_usage: Usage::default(),
            total_usage,
            total_turns,
            context: self.context_use(),
        };
        for item in self.conversation.items() {
            match &*item.message {
                Message::Known(KnownMessage::User(_)) => stats.user_messages += 1,
                Message::Known(KnownMessage::Assistant(message)) => {
                    stats.assistant_messages += 1;
                    stats.tool_calls += message.tool_calls().count();
                    stats.context_usage.add(&message.usage);
                }
                Message::Known(KnownMessage::ToolResult(_)) => stats.tool_results += 1,
                Message::Known(_) | Message::Other(_) => {}
            }
        }
        Ok(stats)
    }

    /// Tokens, cost and model calls of the whole session. A resumed session's file is read for it
    /// once, when somebody first wants to know.
    pub(super) fn consumed_so_far(&mut self) -> Result<(Usage, u64), StoreError> {
        if let Consumed::Unread = self.consumed {
            let totals = self.record.totals()?;
            self.consumed = Consumed::Known {
                usage: totals.usage,
                turns: totals.assistant_messages + totals.summaries,
            };
        }
        match &self.consumed {
            Consumed::Known { usage, turns } => {
                let mut so_far = *usage;
                so_far.add(&self.host.consumed_now());
                Ok((so_far, *turns))
            }
            Consumed::Unread => Ok((Usage::default(), 0)),
        }
    }

    pub(super) fn active_path(&self) -> Result<(Header, Vec<Entry>), SessionError> {
        let path = match (&self.leaf, self.record.journal()) {
            (Some(leaf), Some(journal)) => journal.path_to(leaf)?,
            // Until there is a journal there are no branches.
            _ => self.record.read_all()?,
        };
        Ok((self.record.header().clone(), path))
    }

    pub(super) fn entries(&self) -> Result<(Header, Vec<Entry>), SessionError> {
        Ok((self.record.header().clone(), self.record.read_all()?))
    }

    /// Copies the conversation up to a point into a new session.
    pub(super) fn fork(
        &mut self,
        point: ForkPoint,
        id: Option<String>,
    ) -> Result<(Opened, Option<String>), SessionError> {
        let (up_to, text) = match point {
            ForkPoint::Leaf => (self.leaf.clone(), None),
            ForkPoint::After(id) => {
                let entry = self.entry(&id)?.ok_or(SessionError::UnknownEntry(id))?;
                (Some(entry.id), None)
            }
            ForkPoint::Before(id) => {
                let entry = self.entry(&id)?.ok_or(SessionError::NotAUserMessage)?;
                let store::EntryKind::Message { message } = &entry.kind else {
                    return Err(SessionError::NotAUserMessage);
                };
                let user = message.as_user().ok_or(SessionError::NotAUserMessage)?;
                (entry.parent_id, Some(user.content.text()))
            }
        };
        let Some(journal) = self.record.journal() else {
            return Err(SessionError::NothingToFork);
        };
        let clock = &*self.environment.clock;
        let path = journal.path();
        let header = Header {
            version: store::CURRENT_VERSION,
            id: id.unwrap_or_else(|| clock.session_id()),
            timestamp: iso_time(clock.now_ms()),
            cwd: journal.header().cwd.clone(),
            parent_session: path.map(|path| path.to_string_lossy().into_owned()),
            title: None,
        };
        let folder = path.map(|path| path.parent().unwrap_or(path));
        let opened = match (up_to, path, folder) {
            (None, _, Some(folder)) => empty(store::create(folder, header, clock)?),
            (None, _, None) => empty(store::memory(header)),
            (Some(id), Some(path), Some(folder)) => {
                store::fork(path, Some(&id), folder, header, clock)?
            }
            (Some(id), _, _) => store::fork_in_memory(journal, Some(&id), header)?,
        };
        Ok((opened, text))
    }

    fn entry(&self, id: &str) -> Result<Option<Entry>, StoreError> {
        let entries = self.record.read_all()?;
        Ok(entries.into_iter().rev().find(|entry| entry.id == id))
    }

    fn context_use(&self) -> ContextUse {
        let window = self.settings.info().map_or(0, |info| info.context_window);
        ContextUse {
            tokens: self.conversation.counted_tokens(),
            window,
        }
    }
}

/// A session without entries.
fn empty(journal: Box<dyn Journal>) -> Opened {
    Opened {
        journal,
        context: Vec::new(),
        leaf: None,
        name: None,
        model: None,
        thinking_level: None,
        warnings: Vec::new(),
    }
}
