//! The conversation as a web page.

use std::path::PathBuf;

use stentor_agent::tasks;
use stentor_journal::export::{ExportHeader, render_html};

use crate::psi::error::OpError;
use crate::psi::payload;
use crate::psi::request::{Call, Done, Handled};

/// Writes the conversation as a web page, to `:output-path` or beside the working folder's files.
pub(in crate::psi) async fn export_html(call: &mut Call<'_>) -> Handled {
    call.connection.shared.agent.may_drive()?;
    let wanted = call.params.text("output-path")?.map(PathBuf::from);
    let live = call.target().await?;
    let view = live.view(false).await?;
    let path = wanted.unwrap_or_else(|| PathBuf::from(format!("session-{}.html", live.id)));
    let path = live.cwd.join(path);
    let header = ExportHeader {
        title: view.state.name.clone(),
        id: live.id.to_string(),
        cwd: live.cwd.to_string_lossy().into_owned(),
        created_ms: Some(live.created_ms),
        model: view.state.model.as_ref().map(|model| model.full_name()),
    };
    call.answerer.later(async move {
        let target = path.clone();
        let write = move || std::fs::write(target, render_html(&header, &view.messages));
        let written = tasks::spawn_blocking(write).await?;
        written.map_err(|error| OpError::failed(format!("{}: {error}", path.display())))?;
        Ok(Done::data(payload::map(|data| {
            data.field("path", &*path.to_string_lossy());
        })))
    })
}
