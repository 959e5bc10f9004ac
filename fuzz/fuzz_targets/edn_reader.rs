//! Any text is read or refused; what was read can be written on one line, and the part of EDN that
//! frames may contain reads back equal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stentor_psi_check::fallback;
use stentor_wire::edn::{EdnWriter, Reader, Value, read_one};

fuzz_target!(|text: &str| {
    let _ = Reader::new(text).keep_tags().read_next();
    let value = match read_one(text) {
        Ok(value) => value,
        Err(error) => {
            assert!(text.is_char_boundary(error.offset));
            return;
        }
    };
    let written = write(&value);
    assert!(!written.contains(['\n', '\r']));
    // What is not plain becomes something else, and two keys may become the same.
    if value.is_plain() {
        assert_eq!(read_one(&written).as_ref(), Ok(&value));
        let frame = Value::map([("data", value.clone())]);
        assert_eq!(fallback::read_frame(&write(&frame)).as_ref(), Ok(&frame));
    }
});

fn write(value: &Value<'_>) -> String {
    let mut out = Vec::new();
    EdnWriter::new(&mut out).value(value);
    String::from_utf8(out).expect("the writer writes UTF-8")
}
