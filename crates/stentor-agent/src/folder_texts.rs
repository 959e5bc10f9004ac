//! What the texts of a folder say to a session.

use std::sync::Arc;

use crate::rules::RuleBook;

/// What the texts of a folder say to a session. A folder that is trusted while a session is open
/// says more than it did when the session began.
#[derive(Debug, Clone)]
pub struct FolderTexts {
    pub system_prompt: Arc<str>,
    /// Rules that watch what the model writes.
    pub rules: Arc<RuleBook>,
}
