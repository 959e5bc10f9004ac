//! Whether the arguments of a call fit the tool, and the small repairs models need.

use serde_json::{Map, Number, Value};

use crate::tool_spec::ToolSpec;

/// What is wrong with the arguments of a call, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidArguments(String);

/// The arguments as the tool may use them, or what is wrong with them, in words for the model.
///
/// Models often send numbers and truth values as text, lists as JSON text, and `null` for what
/// they leave out. Where the schema makes clear what was meant, that is repaired. Of the schema,
/// `type`, `properties`, `required`, `items`, `enum`, `const`, `anyOf` and `oneOf` count; other
/// keywords are the tool's own business.
pub fn validate(
    spec: &ToolSpec,
    arguments: &Map<String, Value>,
) -> Result<Map<String, Value>, InvalidArguments> {
    let mut problems = Vec::new();
    let mut coerced = Value::Object(arguments.clone());
    check(
        &spec.parameters,
        &mut coerced,
        &ArgumentPath::Root,
        &mut problems,
    );
    match coerced {
        Value::Object(coerced) if problems.is_empty() => Ok(coerced),
        _ => Err(InvalidArguments(report(&spec.name, &problems, arguments))),
    }
}

/// Received arguments longer than this are not repeated to the model in full.
const MAX_RECEIVED_CHARS: usize = 8_000;

fn report(name: &str, problems: &[ArgumentProblem], arguments: &Map<String, Value>) -> String {
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| format!("  - {}: {}", problem.path, problem.text))
        .collect();
    let mut received = serde_json::to_string_pretty(arguments).unwrap_or_default();
    if let Some((end, _)) = received.char_indices().nth(MAX_RECEIVED_CHARS) {
        let more = received.len() - end;
        received.truncate(end);
        received.push_str(&format!("… ({more} more bytes)"));
    }
    format!(
        "Validation failed for tool \"{name}\":\n{}\n\nReceived arguments:\n{received}",
        lines.join("\n")
    )
}

struct ArgumentProblem {
    path: String,
    text: String,
}

/// Where in the arguments a value is.
enum ArgumentPath<'a> {
    Root,
    In(&'a ArgumentPath<'a>, &'a str),
    At(&'a ArgumentPath<'a>, usize),
}

impl ArgumentPath<'_> {
    fn path(&self) -> String {
        let (parent, name) = match self {
            Self::Root => return String::new(),
            Self::In(parent, name) => (parent, (*name).to_owned()),
            Self::At(parent, index) => (parent, index.to_string()),
        };
        match parent.path() {
            parent if parent.is_empty() => name,
            parent => format!("{parent}.{name}"),
        }
    }

    fn problem(&self, text: impl Into<String>) -> ArgumentProblem {
        let path = match self.path() {
            path if path.is_empty() => "root".to_owned(),
            path => path,
        };
        ArgumentProblem {
            path,
            text: text.into(),
        }
    }
}

