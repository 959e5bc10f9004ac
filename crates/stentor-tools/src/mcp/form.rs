//! The form of an elicitation: the small part of JSON schema that it may use.

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Fields of a form. More is no question to a person.
const FIELDS: usize = 20;
/// Choices of a field.
const CHOICES: usize = 100;
/// The longest title or description.
const TITLE_CHARS: usize = 300;

/// What a server wants to know, field by field.
#[derive(Debug, PartialEq)]
pub(super) struct ElicitationForm {
    pub fields: Vec<FormField>,
}

/// One thing a server wants to know.
#[derive(Debug, PartialEq)]
pub(super) struct FormField {
    pub name: String,
    pub title: String,
    description: Option<String>,
    pub is_required: bool,
    default: Option<Value>,
    pub kind: FieldKind,
}

/// What an answer must be.
#[derive(Debug, PartialEq)]
pub(super) enum FieldKind {
    Text {
        shortest: usize,
        longest: usize,
        format: Option<TextFormat>,
    },
    Number {
        least: f64,
        most: f64,
        is_integer: bool,
    },
    Boolean,
    Choice(Vec<FormChoice>),
    /// Some of several, separated by commas.
    Several {
        choices: Vec<FormChoice>,
        fewest: usize,
        most: usize,
    },
}

/// One of several answers.
#[derive(Debug, PartialEq)]
pub(super) struct FormChoice {
    pub value: String,
    pub title: String,
}

/// What a text is, where the schema says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextFormat {
    Email,
    Uri,
    Date,
    DateTime,
}

/// Why an answer does not fit, for the person who gave it.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum Misfit {
    #[error("an answer is needed")]
    Missing,
    #[error("choose yes or no")]
    NoBoolean,
    #[error("{0:?} is not one of the choices")]
    NoChoice(String),
    #[error("choose {}", range(*.0, *.1))]
    Count(usize, usize),
    #[error("its length must be {}", range(*.0, *.1))]
    Length(usize, usize),
    #[error("that does not have the required format")]
    Format,
    #[error("a whole number is needed")]
    NoInteger,
    #[error("a number is needed")]
    NoNumber,
    #[error("a number {} is needed", limits(*least, *most))]
    Range { least: f64, most: f64 },
}

/// A field as a schema describes it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Schema {
    #[serde(rename = "type")]
    kind: String,
    title: Option<String>,
    description: Option<String>,
    default: Option<Value>,
    format: Option<String>,
    min_length: Option<usize>,
    max_length: Option<usize>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    #[serde(rename = "enum")]
    values: Option<Vec<String>>,
    enum_names: Option<Vec<String>>,
    one_of: Option<Vec<Titled>>,
    any_of: Option<Vec<Titled>>,
    items: Option<Box<Schema>>,
    min_items: Option<usize>,
    max_items: Option<usize>,
}

#[derive(Deserialize)]
struct Titled {
    #[serde(rename = "const")]
    value: String,
    title: Option<String>,
}

impl ElicitationForm {
    /// The form that a schema describes. `None` for one that no person could fill in here.
    pub fn of(schema: &Value) -> Option<Self> {
        let nothing = Map::new();
        let properties = match schema.get("properties") {
            None => &nothing,
            Some(properties) => properties.as_object()?,
        };
        if properties.len() > FIELDS {
            return None;
        }
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
        let fields = properties.iter().map(|(name, schema)| {
            let schema = Schema::deserialize(schema).ok()?;
            let title = schema.title.clone().unwrap_or_else(|| name.clone());
            Some(FormField {
                name: name.clone(),
                title: short(&title),
                description: schema.description.as_deref().map(short),
                is_required: is_required(name),
                default: schema.default.clone(),
                kind: schema.field_kind()?,
            })
        });
        Some(Self {
            fields: fields.collect::<Option<_>>()?,
        })
    }
}

