//! `read`: a file's text by lines, or its picture.

use std::fs::File;
use std::io::{Cursor, Read as _, Seek};
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use stentor_agent::tool::{
    TextFuture, Tool, ToolContext, ToolEffect, ToolFuture, ToolOutput, ToolSpec, Touches,
};
use tokio_util::sync::CancellationToken;

use crate::paths::{self, FileTarget};
use crate::tool_error::ToolError;
use crate::{file, tool_call};

mod kind;
mod whole;
mod window;

use kind::FileKind;
use window::Range;

/// Shows a file.
pub(crate) struct Read {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
    offset: Option<f64>,
    limit: Option<f64>,
}

impl Default for Read {
    fn default() -> Self {
        Self {
            spec: ToolSpec {
                name: "read".into(),
                label: "read".into(),
                description: "Read the contents of a file. Supports text files and images (jpg, \
                    png, gif, webp). Images are sent as attachments. For text files, output is \
                    truncated to 2000 lines or 50KB (whichever is hit first). Use offset/limit \
                    for large files. When you need the full file, continue with offset until \
                    complete."
                    .into(),
                parameters: json!({
                    "type": "object",
                    "properties": {
                        "path": {
                            "type": "string",
                            "description": "Path to the file to read (relative or absolute)"
                        },
                        "offset": {
                            "type": "number",
                            "description": "Line number to start reading from (1-indexed)"
                        },
                        "limit": {
                            "type": "number",
                            "description": "Maximum number of lines to read"
                        }
                    },
                    "required": ["path"]
                })
                .into(),
                effect: ToolEffect::Reads,
            },
        }
    }
}

impl Tool for Read {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, arguments: &Map<String, Value>, cwd: &Path) -> Touches {
        paths::touched(arguments, "path", cwd)
    }

    fn whole_text(
        self: Arc<Self>,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> Option<TextFuture> {
        Some(Box::pin(async move {
            Ok(whole::text(arguments, &context).await?)
        }))
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        tool_call::outcome(read(arguments, context))
    }
}

async fn read(
    arguments: Map<String, Value>,
    context: ToolContext,
) -> Result<ToolOutput, ToolError> {
    let Arguments {
        path: shown,
        offset,
        limit,
    } = tool_call::arguments("read", arguments)?;
    let range = Range::of(offset, limit)?;
    let target = FileTarget::judged(&shown, &context);
    match find(&target, &context).await? {
        TargetContent::Text(source) => show(shown, source, range, context.cancel).await,
        TargetContent::Other(file, kind) => {
            let path = target.given;
            tool_call::blocking(&context.cancel, move || kind.output(file, &path)).await
        }
    }
}

/// What is at the place of a target.
enum TargetContent {
    Text(TextSource),
    Other(File, FileKind),
}

async fn find(target: &FileTarget, context: &ToolContext) -> Result<TargetContent, ToolError> {
    let on_disk = {
        let target = target.clone();
        tool_call::blocking(&context.cancel, move || Ok(look_at(&target))).await?
    };
    let (file, kind) = match on_disk {
        Ok(found) => found,
        // It may exist in the client only: not saved yet.
        Err(missing) if missing.code() == Some("ENOENT") => {
            return match text_of_place(context, target.resolved()?).await? {
                Some(text) => Ok(TargetContent::Text(TextSource::Text(text))),
                None => Err(missing),
            };
        }
        Err(fault) => return Err(fault),
    };
    if kind != FileKind::Text {
        return Ok(TargetContent::Other(file, kind));
    }
    let text = text_of_place(context, target.resolved()?).await?;
    Ok(TargetContent::Text(match text {
        Some(text) => TextSource::Text(text),
        None => TextSource::File(file),
    }))
}

enum TextSource {
    Text(String),
    File(File),
}

/// Opens the file and tells from its first bytes what it is.
fn look_at(target: &FileTarget) -> Result<(File, FileKind), ToolError> {
    let (mut file, metadata) = file::open_judged(target)?;
    let mut start = Vec::with_capacity(kind::TELLING_BYTES as usize);
    (&mut file)
        .take(kind::TELLING_BYTES)
        .read_to_end(&mut start)
        .and_then(|_| file.rewind())
        .map_err(ToolError::system("read", &target.given))?;
    let kind = FileKind::of(&start, metadata.len());
    Ok((file, kind))
}

async fn text_of_place(context: &ToolContext, path: &Path) -> Result<Option<String>, ToolError> {
    tokio::select! {
        () = context.cancel.cancelled() => Err(ToolError::Aborted),
        text = context.place.read_text(path) => text.map_err(ToolError::Place),
    }
}

async fn show(
    shown: String,
    source: TextSource,
    range: Range,
    cancel: CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let token = cancel.clone();
    tool_call::blocking(&cancel, move || {
        let window = match source {
            TextSource::Text(text) => window::read(Cursor::new(text), range, &token),
            TextSource::File(file) => window::read(file, range, &token),
        };
        window
            .map_err(|error| match token.is_cancelled() {
                true => ToolError::Aborted,
                false => ToolError::system("read", Path::new(&shown))(error),
            })?
            .output(&shown, range)
    })
    .await
}

#[cfg(test)]
mod tests;
