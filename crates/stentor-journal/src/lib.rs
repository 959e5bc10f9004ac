//! The conversation's format: what it consists of, how it is kept, and how it is read by people.
//!
//! Read in this order: [`message`] and [`usage`] are what is said and what it costs; [`store`] has
//! the entries of a session and the journal that keeps them, in files or in memory;
//! [`conversation`] is what a model is sent of them; [`session_files`] says in which folder the
//! files are; [`export`] makes a page of a session.
//!
//! Nothing here knows how a session runs, or a wire protocol.

pub mod clock;
pub mod conversation;
pub mod export;
mod foreign_roles;
pub mod inherited_lock;
pub mod message;
pub mod private_file;
pub mod session_files;
pub mod store;
pub mod usage;
