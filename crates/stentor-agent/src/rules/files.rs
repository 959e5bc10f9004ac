//! Rules in files: Markdown with a few lines about it between two lines of `---`.
//!
//! The same files that omp reads. Of what may stand above the text, the description and the
//! patterns mean something here; a file without patterns watches nothing and is left alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::string::FromUtf8Error;

use crate::event::AnswerRule;
use crate::project_files::{FileOwner, NotRead};

/// A rule file is not longer than this; a longer one is left alone.
const MAX_RULE_BYTES: u64 = 256 * 1024;

/// What came of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleFile {
    Rule(AnswerRule),
    /// It could not be read; the text says why.
    Problem(String),
}

/// The rules in the `.md` files of `folders`, by name. Of two with one name the first counts.
pub fn read_rules(folders: &[(PathBuf, FileOwner<'_>)]) -> Vec<RuleFile> {
    let mut found: Vec<RuleFile> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for (folder, reader) in folders {
        let Ok(entries) = fs::read_dir(folder) else {
            continue;
        };
        let is_rule = |path: &PathBuf| {
            path.extension()
                .is_some_and(|end| end == "md" || end == "mdc")
        };
        let mut paths: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(is_rule)
            .collect();
        paths.sort();
        for path in paths {
            match read_rule(&path, *reader) {
                Ok(Some(rule)) if !names.contains(&rule.name) => {
                    names.push(rule.name.clone());
                    found.push(RuleFile::Rule(rule));
                }
                Ok(_) => {}
                Err(why) => found.push(RuleFile::Problem(format!("{}: {why}", path.display()))),
            }
        }
    }
    found
}

/// Why the file of a rule cannot be read.
#[derive(Debug, thiserror::Error)]
enum UnreadableRule {
    #[error("a rule has at most {limit_bytes} bytes")]
    TooLarge { limit_bytes: u64 },
    #[error(transparent)]
    NotRead(NotRead),
    #[error(transparent)]
    NoText(#[from] FromUtf8Error),
}

fn read_rule(path: &Path, reader: FileOwner<'_>) -> Result<Option<AnswerRule>, UnreadableRule> {
    let bytes = reader.read(path, MAX_RULE_BYTES).map_err(|why| match why {
        NotRead::TooLarge { limit_bytes } => UnreadableRule::TooLarge { limit_bytes },
        other => UnreadableRule::NotRead(other),
    })?;
    let text = String::from_utf8(bytes)?;
    Ok(parse_rule(path, &text))
}

fn parse_rule(path: &Path, text: &str) -> Option<AnswerRule> {
    let text = text.trim_start_matches('\u{feff}');
    let rest = text.strip_prefix("---")?;
    let (head, content) = rest.split_once("\n---")?;
    let mut description = None;
    let mut condition: Vec<String> = Vec::new();
    let mut in_condition = false;
    for line in head.lines() {
        if let Some(item) = line.trim_start().strip_prefix("- ") {
            if in_condition {
                condition.push(unquoted(item));
            }
            continue;
        }
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim();
        in_condition = matches!(key.trim(), "condition" | "ttsrTrigger" | "ttsr_trigger");
        if in_condition && !value.is_empty() {
            condition.extend(listed(value));
        } else if key.trim() == "description" && !value.is_empty() {
            description = Some(unquoted(value));
        }
    }
    let name = path.file_stem()?.to_string_lossy().into_owned();
    (!condition.is_empty()).then(|| AnswerRule {
        name,
        path: path.to_path_buf(),
        content: content.trim_start_matches('-').trim().to_owned(),
        description,
        condition,
    })
}

/// One value, or several in square brackets. A pattern may itself begin with a bracket, so a list
/// is one only if its items are quoted.
fn listed(value: &str) -> Vec<String> {
    let inner = value
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    match inner {
        Some(inner) if inner.trim_start().starts_with(['"', '\'']) => {
            inner.split(',').map(unquoted).collect()
        }
        _ => vec![unquoted(value)],
    }
}

/// The text without quotes. In double quotes a backslash stands for itself if doubled.
fn unquoted(value: &str) -> String {
    let value = value.trim();
    let between = |quote: char| {
        value
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
    };
    if let Some(inner) = between('"') {
        return inner.replace("\\\\", "\\").replace("\\\"", "\"");
    }
    match between('\'') {
        Some(inner) => inner.replace("''", "'"),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<(Vec<String>, Option<String>, String)> {
        let rule = parse_rule(Path::new("/r/no-unwrap.md"), text)?;
        assert_eq!(rule.name, "no-unwrap");
        Some((rule.condition, rule.description, rule.content))
    }

    #[test]
    fn patterns_may_be_written_in_every_usual_way() {
        let expected = |patterns: &[&str]| {
            let patterns = patterns
                .iter()
                .map(|pattern| (*pattern).to_owned())
                .collect();
            Some((patterns, None, "Use ?.".to_owned()))
        };
        for (head, patterns) in [
            (r"condition: \.unwrap\(\)", &[r"\.unwrap\(\)"][..]),
            (r#"condition: "\\.unwrap""#, &[r"\.unwrap"]),
            (r"ttsrTrigger: '\.unwrap'", &[r"\.unwrap"]),
            ("condition: [abc]", &["[abc]"]),
            (r#"condition: ["a", 'b']"#, &["a", "b"]),
            ("condition:\n  - a\n  - \"b\"\nglobs:\n  - c", &["a", "b"]),
        ] {
            assert_eq!(
                parse(&format!("---\n{head}\n---\nUse ?.\n")),
                expected(patterns),
                "{head}"
            );
        }
    }

    #[test]
    fn what_watches_nothing_is_no_rule_here() {
        for text in [
            "no head",
            "---\ndescription: x\n---\ntext",
            "---\ncondition: x",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_first_folder_wins_and_bad_files_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let (near, far) = (folder.path().join("near"), folder.path().join("far"));
        fs::create_dir_all(&near).unwrap();
        fs::create_dir_all(&far).unwrap();
        fs::write(near.join("a.md"), "---\ncondition: x\n---\nnear").unwrap();
        fs::write(far.join("a.md"), "---\ncondition: x\n---\nfar").unwrap();
        fs::write(far.join("b.md"), [0xff, 0xfe]).unwrap();
        fs::write(far.join("c.txt"), "---\ncondition: x\n---\nfar").unwrap();
        let found = read_rules(
            &[near, far, folder.path().join("missing")].map(|folder| (folder, FileOwner::Own)),
        );
        let [RuleFile::Rule(rule), RuleFile::Problem(why)] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!(rule.content, "near");
        assert!(why.contains("b.md"), "{why}");
    }
}
