//! How often wrong tokens may be tried.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::limits;

/// The wrong tokens of each address. An address that sent too many is answered nothing else for a while:
/// it cannot go on trying. Whoever has the right token at the same address is served all the same.
#[derive(Default)]
pub struct WrongTokens {
    by_address: Mutex<HashMap<IpAddr, WrongAttempts>>,
}

#[derive(Debug, Clone, Copy)]
struct WrongAttempts {
    count: u32,
    since: Instant,
}

impl WrongAttempts {
    /// What is left of it after some time.
    fn at(self, now: Instant) -> Self {
        let passed = now.saturating_duration_since(self.since).as_millis();
        let forgiven = passed / limits::FORGIVEN_EVERY.as_millis();
        let forgiven = u32::try_from(forgiven).unwrap_or(u32::MAX);
        Self {
            count: self.count.saturating_sub(forgiven),
            since: self.since + limits::FORGIVEN_EVERY.saturating_mul(forgiven),
        }
    }
}

impl WrongTokens {
    /// How long the address has to wait before a token of it is looked at; `None` when it has not.
    pub fn wait(&self, address: IpAddr, now: Instant) -> Option<Duration> {
        let wrong = self.lock().get(&address)?.at(now);
        let is_over = wrong.count >= limits::WRONG_TOKENS;
        is_over.then(|| limits::FORGIVEN_EVERY.saturating_sub(now - wrong.since))
    }

    /// Counts a wrong token.
    pub fn count(&self, address: IpAddr, now: Instant) {
        let mut table = self.lock();
        if table.len() >= limits::COUNTED_ADDRESSES && !table.contains_key(&address) {
            let oldest = table.iter().min_by_key(|(_, wrong)| wrong.since);
            let oldest = oldest.map(|(address, _)| *address);
            oldest.and_then(|oldest| table.remove(&oldest));
        }
        let fresh = WrongAttempts {
            count: 0,
            since: now,
        };
        let wrong = table.entry(address).or_insert(fresh);
        *wrong = match wrong.at(now) {
            WrongAttempts { count: 0, .. } => fresh,
            some => some,
        };
        wrong.count += 1;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, WrongAttempts>> {
        self.by_address
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn an_address_with_too_many_wrong_tokens_waits_and_others_do_not() {
        let wrong = WrongTokens::default();
        let start = Instant::now();
        let [a, b] = [1, 2].map(|last| IpAddr::from([127, 0, 0, last]));
        for _ in 0..limits::WRONG_TOKENS {
            assert_eq!(wrong.wait(a, start), None);
            wrong.count(a, start);
        }
        assert_eq!(wrong.wait(a, start), Some(limits::FORGIVEN_EVERY));
        assert_eq!(wrong.wait(b, start), None);
        let later = start + limits::FORGIVEN_EVERY;
        assert_eq!(wrong.wait(a, later), None);
        wrong.count(a, later);
        assert_eq!(wrong.wait(a, later), Some(limits::FORGIVEN_EVERY));
        let much_later = start + limits::FORGIVEN_EVERY * 100;
        wrong.count(a, much_later);
        assert_eq!(wrong.wait(a, much_later), None);
    }

    #[test]
    fn the_table_does_not_grow() {
        let wrong = WrongTokens::default();
        let now = Instant::now();
        for number in 0..2 * u32::try_from(limits::COUNTED_ADDRESSES).unwrap() {
            wrong.count(Ipv4Addr::from_bits(number).into(), now);
        }
        assert_eq!(wrong.lock().len(), limits::COUNTED_ADDRESSES);
    }
}
