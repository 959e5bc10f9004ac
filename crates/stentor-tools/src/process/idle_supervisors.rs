//! Supervisors whose command has ended and left nothing. They wait a while for the next command:
//! starting one takes longer than many commands do.

use std::io::{self, Read};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stentor_agent::tasks;

use super::order::Confinement;
use super::supervisors::Supervisor;

/// As many as run commands side by side in a busy session; more would only take memory.
const MOST: usize = 4;
/// How long one waits: between two calls of a model it is needed soon, or not for long.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

static WAITING: Mutex<SupervisorPool> = Mutex::new(SupervisorPool {
    idle: Vec::new(),
    is_watched: false,
});

struct SupervisorPool {
    idle: Vec<IdleSupervisor>,
    /// Whether somebody sees to it that none waits too long.
    is_watched: bool,
}

struct IdleSupervisor {
    supervisor: Supervisor,
    /// What held its command. It cannot hold another in any other way.
    confines: Confinement,
    since: Instant,
}

/// Has a supervisor wait for another command.
pub(super) fn keep(supervisor: Supervisor, confines: Confinement) {
    let mut pool = pool();
    pool.idle.push(IdleSupervisor {
        supervisor,
        confines,
        since: Instant::now(),
    });
    let too_many = pool.idle.len().saturating_sub(MOST);
    let retired: Vec<IdleSupervisor> = pool.idle.drain(..too_many).collect();
    let is_watched = std::mem::replace(&mut pool.is_watched, true);
    drop(pool);
    retire(retired);
    if !is_watched {
        tasks::spawn(retire_in_time());
    }
}

/// The one that began to wait last of those that hold a command so.
pub(super) fn take(confines: &Confinement) -> Option<Supervisor> {
    loop {
        let mut pool = pool();
        let place = pool
            .idle
            .iter()
            .rposition(|one| one.confines == *confines)?;
        let mut supervisor = pool.idle.remove(place).supervisor;
        drop(pool);
        // It has nothing to say unless it is gone.
        match supervisor.control.read(&mut [0]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Some(supervisor),
            Ok(_) | Err(_) => supervisor.retire(),
        }
    }
}

/// Ends all, for a program that is about to end.
pub(super) fn end() {
    // Without their connections they end.
    pool().idle.clear();
}

async fn retire_in_time() {
    loop {
        tokio::time::sleep(LONGEST_WAIT).await;
        let mut pool = pool();
        let stays = |one: &IdleSupervisor| one.since.elapsed() < LONGEST_WAIT;
        let (idle, retired) = std::mem::take(&mut pool.idle).into_iter().partition(stays);
        pool.idle = idle;
        pool.is_watched = !pool.idle.is_empty();
        let goes_on = pool.is_watched;
        drop(pool);
        retire(retired);
        if !goes_on {
            return;
        }
    }
}

fn retire(idle: Vec<IdleSupervisor>) {
    for one in idle {
        one.supervisor.retire();
    }
}

fn pool() -> MutexGuard<'static, SupervisorPool> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}
