//! A home and a folder of their own for a test that runs the program.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A temporary home with a working folder in it.
pub struct World {
    dir: tempfile::TempDir,
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
        let root = self.dir.path().canonicalize().unwrap();
        match name {
            "" => root.join("work"),
            name => root.join("work").join(name),
        }
    }

    /// Writes a file below the temporary folder.
    pub fn file(&self, name: &str, text: &str) {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Writes a program below the temporary folder.
    pub fn executable(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        self.file(name, text);
        let path = self.dir.path().join(name);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The program with these words and an environment that has nothing but a home.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stentor"));
        command.args(words);
        self.prepare(command)
    }

    /// The same, which may have only so many files open.
    pub fn limited_command(&self, open_files: u32, words: &[&str]) -> Command {
        let mut command = Command::new("/bin/sh");
        command
            .arg("-c")
            .arg(format!("ulimit -n {open_files} && exec \"$0\" \"$@\""))
            .arg(env!("CARGO_BIN_EXE_stentor"))
            .args(words);
        self.prepare(command)
    }

    fn prepare(&self, mut command: Command) -> Command {
        command
            .current_dir(self.dir.path().join("work"))
            .env_clear()
            .env("HOME", self.dir.path().join("home"))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
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
