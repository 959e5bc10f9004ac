//! The message a model is still writing.
//!
//! Its text is kept once, in buffers that only grow. An event about a delta names a range of such
//! a buffer instead of carrying the text, so a delta costs the same whether it is the first or the
//! millionth, two adjacent deltas merge by adding their ranges, and a subscriber that is behind
//! holds ranges, not copies.

use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use stentor_journal::usage::Usage;

/// A message in the making. Cheap to clone; all clones see the same growing content.
#[derive(Debug, Clone)]
pub struct LiveMessage {
    shared: Arc<LiveShared>,
}

#[derive(Debug)]
struct LiveShared {
    number: u64,
    api: String,
    provider: String,
    model: String,
    timestamp: u64,
    state: RwLock<LiveState>,
}

#[derive(Debug, Default)]
struct LiveState {
    blocks: Vec<Arc<LiveBlock>>,
    usage: Usage,
    response_id: Option<String>,
}

/// One block of a message in the making.
#[derive(Debug)]
pub struct LiveBlock {
    /// Its place in the message's content.
    pub index: usize,
    pub kind: LiveBlockKind,
    text: RwLock<String>,
}

/// What a block in the making will become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveBlockKind {
    Text,
    Thinking,
    /// Reasoning the provider keeps to itself; the buffer holds its opaque data.
    Redacted,
    /// The buffer holds the raw JSON text of the arguments.
    ToolCall {
        id: String,
        name: String,
    },
}

impl LiveMessage {
    /// An empty message. `number` counts the messages of a session.
    pub fn new(
        number: u64,
        api: impl Into<String>,
        provider: impl Into<String>,
        model: impl Into<String>,
        timestamp: u64,
    ) -> Self {
        Self {
            shared: Arc::new(LiveShared {
                number,
                api: api.into(),
                provider: provider.into(),
                model: model.into(),
                timestamp,
                state: RwLock::default(),
            }),
        }
    }

    /// The message's number in its session.
    pub fn number(&self) -> u64 {
        self.shared.number
    }

    /// The wire it comes over.
    pub fn api(&self) -> &str {
        &self.shared.api
    }

    /// Who provides the model.
    pub fn provider(&self) -> &str {
        &self.shared.provider
    }

    /// The model's id.
    pub fn model(&self) -> &str {
        &self.shared.model
    }

    /// When the message began, in milliseconds since the epoch.
    pub fn timestamp(&self) -> u64 {
        self.shared.timestamp
    }

    /// Usage as far as it is known.
    pub fn usage(&self) -> Usage {
        self.read().usage
    }

    /// The provider's id of the answer, once it is known.
    pub fn response_id(&self) -> Option<String> {
        self.read().response_id.clone()
    }

    /// Records what the provider said about usage so far.
    pub fn set_usage(&self, usage: Usage) {
        self.write().usage = usage;
    }

    /// Records the provider's id of the answer.
    pub fn set_response_id(&self, id: String) {
        self.write().response_id = Some(id);
    }

    /// Opens the next block and returns it.
    pub fn open_block(&self, kind: LiveBlockKind) -> Arc<LiveBlock> {
        let mut state = self.write();
        let index = state.blocks.len();
        let block = Arc::new(LiveBlock {
            index,
            kind,
            text: RwLock::default(),
        });
        state.blocks.push(Arc::clone(&block));
        block
    }

    /// The blocks opened so far.
    pub fn blocks(&self) -> Vec<Arc<LiveBlock>> {
        self.read().blocks.clone()
    }

    /// True when both are the same message.
    pub fn same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, LiveState> {
        self.shared
            .state
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, LiveState> {
        self.shared
            .state
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveBlock {
    /// Appends a delta and returns where it lies.
    pub fn append(&self, delta: &str) -> Range<usize> {
        let mut text = self.text.write().unwrap_or_else(PoisonError::into_inner);
        let start = text.len();
        text.push_str(delta);
        start..text.len()
    }

    /// Lets `look` see a range of the text. A range that is not one yields the empty string.
    pub fn with<R>(&self, range: Range<usize>, look: impl FnOnce(&str) -> R) -> R {
        let text = self.text.read().unwrap_or_else(PoisonError::into_inner);
        look(text.get(range).unwrap_or_default())
    }

    /// Lets `look` see all of the text so far.
    pub fn with_all<R>(&self, look: impl FnOnce(&str) -> R) -> R {
        look(&self.text.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.text
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    /// True when nothing has been appended.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deltas_lie_one_behind_the_other_and_merge_by_range() {
        let message = LiveMessage::new(1, "a", "p", "m", 0);
        let block = message.open_block(LiveBlockKind::Text);
        let first = block.append("Hel");
        let second = block.append("lo");
        assert_eq!((first.clone(), second.clone()), (0..3, 3..5));
        block.with(first.start..second.end, |text| assert_eq!(text, "Hello"));
    }

    #[test]
    fn blocks_get_their_place_in_the_order_they_open() {
        let message = LiveMessage::new(1, "a", "p", "m", 0);
        message.open_block(LiveBlockKind::Thinking);
        let second = message.open_block(LiveBlockKind::Text);
        assert_eq!(second.index, 1);
        assert_eq!(message.blocks().len(), 2);
    }
}
