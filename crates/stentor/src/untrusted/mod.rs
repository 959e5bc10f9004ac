//! What a folder brings that the user does not trust, and the question whether they do.
//!
//! Whoever wrote a repository wrote everything in it: its configuration, its agents, its rules, the
//! programs it wants started. Cloning it and starting stentor in it must not run its author's
//! commands. So such a folder may say only what [`crate::config::allowed`] lists, each line with its
//! reason; what else it [`brought`] waits until the user trusts it, which [`crate::trust`] knows.
//! [`question`] says so, once, and asks where somebody can answer. [`crate::config::always`] is what
//! no folder may say, trusted or not.

pub mod brought;
pub mod question;
