//! Tools with which a model asks the person it works for: `ask` has questions, `exit_plan_mode`
//! presents a plan. Both are offered only while somebody is known to answer.

mod ask;
mod exit_plan_mode;
#[cfg(test)]
mod tests;

use stentor_agent::dialog::{Dialog, DialogAnswer, DialogKind};
use stentor_agent::plan_mode::EXIT_PLAN_MODE;
use stentor_agent::tool::ToolContext;

use crate::tool_error::ToolError;

pub use ask::ASK;
pub(crate) use ask::Ask;
pub(crate) use exit_plan_mode::ExitPlanMode;

/// The tools that ask a person.
pub const ASKING_TOOLS: [&str; 2] = [ASK, EXIT_PLAN_MODE];

/// The longest answer in somebody's own words. A longer one is cut there.
const OWN_WORDS_CHARS: usize = 20_000;

/// Asks, and withdraws the question when the call must end.
async fn put(
    context: &ToolContext,
    title: String,
    kind: DialogKind,
) -> Result<DialogReply, ToolError> {
    let dialog = Dialog {
        title,
        kind,
        form: None,
        timeout_ms: None,
    };
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => Err(ToolError::Aborted),
        answer = context.host.ask(dialog) => Ok(DialogReply::of(answer)),
    }
}

/// Asks for an answer in the person's own words.
async fn own_words(context: &ToolContext, title: String) -> Result<Option<String>, ToolError> {
    let kind = DialogKind::Input { placeholder: None };
    let reply = put(context, title, kind).await?;
    Ok(reply.text())
}

/// What somebody answered: texts, or nothing.
struct DialogReply(Option<Vec<String>>);

impl DialogReply {
    fn of(answer: DialogAnswer) -> Self {
        Self(match answer {
            DialogAnswer::Value(value) => Some(vec![value]),
            DialogAnswer::Values(values) => Some(values),
            DialogAnswer::Confirmed(_) | DialogAnswer::Filled(_) | DialogAnswer::Nothing => None,
        })
    }

    /// The one text of it, unless it is empty.
    fn text(self) -> Option<String> {
        let text = self.0?.into_iter().next()?;
        let text: String = text.trim().chars().take(OWN_WORDS_CHARS).collect();
        (!text.is_empty()).then_some(text)
    }
}
