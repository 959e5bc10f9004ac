//! Small rules for text that people see.

use stentor_text::visible::visible;

/// The first `chars` characters.
pub(super) fn prefix(text: &str, chars: usize) -> &str {
    match text.char_indices().nth(chars) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

/// Whitespace collapsed, cut to `chars` characters of which the last is then `…`.
pub(super) fn one_line(text: &str, chars: usize) -> String {
    let line = collapsed(&visible(text));
    if line.chars().count() <= chars {
        return line;
    }
    let mut cut = prefix(&line, chars.saturating_sub(1)).to_owned();
    cut.push('…');
    cut
}

/// Every run of whitespace becomes one space.
pub(super) fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A count of tokens (section 15).
pub(super) fn tokens(count: u64) -> String {
    let with = |unit: f64, letter: char, decimals: usize| {
        format!("{:.*}{letter}", decimals, count as f64 / unit)
    };
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => with(1e3, 'k', 1),
        10_000..1_000_000 => with(1e3, 'k', 0),
        1_000_000..10_000_000 => with(1e6, 'M', 1),
        _ => with(1e6, 'M', 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_counts_are_short() {
        for (count, expected) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1.0k"),
            (1_200, "1.2k"),
            (9_999, "10.0k"),
            (172_000, "172k"),
            (5_200_000, "5.2M"),
            (12_000_000, "12M"),
        ] {
            assert_eq!(tokens(count), expected);
        }
    }

    #[test]
    fn a_long_name_is_cut_with_an_ellipsis() {
        assert_eq!(one_line(" a\n b\tc ", 48), "a b c");
        assert_eq!(one_line("äöüß", 3), "äö…");
        assert_eq!(one_line("äöü", 3), "äöü");
        assert_eq!(prefix("äöü", 2), "äö");
    }
}
