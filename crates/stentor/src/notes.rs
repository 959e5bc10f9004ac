//! The notes an agent keeps across sessions: where they are, and who has the tool for them.
//!
//! Every project has its own: what one repository made an agent remember must not be read, as if it
//! were the user's, in another.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stentor_agent::memory::{MemoryStore, ProjectNotes};
use stentor_agent::tool::Tool;
use stentor_journal::clock::SystemClock;
use stentor_journal::store::encoded_cwd;
use stentor_tools::memory::{MEMORY, Memory};

use crate::config::{Config, Settings};

/// The notes of the projects that sessions work in.
#[derive(Clone)]
pub struct NoteStores {
    /// Those of the folder the program was started in. Absent without a folder for data.
    pub store: Option<Arc<MemoryStore>>,
    project: PathBuf,
    /// Whether a session has the tool where nobody chose.
    by_default: bool,
}

impl NoteStores {
    /// The notes of the project that a configuration was read for.
    pub fn of(config: &Config, by_default: bool) -> Self {
        let project = config.project.root().to_owned();
        Self {
            store: store(&config.settings, &project),
            project,
            by_default,
        }
    }

    /// The tool, if sessions with these settings have it: the list of tools decides, else the key
    /// `memory`, else the way in. It has the notes of the project with that root.
    pub fn tool(&self, settings: &Settings, project: &Path) -> Option<Arc<dyn Tool>> {
        let wanted = match (&settings.tools, &settings.memory) {
            (Some(tools), _) => tools.value.iter().any(|name| name == MEMORY),
            (None, Some(memory)) => memory.value,
            (None, None) => self.by_default,
        };
        if !wanted {
            return None;
        }
        let store = match project == self.project {
            true => self.store.clone()?,
            false => store(settings, project)?,
        };
        Some(Arc::new(Memory::new(store)))
    }
}

/// The file with the notes of the project with that root.
pub fn notes_file(settings: &Settings, project: &Path) -> Option<PathBuf> {
    let data = settings.data_dir.as_ref()?;
    let name = format!("{}.jsonl", encoded_cwd(project));
    Some(data.value.join("memory").join(name))
}

fn store(settings: &Settings, project: &Path) -> Option<Arc<MemoryStore>> {
    let data = settings.data_dir.as_ref()?;
    let notes = ProjectNotes {
        project: project.to_owned(),
        older: data.value.join("memory").join("notes.jsonl"),
    };
    let file = notes_file(settings, project)?;
    Some(MemoryStore::of_project(file, notes, Arc::new(SystemClock)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::value::{RawSetting, WrittenValue};
    use crate::config::{Layer, ValueSource};

    #[test]
    fn the_list_of_tools_decides_else_the_key_else_the_way_in() {
        let folder = tempfile::tempdir().unwrap();
        let store = MemoryStore::new(folder.path().join("n"), Arc::new(SystemClock));
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
                let input = WrittenValue {
                    raw: RawSetting::Text(value),
                    source: ValueSource::Default,
                    base: folder.path(),
                    home: None,
                };
                layer.set(key, &input).unwrap().unwrap();
            }
            let notes = NoteStores {
                store: Some(Arc::clone(&store)),
                project: folder.path().to_owned(),
                by_default,
            };
            let has = notes.tool(&layer.settle(), folder.path()).is_some();
            assert_eq!(has, expected, "{tools:?} {memory:?} {by_default}");
        }
    }
}
