//! A home and a folder of their own for a test that runs the program.

use std::ops::Deref;
use std::path::PathBuf;
use std::process::Command;

use stentor_test_support::{TemporaryFolder, isolated_command};

/// A temporary folder with a home and a working folder in it.
pub struct World {
    folder: TemporaryFolder,
}

impl World {
    /// An empty one.
    pub fn new() -> Self {
        Self {
            folder: TemporaryFolder::with(&["home", "work"]),
        }
    }

    /// A path in the working folder.
    pub fn work(&self, name: &str) -> PathBuf {
        match name {
            "" => self.path("work"),
            name => self.path("work").join(name),
        }
    }

    /// The program with these words and an environment that has nothing but a home.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = self.isolated(env!("CARGO_BIN_EXE_stentor"));
        command.args(words);
        command
    }

    /// The same, which may have only so many files open.
    pub fn limited_command(&self, open_files: u32, words: &[&str]) -> Command {
        let mut command = self.isolated("/bin/sh");
        command
            .arg("-c")
            .arg(format!("ulimit -n {open_files} && exec \"$0\" \"$@\""))
            .arg(env!("CARGO_BIN_EXE_stentor"))
            .args(words);
        command
    }

    fn isolated(&self, program: &str) -> Command {
        isolated_command(program, &self.path("home"), &self.path("work"))
    }
}

impl Deref for World {
    type Target = TemporaryFolder;

    fn deref(&self) -> &TemporaryFolder {
        &self.folder
    }
}
