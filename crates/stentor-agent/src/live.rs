//! The message a model is still writing.
//!
//! Its text is kept once, in buffers that only grow. An event about a delta names a range of such
//! a buffer instead of carrying the text, so a delta costs the same whether it is the first or the
//! millionth, two adjacent deltas merge by adding their ranges, and a subscriber that is behind
//! holds ranges, not copies.

use std::cell::Cell;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use stentor_journal::message::{ContentBlock, KnownBlock, Message};
use stentor_journal::usage::Usage;

/// A message in the making. Cheap to clone; all clones see the same growing content.
#[derive(Debug, Clone)]
pub struct LiveMessage {
    shared: Arc<LiveShared>,
}

#[derive(Debug)]
struct LiveShared {
    number: u64,
    entry_id: Arc<str>,
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
    text: RwLock<BlockText>,
}

/// Where the text of a block is.
#[derive(Debug)]
enum BlockText {
    Growing(String),
    /// The message is complete and has it, as the block of the same index.
    InMessage(Arc<Message>),
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
    /// An empty message, which will be recorded as the entry `entry_id`. `number` counts the
    /// messages of a session.
    pub fn new(
        number: u64,
        entry_id: impl Into<Arc<str>>,
        api: impl Into<String>,
        provider: impl Into<String>,
        model: impl Into<String>,
        timestamp: u64,
    ) -> Self {
        Self {
            shared: Arc::new(LiveShared {
                number,
                entry_id: entry_id.into(),
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

    /// The entry it will be recorded as: the same id while it is written and when it is read again.
    pub fn entry_id(&self) -> &Arc<str> {
        &self.shared.entry_id
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
            text: RwLock::new(BlockText::Growing(String::new())),
        });
        state.blocks.push(Arc::clone(&block));
        block
    }

    /// The blocks opened so far.
    pub fn blocks(&self) -> Vec<Arc<LiveBlock>> {
        self.read().blocks.clone()
    }

    /// Moves the text of the blocks into the message that `build` makes of it: who is behind reads
    /// it there from now on, so that it is in memory once. `build` is given the text of each block;
    /// that of a call, whose arguments the message has in another form, is empty and stays here.
    pub fn complete(&self, build: impl FnOnce(Vec<String>) -> Message) -> Arc<Message> {
        let blocks = self.blocks();
        // All at once, so that nobody sees a text that is nowhere.
        let mut places: Vec<_> = blocks.iter().map(|block| block.write()).collect();
        let mut texts = Vec::with_capacity(blocks.len());
        for (block, place) in blocks.iter().zip(&mut places) {
            texts.push(match &mut **place {
                BlockText::Growing(text) if block.is_text() => {
                    let mut text = std::mem::take(text);
                    text.shrink_to_fit();
                    text
                }
                BlockText::Growing(_) | BlockText::InMessage(_) => String::new(),
            });
        }
        let message = Arc::new(build(texts));
        for (block, place) in blocks.iter().zip(&mut places) {
            if block.is_text() {
                **place = BlockText::InMessage(Arc::clone(&message));
            }
        }
        message
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

/// One look at a text, of which a thread has no more than one at a time. Where assertions are on, a
/// second one is found though nobody waits to write.
struct OnlyLook;

thread_local! {
    static LOOKS: Cell<bool> = const { Cell::new(false) };
}

impl OnlyLook {
    fn begin() -> Self {
        if cfg!(debug_assertions) {
            let already = LOOKS.replace(true);
            debug_assert!(!already, "a text is looked at while a text is looked at");
        }
        Self
    }
}

impl Drop for OnlyLook {
    fn drop(&mut self) {
        if cfg!(debug_assertions) {
            LOOKS.set(false);
        }
    }
}

impl LiveBlock {
    /// Appends a delta and returns where it lies. To a block of a complete message nothing is added.
    pub fn append(&self, delta: &str) -> Range<usize> {
        match &mut *self.write() {
            BlockText::Growing(text) => {
                let start = text.len();
                text.push_str(delta);
                start..text.len()
            }
            BlockText::InMessage(message) => {
                let end = self.text_in(message).len();
                end..end
            }
        }
    }

    /// Lets `look` see a range of the text. A range that is not one yields the empty string.
    pub fn with<R>(&self, range: Range<usize>, look: impl FnOnce(&str) -> R) -> R {
        self.with_all(|text| look(text.get(range).unwrap_or_default()))
    }

    /// Lets `look` see all of the text so far. It must not look again, at whichever block: who waits
    /// in between to write would keep the second look out, and the first would never end.
    pub fn with_all<R>(&self, look: impl FnOnce(&str) -> R) -> R {
        let _looking = OnlyLook::begin();
        match &*self.text.read().unwrap_or_else(PoisonError::into_inner) {
            BlockText::Growing(text) => look(text),
            BlockText::InMessage(message) => look(self.text_in(message)),
        }
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.with_all(str::len)
    }

    /// True when nothing has been appended.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True when the message has its text as it is.
    fn is_text(&self) -> bool {
        match self.kind {
            LiveBlockKind::Text | LiveBlockKind::Thinking | LiveBlockKind::Redacted => true,
            LiveBlockKind::ToolCall { .. } => false,
        }
    }

    fn text_in<'a>(&self, message: &'a Message) -> &'a str {
        let answer = message.as_assistant();
        match answer.and_then(|answer| answer.content.get(self.index)) {
            Some(ContentBlock::Known(KnownBlock::Text(block))) => &block.text,
            Some(ContentBlock::Known(KnownBlock::Thinking(block))) => &block.thinking,
            Some(ContentBlock::Known(KnownBlock::RedactedThinking(block))) => &block.data,
            _ => "",
        }
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, BlockText> {
        self.text.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stentor_journal::message::UserContent;

    #[test]
    fn deltas_lie_one_behind_the_other_and_merge_by_range() {
        let message = LiveMessage::new(1, "e1", "a", "p", "m", 0);
        let block = message.open_block(LiveBlockKind::Text);
        let first = block.append("Hel");
        let second = block.append("lo");
        assert_eq!((first.clone(), second.clone()), (0..3, 3..5));
        block.with(first.start..second.end, |text| assert_eq!(text, "Hello"));
    }

    #[test]
    fn the_text_of_a_complete_message_is_read_from_the_message() {
        let live = LiveMessage::new(1, "e1", "a", "p", "m", 0);
        let text = live.open_block(LiveBlockKind::Text);
        let range = text.append("Hello");
        let call = live.open_block(LiveBlockKind::ToolCall {
            id: "1".into(),
            name: "ls".into(),
        });
        call.append("{}");
        let message = live.complete(|texts| {
            assert_eq!(texts, ["Hello", ""]);
            let content = texts.into_iter().map(ContentBlock::text).collect();
            let answer = serde_json::json!({"role": "assistant", "content": [], "api": "a",
                "provider": "p", "model": "m", "stopReason": "stop", "timestamp": 0});
            let answer: Message = serde_json::from_value(answer).unwrap();
            answer.with_content(&UserContent::Blocks(content)).unwrap()
        });
        assert_eq!(Arc::strong_count(&message), 2);
        text.with(range, |text| assert_eq!(text, "Hello"));
        call.with_all(|text| assert_eq!(text, "{}"));
        assert_eq!(text.append("more"), 5..5);
    }

    #[test]
    fn blocks_get_their_place_in_the_order_they_open() {
        let message = LiveMessage::new(1, "e1", "a", "p", "m", 0);
        message.open_block(LiveBlockKind::Thinking);
        let second = message.open_block(LiveBlockKind::Text);
        assert_eq!(second.index, 1);
        assert_eq!(message.blocks().len(), 2);
    }
}
