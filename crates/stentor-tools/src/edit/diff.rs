//! The change as clients show it: a sign, the line's number, its text.

use std::time::Duration;

use similar::{Algorithm, ChangeTag, TextDiff};

/// A change of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Diff {
    pub text: String,
    /// In the new text, counted from 1.
    pub first_changed_line: u64,
    /// The same as a unified patch.
    pub patch: String,
}

/// How many unchanged lines are shown on each side of a change.
const CONTEXT: usize = 4;
/// A diff that takes longer becomes a coarser one.
const TIME_LIMIT: Duration = Duration::from_millis(500);

/// The change of the file called `name` from `before` to `after`, which differ.
pub(super) fn between(name: &str, before: &str, after: &str) -> Diff {
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .timeout(TIME_LIMIT)
        .diff_lines(before, after);
    let most_lines = lines(before).max(lines(after));
    let width = most_lines.to_string().len();
    let skipped = format!(" {:width$} ...", "");

    let mut shown: Vec<String> = Vec::new();
    let mut unchanged: Vec<String> = Vec::new();
    let mut first_changed_line = None;
    let mut new_line = 1;
    for change in diff.iter_all_changes() {
        let (sign, number) = match change.tag() {
            ChangeTag::Equal => (' ', change.old_index()),
            ChangeTag::Delete => ('-', change.old_index()),
            ChangeTag::Insert => ('+', change.new_index()),
        };
        let number = number.unwrap_or_default() + 1;
        let text = change.value();
        let text = text.strip_suffix('\n').unwrap_or(text);
        let line = format!("{sign}{number:width$} {text}");
        if change.tag() == ChangeTag::Equal {
            unchanged.push(line);
        } else {
            first_changed_line.get_or_insert(new_line);
            show_between(&mut shown, std::mem::take(&mut unchanged), &skipped);
            shown.push(line);
        }
        if change.tag() != ChangeTag::Delete {
            new_line += 1;
        }
    }
    if unchanged.len() > CONTEXT {
        unchanged.truncate(CONTEXT);
        unchanged.push(skipped);
    }
    shown.append(&mut unchanged);
    Diff {
        text: shown.join("\n"),
        first_changed_line: first_changed_line.unwrap_or(1),
        patch: diff
            .unified_diff()
            .context_radius(CONTEXT)
            .header(name, name)
            .to_string(),
    }
}

/// Shows what did not change before a change, and after the one before it if there is one.
fn show_between(shown: &mut Vec<String>, mut unchanged: Vec<String>, skipped: &str) {
    let before = if shown.is_empty() { 0 } else { CONTEXT };
    if unchanged.len() > before + CONTEXT {
        let last = unchanged.split_off(unchanged.len() - CONTEXT);
        unchanged.truncate(before);
        shown.append(&mut unchanged);
        shown.push(skipped.to_owned());
        shown.extend(last);
    } else {
        shown.append(&mut unchanged);
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
            Diff {
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
