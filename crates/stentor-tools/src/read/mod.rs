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

use crate::paths::{self, Target};
use crate::tool_error::ToolError;
use crate::{file, tool_call};

mod kind;
mod whole;
mod window;

use kind::Kind;
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
            let text = whole::text(arguments, &context).await;
            text.map_err(|error| error.to_string())
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
    let target = Target::judged(&shown, &context);
    match find(&target, &context).await? {
        Found::Text(source) => show(shown, source, range, context.cancel).await,
        Found::Other(file, kind) => {
            let path = target.given;
            tool_call::blocking(&context.cancel, move || kind.output(file, &path)).await
        }
    }
}

/// What is at the place of a target.
enum Found {
    Text(Source),
    Other(File, Kind),
}

async fn find(target: &Target, context: &ToolContext) -> Result<Found, ToolError> {
    let on_disk = {
        let target = target.clone();
        tool_call::blocking(&context.cancel, move || Ok(look_at(&target))).await?
    };
    let (file, kind) = match on_disk {
        Ok(found) => found,
        // It may exist in the client only: not saved yet.
        Err(missing) if missing.code() == Some("ENOENT") => {
            return match text_of_place(context, target.resolved()?).await? {
                Some(text) => Ok(Found::Text(Source::Text(text))),
                None => Err(missing),
            };
        }
        Err(fault) => return Err(fault),
    };
    if kind != Kind::Text {
        return Ok(Found::Other(file, kind));
    }
    let text = text_of_place(context, target.resolved()?).await?;
    Ok(Found::Text(match text {
        Some(text) => Source::Text(text),
        None => Source::File(file),
    }))
}

enum Source {
    Text(String),
    File(File),
}

/// Opens the file and tells from its first bytes what it is.
fn look_at(target: &Target) -> Result<(File, Kind), ToolError> {
    let (mut file, metadata) = file::open_judged(target)?;
    let mut start = Vec::with_capacity(kind::TELLING_BYTES as usize);
    (&mut file)
        .take(kind::TELLING_BYTES)
        .read_to_end(&mut start)
        .and_then(|_| file.rewind())
        .map_err(ToolError::system("read", &target.given))?;
    let kind = Kind::of(&start, metadata.len());
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
    source: Source,
    range: Range,
    cancel: CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let token = cancel.clone();
    tool_call::blocking(&cancel, move || {
        let window = match source {
            Source::Text(text) => window::read(Cursor::new(text), range, &token),
            Source::File(file) => window::read(file, range, &token),
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
