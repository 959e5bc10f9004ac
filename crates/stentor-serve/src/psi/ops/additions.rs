//! What the original leaves unsupported (section 4).

use std::path::PathBuf;

use stentor_agent::event::{CommandInfo, CommandSource};
use stentor_agent::tasks;
use stentor_journal::export::{ExportHeader, render_html};
use stentor_wire::edn::Keyword;

use crate::psi::error::OpError;
use crate::psi::payload::{self, session};
use crate::psi::request::{OpCall, OpDone, OpResult};
use crate::psi::slash;

pub async fn abort_retry(call: &mut OpCall<'_>) -> OpResult {
    let live = call.target().await?;
    live.session.abort_retry().await?;
    OpDone::accepted().of(&live).into()
}

/// Runs a command of the user; nothing waits for it.
pub async fn bash(call: &mut OpCall<'_>) -> OpResult {
    let command = call.params.filled("command")?.to_owned();
    let excluded = call.params.get("exclude-from-context");
    let excluded = excluded.is_some_and(|value| value.is_truthy());
    let live = call.target().await?;
    call.answerer.later(async move {
        let result = live.session.bash(command, excluded).await?.result;
        let file = result.full_output_path.as_ref();
        let done = OpDone::map(&[
            ("output", &result.output),
            ("exit-code", &result.exit_code),
            ("cancelled", &result.cancelled),
            ("truncated", &result.truncated),
            ("full-output-path", &file.map(|file| file.to_string_lossy())),
        ]);
        Ok(done.of(&live))
    })
}

pub async fn abort_bash(call: &mut OpCall<'_>) -> OpResult {
    let live = call.target().await?;
    live.session.abort_bash().await?;
    OpDone::accepted().of(&live).into()
}

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

pub async fn get_fork_messages(call: &mut OpCall<'_>) -> OpResult {
    let live = call.target().await?;
    let messages = live.session.user_messages().await?;
    let data = payload::map(|data| {
        data.key("messages")
            .maps(&messages, |map, (entry_id, text)| {
                map.field("entry-id", entry_id).field("text", text);
            });
    });
    OpDone::data(data).of(&live).into()
}

pub async fn get_last_assistant_text(call: &mut OpCall<'_>) -> OpResult {
    let live = call.target().await?;
    let text = live.session.last_assistant_text().await?;
    OpDone::map(&[("text", &text)]).of(&live).into()
}

pub async fn get_commands(call: &mut OpCall<'_>) -> OpResult {
    let live = call.target().await?;
    let builtins = slash::BUILTINS.iter().map(|builtin| CommandInfo {
        name: builtin.name.to_owned(),
        description: Some(builtin.about.to_owned()),
        hint: None,
        source: CommandSource::Builtin,
        path: None,
    });
    let further = live.commands().await.list;
    // What is built in cannot be replaced, so nothing else is offered by its name.
    let is_free = |info: &&CommandInfo| slash::BUILTINS.iter().all(|one| one.name != info.name);
    let commands = builtins.chain(further.iter().filter(is_free).cloned());
    OpDone::data(payload::map(|data| {
        data.key("commands").maps(commands, |map, command| {
            let path = command.path.as_ref().map(|path| path.to_string_lossy());
            let source = command.source.as_str().replace('_', "-");
            map.field("name", &command.name)
                .field("description", &command.description)
                .field("source", &Keyword(&source))
                .field("path", &path);
        });
    }))
    .into()
}

pub fn get_available_models(call: &mut OpCall<'_>) -> OpResult {
    let models = call.shared().agent.models().available();
    OpDone::map(&[("models", &session::catalog(&models))]).into()
}