impl Schema {
    fn field_kind(self) -> Option<FieldKind> {
        match self.kind.as_str() {
            "boolean" => Some(FieldKind::Boolean),
            "number" | "integer" => Some(FieldKind::Number {
                least: self.minimum.unwrap_or(f64::NEG_INFINITY),
                most: self.maximum.unwrap_or(f64::INFINITY),
                is_integer: self.kind == "integer",
            }),
            "array" => {
                let choices = self.items?.choices()?;
                Some(FieldKind::Several {
                    fewest: self.min_items.unwrap_or(0),
                    most: self.max_items.unwrap_or(usize::MAX),
                    choices,
                })
            }
            "string" if self.values.is_some() || self.one_of.is_some() => {
                self.choices().map(FieldKind::Choice)
            }
            "string" => Some(FieldKind::Text {
                shortest: self.min_length.unwrap_or(0),
                longest: self.max_length.unwrap_or(usize::MAX),
                format: match self.format.as_deref() {
                    Some("email") => Some(TextFormat::Email),
                    Some("uri") => Some(TextFormat::Uri),
                    Some("date") => Some(TextFormat::Date),
                    Some("date-time") => Some(TextFormat::DateTime),
                    _ => None,
                },
            }),
            _ => None,
        }
    }

    fn choices(self) -> Option<Vec<FormChoice>> {
        let titled = self.one_of.or(self.any_of);
        let choices: Vec<FormChoice> = match (titled, self.values) {
            (Some(titled), _) => titled
                .into_iter()
                .map(|one| FormChoice {
                    title: short(one.title.as_deref().unwrap_or(&one.value)),
                    value: one.value,
                })
                .collect(),
            (None, Some(values)) => {
                let names = self.enum_names.unwrap_or_default();
                let mut names = names.into_iter();
                values
                    .into_iter()
                    .map(|value| FormChoice {
                        title: short(names.next().as_ref().unwrap_or(&value)),
                        value,
                    })
                    .collect()
            }
            (None, None) => return None,
        };
        (1..=CHOICES).contains(&choices.len()).then_some(choices)
    }
}

impl ElicitationForm {
    /// Its fields as a JSON schema, in the words that every client of forms knows.
    pub fn to_schema(&self) -> Value {
        schema_of(&self.fields)
    }

    /// True when something that must be answered has to be typed.
    pub fn needs_text(&self) -> bool {
        self.fields.iter().any(FormField::needs_text)
    }

    /// What was filled in, or the first field whose answer does not fit.
    pub fn read(&self, content: &Map<String, Value>) -> Result<Map<String, Value>, (&str, Misfit)> {
        let mut read = Map::new();
        for field in &self.fields {
            let value = field.read_json(content.get(&field.name));
            if let Some(value) = value.map_err(|why| (field.title.as_str(), why))? {
                read.insert(field.name.clone(), value);
            }
        }
        Ok(read)
    }

    /// Keeps what was filled in, as far as it fits, as what the form begins with when it is shown again.
    pub fn keep(&mut self, content: &Map<String, Value>) {
        for field in &mut self.fields {
            if let Ok(value) = field.read_json(content.get(&field.name)) {
                field.default = value;
            }
        }
    }
}

fn schema_of(fields: &[FormField]) -> Value {
    let properties = fields
        .iter()
        .map(|field| (field.name.clone(), field.property()));
    let required = fields.iter().filter(|field| field.is_required);
    let required: Vec<&str> = required.map(|field| field.name.as_str()).collect();
    json!({
        "type": "object",
        "properties": properties.collect::<Map<_, _>>(),
        "required": required,
    })
}

impl FormField {
    /// It alone, as a form.
    pub fn to_schema(&self) -> Value {
        schema_of(std::slice::from_ref(self))
    }

    /// True when it must be answered and that cannot be done by one choice.
    pub fn needs_text(&self) -> bool {
        let is_choice = matches!(self.kind, FieldKind::Choice(_) | FieldKind::Boolean);
        self.is_required && !is_choice
    }

