//! How much of a long text is shown, and what is said about the rest.

use serde::Serialize;

/// The most lines of a text a model is shown.
pub(crate) const MAX_LINES: u64 = 2000;
/// The most bytes of a text a model is shown.
pub(crate) const MAX_BYTES: u64 = 50 * 1024;
/// What `max_lines` says where lines are not limited: the largest whole number of a client.
pub(crate) const NO_LINE_LIMIT: u64 = 9_007_199_254_740_991;

/// What was kept of a text, in the shape clients know as `truncation`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Truncation {
    pub content: String,
    pub truncated: bool,
    pub truncated_by: Option<TruncatedBy>,
    pub total_lines: u64,
    pub total_bytes: u64,
    pub output_lines: u64,
    pub output_bytes: u64,
    pub last_line_partial: bool,
    pub first_line_exceeds_limit: bool,
    pub max_lines: u64,
    pub max_bytes: u64,
}

/// Which limit cut a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TruncatedBy {
    Lines,
    Bytes,
}

/// How long a text is of which only a part may be at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub lines: u64,
    pub bytes: u64,
}

impl Extent {
    /// The extent of a text that is at hand. A final newline ends a line and starts none.
    pub(crate) fn of(text: &str) -> Self {
        let newlines = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        let open = usize::from(!text.is_empty() && !text.ends_with('\n'));
        Self {
            lines: (newlines + open) as u64,
            bytes: text.len() as u64,
        }
    }

    fn exceeds(self, max_lines: u64) -> bool {
        self.lines > max_lines || self.bytes > MAX_BYTES
    }
}

/// The first lines of a text, whole ones only, up to 50 KiB.
pub(crate) fn head(text: &str, max_lines: u64) -> Truncation {
    let total = Extent::of(text);
    if !total.exceeds(max_lines) {
        return whole(text, total, max_lines);
    }
    let mut kept = KeptLines::default();
    let mut end = 0;
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        if !kept.takes(line.len() as u64, max_lines) {
            break;
        }
        end = kept.bytes as usize;
    }
    Truncation {
        content: text.get(..end).unwrap_or_default().to_owned(),
        first_line_exceeds_limit: kept.lines == 0,
        ..kept.truncation(total, max_lines)
    }
}

/// The last lines of a text of which `tail` is the end. A last line too long for the limit is
/// shown by its end.
pub(crate) fn tail(tail: &str, total: Extent) -> Truncation {
    if !total.exceeds(MAX_LINES) {
        return whole(tail, total, MAX_LINES);
    }
    let text = tail.strip_suffix('\n').unwrap_or(tail);
    let mut kept = KeptLines::default();
    for line in text.rsplit('\n') {
        if !kept.takes(line.len() as u64, MAX_LINES) {
            break;
        }
    }
    if kept.lines == 0 {
        let from = text.ceil_char_boundary(text.len().saturating_sub(MAX_BYTES as usize));
        let content = text.get(from..).unwrap_or_default();
        kept.lines = 1;
        kept.bytes = content.len() as u64;
        return Truncation {
            content: content.to_owned(),
            last_line_partial: true,
            ..kept.truncation(total, MAX_LINES)
        };
    }
    let from = text.len().saturating_sub(kept.bytes as usize);
    Truncation {
        content: text.get(from..).unwrap_or_default().to_owned(),
        ..kept.truncation(total, MAX_LINES)
    }
}

/// A line of at most 500 characters, and whether it was cut.
pub(crate) fn line(text: &str) -> (String, bool) {
    match text.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => {
            let kept = text.get(..end).unwrap_or_default();
            (format!("{kept}... [truncated]"), true)
        }
        None => (text.to_owned(), false),
    }
}

/// The most characters `grep` shows of one line.
pub(crate) const MAX_LINE_CHARS: usize = 500;

/// The text, cut to at most `most` bytes at the end of a character, with an ellipsis where it was.
pub(crate) fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        let end = text.floor_char_boundary(most.saturating_sub('…'.len_utf8()));
        text.truncate(end);
        text.push('…');
    }
    text
}

/// A number of bytes for people: `512B`, `50.0KB`, `3.0MB`.
pub(crate) fn size(bytes: u64) -> String {
    const KIB: f64 = 1024.0;
    let amount = bytes as f64;
    if bytes < 1024 {
        format!("{bytes}B")
    } else if amount < KIB * KIB {
        format!("{:.1}KB", amount / KIB)
    } else if amount < KIB * KIB * KIB {
        format!("{:.1}MB", amount / KIB / KIB)
    } else {
        format!("{:.1}GB", amount / KIB / KIB / KIB)
    }
}

/// Lines taken so far, and what stopped the taking.
#[derive(Debug, Default)]
pub(crate) struct KeptLines {
    pub lines: u64,
    /// With the newlines between them.
    pub bytes: u64,
    pub stopped_by: Option<TruncatedBy>,
}

