//! What is shown beside the transcript: the plan, questions, notifications, statuses, widgets.

use stentor_agent::dialog::WidgetPlacement;
use stentor_agent::event::{EventKind, NoticeLevel, Subagent};
use stentor_agent::tool::{Plan, PlanStatus};
use stentor_wire::psi::Topic;

use crate::psi::encoder::SessionEncoder;
use crate::psi::ui::{DialogShape, UiQuestion, permission_shape, shape_of};
use crate::psi::wire::PsiWire;

/// The key of the widget that shows the plan.
const PLAN_WIDGET: &str = "plan";

pub(super) fn publish(encoder: &SessionEncoder, wire: &mut PsiWire, kind: &EventKind) {
    match kind {
        EventKind::PlanChanged(plan) => {
            let lines = (!plan.phases.is_empty()).then(|| plan_lines(plan));
            widget(encoder, wire, PLAN_WIDGET, lines, Default::default());
        }
        EventKind::Widget {
            key,
            lines,
            placement,
        } => widget(encoder, wire, key, lines.clone(), *placement),
        EventKind::PermissionAsked { id, request } => {
            let title = format!("Permission for {}", request.call.name);
            let shape = permission_shape(request);
            ask(encoder, wire, UiQuestion::Permission(*id), title, shape);
        }
        EventKind::PermissionAnswered { id, .. } => {
            closed(encoder, wire, UiQuestion::Permission(*id));
        }
        EventKind::DialogAsked { id, dialog } => {
            let shape = shape_of(dialog);
            // An input has no other place for what can be chosen.
            let title = match shape.kind {
                "input" => dialog.whole_title().into_owned(),
                _ => dialog.title.clone(),
            };
            ask(encoder, wire, UiQuestion::Dialog(*id), title, shape);
        }
        EventKind::DialogClosed { id, .. } => closed(encoder, wire, UiQuestion::Dialog(*id)),
        EventKind::Status { key, text } => status(encoder, wire, key, text.clone()),
        EventKind::SubagentStarted(agent) => subagent(encoder, wire, agent, Some("started")),
        EventKind::SubagentProgress { agent, status, .. } => {
            subagent(encoder, wire, agent, Some(status));
        }
        EventKind::SubagentEnded { agent, .. } => subagent(encoder, wire, agent, None),
        EventKind::Notice { level, message, .. } => {
            wire.notification(message.clone(), *level, None);
        }
        EventKind::ExtensionFailed {
            extension,
            event,
            error,
        } => {
            let text = format!("{event}: {error}");
            wire.notification(text, NoticeLevel::Error, Some(extension.clone()));
        }
        EventKind::FallbackApplied(fallback) => {
            let text = format!("{} steps in for {}", fallback.to, fallback.from);
            wire.notification(text, NoticeLevel::Warning, None);
        }
        EventKind::RulesTriggered(rules) => {
            let names: Vec<&str> = rules.iter().map(|rule| rule.name.as_str()).collect();
            let text = format!("Rules that apply now: {}", names.join(", "));
            wire.notification(text, NoticeLevel::Info, None);
        }
        _ => {}
    }
}

fn widget(
    encoder: &SessionEncoder,
    wire: &mut PsiWire,
    key: &str,
    lines: Option<Vec<String>>,
    placement: WidgetPlacement,
) {
    let id = &encoder.live.id;
    wire.shared.ui().set_widget(id, key, lines, placement);
    if wire.shows(Topic::WidgetsUpdated, id) {
        wire.widgets();
    }
}

fn ask(
    encoder: &SessionEncoder,
    wire: &mut PsiWire,
    question: UiQuestion,
    title: String,
    shape: DialogShape,
) {
    // Nobody is there who may answer.
    if encoder.live.session.observes() {
        return;
    }
    let opened = wire.shared.ui().ask(&encoder.live, question, title, shape);
    if opened {
        wire.dialog_opened();
    }
}

fn closed(encoder: &SessionEncoder, wire: &mut PsiWire, question: UiQuestion) {
    let another = wire.shared.ui().close(&encoder.live.id, question);
    if another {
        wire.dialog_opened();
    }
}

fn status(encoder: &SessionEncoder, wire: &mut PsiWire, key: &str, text: Option<String>) {
    wire.shared.ui().set_status(&encoder.live.id, key, text);
    if wire.shows(Topic::StatusUpdated, &encoder.live.id) {
        wire.statuses();
    }
}

fn subagent(encoder: &SessionEncoder, wire: &mut PsiWire, agent: &Subagent, now: Option<&str>) {
    let key = format!("subagent-{}", agent.id);
    let text = now.map(|now| format!("{}: {now}", agent.name));
    status(encoder, wire, &key, text);
}

fn plan_lines(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    for phase in &plan.phases {
        if plan.phases.len() > 1 {
            lines.push(phase.name.clone());
        }
        for task in &phase.tasks {
            let sign = match task.status {
                PlanStatus::Pending => "☐",
                PlanStatus::InProgress => "▶",
                PlanStatus::Completed => "☑",
                PlanStatus::Abandoned => "☒",
                PlanStatus::Blocked => "⚠",
            };
            lines.push(format!("{sign} {}", task.content));
        }
    }
    lines
}
