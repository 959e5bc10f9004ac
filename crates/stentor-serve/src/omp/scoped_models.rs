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
            tracing::warn!("no available model fits `{pattern}` of --models");
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
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut ended_open = !pattern.contains('*');
    for part in parts {
        ended_open = part.is_empty();
        match rest.rfind(part) {
            Some(at) if !part.is_empty() => rest = rest.get(at + part.len()..).unwrap_or_default(),
            Some(_) => {}
            None => return false,
        }
    }
    rest.is_empty() || ended_open
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
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
