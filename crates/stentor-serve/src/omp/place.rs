//! Where tools work: on this machine, but not before the client was told.

use std::path::Path;
use std::sync::Arc;

use stentor_agent::session::WeakSession;
use stentor_agent::tool::{LocalPlace, Place, PlaceCommand, PlaceFuture, PlaceOutput};
use tokio_util::sync::CancellationToken;

use super::connection::OmpConnection;
use crate::output::Output;
use crate::pump::WeakAnswers;

/// This machine. A file is changed when the `tool_execution_start` of the call is with the client:
/// clients look at the file then, to show later what the call changed.
pub(super) struct AnnouncedPlace {
    pub connection: Arc<OmpConnection>,
}

/// The way frames of the conversation take.
#[derive(Clone)]
pub(super) struct WayOut {
    pub session: WeakSession,
    pub answers: WeakAnswers,
    pub output: Output,
}

impl WayOut {
    /// Waits until all that has happened was written. A client that is gone is not waited for.
    async fn delivered(&self) {
        self.answers.written(self.session.seq()).await;
        self.output.written().await.ok();
    }
}

impl Place for AnnouncedPlace {
    fn read_text<'a>(&'a self, path: &'a Path) -> PlaceFuture<'a, Option<String>> {
        LocalPlace.read_text(path)
    }

    fn write_text<'a>(
        &'a self,
        call_id: &'a str,
        path: &'a Path,
        text: &'a str,
    ) -> PlaceFuture<'a, bool> {
        Box::pin(async move {
            if let Some(way_out) = self.connection.way_out() {
                way_out.delivered().await;
            }
            LocalPlace.write_text(call_id, path, text).await
        })
    }

    fn run_command<'a>(
        &'a self,
        command: &'a PlaceCommand,
        cancel: &'a CancellationToken,
    ) -> PlaceFuture<'a, Option<PlaceOutput>> {
        LocalPlace.run_command(command, cancel)
    }
}
