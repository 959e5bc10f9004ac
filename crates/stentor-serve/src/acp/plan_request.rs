//! The question whether a plan is accepted (section 9): the options are named after the modes in which
//! it can go on.

use agent_client_protocol_schema::v1 as acp;
use stentor_agent::dialog::{DialogAnswer, DialogOption, KEEP_PLANNING, PresentedPlan};

use super::calls::text_content;

/// The call that presents a plan, and what can be chosen.
pub(super) fn of(
    title: &str,
    presented: &PresentedPlan,
) -> (acp::ToolCallUpdate, Vec<acp::PermissionOption>) {
    let fields = acp::ToolCallUpdateFields::new()
        .title(title.to_owned())
        .kind(acp::ToolKind::SwitchMode)
        .status(acp::ToolCallStatus::Pending)
        .content(vec![text_content(&presented.plan)]);
    let call = acp::ToolCallUpdate::new(presented.call_id.clone(), fields);
    let options = presented.options.iter().enumerate();
    let options = options.map(|(place, option)| {
        acp::PermissionOption::new(
            option.value.clone(),
            option.label.clone(),
            kind(place, option),
        )
    });
    (call, options.collect())
}

/// What was chosen. Only a mode that was offered accepts the plan: the tool knows which were.
pub(super) fn answer(response: acp::RequestPermissionResponse) -> DialogAnswer {
    match response.outcome {
        acp::RequestPermissionOutcome::Selected(selected) => {
            DialogAnswer::Value(selected.option_id.0.to_string())
        }
        _ => DialogAnswer::Nothing,
    }
}

/// Clients that choose by themselves choose what allows once: the mode in which the session was
/// before. Modes that it was not in last.
fn kind(place: usize, option: &DialogOption) -> acp::PermissionOptionKind {
    match (place, option.value.as_str()) {
        (_, KEEP_PLANNING) => acp::PermissionOptionKind::RejectOnce,
        (0, _) => acp::PermissionOptionKind::AllowOnce,
        _ => acp::PermissionOptionKind::AllowAlways,
    }
}
