//! The operations the original leaves unsupported (section 4) and this one has.

use std::path::{Path, PathBuf};

use stentor_agent::event::{CommandInfo, CommandSource};
use stentor_journal::export::{ExportHeader, render_html};
use stentor_wire::edn::Keyword;
use stentor_wire::psi::ErrorCode;

use crate::psi::connection::{Ask, Connection, Done, Handled, session_error};
use crate::psi::item::OpError;
use crate::psi::payload::{self, model::CatalogEntry};
use crate::psi::slash;

/// Runs a command of the user; nothing waits for it.
pub(in crate::psi) async fn bash(connection: &mut Connection, ask: &Ask<'_>) -> Handled {
    let command = ask.params.filled("command")?.to_owned();
    let excluded = ask
        .params
        .get("exclude-from-context")
        .is_some_and(|value| value.is_truthy());
    let live = connection.target(ask).await?;
    ask.answerer.later(async move {
        let ran = live.session.bash(command, excluded).await;
        let result = ran.map_err(session_error)?.result;
        let file = result.full_output_path.as_ref();
        let data = payload::map(|data| {
            data.field("output", &result.output)
                .field("exit-code", &result.exit_code)
                .field("cancelled", &result.cancelled)
                .field("truncated", &result.truncated)
                .field("full-output-path", &file.map(|file| file.to_string_lossy()));
        });
        Ok(Done::data(data).of(&live))
    })
}

pub(in crate::psi) async fn abort_bash(connection: &mut Connection, ask: &Ask<'_>) -> Handled {
    let live = connection.target(ask).await?;
    live.session.abort_bash().await.map_err(session_error)?;
    Done::accepted().of(&live).into()
}

/// Writes the conversation as a web page, to `:output-path` or beside the working folder's files.
pub(in crate::psi) async fn export_html(connection: &mut Connection, ask: &Ask<'_>) -> Handled {
    let wanted = ask.params.text("output-path")?.map(PathBuf::from);
    let live = connection.target(ask).await?;
    let view = live.view().await.map_err(session_error)?;
    let path = wanted.unwrap_or_else(|| PathBuf::from(format!("session-{}.html", live.id)));
    let path = live.cwd.join(path);
    let header = ExportHeader {
        title: view.state.name.clone(),
        id: live.id.to_string(),
        cwd: live.cwd.to_string_lossy().into_owned(),
        created_ms: Some(live.created_ms),
        model: view.state.model.as_ref().map(|model| model.full_name()),
    };
    ask.answerer.later(async move {
        let target = path.clone();
        let page = move || write_page(&target, &render_html(&header, &view.messages));
        let written = tokio::task::spawn_blocking(page).await;
        match written {
            Ok(Ok(())) => Ok(Done::data(payload::map(|data| {
                data.field("path", &*path.to_string_lossy());
            }))),
            Ok(Err(error)) => {
                let message = format!("{}: {error}", path.display());
                Err(OpError::new(ErrorCode::Failed, message))
            }
            Err(error) => Err(OpError::new(ErrorCode::Failed, error.to_string())),
        }
    })
}

fn write_page(path: &Path, page: &str) -> std::io::Result<()> {
    std::fs::write(path, page)
}

pub(in crate::psi) async fn get_fork_messages(
    connection: &mut Connection,
    ask: &Ask<'_>,
) -> Handled {
    let live = connection.target(ask).await?;
    let messages = live.session.user_messages().await.map_err(session_error)?;
    Done::data(payload::map(|data| {
        data.key("messages").vector(|list| {
            for (entry_id, text) in &messages {
                list.map(|map| {
                    map.field("entry-id", entry_id).field("text", text);
                });
            }
        });
    }))
    .of(&live)
    .into()
}

pub(in crate::psi) async fn get_last_assistant_text(
    connection: &mut Connection,
    ask: &Ask<'_>,
) -> Handled {
    let live = connection.target(ask).await?;
    let text = live.session.last_assistant_text().await;
    let text = text.map_err(session_error)?;
    Done::data(payload::map(|data| {
        data.field("text", &text);
    }))
    .of(&live)
    .into()
}

pub(in crate::psi) async fn get_commands(connection: &mut Connection, ask: &Ask<'_>) -> Handled {
    let live = connection.target(ask).await?;
    let mut commands: Vec<CommandInfo> = slash::BUILTINS
        .iter()
        .map(|(name, description)| CommandInfo {
            name: (*name).to_owned(),
            description: Some((*description).to_owned()),
            hint: None,
            source: CommandSource::Builtin,
            path: None,
        })
        .collect();
    // What is built in cannot be replaced, so nothing else is offered by its name.
    let is_free = |info: &&CommandInfo| slash::BUILTINS.iter().all(|(name, _)| *name != info.name);
    let further = live.session.slash().list_now();
    commands.extend(further.iter().filter(is_free).cloned());
    Done::data(payload::map(|data| {
        data.key("commands").vector(|list| {
            for command in &commands {
                list.map(|map| {
                    map.field("name", &command.name)
                        .field("description", &command.description)
                        .field("source", &Keyword(source_name(command.source)))
                        .field(
                            "path",
                            &command.path.as_ref().map(|path| path.to_string_lossy()),
                        );
                });
            }
        });
    }))
    .into()
}

fn source_name(source: CommandSource) -> &'static str {
    match source {
        CommandSource::Builtin => "builtin",
        CommandSource::Extension => "extension",
        CommandSource::Prompt => "prompt",
        CommandSource::Skill => "skill",
        CommandSource::Agent => "agent",
        CommandSource::McpPrompt => "mcp-prompt",
    }
}

pub(in crate::psi) fn get_available_models(connection: &mut Connection) -> Handled {
    let models = connection.shared.agent.models().available();
    Done::data(payload::map(|data| {
        data.key("models").vector(|list| {
            for model in &models {
                list.value(&CatalogEntry(model));
            }
        });
    }))
    .into()
}
