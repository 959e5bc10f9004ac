//! Locks (`flock`) and sockets that outlive the process they belong to: another one that was being
//! started when that process was killed has its descriptors, too, until it is executed.

use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::Pid;

/// How long a process may take from being forked to being executed, on a machine under load.
const INHERITED: Duration = Duration::from_secs(3);

/// How often what is about to vanish is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// The time that was waited for what a dead process has left.
#[derive(Debug)]
pub struct InheritedWait {
    begun: Instant,
}

impl Default for InheritedWait {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
        }
    }
}

impl InheritedWait {
    /// Waits a moment if the holder is dead, so that the caller can try again. False when it lives or
    /// is not known, and when it was waited for long enough: then somebody else has what is wanted.
    pub fn wait(&self, holder: Option<u32>) -> bool {
        let may_vanish = holder.is_some_and(is_dead) && self.begun.elapsed() < INHERITED;
        if may_vanish {
            thread::sleep(LOOK_AGAIN);
        }
        may_vanish
    }
}

/// True when no such process runs any more; one that only waits to be collected does not run.
fn is_dead(pid: u32) -> bool {
    let Some(known) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return true;
    };
    if rustix::process::test_kill_process(known) == Err(Errno::SRCH) {
        return true;
    }
    // The state follows the name, which is in parentheses and may contain some itself.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
        matches!(state, Some(Some('Z' | 'X')))
    })
}
