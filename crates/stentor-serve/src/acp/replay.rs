//! A stored conversation as the updates it consisted of when it happened (section 5.2).

use std::collections::HashMap;
use std::sync::Arc;

use agent_client_protocol_schema::v1 as acp;
use stentor_journal::message::{
    AssistantMessage, BashExecution, ContentBlock, KnownBlock, KnownMessage, Message, StopReason,
    ToolCall, ToolResultMessage, UserContent,
};
use stentor_journal::store::{Entry, EntryKind};
use stentor_wire::acp::{ChunkFrames, ChunkKind};

use super::calls::{CallOutcome, CallViewer};
use super::changes::FileBefore;
use super::frames::update;
use super::shells;

/// Replays one conversation, entry by entry.
pub(super) struct Replay {
    session_id: Arc<str>,
    viewer: CallViewer,
    /// Calls without a result yet.
    open: HashMap<String, ToolCall>,
    /// In the order they were made.
    order: Vec<String>,
}

impl Replay {
    pub fn new(session_id: Arc<str>, viewer: CallViewer) -> Self {
        Self {
            session_id,
            viewer,
            open: HashMap::new(),
            order: Vec::new(),
        }
    }

    /// Appends the updates of one entry.
    pub fn entry(&mut self, entry: &Entry, frames: &mut Vec<u8>) {
        match &entry.kind {
            EntryKind::Message { message } => self.message(&entry.id, message, frames),
            EntryKind::CustomMessage {
                content,
                display: true,
                ..
            } => self.content(ChunkKind::Agent, &entry.id, content, frames),
            EntryKind::CustomMessage { .. }
            | EntryKind::ModelChange { .. }
            | EntryKind::ThinkingLevelChange { .. }
            | EntryKind::Compaction(_)
            | EntryKind::BranchSummary { .. }
            | EntryKind::Custom { .. }
            | EntryKind::ContextEdit { .. }
            | EntryKind::Label { .. }
            | EntryKind::SessionInfo { .. }
            | EntryKind::Other(_) => {}
        }
    }

    /// The calls that have no result.
    pub fn open_calls(self) -> impl Iterator<Item = String> {
        self.open.into_keys()
    }

    /// Ends the calls that never got a result.
    pub fn finish(&mut self, frames: &mut Vec<u8>) {
        for id in std::mem::take(&mut self.order) {
            if let Some(call) = self.open.remove(&id) {
                let content = [ContentBlock::text(stentor_agent::turn::INTERRUPTED)];
                self.ended(&call, &content, None, true, frames);
            }
        }
    }

    /// Appends the updates of a message that is the entry `id`, which is its id live as well.
    pub fn message(&mut self, id: &str, message: &Message, frames: &mut Vec<u8>) {
        let Message::Known(message) = message else {
            return;
        };
        match message {
            KnownMessage::User(user) => {
                self.content(ChunkKind::User, id, &user.content, frames);
            }
            KnownMessage::Assistant(answer) => self.answer(id, answer, frames),
            KnownMessage::ToolResult(result) => self.result(result, frames),
            KnownMessage::BashExecution(ran) => self.bash(id, ran, frames),
            KnownMessage::Custom(custom) if custom.display => {
                self.content(ChunkKind::Agent, id, &custom.content, frames);
            }
            KnownMessage::Custom(_)
            | KnownMessage::Developer(_)
            | KnownMessage::BranchSummary(_)
            | KnownMessage::CompactionSummary(_) => {}
        }
    }

    fn content(&self, kind: ChunkKind, id: &str, content: &UserContent, frames: &mut Vec<u8>) {
        let chunks = ChunkFrames::new(kind, &self.session_id, id);
        for block in content.to_blocks() {
            match &block {
                ContentBlock::Known(KnownBlock::Text(text)) => chunks.write(frames, &text.text),
                ContentBlock::Known(KnownBlock::Image(image)) => {
                    let image = acp::ImageContent::new(&*image.data, image.mime_type.clone());
                    let chunk = acp::ContentChunk::new(acp::ContentBlock::Image(image))
                        .message_id(acp::MessageId::new(id));
                    let chunk = match kind {
                        ChunkKind::User => acp::SessionUpdate::UserMessageChunk(chunk),
                        ChunkKind::Agent => acp::SessionUpdate::AgentMessageChunk(chunk),
                        ChunkKind::Thought => acp::SessionUpdate::AgentThoughtChunk(chunk),
                    };
                    update(frames, &self.session_id, chunk);
                }
                ContentBlock::Known(KnownBlock::Document(document)) => {
                    let name = document.name.as_deref().unwrap_or("a document");
                    chunks.write(frames, &format!("[{name}]"));
                }
                ContentBlock::Known(_) | ContentBlock::Other(_) => {}
            }
        }
    }

    /// The text of an answer that failed is left out: it was tried again, or said to have failed.
    fn answer(&mut self, id: &str, answer: &AssistantMessage, frames: &mut Vec<u8>) {
        let has_failed = answer.stop_reason == StopReason::Error;
        let thoughts = format!("{id}-thought");
        for block in &answer.content {
            match block {
                ContentBlock::Known(KnownBlock::Text(text)) if !has_failed => {
                    ChunkFrames::new(ChunkKind::Agent, &self.session_id, id)
                        .write(frames, &text.text);
                }
                ContentBlock::Known(KnownBlock::Thinking(thinking)) if !has_failed => {
                    ChunkFrames::new(ChunkKind::Thought, &self.session_id, &thoughts)
                        .write(frames, &thinking.thinking);
                }
                ContentBlock::Known(KnownBlock::ToolCall(call)) => {
                    let made = self.viewer.made(call);
                    update(frames, &self.session_id, acp::SessionUpdate::ToolCall(made));
                    self.order.push(call.id.clone());
                    self.open.insert(call.id.clone(), call.clone());
                }
                ContentBlock::Known(_) | ContentBlock::Other(_) => {}
            }
        }
    }

    fn result(&mut self, result: &ToolResultMessage, frames: &mut Vec<u8>) {
        if let Some(call) = self.open.remove(&result.tool_call_id) {
            let details = result.details.as_ref();
            self.ended(&call, &result.content, details, result.is_error, frames);
        }
    }

    fn bash(&self, id: &str, ran: &BashExecution, frames: &mut Vec<u8>) {
        for shown in shells::whole(id, ran, &self.viewer) {
            update(frames, &self.session_id, shown);
        }
    }

    fn ended(
        &self,
        call: &ToolCall,
        content: &[ContentBlock],
        details: Option<&serde_json::Value>,
        is_error: bool,
        frames: &mut Vec<u8>,
    ) {
        let ended = self.viewer.ended(
            call,
            &CallOutcome {
                content,
                details,
                is_error,
                terminal: None,
                before: FileBefore::Unknown,
            },
        );
        update(
            frames,
            &self.session_id,
            acp::SessionUpdate::ToolCallUpdate(ended),
        );
    }
}
