//! Where what the subcommands say goes.

use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::ContextValue;
use stentor_text::visible::{VisibleWriter, visible};

/// Stdout: for people everything is made visible, for programs nothing is changed.
pub enum StdoutWriter<'a> {
    ForPeople(VisibleWriter<&'a File>),
    ForPrograms(&'a File),
}

impl<'a> StdoutWriter<'a> {
    /// Prints to `out`, JSON or text.
    pub fn new(out: &'a File, json: bool) -> Self {
        match json {
            true => Self::ForPrograms(out),
            false => Self::ForPeople(VisibleWriter::new(out)),
        }
    }
}

impl Write for StdoutWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::ForPeople(out) => out.write(bytes),
            Self::ForPrograms(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::ForPeople(out) => out.flush(),
            Self::ForPrograms(out) => out.flush(),
        }
    }
}

/// Stderr, for warnings and errors.
pub fn stderr() -> VisibleWriter<io::Stderr> {
    VisibleWriter::new(io::stderr())
}

/// Exit status for a wrong command line.
const USAGE: u8 = 2;

/// Prints why a command line is wrong, or the help it asks for.
pub fn usage_error(error: clap::Error) -> ExitCode {
    let status = u8::try_from(error.exit_code()).unwrap_or(USAGE);
    // A closed pipe is nobody's problem.
    let _ = match error.use_stderr() {
        true => write!(stderr(), "{}", usage_text(error)),
        false => error.print(),
    };
    ExitCode::from(status)
}

/// Why a command line is wrong, with the words that it repeats made visible: rendering would drop
/// escape sequences from them instead.
pub fn usage_text(mut error: clap::Error) -> String {
    let shown = |text: &String| visible(text).into_owned();
    let words: Vec<_> = error
        .context()
        .filter_map(|(kind, value)| {
            let value = match value {
                ContextValue::String(text) => ContextValue::String(shown(text)),
                ContextValue::Strings(texts) => {
                    ContextValue::Strings(texts.iter().map(shown).collect())
                }
                _ => return None,
            };
            Some((kind, value))
        })
        .collect();
    for (kind, value) in words {
        error.insert(kind, value);
    }
    visible(&error.render().to_string()).into_owned()
}
