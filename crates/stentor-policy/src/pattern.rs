//! Patterns for names and commands: `*` stands for anything, everything else for itself.

/// A pattern with `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wildcard(String);

impl Wildcard {
    pub(super) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// True when the pattern covers the whole text.
    pub(super) fn matches(&self, text: &str) -> bool {
        let mut parts = self.0.split('*');
        let Some(first) = parts.next() else {
            return text.is_empty();
        };
        let Some(mut rest) = text.strip_prefix(first) else {
            return false;
        };
        let Some(last) = parts.next_back() else {
            return rest.is_empty();
        };
        for part in parts {
            match rest.find(part) {
                Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
                None => return false,
            }
        }
        rest.ends_with(last)
    }

    /// As a command: `git *` is also about `git` alone.
    pub(super) fn matches_command(&self, command: &str) -> bool {
        self.matches(command) || self.0.strip_suffix(" *") == Some(command)
    }

    /// True for `*`, which says nothing.
    pub(super) fn is_anything(&self) -> bool {
        self.0.chars().all(|c| c == '*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text, expected) in [
            ("git *", "git status", true),
            ("git *", "git", false),
            ("git *", "gitx y", false),
            ("*", "", true),
            ("*", "a\nb", true),
            ("", "", true),
            ("", "a", false),
            ("a*c", "abbc", true),
            ("a*c", "ac", true),
            ("a*c", "abcd", false),
            ("ab*ba", "aba", false),
            ("*a*b*", "xaxbx", true),
            ("*a*b*", "xbxax", false),
            ("mcp__*", "mcp__files__read", true),
            ("[a]?", "[a]?", true),
        ] {
            let wildcard = Wildcard::new(pattern);
            assert_eq!(wildcard.matches(text), expected, "{pattern} {text}");
        }
        assert!(Wildcard::new("git *").matches_command("git"));
        assert!(!Wildcard::new("git *").matches_command("gi"));
    }

    proptest! {
        #[test]
        fn a_text_matches_itself_with_any_part_starred(text in "[ab ]{0,10}", at in 0usize..10) {
            let at = at.min(text.len());
            let (left, right) = text.split_at(at);
            let pattern = format!("{left}*{right}");
            prop_assert!(Wildcard::new(&pattern).matches(&text));
            prop_assert!(Wildcard::new(&text).matches(&text));
        }
    }
}
