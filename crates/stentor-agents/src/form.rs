//! The forms of an agent: with one of its own models, in one of its modes.

use std::fmt;

/// What follows the name of an agent in the id of a model: nothing, `/MODEL`, `@MODE`, or both. Models
/// may have an `@` in their names; what follows the last one is a mode if the agent has one of that id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct AgentVariant(String);

impl AgentVariant {
    /// The form of `agent` that an id means, if it is an id of this agent.
    pub fn of(id: &str, agent: &str) -> Option<Self> {
        let form = id.strip_prefix(agent)?;
        let is_form = match form.split_at_checked(1) {
            None => true,
            Some(("/" | "@", rest)) => !rest.is_empty(),
            Some(_) => false,
        };
        is_form.then(|| Self(form.to_owned()))
    }

    /// With this model of the agent's own, in the mode it chooses.
    pub fn with_model(model: &str) -> Self {
        Self(format!("/{model}"))
    }

    /// The model and the mode that it names, with an agent that has these modes.
    pub(crate) fn split(&self, modes: &[(String, String)]) -> (Option<&str>, Option<&str>) {
        let has = |mode: &str| modes.iter().any(|(id, _)| id == mode);
        let (model, mode) = match self.0.rsplit_once('@') {
            Some((model, mode)) if model.is_empty() || has(mode) => (model, Some(mode)),
            _ => (self.0.as_str(), None),
        };
        (model.strip_prefix('/'), mode)
    }

    /// The same model in another mode, or in the one that the agent chooses.
    pub(crate) fn in_mode(&self, mode: Option<&str>, modes: &[(String, String)]) -> Self {
        let (model, _) = self.split(modes);
        let mut form = model.map_or_else(String::new, |model| format!("/{model}"));
        if let Some(mode) = mode {
            form = format!("{form}@{mode}");
        }
        Self(form)
    }
}

impl fmt::Display for AgentVariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_an_agent_its_model_and_its_mode() {
        let modes = [("plan".to_owned(), "Plan".to_owned())];
        let split = |id: &str| {
            let form = AgentVariant::of(id, "a")?;
            let (model, mode) = form.split(&modes);
            Some((model.map(str::to_owned), mode.map(str::to_owned)))
        };
        let named = |model: Option<&str>, mode: Option<&str>| {
            Some((model.map(str::to_owned), mode.map(str::to_owned)))
        };
        assert_eq!(split("a"), named(None, None));
        assert_eq!(split("a/m/n"), named(Some("m/n"), None));
        assert_eq!(split("a@plan"), named(None, Some("plan")));
        assert_eq!(split("a/m@plan"), named(Some("m"), Some("plan")));
        assert_eq!(split("a/m@2025"), named(Some("m@2025"), None));
        assert_eq!(split("a@other"), named(None, Some("other")));
        assert_eq!(split("ab"), None);
        assert_eq!(split("a/"), None);
        let form = AgentVariant::of("a/m@plan", "a").unwrap();
        assert_eq!(form.in_mode(None, &modes).to_string(), "/m");
        assert_eq!(form.in_mode(Some("x"), &modes).to_string(), "/m@x");
    }
}
