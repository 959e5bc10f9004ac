//! `edit`: replaces exact pieces of a file.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use stentor_agent::tasks;
use stentor_agent::tool::{
    Tool, ToolContext, ToolEffect, ToolFuture, ToolOutput, ToolSpec, Touches,
};

use crate::paths::{self, FileTarget};
use crate::tool_error::ToolError;
use crate::truncation::size;
use crate::{file, tool_call};

mod diff;
mod nearest;
mod replace;

use replace::{Edited, TextReplacement};

/// Changes a file.
pub(crate) struct Edit {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    path: String,
    edits: Option<Value>,
    /// The only edit, as older models give it.
    old_text: Option<String>,
    new_text: Option<String>,
}

/// A file larger than this is not edited by replacing text.
const MAX_FILE_BYTES: u64 = 64 << 20;

impl Default for Edit {
    fn default() -> Self {
        Self {
            spec: ToolSpec {
                name: "edit".into(),
                label: "edit".into(),
                description: "Edit a single file using exact text replacement. Every \
                    edits[].oldText must match a unique, non-overlapping region of the original \
                    file. If two changes affect the same block or nearby lines, merge them into \
                    one edit instead of emitting overlapping edits. Do not include large unchanged \
                    regions just to connect distant changes."
                    .into(),
                parameters: json!({
                    "type": "object",
                    "properties": {
                        "path": {
                            "type": "string",
                            "description": "Path to the file to edit (relative or absolute)"
                        },
                        "edits": {
                            "type": "array",
                            "description": "One or more targeted replacements. Each edit is \
                                matched against the original file, not incrementally.",
                            "items": {
                                "type": "object",
                                "properties": {
                                    "oldText": {
                                        "type": "string",
                                        "description": "Exact text for one targeted replacement. \
                                            It must be unique in the original file."
                                    },
                                    "newText": {
                                        "type": "string",
                                        "description": "Replacement text for this edit."
                                    }
                                },
                                "required": ["oldText", "newText"]
                            }
                        }
                    },
                    // Not `edits`: one edit may come as oldText and newText beside the path.
                    "required": ["path"]
                })
                .into(),
                effect: ToolEffect::Writes,
            },
        }
    }
}

impl Tool for Edit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, arguments: &Map<String, Value>, cwd: &Path) -> Touches {
        paths::touched(arguments, "path", cwd)
    }

    fn preview(&self, arguments: &Map<String, Value>, before: Option<&str>) -> Option<String> {
        let arguments: Arguments = tool_call::arguments("edit", arguments.clone()).ok()?;
        let path = arguments.path.clone();
        let edits = replacements(arguments).ok()?;
        let edited = replace::apply(before?, &edits, &path).ok()?;
        Some(edited.text)
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        tool_call::outcome(edit(arguments, context))
    }
}

async fn edit(
    arguments: Map<String, Value>,
    context: ToolContext,
) -> Result<ToolOutput, ToolError> {
    let arguments: Arguments = tool_call::arguments("edit", arguments)?;
    let shown = arguments.path.clone();
    let target = FileTarget::judged(&shown, &context);
    let replacements = replacements(arguments)?;
    let count = replacements.len();

    let in_place = tokio::select! {
        biased;
        () = context.cancel.cancelled() => return Err(ToolError::Aborted),
        text = context.place.read_text(target.resolved()?) => text.map_err(ToolError::Place)?,
    };
    let original = match in_place {
        Some(text) => text,
        None => {
            let (target, shown) = (target.clone(), shown.clone());
            tool_call::blocking(&context.cancel, move || read(&target, &shown)).await?
        }
    };
    let (text, diff) = {
        let (original, shown) = (original.clone(), shown.clone());
        tool_call::blocking(&context.cancel, move || {
            let Edited {
                text,
                before,
                after,
            } = replace::apply(&original, &replacements, &shown)?;
            Ok((text, diff::between(&shown, &before, &after)))
        })
        .await?
    };
    let written_in_place = context
        .place
        .write_text(&context.call_id, target.resolved()?, &text)
        .await
        .map_err(ToolError::Place)?;
    if !written_in_place {
        save(target, shown.clone(), original, text).await?;
    }
    Ok(ToolOutput::text(format!(
        "Successfully replaced {count} block(s) in {shown}."
    ))
    .with_details(json!({
        "diff": diff.text,
        "patch": diff.patch,
        "firstChangedLine": diff.first_changed_line,
    })))
}

