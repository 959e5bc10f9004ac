//! `session/list` (section 5.4).

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol_schema::v1 as acp;
use serde::Deserialize;
use stentor_agent::agent::Agent;
use stentor_journal::clock::iso_time;
use stentor_journal::store::ListedSession;

use super::calls::one_line;
use super::content::title_of;
use super::error::{self, AcpResult, Refusal};
use super::folders::BaseFolders;
use super::limits;
use super::opening::blocking;

/// What `session/list` asks for.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ListParams {
    cwd: Option<PathBuf>,
    cursor: Option<String>,
}

/// One page of the stored sessions, the newest first. Opens none of them.
pub(super) fn page(
    agent: &Agent,
    params: &ListParams,
    open: &HashSet<Arc<str>>,
    folders: &BaseFolders,
) -> AcpResult<acp::ListSessionsResponse> {
    if let Some(cwd) = &params.cwd {
        folders.must_be_absolute("cwd", cwd)?;
    }
    let mut newest = agent.newest_first(params.cwd.as_deref());
    if let Some(cursor) = &params.cursor {
        newest = newest.behind(place_in(cursor)?);
    }
    let mut shown = newest.filter(|session| is_shown(session, open));
    let sessions: Vec<ListedSession> = shown.by_ref().take(limits::PAGE).collect();
    let next = match (shown.next(), sessions.last()) {
        (Some(_), Some(last)) => Some(cursor_behind(last)),
        _ => None,
    };
    let infos = sessions.iter().map(info).collect();
    Ok(acp::ListSessionsResponse::new(infos).next_cursor(next))
}

/// Whether a session is in memory, here or at another connection, or only stored.
pub(super) async fn status(
    agent: &Agent,
    id: String,
    is_loaded: bool,
) -> AcpResult<acp::SessionStatusResponse> {
    let (stored, wanted) = (agent.clone(), id.clone());
    let found = blocking(move || stored.find_id(&wanted)).await?;
    let status = match found {
        Ok(path) if is_loaded || agent.is_live(&path) => acp::SessionStatus::Open,
        Ok(_) => acp::SessionStatus::Saved,
        // It is stored nowhere.
        Err(_) if is_loaded && !agent.keeps_sessions() => acp::SessionStatus::Open,
        Err(error) => return Err(error::about_stored(&id, error)),
    };
    Ok(acp::SessionStatusResponse::new(status))
}

/// Sessions that cannot be opened are not offered, nor are those of others in which nothing was
/// ever said.
fn is_shown(session: &ListedSession, open: &HashSet<Arc<str>>) -> bool {
    session.problem.is_none()
        && session.cwd.starts_with('/')
        && (session.message_count != Some(0) || open.contains(session.id.as_str()))
}

fn info(session: &ListedSession) -> acp::SessionInfo {
    let name = session.name.as_deref().map(one_line);
    let title = name
        .or_else(|| session.first_message.as_deref().map(title_of))
        .filter(|title| !title.is_empty());
    acp::SessionInfo::new(session.id.clone(), session.cwd.clone())
        .title(title)
        .updated_at(iso_time(session.modified_ms))
}

/// Stands for the place behind a session, which does not move when others come and go.
fn cursor_behind(session: &ListedSession) -> String {
    let (modified_ms, id) = session.place();
    format!("{modified_ms}.{id}")
}

fn place_in(cursor: &str) -> AcpResult<(u64, &str)> {
    let parts = cursor
        .split_once('.')
        .and_then(|(ms, id)| Some((ms.parse().ok()?, id)));
    parts.ok_or_else(|| {
        Refusal::invalid_params("cursor is not one this agent gave: begin without one")
    })
}
