//! Questions to a person and things shown to one, over the client (section 15).
//!
//! The id of a request says what it is about, so nothing has to be remembered: sixteen hex digits,
//! of which the first is the kind, then the number of the session within this process, then the
//! number of the question within the session.

use stentor_agent::dialog::{Dialog, DialogAnswer, DialogKind, PresentedPlan, WidgetPlacement};
use stentor_agent::permission::PermissionRequest;
use stentor_policy::PermissionAnswer;
use stentor_text::visible::visible;
use stentor_wire::omp::command::UiResponse;
use stentor_wire::omp::frame::{OptionDetail, UiMethod};

use super::limits;

/// What a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum UiKind {
    Dialog,
    Permission,
    /// Nothing that could be answered.
    Shown,
}

/// The id of a request.
pub(super) fn request_id(kind: UiKind, generation: u32, number: u64) -> String {
    let digit = match kind {
        UiKind::Dialog => 1,
        UiKind::Permission => 2,
        UiKind::Shown => 3,
    };
    let (generation, number) = (generation & 0x0fff_ffff, number & 0xffff_ffff);
    format!("{digit}{generation:07x}{number:08x}")
}

/// The kind, session and number of the request with that id, if it is one of ours.
pub(super) fn parse_request_id(id: &str) -> Option<(UiKind, u32, u64)> {
    if id.len() != 16 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let kind = match id.get(..1)? {
        "1" => UiKind::Dialog,
        "2" => UiKind::Permission,
        _ => return None,
    };
    let generation = u32::from_str_radix(id.get(1..8)?, 16).ok()?;
    let number = u64::from_str_radix(id.get(8..)?, 16).ok()?;
    Some((kind, generation, number))
}

/// The method for a dialog, and what it asks as one text.
pub(super) fn dialog<'a>(dialog: &'a Dialog, title: &'a str) -> UiMethod<'a> {
    let timeout = dialog.timeout_ms;
    match &dialog.kind {
        DialogKind::Select { options } | DialogKind::Plan(PresentedPlan { options, .. }) => {
            let described = options.iter().any(|option| option.description.is_some());
            UiMethod::Select {
                title,
                options: options.iter().map(|option| option.label.as_str()).collect(),
                option_details: described.then(|| {
                    let details = options.iter().map(|option| OptionDetail {
                        description: option.description.as_deref(),
                    });
                    details.collect()
                }),
                timeout,
            }
        }
        DialogKind::Confirm { message, .. } => UiMethod::Confirm {
            title,
            message,
            timeout,
        },
        DialogKind::MultiSelect { .. } => UiMethod::Input {
            title,
            placeholder: None,
            timeout,
        },
        DialogKind::Input { placeholder } => UiMethod::Input {
            title,
            placeholder: placeholder.as_deref(),
            timeout,
        },
        DialogKind::Editor { prefill } => UiMethod::Editor {
            title,
            prefill: prefill.as_deref(),
        },
    }
}

/// What a client said to a dialog. Cancelling wins over everything else.
pub(super) fn dialog_answer(response: UiResponse) -> DialogAnswer {
    match response {
        UiResponse {
            cancelled: true, ..
        } => DialogAnswer::Nothing,
        UiResponse {
            confirmed: Some(yes),
            value: None,
            ..
        } => DialogAnswer::Confirmed(yes),
        UiResponse {
            value: Some(value), ..
        } => DialogAnswer::Value(value),
        UiResponse { .. } => DialogAnswer::Nothing,
    }
}

/// What this dialect calls the choices.
fn label(answer: PermissionAnswer) -> &'static str {
    match answer {
        PermissionAnswer::RejectOnce => "Deny",
        PermissionAnswer::RejectAlways => "Always deny",
        other => other.label(),
    }
}

/// The title of a request for a permission, and the choices there are.
pub(super) struct PermissionQuestion {
    title: String,
    options: [String; 4],
}

