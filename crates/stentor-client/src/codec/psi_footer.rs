//! What the footer of psi's frontend says.

use crate::event::AgentContextUse;

/// How much fits into the context, from a part of the footer such as `0.4%/200k (auto)`. It is
/// rounded there, and so is how full the context is: what the last answer used says that exactly.
pub(super) fn context_in_footer(part: &str) -> Option<AgentContextUse> {
    let (filled, size) = part.split_once('/')?;
    if !filled.ends_with('%') && filled != "?" {
        return None;
    }
    let size = size.split_whitespace().next()?;
    let (number, unit) = match size.strip_suffix(['k', 'M']) {
        Some(number) if size.ends_with('k') => (number, 1e3),
        Some(number) => (number, 1e6),
        None => (size, 1.0),
    };
    let tokens = number.parse::<f64>().ok()? * unit;
    (1.0..1e12).contains(&tokens).then(|| AgentContextUse {
        used: 0,
        size: tokens.round() as u64,
        cost_usd: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_the_context_is_in_the_last_part_of_the_footer() {
        for (part, size) in [
            ("0.4%/200k (auto)", Some(200_000)),
            ("?/1.0M", Some(1_000_000)),
            ("12.5%/8.2k", Some(8_200)),
            ("?/900", Some(900)),
            ("?/0", None),
            ("?/NaNk", None),
            ("?/-1k", None),
            ("a/b", None),
            ("$0.123", None),
            ("\u{2191}812", None),
        ] {
            let found = context_in_footer(part).map(|context| context.size);
            assert_eq!(found, size, "{part}");
        }
    }
}
