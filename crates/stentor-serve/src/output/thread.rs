//! Writing by a thread: a pipe that blocks holds up nothing else, and a frame costs no turn of the
//! runtime.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::{Arc, PoisonError};
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};

use super::{OutputShared, OutputWriter, WriterWork};

/// The watching thread does nothing but wait.
const WATCHER_STACK_BYTES: usize = 64 * 1024;

/// Starts a thread that owns `target`, and one that looks whether anybody reads.
pub(super) fn start(shared: &Arc<OutputShared>, target: OwnedFd) -> io::Result<()> {
    let target = Arc::new(File::from(target));
    // Its end that is written to goes with the writing thread, which ends the watching one.
    let (over, alive) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let (owner, watched) = (Arc::clone(shared), Arc::clone(&target));
    thread::Builder::new()
        .name("stdout".to_owned())
        .spawn(move || {
            write_all(&owner, &target);
            drop((target, alive));
        })?;
    let watcher = Arc::clone(shared);
    thread::Builder::new()
        .name("stdout-reader".to_owned())
        .stack_size(WATCHER_STACK_BYTES)
        .spawn(move || {
            if is_hung_up(&watched, &over) {
                watcher.close();
            }
        })?;
    Ok(())
}

fn write_all(shared: &OutputShared, mut target: &File) {
    let mut in_hand = Vec::new();
    loop {
        match shared.next_work(&mut in_hand) {
            WriterWork::End => return,
            WriterWork::Sleep(mut state) => {
                let OutputWriter::Thread(work) = &shared.writer else {
                    return;
                };
                while state.writer_sleeps && !state.finished {
                    state = work.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
            WriterWork::Write => {
                if let Err(error) = target.write_all(&in_hand) {
                    return shared.failed(&error);
                }
            }
        }
    }
}

/// Waits until nobody reads `target` any more, or until `over` hangs up: then it is false.
fn is_hung_up(target: &File, over: &OwnedFd) -> bool {
    // Errors and hang-ups are told without being asked for; nothing else is of interest.
    let nothing = PollFlags::empty();
    let gone = PollFlags::ERR | PollFlags::HUP;
    let mut watched = [PollFd::new(target, nothing), PollFd::new(over, nothing)];
    loop {
        match poll(&mut watched, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // Then a write tells it.
            Err(_) => return false,
        }
        let [target, over] = &watched;
        if over.revents().intersects(gone) {
            return false;
        }
        if target.revents().intersects(gone) {
            return true;
        }
        if !target.revents().is_empty() {
            return false;
        }
    }
}
