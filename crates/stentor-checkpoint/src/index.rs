//! What is stored of a folder already, so that only what is new has to be read.
//!
//! A file that looks as it did (size, times, inode) has the content it had. The index may be
//! outdated, or that of another session in the folder: what it says of a file counts only while the
//! file looks like that.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::snapshot::SeenPath;
use crate::state::{PathKind, PathStamp, PathState};

/// The first bytes of the file; another version is no index.
const VERSION: &[u8] = b"stentor-index 1\0";

/// Reads an index. One that is not there, or cannot be read, is empty.
pub(crate) fn read(path: &Path) -> HashMap<PathBuf, SeenPath> {
    let bytes = fs::read(path).unwrap_or_default();
    let Some(rest) = bytes.strip_prefix(VERSION) else {
        return HashMap::new();
    };
    let mut fields = rest.split(|byte| *byte == 0);
    let mut index = HashMap::new();
    while let (Some(facts), Some(name)) = (fields.next(), fields.next()) {
        let Some(seen) = std::str::from_utf8(facts).ok().and_then(parsed) else {
            break;
        };
        index.insert(PathBuf::from(OsStr::from_bytes(name)), seen);
    }
    index
}

/// Replaces an index by the files of a snapshot whose contents are stored.
pub(crate) fn write<'a>(
    path: &Path,
    entries: impl Iterator<Item = (&'a PathBuf, &'a SeenPath)>,
) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut out = BufWriter::new(tempfile::NamedTempFile::new_in(folder)?);
    out.write_all(VERSION)?;
    for (path, seen) in entries {
        let (PathState::File { hash, .. }, false) = (&seen.state, seen.is_racy) else {
            continue;
        };
        let PathStamp {
            size,
            modified_ns,
            changed_ns,
            inode,
            mode,
            ..
        } = seen.stamp;
        write!(
            out,
            "{size} {modified_ns} {changed_ns} {inode} {mode} {hash}\0"
        )?;
        out.write_all(path.as_os_str().as_bytes())?;
        out.write_all(b"\0")?;
    }
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.persist(path)?;
    Ok(())
}

fn parsed(facts: &str) -> Option<SeenPath> {
    let mut fields = facts.split(' ');
    let stamp = PathStamp {
        kind: PathKind::File,
        size: fields.next()?.parse().ok()?,
        modified_ns: fields.next()?.parse().ok()?,
        changed_ns: fields.next()?.parse().ok()?,
        inode: fields.next()?.parse().ok()?,
        mode: fields.next()?.parse().ok()?,
    };
    let state = PathState::File {
        hash: fields.next()?.parse().ok()?,
        size: stamp.size,
        mode: stamp.mode,
    };
    Some(SeenPath {
        stamp,
        state,
        is_racy: false,
    })
}
