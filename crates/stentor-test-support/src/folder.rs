//! A folder that a test has for itself.

use std::path::{Path, PathBuf};

/// A temporary folder. It is gone when this is dropped.
pub struct TemporaryFolder {
    dir: tempfile::TempDir,
}

impl TemporaryFolder {
    /// One with these folders in it.
    pub fn with(folders: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in folders {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        Self { dir }
    }

    /// The folder, without links in its path.
    pub fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Writes a file in it, and makes the folders above the file.
    pub fn file(&self, name: &str, content: &(impl AsRef<[u8]> + ?Sized)) {
        write(&self.path(name), content);
    }

    /// Writes a program in it.
    pub fn executable(&self, name: &str, content: &str) {
        use std::os::unix::fs::PermissionsExt;
        self.file(name, content);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.path(name), mode).unwrap();
    }

    /// The text with this folder written as `~~`.
    pub fn without_folder(&self, text: &str) -> String {
        let name = |path: &Path| path.display().to_string();
        text.replace(&name(&self.root()), "~~")
            .replace(&name(self.dir.path()), "~~")
    }
}

/// Writes a file, and makes the folders above it.
pub fn write(path: &Path, content: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}
