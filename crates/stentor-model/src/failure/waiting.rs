//! How long a provider asks to wait.

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// The waiting time of a `retry-after` header: seconds (fractions too), or an HTTP date.
pub(super) fn retry_after_ms(headers: &HeaderMap, now_ms: u64) -> Option<u64> {
    const LONGEST_MS: f64 = 86_400_000.0;
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(ms) = text("retry-after-ms").and_then(|text| number(text.trim())) {
        return Some(whole_ms(ms.min(LONGEST_MS)));
    }
    let value = text(RETRY_AFTER.as_str())?.trim();
    if let Some(seconds) = number(value) {
        return Some(whole_ms((seconds * 1000.0).min(LONGEST_MS)));
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?;
    let at_ms = u64::try_from(date.timestamp().as_millisecond()).ok()?;
    Some(at_ms.saturating_sub(now_ms))
}

/// The waiting time in `Please retry in 34.07s` or `try again in 20ms`.
pub(super) fn waiting_time_in_words(message: &str) -> Option<u64> {
    const LONGEST_MS: f64 = 86_400_000.0;
    let behind = |words: &str| {
        let at = message.find(words)?;
        message.get(at + words.len()..)
    };
    let rest = behind("retry in ").or_else(|| behind("try again in "))?;
    let digits = rest
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(rest.len());
    let (number, unit) = rest.split_at(digits);
    let number: f64 = number.trim_end_matches('.').parse().ok()?;
    let ms = match unit {
        unit if unit.starts_with("ms") => number,
        unit if unit.starts_with('s') => number * 1000.0,
        unit if unit.starts_with('m') => number * 60_000.0,
        _ => return None,
    };
    Some(whole_ms(ms.min(LONGEST_MS)))
}

fn whole_ms(ms: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bounded above by the caller and below here"
    )]
    let ms = ms.max(0.0) as u64;
    ms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_read_in_seconds_and_as_a_date() {
        for (name, value, ms) in [
            ("retry-after", "7", Some(7000)),
            ("retry-after", "0.5", Some(500)),
            ("retry-after-ms", "1234", Some(1234)),
            ("retry-after", "Sun, 15 Nov 2026 12:00:10 GMT", Some(10_000)),
            ("retry-after", "Sun, 15 Nov 2020 12:00:10 GMT", Some(0)),
            ("retry-after", "soon", None),
            ("retry-after", "-3", Some(0)),
            ("retry-after", "NaN", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            assert_eq!(retry_after_ms(&headers, 1_794_744_000_000), ms, "{value}");
        }
    }
}
