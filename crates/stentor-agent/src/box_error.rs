//! Errors of what others implement.

use std::error::Error;

/// Why an implementation of one of the seams failed. People and models are shown its text; nothing
/// is decided by it.
pub type BoxError = Box<dyn Error + Send + Sync>;
