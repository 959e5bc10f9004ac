//! What a person is told when a run ends: in the conversation and by `-p` the same.

use stentor_agent::event::{NoticeLevel, RunEnd, RunOutcome};

/// What to report of a run that has ended, if anything. `stopped_because` is why the program itself
/// stopped it.
pub fn notice<'a>(
    end: &'a RunEnd,
    stopped_because: Option<&'a str>,
) -> Option<(NoticeLevel, &'a str)> {
    if end.will_retry {
        return None;
    }
    let text = match &end.outcome {
        RunOutcome::Completed => {
            let is_empty = last_answer(end).is_some_and(|answer| answer.trim().is_empty());
            return is_empty.then_some((NoticeLevel::Warning, "the model gave an empty answer"));
        }
        RunOutcome::Refused => "the model declined to answer",
        RunOutcome::OutputLimit => "the answer was cut at the model's output limit",
        RunOutcome::Aborted => stopped_because.unwrap_or("stopped"),
        RunOutcome::Failed { message, .. } | RunOutcome::BudgetReached { message, .. } => message,
    };
    Some((NoticeLevel::Error, text))
}

/// The last answer of a run; `None` if the model gave none at all.
pub fn last_answer(end: &RunEnd) -> Option<String> {
    let mut last = end.messages.iter().rev();
    last.find_map(|message| Some(message.as_assistant()?.text()))
}
