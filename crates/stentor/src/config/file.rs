//! One configuration file: its text in, what it says out, every wrong key and value with its place.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stentor_agent::project_files::{FileOwner, NotRead};
use stentor_policy::Rule;
use stentor_text::spelling::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, ValueProblem};
use super::keys::{KEYS, Layer};
use super::rules::read_rules;
use super::source::{ConfigLocation, Scope, Sourced, ValueSource};
use super::value::{RawSetting, WrittenValue};

/// What a file says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileContent {
    pub layer: Layer,
    /// In the order they are written.
    pub permissions: Vec<Sourced<Rule>>,
    pub providers: Vec<RawTable>,
    pub models: Vec<RawTable>,
    pub extensions: Vec<RawTable>,
    pub mcp_servers: Vec<RawTable>,
    pub agents: Vec<RawTable>,
    pub fleet: Option<RawTable>,
}

/// A table that is not interpreted here but handed on: `[providers.NAME]`, `[models.NAME]`,
/// `[extensions.NAME]`, `[mcp_servers.NAME]`, `[agents.NAME]` or `[fleet]`.
#[derive(Debug, Clone, PartialEq)]
pub struct RawTable {
    pub name: String,
    pub table: toml::Table,
    pub at: ConfigLocation,
}

/// Which file is read, and what its relative paths and `~` mean.
#[derive(Debug, Clone)]
pub struct FilePlace<'a> {
    pub path: Arc<Path>,
    pub scope: Scope,
    pub base: &'a Path,
    pub home: Option<&'a Path>,
}

/// Sections whose tables are handed on as they are.
const RAW_SECTIONS: [&str; 5] = ["providers", "models", "extensions", "mcp_servers", "agents"];
const RULES: &str = "permissions";
/// The table of a fleet, which is handed on as it is.
const FLEET: &str = "fleet";
/// A configuration is written by hand; a larger file is a mistake, or an attempt on our memory.
const LARGEST_BYTES: u64 = 1024 * 1024;

/// Reads a file. A file that does not exist says nothing.
pub fn read_file(
    place: &FilePlace<'_>,
    reader: FileOwner<'_>,
) -> Result<FileContent, Vec<ConfigError>> {
    match text_of(&place.path, reader) {
        Ok(Some(text)) => parse(&text, place),
        Ok(None) => Ok(FileContent::default()),
        Err(errors) => Err(errors),
    }
}

/// Reads the text of a file.
pub fn parse(text: &str, place: &FilePlace<'_>) -> Result<FileContent, Vec<ConfigError>> {
    let document = match DeTable::parse(text) {
        Ok(document) => document,
        Err(error) => {
            return Err(vec![ConfigError::Syntax {
                at: place.at(text, error.span().map_or(0, |span| span.start)),
                message: error.message().trim_end().replace('\n', ", "),
            }]);
        }
    };
    let mut reader = ConfigParser {
        text,
        place,
        content: FileContent::default(),
        errors: Vec::new(),
    };
    reader.document(document.get_ref());
    if reader.errors.is_empty() {
        Ok(reader.content)
    } else {
        Err(reader.errors)
    }
}

impl FilePlace<'_> {
    /// The place of a byte of the file's text.
    pub fn at(&self, text: &str, offset: usize) -> ConfigLocation {
        ConfigLocation::in_text(&self.path, self.scope, text, offset)
    }
}

struct ConfigParser<'a> {
    text: &'a str,
    place: &'a FilePlace<'a>,
    content: FileContent,
    errors: Vec<ConfigError>,
}

impl<'a> ConfigParser<'a> {
    fn document(&mut self, document: &DeTable<'_>) {
        for (key, value) in in_order(document) {
            let name = key.get_ref().as_ref();
            if name == RULES {
                self.rules(value);
            } else if name == FLEET {
                self.fleet(key.span().start, value);
            } else if RAW_SECTIONS.contains(&name) {
                self.raw_section(name, value);
            } else if is_section(name) {
                self.section(name, value);
            } else {
                self.setting(name, key, value);
            }
        }
    }

    fn section(&mut self, section: &str, value: &Spanned<DeValue<'_>>) {
        let DeValue::Table(table) = value.get_ref() else {
            return self.wrong(section, value, &format!("a table, as in [{section}]"));
        };
        for (key, value) in in_order(table) {
            self.setting(&format!("{section}.{}", key.get_ref()), key, value);
        }
    }

    fn setting(&mut self, name: &str, key: &Spanned<impl Sized>, value: &Spanned<DeValue<'_>>) {
        let input = self.input(value);
        match self.content.layer.set(name, &input) {
            Some(Ok(())) => {}
            Some(Err(problem)) => self.bad(input.source, name, problem),
            None => self.errors.push(ConfigError::UnknownKey {
                at: self.place.at(self.text, key.span().start),
                key: name.to_owned(),
                suggestion: suggestion(name),
            }),
        }
    }