    /// What it is, as a schema.
    fn property(&self) -> Value {
        let default = self.default.as_ref();
        let default = default.filter(|default| self.value_of(default).is_ok());
        let mut property = match &self.kind {
            FieldKind::Boolean => json!({ "type": "boolean" }),
            FieldKind::Choice(choices) => json!({ "type": "string", "oneOf": titled(choices) }),
            FieldKind::Several {
                choices,
                fewest,
                most,
            } => json!({
                "type": "array",
                "items": { "anyOf": titled(choices) },
                "minItems": (*fewest > 0).then_some(fewest),
                "maxItems": (*most < usize::MAX).then_some(most),
            }),
            FieldKind::Number {
                least,
                most,
                is_integer: true,
            } => json!({
                "type": "integer",
                "minimum": least.is_finite().then(|| least.ceil() as i64),
                "maximum": most.is_finite().then(|| most.floor() as i64),
            }),
            FieldKind::Number { least, most, .. } => json!({
                "type": "number",
                "minimum": least.is_finite().then_some(least),
                "maximum": most.is_finite().then_some(most),
            }),
            FieldKind::Text {
                shortest,
                longest,
                format,
            } => json!({
                "type": "string",
                "minLength": u32::try_from(*shortest).ok().filter(|shortest| *shortest > 0),
                "maxLength": u32::try_from(*longest).ok(),
                "format": format.map(TextFormat::as_str),
            }),
        };
        if let Some(property) = property.as_object_mut() {
            property.insert("title".into(), json!(self.title));
            property.insert("description".into(), json!(self.description));
            property.insert("default".into(), json!(default));
            property.retain(|_, value| !value.is_null());
        }
        property
    }

    /// What was filled in; `None` when it is left out.
    pub fn read_json(&self, given: Option<&Value>) -> Result<Option<Value>, Misfit> {
        match given {
            None | Some(Value::Null) => self.read(""),
            Some(Value::String(text)) if !self.is_required && text.trim().is_empty() => {
                Ok(self.blank())
            }
            Some(given) => self.value_of(given).map(Some),
        }
    }

    /// What an optional field is that came back empty: left out, unless that is a choice of its own or
    /// a text whose default was erased.
    fn blank(&self) -> Option<Value> {
        let means_something = match self.kind {
            FieldKind::Choice(_) => true,
            _ => self.default.is_some(),
        };
        self.value("").ok().filter(|_| means_something)
    }

    fn value_of(&self, given: &Value) -> Result<Value, Misfit> {
        let given = match (&self.kind, given) {
            (_, Value::String(text)) => text.clone(),
            (FieldKind::Several { .. }, Value::Array(values)) => {
                let texts = values.iter().map(Value::as_str);
                let texts: Option<Vec<&str>> = texts.collect();
                return self.several(texts.ok_or(Misfit::NoChoice(given.to_string()))?);
            }
            (FieldKind::Number { is_integer, .. }, Value::Number(number)) => {
                match number.as_f64().filter(|n| *is_integer && n.fract() == 0.0) {
                    Some(whole) => whole.to_string(),
                    None => number.to_string(),
                }
            }
            (_, given) => given.to_string(),
        };
        self.value(&given)
    }

    /// What is asked.
    pub fn label(&self) -> String {
        let mut label = self.title.clone();
        if let Some(description) = &self.description {
            label.push_str(&format!(": {description}"));
        }
        if !self.is_required {
            label.push_str(" (optional)");
        }
        label
    }

    /// What an answer looks like.
    pub fn hint(&self) -> Option<String> {
        match (&self.kind, &self.default) {
            (FieldKind::Several { choices, .. }, _) => {
                let titles: Vec<&str> = choices.iter().map(|one| one.title.as_str()).collect();
                Some(format!("some of: {}", titles.join(", ")))
            }
            (_, Some(Value::String(default))) => Some(default.clone()),
            (_, Some(default)) => Some(default.to_string()),
            (_, None) => None,
        }
    }

    /// What was answered; `None` when it is left out.
    pub fn read(&self, given: &str) -> Result<Option<Value>, Misfit> {
        let given = given.trim();
        let may_be_empty = match &self.kind {
            FieldKind::Text { shortest: 0, .. } => self.is_required && self.default.is_none(),
            FieldKind::Choice(choices) => choices.iter().any(|choice| choice.value.is_empty()),
            _ => false,
        };
        if given.is_empty() && !may_be_empty {
            return match (&self.default, self.is_required) {
                (Some(default), _) => Ok(Some(default.clone())),
                (None, false) => Ok(None),
                (None, true) => Err(Misfit::Missing),
            };
        }
        self.value(given).map(Some)
    }

