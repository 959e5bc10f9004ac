//! Any line is a command or is refused, and what a full parser does not read is never a command.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use stentor_wire::omp::command::Inbound;

fuzz_target!(|line: &str| {
    if Inbound::parse(line).is_ok() {
        let value: Value = serde_json::from_str(line).expect("a command is JSON");
        assert!(value.get("type").is_some_and(Value::is_string));
    }
});
