//! The kinds of values a key can have, read from TOML or from the text of a variable or flag.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use stentor_agent::event::{InterruptMode, QueueMode};
use stentor_agent::model::ThinkingLevel;
use stentor_agent::sandbox::SandboxMode;
use stentor_policy::PermissionMode;
use stentor_text::spelling::nearest;
use stentor_tools::web::AllowedPrivate;
use toml::de::DeValue;

use super::error::ValueProblem;
use super::source::ValueSource;

/// A value as somebody wrote it.
#[derive(Clone)]
pub struct WrittenValue<'a> {
    pub raw: RawSetting<'a>,
    pub source: ValueSource,
    /// What a relative path is relative to.
    pub base: &'a Path,
    /// What `~` stands for.
    pub home: Option<&'a Path>,
}

/// The two ways to write a value.
#[derive(Clone, Copy)]
pub enum RawSetting<'a> {
    Toml(&'a DeValue<'a>),
    Text(&'a str),
}

/// A kind of value.
pub trait SettingValue: Sized {
    /// Reads it, or says what is wrong.
    fn read(input: &WrittenValue<'_>) -> Result<Self, ValueProblem>;

    /// As `stentor config` shows it.
    fn shown(&self) -> Json;
}

impl WrittenValue<'_> {
    fn text(&self, expected: &str) -> Result<String, ValueProblem> {
        match self.raw {
            RawSetting::Text(text) => Ok(text.to_owned()),
            RawSetting::Toml(DeValue::String(text)) => Ok(text.clone().into_owned()),
            RawSetting::Toml(_) => Err(self.problem(expected)),
        }
    }

