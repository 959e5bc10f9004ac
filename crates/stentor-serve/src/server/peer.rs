//! Who is at the other end of the Unix socket.

use tokio::net::UnixStream;

/// True when the process at the other end belongs to the user of this one.
pub(super) fn is_our_user(stream: &UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == own)
}

/// True when the process at the other end is a command that an agent runs in its sandbox: it could
/// leave the sandbox by way of the server. So could one that is gone and has left the connection to
/// others. `helper_word` is what starts the supervisors of commands,
/// below which everything stays that a command starts.
#[cfg(target_os = "linux")]
pub(super) fn is_in_sandbox(stream: &UnixStream, helper_word: &str) -> bool {
    let peer = stream.peer_cred().ok().and_then(|peer| peer.pid());
    // One that cannot be seen from here, as it is outside of our container, is in no sandbox of ours.
    let seen = |pid: &u32| *pid > 0;
    let Some(peer) = peer.and_then(|pid| u32::try_from(pid).ok()).filter(seen) else {
        return false;
    };
    match status_of(peer, "NoNewPrivs") {
        None => true,
        // Without that a process cannot be restricted, and it never goes away.
        Some(value) => value == "1" && is_below_supervisor(peer, helper_word),
    }
}

/// Where there is no sandbox nobody is in one.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_in_sandbox(_: &UnixStream, _: &str) -> bool {
    false
}

/// True when one of its ancestors is a supervisor, or this process, which takes over what a supervisor
/// leaves that was killed.
#[cfg(target_os = "linux")]
fn is_below_supervisor(pid: u32, helper_word: &str) -> bool {
    /// More than any tree of processes is deep.
    const DEEPEST: usize = 1000;
    let mut next = parent_of(pid);
    for _ in 0..DEEPEST {
        let Some(ancestor) = next.filter(|pid| *pid > 1) else {
            return false;
        };
        if ancestor == std::process::id() || has_word(ancestor, helper_word) {
            return true;
        }
        next = parent_of(ancestor);
    }
    true
}

#[cfg(target_os = "linux")]
fn parent_of(pid: u32) -> Option<u32> {
    status_of(pid, "PPid")?.parse().ok()
}

/// True when the first argument of a process is this word.
#[cfg(target_os = "linux")]
fn has_word(pid: u32, word: &str) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut arguments = line.split(|byte| *byte == 0).skip(1);
    arguments.next() == Some(word.as_bytes())
}

#[cfg(target_os = "linux")]
fn status_of(pid: u32, name: &str) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let mut lines = status.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = lines.find(|(of, _)| *of == name)?;
    Some(value.trim().to_owned())
}
