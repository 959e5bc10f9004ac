//! The session that a command line means, and which model answers in it and why.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stentor_agent::agent::{Agent, AgentError, NewSession};
use stentor_agent::model::ModelInfo;
use stentor_agent::session::{ReplacedModel, Session, SessionOptions, SessionState};
use stentor_journal::store::ListedSession;

use crate::checked_result::ResultSchema;
use crate::choose_model::ChosenModel;
use crate::released::with_released;

/// Which session is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionSelector<'a> {
    /// A new one.
    New,
    /// The last of the folder.
    Last,
    /// The one with this id or file.
    Named(&'a str),
    /// One that somebody has to choose first.
    Chosen,
}

/// What was asked for.
#[derive(Clone)]
pub struct AskedSession<'a> {
    pub agent: &'a Agent,
    pub cwd: &'a Path,
    pub wanted: SessionSelector<'a>,
    /// The model of new sessions, and why that one.
    pub chosen: &'a ChosenModel,
    /// What the last answer is to match.
    pub schema: Option<&'a ResultSchema>,
    /// Whether the end of a background job begins a run, where the configuration does not decide.
    pub wake_on_job_end: Option<bool>,
}

/// How a session of a file is gone on with.
type ResumeSession = fn(&Agent, &Path, SessionOptions) -> Result<Session, AgentError>;

/// The model that answers.
#[derive(Debug, Clone, PartialEq)]
pub struct AnsweringModel {
    pub model: Arc<ModelInfo>,
    /// For a person: where the choice came from.
    pub why: String,
    /// What to do if somebody else should answer, where nobody has chosen this one.
    pub way_out: Option<String>,
    /// The model that the session's file names, which this one replaces.
    pub replaced: Option<Arc<ReplacedModel>>,
}

impl AnsweringModel {
    /// What a person should know: that this is not the model they had, or that nobody chose it.
    pub fn warnings(&self) -> Vec<String> {
        let replaced = self.replacement().into_iter();
        replaced.chain(self.way_out.clone()).collect()
    }

    /// That this is not the model of the session's file, if so.
    pub fn replacement(&self) -> Option<String> {
        let ReplacedModel { provider, id, why } = self.replaced.as_deref()?;
        let instead = self.model.full_name();
        Some(format!(
            "the session's model {provider}/{id} {why}; using {instead}; choose another with --model"
        ))
    }
}

/// Why the session that was asked for is not there.
#[derive(Debug, thiserror::Error)]
pub enum AskedSessionError {
    #[error("there is no session of this folder to continue")]
    NothingToContinue,
    #[error(transparent)]
    Agent(#[from] AgentError),
}

impl AskedSession<'_> {
    /// The file of the session that was asked for; `None` for a new one, and for one that is still to
    /// be chosen.
    pub fn file(&self) -> Result<Option<PathBuf>, AskedSessionError> {
        match self.wanted {
            SessionSelector::Named(wanted) => Ok(Some(self.agent.find(wanted)?)),
            SessionSelector::Last => {
                let newest = self.sessions().next().map(|session| session.path);
                newest.map(Some).ok_or(AskedSessionError::NothingToContinue)
            }
            SessionSelector::New | SessionSelector::Chosen => Ok(None),
        }
    }

    /// The sessions of the folder that can be opened, newest first.
    pub fn sessions(&self) -> impl Iterator<Item = ListedSession> {
        let newest = self.agent.newest_first(Some(self.cwd));
        newest.filter(|session| session.problem.is_none())
    }

    /// Opens the session of a file that was asked for, or begins one.
    pub fn open(&self, file: Option<&Path>) -> Result<Session, AskedSessionError> {
        self.open_by(file, Agent::resume_first)
    }

    /// The same for a session that somebody goes to from another: the permission mode that was named
    /// at the start was not named for this one.
    pub fn switch_to(&self, file: Option<&Path>) -> Result<Session, AskedSessionError> {
        self.open_by(file, Agent::resume)
    }

    fn open_by(
        &self,
        file: Option<&Path>,
        resume: ResumeSession,
    ) -> Result<Session, AskedSessionError> {
        let mut options = self.options()?;
        let Some(file) = file else {
            return Ok(self.agent.start_with(options, NewSession::default())?);
        };
        if !self.chosen.asked_for {
            options.prefer_stored_model();
        }
        let session = with_released(file, || resume(self.agent, file, options.clone()));
        Ok(session?)
    }

    fn options(&self) -> Result<SessionOptions, AgentError> {
        let mut options = self.agent.options(self.cwd)?;
        options.reports_replaced_model = true;
        if let Some(wake) = self.wake_on_job_end {
            options.wake_on_job_end = wake;
        }
        if let Some(schema) = self.schema {
            let (usual, wanted) = (&options.system_prompt, schema.instructions());
            options.system_prompt = format!("{usual}\n\n{wanted}").into();
            options.output_schema = Some(schema.for_model());
        }
        Ok(options)
    }

    /// Which model answers, and why that one.
    pub fn answering(&self, state: &SessionState) -> Option<AnsweringModel> {
        let model = Arc::clone(state.model.as_ref()?);
        let is_chosen = *model == *self.chosen.info;
        let why = match is_chosen {
            true => self.chosen.why.clone(),
            false => "the model of this session".to_owned(),
        };
        let unchosen = is_chosen && self.chosen.is_local && !self.chosen.asked_for;
        let way_out = "it is on this machine and nobody chose it: use --model for another, or set \
                       use_local_servers = false";
        Some(AnsweringModel {
            model,
            why,
            way_out: unchosen.then(|| way_out.to_owned()),
            replaced: state.replaced_model.clone(),
        })
    }
}
