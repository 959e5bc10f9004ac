//! The terminal itself: its modes, its size, and what is typed into it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd;

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize,
    tcsetattr,
};
use tokio::sync::mpsc;

/// What is typed and not handled yet. Whoever types faster waits.
const TYPED_CHUNKS: usize = 64;
/// Bytes that are read at once.
const CHUNK_BYTES: usize = 4096;
/// A line in a plain terminal; the kernel has its own, smaller limit.
const LONGEST_LINE_BYTES: u64 = 1 << 20;

/// What came from the terminal.
#[derive(Debug)]
pub enum Typed {
    /// Keys, where keys are read one by one.
    Bytes(Vec<u8>),
    /// A line, where the terminal edits lines itself.
    Line(String),
    /// Nothing more will come.
    End,
}

/// What a terminal can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// The cursor can be moved and rows can be erased.
    pub moves_cursor: bool,
    pub has_colour: bool,
}

impl Abilities {
    /// What follows from `TERM` and `NO_COLOR`.
    pub fn of(term: Option<&str>, no_color: Option<&str>) -> Self {
        let moves_cursor = !matches!(term, None | Some("" | "dumb" | "cons25" | "emacs"));
        let refused = no_color.is_some_and(|value| !value.is_empty());
        Self {
            moves_cursor,
            has_colour: moves_cursor && !refused,
        }
    }
}

/// Columns and rows of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

impl Size {
    /// What a terminal has that does not say.
    pub const USUAL: Self = Self {
        columns: 80,
        rows: 24,
    };

    /// The size of the terminal behind a descriptor.
    pub fn of(terminal: &impl AsFd) -> Self {
        let size = tcgetwinsize(terminal).ok();
        let size = size.filter(|size| size.ws_col > 0 && size.ws_row > 0);
        size.map_or(Self::USUAL, |size| Self {
            columns: usize::from(size.ws_col),
            rows: usize::from(size.ws_row),
        })
    }
}

/// The modes of a terminal, given back when this goes.
pub struct Modes {
    terminal: File,
    before: Termios,
}

impl Modes {
    /// Keys come one by one and are not echoed; Ctrl-C is a key like any other.
    pub fn key_by_key(terminal: &File) -> io::Result<Self> {
        let modes = Self {
            terminal: terminal.try_clone()?,
            before: tcgetattr(terminal)?,
        };
        modes.enter()?;
        Ok(modes)
    }

    /// What is typed is not shown; the rest stays.
    pub fn hidden(terminal: &File) -> io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(terminal, OptionalActions::Flush, &hidden)?;
        let terminal = terminal.try_clone()?;
        Ok(Self { terminal, before })
    }

    /// Takes the keys again, after [`Modes::leave`].
    pub fn enter(&self) -> io::Result<()> {
        let mut raw = self.before.clone();
        let lines = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        raw.local_modes.remove(lines);
        raw.input_modes.remove(InputModes::ICRNL | InputModes::IXON);
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        Ok(tcsetattr(&self.terminal, OptionalActions::Drain, &raw)?)
    }

    /// Gives the modes back for as long as somebody else has the terminal.
    pub fn leave(&self) -> io::Result<()> {
        Ok(tcsetattr(
            &self.terminal,
            OptionalActions::Drain,
            &self.before,
        )?)
    }
}

impl Drop for Modes {
    fn drop(&mut self) {
        // A terminal that is gone has no modes.
        let _ = self.leave();
    }
}

/// Reads keys on a thread of their own: a read of a terminal cannot be cancelled, and the thread
/// ends with the program.
pub fn read_keys(mut terminal: File) -> mpsc::Receiver<Typed> {
    reading(move |send| {
        let mut chunk = [0; CHUNK_BYTES];
        loop {
            match terminal.read(&mut chunk) {
                Ok(0) => return,
                Ok(length) => {
                    let bytes = chunk.get(..length).unwrap_or_default();
                    if !send(Typed::Bytes(bytes.to_vec())) {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    })
}

/// Reads lines, where the terminal edits them.
pub fn read_lines(terminal: File) -> mpsc::Receiver<Typed> {
    reading(move |send| {
        let mut lines = BufReader::new(terminal);
        loop {
            let mut line = Vec::new();
            let read = lines
                .by_ref()
                .take(LONGEST_LINE_BYTES)
                .read_until(b'\n', &mut line);
            match read {
                Ok(0) => return,
                Ok(_) => {
                    let line = String::from_utf8_lossy(&line);
                    let line = line.trim_end_matches(['\n', '\r']).to_owned();
                    if !send(Typed::Line(line)) {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    })
}

fn reading(read: impl FnOnce(&dyn Fn(Typed) -> bool) + Send + 'static) -> mpsc::Receiver<Typed> {
    let (sender, typed) = mpsc::channel(TYPED_CHUNKS);
    std::thread::spawn(move || {
        read(&|typed| sender.blocking_send(typed).is_ok());
        // The conversation may be over already.
        let _ = sender.blocking_send(Typed::End);
    });
    typed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_that_says_nothing_is_taken_for_a_plain_one() {
        for (term, no_color, moves_cursor, has_colour) in [
            (Some("xterm-256color"), None, true, true),
            (Some("xterm"), Some("1"), true, false),
            (Some("xterm"), Some(""), true, true),
            (Some("dumb"), None, false, false),
            (None, None, false, false),
        ] {
            let abilities = Abilities::of(term, no_color);
            let expected = Abilities {
                moves_cursor,
                has_colour,
            };
            assert_eq!(abilities, expected, "{term:?} {no_color:?}");
        }
    }
}