impl KeptLines {
    /// Takes a line if it fits.
    pub(crate) fn takes(&mut self, line_bytes: u64, max_lines: u64) -> bool {
        if self.lines >= max_lines {
            self.stopped_by = Some(TruncatedBy::Lines);
            return false;
        }
        let bytes = self.bytes + u64::from(self.lines > 0) + line_bytes;
        if bytes > MAX_BYTES {
            self.stopped_by = Some(TruncatedBy::Bytes);
            return false;
        }
        self.bytes = bytes;
        self.lines += 1;
        true
    }

    pub(crate) fn truncation(&self, total: Extent, max_lines: u64) -> Truncation {
        Truncation {
            content: String::new(),
            truncated: true,
            truncated_by: Some(self.stopped_by.unwrap_or(TruncatedBy::Bytes)),
            total_lines: total.lines,
            total_bytes: total.bytes,
            output_lines: self.lines,
            output_bytes: self.bytes,
            last_line_partial: false,
            first_line_exceeds_limit: false,
            max_lines,
            max_bytes: MAX_BYTES,
        }
    }
}

fn whole(text: &str, total: Extent, max_lines: u64) -> Truncation {
    Truncation {
        content: text.to_owned(),
        truncated: false,
        truncated_by: None,
        total_lines: total.lines,
        total_bytes: total.bytes,
        output_lines: total.lines,
        output_bytes: total.bytes,
        last_line_partial: false,
        first_line_exceeds_limit: false,
        max_lines,
        max_bytes: MAX_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbers(from: u64, to: u64) -> String {
        (from..=to).map(|n| format!("{n}\n")).collect()
    }

    #[test]
    fn a_text_is_cut_between_characters_and_says_so() {
        for (text, most, expected) in [
            ("short", 5, "short"),
            ("longer", 5, "lo…"),
            ("ääää", 6, "ä…"),
            ("ä", 1, "…"),
        ] {
            assert_eq!(cut(text.to_owned(), most), expected);
        }
    }

    #[test]
    fn a_tail_cut_by_lines_is_described_as_clients_know_it() {
        let text = numbers(1, 3000);
        let cut = tail(&text, Extent::of(&text));
        let expected = numbers(1001, 3000);
        let json = serde_json::json!({
            "content": expected.trim_end(), "truncated": true, "truncatedBy": "lines",
            "totalLines": 3000, "totalBytes": 13893, "outputLines": 2000, "outputBytes": 9999,
            "lastLinePartial": false, "firstLineExceedsLimit": false,
            "maxLines": 2000, "maxBytes": 51200,
        });
        assert_eq!(serde_json::to_value(cut).unwrap(), json);
    }

    #[test]
    fn a_short_text_is_kept_with_its_last_newline() {
        for text in ["", "a", "a\n", "a\nb", "\n\n"] {
            assert_eq!(tail(text, Extent::of(text)).content, text);
            assert_eq!(head(text, MAX_LINES).content, text);
        }
    }

    #[test]
    fn a_last_line_too_long_is_shown_by_its_end_at_a_character() {
        let text = format!("first\n{}\n", "é".repeat(30_000));
        let cut = tail(&text, Extent::of(&text));
        assert!(cut.last_line_partial && cut.truncated_by == Some(TruncatedBy::Bytes));
        assert_eq!((cut.output_lines, cut.output_bytes), (1, 51_200));
        assert_eq!(cut.content, "é".repeat(25_600));
    }

    #[test]
    fn a_first_line_too_long_leaves_nothing_at_the_head() {
        let cut = head(&"x".repeat(60_000), MAX_LINES);
        assert!(cut.first_line_exceeds_limit);
        assert_eq!((cut.content.as_str(), cut.output_lines), ("", 0));
    }

    #[test]
    fn lines_and_sizes_for_people() {
        assert_eq!(line("short"), ("short".into(), false));
        let long = "ä".repeat(501);
        assert_eq!(
            line(&long),
            (format!("{}... [truncated]", "ä".repeat(500)), true)
        );
        for (bytes, text) in [
            (0, "0B"),
            (1023, "1023B"),
            (51_200, "50.0KB"),
            (3 << 20, "3.0MB"),
            (10 << 30, "10.0GB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_kept_is_an_end_of_the_text_within_the_limits(
            lines in proptest::collection::vec(0usize..9000, 0..40), newline in any::<bool>()
        ) {
            let mut text = lines.iter().map(|n| "y".repeat(*n)).collect::<Vec<_>>().join("\n");
            if newline { text.push('\n'); }
            let cut = tail(&text, Extent::of(&text));
            prop_assert!(cut.output_bytes <= MAX_BYTES);
            prop_assert_eq!(cut.content.len() as u64, cut.output_bytes);
            prop_assert!(text.contains(&cut.content));
            let front = head(&text, MAX_LINES);
            prop_assert!(text.starts_with(&front.content));
            prop_assert!(front.output_bytes <= MAX_BYTES);
            prop_assert_eq!(front.content.len() as u64, front.output_bytes);
        }
    }
}
