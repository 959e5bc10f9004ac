//! A program that is started below a supervisor of its own and spoken to in JSON-RPC: what MCP
//! servers and extensions have in common.
//!
//! Such a program may do anything, so nothing here trusts it:
//!
//! - what is on its way to it is bounded (`outbox`), and so is what it may send (`inbox`): lines that
//!   are no messages are skipped, and one that writes nothing else is given up;
//! - an answer that nobody waits for is dropped, and one that cannot be read fails its request instead
//!   of leaving it waiting (`peer`);
//! - a flood is read no faster than somebody could make use of it (`read_rate`);
//! - it is started again with growing pauses, and not for ever (`restart`);
//! - it ends with whoever started it, and everything it started ends with it (`process`).
//!
//! An MCP server behind an address has no process; `peer` and `inbox` are the same for it.

mod inbox;
mod limits;
mod outbox;
mod peer;
mod process;
mod read_rate;
mod restart;

pub(crate) use inbox::{Handler, LongLine, MessageInbox, read_lines};
pub(crate) use outbox::{NotSent, Outgoing, write_lines};
pub(crate) use peer::{CancelNotice, Peer, RequestError};
pub(crate) use process::{ChildProcess, ChildSpec, StderrTail};
pub use restart::RestartPolicy;
pub(crate) use restart::{Restarts, wait_until_needed};

pub(crate) use limits::{GARBAGE_LINES, GRACE, MESSAGE_INTERVAL};
