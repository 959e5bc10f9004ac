//! The output items of a response, put one after the other.

use stentor_agent::live::LiveBlockKind;
use stentor_agent::tool::ToolOutput;

use crate::answer::AnswerBuilder;

/// Items in the order they were announced. The first that is not complete streams; what comes for
/// a later one is held until its turn.
#[derive(Debug, Default)]
pub(super) struct Items {
    items: Vec<OutputItem>,
    /// How many have been handed out whole.
    done: usize,
    /// True when the block of item `done` is open.
    is_open: bool,
    /// The text that is held, over all items.
    held_bytes: usize,
}

/// What an item takes besides its text.
const ITEM_BYTES: usize = std::mem::size_of::<OutputItem>();

#[derive(Debug)]
struct OutputItem {
    index: u64,
    /// `None` for items that are no content.
    kind: Option<LiveBlockKind>,
    held: String,
    has_text: bool,
    /// True for a call that the provider runs.
    is_server_call: bool,
    /// What it ended with, once it is complete.
    complete: Option<ItemEnd>,
}

/// What an item ends with.
#[derive(Debug, Default)]
pub(super) struct ItemEnd {
    pub signature: Option<String>,
    /// Of a call that the provider runs.
    pub output: Option<ToolOutput>,
}

impl Items {
    /// About how many bytes it holds.
    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes + self.items.len() * ITEM_BYTES
    }

    /// An item was announced.
    pub(super) fn add(
        &mut self,
        index: u64,
        kind: Option<LiveBlockKind>,
        is_server_call: bool,
        answer: &mut AnswerBuilder,
    ) {
        self.items.push(OutputItem {
            index,
            kind,
            is_server_call,
            held: String::new(),
            has_text: false,
            complete: None,
        });
        self.proceed(answer);
    }

    /// True when the item was announced.
    pub(super) fn knows(&self, index: u64) -> bool {
        self.items.iter().any(|item| item.index == index)
    }

    /// True when something of the item has come.
    pub(super) fn has_text(&self, index: u64) -> bool {
        self.items
            .iter()
            .any(|item| item.index == index && item.has_text)
    }

    /// More of an item.
    pub(super) fn delta(&mut self, index: u64, text: String, answer: &mut AnswerBuilder) {
        let is_open = self.is_open;
        let current = self.done;
        let found = self.items.iter_mut().enumerate().rev();
        let Some((position, item)) = found.into_iter().find(|(_, item)| item.index == index) else {
            // Never announced: better shown as text than lost.
            answer.delta(text);
            return;
        };
        item.has_text |= !text.is_empty();
        if is_open && position == current {
            answer.delta(text);
        } else {
            item.held.push_str(&text);
            self.held_bytes += text.len();
        }
    }

    /// An item is complete.
    pub(super) fn complete(&mut self, index: u64, end: ItemEnd, answer: &mut AnswerBuilder) {
        if let Some(item) = self.items.iter_mut().rev().find(|item| item.index == index) {
            item.complete = Some(end);
        }
        self.proceed(answer);
    }

    /// Hands out everything that is left.
    pub(super) fn finish(&mut self, answer: &mut AnswerBuilder) {
        for item in &mut self.items {
            item.complete.get_or_insert_default();
        }
        self.proceed(answer);
    }

    fn proceed(&mut self, answer: &mut AnswerBuilder) {
        while let Some(item) = self.items.get_mut(self.done) {
            if let Some(kind) = &item.kind {
                if !std::mem::replace(&mut self.is_open, true) {
                    match (item.is_server_call, kind.clone()) {
                        (true, LiveBlockKind::ToolCall { id, name }) => {
                            answer.open_server_call(id, name);
                        }
                        (_, kind) => answer.open(kind),
                    }
                }
                self.held_bytes -= item.held.len();
                answer.delta(std::mem::take(&mut item.held));
            }
            let Some(end) = item.complete.take() else {
                return;
            };
            if std::mem::replace(&mut self.is_open, false) {
                answer.close(end.signature);
            }
            if let (Some(LiveBlockKind::ToolCall { id, .. }), Some(output)) =
                (&item.kind, end.output)
            {
                answer.server_result(id, output);
            }
            self.done += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use stentor_agent::model::ModelEvent;

    use super::*;

    #[test]
    fn items_that_come_mixed_leave_in_order_and_whole() {
        let mut answer = AnswerBuilder::new();
        let mut items = Items::default();
        items.add(0, Some(LiveBlockKind::Text), false, &mut answer);
        items.add(1, Some(LiveBlockKind::Thinking), false, &mut answer);
        items.delta(1, "x".into(), &mut answer);
        items.delta(0, "a".into(), &mut answer);
        let end = ItemEnd {
            signature: Some("s".into()),
            output: None,
        };
        items.complete(1, end, &mut answer);
        items.delta(0, "b".into(), &mut answer);
        items.finish(&mut answer);
        let events: Vec<_> = std::iter::from_fn(|| answer.pop()).skip(1).collect();
        assert_eq!(
            events,
            [
                ModelEvent::BlockStarted(LiveBlockKind::Text),
                ModelEvent::Delta("a".into()),
                ModelEvent::Delta("b".into()),
                ModelEvent::BlockEnded { signature: None },
                ModelEvent::BlockStarted(LiveBlockKind::Thinking),
                ModelEvent::Delta("x".into()),
                ModelEvent::BlockEnded {
                    signature: Some("s".into())
                },
            ]
        );
    }
}