    fn rules(&mut self, value: &Spanned<DeValue<'_>>) {
        let read = read_rules(
            value,
            |value| self.input(value),
            |offset| self.place.at(self.text, offset),
        );
        self.content.permissions = read.rules;
        self.errors.extend(read.errors);
    }

    fn fleet(&mut self, begin: usize, value: &Spanned<DeValue<'_>>) {
        if !matches!(value.get_ref(), DeValue::Table(_)) {
            return self.wrong(FLEET, value, "a table, as in [fleet]");
        }
        self.content.fleet = Some(RawTable {
            name: FLEET.to_owned(),
            table: raw_tables(self.text, FLEET).unwrap_or_default(),
            at: self.place.at(self.text, begin),
        });
    }

    fn raw_section(&mut self, section: &str, value: &Spanned<DeValue<'_>>) {
        let expected = format!("tables, as in [{section}.NAME]");
        let DeValue::Table(tables) = value.get_ref() else {
            return self.wrong(section, value, &expected);
        };
        let mut plain = raw_tables(self.text, section).unwrap_or_default();
        for (key, value) in in_order(tables) {
            let name = key.get_ref().as_ref();
            let table = plain.remove(name).and_then(|value| match value {
                toml::Value::Table(table) => Some(table),
                _ => None,
            });
            match table {
                Some(table) => {
                    let raw = RawTable {
                        name: name.to_owned(),
                        table,
                        at: self.place.at(self.text, key.span().start),
                    };
                    match section {
                        "providers" => self.content.providers.push(raw),
                        "extensions" => self.content.extensions.push(raw),
                        "mcp_servers" => self.content.mcp_servers.push(raw),
                        "agents" => self.content.agents.push(raw),
                        _ => self.content.models.push(raw),
                    }
                }
                None => self.wrong(&format!("{section}.{name}"), value, "a table"),
            }
        }
    }

    fn wrong(&mut self, name: &str, value: &Spanned<DeValue<'_>>, expected: &str) {
        let input = self.input(value);
        let problem = input.problem(expected);
        self.bad(input.source, name, problem);
    }

    fn input<'v>(&self, value: &'v Spanned<DeValue<'v>>) -> WrittenValue<'v>
    where
        'a: 'v,
    {
        WrittenValue {
            raw: RawSetting::Toml(value.get_ref()),
            source: ValueSource::File(self.place.at(self.text, value.span().start)),
            base: self.place.base,
            home: self.place.home,
        }
    }

    fn bad(&mut self, at: ValueSource, key: &str, problem: ValueProblem) {
        self.errors.push(ConfigError::BadValue {
            at,
            key: key.to_owned(),
            problem,
        });
    }
}

/// A table's entries as they are written, whatever order the table keeps them in.
pub(super) fn in_order<'t, 'i>(
    table: &'t DeTable<'i>,
) -> Vec<(
    &'t Spanned<std::borrow::Cow<'i, str>>,
    &'t Spanned<DeValue<'i>>,
)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

fn is_section(name: &str) -> bool {
    KEYS.iter()
        .filter_map(|key| key.name.split_once('.'))
        .any(|(section, _)| section == name)
}

/// The nearest key. Somebody may have the name right and the section wrong.
fn suggestion(name: &str) -> Option<String> {
    let names = KEYS.iter().map(|key| key.name);
    let sections = KEYS
        .iter()
        .filter_map(|key| key.name.split_once('.'))
        .map(|(section, _)| section);
    let whole = names
        .chain(sections)
        .chain(RAW_SECTIONS)
        .chain([RULES, FLEET]);
    if let Some(found) = nearest(name, whole) {
        return Some(found.to_owned());
    }
    let last = |name: &'static str| name.rsplit('.').next().unwrap_or(name);
    let word = name.rsplit('.').next().unwrap_or(name);
    let found = nearest(word, KEYS.iter().map(|key| last(key.name)))?;
    let key = KEYS.iter().find(|key| last(key.name) == found)?;
    Some(key.name.to_owned())
}

/// The same section without spans, which is what others want.
fn raw_tables(text: &str, section: &str) -> Option<toml::Table> {
    let mut document: toml::Table = text.parse().ok()?;
    match document.remove(section)? {
        toml::Value::Table(tables) => Some(tables),
        _ => None,
    }
}

fn text_of(path: &Path, reader: FileOwner<'_>) -> Result<Option<String>, Vec<ConfigError>> {
    let bytes = match reader.read(path, LARGEST_BYTES) {
        Ok(bytes) => bytes,
        Err(NotRead::Missing) => return Ok(None),
        Err(why) => {
            let path = PathBuf::from(path);
            return Err(vec![ConfigError::Unreadable { path, why }]);
        }
    };
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => Err(vec![ConfigError::NotUtf8 {
            path: path.to_owned(),
            offset: error.utf8_error().valid_up_to(),
        }]),
    }
}

#[cfg(test)]
mod tests;
