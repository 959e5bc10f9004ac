//! Any line has an outcome; the outcome agrees with what a full parser makes of the line, and an id
//! is answered as it came.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use stentor_wire::jsonrpc::{ErrorObject, Id, Incoming, code, decode, encode};

fuzz_target!(|line: &str| {
    let bare = line.strip_prefix('\u{feff}').unwrap_or(line);
    match decode(line) {
        Incoming::Request { id, params, .. } => {
            assert!(params.is_object());
            echo(&id);
        }
        Incoming::Notification { params, .. } => assert!(params.is_object()),
        Incoming::Response { id, .. } => echo(&id),
        Incoming::ResponseError { id, error } => {
            let _ = ErrorObject::from(error);
            echo(&id);
        }
        Incoming::Error(fault) => {
            // What a full parser reads as well is never called unparseable.
            if fault.code == code::PARSE_ERROR {
                assert!(serde_json::from_str::<Value>(bare).is_err());
            }
        }
        Incoming::Ignore { id } => {
            if let Some(id) = id {
                echo(&id);
            }
        }
    }
});

fn echo(id: &Id) {
    let mut out = Vec::new();
    encode::result(&mut out, id, &serde_json::json!({})).expect("an id can be written");
    let text = std::str::from_utf8(&out).expect("frames are UTF-8");
    assert!(!text.contains('\n'));
    let Incoming::Response { id: read, .. } = decode(text) else {
        panic!("not a response: {text}")
    };
    assert_eq!(&read, id);
}