    fn several<'a>(&self, given: impl IntoIterator<Item = &'a str>) -> Result<Value, Misfit> {
        let FieldKind::Several {
            choices,
            fewest,
            most,
        } = &self.kind
        else {
            return Err(Misfit::Format);
        };
        let given = given.into_iter();
        let chosen: Result<Vec<String>, Misfit> =
            given.map(|one| chosen(choices, one.trim())).collect();
        let chosen = chosen?;
        match (*fewest..=*most).contains(&chosen.len()) {
            true => Ok(chosen.into()),
            false => Err(Misfit::Count(*fewest, *most)),
        }
    }

    fn value(&self, given: &str) -> Result<Value, Misfit> {
        match &self.kind {
            FieldKind::Boolean => match given {
                "true" => Ok(true.into()),
                "false" => Ok(false.into()),
                _ => Err(Misfit::NoBoolean),
            },
            FieldKind::Choice(choices) => chosen(choices, given).map(Value::from),
            FieldKind::Several { .. } => self.several(given.split(',')),
            FieldKind::Number {
                least,
                most,
                is_integer,
            } => number(given, *least, *most, *is_integer),
            FieldKind::Text {
                shortest,
                longest,
                format,
            } => {
                let length = given.chars().count();
                if !(*shortest..=*longest).contains(&length) {
                    return Err(Misfit::Length(*shortest, *longest));
                }
                match format.is_none_or(|format| format.fits(given)) {
                    true => Ok(given.into()),
                    false => Err(Misfit::Format),
                }
            }
        }
    }
}

fn titled(choices: &[FormChoice]) -> Vec<Value> {
    let choices = choices.iter();
    choices
        .map(|choice| json!({ "const": choice.value, "title": choice.title }))
        .collect()
}

fn chosen(choices: &[FormChoice], given: &str) -> Result<String, Misfit> {
    let by_value = choices.iter().find(|choice| choice.value == given);
    let by_title = || choices.iter().find(|choice| choice.title == given);
    let found = by_value.or_else(by_title);
    let found = found.ok_or_else(|| Misfit::NoChoice(given.to_owned()))?;
    Ok(found.value.clone())
}

fn number(given: &str, least: f64, most: f64, is_integer: bool) -> Result<Value, Misfit> {
    let is_bounded = least.is_finite() || most.is_finite();
    let wrong = || match (is_bounded, is_integer) {
        (true, _) => Misfit::Range { least, most },
        (false, true) => Misfit::NoInteger,
        (false, false) => Misfit::NoNumber,
    };
    let value: Value = match is_integer {
        true => given.parse::<i64>().map_err(|_| wrong())?.into(),
        false => given.parse::<f64>().map_err(|_| wrong())?.into(),
    };
    let within = value.as_f64().is_some_and(|n| n >= least && n <= most);
    within.then_some(value).ok_or_else(wrong)
}

fn range(least: usize, most: usize) -> String {
    match most {
        usize::MAX => format!("at least {least}"),
        most => format!("from {least} to {most}"),
    }
}

fn limits(least: f64, most: f64) -> String {
    match (least.is_finite(), most.is_finite()) {
        (true, false) => format!("of at least {least}"),
        (false, true) => format!("of at most {most}"),
        _ => format!("from {least} to {most}"),
    }
}

impl TextFormat {
    /// Its name in a schema.
    fn as_str(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Uri => "uri",
            Self::Date => "date",
            Self::DateTime => "date-time",
        }
    }

    fn fits(self, text: &str) -> bool {
        let is_date = |text: &str| {
            let parts: Vec<&str> = text.split('-').collect();
            let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
            let digits = text.chars().all(|c| c.is_ascii_digit() || c == '-');
            lengths == [4, 2, 2] && digits
        };
        match self {
            Self::Email => {
                let parts = text.split_once('@');
                let is_plain = !text.contains(char::is_whitespace);
                is_plain && parts.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
            }
            Self::Uri => reqwest::Url::parse(text).is_ok(),
            Self::Date => is_date(text),
            Self::DateTime => text
                .split_once(['T', 't', ' '])
                .is_some_and(|(date, time)| is_date(date) && time.len() >= 5),
        }
    }
}

