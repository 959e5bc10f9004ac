//! What a call would change in a file, shown before somebody allows it.

use std::path::Path;

use serde_json::Value;
use stentor_agent::permission::PermissionRequest;
use stentor_text::line_diff::LineDiff;

/// Larger files are not compared.
const LARGEST_FILE_BYTES: u64 = 1 << 20;
/// Unchanged lines around a change.
const CONTEXT_LINES: usize = 2;

/// The change as a unified patch; `None` when the call changes no file, or nothing can be shown of it.
/// Waits for the disk.
pub fn patch(request: &PermissionRequest) -> Option<String> {
    let path = request.paths.first()?;
    let arguments = &request.call.arguments;
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let before = content(path)?;
    let after = match request.call.name.as_str() {
        "write" => text("content")?.to_owned(),
        "edit" => edited(&before, arguments)?,
        _ => return None,
    };
    let diff = LineDiff::new(&before, &after);
    let name = path.display().to_string();
    (!diff.changes.is_empty()).then(|| diff.patch(&name, CONTEXT_LINES))
}

/// What the file holds; nothing when it is not there yet.
fn content(path: &Path) -> Option<String> {
    let Ok(found) = std::fs::metadata(path) else {
        return Some(String::new());
    };
    // Anything but a file could make the reader wait for ever.
    let is_shown = found.is_file() && found.len() <= LARGEST_FILE_BYTES;
    is_shown.then(|| std::fs::read_to_string(path).ok())?
}

/// The text after the edits. One whose old text is not there is left out: the tool will refuse it.
fn edited(before: &str, arguments: &serde_json::Map<String, Value>) -> Option<String> {
    let parsed: Value;
    let edits = match arguments.get("edits") {
        Some(Value::String(text)) => {
            parsed = serde_json::from_str(text).ok()?;
            parsed.as_array()
        }
        Some(edits) => edits.as_array(),
        None => None,
    };
    let whole = Value::Object(arguments.clone());
    let one = [whole];
    let edits = edits.map_or(&one[..], Vec::as_slice);
    let mut after = before.to_owned();
    for edit in edits {
        let text = |name: &str| edit.get(name).and_then(Value::as_str);
        let (old, new) = (text("oldText")?, text("newText")?);
        after = after.replacen(old, new, 1);
    }
    Some(after)
}
