//! What events and answers carry (sections 10, 11, 15 and 16).
//!
//! A payload is looked up when it goes out and then written at once; nothing here is kept.

pub(super) mod context;
pub(super) mod footer;
pub(super) mod message;
pub(super) mod session;

use stentor_wire::edn::{EdnWriter, WriteEdn};

/// One written form.
pub(super) fn form(value: &dyn WriteEdn) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.write_edn(&mut EdnWriter::new(&mut bytes));
    bytes
}

/// A form that was written before.
pub(super) struct Written<'a>(pub &'a [u8]);

impl WriteEdn for Written<'_> {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        writer.written(self.0);
    }
}

/// A written map.
pub(super) fn map(entries: impl FnOnce(&mut EdnWriter<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    EdnWriter::new(&mut bytes).map(entries);
    bytes
}
