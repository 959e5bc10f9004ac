//! The numbers and words of the protocol, each with the section of the reference it comes from.

/// The transport versions a client may choose from (section 20).
pub const PROTOCOL_VERSIONS: [u8; 2] = [1, 2];

/// A line with its LF may be this long in version 2; longer objects are sent in chunks
/// (section 20).
pub const MAX_FRAME_BYTES: usize = 1_048_576;

/// An object may be this long in version 2 (section 20).
pub const MAX_REASSEMBLED_BYTES: usize = 67_108_864;

/// Bytes of an object in one chunk (section 20).
pub const CHUNK_BYTES: usize = 262_144;

/// What stands for a response that is too long even for chunks (section 20).
pub const RESPONSE_TOO_LONG: &str = "RPC response exceeded the transport limit";

/// Messages of one page: at most, and when the client does not say (sections 19).
pub const MAX_PAGE_MESSAGES: u64 = 256;

/// The command name of an answer to a line that is not JSON (section 4).
pub const PARSE: &str = "parse";

/// Deltas of one block are put into one update when they come faster than this (section 8.2).
pub const UPDATE_INTERVAL_MS: u64 = 50;

/// Commands of newer originals that are not offered here (section 19). They are known, so that who
/// asks for one is answered with its id instead of waiting for an answer that never comes.
pub const NOT_OFFERED: [&str; 4] = [
    "predict_word",
    "predict_word_feedback",
    "set_ask_dialog",
    "set_cache_warming",
];

/// Roles that clients know although nothing here makes such messages (section 7.4).
pub const ROLES_OF_OTHERS: [&str; 3] = ["pythonExecution", "hookMessage", "fileMention"];
