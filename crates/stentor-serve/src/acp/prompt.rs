//! Prompts, steering and built-in commands: what is done for them beside their session's task
//! (section 6).

use std::sync::Arc;

use agent_client_protocol_schema::v1 as acp;
use serde_json::{Value, json};
use stentor_agent::event::Queues;
use stentor_agent::model::ModelRegistry;
use stentor_agent::session::{OwnCommand, QueueKind, RunOptions, Session};
use stentor_journal::message::{ContentBlock, text_of};
use tokio_util::sync::CancellationToken;

use super::client_io::ClientIo;
use super::commands::{self, AcpBuiltin};
use super::content;
use super::error::AcpResult;
use super::params::PromptParams;
use super::run_options;

/// A prompt that is ready.
pub(super) enum PreparedPrompt {
    Builtin(AcpBuiltin),
    Run(Vec<ContentBlock>, RunOptions),
}

/// Makes a prompt ready for the model.
pub(super) async fn prepare(
    session: Session,
    models: Arc<dyn ModelRegistry>,
    client_io: Arc<ClientIo>,
    prompt: PromptParams,
) -> AcpResult<PreparedPrompt> {
    let blocks = prompt.prompt;
    if let Some(acp::ContentBlock::Text(first)) = blocks.first()
        && let Some(command) = commands::builtin(&first.text)
        && !is_replaced(&session, &command).await
    {
        return Ok(PreparedPrompt::Builtin(command));
    }
    let options = run_options::of_meta(prompt.meta.as_ref(), &*models)?;
    let model = match &options.model {
        Some(model) => Some(Arc::clone(model)),
        None => session.state().await?.model,
    };
    let content = content::of_prompt(blocks, model.as_deref(), &*client_io).await?;
    let content = session.expand(content).await?;
    Ok(PreparedPrompt::Run(content, options))
}

/// True for a command that somebody has written another by the name of.
async fn is_replaced(session: &Session, command: &AcpBuiltin) -> bool {
    match command {
        AcpBuiltin::Own { text } => session.own_command(text).await.is_none(),
        AcpBuiltin::Compact { .. } | AcpBuiltin::Name { .. } => false,
    }
}

/// Runs a built-in command. Gives the text for the person who asked for it.
pub(super) async fn run_builtin(session: Session, command: AcpBuiltin) -> String {
    match command {
        AcpBuiltin::Name { name } => match session.set_name(&name).await {
            Ok(()) => format!("This session is now called {name:?}."),
            Err(error) => error.to_string(),
        },
        AcpBuiltin::Own { text } => match OwnCommand::called(&text) {
            Some(command) => match session.run_own(command).await {
                Ok(answer) => answer.text,
                Err(error) => error.to_string(),
            },
            None => format!("{text:?} is not a command"),
        },
        // They would begin a run when the compaction is over, and nobody's turn with it.
        AcpBuiltin::Compact { .. } if has_queued(&session).await => {
            "Messages from before are still waiting: send a prompt first, then compact.".to_owned()
        }
        AcpBuiltin::Compact { instructions } => match session.compact(instructions).await {
            Ok(done) => format!(
                "The conversation was compacted: {} tokens before, {} now.",
                done.tokens_before, done.tokens_after
            ),
            Err(error) => error.to_string(),
        },
    }
}

async fn has_queued(session: &Session) -> bool {
    let state = session.state().await;
    state.is_ok_and(|state| *state.queues != Queues::default())
}

/// Puts a message into the turn that runs, which `over` ends. It is shown where it goes in; one that
/// comes too late for that is taken back.
pub(super) async fn steer(
    session: Session,
    client_io: Arc<ClientIo>,
    over: CancellationToken,
    prompt: PromptParams,
) -> AcpResult<Value> {
    let model = session.state().await?.model;
    let content = content::of_prompt(prompt.prompt, model.as_deref(), &*client_io).await?;
    let text = text_of(&content, "\n");
    session.steer(content).await?;
    let is_too_late = over.is_cancelled() || !session.state().await?.is_running;
    if is_too_late && session.remove_queued(QueueKind::Steering, &text).await? {
        return Ok(not_steered());
    }
    Ok(json!({ "outcome": "injected" }))
}

/// The answer to a message for a turn that there is not.
pub(super) fn not_steered() -> Value {
    json!({
        "outcome": "failed",
        "_meta": { "stentor": { "reason": "no turn is running; send session/prompt" } },
    })
}
