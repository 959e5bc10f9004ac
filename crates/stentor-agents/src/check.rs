//! What a real child can do: it is started, asked, and ended. Its model is asked nothing, unless there is
//! a prompt for it.
//!
//! - `refusal`: what the child asks meanwhile
//! - `shown`: what it shows meanwhile
//! - `interruption`: turns that are aborted and steered

mod interruption;
mod refusal;
mod shown;

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use stentor_agent::sandbox::SandboxState;
use stentor_client::{
    AgentEvent, ChildAgent, ChildAgentError, Events, Feature, FeatureSupport, InitialSession,
    OfferedModel, TurnEndReason,
};
use stentor_tools::process::Launcher;
use tokio::time::timeout;

use self::interruption::{try_abort, try_steering};
use self::refusal::{AskedFeatures, RefusingHost};
use self::shown::note_shown;
use crate::child;
use crate::settings::AgentSettings;

/// The most of an answer that is read.
const TEXT_BYTES: usize = 1024 * 1024;

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
    /// What came of the prompt, if there was one.
    pub turn: Option<CheckedTurn>,
    /// What it has of each feature, and how that is known.
    pub features: Vec<(Feature, FeatureSupport, KnownBy)>,
    /// Why it does not work, if it does not: its turn failed, or it ended by itself.
    pub failed: Option<String>,
}

/// How it is known whether an agent has a feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnownBy {
    /// It was tried, and worked.
    Tried,
    /// It was tried, and did not work: why.
    Failed(String),
    /// The agent says so.
    Announced,
    /// Its dialect has it, or has not.
    Dialect,
}

/// A turn of an agent that was tried.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckedTurn {
    /// What it answered.
    pub text: String,
    /// Why it ended early, if it did.
    pub failed: Option<String>,
    /// It was stopped by a refusal, which is how some take one.
    pub stopped_by_refusal: bool,
    /// It was given up, and the agent has not ended it.
    pub goes_on: bool,
    /// The agent says that somebody has stopped it.
    is_aborted: bool,
}

/// Starts an agent and finds out what it can do, with a prompt also what its answer is like, and whether
/// turns can be aborted and steered. What it asks is refused.
pub async fn check(
    settings: &AgentSettings,
    launcher: &Launcher,
    sandbox: &SandboxState,
    cwd: &Path,
    prompt: Option<&str>,
) -> Result<CheckReport, ChildAgentError> {
    let launcher = launcher.restricted(settings.restrictions(sandbox));
    let session = InitialSession::New;
    let asked = AskedFeatures::default();
    let host = RefusingHost(asked.clone());
    let (agent, mut events) = child::start(settings, &launcher, cwd, session, host).await?;
    let mut tried = HashMap::new();
    let limit = settings.idle_limit();
    let turn = match prompt {
        Some(prompt) => {
            let mut turn = ask(&agent, &mut events, prompt, limit, &mut tried).await?;
            if turn.is_aborted && !asked.so_far().is_empty() {
                turn.failed = None;
                turn.stopped_by_refusal = true;
            }
            Some(turn)
        }
        None => None,
    };
    let mut found = FoundLists::default();
    // One that is still at work would be waited for with everything it is asked.
    if turn.as_ref().is_none_or(|turn| !turn.goes_on) && !agent.has_ended() {
        let trying = try_requests(&agent, turn.is_some(), &mut tried);
        found = while_dropping(&mut events, trying).await;
    }
    let mut failed = turn.as_ref().and_then(|turn| turn.failed.clone());
    if failed.is_none() && agent.has_ended() {
        failed = Some(exit_of(&mut events).await);
    }
    if turn.is_some() && failed.is_none() {
        try_abort(&agent, &mut events, &mut tried).await;
        if !agent.has_ended() {
            // The last one: the turn goes on.
            try_steering(&agent, &mut events, &mut tried).await;
        }
    }
    // Nobody reads what comes now.
    drop(events);
    let asked = asked.so_far().into_iter();
    tried.extend(asked.map(|feature| (feature, KnownBy::Tried)));
    let opened = agent.opened();
    let features = Feature::ALL.map(|feature| {
        let known_by =
            tried
                .remove(&feature)
                .unwrap_or_else(|| match feature.support_in(agent.dialect()) {
                    FeatureSupport::IfAnnounced => KnownBy::Announced,
                    FeatureSupport::Yes | FeatureSupport::Partly(_) | FeatureSupport::No(_) => {
                        KnownBy::Dialect
                    }
                });
        (feature, agent.support(feature), known_by)
    });
    let report = CheckReport {
        agent: opened.agent.clone(),
        model: opened.model.clone(),
        modes: opened.modes.iter().map(|(id, _)| id.clone()).collect(),
        models: found.models,
        sessions: found.sessions,
        turn,
        features: features.into(),
        failed,
    };
    agent.stop().await;
    Ok(report)
}

type TriedFeatures = HashMap<Feature, KnownBy>;

/// How long the lists are that the agent gave.
#[derive(Default)]
struct FoundLists {
    models: Option<usize>,
    sessions: Option<usize>,
}

/// Asks for everything that needs no model.
async fn try_requests(agent: &ChildAgent, was_used: bool, tried: &mut TriedFeatures) -> FoundLists {
    let models = agent.models().await.ok();
    let sessions = agent.sessions().await;
    note(tried, Feature::ListSessions, &sessions);
    try_settings(agent, models.as_deref().unwrap_or_default(), tried).await;
    try_sessions(agent, was_used, tried).await;
    FoundLists {
        models: models.map(|models| models.len()),
        sessions: sessions.ok().map(|sessions| sessions.len()),
    }
}

