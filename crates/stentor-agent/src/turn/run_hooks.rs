//! Where a run asks the session's hooks. Without hooks nothing happens here.

use std::sync::Arc;

use serde_json::{Map, Value};
use stentor_journal::conversation::ConversationItem;
use stentor_journal::message::{CustomMessage, KnownMessage, Message, ToolCall, UserContent};

use super::link::RunLink;
use crate::arguments;
use crate::event::{EventKind, NoticeLevel, NoticeSource};
use crate::hooks::{AddedContext, CallVerdict, HookFuture, PromptVerdict};
use crate::permission::CallRefused;
use crate::tool::{ToolOutput, ToolSpec};

/// What becomes of a prompt.
pub(super) enum HookedPrompt {
    /// The model is asked, with these messages too.
    Ask(Vec<Arc<Message>>),
    /// This is the answer.
    Answered(String),
    /// Nothing is answered, for this reason.
    Denied(String),
}

/// What the user said in messages that begin a run; `None` where there is nobody to ask, and for
/// what an extension said in the user's name.
pub(super) fn prompt_text(link: &RunLink, messages: &[ConversationItem]) -> Option<Arc<str>> {
    link.hooks.as_ref()?;
    let said: Vec<String> = messages
        .iter()
        .filter_map(|item| match &*item.message {
            Message::Known(KnownMessage::User(user))
                if user.attribution.as_deref() != Some("agent") =>
            {
                Some(user.content.text())
            }
            _ => None,
        })
        .collect();
    (!said.is_empty()).then(|| said.join("\n\n").into())
}

/// Asks the hooks about a prompt.
pub(super) async fn before_prompt(link: &RunLink, text: Arc<str>) -> HookedPrompt {
    let Some(hooks) = &link.hooks else {
        return HookedPrompt::Ask(Vec::new());
    };
    match unless_stopped(link, hooks.before_prompt(text)).await {
        // A stopped run asks the model, too: that is where it finds out and records it.
        None => HookedPrompt::Ask(Vec::new()),
        Some(PromptVerdict::Answer { context }) => {
            let added = context.into_iter().map(|context| message(link, context));
            HookedPrompt::Ask(added.collect())
        }
        Some(PromptVerdict::Answered { text }) => HookedPrompt::Answered(text),
        Some(PromptVerdict::Denied { reason }) => HookedPrompt::Denied(reason),
    }
}

/// Asks the hooks about a call. Returns what is to run; the error is text for the model.
pub(super) async fn before_call(
    link: &RunLink,
    call: &Arc<ToolCall>,
    spec: &ToolSpec,
    arguments: Map<String, Value>,
) -> Result<(Arc<ToolCall>, Map<String, Value>), CallRefused> {
    let Some(hooks) = &link.hooks else {
        return Ok((Arc::clone(call), arguments));
    };
    let asked = hooks.before_tool_call(Arc::clone(call));
    match unless_stopped(link, asked).await {
        None => Err(CallRefused::Aborted),
        Some(CallVerdict::Allowed) => Ok((Arc::clone(call), arguments)),
        Some(CallVerdict::Denied(why)) => Err(CallRefused::Denied(why)),
        Some(CallVerdict::Changed(changed)) => {
            let arguments = arguments::validate(spec, &changed);
            let arguments = arguments.map_err(CallRefused::ChangedArguments)?;
            let mut wanted = ToolCall::clone(call);
            wanted.arguments = changed;
            publish_change(link, &wanted);
            Ok((Arc::new(wanted), arguments))
        }
    }
}

/// Whoever watches has seen the call as the model made it, and must see what runs instead.
fn publish_change(link: &RunLink, wanted: &ToolCall) {
    let arguments = Value::Object(wanted.arguments.clone());
    link.hub.publish(EventKind::Notice {
        level: NoticeLevel::Info,
        message: format!("An extension changed a call: {} {arguments}", wanted.name),
        from: NoticeSource::Agent,
    });
}

/// Shows the hooks what a call did and returns what they make of it.
pub(super) async fn after_call(
    link: &RunLink,
    call: &Arc<ToolCall>,
    output: ToolOutput,
) -> ToolOutput {
    let Some(hooks) = &link.hooks else {
        return output;
    };
    let asked = hooks.after_tool_call(Arc::clone(call), output.clone());
    unless_stopped(link, asked).await.unwrap_or(output)
}

/// Waits for a hook as long as the run goes on.
async fn unless_stopped<T>(link: &RunLink, hook: HookFuture<T>) -> Option<T> {
    tokio::select! {
        biased;
        () = link.cancel.cancelled() => None,
        verdict = hook => Some(verdict),
    }
}

fn message(link: &RunLink, context: AddedContext) -> Arc<Message> {
    Arc::new(Message::from(KnownMessage::Custom(CustomMessage {
        custom_type: context.source,
        content: UserContent::Text(context.text),
        display: true,
        details: None,
        timestamp: link.clock.now_ms(),
        rest: Default::default(),
    })))
}