fn short(text: &str) -> String {
    text.chars().take(TITLE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(schema: Value) -> FormField {
        let form =
            ElicitationForm::of(&json!({ "properties": { "x": schema }, "required": ["x"] }));
        form.unwrap().fields.pop().unwrap()
    }

    #[test]
    fn answers_are_read_by_what_the_schema_says() {
        for (schema, given, expected) in [
            (json!({ "type": "string" }), " a ", Ok(json!("a"))),
            (json!({ "type": "string" }), "", Ok(json!(""))),
            (
                json!({ "type": "string", "default": "d" }),
                "",
                Ok(json!("d")),
            ),
            (
                json!({ "type": "string", "minLength": 2, "maxLength": 3 }),
                "a",
                Err("its length must be from 2 to 3"),
            ),
            (
                json!({ "type": "string", "format": "email" }),
                "ada",
                Err("that does not have the required format"),
            ),
            (
                json!({ "type": "string", "format": "date" }),
                "2026-01-31",
                Ok(json!("2026-01-31")),
            ),
            (json!({ "type": "integer" }), "7", Ok(json!(7))),
            (
                json!({ "type": "integer" }),
                "7.5",
                Err("a whole number is needed"),
            ),
            (
                json!({ "type": "number", "minimum": 1, "maximum": 2 }),
                "3",
                Err("a number from 1 to 2 is needed"),
            ),
            (
                json!({ "type": "number" }),
                "NaN",
                Err("a number is needed"),
            ),
            (json!({ "type": "boolean" }), "false", Ok(json!(false))),
            (
                json!({ "type": "string", "enum": ["a", "b"], "enumNames": ["First", "Second"] }),
                "Second",
                Ok(json!("b")),
            ),
            (
                json!({ "type": "string", "oneOf": [{ "const": "a", "title": "First" }] }),
                "c",
                Err("\"c\" is not one of the choices"),
            ),
            (
                json!({ "type": "array", "items": { "type": "string", "enum": ["a", "b"] }, "maxItems": 1 }),
                "a, b",
                Err("choose from 0 to 1"),
            ),
            (
                json!({ "type": "array", "items": { "anyOf": [{ "const": "a", "title": "First" }] } }),
                "First",
                Ok(json!(["a"])),
            ),
        ] {
            let read = field(schema.clone()).read(given);
            let read = read.map(Option::unwrap).map_err(|why| why.to_string());
            let expected = expected.map_err(str::to_owned);
            assert_eq!(read, expected, "{schema} {given:?}");
        }
    }

    #[test]
    fn a_form_is_described_as_the_server_did_and_read_by_it() {
        let properties = json!({
            "name": { "type": "string", "title": "Name", "minLength": 2 },
            "age": { "type": "integer", "minimum": 1, "maximum": 120, "default": 30 },
            "colour": { "type": "string", "enum": ["r", "b"], "enumNames": ["Red", "Blue"] },
            "days": { "type": "array", "items": { "type": "string", "enum": ["mo", "tu"] }, "minItems": 1 },
            "sure": { "type": "boolean", "description": "Really?", "default": "yes" },
        });
        let schema = json!({ "type": "object", "properties": properties, "required": ["name"] });
        let form = ElicitationForm::of(&schema).unwrap();
        let expected = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "minLength": 2, "title": "Name" },
                "age": { "type": "integer", "minimum": 1, "maximum": 120, "title": "age", "default": 30 },
                "colour": {
                    "type": "string",
                    "oneOf": [{ "const": "r", "title": "Red" }, { "const": "b", "title": "Blue" }],
                    "title": "colour",
                },
                "days": {
                    "type": "array",
                    "items": { "anyOf": [{ "const": "mo", "title": "mo" }, { "const": "tu", "title": "tu" }] },
                    "minItems": 1,
                    "title": "days",
                },
                "sure": { "type": "boolean", "title": "sure", "description": "Really?" },
            },
            "required": ["name"],
        });
        assert_eq!(form.to_schema(), expected);
        assert!(form.needs_text());
        let read = |content: Value| {
            let read = form.read(content.as_object().unwrap());
            read.map_err(|(field, why)| format!("{field}: {why}"))
        };
        let given = json!({ "name": "Ada", "age": 36.0, "days": ["mo", "tu"], "sure": false });
        let expected = json!({ "name": "Ada", "age": 36, "days": ["mo", "tu"], "sure": false });
        assert_eq!(read(given).map(Value::from), Ok(expected));
        // What is left out has its default.
        let expected = json!({ "name": "Ada", "age": 30, "sure": "yes" });
        assert_eq!(
            read(json!({ "name": "Ada" })).map(Value::from),
            Ok(expected)
        );
        for (given, why) in [
            (json!({}), "Name: an answer is needed"),
            (
                json!({ "name": "A" }),
                "Name: its length must be at least 2",
            ),
            (
                json!({ "name": "Ada", "age": 0 }),
                "age: a number from 1 to 120 is needed",
            ),
            (
                json!({ "name": "Ada", "age": 3.5 }),
                "age: a number from 1 to 120 is needed",
            ),
            (
                json!({ "name": "Ada", "days": [] }),
                "days: choose at least 1",
            ),
            (
                json!({ "name": "Ada", "days": [7] }),
                "days: \"[7]\" is not one of the choices",
            ),
            (
                json!({ "name": "Ada", "colour": "g" }),
                "colour: \"g\" is not one of the choices",
            ),
            (
                json!({ "name": "Ada", "sure": 7 }),
                "sure: choose yes or no",
            ),
        ] {
            assert_eq!(read(given.clone()), Err(why.to_owned()), "{given}");
        }
    }

    #[test]
    fn an_optional_field_that_comes_back_empty_is_left_out() {
        for (schema, expected) in [
            (json!({ "type": "string" }), None),
            (json!({ "type": "string", "minLength": 2 }), None),
            (json!({ "type": "string", "format": "email" }), None),
            (
                json!({ "type": "string", "format": "date", "default": "2026-01-31" }),
                None,
            ),
            (json!({ "type": "integer", "minimum": 1 }), None),
            (json!({ "type": "boolean" }), None),
            (json!({ "type": "string", "enum": ["a"] }), None),
            (
                json!({ "type": "array", "items": { "type": "string", "enum": ["a"] } }),
                None,
            ),
            // Empty is something else than left out.
            (json!({ "type": "string", "enum": ["", "a"] }), Some("")),
            (json!({ "type": "string", "default": "d" }), Some("")),
        ] {
            let optional = ElicitationForm::of(&json!({ "properties": { "x": schema } })).unwrap();
            for blank in ["", " "] {
                let read = optional.fields[0].read_json(Some(&json!(blank)));
                assert_eq!(read, Ok(expected.map(Value::from)), "{schema}");
            }
        }
        let required = field(json!({ "type": "string", "format": "email" }));
        assert_eq!(required.read_json(Some(&json!(""))), Err(Misfit::Format));
    }

    #[test]
    fn a_form_that_is_shown_again_keeps_what_fits() {
        let properties = json!({
            "name": { "type": "string", "default": "Ada" },
            "age": { "type": "integer", "minimum": 1, "default": 30 },
            "mail": { "type": "string", "format": "email", "default": "a@b.example" },
            "note": { "type": "string" },
            "news": { "type": "boolean", "default": true },
        });
        let mut form = ElicitationForm::of(&json!({ "properties": properties })).unwrap();
        let given = json!({ "name": "Bob", "age": 0, "mail": "", "note": "x" });
        form.keep(given.as_object().unwrap());
        let schema = form.to_schema();
        let kept = |name: &str| schema["properties"][name].get("default").cloned();
        assert_eq!(kept("name"), Some(json!("Bob")));
        assert_eq!(kept("age"), Some(json!(30)));
        assert_eq!(kept("mail"), None);
        assert_eq!(kept("note"), Some(json!("x")));
        assert_eq!(kept("news"), Some(json!(true)));
    }

    #[test]
    fn what_no_person_could_fill_in_is_no_form() {
        for schema in [
            json!({ "properties": { "x": { "type": "object" } } }),
            json!({ "properties": { "x": { "type": "string", "enum": [] } } }),
            json!({ "properties": 7 }),
            json!({ "properties": (0..21).map(|n| (n.to_string(), json!({ "type": "string" }))).collect::<Map<_, _>>() }),
        ] {
            assert_eq!(ElicitationForm::of(&schema), None, "{schema}");
        }
        assert_eq!(
            ElicitationForm::of(&Value::Null),
            Some(ElicitationForm { fields: Vec::new() })
        );
    }
}
