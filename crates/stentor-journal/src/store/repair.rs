//! What is done about a file that is not as it should be: a torn end, an older version.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use super::entry::CURRENT_VERSION;
use super::error::StoreError;
use super::file_journal::sync_folder_of;
use super::files::{preamble_in, read_preamble};
use super::migrate;
use super::reader::FoundPreamble;
use super::tail::tail_of;
use crate::private_file::{FileReplacement, PRIVATE};

/// A file that stays as it is until something is added.
pub(super) struct FoundState {
    /// What it says in the current version, if it is of an older one.
    pub(super) lifted: Option<Arc<Vec<u8>>>,
}

/// Looks at a file and leaves it as it is. Says what is to be done, for people.
pub(super) fn look_at(
    file: &File,
    path: &Path,
    warnings: &mut Vec<String>,
) -> Result<(FoundPreamble, FoundState), StoreError> {
    let reading = || StoreError::io("read", path);
    let preamble = read_preamble(file, path)?;
    let tail = tail_of(file).map_err(reading())?;
    if tail.torn > 0 {
        warnings.push(format!(
            "left out {} byte(s) of an unfinished record at the end of {}",
            tail.torn,
            path.display()
        ));
    }
    let version = preamble.header.version;
    if version == CURRENT_VERSION {
        return Ok((preamble, FoundState { lifted: None }));
    }
    let mut lifted = Vec::new();
    migrate::lift(file, tail.keep, version, &mut lifted).map_err(reading())?;
    let preamble = preamble_in(lifted.as_slice(), path)?;
    let lifted = Some(Arc::new(lifted));
    Ok((preamble, FoundState { lifted }))
}

/// Opens a file to append to it, of the current version and with a whole last line.
pub(super) fn open_repaired(
    path: &Path,
    warnings: &mut Vec<String>,
) -> Result<(File, FoundPreamble), StoreError> {
    let mut file = open_to_append(path)?;
    let mut preamble = read_preamble(&file, path)?;
    if preamble.header.version < CURRENT_VERSION {
        rewrite_lifted(&file, path, preamble.header.version)?;
        file = open_to_append(path)?;
        preamble = read_preamble(&file, path)?;
    }
    repair_tail(&file, path, warnings)?;
    Ok((file, preamble))
}

pub(super) fn open_to_append(path: &Path) -> Result<File, StoreError> {
    OpenOptions::new()
        .read(true)
        .append(true)
        .open(path)
        .map_err(StoreError::io("open", path))
}

/// Not synced: a repair that a power loss undoes is made again at the next opening.
pub(super) fn repair_tail(
    file: &File,
    path: &Path,
    warnings: &mut Vec<String>,
) -> Result<(), StoreError> {
    let repairing = || StoreError::io("repair", path);
    let tail = tail_of(file).map_err(repairing())?;
    if tail.torn > 0 {
        file.set_len(tail.keep).map_err(repairing())?;
        warnings.push(format!(
            "cut {} byte(s) of an unfinished record from the end of {}",
            tail.torn,
            path.display()
        ));
    }
    if tail.lacks_lf {
        let mut file = file;
        file.write_all(b"\n").map_err(repairing())?;
    }
    Ok(())
}

/// Replaces an older file by its lifted form, so that there is a whole file at every moment.
fn rewrite_lifted(file: &File, path: &Path, version: u32) -> Result<(), StoreError> {
    let write = || -> io::Result<()> {
        let end = tail_of(file)?.keep;
        let mut lifted = FileReplacement::begin(path, PRIVATE)?;
        let mut out = BufWriter::new(lifted.file());
        migrate::lift(file, end, version, &mut out)?;
        out.flush()?;
        drop(out);
        lifted.finish()
    };
    write().map_err(StoreError::io("upgrade to the current version", path))?;
    sync_folder_of(path)
}
