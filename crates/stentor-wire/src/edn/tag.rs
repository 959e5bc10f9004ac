//! The two tags that every EDN reader knows.

use std::ops::RangeInclusive;

/// Whether the text of an `#inst` is an instant: RFC 3339, of which, as in Clojure, everything from
/// the month on may be left out.
pub(super) fn is_inst(text: &str) -> bool {
    inst(text.as_bytes()).is_some()
}

/// Whether the text of a `#uuid` is one: 8-4-4-4-12 hexadecimal digits.
pub(super) fn is_uuid(text: &str) -> bool {
    let mut groups = text.split('-');
    let well_formed = [8, 4, 4, 4, 12].into_iter().all(|len| {
        groups.next().is_some_and(|group| {
            group.len() == len && group.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    });
    well_formed && groups.next().is_none()
}

fn inst(text: &[u8]) -> Option<()> {
    let (date_time, offset) = split_offset(text);
    offset.is_none_or(is_offset).then_some(())?;
    let (year, rest) = number(date_time, 4)?;
    let Some((month, rest)) = part(rest, b'-', 1..=12)? else {
        return Some(());
    };
    let Some((_, rest)) = part(rest, b'-', 1..=days_in_month(year, month))? else {
        return Some(());
    };
    let Some((_, rest)) = part(rest, b'T', 0..=23)? else {
        return Some(());
    };
    let Some((minute, rest)) = part(rest, b':', 0..=59)? else {
        return Some(());
    };
    // Leap seconds come at the end of an hour only.
    let last_second = if minute == 59 { 60 } else { 59 };
    let Some((_, rest)) = part(rest, b':', 0..=last_second)? else {
        return Some(());
    };
    match rest {
        [] => Some(()),
        [b'.', fraction @ ..] => {
            (!fraction.is_empty() && fraction.iter().all(u8::is_ascii_digit)).then_some(())
        }
        _ => None,
    }
}

/// Takes `Z` or `+hh:mm` off the end. A date has no colon, so `-01` is never taken for an offset.
fn split_offset(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    match text {
        [date_time @ .., b'Z'] => (date_time, None),
        [date_time @ .., b'+' | b'-', _, _, b':', _, _] => {
            (date_time, text.get(date_time.len() + 1..))
        }
        _ => (text, None),
    }
}

fn is_offset(offset: &[u8]) -> bool {
    number(offset, 2)
        .filter(|(hours, _)| *hours <= 23)
        .and_then(|(_, rest)| part(rest, b':', 0..=59)?)
        .is_some_and(|(_, rest)| rest.is_empty())
}

/// A separator and two digits in the range. The outer `None` is a fault, the inner one the end.
fn part(text: &[u8], separator: u8, range: RangeInclusive<u32>) -> Option<Option<(u32, &[u8])>> {
    match text {
        [] => Some(None),
        [first, rest @ ..] if *first == separator => number(rest, 2)
            .filter(|(value, _)| range.contains(value))
            .map(Some),
        _ => None,
    }
}

fn number(text: &[u8], digits: usize) -> Option<(u32, &[u8])> {
    let (head, rest) = text.split_at_checked(digits)?;
    let value = head.iter().try_fold(0, |value, byte| {
        byte.is_ascii_digit()
            .then(|| value * 10 + u32::from(byte - b'0'))
    })?;
    Some((value, rest))
}

fn days_in_month(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
