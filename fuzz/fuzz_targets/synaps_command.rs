//! Any line is a command or is refused; a refusal carries the id of the line, if it has one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use stentor_wire::synaps::{COMMAND_TYPES, parse};

fuzz_target!(|line: &str| {
    let value: Option<Value> = serde_json::from_str(line).ok();
    match parse(line) {
        Ok(_) => {
            let value = value.expect("a command is JSON");
            let name = value.get("type").and_then(Value::as_str);
            assert!(name.is_some_and(|name| COMMAND_TYPES.contains(&name)));
        }
        Err(error) => {
            let id = value.as_ref().and_then(|value| value.get("id")?.as_str());
            assert_eq!(error.id.as_deref(), id);
        }
    }
});
