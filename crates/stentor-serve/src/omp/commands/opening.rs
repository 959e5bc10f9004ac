//! Binding the process to a conversation that a client keeps by its folder (section 19).

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use stentor_agent::agent::NewSession;
use stentor_agent::model::{ModelInfo, NamedBy};
use stentor_agent::session::Storage;
use stentor_agent::tasks;
use stentor_journal::store::{self, KeptSessions};
use stentor_wire::omp::command::OpenSession;

use super::sessions::{options_like_now, resume, same_file};
use crate::omp::dialect::{NextConversation, OmpDialect};
use crate::omp::reply::{AnswerData, CommandFailure, CommandOutcome};

/// `open_session`: the newest conversation of a folder that has any messages, or a new one in it.
/// The one that is open already is left as it is, with its run.
pub(super) async fn open(dialect: &Arc<OmpDialect>, wanted: OpenSession) -> CommandOutcome {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct OpenedConversation {
        cancelled: bool,
        resumed: bool,
        session_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        session_file: Option<String>,
    }
    if wanted.session_dir.trim().is_empty() {
        return Err(CommandFailure::new("sessionDir is empty"));
    }
    let model = wanted_model(dialect, &wanted)?;
    let state = dialect.session().state().await?;
    let current = state.file;
    // Who came from another node to open a session is in none that is stored.
    if current.is_none() && !dialect.agent.is_visiting() {
        let why = "open_session requires session persistence (omit --no-session)";
        return Err(CommandFailure::new(why));
    }
    let folder = plain(&dialect.options.cwd.join(&wanted.session_dir));
    let journals = Arc::clone(&dialect.agent.environment().journals);
    let looked_in = folder.clone();
    let newest = move || {
        let kept = journals.kept_in(&looked_in);
        let KeptSessions { folder, newest } = kept.unwrap_or(KeptSessions {
            folder: looked_in.clone(),
            newest: None,
        });
        let in_files = || {
            let mut listed = store::list(&looked_in).into_iter();
            let found = listed.find(|one| one.problem.is_none() && one.message_count != Some(0));
            found.map(|found| found.path)
        };
        (folder, newest.or_else(in_files))
    };
    let found = tasks::spawn_blocking(newest).await;
    let (folder, newest) = found.map_err(|error| CommandFailure::new(error.to_string()))?;
    let is_open = current.is_some_and(|current| match &newest {
        Some(newest) => same_file(&current, newest),
        None => {
            let here = current
                .parent()
                .is_some_and(|here| same_file(here, &folder));
            here && state.message_count == 0
        }
    });
    match &newest {
        _ if is_open => {}
        Some(newest) => resume(dialect, newest).await?,
        None => {
            let mut options = options_like_now(dialect).await?;
            options.storage = Storage::Folder(folder);
            let next = NextConversation::new(&dialect.agent, options, NewSession::default())?;
            dialect.leave().await.enter(next).await;
        }
    }
    let session = dialect.session();
    if let Some(model) = model {
        session.set_model(&model.provider, &model.id).await?;
    }
    let state = session.state().await?;
    AnswerData::of(&OpenedConversation {
        cancelled: false,
        resumed: newest.is_some(),
        session_id: state.id.to_string(),
        session_file: state
            .file
            .as_deref()
            .map(Path::to_string_lossy)
            .map(Into::into),
    })
}

/// The path without `.` and `..`, as it will be told. It need not exist.
pub(in crate::omp) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

/// The model that is asked for, which must be known before anything is changed.
fn wanted_model(
    dialect: &OmpDialect,
    wanted: &OpenSession,
) -> Result<Option<Arc<ModelInfo>>, CommandFailure> {
    match (&wanted.provider, &wanted.model_id) {
        (None, None) => Ok(None),
        (Some(provider), Some(id)) => {
            let found = dialect.agent.models().find(provider, id, NamedBy::User);
            let why = || CommandFailure::new(format!("Model not found: {provider}/{id}"));
            found.map(Some).ok_or_else(why)
        }
        _ => Err(CommandFailure::new("provider and modelId belong together")),
    }
}
