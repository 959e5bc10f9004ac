//! `session/list` (section 5.4).

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol_schema::v1 as acp;
use serde::Deserialize;
use stentor_agent::agent::Agent;
use stentor_agent::clock::iso_time;
use stentor_agent::store::Listed;

use super::calls::one_line;
use super::content::title_of;
use super::error::{Handled, Refusal};
use super::folders::Folders;
use super::limits;

/// What `session/list` says.
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
    folders: &Folders,
) -> Handled<acp::ListSessionsResponse> {
    if let Some(cwd) = &params.cwd {
        folders.must_be_absolute("cwd", cwd)?;
    }
    let after = params.cursor.as_deref().map(Place::read).transpose()?;
    let mut listed = agent.list(params.cwd.as_deref());
    listed.retain(|session| is_shown(session, open));
    listed.sort_by_cached_key(|session| std::cmp::Reverse(Place::of(session)));
    let mut rest = listed.iter().filter(|session| {
        after
            .as_ref()
            .is_none_or(|after| Place::of(session) < *after)
    });
    let sessions: Vec<&Listed> = rest.by_ref().take(limits::PAGE).collect();
    let next = match (rest.next(), sessions.last()) {
        (Some(_), Some(last)) => Some(Place::of(last).written()),
        _ => None,
    };
    let infos = sessions.into_iter().map(info).collect();
    Ok(acp::ListSessionsResponse::new(infos).next_cursor(next))
}

/// Sessions that cannot be opened are not offered, nor are those of others in which nothing was
/// ever said.
fn is_shown(session: &Listed, open: &HashSet<Arc<str>>) -> bool {
    session.problem.is_none()
        && session.cwd.starts_with('/')
        && (session.message_count != Some(0) || open.contains(session.id.as_str()))
}

fn info(session: &Listed) -> acp::SessionInfo {
    let name = session.name.as_deref().map(one_line);
    let title = name
        .or_else(|| session.first_message.as_deref().map(title_of))
        .filter(|title| !title.is_empty());
    acp::SessionInfo::new(session.id.clone(), session.cwd.clone())
        .title(title)
        .updated_at(iso_time(session.modified_ms))
}

/// Where a session stands in the list, which does not move when others come and go.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    modified_ms: u64,
    id: String,
}

impl Place {
    fn of(session: &Listed) -> Self {
        Self {
            modified_ms: session.modified_ms,
            id: session.id.clone(),
        }
    }

    fn written(&self) -> String {
        format!("{}.{}", self.modified_ms, self.id)
    }

    fn read(cursor: &str) -> Handled<Self> {
        let parts = cursor
            .split_once('.')
            .and_then(|(ms, id)| Some((ms.parse().ok()?, id)));
        let (modified_ms, id) = parts.ok_or_else(|| {
            Refusal::invalid_params("cursor is not one this agent gave: begin without one")
        })?;
        Ok(Self {
            modified_ms,
            id: id.to_owned(),
        })
    }
}
