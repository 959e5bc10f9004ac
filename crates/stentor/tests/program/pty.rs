//! The program in a terminal: what a person types, and what they see.

use std::fs::File;
use std::io::{PipeWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use vt100::Parser;

/// A test that waits longer than this has failed.
const LONGEST_WAIT: Duration = Duration::from_secs(120);
/// Rows that are kept after they left the screen.
const SCROLLBACK: usize = 1000;

/// A program in a terminal of its own.
pub struct Terminal {
    child: Running,
    keys: File,
    seen: Arc<Seen>,
    /// Reads what is written; ends when the writer is dropped, and has closed its side then.
    reader: (JoinHandle<()>, PipeWriter),
}

/// A program that does not outlive its test.
struct Running(Child);

struct Seen {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    parser: Parser,
    /// Everything that was written, as it was.
    bytes: Vec<u8>,
    is_over: bool,
}

impl Terminal {
    /// Starts a program in a terminal of this size.
    pub fn start(mut command: Command, rows: u16, columns: u16) -> Self {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        tcsetwinsize(&master, size(rows, columns)).unwrap();
        let side = || -> Stdio {
            let open = File::options().read(true).write(true).open(&name);
            OwnedFd::from(open.unwrap()).into()
        };
        command.stdin(side()).stdout(side()).stderr(side());
        let child = Running(command.spawn().unwrap());
        drop(command);
        let mut output = File::from(master);
        let keys = output.try_clone().unwrap();
        let seen = Arc::new(Seen {
            state: Mutex::new(State {
                parser: Parser::new(
                    rows.try_into().unwrap(),
                    columns.try_into().unwrap(),
                    SCROLLBACK,
                ),
                bytes: Vec::new(),
                is_over: false,
            }),
            changed: Condvar::new(),
        });
        let watched = Arc::clone(&seen);
        let (closing, close) = std::io::pipe().unwrap();
        let reader = std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            loop {
                let mut ready = [
                    PollFd::new(&output, PollFlags::IN),
                    PollFd::new(&closing, PollFlags::IN),
                ];
                poll(&mut ready, None).unwrap();
                if !ready[1].revents().is_empty() {
                    return;
                }
                let read = output.read(&mut chunk).unwrap_or(0);
                let mut state = watched.state.lock().unwrap();
                state.parser.process(&chunk[..read]);
                state.bytes.extend_from_slice(&chunk[..read]);
                state.is_over = read == 0;
                watched.changed.notify_all();
                if read == 0 {
                    return;
                }
            }
        });
        Self {
            child,
            keys,
            seen,
            reader: (reader, close),
        }
    }

    /// Makes the window larger or smaller, and lets the program know as a terminal does.
    pub fn resize(&mut self, rows: u16, columns: u16) -> &mut Self {
        let mut state = self.seen.state.lock().unwrap();
        state
            .parser
            .screen_mut()
            .set_size(rows.try_into().unwrap(), columns.try_into().unwrap());
        drop(state);
        tcsetwinsize(&self.keys, size(rows, columns)).unwrap();
        // The kernel signals whom the terminal controls; this program has been given it only.
        let program = Pid::from_child(&self.child.0);
        kill_process(program, Signal::WINCH).unwrap();
        self
    }

    /// Closes the window and waits for the end of the program. Gives its status.
    pub fn close(self) -> Option<i32> {
        let Self {
            mut child,
            keys,
            reader: (reader, close),
            ..
        } = self;
        drop(close);
        reader.join().unwrap();
        drop(keys);
        child.0.wait().unwrap().code()
    }

    /// Types.
    pub fn press(&mut self, keys: &str) -> &mut Self {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self
    }

    /// Waits until this is on the screen, and gives the screen.
    pub fn shows(&mut self, text: &str) -> String {
        self.until(text, |state| {
            let screen = screen(state);
            screen.contains(text).then_some(screen)
        })
    }

    /// Waits until this was written, escape sequences included, and gives all that was.
    pub fn writes(&mut self, text: &str) -> String {
        self.until(text, |state| {
            let written = String::from_utf8_lossy(&state.bytes).into_owned();
            written.contains(text).then_some(written)
        })
    }

    /// Waits for the end of the program. Gives its status and what is on the screen then.
    pub fn ends(mut self) -> (Option<i32>, String) {
        let screen = self.until("the end", |state| state.is_over.then(|| screen(state)));
        (self.child.0.wait().unwrap().code(), screen)
    }

    fn until<T>(&mut self, what: &str, look: impl Fn(&State) -> Option<T>) -> T {
        let begun = Instant::now();
        let mut state = self.seen.state.lock().unwrap();
        loop {
            if let Some(found) = look(&state) {
                return found;
            }
            assert!(
                !state.is_over,
                "it ended before {what:?}:\n{}",
                screen(&state)
            );
            let waited = self.seen.changed.wait_timeout(state, LONGEST_WAIT).unwrap();
            state = waited.0;
            let is_late = begun.elapsed() > LONGEST_WAIT;
            assert!(!is_late, "{what:?} did not come:\n{}", screen(&state));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn size(rows: u16, columns: u16) -> Winsize {
    Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

/// The rows of the screen without the spaces at their ends.
fn screen(state: &State) -> String {
    let contents = state.parser.screen().contents();
    let rows: Vec<&str> = contents.lines().map(str::trim_end).collect();
    rows.join("\n").trim_end().to_owned() + "\n"
}