/// The edits in any of the forms models give them in.
fn replacements(arguments: Arguments) -> Result<Vec<TextReplacement>, ToolError> {
    let wrong = |problem: &str| {
        ToolError::refused(format!(
            "Edit tool input is invalid. {problem} Give edits: [{{\"oldText\": …, \"newText\": …}}]."
        ))
    };
    let listed = match arguments.edits {
        // Some models put the list into a string.
        Some(Value::String(text)) => serde_json::from_str(&text)
            .map_err(|error| wrong(&format!("edits is a string that is not JSON: {error}.")))?,
        Some(value) => value,
        None => Value::Null,
    };
    let mut edits: Vec<TextReplacement> = match listed {
        Value::Null => Vec::new(),
        Value::Array(list) => list
            .into_iter()
            .enumerate()
            .map(|(index, edit)| {
                serde_json::from_value(edit)
                    .map_err(|error| wrong(&format!("edits[{index}]: {error}.")))
            })
            .collect::<Result<_, _>>()?,
        one @ Value::Object(_) => {
            vec![serde_json::from_value(one).map_err(|error| wrong(&format!("edits: {error}.")))?]
        }
        _ => return Err(wrong("edits must be a list.")),
    };
    match (arguments.old_text, arguments.new_text) {
        (Some(old_text), Some(new_text)) => edits.push(TextReplacement { old_text, new_text }),
        (None, None) => {}
        _ => return Err(wrong("oldText and newText belong together.")),
    }
    if edits.is_empty() {
        return Err(wrong("edits must contain at least one replacement."));
    }
    Ok(edits)
}

fn read(target: &FileTarget, shown: &str) -> Result<String, ToolError> {
    let (file, metadata) = file::open_judged(target).map_err(|fault| match fault.code() {
        Some(code) => {
            ToolError::refused(format!("Could not edit file: {shown}. Error code: {code}."))
        }
        None => fault,
    })?;
    if metadata.len() > MAX_FILE_BYTES {
        return Err(ToolError::refused(format!(
            "Could not edit file: {shown}. It is {}; the limit for editing is {}. Use bash, for \
             example sed.",
            size(metadata.len()),
            size(MAX_FILE_BYTES)
        )));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(ToolError::system("read", &target.given))?;
    String::from_utf8(bytes).map_err(|error| {
        ToolError::refused(format!(
            "Could not edit file: {shown}. It is not UTF-8 text (byte {} is the first that is \
             not), and editing it as text would damage it. Use bash.",
            error.utf8_error().valid_up_to()
        ))
    })
}

/// Writes the new text, unless somebody else has changed the file since it was read.
async fn save(
    target: FileTarget,
    shown: String,
    original: String,
    text: String,
) -> Result<(), ToolError> {
    // Once begun it is finished, so that the result tells the truth.
    tasks::spawn_blocking(move || {
        if read(&target, &shown).ok().as_deref() != Some(original.as_str()) {
            return Err(changed_meanwhile(&shown));
        }
        file::replace(&target, text.as_bytes())
    })
    .await
    .map_err(|error| ToolError::refused(format!("the tool failed: {error}")))?
}

fn changed_meanwhile(shown: &str) -> ToolError {
    ToolError::refused(format!(
        "Could not edit file: {shown}. It was changed by somebody else in the meantime; nothing \
         was written. Read it again and repeat the edit."
    ))
}

#[cfg(test)]
mod tests;
