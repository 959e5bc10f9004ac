//! Which schemas of answers the providers can hold a model to.
//!
//! They refuse a request whose schema they cannot follow, and each has a list of what it can. Only
//! what all of them have is sent: an object whose properties are all required, and no others. Whoever asks
//! checks the answer anyway, so a schema that is not sent costs at most another try.

use serde_json::{Map, Value};
use stentor_agent::model::ModelRequest;

/// Keywords that every provider understands.
const KNOWN: [&str; 12] = [
    "$defs",
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "description",
    "enum",
    "items",
    "properties",
    "required",
    "title",
    "type",
];

/// About the schema itself: means nothing to a model.
const ABOUT: [&str; 3] = ["$schema", "$id", "$comment"];

/// How deep a schema may be.
const DEEPEST: usize = 5;

/// The schema to send, if the providers can follow it.
pub(crate) fn enforceable(request: &ModelRequest) -> Option<Value> {
    let mut schema = request.output_schema.as_ref()?.as_object()?.clone();
    schema.retain(|key, _| !ABOUT.contains(&key.as_str()));
    let is_object = schema.get("type").is_some_and(|kind| kind == "object");
    (is_object && is_known(&schema, DEEPEST)).then_some(Value::Object(schema))
}

fn is_known(schema: &Map<String, Value>, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let within = |part: &Value| part.as_object().is_some_and(|part| is_known(part, depth));
    let keywords = schema.iter().all(|(key, value)| match key.as_str() {
        "properties" | "$defs" => {
            let parts = value.as_object();
            parts.is_some_and(|parts| parts.values().all(within))
        }
        "items" => within(value),
        "anyOf" => value
            .as_array()
            .is_some_and(|parts| parts.iter().all(within)),
        "$ref" => value.as_str().is_some_and(|place| place.starts_with('#')),
        key => KNOWN.contains(&key),
    });
    let is_object = schema.contains_key("properties")
        || schema.get("type").is_some_and(|kind| kind == "object");
    keywords && (!is_object || is_closed(schema))
}

/// Every property is required, and there are no others.
fn is_closed(schema: &Map<String, Value>) -> bool {
    let required: Vec<&str> = match schema.get("required").and_then(Value::as_array) {
        Some(names) => names.iter().filter_map(Value::as_str).collect(),
        None => Vec::new(),
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let all_required = properties.is_some_and(|properties| {
        properties
            .keys()
            .all(|name| required.contains(&name.as_str()))
    });
    all_required && schema.get("additionalProperties") == Some(&Value::Bool(false))
}
