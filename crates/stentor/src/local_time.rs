//! Moments as people at this machine read them.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

/// `2026-11-15 07:45`, by the clock on the wall there.
pub fn moment(ms: u64, zone: &TimeZone) -> String {
    timestamp(ms)
        .to_zoned(zone.clone())
        .strftime("%Y-%m-%d %H:%M")
        .to_string()
}

/// The day on which an entry was recorded, there.
pub fn day(time: &str, zone: &TimeZone) -> Option<Date> {
    let time: Timestamp = time.parse().ok()?;
    Some(zone.to_datetime(time).date())
}

/// The first of the days that end with the day of a moment, there, and when it began.
pub fn first_day(ms: u64, days: u32, zone: &TimeZone) -> (Date, u64) {
    let last = zone.to_datetime(timestamp(ms)).date();
    let before = Span::new().try_days(i64::from(days.saturating_sub(1)));
    let first = before.map_or(Date::MIN, |before| last.saturating_sub(before));
    let began = zone.to_timestamp(first.at(0, 0, 0, 0)).ok();
    let began = began.and_then(|began| u64::try_from(began.as_millisecond()).ok());
    (first, began.unwrap_or_default())
}

fn timestamp(ms: u64) -> Timestamp {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use jiff::tz::offset;

    use super::*;

    #[test]
    fn a_moment_is_that_of_the_zone() {
        let ms = 1_794_728_738_409;
        let east = TimeZone::fixed(offset(2));
        assert_eq!(moment(ms, &TimeZone::UTC), "2026-11-15 07:45");
        assert_eq!(moment(ms, &east), "2026-11-15 09:45");
        assert_eq!(moment(u64::MAX, &TimeZone::UTC), "9999-12-30 22:00");
    }

    #[test]
    fn a_day_is_that_of_the_zone_and_begins_there() {
        let (utc, east) = (TimeZone::UTC, TimeZone::fixed(offset(2)));
        let day = |time, zone| day(time, zone).map(|day| day.to_string());
        let late = "2026-11-15T22:30:00.000Z";
        assert_eq!(day(late, &utc).as_deref(), Some("2026-11-15"));
        assert_eq!(day(late, &east).as_deref(), Some("2026-11-16"));
        assert_eq!(day("yesterday", &east), None);

        let ms = 1_794_728_738_409;
        let first = |days| {
            let (day, began) = first_day(ms, days, &east);
            (day.to_string(), moment(began, &east))
        };
        let shown = |day: &str, began: &str| (day.to_owned(), began.to_owned());
        assert_eq!(first(1), shown("2026-11-15", "2026-11-15 00:00"));
        assert_eq!(first(30), shown("2026-10-17", "2026-10-17 00:00"));
        assert_eq!(first(u32::MAX), shown("-009999-01-01", "1970-01-01 02:00"));
    }
}
