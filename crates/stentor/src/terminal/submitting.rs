//! What a person says to the agent: a prompt, or a message that steers what runs.

use std::path::Path;

use stentor_agent::session::{Session, SessionError};
use stentor_journal::message::ContentBlock;

use crate::typed_prompt::{TypedPrompt, TypedPromptError};

/// Why nothing was submitted.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    #[error(transparent)]
    Typed(#[from] TypedPromptError),
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Submits it. Where something runs it steers that. Gives the names of files that are mentioned and
/// not there.
pub async fn submit(session: &Session, cwd: &Path, text: &str) -> Result<Vec<String>, SubmitError> {
    let typed = TypedPrompt {
        text,
        names_files: true,
        piped: None,
        pictures: &[],
    };
    let (blocks, missing) = typed.to_blocks(session, cwd).await?;
    match session.prompt(blocks.clone()).await {
        Ok(accepted) => drop(accepted),
        Err(SessionError::Busy) => steer(session, blocks).await?,
        Err(error) => return Err(error.into()),
    }
    Ok(missing)
}

async fn steer(session: &Session, blocks: Vec<ContentBlock>) -> Result<(), SessionError> {
    session.steer(blocks.clone()).await?;
    let state = session.state().await?;
    let waits = !state.queues.steering.is_empty();
    if state.is_running || !waits {
        return Ok(());
    }
    // The run ended a moment before: nothing would deliver it.
    session.clear_queues().await?;
    drop(session.prompt(blocks).await?);
    Ok(())
}
