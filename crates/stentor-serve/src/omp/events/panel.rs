//! What is shown to a person outside the conversation: notices, status lines, widgets.

use stentor_agent::dialog::WidgetPlacement;
use stentor_agent::event::{NoticeLevel, NoticeSource};
use stentor_wire::omp::frame::{Frame, UiMethod};

use super::OmpEncoder;
use crate::notice_log;
use crate::omp::ui::{self, UiKind};

impl OmpEncoder {
    pub(super) fn notice(
        &self,
        frames: &mut Vec<u8>,
        level: NoticeLevel,
        message: &str,
        from: NoticeSource,
    ) {
        let notify_type = level.as_str();
        if self.connection.events_only {
            // None of pi's events is for this.
            return notice_log::log(level, message);
        }
        // omp has a word of its own for what the agent says, pi only that of extensions.
        if from == NoticeSource::Agent {
            let level = notify_type;
            self.event(frames, "notice", &Frame::Notice { level, message });
        }
        let method = UiMethod::Notify {
            message,
            notify_type,
        };
        self.show(frames, method);
    }

    pub(super) fn extension_failed(
        &self,
        frames: &mut Vec<u8>,
        extension: &str,
        event: &str,
        error: &str,
    ) {
        // A command that failed is named instead of its extension (section 8).
        let command = event.strip_prefix("command/run ");
        let command = command.map(|name| format!("command:{name}"));
        let frame = Frame::ExtensionError {
            extension_path: command.as_deref().unwrap_or(extension),
            event: if command.is_some() { "command" } else { event },
            error,
        };
        self.always(frames, "extension_error", &frame);
    }

    pub(super) fn status(&self, frames: &mut Vec<u8>, key: &str, text: Option<&str>) {
        let method = UiMethod::SetStatus {
            status_key: key,
            status_text: text,
        };
        self.show(frames, method);
    }

    pub(super) fn widget(
        &self,
        frames: &mut Vec<u8>,
        key: &str,
        lines: Option<&[String]>,
        placement: WidgetPlacement,
    ) {
        let method = UiMethod::SetWidget {
            widget_key: key,
            widget_lines: lines,
            widget_placement: ui::placement(placement),
        };
        self.show(frames, method);
    }

    pub(super) fn title(&self, frames: &mut Vec<u8>, title: &str) {
        self.show(frames, UiMethod::SetTitle { title });
    }

    pub(super) fn editor_text(&self, frames: &mut Vec<u8>, text: &str) {
        self.show(frames, UiMethod::SetEditorText { text });
    }

    /// A request that nobody answers.
    pub(super) fn show(&self, frames: &mut Vec<u8>, method: UiMethod<'_>) {
        let number = self.connection.next_shown();
        let id = ui::request_id(UiKind::Shown, self.generation, number);
        self.ask(frames, &id, method);
    }
}
