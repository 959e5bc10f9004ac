//! `grep` and `find`: searching a tree with the libraries of ripgrep.

mod find;
mod grep;
mod listing;
mod walk;

pub(crate) use find::Find;
pub(crate) use grep::Grep;
pub(crate) use listing::Listing;
