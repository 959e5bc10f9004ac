//! The nearest right name for a wrong one.

/// The candidate a person most likely meant, if one is near enough.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = normal(word);
    // A third of the letters may be wrong, and always at least one.
    let limit = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, &normal(candidate)), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// People confuse `-` with `_` and cases; that costs nothing.
fn normal(word: &str) -> String {
    // Longer words are no typing mistake, and the distance is quadratic.
    const LONGEST: usize = 64;
    word.chars()
        .take(LONGEST)
        .map(|c| {
            if c == '-' {
                '_'
            } else {
                c.to_ascii_lowercase()
            }
        })
        .collect()
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before_last[j - 2] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_found_and_a_far_one_is_not() {
        let names = ["model", "provider", "thinking", "permission_mode", "tools"];
        for (word, found) in [
            ("modle", Some("model")),
            ("Model", Some("model")),
            ("permission-mode", Some("permission_mode")),
            ("thinkin", Some("thinking")),
            ("tool", Some("tools")),
            ("temperature", None),
            ("", None),
            ("zz", None),
        ] {
            assert_eq!(nearest(word, names), found, "{word}");
        }
    }
}
