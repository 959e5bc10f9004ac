//! Other conversations: new ones, stored ones, copies (section 6.4).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use stentor_agent::agent::{AgentError, NewSession};
use stentor_agent::session::{ForkPoint, Session, SessionError, SessionOptions, Storage};
use stentor_agent::tasks;
use stentor_journal::export::session_page;
use stentor_journal::store::SessionView;
use stentor_wire::omp::command::{self, EntryId, ExportHtml, Name, SwitchSession};

use crate::omp::dialect::{NextConversation, OmpDialect, begins_at};
use crate::omp::reply::{AnswerData, CommandFailure, CommandOutcome};

/// Nothing here can veto, so nothing is ever cancelled.
#[derive(Serialize)]
struct Switched {
    cancelled: bool,
}

const SWITCHED: Switched = Switched { cancelled: false };

/// `new_session`: the settings stay, the conversation is empty.
pub(super) async fn new(dialect: &Arc<OmpDialect>, new: command::NewSession) -> CommandOutcome {
    let options = options_like_now(dialect).await?;
    let new = NewSession {
        parent_session: new.parent_session,
        ..NewSession::default()
    };
    let next = NextConversation::new(&dialect.agent, options, new)?;
    dialect.leave().await.enter(next).await;
    AnswerData::of(&SWITCHED)
}

/// `switch_session`. A file that is not there, or empty, becomes a new conversation at that path.
pub(super) async fn switch(dialect: &Arc<OmpDialect>, switch: SwitchSession) -> CommandOutcome {
    if switch.session_path.trim().is_empty() {
        return Err(CommandFailure::new("sessionPath is empty"));
    }
    let path = dialect.options.session_file(&switch.session_path);
    let agent = dialect.agent.clone();
    let path = tasks::spawn_blocking(move || agent.file_at(path)).await;
    let path = path.map_err(|error| CommandFailure::new(error.to_string()))?;
    if begins_at(&path) {
        let mut options = options_like_now(dialect).await?;
        options.storage = Storage::File(path);
        let next = NextConversation::new(&dialect.agent, options, NewSession::default())?;
        dialect.leave().await.enter(next).await;
        return AnswerData::of(&SWITCHED);
    }
    resume(dialect, &path).await?;
    AnswerData::of(&SWITCHED)
}

/// Goes on with the conversation in a file.
pub(super) async fn resume(dialect: &Arc<OmpDialect>, path: &Path) -> Result<(), CommandFailure> {
    let cwd = tasks::spawn_blocking({
        let (agent, path) = (dialect.agent.clone(), path.to_owned());
        let cwd = dialect.options.cwd.clone();
        move || agent.working_folder(&path, &cwd)
    });
    let cwd = cwd.await;
    let cwd = cwd.map_err(|error| CommandFailure::new(error.to_string()))?;
    let mut options = options_like_now_in(dialect, &cwd).await?;
    // Both come from the file, if they can.
    options.prefer_stored_model();
    options.thinking = None;
    let tools = options.tools.clone();
    let open_now = dialect
        .session()
        .state()
        .await
        .ok()
        .and_then(|state| state.file);
    if open_now.is_some_and(|open| same_file(&open, path)) {
        // It cannot be opened twice, so it is closed before it is opened again.
        let leaving = dialect.leave().await;
        let session = match dialect.agent.resume(path, options) {
            Ok(session) => session,
            Err(error) => {
                let mut options = dialect.options_for_next()?;
                options.storage = Storage::Memory;
                let next = NextConversation::first(&dialect.agent, options)?;
                leaving.enter(next).await;
                return Err(error.into());
            }
        };
        leaving.enter(NextConversation::of(session, tools)).await;
    } else {
        let session = dialect.agent.resume(path, options)?;
        dialect
            .leave()
            .await
            .enter(NextConversation::of(session, tools))
            .await;
    }
    Ok(())
}

/// `branch`, in omp's words.
pub(super) async fn branch(dialect: &Arc<OmpDialect>, entry: EntryId) -> CommandOutcome {
    copy_before(dialect, entry.entry_id, "Invalid entry ID for branching").await
}

/// `fork`, in pi's words.
pub(super) async fn fork(dialect: &Arc<OmpDialect>, entry: EntryId) -> CommandOutcome {
    copy_before(dialect, entry.entry_id, "Invalid entry ID for forking").await
}

