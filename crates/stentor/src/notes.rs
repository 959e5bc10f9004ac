//! The notes an agent keeps across sessions: where they are, and who has the tool for them.

use std::sync::Arc;

use stentor_agent::memory::MemoryStore;
use stentor_agent::tool::Tool;
use stentor_tools::memory::{MEMORY, Memory};

use crate::config::{Config, Settings};
use crate::setup;

/// The notes of this user.
#[derive(Clone)]
pub struct Notes {
    /// Absent without a folder for data.
    pub store: Option<Arc<MemoryStore>>,
    /// Whether a session has the tool where nobody chose.
    by_default: bool,
}

impl Notes {
    /// The notes below the data folder of a configuration.
    pub fn of(config: &Config, by_default: bool) -> Self {
        let data = config.settings.data_dir.as_ref();
        let store = data.map(|data| {
            let path = data.value.join("memory").join("notes.jsonl");
            MemoryStore::new(path, setup::system_clock())
        });
        Self { store, by_default }
    }

    /// The tool, if sessions with these settings have it: the list of tools decides, else the key
    /// `memory`, else the way in.
    pub fn tool(&self, settings: &Settings) -> Option<Arc<dyn Tool>> {
        let wanted = match (&settings.tools, &settings.memory) {
            (Some(tools), _) => tools.value.iter().any(|name| name == MEMORY),
            (None, Some(memory)) => memory.value,
            (None, None) => self.by_default,
        };
        let store = self.store.as_ref().filter(|_| wanted)?;
        Some(Arc::new(Memory::new(Arc::clone(store))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::value::{Input, Raw};
    use crate::config::{Layer, Source};

    #[test]
    fn the_list_of_tools_decides_else_the_key_else_the_way_in() {
        let folder = tempfile::tempdir().unwrap();
        let store = MemoryStore::new(folder.path().join("n"), setup::system_clock());
        for (tools, memory, by_default, expected) in [
            (None, None, true, true),
            (None, None, false, false),
            (None, Some("false"), true, false),
            (None, Some("true"), false, true),
            (Some("read,memory"), Some("false"), false, true),
            (Some("read"), Some("true"), true, false),
        ] {
            let mut layer = Layer::default();
            for (key, value) in [("tools", tools), ("memory", memory)] {
                let Some(value) = value else { continue };
                let input = Input {
                    raw: Raw::Text(value),
                    source: Source::Default,
                    base: folder.path(),
                    home: None,
                };
                layer.set(key, &input).unwrap().unwrap();
            }
            let notes = Notes {
                store: Some(Arc::clone(&store)),
                by_default,
            };
            let has = notes.tool(&layer.settle()).is_some();
            assert_eq!(has, expected, "{tools:?} {memory:?} {by_default}");
        }
    }
}
