//! The processes of this machine as a tree: who started whom, and what they use.
//!
//! Only Linux shows it; elsewhere a process group is all there is.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process, waitid, waitpid,
};

/// One process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProcessInfo {
    id: Pid,
    parent: i32,
    resident_pages: u64,
}

/// What a tree uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TreeUsage {
    pub processes: u64,
    pub memory_bytes: u64,
}

/// The kernel's list of this process's children, adopted ones too. It stays open, because a process
/// below can take our right to open files away (`prlimit`) but not what is open.
static CHILDREN: OnceLock<Option<File>> = OnceLock::new();

/// Has this process find its children whatever happens to it. To be called before it starts any.
pub(super) fn keep_children_in_sight() {
    // What a process adopts belongs to its first thread, which has the number of the process.
    let list = || format!("/proc/self/task/{}/children", getpid().as_raw_nonzero());
    // Kernels may be built without this list; then all processes are looked through.
    CHILDREN.get_or_init(|| File::open(list()).ok());
}

/// What this process started or adopted. Whatever is killed of it leaves its own children to us, so
/// this is enough to end everything in rounds. Nothing is returned when it cannot be seen.
fn children() -> Option<Vec<Pid>> {
    let list = CHILDREN.get().and_then(Option::as_ref);
    if let Some(children) = list.and_then(|list| read_children(list).ok()) {
        return Some(children);
    }
    let me = getpid().as_raw_nonzero().get();
    let all = all()?;
    let own = all.iter().filter(|one| one.parent == me);
    Some(own.map(|one| one.id).collect())
}

fn read_children(list: &File) -> io::Result<Vec<Pid>> {
    let mut text = Vec::new();
    let mut part = [0; 4096];
    loop {
        let length = list.read_at(&mut part, text.len() as u64)?;
        text.extend(part.iter().take(length));
        if length == 0 {
            break;
        }
    }
    let words = text.split(u8::is_ascii_whitespace);
    let ids = words.filter_map(|word| std::str::from_utf8(word).ok()?.parse().ok());
    Ok(ids.filter_map(Pid::from_raw).collect())
}

/// Everything this process started, directly or not, and adopted, as far as it can be seen: only
/// the kernel's word that there is no child left proves that nothing is.
pub(super) fn descendants() -> HashSet<Pid> {
    let all = all().unwrap_or_default();
    let seen = below(getpid(), &all).into_iter().map(|one| one.id);
    seen.chain(children().unwrap_or_default()).collect()
}

/// What everything this process started uses. Memory that several share counts once for each,
/// unless that makes more than `memory_limit`: then it is looked at closely.
pub(super) fn usage(memory_limit: u64) -> TreeUsage {
    let tree = below(getpid(), &all().unwrap_or_default());
    let page = rustix::param::page_size() as u64;
    let resident = |one: &ProcessInfo| one.resident_pages * page;
    let mut memory_bytes = tree.iter().map(resident).sum();
    if memory_bytes > memory_limit {
        let shared_fairly = |one: &ProcessInfo| fair_share(one.id).unwrap_or_else(|| resident(one));
        memory_bytes = tree.iter().map(shared_fairly).sum();
    }
    TreeUsage {
        processes: tree.len() as u64,
        memory_bytes,
    }
}

/// What can be seen of our children.
pub(super) enum Children {
    Seen(Vec<Pid>),
    /// There are some, but not which.
    Hidden,
    /// The kernel says that there are none.
    None,
}

/// Our children in other sessions: supervisors, and what was adopted.
pub(super) fn children_in_other_sessions() -> Children {
    let own_session = session_of(getpid()).ok();
    match children() {
        Some(mut children) => {
            children.retain(|id| match session_of(*id) {
                Ok(session) => Some(session) != own_session,
                // It has ended. What only cannot be looked at may well be one of those.
                Err(error) => error.kind() != io::ErrorKind::NotFound,
            });
            Children::Seen(children)
        }
        None if has_no_child() => Children::None,
        None => Children::Hidden,
    }
}

/// Kills children of ours and everything they started.
pub(super) fn kill_with_all_below(children: &[Pid]) {
    let all = all().unwrap_or_default();
    for child in children {
        for below in below(*child, &all) {
            kill(below.id);
        }
        kill(*child);
        // Whoever else waits for our children waits for others.
        let _ = waitpid(Some(*child), WaitOptions::NOHANG);
    }
}

fn has_no_child() -> bool {
    let looking = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::All, looking).is_err_and(|error| error == rustix::io::Errno::CHILD)
}

pub(super) fn kill(id: Pid) {
    // It may be gone already, which is what is wanted.
    let _ = kill_process(id, Signal::KILL);
}

fn below(root: Pid, all: &[ProcessInfo]) -> Vec<ProcessInfo> {
    let mut children: HashMap<i32, Vec<ProcessInfo>> = HashMap::new();
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

/// All processes of the machine; nothing when they cannot be seen, and then not even ourselves.
fn all() -> Option<Vec<ProcessInfo>> {
    let entries = std::fs::read_dir("/proc").ok()?;
    let all: Vec<ProcessInfo> = entries
        .flatten()
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            // One that has just ended cannot be read.
            let stat = std::fs::read(entry.path().join("stat")).ok()?;
            read_stat(Pid::from_raw(id)?, &stat)
        })
        .collect();
    let me = getpid();
    all.iter().any(|one| one.id == me).then_some(all)
}

/// The session of a process; 0 when its leader is outside our container, or when the process is
/// just ending. (`getsid` would say the same, but rustix takes 0 for impossible.)
fn session_of(id: Pid) -> io::Result<i32> {
    let stat = std::fs::read(format!("/proc/{}/stat", id.as_raw_nonzero())).map_err(|error| {
        // It ended between opening and reading.
        match rustix::io::Errno::from_io_error(&error) {
            Some(rustix::io::Errno::SRCH) => io::ErrorKind::NotFound.into(),
            _ => error,
        }
    })?;
    let session = fields_after_name(&stat).and_then(|mut fields| fields.nth(3)?.parse().ok());
    session.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The fields from the third on, the state. The name before it is in parentheses and may contain
/// anything.
fn fields_after_name(stat: &[u8]) -> Option<std::str::SplitAsciiWhitespace<'_>> {
    let after_name = memchr::memrchr(b')', stat)? + 1;
    let rest = std::str::from_utf8(stat.get(after_name..)?).ok()?;
    Some(rest.split_ascii_whitespace())
}

fn read_stat(id: Pid, stat: &[u8]) -> Option<ProcessInfo> {
    let mut fields = fields_after_name(stat)?;
    let _state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    // The fifth field is next, the 24th is the one.
    let resident_pages = fields.nth(24 - 5)?.parse().unwrap_or(0);
    Some(ProcessInfo {
        id,
        parent,
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
        assert_eq!((read.parent, read.resident_pages), (7, 512));
    }

    #[test]
    fn a_session_is_read_and_of_a_process_that_ended_there_is_none() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let id = Pid::from_child(&child);
        // Also while it waits to be collected.
        let session = session_of(getpid()).unwrap();
        assert!([session, 0].contains(&session_of(id).unwrap()));
        child.wait().unwrap();
        let error = session_of(id).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn this_process_is_found_with_its_memory() {
        let me = getpid();
        let own = all().unwrap().into_iter().find(|one| one.id == me).unwrap();
        assert!(own.resident_pages > 0);
        assert!(fair_share(me).unwrap() > 0);
    }
}
