//! What a stream says about a message that must follow another one.

use std::error::Error;

use async_nats::jetstream::{self, ErrorCode};

/// Why a message was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AppendRefusal {
    /// It does not follow the last one.
    Wrong,
    /// Another message for the same place is under way; whether it arrives is not known yet.
    Contested,
}

/// Whether an error says that a message was misplaced.
pub(crate) fn misplaced(error: &(dyn Error + 'static)) -> Option<AppendRefusal> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(said) = error.downcast_ref::<jetstream::Error>() {
            return match said.error_code() {
                ErrorCode::STREAM_WRONG_LAST_SEQUENCE => Some(AppendRefusal::Wrong),
                ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT => Some(AppendRefusal::Contested),
                _ => None,
            };
        }
        cause = error.source();
    }
    None
}
