//! How long one answer of a model may become.

use crate::model::{ModelError, ModelErrorKind};

/// What a block takes besides its text, so that endless empty ones come to an end, too.
const BLOCK_BYTES: usize = 256;

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

    /// Counts a new block.
    pub(super) fn take_block(&mut self, model: &str) -> Result<(), ModelError> {
        self.take_bytes(BLOCK_BYTES, model)
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

    /// The error that ends an answer. Asking again would bring the same, so it is not of a kind
    /// that is tried again.
    pub(super) fn exceeded(&self, model: &str) -> ModelError {
        let limit = self.limit_bytes;
        ModelError::new(
            ModelErrorKind::Other,
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
    fn blocks_without_text_reach_the_limit_too() {
        let mut limit = AnswerLimit::new(1000);
        let blocks = (0..10).take_while(|_| limit.take_block("m").is_ok());
        assert_eq!(blocks.count(), 3);
    }
}
