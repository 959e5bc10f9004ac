//! Sessions that clients keep by a folder of session files of their own. The folder may be on no other
//! node, so its name is what counts: all nodes make the same one of it, below their own.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

const PREFIX: &str = "kept-";

/// How many bytes of the hash are in a name.
const HASH_BYTES: usize = 16;

/// A folder by which sessions are kept, as all nodes call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptIn(String);

impl KeptIn {
    /// That of a client's folder, absolute.
    pub fn of(folder: &Path) -> Self {
        let hash = Sha256::digest(folder.as_os_str().as_encoded_bytes());
        let mut name = PREFIX.to_owned();
        for byte in hash.iter().take(HASH_BYTES) {
            // Writing to a string does not fail.
            write!(name, "{byte:02x}").ok();
        }
        Self(name)
    }

    /// That of a session file on this node, if it is in one.
    pub fn of_file(file: &Path) -> Option<Self> {
        Self::read(file.parent()?.file_name()?.to_str()?)
    }

    /// Reads a name. What is none could be a way out of the folder of sessions.
    pub fn read(name: &str) -> Option<Self> {
        let hash = name.strip_prefix(PREFIX)?;
        let is_hash = hash.len() == 2 * HASH_BYTES && hash.bytes().all(|b| b.is_ascii_hexdigit());
        is_hash.then(|| Self(name.to_owned()))
    }

    pub fn name(&self) -> &str {
        &self.0
    }

    /// Where it is on a node.
    pub fn below(&self, root: &Path) -> PathBuf {
        root.join(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_name_on_all_nodes_and_no_name_leads_elsewhere() {
        let kept_in = KeptIn::of(Path::new("/chats/42"));
        assert_eq!(KeptIn::read(kept_in.name()), Some(kept_in.clone()));
        assert_ne!(kept_in, KeptIn::of(Path::new("/chats/43")));
        let file = kept_in.below(Path::new("/data")).join("1_a.jsonl");
        assert_eq!(KeptIn::of_file(&file), Some(kept_in));
        for name in [
            "--work--",
            "kept-",
            "kept-../../etc/passwd/0000000000000000",
        ] {
            assert_eq!(KeptIn::read(name), None, "{name}");
        }
    }
}
