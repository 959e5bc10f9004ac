//! The frames of the psi dialect: what a request must look like, and how answers and events are
//! written (sections 3 to 5 and 10 of its reference).
//!
//! [`envelope`] judges a line, [`op`] and [`topic`] are the closed lists of operations and events,
//! [`code`] names what can be wrong, [`frame`] writes. Payloads are the dialect's business: here
//! they are bytes that an [`EdnWriter`](crate::edn::EdnWriter) wrote.

pub mod code;
pub mod envelope;
pub mod frame;
pub mod op;
pub mod topic;

pub use code::ErrorCode;
pub use envelope::{Refused, Request};
pub use op::Op;
pub use topic::{Topic, TopicSet};

/// The version this side speaks, whatever 1.x the other offers (section 5).
pub const PROTOCOL_VERSION: &str = "1.0";

/// The only major version there is (section 5).
pub const PROTOCOL_MAJOR: &str = "1";

/// Requests that may be unanswered at once (section 6).
pub const MAX_PENDING: usize = 64;

/// The longest line that is read (section 1).
pub const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// Whether a client's version can be served: its leading digits, up to the end or the first dot,
/// are exactly the one major (section 5).
pub fn is_supported_version(version: &str) -> bool {
    version.split('.').next() == Some(PROTOCOL_MAJOR)
}
