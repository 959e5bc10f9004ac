//! ACP on the wire: its names and numbers, and the updates that are written by hand.
//!
//! Most messages are values of the official schema crate, in the dialect. Chunks of text are not:
//! there are thousands of them, and each must cost no more than its text. Section numbers in
//! this module are those of the ACP reference.

mod chunk;
pub mod method;

pub use chunk::{ChunkFrames, ChunkKind};

/// The protocol version that is spoken (section 3).
pub const PROTOCOL_VERSION: u16 = 1;

/// The longest line that is read: prompts carry pictures (section 1.10).
pub const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// The most text of one chunk. Even escaped, the frame stays below what peers take (section 1.10).
pub const MAX_CHUNK_BYTES: usize = 32 * 1024;

/// Keys of `_meta` that carry the W3C trace context (section 13).
pub const TRACE_KEYS: [&str; 3] = ["traceparent", "tracestate", "baggage"];
