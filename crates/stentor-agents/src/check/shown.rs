//! Which features an event shows an agent to have.

use stentor_client::{AgentEvent, Feature};

use super::{KnownBy, TriedFeatures};

/// Notes what the agent has shown by this event.
pub(super) fn note_shown(event: &AgentEvent, tried: &mut TriedFeatures) {
    let mut saw = |feature, is_seen| {
        if is_seen {
            tried.insert(feature, KnownBy::Tried);
        }
    };
    match event {
        AgentEvent::Thinking(_) => saw(Feature::Thinking, true),
        AgentEvent::ToolCalled(call) => {
            let input = call.input.as_object();
            let has_input = input.is_some_and(|input| !input.is_empty());
            saw(Feature::ToolTitles, call.title.is_some());
            saw(Feature::ToolInput, has_input);
            // Another call may have had some.
            tried.entry(Feature::ToolInput).or_insert_with(|| {
                let why = "its calls came without any";
                KnownBy::Failed(why.to_owned())
            });
        }
        AgentEvent::ToolProgress { .. } => saw(Feature::ToolProgress, true),
        AgentEvent::ToolEnded {
            output, is_error, ..
        } => {
            saw(Feature::ToolErrors, *is_error);
            saw(Feature::Diffs, !output.diffs.is_empty());
            saw(Feature::ToolLocations, !output.locations.is_empty());
        }
        AgentEvent::Plan(_) => saw(Feature::Plan, true),
        AgentEvent::Usage(usage) => {
            saw(Feature::Usage, true);
            saw(Feature::Cost, usage.cost_usd.is_some());
        }
        AgentEvent::Context(context) => {
            saw(Feature::ContextFill, true);
            saw(Feature::Cost, context.cost_usd.is_some());
        }
        AgentEvent::Title(_) => saw(Feature::SessionTitle, true),
        AgentEvent::TurnEnded(end) => {
            saw(Feature::Usage, end.usage.is_some());
            let cost = end.usage.and_then(|usage| usage.cost_usd);
            saw(Feature::Cost, cost.is_some());
        }
        AgentEvent::TurnStarted(_)
        | AgentEvent::Text(_)
        | AgentEvent::AnswerEnded
        | AgentEvent::ToolStarted { .. }
        | AgentEvent::UserMessage(_)
        | AgentEvent::Model(_)
        | AgentEvent::Mode(_)
        | AgentEvent::Notice { .. }
        | AgentEvent::Lost { .. }
        | AgentEvent::Exited(_) => {}
    }
}
