//! One Markdown file: its front matter and its text.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::{MAX_COMMANDS, Origin, Skill, Template};

/// A larger file is no prompt any more.
pub const MAX_FILE_BYTES: u64 = 256 * 1024;

/// How much of a text without a description stands for one.
const DESCRIPTION_CHARS: usize = 80;

/// The templates in a folder: `NAME.md`, and `GROUP/NAME.md` as `GROUP:NAME`.
pub(super) fn templates(folder: &Path, origin: Origin) -> Vec<Template> {
    let mut found = Vec::new();
    for path in sorted_entries(folder) {
        if path.is_dir() {
            let group = name_of(&path);
            for inner in sorted_entries(&path) {
                let name = inner.file_stem().map(|stem| stem.to_string_lossy());
                let name = name.map(|name| format!("{group}:{name}"));
                found.extend(template(inner, name, origin));
            }
        } else {
            let name = path
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned());
            found.extend(template(path, name, origin));
        }
    }
    found
}

/// The skills in a folder: `NAME/SKILL.md`.
pub(super) fn skills(folder: &Path, origin: Origin) -> Vec<Skill> {
    let mut found = Vec::new();
    for entry in sorted_entries(folder) {
        let path = entry.join("SKILL.md");
        let Some(text) = path.is_file().then(|| read(&path)).flatten() else {
            continue;
        };
        let page = Page::of(&text);
        let name = page
            .field("name")
            .map_or_else(|| name_of(&entry), str::to_owned);
        if !is_name(&name) {
            tracing::warn!(path = %path.display(), "a skill's name must be one word; left out");
            continue;
        }
        found.push(Skill {
            name,
            description: page.description(),
            content: page.body.to_owned(),
            origin,
            path,
        });
    }
    found
}

fn template(path: PathBuf, name: Option<String>, origin: Origin) -> Option<Template> {
    if path.extension().is_none_or(|extension| extension != "md") {
        return None;
    }
    let name = name.filter(|name| is_name(name))?;
    let text = read(&path)?;
    let page = Page::of(&text);
    Some(Template {
        name,
        description: page.description(),
        hint: page.field("argument-hint").map(str::to_owned),
        content: page.body.to_owned(),
        origin,
        path,
    })
}

/// A command is called by one word.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|char: char| char.is_whitespace() || char.is_control())
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn sorted_entries(folder: &Path) -> Vec<PathBuf> {
    // Most of the folders that are looked into do not exist.
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .take(4 * MAX_COMMANDS)
        .collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    let taken =
        fs::File::open(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
    match taken {
        Ok(_) if bytes.len() as u64 <= MAX_FILE_BYTES => {
            Some(String::from_utf8_lossy(&bytes).into_owned())
        }
        Ok(_) => {
            tracing::warn!(path = %path.display(), "over {MAX_FILE_BYTES} bytes; left out");
            None
        }
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "a command could not be read");
            None
        }
    }
}

/// A file taken apart.
struct Page<'a> {
    head: Option<&'a str>,
    body: &'a str,
}

impl<'a> Page<'a> {
    fn of(text: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let whole = Self {
            head: None,
            body: text,
        };
        let Some(rest) = text
            .strip_prefix("---\n")
            .or_else(|| text.strip_prefix("---\r\n"))
        else {
            return whole;
        };
        let mut at = 0;
        for line in rest.split_inclusive('\n') {
            if line.trim_end() == "---" {
                let body = rest.get(at + line.len()..).unwrap_or_default();
                return Self {
                    head: rest.get(..at),
                    body: body.trim_start_matches(['\r', '\n']),
                };
            }
            at += line.len();
        }
        whole
    }

    /// A value of the front matter: one line, quotes around it taken off.
    fn field(&self, name: &str) -> Option<&'a str> {
        self.head?.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            let value = value.trim();
            let value = value
                .strip_prefix('"')
                .and_then(|value| value.strip_suffix('"'))
                .or_else(|| {
                    value
                        .strip_prefix('\'')
                        .and_then(|value| value.strip_suffix('\''))
                })
                .unwrap_or(value);
            (key.trim() == name && !value.is_empty()).then_some(value)
        })
    }

    /// What the front matter says, else the beginning of the first line with text in it.
    fn description(&self) -> String {
        if let Some(description) = self.field("description") {
            return description.to_owned();
        }
        let first = self.body.lines().find(|line| !line.trim().is_empty());
        let first = first.unwrap_or_default().trim().trim_start_matches('#');
        first.trim().chars().take(DESCRIPTION_CHARS).collect()
    }
}
