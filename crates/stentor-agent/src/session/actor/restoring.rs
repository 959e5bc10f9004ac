//! Going on with a stored session.

use std::collections::HashSet;
use std::sync::Arc;

use super::queueing::{QUEUED, UNQUEUED};
use super::{Actor, Consumed};
use crate::clock::parse_iso_time;
use crate::event::{EventKind, NoticeLevel};
use crate::message::{
    BranchSummary, CompactionSummary, ContentBlock, CustomMessage, KnownMessage, Message,
    ToolResultMessage,
};
use crate::session::error::SessionError;
use crate::session::options::SessionOptions;
use crate::session::queues::Queued;
use crate::session::settings::ChosenModel;
use crate::store::{Compaction, Entry, EntryKind};
use crate::tool::Plan;
use crate::turn::INTERRUPTED;

/// What a stored session says, its journal aside.
pub(super) struct Stored {
    pub context: Vec<Entry>,
    pub leaf: Option<String>,
    pub name: Option<String>,
    pub model: Option<(String, String)>,
    pub thinking_level: Option<String>,
    pub warnings: Vec<String>,
}

impl Actor {
    pub(super) fn restore(
        &mut self,
        stored: Stored,
        options: &SessionOptions,
    ) -> Result<(), SessionError> {
        self.leaf = stored.leaf;
        if self.name.is_none() {
            self.name = stored.name;
        }
        self.consumed = Consumed::Unread;
        self.restore_model(stored.model, stored.thinking_level, options);
        self.restore_messages(&stored.context);
        self.restore_waiting(&stored.context);
        self.restore_plan();
        self.settle_interrupted_calls()?;
        for message in stored.warnings {
            self.hub.publish(EventKind::Notice {
                level: NoticeLevel::Warning,
                message,
            });
        }
        Ok(())
    }

    fn restore_model(
        &mut self,
        model: Option<(String, String)>,
        level: Option<String>,
        options: &SessionOptions,
    ) {
        if options.model.is_none()
            && let Some((provider, id)) = model
            && let Some(info) = self.environment.models.find(&provider, &id)
        {
            self.settings.model = Some(ChosenModel::new(&self.environment, info));
        }
        let level = options.thinking.or_else(|| level?.parse().ok());
        let level = level.unwrap_or(self.settings.thinking);
        self.settings.thinking = self.settings.info().map_or(level, |info| info.clamp(level));
    }

    fn restore_messages(&mut self, context: &[Entry]) {
        let compaction = context.iter().rev().find_map(|entry| match &entry.kind {
            EntryKind::Compaction(compaction) => Some((entry, compaction)),
            _ => None,
        });
        if let Some((entry, compaction)) = compaction {
            self.conversation
                .push(entry.id.clone(), summary_of(entry, compaction));
        }
        for entry in context {
            if let Some(message) = message_of(entry) {
                self.conversation.push(entry.id.clone(), message);
            }
        }
    }

    /// Messages that were accepted but not delivered wait again.
    fn restore_waiting(&mut self, context: &[Entry]) {
        let mut gone: HashSet<&str> = context.iter().map(|entry| entry.id.as_str()).collect();
        for entry in context {
            if let EntryKind::Custom {
                custom_type,
                data: Some(data),
            } = &entry.kind
                && custom_type == UNQUEUED
                && let Some(ids) = data.get("deliverAs").and_then(|ids| ids.as_array())
            {
                gone.extend(ids.iter().filter_map(|id| id.as_str()));
            }
        }
        let mut seen = HashSet::new();
        for entry in context {
            if let EntryKind::Custom {
                custom_type,
                data: Some(data),
            } = &entry.kind
                && custom_type == QUEUED
                && let Ok(queued) = serde_json::from_value::<Queued>(data.clone())
                && !gone.contains(queued.deliver_as.as_str())
                && seen.insert(queued.deliver_as.clone())
            {
                self.waiting.push(queued);
            }
        }
        self.signal_steering();
    }

    /// The plan is in the details of the newest result that set it.
    fn restore_plan(&mut self) {
        let plan = self.conversation.items().iter().rev().find_map(|item| {
            let result = item.message.as_tool_result()?;
            serde_json::from_value::<Plan>(result.details.clone()?).ok()
        });
        if let Some(plan) = plan {
            self.host.restore_plan(plan);
        }
    }

    /// A call without a result was running when its process died. It is never run again: its
    /// result says that what it did is unknown.
    fn settle_interrupted_calls(&mut self) -> Result<(), SessionError> {
        let messages = self.conversation.messages();
        let answered: HashSet<&str> = messages
            .iter()
            .filter_map(|message| Some(message.as_tool_result()?.tool_call_id.as_str()))
            .collect();
        let open: Vec<(String, String)> = messages
            .iter()
            .filter_map(|message| message.as_assistant())
            .flat_map(|message| message.tool_calls())
            .filter(|call| !answered.contains(call.id.as_str()))
            .map(|call| (call.id.clone(), call.name.clone()))
            .collect();
        for (tool_call_id, tool_name) in open {
            let message: Message = KnownMessage::ToolResult(ToolResultMessage {
                tool_call_id,
                tool_name,
                content: vec![ContentBlock::text(INTERRUPTED)],
                details: Some(serde_json::json!({ "interrupted": true })),
                is_error: true,
                timestamp: self.environment.clock.now_ms(),
            })
            .into();
            let id = self.new_entry_id();
            self.append_message(id, Arc::new(message))?;
        }
        Ok(())
    }
}

fn summary_of(entry: &Entry, compaction: &Compaction) -> Arc<Message> {
    Arc::new(
        KnownMessage::CompactionSummary(CompactionSummary {
            summary: compaction.summary.clone(),
            tokens_before: compaction.tokens_before,
            timestamp: parse_iso_time(&entry.timestamp).unwrap_or_default(),
        })
        .into(),
    )
}

/// The message an entry stands for in the conversation, if it stands for one.
pub(super) fn message_of(entry: &Entry) -> Option<Arc<Message>> {
    let timestamp = || parse_iso_time(&entry.timestamp).unwrap_or_default();
    match &entry.kind {
        EntryKind::Message { message } => Some(Arc::clone(message)),
        EntryKind::CustomMessage {
            custom_type,
            content,
            display,
            details,
        } => Some(Arc::new(
            KnownMessage::Custom(CustomMessage {
                custom_type: custom_type.clone(),
                content: content.clone(),
                display: *display,
                details: details.clone(),
                timestamp: timestamp(),
            })
            .into(),
        )),
        EntryKind::BranchSummary {
            from_id, summary, ..
        } => Some(Arc::new(
            KnownMessage::BranchSummary(BranchSummary {
                summary: summary.clone(),
                from_id: from_id.clone(),
                timestamp: timestamp(),
            })
            .into(),
        )),
        EntryKind::ModelChange { .. }
        | EntryKind::ThinkingLevelChange { .. }
        | EntryKind::Compaction(_)
        | EntryKind::Custom { .. }
        | EntryKind::Label { .. }
        | EntryKind::SessionInfo { .. }
        | EntryKind::Other(_) => None,
    }
}
