//! The names under which models know the tools of servers.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Providers take no longer names.
const MAX_CHARS: usize = 64;

/// What all names begin with.
pub(super) const PREFIX: &str = "mcp__";

/// `mcp__SERVER__TOOL`, in the letters that providers take. A long name ends in a hash of the whole.
pub fn full_name(server: &str, tool: &str) -> String {
    let plain = |text: &str| -> String {
        let plain = |c: char| match c {
            c if c.is_ascii_alphanumeric() || c == '-' || c == '_' => c,
            _ => '_',
        };
        text.chars().map(plain).collect()
    };
    let name = format!("{PREFIX}{}__{}", plain(server), plain(tool));
    if name.len() <= MAX_CHARS {
        return name;
    }
    let mut hasher = DefaultHasher::new();
    (server, tool).hash(&mut hasher);
    let hash = format!("{:08x}", hasher.finish() & 0xffff_ffff);
    let kept = name.get(..MAX_CHARS - 1 - hash.len()).unwrap_or_default();
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
