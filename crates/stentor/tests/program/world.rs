//! A home and a folder of their own for a test that runs the program.

use std::ops::Deref;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use stentor_test_support::{TemporaryFolder, isolated_command};

/// A temporary folder with a home and a working folder in it.
pub struct World {
    folder: TemporaryFolder,
}

/// What a program left behind.
#[derive(Debug, PartialEq, Eq)]
pub struct Ran {
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
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
        self.path("work").join(name)
    }

    /// Writes a file below the temporary folder.
    pub fn file(&self, name: &str, text: &str) -> &Self {
        self.folder.file(name, text);
        self
    }

    /// The program with these words, no input, and an environment that has nothing but a home.
    pub fn command(&self, words: &[&str]) -> Command {
        let program = env!("CARGO_BIN_EXE_stentor");
        let mut command = isolated_command(program, &self.path("home"), &self.path("work"));
        command.args(words).stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, words: &[&str]) -> Ran {
        self.finish(self.command(words).output().unwrap())
    }

    /// Runs the program with something on stdin.
    pub fn run_with_input(&self, words: &[&str], input: &str) -> Ran {
        self.file("input", input);
        let input = std::fs::File::open(self.path("input")).unwrap();
        self.finish(self.command(words).stdin(input).output().unwrap())
    }

    /// The output with the temporary folder written as `~~`.
    pub fn finish(&self, output: Output) -> Ran {
        let text = |bytes: Vec<u8>| self.without_folder(&String::from_utf8(bytes).unwrap());
        Ran {
            status: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }
}

impl Deref for World {
    type Target = TemporaryFolder;

    fn deref(&self) -> &TemporaryFolder {
        &self.folder
    }
}

impl Ran {
    /// What is on stdout, when the program was content: it said at most which model answers.
    pub fn ok(self) -> String {
        assert_eq!(
            (self.status, self.err_but_model()),
            (Some(0), ""),
            "{}",
            self.out
        );
        self.out
    }

    /// What is on stderr behind the line that says which model answers.
    pub fn err_but_model(&self) -> &str {
        match self.err.split_once('\n') {
            Some((first, rest)) if first.starts_with("model: ") => rest,
            _ => &self.err,
        }
    }
}
