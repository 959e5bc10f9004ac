//! Which schemas of answers the providers can hold a model to.
//!
//! They refuse a request whose schema they cannot follow, and each documents what it can. A limit of a
//! value that a provider does not know, such as the length of a text, is left out: whoever asks
//! checks the answer anyway. A schema whose structure it does not know is not sent, which costs at
//! most another try.

use std::collections::HashSet;

use serde_json::{Map, Value};
use stentor_agent::model::ModelRequest;

/// What a provider documents.
pub(crate) struct Subset {
    /// The keywords that limit a value.
    limits: &'static [&'static str],
    /// The formats of texts; any when absent.
    formats: Option<&'static [&'static str]>,
    /// Besides those that all have, the keywords of the structure.
    structure: &'static [&'static str],
    /// An object must forbid properties that it does not name.
    must_be_closed: bool,
    /// How many properties may be absent; any number when absent.
    most_optional: Option<usize>,
    /// How many parts may be one thing or another; any number when absent.
    most_unions: Option<usize>,
    /// Parts may refer to what they are part of.
    takes_recursion: bool,
    /// The values of an `enum` may be truth values and null, too, and there is `const`.
    takes_any_scalar: bool,
    /// The whole may be something else than an object.
    takes_any_root: bool,
}

/// <https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>
pub(crate) const OPENAI: Subset = Subset {
    limits: &[
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "maxItems",
        "maximum",
        "minItems",
        "minimum",
        "multipleOf",
        "pattern",
    ],
    formats: Some(&[
        "date-time",
        "time",
        "date",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "uuid",
    ]),
    structure: &[],
    must_be_closed: true,
    most_optional: Some(0),
    most_unions: None,
    takes_recursion: true,
    takes_any_scalar: true,
    takes_any_root: false,
};

/// <https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations>
pub(crate) const ANTHROPIC: Subset = Subset {
    limits: &["format", "minItems", "pattern"],
    formats: Some(&[
        "date-time",
        "time",
        "date",
        "duration",
        "email",
        "hostname",
        "uri",
        "ipv4",
        "ipv6",
        "uuid",
    ]),
    structure: &["definitions"],
    must_be_closed: true,
    most_optional: Some(24),
    most_unions: Some(16),
    takes_recursion: false,
    takes_any_scalar: true,
    takes_any_root: false,
};

/// <https://ai.google.dev/api/generate-content#FIELDS.response_json_schema>
pub(crate) const GEMINI: Subset = Subset {
    limits: &["format", "maxItems", "maximum", "minItems", "minimum"],
    formats: None,
    structure: &["oneOf", "prefixItems"],
    must_be_closed: false,
    most_optional: None,
    most_unions: None,
    takes_recursion: false,
    takes_any_scalar: false,
    takes_any_root: true,
};

/// Keywords of the structure that every provider understands.
const STRUCTURE: [&str; 8] = [
    "$defs",
    "$ref",
    "additionalProperties",
    "anyOf",
    "items",
    "properties",
    "required",
    "type",
];

/// Keywords that only say more of a value that is allowed without them, or explain it.
const MAY_BE_LEFT_OUT: [&str; 22] = [
    "$comment",
    "$id",
    "$schema",
    "const",
    "default",
    "deprecated",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "multipleOf",
    "pattern",
    "readOnly",
    "uniqueItems",
    "writeOnly",
];

/// How deep a schema may be. OpenAI documents it, the others refuse what is too complex.
const DEEPEST: usize = 10;

/// The schema to send, if the provider can follow it.
pub(crate) fn enforceable(request: &ModelRequest, subset: &Subset) -> Option<Value> {
    let whole = request.output_schema.as_ref()?.as_object()?;
    let is_object = whole.get("type").is_some_and(|kind| kind == "object");
    let is_recursive = || refers_to_itself(whole);
    if !(subset.takes_any_root || is_object) || (!subset.takes_recursion && is_recursive()) {
        return None;
    }
    let mut counts = SchemaCounts::default();
    let schema = subset.part(whole, DEEPEST, &mut counts)?;
    let fits = |count: usize, most: Option<usize>| most.is_none_or(|most| count <= most);
    let fits_all =
        fits(counts.optional, subset.most_optional) && fits(counts.unions, subset.most_unions);
    fits_all.then_some(Value::Object(schema))
}

#[derive(Default)]
struct SchemaCounts {
    optional: usize,
    unions: usize,
}

impl Subset {
    /// A part of a schema as the provider takes it, or nothing where it cannot follow it.
    fn part(
        &self,
        schema: &Map<String, Value>,
        depth: usize,
        counts: &mut SchemaCounts,
    ) -> Option<Map<String, Value>> {
        let depth = depth.checked_sub(1)?;
        let is_object = schema.get("type").is_some_and(|kind| match kind {
            Value::Array(kinds) => kinds.iter().any(|kind| kind == "object"),
            kind => kind == "object",
        });
        if is_object || schema.contains_key("properties") {
            let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
            if self.must_be_closed && !(is_closed && schema.contains_key("properties")) {
                return None;
            }
            counts.optional += optional_properties(schema);
        }
        let is_union =
            schema.contains_key("anyOf") || schema.get("type").is_some_and(Value::is_array);
        counts.unions += usize::from(is_union);
        let is_reference = schema.contains_key("$ref");
        let mut taken = Map::new();
        for (key, value) in schema {
            // Beside a reference there may be nothing else, as some have it.
            if is_reference && !key.starts_with('$') {
                let only_explains = ["title", "description"].contains(&key.as_str());
                if only_explains || MAY_BE_LEFT_OUT.contains(&key.as_str()) {
                    continue;
                }
                return None;
            }
            if let Some(value) = self.keyword(key, value, depth, counts)? {
                let key = match key.as_str() {
                    "const" if !self.takes_any_scalar => "enum",
                    key => key,
                };
                taken.insert(key.to_owned(), value);
            }
        }
        Some(taken)
    }

