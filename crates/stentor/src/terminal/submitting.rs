//! What a person says to the agent: a prompt, or a message that steers what runs.

use std::path::Path;

use stentor_agent::session::{Session, SessionError};
use stentor_journal::message::ContentBlock;

use crate::typed_prompt::typed_prompt;

/// Says it. Where something runs it steers that. The error is text for a person.
pub async fn submit(session: &Session, cwd: &Path, text: &str) -> Result<(), String> {
    let blocks = typed_prompt(session, cwd, text, text, &[]).await;
    let blocks = blocks.map_err(|error| error.to_string())?;
    match session.prompt(blocks.clone()).await {
        Ok(accepted) => drop(accepted),
        Err(SessionError::Busy) => steer(session, blocks).await?,
        Err(error) => return Err(error.to_string()),
    }
    Ok(())
}

async fn steer(session: &Session, blocks: Vec<ContentBlock>) -> Result<(), String> {
    let told = session.steer(blocks.clone()).await;
    told.map_err(|error| error.to_string())?;
    let state = session.state().await.map_err(|error| error.to_string())?;
    let waits = !state.queues.steering.is_empty();
    if state.is_running || !waits {
        return Ok(());
    }
    // The run ended a moment before: nothing would deliver it.
    session
        .clear_queues()
        .await
        .map_err(|error| error.to_string())?;
    let accepted = session.prompt(blocks).await;
    drop(accepted.map_err(|error| error.to_string())?);
    Ok(())
}
