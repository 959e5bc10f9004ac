//! Conversations, and the files they are kept in.

mod auto_compacting;
mod compacting;
mod conversations;
mod entries;
mod reading;
mod roles;
mod stored;