    /// The value of a keyword, the inner nothing where it is left out, the outer one where the schema
    /// cannot be sent.
    fn keyword(
        &self,
        key: &str,
        value: &Value,
        depth: usize,
        counts: &mut SchemaCounts,
    ) -> Option<Option<Value>> {
        let mut within = |part: &Value| -> Option<Value> {
            let part = self.part(part.as_object()?, depth, counts)?;
            Some(Value::Object(part))
        };
        let is_structure = STRUCTURE.contains(&key) || self.structure.contains(&key);
        let value = match key {
            "properties" | "$defs" | "definitions" if is_structure => {
                let parts = value.as_object()?.iter();
                let parts = parts.map(|(name, part)| Some((name.clone(), within(part)?)));
                Value::Object(parts.collect::<Option<_>>()?)
            }
            "anyOf" | "oneOf" | "prefixItems" if is_structure => {
                let parts = value.as_array()?.iter().map(within);
                Value::Array(parts.collect::<Option<_>>()?)
            }
            "items" => within(value)?,
            "additionalProperties" if value.is_object() => within(value)?,
            "$ref" => {
                let is_inside = value.as_str()?.starts_with('#');
                return is_inside.then(|| Some(value.clone()));
            }
            "title" | "description" => value.clone(),
            "enum" | "const" => return Some(self.scalars(key, value)),
            key if is_structure || (self.limits.contains(&key) && self.follows(key, value)) => {
                value.clone()
            }
            key => return MAY_BE_LEFT_OUT.contains(&key).then_some(None),
        };
        Some(Some(value))
    }

    /// Values that are listed, where the provider can tell all of them.
    fn scalars(&self, key: &str, value: &Value) -> Option<Value> {
        let listed = match key {
            "const" => std::slice::from_ref(value),
            _ => value.as_array()?,
        };
        let is_taken = |value: &Value| match value {
            Value::String(_) | Value::Number(_) => true,
            Value::Bool(_) | Value::Null => self.takes_any_scalar,
            Value::Array(_) | Value::Object(_) => false,
        };
        if !listed.iter().all(is_taken) {
            return None;
        }
        match key {
            "const" if !self.takes_any_scalar => Some(Value::Array(listed.to_vec())),
            _ => Some(value.clone()),
        }
    }

    /// Whether this limit is one that the provider can hold a model to.
    fn follows(&self, key: &str, value: &Value) -> bool {
        match key {
            "format" => self
                .formats
                .is_none_or(|formats| formats.iter().any(|format| value == format)),
            "pattern" => value.as_str().is_some_and(is_plain_pattern),
            // Anthropic knows no more than whether there is an item.
            "minItems" if !self.limits.contains(&"maxItems") => {
                value.as_u64().is_some_and(|least| least <= 1)
            }
            _ => true,
        }
    }
}

/// Whether a pattern looks neither ahead nor back, which decoders cannot follow.
fn is_plain_pattern(pattern: &str) -> bool {
    let mut after_backslash = false;
    let looks_round = pattern.chars().any(|c| {
        let is_special = after_backslash && (c.is_ascii_digit() || "bBkpP".contains(c));
        after_backslash = c == '\\' && !after_backslash;
        is_special
    });
    !looks_round && !pattern.contains("(?")
}

/// How many properties of an object may be absent.
fn optional_properties(schema: &Map<String, Value>) -> usize {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        let mut names = required.into_iter().flatten();
        names.any(|required| required == name)
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flat_map(Map::keys);
    names.filter(|name| !is_required(name)).count()
}

/// Whether a part refers to itself or to what it is part of, directly or through others.
fn refers_to_itself(whole: &Map<String, Value>) -> bool {
    let mut named: Vec<(String, &Value)> = Vec::new();
    for place in ["$defs", "definitions"] {
        let parts = whole.get(place).and_then(Value::as_object);
        let parts = parts.into_iter().flatten();
        named.extend(parts.map(|(name, part)| (format!("#/{place}/{name}"), part)));
    }
    let mut direct: HashSet<&str> = HashSet::new();
    for value in whole.values() {
        references(value, &mut direct);
    }
    // Whatever is not one of the named parts is a place that may hold the reference itself.
    let is_known = |place: &&str| named.iter().any(|(name, _)| name == place);
    if !direct.iter().all(is_known) {
        return true;
    }
    named.iter().any(|(start, part)| {
        let mut reached = HashSet::new();
        references(part, &mut reached);
        let mut open: Vec<&str> = reached.iter().copied().collect();
        while let Some(place) = open.pop() {
            if place == start {
                return true;
            }
            let mut next = HashSet::new();
            let part = named.iter().find(|(name, _)| name == place);
            if let Some((_, part)) = part {
                references(part, &mut next);
            }
            open.extend(next.into_iter().filter(|place| reached.insert(place)));
        }
        false
    })
}

/// Collects where a schema refers to.
fn references<'a>(schema: &'a Value, found: &mut HashSet<&'a str>) {
    match schema {
        Value::Object(fields) => {
            if let Some(place) = fields.get("$ref").and_then(Value::as_str) {
                found.insert(place);
            }
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}
