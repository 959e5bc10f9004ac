//! Moments as people at this machine read them.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// `2026-11-15 07:45`, by the clock on the wall there.
pub fn moment(ms: u64, zone: &TimeZone) -> String {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    let time = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX);
    time.to_zoned(zone.clone())
        .strftime("%Y-%m-%d %H:%M")
        .to_string()
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
}
