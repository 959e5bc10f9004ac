//! The program in a terminal: what a person types, and what they see.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use vt100::Parser;

/// A test that waits longer than this has failed.
const LONGEST_WAIT: Duration = Duration::from_secs(120);
/// Rows that are kept after they left the screen.
const SCROLLBACK: usize = 1000;

/// A program in a terminal of its own.
pub struct Terminal {
    child: Child,
    keys: File,
    seen: Arc<Seen>,
}

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
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).unwrap();
        let side = || -> Stdio {
            let open = File::options().read(true).write(true).open(&name);
            OwnedFd::from(open.unwrap()).into()
        };
        command.stdin(side()).stdout(side()).stderr(side());
        let child = command.spawn().unwrap();
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
        let reader = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            loop {
                let read = output.read(&mut chunk).unwrap_or(0);
                let mut state = reader.state.lock().unwrap();
                state.parser.process(&chunk[..read]);
                state.bytes.extend_from_slice(&chunk[..read]);
                state.is_over = read == 0;
                reader.changed.notify_all();
                if read == 0 {
                    return;
                }
            }
        });
        Self { child, keys, seen }
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
        (self.child.wait().unwrap().code(), screen)
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

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The rows of the screen without the spaces at their ends.
fn screen(state: &State) -> String {
    let contents = state.parser.screen().contents();
    let rows: Vec<&str> = contents.lines().map(str::trim_end).collect();
    rows.join("\n").trim_end().to_owned() + "\n"
}
