//! What the user interface shows: dialogs, widgets, statuses, notifications (sections 10.10 to
//! 10.15 and 11.4).

use stentor_agent::dialog::WidgetPlacement;
use stentor_wire::edn::{EdnWriter, Keyword, WriteEdn};

use crate::psi::ui::{AskedDialog, DialogShape, Notification, Panel};

/// The widgets, sorted by placement, extension and id.
pub struct Widgets<'a>(pub &'a Panel);

/// The statuses, sorted by their keys.
pub struct Statuses<'a>(pub &'a Panel);

/// `ui/dialog-requested`.
impl WriteEdn for AskedDialog {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        let kind = match &self.shape {
            DialogShape::Confirm { .. } => "confirm",
            DialogShape::Select { .. } => "select",
            DialogShape::Input { .. } => "input",
        };
        writer.map(|data| {
            data.field("dialog-id", &self.id)
                .field("kind", kind)
                .field("title", &self.title);
            match &self.shape {
                DialogShape::Confirm { message } => data.field("message", message),
                DialogShape::Select { message, options } => data
                    .field_if_some("message", message.as_ref())
                    .key("options")
                    .maps(options, |map, option| {
                        map.field("value", &option.value)
                            .field("label", &option.label)
                            .field_if_some("description", option.description.as_ref());
                    }),
                DialogShape::Input { placeholder } => {
                    data.field_if_some("placeholder", placeholder.as_ref())
                }
            };
        });
    }
}

impl WriteEdn for Widgets<'_> {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        writer.maps(&self.0.widgets, |map, ((placement, key), lines)| {
            let placement = match placement {
                WidgetPlacement::AboveEditor => "above-editor",
                WidgetPlacement::BelowEditor => "below-editor",
            };
            map.field("extension-id", key)
                .field("widget-id", key)
                .field("placement", &Keyword(placement))
                .field("content", lines)
                .key("content-lines")
                .maps(lines, |map, line| {
                    map.field("text", line);
                });
        });
    }
}

impl WriteEdn for Statuses<'_> {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        writer.maps(&self.0.statuses, |map, (key, text)| {
            map.field("extension-id", key).field("text", text);
        });
    }
}

/// `ui/notification`.
impl WriteEdn for Notification {
    fn write_edn(&self, writer: &mut EdnWriter<'_>) {
        writer.map(|data| {
            data.field("id", &self.id)
                .field("message", &self.message)
                .field("level", self.level.as_str())
                .field_if_some("extension-id", self.extension.as_ref());
        });
    }
}
