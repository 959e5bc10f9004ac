//! What has begun in a session and has not ended: what somebody who comes later must know before
//! anything else happens.

use std::sync::Arc;

use crate::event::{BashEnd, Event, EventKind};
use crate::live::{LiveBlock, LiveMessage};

/// What goes on in a session, as the events that began it.
#[derive(Default)]
pub(super) struct UnfinishedWork {
    run: Option<EventKind>,
    turn: Option<EventKind>,
    answer: Option<UnfinishedAnswer>,
    /// The calls of the turn, those that have ended included: their results may not be recorded.
    calls: Vec<EventKind>,
    /// Commands of the user, each with the entry that it becomes, those that have ended included.
    shells: Vec<(Arc<str>, EventKind)>,
    compaction: Option<EventKind>,
    retry: Option<EventKind>,
    queues: Option<EventKind>,
    /// Each with its number.
    questions: Vec<(u64, EventKind)>,
}

/// An answer in the making, as far as it was published.
struct UnfinishedAnswer {
    live: LiveMessage,
    blocks: Vec<UnfinishedBlock>,
}

struct UnfinishedBlock {
    block: Arc<LiveBlock>,
    published_bytes: usize,
    ended: Option<EventKind>,
}

impl UnfinishedWork {
    /// Notes what is published. A delta costs the same, first or millionth.
    pub fn note(&mut self, kind: &EventKind, seq: u64) {
        match kind {
            EventKind::BlockDelta { block, range, .. } => {
                if let Some(known) = self.block(block) {
                    known.published_bytes = range.end;
                }
            }
            EventKind::BlockStarted { block, .. } => {
                if let Some(answer) = &mut self.answer {
                    answer.blocks.push(UnfinishedBlock {
                        block: Arc::clone(block),
                        published_bytes: 0,
                        ended: None,
                    });
                }
            }
            EventKind::BlockEnded { block, .. } => {
                if let Some(known) = self.block(block) {
                    known.ended = Some(kind.clone());
                }
            }
            EventKind::AnswerStarted(live) => {
                self.answer = Some(UnfinishedAnswer {
                    live: live.clone(),
                    blocks: Vec::new(),
                });
            }
            EventKind::MessageEnded { number, .. } => {
                self.answer
                    .take_if(|answer| answer.live.number() == *number);
            }
            // The result of a call is recorded.
            EventKind::MessageStarted { message, .. } => {
                if let Some(result) = message.as_tool_result() {
                    self.calls
                        .retain(|kind| call_of(kind) != Some(&result.tool_call_id));
                }
            }
            EventKind::RunStarted => self.run = Some(kind.clone()),
            EventKind::TurnStarted => self.turn = Some(kind.clone()),
            EventKind::TurnEnded { .. } => {
                self.turn = None;
                self.calls.clear();
            }
            EventKind::ToolStarted { .. } | EventKind::ToolEnded { .. } => {
                self.calls.push(kind.clone());
            }
            EventKind::BashStarted { entry_id, .. } => {
                self.shells.push((Arc::clone(entry_id), kind.clone()));
            }
            EventKind::BashEnded { entry_id, end, .. } => match end {
                BashEnd::Ran(_) if self.has_shell(entry_id) => {
                    self.shells.push((Arc::clone(entry_id), kind.clone()));
                }
                // It is recorded already.
                BashEnd::Ran(_) => {}
                BashEnd::Failed(_) => self.forget_shell(entry_id),
            },
            EventKind::EntryAppended { id, .. } => self.forget_shell(id),
            EventKind::CompactionStarted { .. } => self.compaction = Some(kind.clone()),
            EventKind::CompactionEnded(_) => self.compaction = None,
            EventKind::RetryStarted { .. } => self.retry = Some(kind.clone()),
            EventKind::RetryEnded { .. } => self.retry = None,
            EventKind::QueueChanged(_) => self.queues = Some(kind.clone()),
            EventKind::RunEnded(_) => {
                self.run = None;
                self.turn = None;
                self.answer = None;
                self.calls.clear();
            }
            EventKind::PermissionAsked { .. } | EventKind::DialogAsked { .. } => {
                self.questions.push((seq, kind.clone()));
            }
            EventKind::PermissionAnswered { id, .. } => self.questions.retain(
                |(_, open)| !matches!(open, EventKind::PermissionAsked { id: asked, .. } if asked == id),
            ),
            EventKind::DialogClosed { id, .. } => self.questions.retain(
                |(_, open)| !matches!(open, EventKind::DialogAsked { id: asked, .. } if asked == id),
            ),
            _ => {}
        }
    }

    /// The questions that nobody has answered.
    pub fn has_questions(&self) -> bool {
        !self.questions.is_empty()
    }

    /// The open questions that were asked with a number up to this.
    pub fn questions_until(&self, seq: u64) -> impl Iterator<Item = EventKind> {
        let asked = self
            .questions
            .iter()
            .filter(move |(asked, _)| *asked <= seq);
        asked.map(|(_, question)| question.clone())
    }

    /// Everything as events that look as if they happened just now, but `recorded`, an answer that
    /// is in the conversation already as that entry.
    pub fn events(&self, recorded: Option<&str>, stamp: impl Fn(EventKind) -> Event) -> Vec<Event> {
        let answer = self.answer.as_ref();
        let answer = answer.filter(|answer| Some(&**answer.live.entry_id()) != recorded);
        let whole = [&self.run, &self.turn].into_iter().flatten().cloned();
        let goes_on = [&self.compaction, &self.retry, &self.queues];
        let kinds = whole
            .chain(answer.into_iter().flat_map(UnfinishedAnswer::events))
            .chain(self.calls.iter().cloned())
            .chain(self.shells.iter().map(|(_, shell)| shell.clone()))
            .chain(goes_on.into_iter().flatten().cloned())
            .chain(self.questions.iter().map(|(_, question)| question.clone()));
        kinds.map(stamp).collect()
    }

    fn has_shell(&self, entry_id: &str) -> bool {
        self.shells.iter().any(|(entry, _)| **entry == *entry_id)
    }

    fn forget_shell(&mut self, entry_id: &str) {
        self.shells.retain(|(entry, _)| **entry != *entry_id);
    }

    fn block(&mut self, block: &Arc<LiveBlock>) -> Option<&mut UnfinishedBlock> {
        let answer = self.answer.as_mut()?;
        let mut newest_first = answer.blocks.iter_mut().rev();
        newest_first.find(|known| Arc::ptr_eq(&known.block, block))
    }
}

fn call_of(kind: &EventKind) -> Option<&str> {
    match kind {
        EventKind::ToolStarted { call } | EventKind::ToolEnded { call, .. } => Some(&call.id),
        _ => None,
    }
}

impl UnfinishedAnswer {
    fn events(&self) -> Vec<EventKind> {
        let mut events = vec![EventKind::AnswerStarted(self.live.clone())];
        for block in &self.blocks {
            events.push(EventKind::BlockStarted {
                live: self.live.clone(),
                block: Arc::clone(&block.block),
            });
            if block.published_bytes > 0 {
                events.push(EventKind::BlockDelta {
                    live: self.live.clone(),
                    block: Arc::clone(&block.block),
                    range: 0..block.published_bytes,
                });
            }
            events.extend(block.ended.clone());
        }
        events
    }
}
