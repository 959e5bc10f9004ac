//! The conversation as a web page.

use std::path::PathBuf;

use stentor_agent::tasks;
use stentor_journal::export::{ExportHeader, render_html};

use crate::psi::error::OpError;
use crate::psi::request::{OpCall, OpDone, OpResult};

/// Writes the conversation as a web page, to `:output-path` or beside the working folder's files.
pub async fn export_html(call: &mut OpCall<'_>) -> OpResult {
    call.shared().agent.may_drive()?;
    let wanted = call.params.text("output-path")?.map(PathBuf::from);
    let live = call.target().await?;
    let view = live.view(false).await?;
    let path = wanted.unwrap_or_else(|| PathBuf::from(format!("session-{}.html", live.id)));
    let path = live.origin.cwd.join(path);
    let header = ExportHeader {
        title: view.state.name.clone(),
        id: live.id.to_string(),
        cwd: live.origin.cwd.to_string_lossy().into_owned(),
        created_ms: Some(live.origin.created_ms),
        model: view.state.model.as_ref().map(|model| model.full_name()),
    };
    call.answerer.later(async move {
        let target = path.clone();
        let write = move || std::fs::write(target, render_html(&header, &view.messages));
        let written = tasks::spawn_blocking(write).await?;
        written.map_err(|error| OpError::failed(format!("{}: {error}", path.display())))?;
        Ok(OpDone::map(&[("path", &path.to_string_lossy())]))
    })
}
