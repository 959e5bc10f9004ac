//! A home and a folder of their own for a test that runs the program.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A temporary home with a working folder in it.
pub struct World {
    dir: tempfile::TempDir,
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
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("home")).unwrap();
        std::fs::create_dir_all(dir.path().join("work")).unwrap();
        Self { dir }
    }

    /// A path in the working folder.
    pub fn work(&self, name: &str) -> PathBuf {
        self.dir
            .path()
            .canonicalize()
            .unwrap()
            .join("work")
            .join(name)
    }

    /// The temporary folder with the home and the working folder in it.
    pub fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    /// Writes a file below the temporary folder.
    pub fn file(&self, name: &str, text: &str) -> &Self {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// The program with these words, no input, and an environment that has nothing but a home.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stentor"));
        command
            .args(words)
            .current_dir(self.dir.path().join("work"))
            .env_clear()
            .env("HOME", self.dir.path().join("home"))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, words: &[&str]) -> Ran {
        self.finish(self.command(words).output().unwrap())
    }

    /// Runs the program with something on stdin.
    pub fn run_with_input(&self, words: &[&str], input: &str) -> Ran {
        self.file("input", input);
        let input = std::fs::File::open(self.dir.path().join("input")).unwrap();
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

    /// The text with the temporary folder written as `~~`.
    pub fn without_folder(&self, text: &str) -> String {
        let given = self.dir.path();
        let resolved = given.canonicalize().unwrap();
        let name = |path: &Path| path.display().to_string();
        text.replace(&name(&resolved), "~~")
            .replace(&name(given), "~~")
    }
}

impl Ran {
    /// What is on stdout, when the program was content.
    pub fn ok(self) -> String {
        assert_eq!(
            (self.status, self.err.as_str()),
            (Some(0), ""),
            "{}",
            self.out
        );
        self.out
    }
}
