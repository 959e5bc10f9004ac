//! What the user interface shows: dialogs, widgets, statuses, notifications (sections 10.10 to
//! 10.15 and 11.4).

use stentor_wire::edn::{EdnWriter, Keyword};

use crate::psi::ui::{AskedDialog, DialogShape, Notification, Panel, Widget};

/// `ui/dialog-requested`.
pub(in crate::psi) fn write_dialog(writer: &mut EdnWriter<'_>, dialog: &AskedDialog) {
    writer.map(|data| {
        data.field("dialog-id", &dialog.id)
            .field("kind", dialog.shape.kind())
            .field("title", &dialog.title);
        match &dialog.shape {
            DialogShape::Confirm { message } => {
                data.field("message", message);
            }
            DialogShape::Select { message, options } => {
                data.field_if_some("message", message.as_ref())
                    .key("options")
                    .vector(|list| {
                        for option in options {
                            list.map(|map| {
                                map.field("value", &option.value)
                                    .field("label", &option.label)
                                    .field_if_some("description", option.description.as_ref());
                            });
                        }
                    });
            }
            DialogShape::Input { placeholder } => {
                data.field_if_some("placeholder", placeholder.as_ref());
            }
        }
    });
}

/// `ui/widgets-updated`.
pub(in crate::psi) fn write_widgets(writer: &mut EdnWriter<'_>, panel: &Panel) {
    writer.map(|data| {
        data.key("widgets");
        write_widget_list(data, panel);
    });
}

/// The widgets, sorted by placement, extension and id.
pub(in crate::psi) fn write_widget_list(writer: &mut EdnWriter<'_>, panel: &Panel) {
    writer.vector(|list| {
        for (key, widget) in panel.widgets() {
            write_widget(list, key, widget);
        }
    });
}

/// `ui/status-updated`.
pub(in crate::psi) fn write_statuses(writer: &mut EdnWriter<'_>, panel: &Panel) {
    writer.map(|data| {
        data.key("statuses");
        write_status_list(data, panel);
    });
}

/// The statuses, sorted by their keys.
pub(in crate::psi) fn write_status_list(writer: &mut EdnWriter<'_>, panel: &Panel) {
    writer.vector(|list| {
        for (key, text) in panel.statuses() {
            list.map(|map| {
                map.field("extension-id", key).field("text", text);
            });
        }
    });
}

/// `ui/notification`.
pub(in crate::psi) fn write_notification(writer: &mut EdnWriter<'_>, notification: &Notification) {
    writer.map(|data| {
        data.field("id", &notification.id)
            .field("message", &notification.message)
            .field("level", notification.level)
            .field_if_some("extension-id", notification.extension.as_ref());
    });
}

fn write_widget(writer: &mut EdnWriter<'_>, key: &str, widget: &Widget) {
    writer.map(|map| {
        map.field("extension-id", key)
            .field("widget-id", key)
            .field("placement", &Keyword(widget.placement()))
            .field("content", &widget.lines)
            .key("content-lines")
            .vector(|lines| {
                for line in &widget.lines {
                    lines.map(|map| {
                        map.field("text", line);
                    });
                }
            });
    });
}
