//! Which right name a wrong one was probably meant to be.

/// The candidate nearest to `word`, if one is near enough to be worth suggesting.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(2);
    candidates
        .into_iter()
        .map(|candidate| {
            // `wait` is more likely a short form of `wait_ms` than a misspelling of anything.
            let short_form = word.len() > 2 && candidate.starts_with(word);
            let distance = if short_form {
                1
            } else {
                distance(word, candidate)
            };
            (distance, candidate)
        })
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions and replacements that turn one word into the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        let mut left = i + 1;
        next.push(left);
        for ((pair, to), diagonal) in row.iter().skip(1).zip(&b).zip(&row) {
            left = (pair + 1)
                .min(left + 1)
                .min(diagonal + usize::from(from != *to));
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not_suggested() {
        let names = ["text", "thinking", "wait_ms", "tool"];
        for (word, expected) in [
            ("txt", Some("text")),
            ("thinkin", Some("thinking")),
            ("wait", Some("wait_ms")),
            ("waitms", Some("wait_ms")),
            ("tools", Some("tool")),
            ("zebra-crossing", None),
        ] {
            assert_eq!(nearest(word, names), expected, "{word}");
        }
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
    }
}
