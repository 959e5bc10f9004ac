//! The rules about paths, for tools that look at more files than their call names: what a rule
//! denies, a search of the folder above it must not find.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::resolve::resolve;
use super::rule::{PathPattern, Rule, RuleDecision};
use super::touches::ToolEffect;

/// The rules that decide about paths. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct PathRules {
    /// Empty where none denies a path.
    rules: Arc<[Rule]>,
}

/// The paths below a folder that a tool may not look at.
#[derive(Debug)]
pub struct DeniedPaths {
    rules: Vec<PreparedRule>,
    root: PathBuf,
    /// Where the folder really is.
    resolved_root: Option<PathBuf>,
}

/// A rule with its pattern made ready for many paths.
#[derive(Debug)]
struct PreparedRule {
    /// Without one it is about every path.
    pattern: Option<PathPattern>,
    specificity: (usize, u8, bool),
    decision: RuleDecision,
}

impl PathRules {
    pub(super) fn of(rules: &[Rule]) -> Self {
        match rules.iter().any(Rule::denies_paths) {
            true => Self {
                rules: rules.into(),
            },
            false => Self::default(),
        }
    }

    /// What `tool` may not look at below `root`. Nothing where no rule denies it any path.
    pub fn denied_below(
        &self,
        root: &Path,
        tool: &str,
        effect: ToolEffect,
        cwd: &Path,
    ) -> Option<DeniedPaths> {
        let about = |rule: &&Rule| rule.is_about_paths_of(tool, effect);
        let mut rules = self.rules.iter().filter(about);
        rules.clone().any(Rule::denies_paths).then(|| DeniedPaths {
            rules: rules
                .by_ref()
                .map(|rule| PreparedRule {
                    pattern: rule.path_pattern(cwd),
                    specificity: rule.specificity(),
                    decision: rule.decision(),
                })
                .collect(),
            root: root.to_owned(),
            resolved_root: resolve(root),
        })
    }
}

impl DeniedPaths {
    /// True when a call that names this path would be denied by a rule. The path is one below the
    /// root, reached without following a link; if it is a link itself, where it leads counts, too.
    pub fn contains(&self, path: &Path, is_link: bool) -> bool {
        let resolved = match is_link {
            true => resolve(path),
            false => path.strip_prefix(&self.root).ok().and_then(|below| {
                let root = self.resolved_root.as_ref()?;
                Some(root.join(below))
            }),
        };
        let matches = |rule: &&PreparedRule| {
            let Some(pattern) = &rule.pattern else {
                return true;
            };
            let really = resolved
                .as_ref()
                .is_some_and(|path| pattern.matches_path(path));
            match rule.decision {
                RuleDecision::Allow => really,
                RuleDecision::Ask | RuleDecision::Deny => really || pattern.matches_path(path),
            }
        };
        let strongest = self
            .rules
            .iter()
            .filter(matches)
            .max_by_key(|rule| (rule.specificity, rule.decision));
        strongest.is_some_and(|rule| rule.decision == RuleDecision::Deny)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn rules(text: &str) -> PathRules {
        #[derive(serde::Deserialize)]
        struct RuleList {
            rules: Vec<Rule>,
        }
        let text = format!("rules = [{text}]");
        PathRules::of(&toml::from_str::<RuleList>(&text).unwrap().rules)
    }

    #[test]
    fn what_a_call_would_be_denied_is_denied_below_a_folder_too() {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().canonicalize().unwrap().join("work");
        std::fs::create_dir_all(work.join("secret")).unwrap();
        symlink("secret/key", work.join("link")).unwrap();
        symlink(&work, folder.path().join("other-name")).unwrap();
        let rules = rules(
            r#"{path = "secret", decision = "deny"},
               {path = "secret/public/**", decision = "allow"},
               {path = "**/.env", decision = "deny"},
               {tool = "find", decision = "allow"},
               {tool = "ls", path = "private/**", decision = "ask"}"#,
        );
        for root in [work.clone(), folder.path().join("other-name")] {
            let denied = rules.denied_below(&root, "grep", ToolEffect::Reads, &work);
            let denied = denied.unwrap();
            for (path, is_link, expected) in [
                ("secret", false, true),
                ("secret/key", false, true),
                ("secret/public/a", false, false),
                ("a/b/.env", false, true),
                ("a/b/env", false, false),
                ("link", true, true),
                ("link", false, false),
                ("private/x", false, false),
            ] {
                let found = denied.contains(&root.join(path), is_link);
                assert_eq!(found, expected, "{path} below {}", root.display());
            }
        }
    }

    #[test]
    fn where_nothing_is_denied_nothing_is_compared() {
        for text in [
            "",
            r#"{path = "a", decision = "ask"}"#,
            r#"{tool = "read", path = "a", decision = "deny"}"#,
            r#"{tool = "bash", command = "a", path = "b", decision = "deny"}"#,
        ] {
            let denied =
                rules(text).denied_below(Path::new("/"), "grep", ToolEffect::Reads, Path::new("/"));
            assert!(denied.is_none(), "{text}");
        }
    }
}
