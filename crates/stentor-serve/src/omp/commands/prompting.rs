//! Saying something to the agent, and stopping it (section 6.1).

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use stentor_agent::commands::CalledCommand;
use stentor_agent::event::CommandSource;
use stentor_agent::hooks::CommandRan;
use stentor_agent::model::ModelErrorKind;
use stentor_agent::session::{Session, SessionError};
use stentor_journal::message::{ContentBlock, text_of};
use stentor_wire::omp::command::{Image, MessageCommand, Prompt, StreamingBehavior};
use stentor_wire::omp::frame::{Frame, PromptError};

use crate::omp::dialect::OmpDialect;
use crate::omp::framing::AgentFrame;
use crate::omp::reply::{AnswerData, CommandFailure, CommandOutcome};
use crate::picture;

/// What became of a message; newer clients want to know (section 1).
#[derive(Serialize)]
struct MessageDisposition {
    disposition: &'static str,
}

const STARTED: MessageDisposition = MessageDisposition {
    disposition: "started",
};
const QUEUED: MessageDisposition = MessageDisposition {
    disposition: "queued",
};

/// A command of an extension did it all; newer clients of each family look for one of these.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HandledByExtension {
    disposition: &'static str,
    agent_invoked: bool,
}

const PROMPT: &str = "prompt";

/// `prompt`. The run begins when its acknowledgement is on the way.
pub(super) async fn prompt(
    dialect: &Arc<OmpDialect>,
    id: Option<Box<RawValue>>,
    mut prompt: Prompt,
) {
    const NAME: &str = PROMPT;
    let session = dialect.session();
    if let Some(called) = extension_command(&session, &prompt.message).await {
        match session.run_command(&called.name, &called.arguments).await {
            Some(CommandRan::Said(text)) => {
                return handled(dialect, id.as_deref(), text, None).await;
            }
            Some(CommandRan::Failed(why)) => {
                return handled(dialect, id.as_deref(), None, Some(why)).await;
            }
            Some(CommandRan::Ask(text)) => prompt.message = text,
            // It was there a moment ago. What is said is for the agent then.
            None => {}
        }
    }
    if let Some(command) = session.own_command(&prompt.message).await {
        return match session.run_own(command).await {
            Ok(answer) => handled(dialect, id.as_deref(), Some(answer.text), None).await,
            Err(error) => {
                let failure = CommandFailure::new(error.to_string());
                dialect.answer(id.as_deref(), NAME, &Err(failure)).await;
            }
        };
    }
    let content = match expanded(&session, prompt.message, prompt.images).await {
        Ok(content) => content,
        Err(failure) => return dialect.answer(id.as_deref(), NAME, &Err(failure)).await,
    };
    let text = text_of(&content, "\n");
    let outcome = match session.prompt(content.clone()).await {
        Ok(accepted) => {
            dialect
                .connection
                .prompts
                .started(id.clone(), session.seq());
            dialect
                .answer(id.as_deref(), NAME, &AnswerData::of(&STARTED))
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
                .queued(id.clone(), session.seq(), &text);
            AnswerData::of(&QUEUED)
        }
        Err(error) => Err(not_accepted(&session, error).await),
    };
    dialect.answer(id.as_deref(), NAME, &outcome).await;
}

/// `abort_and_prompt`: the events of the abort, the acknowledgement, the new run (section 11).
pub(super) async fn abort_and_prompt(
    dialect: &Arc<OmpDialect>,
    id: Option<Box<RawValue>>,
    sent: MessageCommand,
) {
    const NAME: &str = "abort_and_prompt";
    let session = dialect.session();
    let accepted = match expanded(&session, sent.message, sent.images).await {
        Ok(content) => match session.abort_and_prompt(content).await {
            Ok(accepted) => Ok(accepted),
            Err(error) => Err(not_accepted(&session, error).await),
        },
        Err(failure) => Err(failure),
    };
    match accepted {
        Ok(accepted) => {
            dialect
                .connection
                .prompts
                .started(id.clone(), session.seq());
            dialect
                .answer(id.as_deref(), NAME, &AnswerData::of(&STARTED))
                .await;
            drop(accepted);
        }
        Err(failure) => dialect.answer(id.as_deref(), NAME, &Err(failure)).await,
    }
}

