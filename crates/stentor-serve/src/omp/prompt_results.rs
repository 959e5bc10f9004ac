//! The last frames of an activity: nothing automatic follows (section 1, rule 4).

use std::sync::Arc;

use stentor_agent::event::{RunEnd, RunOutcome};
use stentor_agent::model::{ModelError, ModelErrorKind};
use stentor_journal::message::Message;
use stentor_wire::omp::frame::{Frame, PromptError};

use super::framing::{AgentFrame, Framing};
use super::prompts::OpenPrompt;

/// How a run ended.
#[derive(Debug, Default)]
pub(super) struct RunResult {
    status: Status,
    /// The answer that ended it.
    answer: Option<Arc<Message>>,
}

#[derive(Debug, Default)]
enum Status {
    #[default]
    Completed,
    Aborted,
    Failed {
        message: String,
        http_status: Option<u16>,
        retryable: bool,
    },
}

/// Why a run failed, when none of its messages says so: the disk failed, not the model.
pub(super) fn unspoken_failure(end: &RunEnd) -> Option<&str> {
    let answer = end.messages.iter().rev().find_map(|one| one.as_assistant());
    match &end.outcome {
        RunOutcome::Failed { message, .. } => answer
            .is_none_or(|answer| answer.error_message.is_none())
            .then_some(message),
        _ => None,
    }
}

impl RunResult {
    /// How `end` ended.
    pub fn of(end: &RunEnd) -> Self {
        let status = match &end.outcome {
            RunOutcome::Completed | RunOutcome::Refused | RunOutcome::OutputLimit => {
                Status::Completed
            }
            RunOutcome::Aborted => Status::Aborted,
            RunOutcome::Failed {
                kind,
                message,
                status,
            } => Status::Failed {
                message: message.clone(),
                http_status: *status,
                retryable: is_transient(*kind),
            },
            RunOutcome::BudgetReached { message, .. } => Status::Failed {
                message: message.clone(),
                http_status: None,
                retryable: false,
            },
        };
        let mut answers = end.messages.iter().rev();
        let answer = answers.find(|message| message.as_assistant().is_some());
        Self {
            status,
            answer: answer.cloned(),
        }
    }
}

/// Writes omp's words for it: a result for each prompt, then that all is settled.
pub(super) fn write_results(
    framing: &Framing,
    frames: &mut Vec<u8>,
    outcome: &RunResult,
    finished: &[OpenPrompt],
    aborted: bool,
) {
    let answer = outcome
        .answer
        .as_ref()
        .and_then(|message| message.as_assistant());
    for prompt in finished {
        let (status, error) = match &outcome.status {
            Status::Completed => ("completed", None),
            Status::Aborted => ("aborted", None),
            // Somebody stopped it before it was tried again.
            Status::Failed { .. } if aborted => ("aborted", None),
            Status::Failed {
                message,
                http_status,
                retryable,
            } => {
                let error = PromptError {
                    message,
                    provider: answer.map(|answer| answer.provider.as_str()),
                    model: answer.map(|answer| answer.model.as_str()),
                    http_status: *http_status,
                    retryable: *retryable,
                };
                ("error", Some(error))
            }
        };
        let frame: AgentFrame<'_> = Frame::PromptResult {
            id: prompt.id.as_deref(),
            agent_invoked: true,
            status,
            error,
            session_settled: true,
        };
        framing.write(frames, "prompt_result", &frame);
    }
    let settled: AgentFrame<'_> = Frame::SessionSettled;
    framing.write(frames, "session_settled", &settled);
}

/// Writes pi's word for it.
pub(super) fn write_settled(framing: &Framing, frames: &mut Vec<u8>, aborted: bool) {
    let settled: AgentFrame<'_> = Frame::AgentSettled { aborted };
    framing.write(frames, "agent_settled", &settled);
}

fn is_transient(kind: ModelErrorKind) -> bool {
    ModelError::new(kind, "").is_transient()
}
