//! How long one answer of a model may become.

use crate::live::LiveBlockKind;
use crate::model::{ModelError, ModelErrorKind, ModelEvent};

/// What a block takes besides its text, so that endless empty ones come to an end, too.
const BLOCK_BYTES: usize = 256;

/// The same of a call, which is also run and whose result is recorded and shown.
const CALL_BYTES: usize = 4096;

/// What an event takes that brings no text.
const EVENT_BYTES: usize = 64;

/// Counts the bytes of one answer against its limit.
pub(super) struct AnswerLimit {
    limit_bytes: u64,
    left_bytes: u64,
}

impl AnswerLimit {
    pub(super) fn new(limit_bytes: u64) -> Self {
        Self {
            limit_bytes,
            left_bytes: limit_bytes,
        }
    }

    /// Counts what an event takes besides the text of a delta.
    pub(super) fn take_event(&mut self, event: &ModelEvent, model: &str) -> Result<(), ModelError> {
        let bytes = match event {
            ModelEvent::BlockStarted(LiveBlockKind::ToolCall { id, name }) => {
                CALL_BYTES + id.len() + name.len()
            }
            ModelEvent::BlockStarted(
                LiveBlockKind::Text | LiveBlockKind::Thinking | LiveBlockKind::Redacted,
            ) => BLOCK_BYTES,
            ModelEvent::Delta(text) if text.is_empty() => EVENT_BYTES,
            ModelEvent::Intent(text) => EVENT_BYTES + text.len(),
            ModelEvent::BlockEnded { signature } => signature.as_ref().map_or(0, String::len),
            ModelEvent::Titled(title) => EVENT_BYTES + title.len(),
            ModelEvent::Usage(_) | ModelEvent::Became(_) | ModelEvent::Nothing => EVENT_BYTES,
            ModelEvent::Started { .. } | ModelEvent::Delta(_) | ModelEvent::Finished(_) => 0,
        };
        self.take_bytes(bytes, model)
    }

    /// Counts bytes that are of no use in part.
    pub(super) fn take_bytes(&mut self, bytes: usize, model: &str) -> Result<(), ModelError> {
        match self.left_bytes.checked_sub(bytes as u64) {
            Some(left) => {
                self.left_bytes = left;
                Ok(())
            }
            None => Err(self.exceeded(model)),
        }
    }

    /// Counts text and returns as much of it as fits, which is less than all of it only at the
    /// end.
    pub(super) fn fitting<'a>(&mut self, text: &'a str) -> &'a str {
        let left = usize::try_from(self.left_bytes).unwrap_or(usize::MAX);
        let end = text.floor_char_boundary(left);
        self.left_bytes -= end as u64;
        text.get(..end).unwrap_or_default()
    }

    /// The error that ends an answer.
    pub(super) fn exceeded(&self, model: &str) -> ModelError {
        let limit = self.limit_bytes;
        ModelError::new(
            ModelErrorKind::AnswerTooLong,
            format!(
                "{model}: the answer was cut off because it is longer than {limit} bytes \
                 (`max_answer_bytes`); what arrived before is kept"
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters_where_the_limit_is() {
        let mut limit = AnswerLimit::new(6);
        assert_eq!(limit.fitting("abcd"), "abcd");
        assert_eq!(limit.fitting("éé"), "é");
        assert_eq!(limit.fitting("a"), "");
    }

    #[test]
    fn what_has_no_text_reaches_the_limit_too() {
        let call = LiveBlockKind::ToolCall {
            id: "1".to_owned(),
            name: "ls".to_owned(),
        };
        for (event, fitting) in [
            (ModelEvent::BlockStarted(LiveBlockKind::Text), 39),
            (ModelEvent::BlockStarted(call), 2),
            (ModelEvent::Delta(String::new()), 156),
            (ModelEvent::Nothing, 156),
            (ModelEvent::Usage(Default::default()), 156),
        ] {
            let mut limit = AnswerLimit::new(10_000);
            let events = (0..1000).take_while(|_| limit.take_event(&event, "m").is_ok());
            assert_eq!(events.count(), fitting, "{event:?}");
        }
    }
}
