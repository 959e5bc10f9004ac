//! Lifting older versions of the format to the current one.
//!
//! Version 1 has no ids: its entries form a chain in file order, and a compaction names the first
//! kept entry by its place. Version 2 has the role `hookMessage` where version 3 has `custom`.
//! Lines nobody can read are copied as they are; they are skipped when reading, not destroyed.

use std::io::{self, Write};

use serde_json::{Map, Value};

use super::bytes::{Bytes, LinesForward};
use super::entry::CURRENT_VERSION;
use super::line::{mended, trimmed};

/// Writes the lines before `end`, which are of `version`, to `out` in the current version.
pub(super) fn lift<B: Bytes + ?Sized>(
    bytes: &B,
    end: u64,
    version: u32,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut chain = (version < 2).then(MigratedChain::default);
    let mut lines = LinesForward::until(bytes, end);
    while let Some((_, line, _)) = lines.next()? {
        let Ok(mut fields) = read_fields(line) else {
            out.write_all(line)?;
            out.write_all(b"\n")?;
            continue;
        };
        let is_title = fields.get("type").is_some_and(|kind| kind == "title");
        if fields.get("type").is_some_and(|kind| kind == "session") {
            fields.insert("version".into(), CURRENT_VERSION.into());
        }
        if let Some(chain) = chain.as_mut()
            && !is_title
        {
            chain.link(&mut fields);
        }
        rename_hook_message(&mut fields);
        serde_json::to_writer(&mut *out, &fields)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn read_fields(line: &[u8]) -> serde_json::Result<Map<String, Value>> {
    let line = trimmed(line);
    serde_json::from_slice(line).or_else(|_| serde_json::from_str(&mended(line)))
}

/// The chain of a version-1 file. Ids are made from places, so that reading such a file twice, or
/// reading it without rewriting it, gives the same ids.
#[derive(Default)]
struct MigratedChain {
    /// The place of the next line, the header being the first.
    next: u64,
    last: Option<String>,
}

impl MigratedChain {
    fn link(&mut self, fields: &mut Map<String, Value>) {
        let place = self.next;
        self.next += 1;
        if fields.get("type").is_some_and(|kind| kind == "session") {
            return;
        }
        if let Some(first_kept) = fields.shift_remove("firstKeptEntryIndex")
            && let Some(first_kept) = first_kept.as_u64().filter(|at| (1..place).contains(at))
        {
            fields.insert("firstKeptEntryId".into(), id_at(first_kept).into());
        }
        let id = id_at(place);
        fields.insert("parentId".into(), self.last.take().into());
        fields.insert("id".into(), id.clone().into());
        self.last = Some(id);
    }
}

fn id_at(place: u64) -> String {
    format!("{place:08x}")
}

fn rename_hook_message(fields: &mut Map<String, Value>) {
    if let Some(role) = fields
        .get_mut("message")
        .and_then(|message| message.get_mut("role"))
        && role == "hookMessage"
    {
        *role = "custom".into();
    }
}
