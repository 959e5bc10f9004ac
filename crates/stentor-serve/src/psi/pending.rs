//! The requests that have not been answered yet (section 6).

use std::collections::HashSet;
use std::sync::Mutex;

use super::shared::lock;

/// Ids of accepted requests, until the first response or error with the id is written.
pub(super) struct PendingIds {
    limit: usize,
    ids: Mutex<HashSet<String>>,
}

/// Why a request is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotAccepted {
    Twice,
    TooMany,
}

impl PendingIds {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            ids: Mutex::default(),
        }
    }

    /// Accepts a request (checks 10 to 12).
    pub fn accept(&self, id: &str) -> Result<(), NotAccepted> {
        let mut ids = lock(&self.ids);
        if ids.contains(id) {
            return Err(NotAccepted::Twice);
        }
        if ids.len() >= self.limit {
            return Err(NotAccepted::TooMany);
        }
        ids.insert(id.to_owned());
        Ok(())
    }

    /// The request was answered.
    pub fn answered(&self, id: &str) {
        let mut ids = lock(&self.ids);
        ids.remove(id);
    }

    pub fn is_empty(&self) -> bool {
        let ids = lock(&self.ids);
        ids.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_request_of_the_same_id_is_told_before_the_limit() {
        let pending = PendingIds::new(2);
        assert_eq!(pending.accept("a"), Ok(()));
        assert_eq!(pending.accept("b"), Ok(()));
        assert_eq!(pending.accept("a"), Err(NotAccepted::Twice));
        assert_eq!(pending.accept("c"), Err(NotAccepted::TooMany));
        pending.answered("a");
        pending.answered("never");
        assert_eq!(pending.accept("a"), Ok(()));
    }
}
