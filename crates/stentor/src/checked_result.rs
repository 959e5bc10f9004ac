//! `-p --schema FILE`: an answer that is JSON and matches a schema.

use std::error::Error;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use boon::{CompileError, Compiler, SchemaIndex, Schemas, UrlLoader, ValidationError};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// How often the model is asked, the first time included.
pub const TRIES: usize = 3;

/// A schema is written by a person or generated from types, never this long.
const LARGEST_BYTES: u64 = 256 * 1024;

/// A schema whose parts refer to each other again and again can take for ever.
const LONGEST_CHECK: Duration = Duration::from_secs(5);

/// References follow each other on the stack. It is taken only as far as it is used.
const STACK_BYTES: usize = 256 * 1024 * 1024;

/// References that are followed to see whether a schema can match at all.
const DEEPEST_REFERENCES: usize = 100;

/// How many mistakes of one answer are listed.
const SHOWN_MISTAKES: usize = 20;

/// Where the schema is as far as references are concerned.
const PLACE: &str = "schema:///result.json";
/// What a reference to another file begins with, seen from there.
const BESIDE: &str = "schema:///";

/// A schema that answers are checked against.
pub struct ResultSchema {
    text: Arc<Value>,
    compiled: Arc<Compiled>,
}

struct Compiled {
    schemas: Schemas,
    index: SchemaIndex,
}

/// Why a schema cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    #[error("cannot read: {0}")]
    Unreadable(#[from] std::io::Error),
    #[error("neither a regular file nor a pipe")]
    NotAFile,
    #[error("larger than {LARGEST_BYTES} bytes")]
    TooLarge,
    #[error("standard input belongs to the prompt; name a file, or give the schema as <(COMMAND)")]
    StandardInput,
    #[error("not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    #[error("not a JSON schema: {0}")]
    NotASchema(String),
    #[error("no value matches this schema")]
    NeverMatches,
}

/// What standard input is called as a file.
const STANDARD_INPUT: [&str; 4] = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// Refuses to fetch other schemas: an answer is checked the same everywhere, without a network.
struct NoOtherSchemas;

impl UrlLoader for NoOtherSchemas {
    fn load(&self, url: &str) -> Result<Value, Box<dyn Error>> {
        let other = url.strip_prefix(BESIDE).unwrap_or(url);
        Err(format!("it refers to {other}; only references inside the file are followed").into())
    }
}

impl ResultSchema {
    /// Reads a schema: draft 4 to 2020-12, by its `$schema`.
    pub fn read(path: &Path) -> Result<Self, SchemaError> {
        if STANDARD_INPUT.iter().any(|name| path == Path::new(name)) {
            return Err(SchemaError::StandardInput);
        }
        let kind = std::fs::metadata(path)?.file_type();
        if !kind.is_file() && !kind.is_fifo() {
            return Err(SchemaError::NotAFile);
        }
        let mut text = Vec::new();
        let file = File::open(path)?;
        file.take(LARGEST_BYTES + 1).read_to_end(&mut text)?;
        if text.len() as u64 > LARGEST_BYTES {
            return Err(SchemaError::TooLarge);
        }
        Self::new(serde_json::from_slice(&text)?)
    }

    fn new(schema: Value) -> Result<Self, SchemaError> {
        let mut schemas = Schemas::new();
        let mut compiler = Compiler::new();
        compiler.use_loader(Box::new(NoOtherSchemas));
        let wrong = |error| SchemaError::NotASchema(in_words(&error));
        let added = compiler.add_resource(PLACE, schema.clone());
        added.map_err(wrong)?;
        let index = compiler.compile(PLACE, &mut schemas).map_err(wrong)?;
        if never_matches(&schema, &schema, &mut Vec::new()) {
            return Err(SchemaError::NeverMatches);
        }
        Ok(Self {
            text: Arc::new(schema),
            compiled: Arc::new(Compiled { schemas, index }),
        })
    }

    /// The schema for the provider, which may be able to hold the model to it.
    pub fn for_model(&self) -> Arc<Value> {
        Arc::clone(&self.text)
    }

    /// What the model must know of it.
    pub fn instructions(&self) -> String {
        format!(
            "When the work is done, your last message must be one JSON value and nothing else (no \
             explanation, no code fence) that is valid against this JSON schema:\n{}",
            self.text
        )
    }

