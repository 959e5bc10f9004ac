//! What an extension shows, and taking it away again when it ends.

use std::collections::HashSet;
use std::sync::Arc;

use stentor_agent::dialog::WidgetPlacement;
use stentor_agent::event::{EventKind, NoticeLevel, NoticeSource};
use stentor_wire::extension::{
    EditorTextParams, Level, LogParams, NotifyParams, Placement, StatusParams, TitleParams,
    WidgetParams, method,
};
use stentor_wire::jsonrpc::RawJson;

use super::limits::{LABEL_BYTES, LIST_ITEMS, MESSAGE_BYTES, SHOWN_KEYS};
use super::ordered_output::OrderedOutput;
use super::port::SessionPort;
use crate::truncation::cut;

/// Takes what an extension shows. Slow clients slow down nobody: what they have no room for waits
/// its turn, and what there is no room for even there is dropped.
pub(super) struct ShownUi {
    extension: String,
    output: Arc<OrderedOutput>,
    /// What is shown and must be taken away in the end.
    statuses: HashSet<String>,
    widgets: HashSet<String>,
}

impl ShownUi {
    /// Nothing is shown yet.
    pub fn new(extension: &str, output: Arc<OrderedOutput>) -> Self {
        Self {
            extension: extension.to_owned(),
            output,
            statuses: HashSet::new(),
            widgets: HashSet::new(),
        }
    }

    /// Shows what a notification says. `None` when it is no notification of this kind.
    pub fn show(
        &mut self,
        method: &str,
        params: RawJson<'_>,
    ) -> Option<Result<(), serde_json::Error>> {
        let event = match method {
            method::UI_NOTIFY => params.parse().map(|params| Some(notice(params))),
            method::UI_STATUS => params.parse().map(|params| self.status(params)),
            method::UI_WIDGET => params.parse().map(|params| self.widget(params)),
            method::UI_TITLE => params
                .parse()
                .map(|TitleParams { title }| Some(EventKind::Title(cut(title, LABEL_BYTES)))),
            method::UI_EDITOR_TEXT => params.parse().map(|EditorTextParams { text }| {
                Some(EventKind::EditorText(cut(text, MESSAGE_BYTES)))
            }),
            method::LOG => params.parse().map(|params| {
                log(&self.extension, params);
                None
            }),
            _ => return None,
        };
        Some(event.map(|event| {
            if let Some(event) = event
                && !self.output.show(Box::new(|port| port.publish(event)))
            {
                tracing::debug!(extension = self.extension, "too much to show");
            }
        }))
    }

    /// Takes away everything that is still shown, and what was about to be.
    pub fn clear(&mut self, port: &SessionPort) {
        self.output.wind_up();
        for key in self.statuses.drain() {
            port.publish(EventKind::Status { key, text: None });
        }
        for key in self.widgets.drain() {
            port.publish(EventKind::Widget {
                key,
                lines: None,
                placement: WidgetPlacement::default(),
            });
        }
    }

    fn status(&mut self, params: StatusParams) -> Option<EventKind> {
        let key = self.key(params.key);
        let text = params.text.map(|text| cut(text, MESSAGE_BYTES));
        track(&mut self.statuses, &key, text.is_some())?;
        Some(EventKind::Status { key, text })
    }

    fn widget(&mut self, params: WidgetParams) -> Option<EventKind> {
        let key = self.key(params.key);
        let lines = params.lines.map(|lines| {
            let lines = lines.into_iter().take(LIST_ITEMS);
            lines.map(|line| cut(line, LABEL_BYTES)).collect()
        });
        let placement = match params.placement {
            Placement::AboveEditor => WidgetPlacement::AboveEditor,
            Placement::BelowEditor => WidgetPlacement::BelowEditor,
        };
        track(&mut self.widgets, &key, lines.is_some())?;
        Some(EventKind::Widget {
            key,
            lines,
            placement,
        })
    }

    /// Keys of one extension never meet those of another.
    fn key(&self, key: Option<String>) -> String {
        match key {
            Some(key) => format!("{}:{}", self.extension, cut(key, LABEL_BYTES)),
            None => self.extension.clone(),
        }
    }
}

/// Remembers what is shown. `None` when there would be too much.
fn track(shown: &mut HashSet<String>, key: &str, is_shown: bool) -> Option<()> {
    if !is_shown {
        shown.remove(key);
    } else if !shown.contains(key) {
        if shown.len() >= SHOWN_KEYS {
            return None;
        }
        shown.insert(key.to_owned());
    }
    Some(())
}

fn notice(params: NotifyParams) -> EventKind {
    EventKind::Notice {
        level: match params.level {
            Level::Info => NoticeLevel::Info,
            Level::Warning => NoticeLevel::Warning,
            Level::Error => NoticeLevel::Error,
        },
        message: cut(params.message, MESSAGE_BYTES),
        from: NoticeSource::Extension,
    }
}

fn log(extension: &str, params: LogParams) {
    let message = cut(params.message, MESSAGE_BYTES);
    match params.level {
        Level::Info => tracing::info!(extension, "{message}"),
        Level::Warning => tracing::warn!(extension, "{message}"),
        Level::Error => tracing::error!(extension, "{message}"),
    }
}
