//! Shapes of ACP's frames, read and written.

use serde_json::{Value, json};

use super::json::{list, str};
use crate::prompt::{AgentPrompt, OfferedModel};

pub(super) fn blocks(prompt: AgentPrompt) -> Vec<Value> {
    let text = json!({ "type": "text", "text": prompt.text });
    let pictures = prompt.pictures.into_iter().map(
        |picture| json!({ "type": "image", "data": picture.data, "mimeType": picture.mime_type }),
    );
    std::iter::once(text).chain(pictures).collect()
}

/// The values of a selection, its groups included.
pub(super) fn selectable(option: &Value) -> Vec<OfferedModel> {
    let mut models = Vec::new();
    for entry in list(option, "options") {
        let inner = list(entry, "options");
        let entries = if inner.is_empty() {
            std::slice::from_ref(entry)
        } else {
            inner
        };
        models.extend(entries.iter().map(|entry| OfferedModel {
            id: str(entry, "value").to_owned(),
            name: str(entry, "name").to_owned(),
        }));
    }
    models
}
