//! `--models`: the models that cycling goes through.

use std::sync::Arc;

use stentor_agent::model::{ModelInfo, ThinkingLevel};
use stentor_agent::session::ScopedModel;

/// The models that `patterns` mean, in the order of the patterns, each once.
///
/// A pattern is an id or `provider/id`, with `*` for anything, or a part of either; `:LEVEL` at
/// its end is a thinking level of its own.
pub(super) fn scoped(patterns: &[String], available: &[Arc<ModelInfo>]) -> Vec<ScopedModel> {
    let mut scoped: Vec<ScopedModel> = Vec::new();
    for pattern in patterns {
        let (pattern, thinking) = match pattern.rsplit_once(':') {
            Some((name, level)) => match level.parse::<ThinkingLevel>() {
                Ok(level) => (name, Some(level)),
                Err(_) => (pattern.as_str(), None),
            },
            None => (pattern.as_str(), None),
        };
        let mut found = matching(available, |name| name == pattern);
        if found.is_empty() && pattern.contains('*') {
            found = matching(available, |name| fits(pattern, name));
        }
        if found.is_empty() {
            let part = pattern.to_lowercase();
            found = matching(available, |name| name.to_lowercase().contains(&part));
        }
        if found.is_empty() {
            tracing::warn!("no available model matches `{pattern}` of --models");
        }
        for model in found {
            let same = |have: &ScopedModel| Arc::ptr_eq(&have.model, &model);
            if !scoped.iter().any(same) {
                scoped.push(ScopedModel { model, thinking });
            }
        }
    }
    scoped
}

fn matching(available: &[Arc<ModelInfo>], fits: impl Fn(&str) -> bool) -> Vec<Arc<ModelInfo>> {
    let chosen = available
        .iter()
        .filter(|info| fits(&info.id) || fits(&info.full_name()));
    chosen.cloned().collect()
}

/// Whether `name` is `pattern` with something in the place of each `*`.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((first, rest_of_pattern)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let (middle, last) = rest_of_pattern
        .rsplit_once('*')
        .unwrap_or(("", rest_of_pattern));
    let rest = name.strip_prefix(first);
    let Some(mut rest) = rest.and_then(|rest| rest.strip_suffix(last)) else {
        return false;
    };
    // Each part where it comes first leaves the most for those behind it.
    for part in middle.split('*') {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, name, expected) in [
            ("anthropic/*", "anthropic/claude", true),
            ("*sonnet*", "anthropic/claude-sonnet-4", true),
            ("*-4", "claude-sonnet-4", true),
            ("*-4", "claude-sonnet-4-5", false),
            ("a*c", "abc", true),
            ("a*c", "abd", false),
            ("a*a", "a", false),
            ("*a*ab*", "aab", true),
            ("*b*a*", "ab", false),
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
