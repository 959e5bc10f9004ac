//! Commands, whatever else goes on: their answers, and why some are refused.

mod answers;
mod bad_fields;
mod errors;
mod newer;
mod phases;
mod shell;
