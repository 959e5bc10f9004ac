//! An agent that is set up, with the models it turned out to have.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stentor_agent::model::ModelInfo;
use stentor_client::{AgentModel as ChildModel, Dialect};

use crate::settings::AgentSettings;

/// The most models of an agent that are listed. Others can be named all the same.
const LISTED: usize = 1000;

/// An agent that is set up: what its user wrote, and what its children have said since.
pub struct ConfiguredAgent {
    name: String,
    settings: AgentSettings,
    found: Mutex<Found>,
}

/// What was found out when the agent was last started.
#[derive(Default)]
struct Found {
    is_asked: bool,
    models: Vec<ChildModel>,
    has_levels: bool,
}

impl ConfiguredAgent {
    /// The agent of that name, of which nothing more is known.
    pub fn new(name: impl Into<String>, settings: AgentSettings) -> Self {
        let has_levels = match settings.dialect.dialect() {
            Dialect::Omp | Dialect::Psi => true,
            // Some have them; which is known once they run.
            Dialect::Acp | Dialect::Synaps => false,
        };
        let found = Found {
            has_levels,
            ..Found::default()
        };
        Self {
            name: name.into(),
            settings,
            found: Mutex::new(found),
        }
    }

    /// Its name, which has no `/`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its user wrote.
    pub fn settings(&self) -> &AgentSettings {
        &self.settings
    }

    /// The agent as a model, and with each of the models it is known to have.
    pub fn models(&self) -> Vec<Arc<ModelInfo>> {
        let children: Vec<String> = {
            let found = self.lock();
            let listed = found.models.iter().take(LISTED);
            listed.map(|model| model.id.clone()).collect()
        };
        let children = children.iter().map(|model| self.info(Some(model)));
        std::iter::once(self.info(None)).chain(children).collect()
    }

    /// The agent as a model: with one of its own models, or the one it chooses.
    pub fn info(&self, model: Option<&str>) -> Arc<ModelInfo> {
        let found = self.lock();
        let agent = &self.name;
        let (id, name) = match model {
            None => (agent.clone(), format!("{agent} (agent)")),
            Some(id) => {
                let known = found.models.iter().find(|known| known.id == id);
                let name = known.map_or(id, |known| &known.name);
                (format!("{agent}/{id}"), format!("{name} ({agent})"))
            }
        };
        self.settings.info(id, name, found.has_levels)
    }

    /// The model of the agent that an id means, if it is an id of this agent.
    pub fn model_of<'a>(&self, id: &'a str) -> Option<Option<&'a str>> {
        match id.split_once('/') {
            None if id == self.name => Some(None),
            Some((agent, model)) if agent == self.name && !model.is_empty() => Some(Some(model)),
            _ => None,
        }
    }

    /// True for the one who shall ask a child what it has.
    pub(crate) fn begin_learning(&self) -> bool {
        !std::mem::replace(&mut self.lock().is_asked, true)
    }

    /// Takes in what a child has.
    pub(crate) fn learn(&self, models: Vec<ChildModel>, has_levels: bool) {
        let mut found = self.lock();
        found.models = models;
        found.has_levels = has_levels;
    }

    fn lock(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
