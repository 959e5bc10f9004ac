//! The change as clients show it: a sign, the line's number, its text.

use stentor_text::line_diff::{DiffLine, LineDiff};

/// A change of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EditDiff {
    pub text: String,
    /// In the new text, counted from 1.
    pub first_changed_line: u64,
    /// The same as a unified patch.
    pub patch: String,
}

/// How many unchanged lines are shown on each side of a change.
const CONTEXT: usize = 4;

/// The change of the file called `name` from `before` to `after`, which differ.
pub(super) fn between(name: &str, before: &str, after: &str) -> EditDiff {
    let diff = LineDiff::new(before, after);
    let most_lines = lines(before).max(lines(after));
    let width = most_lines.to_string().len();
    let skipped = format!(" {:width$} ...", "");

    let mut shown: Vec<String> = Vec::new();
    let mut shown_to = 0;
    for hunk in diff.hunks(CONTEXT) {
        if hunk.old.start > shown_to {
            shown.push(skipped.clone());
        }
        shown_to = hunk.old.end;
        shown.extend(diff.lines(&hunk).into_iter().map(|line| {
            let (sign, index, text) = match line {
                DiffLine::Same { old, text } => (' ', old, text),
                DiffLine::Removed { old, text } => ('-', old, text),
                DiffLine::Added { new, text } => ('+', new, text),
            };
            let text = text.strip_suffix('\n').unwrap_or(text);
            format!("{sign}{:width$} {text}", index + 1)
        }));
    }
    if shown_to < diff.old.len() {
        shown.push(skipped);
    }
    let first_changed = diff.changes.first().map_or(0, |change| change.new.start);
    EditDiff {
        text: shown.join("\n"),
        first_changed_line: first_changed as u64 + 1,
        patch: diff.patch(name, CONTEXT),
    }
}

fn lines(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(count: u32, changed: &[u32]) -> String {
        (1..=count)
            .map(|n| match changed.contains(&n) {
                true => format!("LINE {n}\n"),
                false => format!("line {n}\n"),
            })
            .collect()
    }

    #[test]
    fn a_small_change_is_shown_as_clients_know_it() {
        assert_eq!(
            between("a.txt", "hello\nworld\n", "hello\nmars\n"),
            EditDiff {
                text: " 1 hello\n-2 world\n+2 mars".into(),
                first_changed_line: 2,
                patch: "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n hello\n-world\n+mars\n".into(),
            }
        );
    }

    #[test]
    fn four_lines_of_context_and_dots_for_what_is_left_out() {
        let diff = between("a.txt", &numbered(30, &[]), &numbered(30, &[8, 25]));
        expect_test::expect![[r#"
                ...
              4 line 4
              5 line 5
              6 line 6
              7 line 7
            - 8 line 8
            + 8 LINE 8
              9 line 9
             10 line 10
             11 line 11
             12 line 12
                ...
             21 line 21
             22 line 22
             23 line 23
             24 line 24
            -25 line 25
            +25 LINE 25
             26 line 26
             27 line 27
             28 line 28
             29 line 29
                ..."#]]
        .assert_eq(&diff.text);
        assert_eq!(diff.first_changed_line, 8);
    }

    #[test]
    fn changes_that_are_near_share_their_context() {
        let diff = between("a.txt", &numbered(9, &[]), &numbered(9, &[1, 9]));
        assert_eq!(diff.text.matches("...").count(), 0);
        assert_eq!(diff.text.lines().count(), 11);
    }

    #[test]
    fn lines_that_come_and_go_keep_their_own_numbers() {
        let diff = between("a.txt", "a\nb\nc\n", "x\na\nc\n");
        assert_eq!(diff.text, "+1 x\n 1 a\n-2 b\n 3 c");
        assert_eq!(diff.first_changed_line, 1);
    }
}
