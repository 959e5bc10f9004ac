//! Saying something to the agent, and stopping it (section 6.1).

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use stentor_agent::event::{CommandInfo, CommandSource};
use stentor_agent::message::ContentBlock;
use stentor_agent::session::SessionError;
use stentor_wire::omp::command::{Image, Prompt, Say, StreamingBehavior};

use crate::omp::dialect::Dialect;
use crate::omp::reply::{Data, Failure, Outcome};

/// What became of a message; newer clients want to know (section 1).
#[derive(Serialize)]
struct Accepted {
    disposition: &'static str,
}

const STARTED: Accepted = Accepted {
    disposition: "started",
};
const QUEUED: Accepted = Accepted {
    disposition: "queued",
};

/// `prompt`. The run begins when its acknowledgement is on the way.
pub(super) async fn prompt(dialect: &Arc<Dialect>, id: Option<Box<RawValue>>, prompt: Prompt) {
    const NAME: &str = "prompt";
    let session = dialect.session();
    let content = match content(prompt.message.clone(), prompt.images) {
        Ok(content) => content,
        Err(failure) => return dialect.answer(id.as_deref(), NAME, &Err(failure)).await,
    };
    let outcome = match session.prompt(content.clone()).await {
        Ok(accepted) => {
            dialect
                .connection
                .prompts
                .started(id.clone(), session.seq());
            dialect
                .answer(id.as_deref(), NAME, &Data::of(&STARTED))
                .await;
            drop(accepted);
            return;
        }
        Err(SessionError::Busy) => match prompt.streaming_behavior {
            Some(StreamingBehavior::Steer) => session.steer(content).await,
            Some(StreamingBehavior::FollowUp) => session.follow_up(content).await,
            None => Err(SessionError::Busy),
        },
        Err(error) => Err(error),
    };
    let outcome = match outcome {
        Ok(()) => {
            dialect
                .connection
                .prompts
                .queued(id.clone(), session.seq(), &prompt.message);
            Data::of(&QUEUED)
        }
        Err(error) => Err(error.into()),
    };
    dialect.answer(id.as_deref(), NAME, &outcome).await;
}

/// `abort_and_prompt`: the events of the abort, the acknowledgement, the new run (section 11).
pub(super) async fn abort_and_prompt(dialect: &Arc<Dialect>, id: Option<Box<RawValue>>, say: Say) {
    const NAME: &str = "abort_and_prompt";
    let session = dialect.session();
    let accepted = match content(say.message, say.images) {
        Ok(content) => session
            .abort_and_prompt(content)
            .await
            .map_err(Failure::from),
        Err(failure) => Err(failure),
    };
    match accepted {
        Ok(accepted) => {
            dialect
                .connection
                .prompts
                .started(id.clone(), session.seq());
            dialect
                .answer(id.as_deref(), NAME, &Data::of(&STARTED))
                .await;
            drop(accepted);
        }
        Err(failure) => dialect.answer(id.as_deref(), NAME, &Err(failure)).await,
    }
}

/// `steer`.
pub(super) async fn steer(dialect: &Dialect, say: Say) -> Outcome {
    no_command(dialect, &say.message)?;
    let content = content(say.message, say.images)?;
    dialect.session().steer(content).await?;
    Data::of(&QUEUED)
}

/// `follow_up`.
pub(super) async fn follow_up(dialect: &Dialect, say: Say) -> Outcome {
    no_command(dialect, &say.message)?;
    let content = content(say.message, say.images)?;
    dialect.session().follow_up(content).await?;
    Data::of(&QUEUED)
}

/// `abort`: done when the session is idle; its last events come first.
pub(super) async fn abort(dialect: Arc<Dialect>) -> Outcome {
    match dialect.session().abort().await {
        // A session that is gone is idle.
        Ok(()) | Err(SessionError::Closed) => Ok(Data::none()),
        Err(error) => Err(error.into()),
    }
}

/// A command of an extension runs at once or not at all.
fn no_command(dialect: &Dialect, message: &str) -> Result<(), Failure> {
    let Some(said) = message.strip_prefix('/') else {
        return Ok(());
    };
    let name = said.split_whitespace().next().unwrap_or_default();
    let commands = dialect.connection.commands();
    let is_it =
        |command: &CommandInfo| command.source == CommandSource::Extension && command.name == name;
    if commands.iter().any(is_it) {
        return Err(Failure::new(format!(
            "Extension command \"/{name}\" cannot be queued. Use prompt() or execute the command when not streaming."
        )));
    }
    Ok(())
}

/// One text block, then the pictures as they came (section 7.4).
fn content(message: String, images: Vec<Image>) -> Result<Vec<ContentBlock>, Failure> {
    if message.is_empty() && images.is_empty() {
        return Err(SessionError::EmptyMessage.into());
    }
    let mut content = vec![ContentBlock::text(message)];
    let images = images
        .into_iter()
        .map(|image| ContentBlock::image(image.data, image.mime_type));
    content.extend(images);
    Ok(content)
}
