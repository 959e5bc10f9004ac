//! An agent that is set up, with the models it turned out to have.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stentor_agent::model::{InputKind, ModelInfo, ModelMode};
use stentor_client::{AgentDialect, OfferedModel as ChildModel};

use crate::form::AgentVariant;
use crate::settings::AgentSettings;

/// The most models of an agent that are listed. Others can be named all the same.
const LISTED: usize = 1000;

/// An agent that is set up: what its user wrote, and what its children have said since.
pub struct ConfiguredAgent {
    name: String,
    settings: AgentSettings,
    found: Mutex<AgentFindings>,
}

/// What was found out when the agent was last started.
#[derive(Default)]
struct AgentFindings {
    is_asked: bool,
    models: Vec<ChildModel>,
    /// Id and name of each.
    modes: Vec<(String, String)>,
    has_levels: bool,
    takes_pictures: bool,
    /// How much fits into the context, by the form that said so.
    windows: HashMap<AgentVariant, u64>,
}

impl ConfiguredAgent {
    /// The agent of that name, of which nothing more is known.
    pub fn new(name: impl Into<String>, settings: AgentSettings) -> Self {
        let has_levels = match settings.dialect.dialect() {
            AgentDialect::Omp | AgentDialect::Psi => true,
            // Some have them; which is known once they run.
            AgentDialect::Acp | AgentDialect::Synaps => false,
        };
        let found = AgentFindings {
            has_levels,
            takes_pictures: true,
            ..AgentFindings::default()
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

    /// The agent as a model, in each of its modes, and with each of the models it is known to have.
    pub fn models(&self) -> Vec<Arc<ModelInfo>> {
        let forms: Vec<AgentVariant> = {
            let found = self.lock();
            let plain = AgentVariant::default();
            let modes = found.modes.iter();
            let modes = modes.map(|(mode, _)| plain.in_mode(Some(mode), &found.modes));
            let listed = found.models.iter().take(LISTED);
            let models = listed.map(|model| AgentVariant::with_model(&model.id));
            let forms = std::iter::once(plain.clone()).chain(modes).chain(models);
            forms.collect()
        };
        forms.iter().map(|form| self.info(form)).collect()
    }

    /// The agent as a model: with one of its own models or the one it chooses, and so with its modes.
    pub fn info(&self, form: &AgentVariant) -> Arc<ModelInfo> {
        let found = self.lock();
        let agent = &self.name;
        let (model, mode) = form.split(&found.modes);
        let mut name = match model {
            None => format!("{agent} (agent)"),
            Some(id) => {
                let known = found.models.iter().find(|known| known.id == id);
                let name = known.map_or(id, |known| &known.name);
                format!("{name} ({agent})")
            }
        };
        if let Some(id) = mode {
            let known = found.modes.iter().find(|(known, _)| known == id);
            let mode = known.map_or(id, |(_, name)| name);
            name = format!("{name}, {mode}");
        }
        let in_mode = |mode: Option<&str>, name: &str| ModelMode {
            name: name.to_owned(),
            id: format!("{agent}{}", form.in_mode(mode, &found.modes)),
        };
        let own = found.modes.iter().map(|(id, name)| in_mode(Some(id), name));
        let default = in_mode(None, "Default");
        let modes = match found.modes.is_empty() {
            true => Vec::new(),
            false => std::iter::once(default).chain(own).collect(),
        };
        let mut info = self
            .settings
            .info(format!("{agent}{form}"), name, found.has_levels);
        if !found.takes_pictures {
            info.input.retain(|kind| *kind != InputKind::Image);
        }
        if let Some(window) = found.windows.get(form) {
            info.context_window = *window;
            info.max_tokens = info.max_tokens.min(*window);
        }
        info.modes = modes;
        Arc::new(info)
    }

    /// The form of the agent that an id means, if it is an id of this agent.
    pub fn form_of(&self, id: &str) -> Option<AgentVariant> {
        AgentVariant::of(id, &self.name)
    }

    /// True for the one who shall ask a child what it has.
    pub(crate) fn begin_learning(&self) -> bool {
        !std::mem::replace(&mut self.lock().is_asked, true)
    }

    /// Takes in what a child says of its session.
    pub(crate) fn learn(&self, modes: &[(String, String)], has_levels: bool, takes_pictures: bool) {
        let mut found = self.lock();
        found.takes_pictures = takes_pictures;
        found.modes = modes.to_vec();
        found.has_levels = has_levels;
    }

    /// Takes in how much fits into the context of a child in this form.
    pub(crate) fn learn_window(&self, form: &AgentVariant, tokens: u64) {
        let mut found = self.lock();
        if found.windows.len() < LISTED || found.windows.contains_key(form) {
            found.windows.insert(form.clone(), tokens);
        }
    }

    /// Takes in which models a child has.
    pub(crate) fn learn_models(&self, models: Vec<ChildModel>) {
        self.lock().models = models;
    }

    fn lock(&self) -> MutexGuard<'_, AgentFindings> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
