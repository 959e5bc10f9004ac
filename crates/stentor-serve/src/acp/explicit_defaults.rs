//! Messages about tool calls with the defaults that the official types leave out.
//!
//! They omit what is the default anyway. Clients exist that wait for it: one shows no diff without
//! `oldText`, others no call without `status`.

use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

/// A `session/update` or a `session/request_permission`, with its defaults written out.
pub(super) struct ExplicitDefaults<'a, T>(pub &'a T);

impl<T: Serialize> Serialize for ExplicitDefaults<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut params = serde_json::to_value(self.0).map_err(S::Error::custom)?;
        for name in ["update", "toolCall"] {
            if let Some(Value::Object(call)) = params.get_mut(name) {
                fill(call);
            }
        }
        params.serialize(serializer)
    }
}

fn fill(call: &mut Map<String, Value>) {
    if call
        .get("sessionUpdate")
        .is_some_and(|tag| tag == "tool_call")
    {
        call.entry("status").or_insert_with(|| json!("pending"));
    }
    if let Some(Value::Array(content)) = call.get_mut("content") {
        for block in content.iter_mut().filter_map(Value::as_object_mut) {
            if block.get("type").is_some_and(|tag| tag == "diff") {
                block.entry("oldText").or_insert(Value::Null);
            }
        }
    }
}
