//! The operations (section 9), one file per group.

pub(super) mod dialogs;
pub(super) mod export;
pub(super) mod jobs;
pub(super) mod login;
pub(super) mod navigation;
pub(super) mod prompting;
pub(super) mod reading;
pub(super) mod settings;
pub(super) mod shell;
pub(super) mod transport;
