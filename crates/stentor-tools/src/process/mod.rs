//! Commands as processes: how they start, what is kept of their output, and how they end.
//!
//! Every program is started by a [`Launcher`], which decides in one place what it is held back from,
//! which limits it has and what of our environment it gets. A command runs with nothing on its
//! standard input unless it is one that is written to, below a supervisor of its own: whatever happens to the call, or to this process,
//! everything the command started goes with it. See `supervise`.

mod capture;
mod clean;
mod idle_supervisors;
mod launcher;
mod order;
mod piped;
mod program;
mod reports;
mod run;
mod running;
mod spill;
mod streams;
mod supervise;
mod supervisors;
mod terminal;
mod tree;

pub use launcher::Launcher;
pub use order::{InvalidOrder, ResourceLimits};
pub use piped::PipedProgram;
pub use running::end_everything;
pub use spill::{KeptOutput, clean_up as clean_up_output};
pub use supervise::{CannotSupervise, supervise};
pub use supervisors::Helper;

pub(crate) use capture::Capture;
pub(crate) use launcher::{Program, ServerPipes, start_in_background};
pub(crate) use program::ShellProgram;
pub(crate) use reports::ProgramEnd;
pub(crate) use run::{
    CommandEnding, CommandObserver, CommandToRun, FinishedCommand, GRACE, OutputLimits, run,
};
pub(crate) use running::RunningProgram;
pub(crate) use spill::Spill;
pub(crate) use streams::{CommandInput, InputStream};