    /// The value that an answer has, if it is valid. The error is what is wrong, for the model and for
    /// people.
    pub async fn check(&self, answer: &str) -> Result<Value, String> {
        let (compiled, answer) = (Arc::clone(&self.compiled), answer.to_owned());
        let (send, checked) = oneshot::channel();
        // A thread that nobody waits for: with some schemas it takes for ever, or very deep a stack.
        let thread = thread::Builder::new().stack_size(STACK_BYTES);
        let started = thread.spawn(move || send.send(compiled.check(&answer)).is_ok());
        started.map_err(|error| format!("- it cannot be checked: {error}"))?;
        match timeout(LONGEST_CHECK, checked).await {
            Ok(Ok(checked)) => checked,
            Ok(Err(_)) => Err("- it cannot be checked: the check failed".to_owned()),
            Err(_) => Err(format!(
                "- it cannot be checked: the schema takes more than {} s",
                LONGEST_CHECK.as_secs()
            )),
        }
    }

    /// Asks for another answer in place of one that is not valid.
    pub fn correction(&self, mistakes: &str) -> String {
        format!(
            "That answer is not valid:\n{mistakes}\n\n{}",
            self.instructions()
        )
    }
}

impl Compiled {
    fn check(&self, answer: &str) -> Result<Value, String> {
        let value: Value = serde_json::from_str(without_fence(answer))
            .map_err(|error| format!("- it is not one JSON value: {error}"))?;
        match self.schemas.validate(&value, self.index) {
            Ok(()) => Ok(value),
            Err(error) => Err(mistakes(&error)),
        }
    }
}

/// True for a part of a schema that plainly nothing matches: `false`, or one that only refers to itself.
/// Whatever takes more thought is left to the answers.
fn never_matches<'a>(part: &'a Value, whole: &'a Value, followed: &mut Vec<&'a str>) -> bool {
    let fields = match part {
        Value::Bool(allowed) => return !allowed,
        Value::Object(fields) => fields,
        _ => return false,
    };
    // With a name of its own, a part has other references, and what is below it, too.
    let is_renamed = !std::ptr::eq(part, whole)
        && ["$id", "id", "$anchor"]
            .iter()
            .any(|key| fields.contains_key(*key));
    if is_renamed || followed.len() >= DEEPEST_REFERENCES {
        return false;
    }
    let reference = fields.get("$ref").and_then(Value::as_str);
    if let Some(pointer) = reference.and_then(|reference| reference.strip_prefix('#')) {
        if followed.contains(&pointer) {
            return true;
        }
        followed.push(pointer);
        let never = whole
            .pointer(pointer)
            .is_some_and(|target| never_matches(target, whole, followed));
        followed.pop();
        // Older drafts ignore what stands beside a reference.
        return never;
    }
    let all_of = fields.get("allOf").and_then(Value::as_array);
    all_of.is_some_and(|parts| {
        let mut parts = parts.iter();
        parts.any(|part| matches!(part, Value::Bool(false)))
    })
}

/// The text in the only fence of an answer: many models cannot be kept from writing one.
fn without_fence(answer: &str) -> &str {
    let answer = answer.trim();
    let inner = answer
        .strip_prefix("```json")
        .or_else(|| answer.strip_prefix("```"));
    inner
        .and_then(|inner| inner.strip_suffix("```"))
        .unwrap_or(answer)
}

/// The places of a value that do not match, one a line.
fn mistakes(error: &ValidationError<'_, '_>) -> String {
    let mut leaves = Vec::new();
    collect(error, &mut leaves);
    let mut text = String::new();
    for leaf in leaves.iter().take(SHOWN_MISTAKES) {
        let place = leaf.instance_location.to_string();
        let place = if place.is_empty() {
            "the value"
        } else {
            place.as_str()
        };
        let _ = writeln!(text, "- {place}: {}", leaf.kind);
    }
    let hidden = leaves.len().saturating_sub(SHOWN_MISTAKES);
    if hidden > 0 {
        let _ = writeln!(text, "- and {hidden} more");
    }
    text.truncate(text.trim_end().len());
    text
}

fn collect<'a, 's, 'v>(
    error: &'a ValidationError<'s, 'v>,
    leaves: &mut Vec<&'a ValidationError<'s, 'v>>,
) {
    if error.causes.is_empty() {
        leaves.push(error);
    }
    for cause in &error.causes {
        collect(cause, leaves);
    }
}