/// Checks a value against a schema, repairing it where that is clear.
fn check(
    schema: &Value,
    value: &mut Value,
    place: &ArgumentPath<'_>,
    problems: &mut Vec<ArgumentProblem>,
) {
    // `true` allows everything, and so does what is no schema at all.
    let Some(schema) = schema.as_object() else {
        return;
    };
    if !check_type(schema, value, place, problems) {
        return;
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        let choices: Vec<String> = allowed.iter().map(Value::to_string).collect();
        problems.push(place.problem(format!(
            "must be equal to one of the allowed values: {}",
            choices.join(", ")
        )));
    }
    if let Some(only) = schema.get("const")
        && only != value
    {
        problems.push(place.problem(format!("must be equal to constant {only}")));
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(schemas) = schema.get(keyword).and_then(Value::as_array) {
            check_any(keyword, schemas, value, place, problems);
        }
    }
    match value {
        Value::Object(object) => check_object(schema, object, place, problems),
        Value::Array(items) => {
            if let Some(item) = schema.get("items") {
                for (index, value) in items.iter_mut().enumerate() {
                    check(item, value, &ArgumentPath::At(place, index), problems);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// True when the type is right, or was made right.
fn check_type(
    schema: &Map<String, Value>,
    value: &mut Value,
    place: &ArgumentPath<'_>,
    problems: &mut Vec<ArgumentProblem>,
) -> bool {
    let types: Vec<&str> = match schema.get("type") {
        Some(Value::String(one)) => vec![one.as_str()],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if types.is_empty() || types.iter().any(|kind| is_of_type(value, kind)) {
        return true;
    }
    if let Some(coerced) = types.iter().find_map(|kind| coerced(value, kind)) {
        *value = coerced;
        return true;
    }
    problems.push(place.problem(format!("must be {}", types.join(" or "))));
    false
}

fn check_object(
    schema: &Map<String, Value>,
    object: &mut Map<String, Value>,
    place: &ArgumentPath<'_>,
    problems: &mut Vec<ArgumentProblem>,
) {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object);
    let is_nullable =
        |name: &str| properties.is_none_or(|all| all.get(name).is_none_or(takes_null));
    object.retain(|name, value| {
        !value.is_null() || required.contains(&name.as_str()) || is_nullable(name)
    });
    let missing: Vec<&str> = required
        .into_iter()
        .filter(|name| !object.contains_key(*name))
        .collect();
    if let Some(first) = missing.first() {
        let text = format!("must have required properties {}", missing.join(", "));
        problems.push(ArgumentPath::In(place, first).problem(text));
    }
    for (name, schema) in properties.into_iter().flatten() {
        if let Some(value) = object.get_mut(name) {
            check(schema, value, &ArgumentPath::In(place, name), problems);
        }
    }
}

fn check_any(
    keyword: &str,
    schemas: &[Value],
    value: &mut Value,
    place: &ArgumentPath<'_>,
    problems: &mut Vec<ArgumentProblem>,
) {
    let matching = schemas.iter().find_map(|schema| {
        let mut tried = value.clone();
        let mut found = Vec::new();
        check(schema, &mut tried, place, &mut found);
        found.is_empty().then_some(tried)
    });
    match matching {
        Some(coerced) => *value = coerced,
        None => problems.push(place.problem(format!("must match a schema in {keyword}"))),
    }
}

/// True when `null` is a value of its own, and not the absence of one.
fn takes_null(schema: &Value) -> bool {
    let mut value = Value::Null;
    let mut problems = Vec::new();
    check(schema, &mut value, &ArgumentPath::Root, &mut problems);
    problems.is_empty() && value.is_null()
}

fn is_of_type(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        // A type of a later schema language is not ours to refuse.
        _ => true,
    }
}

/// What a value of another type means as `kind`, if that is clear.
fn coerced(value: &Value, kind: &str) -> Option<Value> {
    let coerced = match (value, kind) {
        (Value::String(text), "number" | "integer") => number(text.trim()),
        (Value::String(text), "boolean") => match text.as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        (Value::String(text), "array" | "object") => serde_json::from_str(text).ok(),
        (Value::Number(_) | Value::Bool(_), "string") => Some(Value::String(value.to_string())),
        _ => None,
    }?;
    is_of_type(&coerced, kind).then_some(coerced)
}

fn number(text: &str) -> Option<Value> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some(Value::Number(whole.into()));
    }
    let fraction: f64 = text.parse().ok()?;
    Number::from_f64(fraction).map(Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::ToolEffect;
    use proptest::prelude::*;
    use serde_json::json;

    fn spec(parameters: Value) -> ToolSpec {
        ToolSpec {
            name: "read".into(),
            label: "read".into(),
            description: String::new(),
            parameters: parameters.into(),
            effect: ToolEffect::Reads,
        }
    }

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "limit": {"type": "number"},
                "count": {"type": "integer"},
                "all": {"type": "boolean"},
                "mode": {"enum": ["a", "b"]},
                "either": {"anyOf": [{"type": "number"}, {"type": "null"}]},
                "edits": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"old": {"type": "string"}, "new": {"type": "string"}},
                    "required": ["old", "new"]
                }}
            },
            "required": ["path"]
        })
    }

    #[test]
    fn a_missing_argument_is_told_as_clients_know_it() {
        let problem = validate(&spec(schema()), &object(json!({"nopath": true}))).unwrap_err();
        assert_eq!(
            problem.to_string(),
            "Validation failed for tool \"read\":\n  - path: must have required properties \
             path\n\nReceived arguments:\n{\n  \"nopath\": true\n}"
        );
    }

    #[test]
    fn every_problem_has_its_line() {
        let arguments = object(json!({
            "path": [], "limit": "many", "count": 1.5, "all": "yes", "mode": "c", "either": "x",
            "edits": [{"old": "a", "new": "b"}, {"new": {}}, 7]
        }));
        let problem = validate(&spec(schema()), &arguments).unwrap_err();
        let lines: Vec<&str> = problem
            .0
            .lines()
            .take_while(|line| !line.is_empty())
            .collect();
        assert_eq!(
            lines,
            [
                "Validation failed for tool \"read\":",
                "  - path: must be string",
                "  - limit: must be number",
                "  - count: must be integer",
                "  - all: must be boolean",
                "  - mode: must be equal to one of the allowed values: \"a\", \"b\"",
                "  - either: must match a schema in anyOf",
                "  - edits.1.old: must have required properties old",
                "  - edits.1.new: must be string",
                "  - edits.2: must be object",
            ]
        );
    }

    #[test]
    fn what_is_clear_is_repaired() {
        for (given, expected) in [
            (json!({"path": "a"}), json!({"path": "a"})),
            (
                json!({"path": "a", "limit": "12"}),
                json!({"path": "a", "limit": 12}),
            ),
            (
                json!({"path": "a", "limit": " 1.5 "}),
                json!({"path": "a", "limit": 1.5}),
            ),
            (
                json!({"path": "a", "count": 3.0}),
                json!({"path": "a", "count": 3.0}),
            ),
            (
                json!({"path": 7, "all": "true"}),
                json!({"path": "7", "all": true}),
            ),
            (
                json!({"path": "a", "limit": null, "unknown": null}),
                json!({"path": "a", "unknown": null}),
            ),
            (
                json!({"path": "a", "either": null}),
                json!({"path": "a", "either": null}),
            ),
            (
                json!({"path": "a", "either": "4"}),
                json!({"path": "a", "either": 4}),
            ),
            (
                json!({"path": "a", "edits": "[{\"old\": \"x\", \"new\": 1}]"}),
                json!({"path": "a", "edits": [{"old": "x", "new": "1"}]}),
            ),
            (
                json!({"path": "a", "extra": {"kept": true}}),
                json!({"path": "a", "extra": {"kept": true}}),
            ),
        ] {
            let result = validate(&spec(schema()), &object(given));
            assert_eq!(result, Ok(object(expected)));
        }
    }

    #[test]
    fn a_schema_that_says_nothing_takes_everything() {
        for parameters in [
            json!({}),
            json!(true),
            json!({"type": "object"}),
            json!(null),
        ] {
            let arguments = object(json!({"a": [1, {"b": null}]}));
            assert_eq!(validate(&spec(parameters), &arguments), Ok(arguments));
        }
    }

    #[test]
    fn huge_arguments_are_not_repeated_in_full() {
        let arguments = object(json!({"content": "x".repeat(100_000)}));
        let problem = validate(&spec(schema()), &arguments).unwrap_err();
        assert!(problem.0.len() < 9_000);
        assert!(problem.0.ends_with("more bytes)"));
    }

    proptest! {
        #[test]
        fn what_was_repaired_needs_no_repair(limit in ".{0,6}", path in any::<i32>()) {
            let given = object(json!({"path": path, "limit": limit}));
            if let Ok(repaired) = validate(&spec(schema()), &given) {
                prop_assert_eq!(validate(&spec(schema()), &repaired), Ok(repaired));
            }
        }
    }
}