/// What comes of `work`, with what the agent reports meanwhile dropped: it is not to wait for a reader.
async fn while_dropping<T>(events: &mut Events, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            Some(event) = events.next() => drop(event),
        }
    }
}

/// How an agent ended that has.
async fn exit_of(events: &mut Events) -> String {
    while let Some(event) = events.next().await {
        if let AgentEvent::Exited(exit) = event {
            return exit.to_string();
        }
    }
    "the agent has ended".to_owned()
}

/// Notes what came of trying something. What is not there to be tried was not.
fn note<T>(tried: &mut TriedFeatures, feature: Feature, outcome: &Result<T, ChildAgentError>) {
    let known_by = match outcome {
        Ok(_) => KnownBy::Tried,
        Err(ChildAgentError::Unsupported { .. }) => return,
        Err(error) => KnownBy::Failed(error.to_string()),
    };
    tried.insert(feature, known_by);
}

/// Chooses the model and the mode that the agent has anyway.
async fn try_settings(agent: &ChildAgent, models: &[OfferedModel], tried: &mut TriedFeatures) {
    let opened = agent.opened();
    // Some know more of it by now than when they were opened.
    let now = agent.session().await.ok();
    let model = now.and_then(|now| now.model).or(opened.model.clone());
    // Not all name it at once as it is chosen.
    if let Some(model) = model.filter(|model| models.iter().any(|known| known.id == *model)) {
        note(tried, Feature::Models, &agent.set_model(&model).await);
    }
    if let Some(mode) = &opened.mode {
        note(tried, Feature::Modes, &agent.set_mode(mode).await);
    }
}

/// Begins another session, and goes on with the first if something was said there: many store no others.
async fn try_sessions(agent: &ChildAgent, was_used: bool, tried: &mut TriedFeatures) {
    let first = agent.session().await.ok();
    note(tried, Feature::NewSession, &agent.new_session().await);
    let first = first.and_then(|session| session.resume_id);
    // Where the program must be started for it, it is not tried.
    let is_command = !matches!(agent.dialect(), stentor_client::AgentDialect::Synaps);
    if let Some(first) = first.filter(|_| was_used && is_command) {
        let resumed = agent.resume_session(&first).await;
        note(tried, Feature::Resume, &resumed);
    }
}

/// One turn, and what was seen in it. It is given up when nothing comes for as long as `limit`, or more
/// text than anybody reads.
async fn ask(
    agent: &ChildAgent,
    events: &mut Events,
    prompt: &str,
    limit: Option<Duration>,
    tried: &mut TriedFeatures,
) -> Result<CheckedTurn, ChildAgentError> {
    agent.prompt(prompt).await?;
    let mut turn = CheckedTurn::default();
    // What comes after this is another answer.
    let mut is_answered = false;
    loop {
        let event = match next(events, limit).await {
            Ok(Some(event)) => event,
            Ok(None) => {
                turn.failed = Some("the agent has ended".to_owned());
                break;
            }
            Err(limit) => {
                let seconds = limit.as_secs();
                turn.give_up(format!(
                    "it has said nothing for {seconds} s (`idle_timeout`)"
                ));
                break;
            }
        };
        note_shown(&event, tried);
        match event {
            AgentEvent::Text(text) => {
                if std::mem::take(&mut is_answered) {
                    turn.end_line();
                }
                turn.text.push_str(&text);
                if turn.text.len() > TEXT_BYTES {
                    let end = turn.text.floor_char_boundary(TEXT_BYTES);
                    turn.text.truncate(end);
                    turn.give_up(format!("its answer is longer than {TEXT_BYTES} bytes"));
                    break;
                }
            }
            AgentEvent::AnswerEnded | AgentEvent::UserMessage(_) | AgentEvent::ToolCalled(_) => {
                is_answered = true;
            }
            AgentEvent::TurnEnded(end) => {
                turn.is_aborted = end.reason == TurnEndReason::Aborted;
                turn.failed = match end.reason {
                    TurnEndReason::Completed => None,
                    TurnEndReason::Limit => Some("a limit was reached".to_owned()),
                    TurnEndReason::Refused => Some("it declined to answer".to_owned()),
                    TurnEndReason::Aborted => Some("it was stopped".to_owned()),
                    TurnEndReason::Failed(why) => Some(why),
                };
                break;
            }
            AgentEvent::Exited(exit) => {
                turn.failed = Some(exit.to_string());
                break;
            }
            _ => {}
        }
    }
    Ok(turn)
}

/// The next event, or for how long there was none, where that is too long.
async fn next(
    events: &mut Events,
    limit: Option<Duration>,
) -> Result<Option<AgentEvent>, Duration> {
    let Some(limit) = limit else {
        return Ok(events.next().await);
    };
    timeout(limit, events.next()).await.map_err(|_| limit)
}

impl CheckedTurn {
    fn give_up(&mut self, why: String) {
        self.failed = Some(why);
        self.goes_on = true;
    }

    fn end_line(&mut self) {
        if !(self.text.is_empty() || self.text.ends_with('\n')) {
            self.text.push('\n');
        }
    }
}
