//! Commands as processes: how they start, what is kept of their output, and how they end.
//!
//! A command runs in a process group of its own with nothing on its standard input. Whatever
//! happens to the call, or to this process, the group goes with it: see `supervisor`.

mod capture;
mod clean;
mod group;
mod program;
mod run;
mod spill;
mod supervisor;

pub(crate) use capture::Capture;
pub(crate) use group::Group;
pub(crate) use program::ShellProgram;
pub(crate) use run::{Command, Ending, Finished, Watch, run};
