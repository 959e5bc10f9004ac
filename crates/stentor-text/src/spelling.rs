//! Which right name a wrong one was probably meant to be.

/// Longer words are no typing mistake, and the distance is quadratic.
const LONGEST_CHARS: usize = 64;

/// The candidate a person most likely meant, if one is near enough.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = normal(word);
    // A third of the letters may be wrong, and always at least one.
    let limit = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance_between(&word, &normal(candidate)), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many letters must be added, removed, changed or swapped to make one of the other.
pub fn distance(a: &str, b: &str) -> usize {
    let start = |word: &str| word.chars().take(LONGEST_CHARS).collect::<String>();
    strsim::osa_distance(&start(a), &start(b))
}

fn distance_between(word: &str, candidate: &str) -> usize {
    // `wait` is more likely a short form of `wait_ms` than a misspelling of anything.
    let is_short_form = word.len() > 2 && candidate.starts_with(word);
    if is_short_form {
        1
    } else {
        strsim::osa_distance(word, candidate)
    }
}

/// People confuse `-` with `_` and cases; that costs nothing.
fn normal(word: &str) -> String {
    let start = word.chars().take(LONGEST_CHARS);
    start
        .map(|c| {
            if c == '-' {
                '_'
            } else {
                c.to_ascii_lowercase()
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_found_and_a_far_one_is_not() {
        let names = [
            "model",
            "provider",
            "thinking",
            "permission_mode",
            "tools",
            "text",
            "wait_ms",
        ];
        for (word, found) in [
            ("modle", Some("model")),
            ("Model", Some("model")),
            ("permission-mode", Some("permission_mode")),
            ("permission", Some("permission_mode")),
            ("thinkin", Some("thinking")),
            ("tool", Some("tools")),
            ("txt", Some("text")),
            ("wait", Some("wait_ms")),
            ("waitms", Some("wait_ms")),
            ("temperature", None),
            ("zebra-crossing", None),
            ("", None),
            ("zz", None),
        ] {
            assert_eq!(nearest(word, names), found, "{word}");
        }
    }

    #[test]
    fn of_an_endless_word_only_the_start_is_compared() {
        assert_eq!(distance(&"a".repeat(1_000_000), "a"), LONGEST_CHARS - 1);
    }
}
