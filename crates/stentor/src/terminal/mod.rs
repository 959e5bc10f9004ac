//! A conversation at the terminal: a client of the session API, like any dialect.
//!
//! Deliberately plain: rows of text that stay where they were printed, and below them the few that
//! change. [`conversation`] is the loop; it owns the [`screen`], the line that is typed ([`editor`],
//! [`keys`], [`completion`]) and the session. [`transcript`] turns what happens into rows
//! ([`markdown`], [`table`], [`calls`]), [`questions`] and [`menu`] are what a person answers,
//! [`actions`] what the slash commands do. A terminal that cannot move its cursor gets the same rows and
//! edits its lines itself.

mod actions;
mod calls;
mod change_preview;
mod completion;
pub mod conversation;
mod editor;
mod keys;
mod markdown;
mod menu;
pub mod questions;
pub mod rewinding;
mod screen;
mod stray_output;
pub mod styled;
mod submitting;
mod table;
mod transcript;
pub mod tty;
