//! Ids of tool calls that a provider left without one.

use std::hash::{BuildHasher, Hasher, RandomState};

/// An id no call had before.
pub(crate) fn new_call_id() -> String {
    format!("call_{:016x}", RandomState::new().build_hasher().finish())
}
