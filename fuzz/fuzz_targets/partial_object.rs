//! However the arguments of a call arrive, what is shown of them is one line of JSON, an object,
//! and a whole object is shown whole.
//!
//! The first byte of the input says how long the pieces are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use stentor_wire::omp::PartialObject;

fuzz_target!(|input: (u8, &str)| {
    let (piece_chars, text) = input;
    let mut object = PartialObject::default();
    let chars: Vec<char> = text.chars().collect();
    for piece in chars.chunks(usize::from(piece_chars).max(1)) {
        object.append(&piece.iter().collect::<String>());
        shown(&object);
    }
    if let Ok(whole @ Value::Object(_)) = serde_json::from_str::<Value>(text) {
        assert_eq!(shown(&object), whole);
    }
});

fn shown(object: &PartialObject) -> Value {
    let mut out = Vec::new();
    object.write(&mut out);
    assert!(!out.contains(&b'\n'));
    let value: Value = serde_json::from_slice(&out).expect("what is shown is JSON");
    assert!(value.is_object());
    value
}