    /// A word out of a list, with the nearest one as a hint.
    pub(super) fn word<T: Copy>(&self, words: &[(&'static str, T)]) -> Result<T, ValueProblem> {
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        let expected = one_of(&names);
        let text = self.text(&expected)?;
        let found = words.iter().find(|(name, _)| *name == text);
        found.map(|(_, value)| *value).ok_or_else(|| ValueProblem {
            suggestion: nearest(&text, names.iter().copied()).map(str::to_owned),
            ..self.problem(&expected)
        })
    }

    /// What was found instead of what was `expected`.
    pub fn problem(&self, expected: &str) -> ValueProblem {
        ValueProblem {
            found: match self.raw {
                RawSetting::Text(text) => quoted(text),
                RawSetting::Toml(value) => described(value),
            },
            expected: expected.to_owned(),
            suggestion: None,
        }
    }
}

impl SettingValue for String {
    fn read(input: &WrittenValue<'_>) -> Result<Self, ValueProblem> {
        input.text("text in quotes")
    }

    fn shown(&self) -> Json {
        json!(self)
    }
}

/// Text that names something, so it cannot be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NonEmptyName(pub String);

impl SettingValue for NonEmptyName {
    fn read(input: &WrittenValue<'_>) -> Result<Self, ValueProblem> {
        let text = input.text("a name")?;
        if text.trim().is_empty() || text.contains(char::is_control) {
            return Err(input.problem("a name"));
        }
        Ok(Self(text))
    }

    fn shown(&self) -> Json {
        json!(self.0)
    }
}

impl SettingValue for PathBuf {
    fn read(input: &WrittenValue<'_>) -> Result<Self, ValueProblem> {
        let text = input.text("a path in quotes")?;
        if text.is_empty() || text.contains('\0') {
            return Err(input.problem("a path in quotes"));
        }
        let below_home = if text == "~" {
            Some("")
        } else {
            text.strip_prefix("~/")
        };
        match (below_home, input.home) {
            (Some(rest), Some(home)) => Ok(home.join(rest)),
            (Some(_), None) => Err(input.problem("a path without `~`, because HOME is not set")),
            (None, _) => Ok(input.base.join(text)),
        }
    }

    fn shown(&self) -> Json {
        json!(self.display().to_string())
    }
}

impl SettingValue for Vec<String> {
    fn read(input: &WrittenValue<'_>) -> Result<Self, ValueProblem> {
        const EXPECTED: &str = "a list of names, as in [\"read\", \"bash\"]";
        match input.raw {
            RawSetting::Text(text) => Ok(text
                .split(',')
                .map(str::trim)
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect()),
            RawSetting::Toml(DeValue::Array(items)) => items
                .iter()
                .map(|item| match item.get_ref() {
                    DeValue::String(name) if !name.trim().is_empty() => {
                        Ok(name.clone().into_owned())
                    }
                    _ => Err(input.problem(EXPECTED)),
                })
                .collect(),
            RawSetting::Toml(_) => Err(input.problem(EXPECTED)),
        }
    }

    fn shown(&self) -> Json {
        json!(self)
    }
}

/// Folders, each with `~` and relative paths resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FolderList(pub Vec<PathBuf>);

impl SettingValue for FolderList {
    fn read(input: &WrittenValue<'_>) -> Result<Self, ValueProblem> {
        let texts =
            Vec::read(input).map_err(|_| input.problem("a list of folders, as in [\"~/work\"]"))?;
        let read_one = |text: &String| {
            PathBuf::read(&WrittenValue {
                raw: RawSetting::Text(text),
                ..input.clone()
            })
        };
        texts
            .iter()
            .map(read_one)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    fn shown(&self) -> Json {
        self.0.iter().map(SettingValue::shown).collect()
    }
}

/// Hosts, each perhaps with a port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts(pub AllowedPrivate, Vec<String>);

impl SettingValue for Hosts {
    fn read(input: &WrittenValue<'_>) -> Result<Self, ValueProblem> {
        const EXPECTED: &str = "a list of hosts, as in [\"localhost:3000\", \"wiki.corp\"]";
        let texts = Vec::read(input).map_err(|_| input.problem(EXPECTED))?;
        let allowed = AllowedPrivate::read(&texts).map_err(|wrong| ValueProblem {
            found: format!("a list in which {wrong}"),
            ..input.problem(EXPECTED)
        })?;
        Ok(Self(allowed, texts))
    }

    fn shown(&self) -> Json {
        json!(self.1)
    }
}

impl SettingValue for bool {
    fn read(input: &WrittenValue<'_>) -> Result<Self, ValueProblem> {
        match input.raw {
            RawSetting::Toml(DeValue::Boolean(value)) => Ok(*value),
            RawSetting::Text("true" | "1" | "yes" | "on") => Ok(true),
            RawSetting::Text("false" | "0" | "no" | "off") => Ok(false),
            RawSetting::Toml(_) | RawSetting::Text(_) => Err(input.problem("true or false")),
        }
    }

    fn shown(&self) -> Json {
        json!(self)
    }
}

impl SettingValue for u64 {
    fn read(input: &WrittenValue<'_>) -> Result<Self, ValueProblem> {
        let number = match input.raw {
            RawSetting::Toml(DeValue::Integer(number)) => {
                u64::from_str_radix(number.as_str(), number.radix()).ok()
            }
            RawSetting::Text(text) => count(text),
            RawSetting::Toml(_) => None,
        };
        number.ok_or_else(|| input.problem("a whole number, zero or more"))
    }

    fn shown(&self) -> Json {
        json!(self)
    }
}

/// A number of seconds, or `never`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seconds(pub Option<u64>);

impl SettingValue for Seconds {
    fn read(input: &WrittenValue<'_>) -> Result<Self, ValueProblem> {
        if input.text("").is_ok_and(|text| text == "never") {
            return Ok(Self(None));
        }
        let read = u64::read(input).map(|seconds| Self(Some(seconds)));
        read.map_err(|_| input.problem("a whole number of seconds, or \"never\""))
    }

    fn shown(&self) -> Json {
        match self.0 {
            Some(seconds) => json!(seconds),
            None => json!("never"),
        }
    }
}

impl SettingValue for f64 {
    fn read(input: &WrittenValue<'_>) -> Result<Self, ValueProblem> {
        let number: Option<f64> = match input.raw {
            RawSetting::Toml(DeValue::Float(number)) => number.as_str().parse().ok(),
            RawSetting::Toml(DeValue::Integer(number)) if number.radix() == 10 => {
                number.as_str().parse().ok()
            }
            RawSetting::Text(text) => text.parse().ok(),
            RawSetting::Toml(_) => None,
        };
        number
            .filter(|number| number.is_finite() && *number >= 0.0)
            .ok_or_else(|| input.problem("a number, zero or more"))
    }

    fn shown(&self) -> Json {
        json!(self)
    }
}

impl SettingValue for ThinkingLevel {
    fn read(input: &WrittenValue<'_>) -> Result<Self, ValueProblem> {
        input.word(&Self::ALL.map(|level| (level.as_str(), level)))
    }

    fn shown(&self) -> Json {
        json!(self.as_str())
    }
}

impl SettingValue for PermissionMode {
    fn read(input: &WrittenValue<'_>) -> Result<Self, ValueProblem> {
        input.word(&Self::ALL.map(|mode| (mode.as_str(), mode)))
    }

    fn shown(&self) -> Json {
        json!(self.as_str())
    }
}

impl SettingValue for SandboxMode {
    fn read(input: &WrittenValue<'_>) -> Result<Self, ValueProblem> {
        input.word(&Self::ALL.map(|mode| (mode.as_str(), mode)))
    }

    fn shown(&self) -> Json {
        json!(self.as_str())
    }
}

impl SettingValue for QueueMode {
    fn read(input: &WrittenValue<'_>) -> Result<Self, ValueProblem> {
        input.word(&[Self::All, Self::OneAtATime].map(|mode| (mode.as_str(), mode)))
    }

    fn shown(&self) -> Json {
        json!(self.as_str())
    }
}

impl SettingValue for InterruptMode {
    fn read(input: &WrittenValue<'_>) -> Result<Self, ValueProblem> {
        input.word(&[Self::Immediate, Self::Wait].map(|mode| (mode.as_str(), mode)))
    }

    fn shown(&self) -> Json {
        json!(self.as_str())
    }
}

/// A whole number in text; `k` and `m` stand for thousands and millions.
pub fn count(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, factor) = match text.char_indices().next_back()? {
        (at, 'k' | 'K') => (&text[..at], 1_000),
        (at, 'm' | 'M') => (&text[..at], 1_000_000),
        _ => (text, 1),
    };
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// `a, b or c`.
fn one_of(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [head @ .., last] => format!("{} or {last}", head.join(", ")),
    }
}

/// A TOML value in an error message. Long ones are cut, tables are not repeated.
fn described(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => quoted(text),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(_) => "a list with other values in it".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

fn quoted(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{:?}…", &text[..cut]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input<'a>(raw: RawSetting<'a>) -> WrittenValue<'a> {
        WrittenValue {
            raw,
            source: ValueSource::Flag("--x".into()),
            base: Path::new("/base"),
            home: Some(Path::new("/home/u")),
        }
    }

    fn from_text<T: SettingValue>(text: &str) -> Result<T, String> {
        T::read(&input(RawSetting::Text(text))).map_err(|problem| problem.to_string())
    }

    fn from_toml<T: SettingValue>(text: &str) -> Result<T, String> {
        let value = DeValue::parse(text).unwrap();
        T::read(&input(RawSetting::Toml(value.get_ref()))).map_err(|problem| problem.to_string())
    }

    #[test]
    fn counts_take_thousands_and_millions_and_nothing_else() {
        for (text, value) in [
            ("0", Some(0)),
            ("200k", Some(200_000)),
            ("3M", Some(3_000_000)),
            ("k", None),
            ("-1", None),
            ("+1", None),
            ("1.5k", None),
            ("", None),
            ("99999999999999999999", None),
            ("18446744073709551615k", None),
            ("1é", None),
        ] {
            assert_eq!(count(text), value, "{text}");
        }
    }

    #[test]
    fn toml_values_of_the_wrong_type_say_what_is_expected() {
        assert_eq!(
            from_toml::<u64>("\"three\""),
            Err("is \"three\", expected a whole number, zero or more".into())
        );
        assert_eq!(
            from_toml::<u64>("-3"),
            Err("is -3, expected a whole number, zero or more".into())
        );
        assert_eq!(from_toml::<u64>("0xff"), Ok(255));
        assert_eq!(from_toml::<u64>("1_000"), Ok(1000));
        assert_eq!(
            from_toml::<bool>("\"true\""),
            Err("is \"true\", expected true or false".into())
        );
        assert_eq!(
            from_toml::<f64>("nan"),
            Err("is nan, expected a number, zero or more".into())
        );
        assert_eq!(from_toml::<f64>("2"), Ok(2.0));
        assert_eq!(
            from_toml::<Vec<String>>("[1]"),
            Err("is a list with other values in it, expected a list of names, as in [\"read\", \"bash\"]".into())
        );
        assert_eq!(
            from_toml::<NonEmptyName>("\" \""),
            Err("is \" \", expected a name".into())
        );
    }

    #[test]
    fn a_wrong_word_names_the_right_ones_and_the_nearest() {
        assert_eq!(
            from_text::<ThinkingLevel>("hgih"),
            Err("is \"hgih\", expected off, minimal, low, medium, high or xhigh; did you mean `high`?".into())
        );
        assert_eq!(
            from_text::<InterruptMode>("never"),
            Err("is \"never\", expected immediate or wait".into())
        );
        assert_eq!(from_text::<QueueMode>("all"), Ok(QueueMode::All));
    }

    #[test]
    fn paths_are_relative_to_their_base_or_to_home() {
        for (text, path) in [
            ("a/b", "/base/a/b"),
            ("/abs", "/abs"),
            ("~/x", "/home/u/x"),
            ("~", "/home/u"),
            ("~x", "/base/~x"),
        ] {
            assert_eq!(
                from_text::<PathBuf>(text),
                Ok(PathBuf::from(path)),
                "{text}"
            );
        }
        let homeless = WrittenValue {
            home: None,
            ..input(RawSetting::Text("~/x"))
        };
        assert_eq!(
            PathBuf::read(&homeless).unwrap_err().to_string(),
            "is \"~/x\", expected a path without `~`, because HOME is not set"
        );
    }

    #[test]
    fn a_very_long_value_is_cut_in_the_message() {
        let message = from_text::<bool>(&"é".repeat(100)).unwrap_err();
        assert_eq!(
            message,
            format!("is \"{}\"…, expected true or false", "é".repeat(40))
        );
    }
}