impl PermissionQuestion {
    pub fn of(request: &PermissionRequest) -> Self {
        let name = visible(&request.call.name);
        let mut title = match request.subject(limits::QUESTION_BYTES) {
            Some(subject) => format!("Allow {name}: {subject}?"),
            None => format!("Allow {name}?"),
        };
        if !request.reason.is_empty() {
            title.push_str(" (");
            title.push_str(&request.reason);
            title.push(')');
        }
        let options = request.choices(label).map(|choice| choice.label);
        Self { title, options }
    }

    /// The method for it.
    pub fn method(&self) -> UiMethod<'_> {
        UiMethod::Select {
            title: &self.title,
            options: self.options.iter().map(String::as_str).collect(),
            option_details: None,
            timeout: None,
        }
    }
}

/// What a client said to a request for a permission. What is no option denies, once. How far an
/// "always" reaches was decided when it was asked, so only its beginning is looked at.
pub(super) fn permission_answer(response: &UiResponse) -> PermissionAnswer {
    let said = match &response.value {
        Some(value) if !response.cancelled => value.as_str(),
        _ => return PermissionAnswer::RejectOnce,
    };
    let is_said = |answer: &PermissionAnswer| match said.strip_prefix(label(*answer)) {
        Some("") => true,
        Some(scope) => answer.is_for_good() && scope.starts_with(' '),
        None => false,
    };
    let said = PermissionAnswer::CHOICES.into_iter().find(is_said);
    said.unwrap_or(PermissionAnswer::RejectOnce)
}

/// The word for the place of a widget; the usual one is not named.
pub(super) fn placement(placement: WidgetPlacement) -> Option<&'static str> {
    match placement {
        WidgetPlacement::AboveEditor => None,
        WidgetPlacement::BelowEditor => Some("belowEditor"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_what_it_is_about_and_foreign_ids_say_nothing() {
        let id = request_id(UiKind::Permission, 3, 77);
        assert_eq!(id, "200000030000004d");
        assert_eq!(parse_request_id(&id), Some((UiKind::Permission, 3, 77)));
        for foreign in [
            "",
            "unknown",
            "3000000300000001",
            "15ced8a30a14f952x",
            "é00000030000001",
        ] {
            assert_eq!(parse_request_id(foreign), None, "{foreign}");
        }
    }

    fn response(value: Option<&str>, confirmed: Option<bool>, cancelled: bool) -> UiResponse {
        UiResponse {
            id: String::new(),
            value: value.map(str::to_owned),
            confirmed,
            cancelled,
        }
    }

    #[test]
    fn cancelling_wins_and_what_is_no_answer_is_none() {
        for (given, expected) in [
            (response(Some("x"), None, true), DialogAnswer::Nothing),
            (
                response(Some("x"), None, false),
                DialogAnswer::Value("x".into()),
            ),
            (
                response(None, Some(true), false),
                DialogAnswer::Confirmed(true),
            ),
            (response(None, None, false), DialogAnswer::Nothing),
        ] {
            assert_eq!(dialog_answer(given), expected);
        }
    }

    #[test]
    fn a_permission_is_given_only_by_one_of_the_options_offered() {
        for (given, expected) in [
            (
                response(Some("Allow"), None, false),
                PermissionAnswer::AllowOnce,
            ),
            (
                response(Some("Always allow"), None, false),
                PermissionAnswer::AllowAlways,
            ),
            (
                response(Some("Always allow exactly this command"), None, false),
                PermissionAnswer::AllowAlways,
            ),
            (
                response(Some("Always allowed"), None, false),
                PermissionAnswer::RejectOnce,
            ),
            (
                response(Some("Always deny"), None, false),
                PermissionAnswer::RejectAlways,
            ),
            (
                response(Some("allow"), None, false),
                PermissionAnswer::RejectOnce,
            ),
            (
                response(Some("Allow"), None, true),
                PermissionAnswer::RejectOnce,
            ),
            (
                response(None, Some(true), false),
                PermissionAnswer::RejectOnce,
            ),
            (response(None, None, false), PermissionAnswer::RejectOnce),
        ] {
            assert_eq!(permission_answer(&given), expected);
        }
    }
}
