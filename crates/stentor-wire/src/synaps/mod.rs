//! The frames of the synaps rpc protocol: one JSON object a line.
//!
//! The types are those of the protocol's version 1, with the serialisation it fixes: optional keys
//! are left out, never null; the body of a response is flattened; unknown keys are tolerated. The
//! sections named in comments are those of the protocol's reference.

pub mod ascii;
mod command;
mod event;
mod fit;

pub use command::{Attachment, COMMAND_TYPES, Command, ParseError, parse};
pub use event::{AssistantEvent, Event, TurnUsage};
pub use fit::{fit, truncated};

/// The protocol's version, in `ready` (section 3).
pub const PROTOCOL_VERSION: u64 = 1;

/// The longest frame, without its line end (section 2).
pub const MAX_FRAME_BYTES: usize = 1_048_576;

/// What an over-long line is answered with (section 2.1).
pub const TOO_LONG: &str = "frame exceeds 1 MiB limit";

/// What a prompt gets while another is running (section 12). Parents look for `abort first`.
pub const BUSY: &str = "another prompt is in flight; abort first";