/// `clone`: the whole active branch in a conversation of its own.
pub(super) async fn clone(dialect: &Arc<OmpDialect>) -> CommandOutcome {
    copy(dialect, ForkPoint::Leaf).await?;
    AnswerData::of(&SWITCHED)
}

async fn copy_before(dialect: &Arc<OmpDialect>, entry_id: String, invalid: &str) -> CommandOutcome {
    #[derive(Serialize)]
    struct ForkedConversation {
        text: String,
        cancelled: bool,
    }
    match copy(dialect, ForkPoint::Before(entry_id)).await {
        Ok(text) => AnswerData::of(&ForkedConversation {
            text: text.unwrap_or_default(),
            cancelled: false,
        }),
        Err(AgentError::Session(SessionError::NotAUserMessage | SessionError::NothingToFork)) => {
            Err(CommandFailure::new(invalid))
        }
        Err(error) => Err(error.into()),
    }
}

/// Goes on with a copy of the conversation. Returns the text of the message it stops before.
async fn copy(dialect: &Arc<OmpDialect>, point: ForkPoint) -> Result<Option<String>, AgentError> {
    let session = dialect.session();
    let mut options = options_like_now(dialect).await?;
    options.prefer_stored_model();
    options.thinking = None;
    let tools = options.tools.clone();
    let (copied, text) = dialect.agent.fork(&session, point, options).await?;
    dialect
        .leave()
        .await
        .enter(NextConversation::of(copied, tools))
        .await;
    Ok(text)
}

/// `set_session_name`.
pub(super) async fn set_name(dialect: &OmpDialect, name: Name) -> CommandOutcome {
    dialect.session().set_name(&name.name).await?;
    Ok(AnswerData::none())
}

/// `export_html`.
pub(super) async fn export(dialect: &OmpDialect, export: ExportHtml) -> CommandOutcome {
    #[derive(Serialize)]
    struct Exported {
        path: String,
    }
    dialect.agent.may_drive()?;
    let session = dialect.session();
    let view = view_of(&session).await?;
    let path = match export.output_path.filter(|path| !path.is_empty()) {
        Some(path) => path,
        None => {
            let file = session.state().await?.file;
            let base = file.as_deref().and_then(Path::file_stem);
            let base = base.map_or_else(
                || view.header.id.clone(),
                |base| base.to_string_lossy().into_owned(),
            );
            format!("omp-session-{base}.html")
        }
    };
    let target: PathBuf = dialect.options.cwd.join(&path);
    let write = move || {
        if view.entries.is_empty() {
            return Err("Nothing to export yet: the session is empty".to_owned());
        }
        std::fs::write(&target, session_page(&view))
            .map_err(|error| format!("cannot write {}: {error}", target.display()))
    };
    let written = tasks::spawn_blocking(write).await;
    match written {
        Ok(Ok(())) => AnswerData::of(&Exported { path }),
        Ok(Err(why)) => Err(CommandFailure::new(why)),
        Err(error) => Err(CommandFailure::new(format!(
            "the page could not be made: {error}"
        ))),
    }
}

/// The active path of the conversation.
async fn view_of(session: &Session) -> Result<SessionView, CommandFailure> {
    let (header, entries) = session.active_path().await?;
    let name = session.state().await?.name;
    Ok(SessionView {
        header,
        name,
        entries,
    })
}

/// The options of another conversation with the settings of the one that is left: a client sets
/// them once and for all.
pub(super) async fn options_like_now(dialect: &OmpDialect) -> Result<SessionOptions, AgentError> {
    options_like_now_in(dialect, &dialect.options.cwd).await
}

/// The same in another folder.
async fn options_like_now_in(
    dialect: &OmpDialect,
    cwd: &Path,
) -> Result<SessionOptions, AgentError> {
    let mut options = dialect.options_in(cwd)?;
    let state = dialect.session().state().await?;
    options.model = state.model.or(options.model);
    options.thinking = Some(state.thinking);
    options.steering_mode = state.steering_mode;
    options.follow_up_mode = state.follow_up_mode;
    options.interrupt_mode = state.interrupt_mode;
    options.auto_compaction = state.auto_compaction;
    options.auto_retry = state.auto_retry;
    Ok(options)
}

/// True when both are the same file or folder.
pub(super) fn same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}
