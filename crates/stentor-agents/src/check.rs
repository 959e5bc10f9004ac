//! What a real child can do: it is started, asked, and ended. No model is asked anything.

use std::path::Path;

use stentor_agent::sandbox::SandboxState;
use stentor_client::{AgentError, DenyAll, Feature, OpenSession, Support};
use stentor_tools::process::Launcher;

use crate::child;
use crate::settings::AgentSettings;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckReport {
    /// Its name and version, where it says so.
    pub agent: Option<String>,
    /// The model it uses.
    pub model: Option<String>,
    /// Its modes by their ids, where it has some.
    pub modes: Vec<String>,
    /// How many models it offers, where it can be asked.
    pub models: Option<usize>,
    /// How many sessions it has stored, where it can be asked.
    pub sessions: Option<usize>,
    /// What it has of each feature.
    pub features: Vec<(Feature, Support)>,
}

/// Starts an agent and finds out what it can do.
pub async fn check(
    settings: &AgentSettings,
    launcher: &Launcher,
    sandbox: &SandboxState,
    cwd: &Path,
) -> Result<CheckReport, AgentError> {
    let launcher = launcher.restricted(settings.restrictions(sandbox));
    let session = OpenSession::New;
    let (agent, events) = child::start(settings, &launcher, cwd, session, DenyAll).await?;
    // Nobody reads them.
    drop(events);
    let models = agent.models().await.ok().map(|models| models.len());
    let sessions = agent.sessions().await.ok().map(|sessions| sessions.len());
    let opened = agent.opened();
    let features = Feature::ALL.map(|feature| (feature, agent.support(feature)));
    let report = CheckReport {
        agent: opened.agent.clone(),
        model: opened.model.clone(),
        modes: opened.modes.iter().map(|(id, _)| id.clone()).collect(),
        models,
        sessions,
        features: features.into(),
    };
    agent.stop().await;
    Ok(report)
}
