//! Questions to the person at the page.

use stentor_agent::dialog::{Dialog, DialogKind, DialogOption};
use stentor_agent::permission::PermissionRequest;
use stentor_journal::export::Html;
use stentor_journal::export::fragment::{ShownOutcome, prose, tool_call};
use stentor_policy::PermissionAnswer;

/// The id of the element of a permission question.
pub(super) fn permission_id(id: u64) -> String {
    format!("permission{id}")
}

/// The id of the element of another question.
pub(super) fn dialog_id(id: u64) -> String {
    format!("dialog{id}")
}

/// Whether a call may run.
pub(super) fn permission(id: u64, request: &PermissionRequest) -> String {
    let mut html = Html::new();
    begin(
        &permission_id(id),
        &format!("May {} run?", request.call.name),
        &mut html,
    );
    html.element("p", "reason", &request.reason);
    html.raw(&tool_call(&request.call, ShownOutcome::None));
    html.raw("<div class=\"choices\">");
    let mut choices = request.choices(PermissionAnswer::label);
    // The short ones come first and share a line on a phone.
    choices.sort_by_key(|choice| choice.answer.is_for_good());
    for choice in choices {
        let name = choice.answer.as_str();
        html.raw(&format!(
            "<button type=\"button\" class=\"{name}\" data-do=\"answer\" data-id=\"{id}\" data-answer=\"{name}\">"
        ))
        .text(&choice.label)
        .raw("</button>");
    }
    html.raw("</div></section>");
    html.finish()
}

/// Another question.
pub(super) fn dialog(id: u64, dialog: &Dialog) -> String {
    let mut html = Html::new();
    begin(&dialog_id(id), &dialog.title, &mut html);
    let button = |html: &mut Html, fields: &[(&str, &str)], label: &str| {
        html.raw(&format!(
            "<button type=\"button\" data-do=\"reply\" data-id=\"{id}\""
        ));
        for (name, value) in fields {
            html.raw(&format!(" data-{name}=\"")).text(value).raw("\"");
        }
        html.raw(">").text(label).raw("</button>");
    };
    match &dialog.kind {
        DialogKind::Select { options } => {
            described(options, &mut html);
            html.raw("<div class=\"choices\">");
            for option in options {
                button(&mut html, &[("value", &option.value)], &option.label);
            }
        }
        DialogKind::MultiSelect { options } => {
            html.raw(&format!("<form data-do=\"reply\" data-id=\"{id}\">"));
            for option in options {
                html.raw("<p><label><input type=\"checkbox\" name=\"values\" value=\"")
                    .text(&option.value)
                    .raw("\"> ")
                    .text(&option.label)
                    .raw("</label> ");
                if let Some(about) = &option.description {
                    html.element("small", "about", about);
                }
                html.raw("</p>");
            }
            html.raw("<button>Answer</button></form><div class=\"choices\">");
        }
        DialogKind::Plan(presented) => {
            html.raw(&prose(&presented.plan));
            html.raw("<div class=\"choices\">");
            for option in &presented.options {
                button(&mut html, &[("value", &option.value)], &option.label);
            }
        }
        DialogKind::Confirm { message, lasting } => {
            html.element("p", "reason", message);
            html.raw("<div class=\"choices\">");
            let yes = lasting.as_deref().unwrap_or("Yes");
            button(&mut html, &[("yes", "yes")], yes);
            button(&mut html, &[("yes", "no")], "No");
        }
        DialogKind::Input { placeholder } => {
            let hint = placeholder.as_deref().unwrap_or_default();
            html.raw(&format!(
                "<form data-do=\"reply\" data-id=\"{id}\"><input name=\"value\" aria-label=\""
            ))
            .text(&dialog.title)
            .raw("\" placeholder=\"")
            .text(hint)
            .raw("\"> <button>Answer</button></form><div class=\"choices\">");
        }
        DialogKind::Editor { prefill } => {
            let prefill = prefill.as_deref().unwrap_or_default();
            html.raw(&format!("<form data-do=\"reply\" data-id=\"{id}\"><textarea name=\"value\" rows=\"6\" aria-label=\""))
                .text(&dialog.title)
                .raw("\">\n")
                .text(prefill)
                .raw("</textarea> <button>Answer</button></form><div class=\"choices\">");
        }
    }
    button(&mut html, &[], "Cancel");
    html.raw("</div></section>");
    html.finish()
}

/// What the options mean, where that is said.
fn described(options: &[DialogOption], html: &mut Html) {
    for option in options {
        if let Some(about) = &option.description {
            html.raw("<p><b>").text(&option.label).raw("</b>: ");
            html.text(about).raw("</p>");
        }
    }
}

fn begin(id: &str, title: &str, html: &mut Html) {
    html.raw(&format!("<section id=\"{id}\" class=\"question\" role=\"group\" tabindex=\"-1\" aria-labelledby=\"{id}-title\"><h2 id=\"{id}-title\">"))
        .text(title)
        .raw("</h2>");
}
