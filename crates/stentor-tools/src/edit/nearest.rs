//! What in a file is most like a text that is not in it.

use std::collections::HashMap;

/// Shows the lines most like `old`, with their numbers, or says that there are none.
pub(super) fn hint(text: &str, old: &str) -> String {
    let lines: Vec<&str> = text.lines().take(MOST_SEARCHED).collect();
    let wanted: Vec<&str> = old.trim_end_matches('\n').split('\n').collect();
    match most_similar(&lines, &wanted) {
        Some(start) => {
            let shown = lines.get(start..).unwrap_or_default();
            let last = (start + wanted.len()).min(lines.len());
            let mut hint = format!("\n\nThe nearest match is at lines {}-{last}:", start + 1);
            for (offset, line) in shown.iter().take(wanted.len().min(MOST_SHOWN)).enumerate() {
                let cut: String = line.chars().take(MOST_SHOWN_CHARS).collect();
                hint.push_str(&format!("\n{} {cut}", start + offset + 1));
            }
            if wanted.len() > MOST_SHOWN {
                hint.push_str("\n...");
            }
            hint
        }
        None => "\n\nNothing in the file is similar. Read the file again.".to_owned(),
    }
}

/// How far into a file is searched.
const MOST_SEARCHED: usize = 100_000;
const MOST_SHOWN: usize = 20;
const MOST_SHOWN_CHARS: usize = 300;
/// How many places are compared in full.
const MOST_COMPARED: usize = 8;
/// How much of a line is compared.
const MOST_COMPARED_BYTES: usize = 400;
/// Half alike is like enough to be what was meant.
const LIKE_ENOUGH: f64 = 0.5;

/// Where the lines most like `wanted` start.
///
/// The longest wanted line says most, so the file is searched for lines like that one, and only
/// around the best of them everything is compared.
fn most_similar(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let (anchor, telling) = wanted
        .iter()
        .enumerate()
        .max_by_key(|(_, line)| line.trim().len())?;
    let telling = Pairs::of(telling);
    let mut candidates: Vec<(f64, usize)> = lines
        .iter()
        .enumerate()
        .map(|(number, line)| (telling.likeness(line), number))
        .filter(|(likeness, _)| *likeness > 0.0)
        .collect();
    candidates.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
    let wanted: Vec<Pairs> = wanted.iter().map(|line| Pairs::of(line)).collect();
    candidates
        .into_iter()
        .take(MOST_COMPARED)
        .map(|(_, number)| {
            let start = number.saturating_sub(anchor);
            let there = lines.get(start..).unwrap_or_default();
            let alike: f64 = wanted
                .iter()
                .zip(there)
                .map(|(pairs, line)| pairs.likeness(line))
                .sum();
            (alike / wanted.len() as f64, start)
        })
        .filter(|(likeness, _)| *likeness >= LIKE_ENOUGH)
        .max_by(|left, right| left.0.total_cmp(&right.0).then(right.1.cmp(&left.1)))
        .map(|(_, start)| start)
}

/// A line as the pairs of neighbouring bytes it is made of, spaces at its ends left out.
struct Pairs {
    counts: HashMap<[u8; 2], u32>,
    total: u32,
    text: Vec<u8>,
}

impl Pairs {
    fn of(line: &str) -> Self {
        let text = compared(line);
        let mut counts = HashMap::new();
        let mut total = 0;
        for pair in pairs(text) {
            *counts.entry(pair).or_insert(0) += 1;
            total += 1;
        }
        Self {
            counts,
            total,
            text: text.to_vec(),
        }
    }

    /// From 0, nothing in common, to 1, the same.
    fn likeness(&self, line: &str) -> f64 {
        let other = compared(line);
        if self.text == other {
            return 1.0;
        }
        let mut left = self.counts.clone();
        let (mut common, mut total) = (0u32, 0u32);
        for pair in pairs(other) {
            total += 1;
            if let Some(count) = left.get_mut(&pair)
                && *count > 0
            {
                *count -= 1;
                common += 1;
            }
        }
        if self.total + total == 0 {
            return 0.0;
        }
        f64::from(2 * common) / f64::from(self.total + total)
    }
}

fn compared(line: &str) -> &[u8] {
    let bytes = line.trim().as_bytes();
    bytes.get(..MOST_COMPARED_BYTES).unwrap_or(bytes)
}

fn pairs(text: &[u8]) -> impl Iterator<Item = [u8; 2]> {
    text.windows(2).filter_map(|pair| pair.try_into().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "fn main() {\n    let total = 1;\n    print(total);\n}\n\nfn other() {\n    \
                        let total = 2;\n    print(total);\n}\n";

    #[test]
    fn the_nearest_lines_are_shown_with_their_numbers() {
        for (old, expected) in [
            (
                "  let totl = 2;\n  print(total);",
                "\n\nThe nearest match is at lines 7-8:\n7     let total = 2;\n8     print(total);",
            ),
            (
                "fn mein() {",
                "\n\nThe nearest match is at lines 1-1:\n1 fn main() {",
            ),
            (
                "quite different 12345",
                "\n\nNothing in the file is similar. Read the file again.",
            ),
        ] {
            assert_eq!(hint(FILE, old), expected);
        }
        assert_eq!(
            hint("", "x"),
            "\n\nNothing in the file is similar. Read the file again."
        );
    }
}
