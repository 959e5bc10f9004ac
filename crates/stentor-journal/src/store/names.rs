//! Names: of entries, of session files and of the folders they are in.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::StoreError;
use super::entry::SessionHeader;
use crate::clock::Clock;

/// The longest session id that is accepted.
const MAX_ID_BYTES: usize = 128;
/// File systems stop at 255 bytes a name, four of which are dashes.
const MAX_FOLDER_BYTES: usize = 251;

/// A new entry id: eight hex digits that `is_taken` does not know.
///
/// A taken id is not fatal (a parent id means the nearest entry before), so a clock that keeps
/// giving the same number ends the search instead of hanging it.
pub fn new_entry_id(clock: &dyn Clock, is_taken: impl Fn(&str) -> bool) -> String {
    const TRIES: usize = 100;
    let mut id = format!("{:08x}", clock.random());
    for _ in 1..TRIES {
        if !is_taken(&id) {
            break;
        }
        id = format!("{:08x}", clock.random());
    }
    id
}

/// Whether `id` may name a session, and with it a file: letters, digits, `-`, `_` and `.`, with a
/// letter or digit at both ends, so that no path can be hidden in it.
pub fn check_session_id(id: &str) -> Result<(), StoreError> {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let ends_well = [id.chars().next(), id.chars().next_back()]
        .into_iter()
        .all(|end| end.is_some_and(|c| c.is_ascii_alphanumeric()));
    if ends_well && id.len() <= MAX_ID_BYTES && id.chars().all(inner) {
        Ok(())
    } else {
        Err(StoreError::BadId { id: id.to_owned() })
    }
}

/// Where the conversations of a session's subagents are: out of sight of lists, which look into
/// the folders of sessions and not into folders within those.
pub fn subagents_folder(session_file: &Path) -> PathBuf {
    session_file.with_extension("").join("subagents")
}

/// The folder name of a working directory, as pi makes it: `/work/app` becomes `--work-app--`.
///
/// A path too long for a file name is cut and ends in a hash of the whole.
pub fn encoded_cwd(cwd: impl AsRef<Path>) -> String {
    let path = cwd.as_ref().to_string_lossy();
    let relative = path.strip_prefix(['/', '\\']).unwrap_or(&path);
    format!("--{}--", fitting(dashed(relative), &path))
}

/// The same as omp makes it: `-app` for `app` in the home, `-tmp-app` for one in the folder for
/// temporary files, else pi's name.
pub fn omp_encoded_cwd(cwd: &Path, home: Option<&Path>, temp: &Path) -> String {
    let below = |folder: &Path| {
        let rest = cwd.strip_prefix(folder).ok()?.to_string_lossy();
        Some(dashed(&rest))
    };
    let path = cwd.to_string_lossy();
    if let Some(rest) = home.and_then(below) {
        return format!("-{}", fitting(rest, &path));
    }
    match below(temp) {
        Some(rest) if rest.is_empty() => "-tmp".to_owned(),
        Some(rest) => fitting(format!("-tmp-{rest}"), &path),
        None => encoded_cwd(cwd),
    }
}

fn dashed(path: &str) -> String {
    path.replace(['/', '\\', ':'], "-")
}

/// `name`, cut with a hash of `path` at its end if it is too long for a file name.
fn fitting(name: String, path: &str) -> String {
    if name.len() <= MAX_FOLDER_BYTES {
        return name;
    }
    let hash = hex(&Sha256::digest(path.as_bytes()));
    let room = MAX_FOLDER_BYTES - 17;
    let head = name
        .get(..name.floor_char_boundary(room))
        .unwrap_or_default();
    format!("{head}-{}", hash.get(..16).unwrap_or_default())
}

/// The file name of a session: its start and its id.
pub(super) fn file_name(header: &SessionHeader) -> Result<String, StoreError> {
    check_session_id(&header.id)?;
    let time = header.timestamp.replace([':', '.'], "-");
    check_session_id(&time)?;
    Ok(format!("{time}_{}.jsonl", header.id))
}

/// The file a session of that header gets in `dir`.
pub fn file_path(dir: &Path, header: &SessionHeader) -> Result<PathBuf, StoreError> {
    Ok(dir.join(file_name(header)?))
}

/// The session id in a file name: what is between the time and the ending.
pub(super) fn id_in_file_name(path: &Path) -> Option<&str> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".jsonl")?;
    Some(stem.split_once('_').map_or(stem, |(_, id)| id))
}

/// `bytes` in lower-case hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::CountingClock;

    #[test]
    fn folders_are_named_as_pi_names_them() {
        for (cwd, name) in [
            ("/work/app", "--work-app--"),
            ("/", "----"),
            ("C:\\work\\app", "--C--work-app--"),
            ("/a:b/c", "--a-b-c--"),
        ] {
            assert_eq!(encoded_cwd(cwd), name);
        }
    }

    #[test]
    fn and_as_omp_names_them() {
        for (cwd, name) in [
            ("/h/work/app", "-work-app"),
            ("/h", "-"),
            ("/tmp/a:b", "-tmp-a-b"),
            ("/tmp", "-tmp"),
            ("/hut", "--hut--"),
            ("/work/app", "--work-app--"),
        ] {
            let home = Some(Path::new("/h"));
            assert_eq!(
                omp_encoded_cwd(Path::new(cwd), home, Path::new("/tmp")),
                name
            );
        }
    }

    #[test]
    fn a_very_long_folder_gets_a_short_unique_name() {
        let long = format!("/{}", "ä/".repeat(300));
        let (one, other) = (encoded_cwd(&long), encoded_cwd(format!("{long}x")));
        assert!(one.len() <= 255 && other.len() <= 255);
        assert_ne!(one, other);
    }

    #[test]
    fn ids_that_could_leave_the_folder_are_refused() {
        for good in ["0195f3a2-7b1c-7d2e-8f00-1234567890ab", "a", "A.b_c-9"] {
            check_session_id(good).unwrap();
        }
        let long = "a".repeat(129);
        for bad in [
            "", "..", ".", "a/b", "../a", "a\0b", "-a", "a-", "a b", "ä", &long,
        ] {
            assert!(
                matches!(check_session_id(bad), Err(StoreError::BadId { .. })),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn a_new_id_avoids_taken_ones_and_never_hangs() {
        let clock = CountingClock::starting_at(0);
        let id = new_entry_id(&clock, |id| id == "00000000" || id == "00000001");
        assert_eq!(id, "00000002");
        assert_eq!(new_entry_id(&clock, |_| true).len(), 8);
    }
}
