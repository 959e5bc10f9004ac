//! What a supervisor tells the process that started it: a line each.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Something that happened to a supervised program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SupervisorReport {
    Started,
    /// It could not be run, for this reason of the system's.
    Failed(i32),
    Ended(ProgramEnd),
    /// Nothing of it is left, and the supervisor can run another.
    Idle,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgramEnd {
    Exited(i32),
    Signalled(i32),
    /// It was stopped with everything it started, because it had more than this.
    Exceeded(ReachedLimit),
}

/// A limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReachedLimit {
    Processes(u64),
    MemoryBytes(u64),
}

impl std::fmt::Display for ProgramEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // In the words of the standard library, where signals have names.
            Self::Exited(code) => ExitStatus::from_raw(code << 8).fmt(f),
            Self::Signalled(signal) => ExitStatus::from_raw(*signal).fmt(f),
            Self::Exceeded(limit) => write!(f, "stopped: {limit}"),
        }
    }
}

impl std::fmt::Display for ReachedLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Processes(most) => {
                write!(f, "it had more than {most} processes (limits.processes)")
            }
            Self::MemoryBytes(most) => {
                let most = most >> 20;
                write!(
                    f,
                    "it used more than {most} MiB of memory (limits.memory_mb)"
                )
            }
        }
    }
}

impl SupervisorReport {
    pub(super) fn line(self) -> String {
        match self {
            Self::Started => "started 0\n".to_owned(),
            Self::Idle => "idle 0\n".to_owned(),
            Self::Failed(errno) => format!("failed {errno}\n"),
            Self::Ended(ProgramEnd::Exited(code)) => format!("exited {code}\n"),
            Self::Ended(ProgramEnd::Signalled(signal)) => format!("signalled {signal}\n"),
            Self::Ended(ProgramEnd::Exceeded(ReachedLimit::Processes(most))) => {
                format!("processes {most}\n")
            }
            Self::Ended(ProgramEnd::Exceeded(ReachedLimit::MemoryBytes(most))) => {
                format!("memory {most}\n")
            }
        }
    }

    pub(super) fn read(line: &str) -> Option<Self> {
        let (word, number) = line.trim_end().split_once(' ')?;
        let small = || number.parse::<i32>().ok();
        let large = || number.parse::<u64>().ok();
        Some(match word {
            "started" => Self::Started,
            "idle" => Self::Idle,
            "failed" => Self::Failed(small()?),
            "exited" => Self::Ended(ProgramEnd::Exited(small()?)),
            "signalled" => Self::Ended(ProgramEnd::Signalled(small()?)),
            "processes" => Self::Ended(ProgramEnd::Exceeded(ReachedLimit::Processes(large()?))),
            "memory" => Self::Ended(ProgramEnd::Exceeded(ReachedLimit::MemoryBytes(large()?))),
            _ => return None,
        })
    }
}

/// What precedes an order.
pub(super) const ORDER: u8 = b'+';
/// What a supervisor is asked to do with everything its program started: a byte each.
pub(super) const TERMINATE: u8 = b'T';
pub(super) const KILL: u8 = b'K';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_written() {
        for report in [
            SupervisorReport::Started,
            SupervisorReport::Idle,
            SupervisorReport::Failed(2),
            SupervisorReport::Ended(ProgramEnd::Exited(126)),
            SupervisorReport::Ended(ProgramEnd::Signalled(9)),
            SupervisorReport::Ended(ProgramEnd::Exceeded(ReachedLimit::Processes(50))),
            SupervisorReport::Ended(ProgramEnd::Exceeded(ReachedLimit::MemoryBytes(1 << 40))),
        ] {
            assert_eq!(SupervisorReport::read(&report.line()), Some(report));
        }
        for line in ["", "started", "exited x", "gone 3"] {
            assert_eq!(SupervisorReport::read(line), None, "{line}");
        }
    }
}
