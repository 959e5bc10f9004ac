//! The names under which models know the tools of servers.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Providers take no longer names.
const MAX_CHARS: usize = 64;

/// What all names begin with.
pub(super) const PREFIX: &str = "mcp__";

/// `mcp__SERVER__TOOL`, in the letters that providers take. A long name ends in a hash of the whole.
pub fn full_name(server: &str, tool: &str) -> String {
    let name = format!("{PREFIX}{}__{}", plain(server), plain(tool));
    match name.len() <= MAX_CHARS {
        true => name,
        false => hashed(&name, server, tool),
    }
}

/// The full names of all tools of a server. Of those that look alike in the letters that providers
/// take, only one that is called so keeps that name; the others end in a hash of the whole.
pub(super) fn full_names<'a>(
    server: &str,
    tools: impl Iterator<Item = &'a str> + Clone,
) -> Vec<String> {
    let mut times: HashMap<String, usize> = HashMap::new();
    for tool in tools.clone() {
        *times.entry(full_name(server, tool)).or_default() += 1;
    }
    let names = tools.map(|tool| {
        let name = full_name(server, tool);
        let is_shared = times.get(&name).is_some_and(|times| *times > 1);
        match is_shared && plain(tool) != tool {
            true => hashed(&name, server, tool),
            false => name,
        }
    });
    names.collect()
}

fn plain(text: &str) -> String {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || c == '-' || c == '_' => c,
        _ => '_',
    };
    text.chars().map(plain).collect()
}

fn hashed(name: &str, server: &str, tool: &str) -> String {
    let mut hasher = DefaultHasher::new();
    (server, tool).hash(&mut hasher);
    let hash = format!("{:08x}", hasher.finish() & 0xffff_ffff);
    let most = MAX_CHARS - 1 - hash.len();
    // All letters are ASCII by now.
    let kept = name.get(..name.len().min(most)).unwrap_or_default();
    format!("{kept}_{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_only_letters_that_providers_take() {
        assert_eq!(
            full_name("git hub", "list.issues"),
            "mcp__git_hub__list_issues"
        );
        let long = full_name("server", &"x".repeat(100));
        assert_eq!(long.len(), MAX_CHARS);
        assert_ne!(long, full_name("server", &"x".repeat(101)));
    }
}
