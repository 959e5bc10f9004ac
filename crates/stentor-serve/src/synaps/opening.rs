//! Which session the child has, and with which model.

use std::path::Path;
use std::sync::Arc;

use stentor_agent::agent::{Agent, AgentError, NewSession};
use stentor_agent::model::{ModelInfo, NamedBy};
use stentor_agent::session::{Session, SessionOptions};
use stentor_journal::store::StoreError;

use super::SynapsOptions;

/// The provider whose models parents name by their id alone.
const OWN_PROVIDER: &str = "anthropic";

/// The provider of a model that nobody knows. It cannot be opened, and says so when it is used.
const UNKNOWN_PROVIDER: &str = "unknown";

/// A session that is on disk at once.
const NEW: NewSession = NewSession {
    id: None,
    parent_session: None,
    file_at_once: true,
};

/// The session `--continue` names, or a new one. It is on disk when this returns (section 15).
pub(super) fn open(agent: &Agent, options: &SynapsOptions) -> Result<Session, AgentError> {
    let Some(wanted) = &options.resume else {
        return agent.start_first(session_options(agent, options)?, NEW);
    };
    let path = find(agent, wanted)?;
    let mut session = options_in(agent, options, &agent.working_folder(&path, &options.cwd))?;
    if options.model.is_none() {
        session.prefer_stored_model();
    }
    agent.resume_first(&path, session)
}

/// A new session, on disk.
pub(super) fn start(agent: &Agent, options: SessionOptions) -> Result<Session, AgentError> {
    agent.start_with(options, NEW)
}

/// What a session of this child is started with.
pub(super) fn session_options(
    agent: &Agent,
    options: &SynapsOptions,
) -> Result<SessionOptions, AgentError> {
    options_in(agent, options, &options.cwd)
}

fn options_in(
    agent: &Agent,
    options: &SynapsOptions,
    cwd: &Path,
) -> Result<SessionOptions, AgentError> {
    let mut session = agent.options(cwd)?;
    if let Some(name) = &options.model {
        session.model = Some(model(agent, name).unwrap_or_else(|| unknown(name)));
    }
    if let Some(system) = &options.system {
        session.system_prompt = Arc::from(system.as_str());
    }
    // A parent has no stream open for a turn that nobody asked for, and loses its text (section 17).
    session.wake_on_job_end = false;
    // The wire cannot take text back (section 9.3).
    session.retry.after_output = false;
    Ok(session)
}

/// The model a parent means. A name without a provider that begins as those of the protocol's own
/// provider do is one of its models, described or not: parents know names that nobody told us.
pub(super) fn model(agent: &Agent, name: &str) -> Option<Arc<ModelInfo>> {
    let models = agent.models();
    let exact = match name.split_once('/') {
        Some((provider, id)) => models.find(provider, id, NamedBy::User),
        None if name.starts_with("claude-") => models.find(OWN_PROVIDER, name, NamedBy::User),
        None => None,
    };
    exact.or_else(|| models.resolve(name, NamedBy::User))
}

/// The model's name as parents know it: those of the protocol's own provider by their id alone.
pub(super) fn name_of(info: &ModelInfo) -> String {
    match info.provider.as_str() {
        OWN_PROVIDER | UNKNOWN_PROVIDER => info.id.clone(),
        _ => info.full_name(),
    }
}

/// A session by id, unique beginning of an id, or name: the newest of that name, so that older ones
/// need not be looked into.
fn find(agent: &Agent, wanted: &str) -> Result<std::path::PathBuf, AgentError> {
    let not_found = match agent.find(wanted) {
        Err(AgentError::Store(error @ StoreError::NotFound { .. })) => error,
        other => return other,
    };
    agent
        .newest_first(None)
        .find(|listed| listed.name.as_deref() == Some(wanted))
        .map(|listed| listed.path)
        .ok_or_else(|| not_found.into())
}

fn unknown(name: &str) -> Arc<ModelInfo> {
    Arc::new(ModelInfo {
        id: name.to_owned(),
        name: name.to_owned(),
        api: UNKNOWN_PROVIDER.to_owned(),
        provider: UNKNOWN_PROVIDER.to_owned(),
        base_url: String::new(),
        reasoning: false,
        input: Vec::new(),
        cost: None,
        context_window: 0,
        max_tokens: 0,
        thinking_levels: Vec::new(),
        modes: Vec::new(),
    })
}
