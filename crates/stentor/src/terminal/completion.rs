//! What the Tab key completes: commands, models, levels, files.

use std::path::Path;

use stentor_agent::model::ThinkingLevel;
use stentor_policy::PermissionMode;

use crate::slash::{BUILTINS, Builtin, called};

/// Files that are offered at once.
const MOST_FILES: usize = 200;

/// What can be completed, as far as it is known without waiting.
#[derive(Debug, Clone, Default)]
pub struct CompletionWords {
    /// Name and description of templates, skills, agents and others' commands.
    pub commands: Vec<(String, String)>,
    /// Full names.
    pub models: Vec<String>,
}

/// Something that could stand in the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub text: String,
    pub detail: String,
}

/// Where the completed part begins, and what could be there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completion {
    pub start: usize,
    pub candidates: Vec<Candidate>,
}

impl Completion {
    /// What all candidates begin with.
    pub fn common(&self) -> String {
        let mut texts = self.candidates.iter().map(|one| one.text.as_str());
        let Some(first) = texts.next() else {
            return String::new();
        };
        let mut common = first;
        for text in texts {
            let same = common.char_indices().zip(text.chars());
            let differs = same
                .map(|((at, a), b)| (at, a == b))
                .find(|(_, same)| !same);
            let end = differs.map_or(common.len().min(text.len()), |(at, _)| at);
            common = common.get(..end).unwrap_or_default();
        }
        common.to_owned()
    }
}

/// What could be where the cursor is. Waits for the disk where a file is named.
pub fn complete(line: &str, cursor: usize, known: &CompletionWords, cwd: &Path) -> Completion {
    let before = line.get(..cursor).unwrap_or_default();
    if let Some(name) = before.strip_prefix('/')
        && !name.contains(char::is_whitespace)
    {
        return command(name, known);
    }
    if let Some((start, path)) = open_quote(before) {
        return file(path, start, cwd);
    }
    let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let word = before.get(start..).unwrap_or_default();
    if let Some(path) = word.strip_prefix('@') {
        return file(path, start, cwd);
    }
    match called(before) {
        Some((Builtin::Model, _)) => among(word, start, known.models.iter().map(String::as_str)),
        Some((Builtin::Thinking, _)) => among(
            word,
            start,
            ThinkingLevel::ALL.map(ThinkingLevel::as_str).into_iter(),
        ),
        Some((Builtin::Permissions, _)) => among(
            word,
            start,
            PermissionMode::ALL.map(PermissionMode::as_str).into_iter(),
        ),
        _ => Completion::default(),
    }
}

/// Where `@"…` begins that is not closed yet, and what is in it.
fn open_quote(before: &str) -> Option<(usize, &str)> {
    let start = before.rfind("@\"")?;
    let is_word = start == 0 || before.get(..start)?.ends_with(char::is_whitespace);
    let path = before.get(start + 2..)?;
    (is_word && !path.contains('"')).then_some((start, path))
}

fn command(name: &str, known: &CompletionWords) -> Completion {
    let own = BUILTINS.iter().map(|one| (one.name, one.description));
    let others = known.commands.iter();
    let others = others.map(|(name, about)| (name.as_str(), about.as_str()));
    let fitting = own
        .chain(others)
        .filter(|(known, _)| known.starts_with(name));
    Completion {
        start: 0,
        candidates: fitting
            .map(|(name, about)| Candidate {
                text: format!("/{name} "),
                detail: about.to_owned(),
            })
            .collect(),
    }
}

fn among<'a>(word: &str, start: usize, all: impl Iterator<Item = &'a str>) -> Completion {
    let wanted = word.to_lowercase();
    let all: Vec<&str> = all.collect();
    let begin: Vec<&&str> = all
        .iter()
        .filter(|one| one.to_lowercase().starts_with(&wanted))
        .collect();
    let fitting = match begin.is_empty() {
        true => all
            .iter()
            .filter(|one| one.to_lowercase().contains(&wanted))
            .collect(),
        false => begin,
    };
    Completion {
        start,
        candidates: fitting
            .into_iter()
            .map(|one| Candidate {
                text: (*one).to_owned(),
                detail: String::new(),
            })
            .collect(),
    }
}

fn file(path: &str, start: usize, cwd: &Path) -> Completion {
    let (folder, beginning) = match path.rfind('/') {
        Some(at) => path.split_at_checked(at + 1).unwrap_or_default(),
        None => ("", path),
    };
    let Ok(entries) = std::fs::read_dir(cwd.join(folder)) else {
        return Completion::default();
    };
    let mut candidates: Vec<Candidate> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_wanted = name.starts_with(beginning)
                && (beginning.starts_with('.') || !name.starts_with('.'));
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let end = if is_folder { "/" } else { "" };
            is_wanted.then(|| Candidate {
                text: mention(&format!("{folder}{name}{end}")),
                detail: String::new(),
            })
        })
        .take(MOST_FILES)
        .collect();
    candidates.sort_by(|one, other| one.text.cmp(&other.text));
    Completion { start, candidates }
}

/// A file as a prompt mentions it. The quotes of a folder stay open: more follows.
fn mention(path: &str) -> String {
    let is_word = !path.contains(char::is_whitespace);
    match (is_word, path.ends_with('/')) {
        (true, _) => format!("@{path}"),
        (false, true) => format!("@\"{path}"),
        (false, false) => format!("@\"{path}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str, cwd: &Path) -> Vec<String> {
        let known = CompletionWords {
            commands: vec![("mine".into(), "a template".into())],
            models: vec!["a/claude-opus".into(), "b/gpt".into()],
        };
        let found = complete(line, line.len(), &known, cwd);
        found.candidates.into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn what_can_follow_is_offered() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("notes.txt"), "").unwrap();
        std::fs::create_dir(folder.path().join("nested")).unwrap();
        std::fs::write(folder.path().join("my file.txt"), "").unwrap();
        std::fs::create_dir(folder.path().join("my notes")).unwrap();
        std::fs::write(folder.path().join("my notes/x"), "").unwrap();
        for (line, expected) in [
            ("/m", &["/model ", "/mine "][..]),
            ("/model opus", &["a/claude-opus"]),
            ("/thinking h", &["high"]),
            ("look at @n", &["@nested/", "@notes.txt"]),
            ("look at n", &[]),
            ("look at @m", &["@\"my file.txt\"", "@\"my notes/"]),
            ("look at @\"my f", &["@\"my file.txt\""]),
            ("look at @\"my notes/", &["@\"my notes/x\""]),
            ("look at @\"my file.txt\"", &[]),
        ] {
            assert_eq!(texts(line, folder.path()), expected, "{line}");
        }
    }

    #[test]
    fn what_all_have_in_common_is_completed() {
        let of = |texts: &[&str]| Completion {
            start: 0,
            candidates: texts
                .iter()
                .map(|text| Candidate {
                    text: (*text).into(),
                    detail: String::new(),
                })
                .collect(),
        };
        assert_eq!(of(&["/name ", "/new "]).common(), "/n");
        assert_eq!(of(&["ab", "abc"]).common(), "ab");
        assert_eq!(of(&[]).common(), "");
    }
}
