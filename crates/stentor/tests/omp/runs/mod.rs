//! What happens between a prompt and the end of its run.

mod aborts;
mod endings;
mod going_well;
mod retries;
mod tools;
mod watching;
