//! How much a provider still allows, from the headers of its response.

use jiff::Timestamp;
use reqwest::header::HeaderMap;
use stentor_agent::model::RateLimit;

/// Families of headers: before and behind `limit`, `remaining` and `reset`. Providers count
/// requests and tokens apart.
const FAMILIES: [(&str, &str); 8] = [
    ("anthropic-ratelimit-requests-", ""),
    ("anthropic-ratelimit-tokens-", ""),
    ("anthropic-ratelimit-input-tokens-", ""),
    ("anthropic-ratelimit-output-tokens-", ""),
    ("x-ratelimit-", "-requests"),
    ("x-ratelimit-", "-tokens"),
    ("x-ratelimit-", ""),
    ("ratelimit-", ""),
];

/// Of the limits that are told, the one of which the smallest share is left.
pub(super) fn rate_limit(headers: &HeaderMap, now_ms: u64) -> Option<RateLimit> {
    let told = FAMILIES.iter().filter_map(|(before, behind)| {
        let text = |what: &str| {
            let value = headers.get(format!("{before}{what}{behind}"))?;
            value.to_str().ok().map(str::trim)
        };
        let number = |what: &str| text(what)?.parse::<u64>().ok();
        let told = RateLimit {
            remaining: number("remaining"),
            limit: number("limit"),
            reset_at_ms: text("reset").and_then(|text| moment_ms(text, now_ms)),
        };
        (told != RateLimit::default()).then_some(told)
    });
    told.min_by(|one, other| share_left(one).total_cmp(&share_left(other)))
}

fn share_left(limit: &RateLimit) -> f64 {
    match (limit.remaining, limit.limit) {
        (Some(remaining), Some(limit)) if limit > 0 => remaining as f64 / limit as f64,
        (Some(0), _) => 0.0,
        _ => 1.0,
    }
}

/// A moment as providers write one: a date, seconds or milliseconds since the epoch, seconds from
/// now, or a length of time such as `6m0s` or `120ms`.
fn moment_ms(text: &str, now_ms: u64) -> Option<u64> {
    const EPOCH_SECONDS: f64 = 1e9;
    const EPOCH_MS: f64 = 1e12;
    if let Ok(date) = text.parse::<Timestamp>() {
        return u64::try_from(date.as_millisecond()).ok();
    }
    let ms = match text.parse::<f64>() {
        Ok(number) if !(0.0..1e15).contains(&number) => return None,
        Ok(number) if number >= EPOCH_MS => return Some(whole(number)),
        Ok(number) if number >= EPOCH_SECONDS => return Some(whole(number * 1000.0)),
        Ok(number) => number * 1000.0,
        Err(_) => length_ms(text)?,
    };
    Some(now_ms.saturating_add(whole(ms)))
}

/// `1h2m3.5s`, `120ms`: numbers, each with its unit.
fn length_ms(text: &str) -> Option<f64> {
    let mut rest = text;
    let mut sum = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let (number, behind) = rest.split_at(digits);
        let letters = behind.find(|c: char| c.is_ascii_digit());
        let (unit, behind) = behind.split_at(letters.unwrap_or(behind.len()));
        let unit_ms = match unit {
            "ms" => 1.0,
            "s" => 1e3,
            "m" => 6e4,
            "h" => 3.6e6,
            "d" => 8.64e7,
            _ => return None,
        };
        sum += number.parse::<f64>().ok()? * unit_ms;
        rest = behind;
    }
    (!text.is_empty() && sum.is_finite() && sum < 1e12).then_some(sum)
}

fn whole(ms: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the callers keep it between zero and 1e15"
    )]
    let ms = ms as u64;
    ms
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: u64 = 1_794_744_000_000;

    fn told(pairs: &[(&'static str, &str)]) -> Option<RateLimit> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, value.parse().unwrap());
        }
        rate_limit(&headers, NOW_MS)
    }

    #[test]
    fn the_limit_that_is_nearest_to_its_end_is_the_one_that_is_told() {
        let seen = told(&[
            ("anthropic-ratelimit-requests-limit", "50"),
            ("anthropic-ratelimit-requests-remaining", "49"),
            ("anthropic-ratelimit-requests-reset", "2026-11-15T12:01:00Z"),
            ("anthropic-ratelimit-tokens-limit", "40000"),
            ("anthropic-ratelimit-tokens-remaining", "0"),
            ("anthropic-ratelimit-tokens-reset", "2026-11-15T12:00:30Z"),
        ]);
        let expected = RateLimit {
            remaining: Some(0),
            limit: Some(40_000),
            reset_at_ms: Some(NOW_MS + 30_000),
        };
        assert_eq!(seen, Some(expected));
        assert_eq!(told(&[]), None);
        assert_eq!(told(&[("x-ratelimit-remaining", "many")]), None);
    }

    #[test]
    fn a_reset_is_read_however_it_is_written() {
        for (text, expected) in [
            ("2026-11-15T12:00:10Z", Some(NOW_MS + 10_000)),
            ("1794744001", Some(NOW_MS + 1000)),
            ("1794744000250", Some(NOW_MS + 250)),
            ("7", Some(NOW_MS + 7000)),
            ("0.5", Some(NOW_MS + 500)),
            ("6m0s", Some(NOW_MS + 360_000)),
            ("1h2m3.5s", Some(NOW_MS + 3_723_500)),
            ("120ms", Some(NOW_MS + 120)),
            ("", None),
            ("soon", None),
            ("5", Some(NOW_MS + 5000)),
            ("-5", None),
            ("NaN", None),
            ("1e300", None),
            ("3 apples", None),
            ("99999999999999999999h", None),
        ] {
            let seen = told(&[("x-ratelimit-reset-requests", text)]);
            let seen = seen.and_then(|limit| limit.reset_at_ms);
            assert_eq!(seen, expected, "{text:?}");
        }
    }
}
