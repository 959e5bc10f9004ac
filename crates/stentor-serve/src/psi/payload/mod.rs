//! What events and answers carry (sections 10, 11, 15 and 16).
//!
//! A payload is looked up when it goes out and then written at once; nothing here is kept.

pub(super) mod context;
pub(super) mod footer;
pub(super) mod job;
pub(super) mod message;
pub(super) mod model;
pub(super) mod session;
pub(super) mod tool;
pub(super) mod ui;

use stentor_wire::edn::EdnWriter;

/// One written form.
pub(super) fn form(write: impl FnOnce(&mut EdnWriter<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut EdnWriter::new(&mut bytes));
    bytes
}

/// A written map.
pub(super) fn map(entries: impl FnOnce(&mut EdnWriter<'_>)) -> Vec<u8> {
    form(|writer| {
        writer.map(entries);
    })
}
