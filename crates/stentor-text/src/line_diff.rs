//! What changed between two texts, line by line.

use std::fmt::Write;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

/// Lines of the old text that other lines of the new text replaced. One of the two may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineChange {
    pub old: Range<usize>,
    pub new: Range<usize>,
}

/// Two texts as lines, with their ends, and what changed.
#[derive(Debug)]
pub struct LineDiff<'a> {
    pub old: Vec<&'a str>,
    pub new: Vec<&'a str>,
    /// In order.
    pub changes: Vec<LineChange>,
}

/// Changes that are near each other, with unchanged lines around them.
#[derive(Debug)]
pub struct Hunk<'a> {
    pub old: Range<usize>,
    pub new: Range<usize>,
    pub changes: &'a [LineChange],
}

/// A line of a diff, with its index in the text it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffLine<'a> {
    Same { old: usize, text: &'a str },
    Removed { old: usize, text: &'a str },
    Added { new: usize, text: &'a str },
}

impl<'a> LineDiff<'a> {
    /// Bounded in time: where texts differ too much, the difference is found coarsely.
    pub fn new(before: &'a str, after: &'a str) -> Self {
        let input = InternedInput::new(before, after);
        let mut diff = Diff::compute(Algorithm::Myers, &input);
        diff.postprocess_lines(&input);
        let range = |range: Range<u32>| range.start as usize..range.end as usize;
        let changes = diff.hunks().map(|hunk| LineChange {
            old: range(hunk.before),
            new: range(hunk.after),
        });
        Self {
            old: before.split_inclusive('\n').collect(),
            new: after.split_inclusive('\n').collect(),
            changes: changes.collect(),
        }
    }

    /// The changes with up to `context` unchanged lines around them.
    pub fn hunks(&self, context: usize) -> impl Iterator<Item = Hunk<'_>> {
        let is_near = move |a: &LineChange, b: &LineChange| b.old.start - a.old.end <= 2 * context;
        let around = move |range: Range<usize>, most: usize| {
            range.start.saturating_sub(context)..(range.end + context).min(most)
        };
        let groups = self.changes.chunk_by(is_near);
        groups.filter_map(move |changes| {
            let (first, last) = (changes.first()?, changes.last()?);
            Some(Hunk {
                old: around(first.old.start..last.old.end, self.old.len()),
                new: around(first.new.start..last.new.end, self.new.len()),
                changes,
            })
        })
    }

    /// The lines of a hunk in order.
    pub fn lines(&self, hunk: &Hunk<'_>) -> Vec<DiffLine<'a>> {
        let mut lines = Vec::new();
        let mut at = hunk.old.start;
        let texts = |all: &[&'a str], range: Range<usize>| -> Vec<(usize, &'a str)> {
            let texts = all.get(range.clone()).unwrap_or_default();
            range.zip(texts.iter().copied()).collect()
        };
        let same = |range| texts(&self.old, range).into_iter();
        let same = |range| same(range).map(|(old, text)| DiffLine::Same { old, text });
        for change in hunk.changes {
            lines.extend(same(at..change.old.start));
            let removed = texts(&self.old, change.old.clone()).into_iter();
            lines.extend(removed.map(|(old, text)| DiffLine::Removed { old, text }));
            let added = texts(&self.new, change.new.clone()).into_iter();
            lines.extend(added.map(|(new, text)| DiffLine::Added { new, text }));
            at = change.old.end;
        }
        lines.extend(same(at..hunk.old.end));
        lines
    }

    /// A unified patch of the file called `name`.
    pub fn patch(&self, name: &str, context: usize) -> String {
        let mut patch = format!("--- {name}\n+++ {name}\n");
        for hunk in self.hunks(context) {
            let (old, new) = (place(&hunk.old), place(&hunk.new));
            // Writing to a string does not fail.
            let _ = writeln!(patch, "@@ -{old} +{new} @@");
            for line in self.lines(&hunk) {
                let (sign, text) = match line {
                    DiffLine::Same { text, .. } => (' ', text),
                    DiffLine::Removed { text, .. } => ('-', text),
                    DiffLine::Added { text, .. } => ('+', text),
                };
                patch.push(sign);
                patch.push_str(text);
                if !text.ends_with('\n') {
                    patch.push_str("\n\\ No newline at end of file\n");
                }
            }
        }
        patch
    }
}

/// Where a hunk is, as patches say it: its first line and how many there are. Of no lines it is
/// the line before them.
fn place(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_written_as_patch_reads_it() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        for (before, after, patch) in [
            ("a\n", "b\n", "@@ -1 +1 @@\n-a\n+b\n"),
            (
                "",
                "a\nb",
                "@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n",
            ),
            ("a\n", "", "@@ -1 +0,0 @@\n-a\n"),
            (
                old,
                "1\n2\nx\n4\n5\n6\n7\n8\ny\n",
                "@@ -2,3 +2,3 @@\n 2\n-3\n+x\n 4\n@@ -8,2 +8,2 @@\n 8\n-9\n+y\n",
            ),
            (
                old,
                "1\n2\n4\n5\n6\n7\n8\n9\n",
                "@@ -2,3 +2,2 @@\n 2\n-3\n 4\n",
            ),
            (
                old,
                "1\nx\n3\n4\ny\n6\n7\n8\n9\n",
                "@@ -1,6 +1,6 @@\n 1\n-2\n+x\n 3\n 4\n-5\n+y\n 6\n",
            ),
        ] {
            let written = LineDiff::new(before, after).patch("f", 1);
            assert_eq!(written, format!("--- f\n+++ f\n{patch}"));
        }
    }

    proptest::proptest! {
        #[test]
        fn the_new_text_comes_out_of_the_old_one(before in "[ab\n]{0,30}", after in "[ab\n]{0,30}") {
            let diff = LineDiff::new(&before, &after);
            let whole = diff.hunks(1_000).map(|hunk| diff.lines(&hunk)).collect::<Vec<_>>().concat();
            let side = |kept: fn(&DiffLine<'_>) -> bool| -> String {
                let text = |line: &DiffLine<'_>| match line {
                    DiffLine::Same { text, .. } | DiffLine::Removed { text, .. } | DiffLine::Added { text, .. } => {
                        (*text).to_owned()
                    }
                };
                whole.iter().filter(|line| kept(line)).map(text).collect()
            };
            if before != after {
                proptest::prop_assert_eq!(side(|line| !matches!(line, DiffLine::Added { .. })), before.clone());
                proptest::prop_assert_eq!(side(|line| !matches!(line, DiffLine::Removed { .. })), after.clone());
            }
        }
    }
}
