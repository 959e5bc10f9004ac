//! The processes of this machine as a tree: who started whom, and what they use.
//!
//! Only Linux shows it; elsewhere a process group is all there is.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, getpid, getsid, kill_process, waitpid};

/// One process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    id: Pid,
    parent: i32,
    session: i32,
    resident_pages: u64,
}

/// What a tree uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub processes: u64,
    pub memory_bytes: u64,
}

/// Everything this process started, directly or not, and adopted.
pub(super) fn descendants() -> Vec<Pid> {
    below(getpid(), &all()).iter().map(|one| one.id).collect()
}

/// What everything this process started uses. Memory that several share counts once for each,
/// unless that makes more than `memory_limit`: then it is looked at closely.
pub(super) fn usage(memory_limit: u64) -> Usage {
    let tree = below(getpid(), &all());
    let page = rustix::param::page_size() as u64;
    let resident = |one: &Process| one.resident_pages * page;
    let mut memory_bytes = tree.iter().map(resident).sum();
    if memory_bytes > memory_limit {
        let shared_fairly = |one: &Process| fair_share(one.id).unwrap_or_else(|| resident(one));
        memory_bytes = tree.iter().map(shared_fairly).sum();
    }
    Usage {
        processes: tree.len() as u64,
        memory_bytes,
    }
}

/// Kills what this process adopted: its children in other sessions that are not `known`, and
/// everything they started.
pub(super) fn kill_adopted(known: &[Pid]) {
    /// Only what is stuck in the kernel takes longer.
    const LONGEST: Duration = Duration::from_secs(5);
    let until = Instant::now() + LONGEST;
    let own_session = getsid(None).map_or(0, |session| session.as_raw_nonzero().get());
    while Instant::now() < until {
        let all = all();
        let me = getpid();
        let adopted: Vec<Process> = all
            .iter()
            .filter(|one| one.parent == me.as_raw_nonzero().get())
            .filter(|one| one.session != own_session && !known.contains(&one.id))
            .copied()
            .collect();
        if adopted.is_empty() {
            return;
        }
        for one in &adopted {
            for below in below(one.id, &all) {
                kill(below.id);
            }
            kill(one.id);
            // Whoever else waits for our children waits for others.
            let _ = waitpid(Some(one.id), WaitOptions::NOHANG);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub(super) fn kill(id: Pid) {
    // It may be gone already, which is what is wanted.
    let _ = kill_process(id, Signal::KILL);
}

fn below(root: Pid, all: &[Process]) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for one in all {
        children.entry(one.parent).or_default().push(*one);
    }
    let mut found = Vec::new();
    let mut ahead = vec![root.as_raw_nonzero().get()];
    while let Some(parent) = ahead.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            ahead.push(child.id.as_raw_nonzero().get());
            found.push(child);
        }
    }
    found
}

fn all() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            // One that has just ended cannot be read.
            let stat = std::fs::read(entry.path().join("stat")).ok()?;
            read_stat(Pid::from_raw(id)?, &stat)
        })
        .collect()
}

/// The fields after the name, which is in parentheses and may contain anything.
fn read_stat(id: Pid, stat: &[u8]) -> Option<Process> {
    let after_name = memchr::memrchr(b')', stat)? + 1;
    let rest = std::str::from_utf8(stat.get(after_name..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let _state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let _group = fields.next()?;
    let session = fields.next()?.parse().ok()?;
    // The seventh field is next, the 24th is the one.
    let resident_pages = fields.nth(24 - 7)?.parse().unwrap_or(0);
    Some(Process {
        id,
        parent,
        session,
        resident_pages,
    })
}

/// The memory of a process where what it shares counts in parts. Takes milliseconds.
fn fair_share(id: Pid) -> Option<u64> {
    let path = format!("/proc/{}/smaps_rollup", id.as_raw_nonzero());
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let line = b"42 (a) S 1 (b) R 7 42 43 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 1 0 900 1000000 \
            512 18446744073709551615";
        let read = read_stat(Pid::from_raw(42).unwrap(), line).unwrap();
        assert_eq!(
            (read.parent, read.session, read.resident_pages),
            (7, 43, 512)
        );
    }

    #[test]
    fn this_process_is_found_with_its_memory() {
        let me = getpid();
        let own = all().into_iter().find(|one| one.id == me).unwrap();
        assert!(own.resident_pages > 0);
        assert!(fair_share(me).unwrap() > 0);
    }
}
