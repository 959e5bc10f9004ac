//! Notices for a client that its protocol has no frame for, or that wants none: they go to stderr.

use stentor_agent::event::NoticeLevel;

/// Logs a notice.
pub fn log(level: NoticeLevel, message: &str) {
    match level {
        NoticeLevel::Info => tracing::info!("{message}"),
        NoticeLevel::Warning => tracing::warn!("{message}"),
        NoticeLevel::Error => tracing::error!("{message}"),
    }
}