/// What is wrong with a schema, in one line.
fn in_words(error: &CompileError) -> String {
    let text = match error {
        CompileError::ValidationError { src, .. } => mistakes(src).replace("\n- ", "; "),
        CompileError::LoadUrlError { src, .. } => src.to_string(),
        error => with_causes(error),
    };
    text.trim_start_matches("- ").to_owned()
}

fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let _ = write!(text, ": {inner}");
        source = inner.source();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> ResultSchema {
        ResultSchema::new(json!({
            "type": "object",
            "properties": { "name": { "type": "string" }, "ages": { "type": "array", "items": { "type": "integer", "minimum": 0 } } },
            "required": ["name"],
        }))
        .unwrap()
    }

    #[test]
    fn a_valid_answer_is_its_value_with_or_without_a_fence() {
        let value = json!({ "name": "x", "ages": [1] });
        for answer in [
            r#" {"name":"x","ages":[1]} "#,
            "```json\n{\"name\":\"x\",\"ages\":[1]}\n```\n",
            "```\n{\"name\":\"x\",\"ages\":[1]}\n```",
        ] {
            assert_eq!(
                schema().compiled.check(answer),
                Ok(value.clone()),
                "{answer}"
            );
        }
    }

    #[test]
    fn each_mistake_is_named_with_its_place() {
        let wrong = schema().compiled.check(r#"{"ages":[-1,"a"]}"#).unwrap_err();
        assert!(
            wrong.contains("- the value: missing properties 'name'"),
            "{wrong}"
        );
        assert!(wrong.contains("- /ages/0: "), "{wrong}");
        assert!(wrong.contains("- /ages/1: "), "{wrong}");
        let prose = schema().compiled.check("Here it is: {}").unwrap_err();
        assert!(
            prose.starts_with("- it is not one JSON value: expected value"),
            "{prose}"
        );
        let two = schema().compiled.check("{\"name\":\"x\"} {}").unwrap_err();
        assert!(
            two.starts_with("- it is not one JSON value: trailing"),
            "{two}"
        );
    }

    #[test]
    fn a_schema_that_nothing_matches_is_refused_and_others_are_not() {
        for (schema, is_refused) in [
            (json!(false), true),
            (json!({ "$ref": "#" }), true),
            (
                json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } }),
                true,
            ),
            (
                json!({ "$ref": "#/$defs/a", "$defs": { "a": false } }),
                true,
            ),
            (json!({ "allOf": [true, false] }), true),
            (json!(true), false),
            (
                json!({ "$ref": "#/$defs/a", "$defs": { "a": { "type": "string" } } }),
                false,
            ),
            (json!({ "properties": { "next": { "$ref": "#" } } }), false),
            (json!({ "anyOf": [{ "$ref": "#" }, { "const": 5 }] }), false),
            (json!({ "if": { "const": 5 }, "else": false }), false),
            (
                json!({
                    "$schema": "http://json-schema.org/draft-07/schema#",
                    "$ref": "#/definitions/a", "allOf": [false], "definitions": { "a": true },
                }),
                false,
            ),
        ] {
            let refused = match ResultSchema::new(schema.clone()) {
                Err(SchemaError::NeverMatches) => true,
                Err(error) => panic!("{schema}: {error}"),
                Ok(_) => false,
            };
            assert_eq!(refused, is_refused, "{schema}");
        }
    }

    #[test]
    fn a_schema_that_is_none_or_refers_elsewhere_is_refused() {
        for (schema, expected) in [
            (json!({ "type": "objekt" }), "not a JSON schema"),
            (
                json!({ "$ref": "https://example.org/x.json" }),
                "only references inside the file",
            ),
            (
                json!({ "$ref": "file:///etc/passwd" }),
                "only references inside the file",
            ),
            (json!({ "$ref": "#/$defs/none" }), "not a JSON schema"),
            (json!({ "pattern": "(" }), "not a JSON schema"),
        ] {
            let Err(error) = ResultSchema::new(schema.clone()) else {
                panic!("{schema} was taken");
            };
            let error = error.to_string();
            assert!(error.contains(expected), "{schema}: {error}");
        }
    }
}
