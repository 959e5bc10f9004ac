//! The models that a session has used: a person can go back to one that no list has.

use std::sync::Arc;

use stentor_agent::model::{ModelInfo, ModelRegistry, NamedBy};
use stentor_journal::store::Entry;

/// As many are remembered, those that were used last.
const MOST: usize = 16;

/// Providers and ids, the one used last at the end.
#[derive(Debug, Default)]
pub(super) struct NamedModels {
    names: Vec<(String, String)>,
}

impl NamedModels {
    /// The models that entries name.
    pub fn of(entries: &[Entry]) -> Self {
        let mut named = Self::default();
        for (provider, id) in entries.iter().filter_map(|entry| entry.kind.model()) {
            named.add(&provider, &id);
        }
        named
    }

    /// A model is in use.
    pub fn add(&mut self, provider: &str, id: &str) {
        let is_last = |(last, last_id): &(String, String)| last == provider && last_id == id;
        if self.names.last().is_some_and(is_last) {
            return;
        }
        self.names.retain(|name| !is_last(name));
        if self.names.len() == MOST {
            self.names.remove(0);
        }
        self.names.push((provider.to_owned(), id.to_owned()));
    }

    /// Those of them that there still are. A session file is not the user's own word: what it names
    /// counts as far as it does when the session is opened.
    pub fn known(&self, models: &dyn ModelRegistry) -> Vec<Arc<ModelInfo>> {
        let names = self.names.iter().rev();
        let found = names.filter_map(|(provider, id)| models.find(provider, id, NamedBy::Others));
        found.collect()
    }
}
