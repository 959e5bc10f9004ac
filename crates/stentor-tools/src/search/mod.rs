//! `grep` and `find`: searching a tree with the libraries of ripgrep.

mod find;
mod grep;
mod left_out;
mod listing;
mod walk;

pub(crate) use find::Find;
pub(crate) use grep::Grep;
pub(crate) use left_out::DeniedResults;
pub(crate) use listing::ResultListing;
