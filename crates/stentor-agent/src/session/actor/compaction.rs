//! Deciding what to compact, and recording it.

use std::sync::Arc;

use serde_json::json;
use stentor_journal::conversation::{self, ConversationItem, estimate_tokens};
use stentor_journal::message::{CompactionSummary, KnownMessage, Message};
use stentor_journal::store::{Compaction, EntryKind, StoreError};

use super::Actor;
use super::activities::PendingActivity;
use super::restore::PLAN;
use crate::event::{CompactionReason, CompactionResult};
use crate::session::command::Reply;
use crate::tool::{Plan, ToolHost};
use crate::turn::{CompactionError, CompactionPlan, RunWork, find_cut};

impl Actor {
    /// Compacts because somebody asked for it. A running turn is stopped first.
    pub(super) fn compact(
        &mut self,
        reason: CompactionReason,
        instructions: Option<String>,
        reply: Reply<Result<CompactionResult, CompactionError>>,
    ) {
        self.permissions.cancel_questions();
        if self.activities.is_any_running() {
            self.activities.cancel();
            self.activities.pend(PendingActivity::Compact {
                reason,
                instructions,
                reply,
            });
        } else {
            let work = RunWork::Compact {
                reason,
                instructions,
                reply,
            };
            self.start(work, None);
        }
    }

    /// What to summarise. `None` when nothing needs to be, an error when nothing can be.
    pub(super) fn plan_compaction(
        &self,
        reason: CompactionReason,
    ) -> Result<Option<Box<CompactionPlan>>, CompactionError> {
        let Some(chosen) = self.models.current() else {
            return Err(CompactionError::NoModel);
        };
        let window = chosen.info.context_window;
        let manual = reason.is_asked_for();
        let keeps_context = chosen
            .opened
            .as_ref()
            .is_ok_and(|model| model.keeps_context());
        if !manual && (!self.automatic.compaction || keeps_context) {
            return Ok(None);
        }
        let tokens_before = self.log.conversation().tokens();
        // Half of a small window must do: the whole of it in reserve would leave none to work in.
        let reserve = self.compaction.reserve_tokens.min(window / 2);
        let near = window.saturating_sub(reserve);
        if reason == CompactionReason::Threshold && (window == 0 || tokens_before <= near) {
            return Ok(None);
        }
        let items = self.log.conversation().items();
        if manual && self.only_just_compacted() {
            return Err(CompactionError::AlreadyCompacted);
        }
        if reason == CompactionReason::Handoff {
            // One that was never answered has nothing to hand over.
            if items.len() < 2 {
                return Err(CompactionError::NothingToHandOff);
            }
            return self.plan_of(items.len(), tokens_before).map(Some);
        }
        // What is kept must leave room in the window, or compacting would not help.
        let keep = self.compaction.keep_recent_tokens.min(near / 2);
        let force = reason != CompactionReason::Threshold;
        let Some(cut) = find_cut(items, keep, force) else {
            return if reason == CompactionReason::Threshold {
                Ok(None)
            } else {
                Err(CompactionError::TooSmall)
            };
        };
        self.plan_of(cut, tokens_before).map(Some)
    }

    /// The plan to summarise the first `cut` messages.
    fn plan_of(
        &self,
        cut: usize,
        tokens_before: u64,
    ) -> Result<Box<CompactionPlan>, CompactionError> {
        let Some(chosen) = self.models.current() else {
            return Err(CompactionError::NoModel);
        };
        let model = chosen
            .opened
            .as_ref()
            .map_err(|error| CompactionError::Model(error.clone()))?;
        let items = self.log.conversation().items();
        let older = items.iter().take(cut).map(|item| &item.message);
        let first_kept = items.get(cut);
        Ok(Box::new(CompactionPlan {
            model: Arc::clone(model),
            older: conversation::lower(older),
            first_kept_entry_id: first_kept.map(|item| item.entry_id.clone()),
            tokens_before,
            instructions: None,
        }))
    }

    /// Records a compaction: an entry that refers to what is kept, never a copy of it.
    pub(super) fn compacted(
        &mut self,
        mut result: CompactionResult,
    ) -> Result<CompactionResult, StoreError> {
        let items = self.log.conversation().items();
        let first_kept = items
            .iter()
            .position(|item| item.entry_id == result.first_kept_entry_id);
        let first_kept = first_kept.unwrap_or(items.len());
        let details = json!({
            "readFiles": result.read_files,
            "modifiedFiles": result.modified_files,
        });
        // A resumed session takes the summary's time from the entry, so they are the same here.
        let now_ms = self.log.now_ms();
        let entry_id = self.log.new_entry_id();
        if result.first_kept_entry_id.is_empty() {
            // Nothing is kept, which other programs read from this.
            result.first_kept_entry_id.clone_from(&entry_id);
        }
        let entry_id = self.log.append_at(
            entry_id,
            now_ms,
            EntryKind::Compaction(Compaction {
                summary: result.summary.clone(),
                first_kept_entry_id: result.first_kept_entry_id.clone(),
                tokens_before: result.tokens_before,
                details: Some(details),
                extra: serde_json::Map::new(),
            }),
            true,
        )?;
        let message: Message = KnownMessage::CompactionSummary(CompactionSummary {
            summary: result.summary.clone(),
            tokens_before: result.tokens_before,
            timestamp: now_ms,
            rest: Default::default(),
        })
        .into();
        self.log.compact(
            ConversationItem {
                entry_id,
                message: Arc::new(message),
            },
            first_kept,
        );
        let items = self.log.conversation().items();
        result.tokens_after = items
            .iter()
            .map(|item| estimate_tokens(&item.message))
            .sum();
        self.note_settings_again()?;
        Ok(result)
    }

    /// Repeats what a reader of the newest part of the file must know: opening a long session
    /// does not read what lies before the compaction, nor what is on another branch.
    pub(super) fn note_settings_again(&mut self) -> Result<(), StoreError> {
        let log = &mut self.log;
        if let Some(info) = self.models.info() {
            log.note_model(info, true)?;
        }
        log.note_thinking(self.models.thinking(), true)?;
        log.note_name(true)?;
        self.permissions.note_mode(log)?;
        self.queues.note_again(log)?;
        self.background.note_again(log)?;
        self.shells.note_again(log)?;
        let plan = self.tools.host.plan();
        if plan != Plan::default() {
            log.note(PLAN, &plan, false)?;
        }
        Ok(())
    }

    /// True when nothing was said since the last compaction.
    fn only_just_compacted(&self) -> bool {
        let items = self.log.conversation().items();
        let Some(Message::Known(KnownMessage::CompactionSummary(summary))) =
            items.first().map(|item| &*item.message)
        else {
            return false;
        };
        items
            .iter()
            .skip(1)
            .all(|item| written_at(&item.message) <= summary.timestamp)
    }
}

fn written_at(message: &Message) -> u64 {
    match message {
        Message::Known(known) => known.timestamp(),
        Message::Other(_) => 0,
    }
}
