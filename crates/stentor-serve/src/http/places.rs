//! The places of TCP connections. Nobody needs a token to connect, so who has none must not keep out who
//! has: when all places are taken, the oldest connection that has shown no token makes way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Places for so many connections.
pub(super) struct HttpPlaces {
    places: Arc<Semaphore>,
    most: usize,
    strangers: Arc<Strangers>,
}

/// The connections that have shown no token, the oldest first.
#[derive(Default)]
struct Strangers {
    table: Mutex<StrangerTable>,
}

#[derive(Default)]
struct StrangerTable {
    /// Counts all that ever came.
    count: u64,
    by_number: BTreeMap<u64, CancellationToken>,
}

/// A connection's place, which is free again when this is dropped.
pub(super) struct HttpPlace {
    strangers: Arc<Strangers>,
    number: u64,
    sent_away: CancellationToken,
    _permit: OwnedSemaphorePermit,
}

impl HttpPlaces {
    pub fn new(most: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(most)),
            most,
            strangers: Arc::default(),
        }
    }

    /// A place for one more. Where all have shown a token it waits until one of them leaves.
    pub async fn enter(&self) -> Option<HttpPlace> {
        if self.places.available_permits() == 0 {
            self.strangers.send_oldest_away();
        }
        // It is never closed.
        let permit = Arc::clone(&self.places).acquire_owned().await.ok()?;
        let sent_away = CancellationToken::new();
        let mut table = self.strangers.lock();
        table.count += 1;
        let number = table.count;
        table.by_number.insert(number, sent_away.clone());
        drop(table);
        Some(HttpPlace {
            strangers: Arc::clone(&self.strangers),
            number,
            sent_away,
            _permit: permit,
        })
    }

    /// Waits until all have left. Nobody may enter meanwhile.
    pub async fn all_left(&self) {
        let all = u32::try_from(self.most).unwrap_or(u32::MAX);
        drop(self.places.acquire_many(all).await);
    }
}

impl Strangers {
    fn send_oldest_away(&self) {
        let oldest = self.lock().by_number.pop_first();
        if let Some((_, sent_away)) = oldest {
            sent_away.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, StrangerTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpPlace {
    /// Its client has shown a token: it stays.
    pub fn has_token(&self) {
        self.strangers.lock().by_number.remove(&self.number);
    }

    /// Fires when it has to make way.
    pub fn sent_away(&self) -> CancellationToken {
        self.sent_away.clone()
    }
}

impl Drop for HttpPlace {
    fn drop(&mut self) {
        self.has_token();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_without_a_token_makes_way_and_who_has_one_stays() {
        let places = HttpPlaces::new(3);
        let mut there = Vec::new();
        for _ in 0..3 {
            there.push(places.enter().await.unwrap());
        }
        there[0].has_token();
        let entering = places.enter();
        tokio::pin!(entering);
        assert!(futures_util::poll!(entering.as_mut()).is_pending());
        let away = |place: &HttpPlace| place.sent_away().is_cancelled();
        assert_eq!(
            there.iter().map(away).collect::<Vec<_>>(),
            [false, true, false]
        );
        drop(there.remove(1));
        let fourth = entering.await.unwrap();
        // Where all have one, one more waits.
        fourth.has_token();
        there[1].has_token();
        let entering = places.enter();
        tokio::pin!(entering);
        assert!(futures_util::poll!(entering.as_mut()).is_pending());
        assert!(!there.iter().chain([&fourth]).any(away));
        drop(fourth);
        entering.await.unwrap();
    }
}