/// Why a prompt cannot be begun, in the words clients look for (section 4).
async fn not_accepted(session: &Session, error: SessionError) -> CommandFailure {
    let SessionError::Model(why) = &error else {
        return error.into();
    };
    let model = session.state().await.ok().and_then(|state| state.model);
    match model {
        Some(model) if why.kind == ModelErrorKind::Auth => {
            CommandFailure::new(format!("No API key found for {}. {why}", model.provider))
        }
        _ => error.into(),
    }
}

/// `steer`.
pub(super) async fn steer(dialect: &OmpDialect, sent: MessageCommand) -> CommandOutcome {
    let session = dialect.session();
    no_command(&session, &sent.message).await?;
    let content = expanded(&session, sent.message, sent.images).await?;
    session.steer(content).await?;
    AnswerData::of(&QUEUED)
}

/// `follow_up`.
pub(super) async fn follow_up(dialect: &OmpDialect, sent: MessageCommand) -> CommandOutcome {
    let session = dialect.session();
    no_command(&session, &sent.message).await?;
    let content = expanded(&session, sent.message, sent.images).await?;
    session.follow_up(content).await?;
    AnswerData::of(&QUEUED)
}

/// `abort`: done when the session is idle; its last events come first.
pub(super) async fn abort(dialect: Arc<OmpDialect>) -> CommandOutcome {
    match dialect.session().abort().await {
        // A session that is gone is idle.
        Ok(()) | Err(SessionError::Closed) => Ok(AnswerData::none()),
        Err(error) => Err(error.into()),
    }
}

/// A command of an extension runs at once or not at all.
async fn no_command(session: &Session, message: &str) -> Result<(), CommandFailure> {
    match extension_command(session, message).await {
        None => Ok(()),
        Some(CalledCommand { name, .. }) => Err(CommandFailure::new(format!(
            "Extension command \"/{name}\" cannot be queued. Use prompt() or execute the command when not streaming."
        ))),
    }
}

/// The command of an extension that a message calls, once it is known whether it calls one.
async fn extension_command(session: &Session, message: &str) -> Option<CalledCommand> {
    let called = session.slash().called_in_time(message).await?;
    (called.source == CommandSource::Extension).then_some(called)
}

/// Answers a prompt that an extension took. Why it failed has been told with `extension_error`.
async fn handled(
    dialect: &OmpDialect,
    id: Option<&RawValue>,
    text: Option<String>,
    failed: Option<String>,
) {
    if let Some(text) = &text {
        let output: AgentFrame<'_> = Frame::CommandOutput { text };
        dialect.send_frame("command_output", &output).await;
    }
    let data = HandledByExtension {
        disposition: "handled",
        agent_invoked: false,
    };
    dialect.answer(id, PROMPT, &AnswerData::of(&data)).await;
    let state = dialect.session().state().await;
    let result: AgentFrame<'_> = Frame::PromptResult {
        id,
        agent_invoked: false,
        status: if failed.is_some() {
            "error"
        } else {
            "completed"
        },
        error: failed.as_deref().map(|message| PromptError {
            message,
            provider: None,
            model: None,
            http_status: None,
            retryable: false,
        }),
        session_settled: state.is_ok_and(|state| !state.is_running),
    };
    dialect.send_frame("prompt_result", &result).await;
}

/// What the agent is sent: a template or a skill that the message calls, else the message.
async fn expanded(
    session: &Session,
    message: String,
    images: Vec<Image>,
) -> Result<Vec<ContentBlock>, CommandFailure> {
    Ok(session.expand(content(message, images)?).await?)
}

/// One text block, then the pictures as they came (section 7.4).
fn content(message: String, images: Vec<Image>) -> Result<Vec<ContentBlock>, CommandFailure> {
    if message.is_empty() && images.is_empty() {
        return Err(SessionError::EmptyMessage.into());
    }
    let mut content = vec![ContentBlock::text(message)];
    for (n, image) in images.into_iter().enumerate() {
        let picture = picture::sent(image.data, image.mime_type);
        content.push(picture.map_err(|why| CommandFailure::new(format!("images[{n}]: {why}")))?);
    }
    Ok(content)
}
