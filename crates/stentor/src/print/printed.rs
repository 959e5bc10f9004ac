//! Where what the subcommands say goes.

use std::fs::File;
use std::io::{self, Write};

use stentor_text::visible::VisibleWriter;

/// Stdout: for people everything is made visible, for programs nothing is changed.
pub enum Printed<'a> {
    ForPeople(VisibleWriter<&'a File>),
    ForPrograms(&'a File),
}

impl<'a> Printed<'a> {
    /// Prints to `out`, JSON or text.
    pub fn new(out: &'a File, json: bool) -> Self {
        match json {
            true => Self::ForPrograms(out),
            false => Self::ForPeople(VisibleWriter::new(out)),
        }
    }
}

impl Write for Printed<'_> {
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
