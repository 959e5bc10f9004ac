//! `write`: a file with the given content, folders and all.

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
use crate::{file, tool_call};

/// Creates or overwrites a file.
pub(crate) struct Write {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
    content: String,
}

impl Default for Write {
    fn default() -> Self {
        Self {
            spec: ToolSpec {
                name: "write".into(),
                label: "write".into(),
                description: "Write content to a file. Creates the file if it doesn't exist, \
                    overwrites if it does. Automatically creates parent directories."
                    .into(),
                parameters: json!({
                    "type": "object",
                    "properties": {
                        "path": {
                            "type": "string",
                            "description": "Path to the file to write (relative or absolute)"
                        },
                        "content": {
                            "type": "string",
                            "description": "Content to write to the file"
                        }
                    },
                    "required": ["path", "content"]
                })
                .into(),
                effect: ToolEffect::Writes,
            },
        }
    }
}

impl Tool for Write {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, arguments: &Map<String, Value>, cwd: &Path) -> Touches {
        paths::touched(arguments, "path", cwd)
    }

    fn preview(&self, arguments: &Map<String, Value>, _before: Option<&str>) -> Option<String> {
        let content = arguments.get("content")?.as_str()?;
        Some(content.to_owned())
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        tool_call::outcome(write(arguments, context))
    }
}

async fn write(
    arguments: Map<String, Value>,
    context: ToolContext,
) -> Result<ToolOutput, ToolError> {
    let Arguments { path, content } = tool_call::arguments("write", arguments)?;
    let target = FileTarget::judged(&path, &context);
    let length = content.len();
    let writing = context
        .place
        .write_text(&context.call_id, target.resolved()?, &content);
    let in_place = tokio::select! {
        biased;
        () = context.cancel.cancelled() => return Err(ToolError::Aborted),
        written = writing => written.map_err(ToolError::Place)?,
    };
    if !in_place {
        // A write that has begun is finished, so that its result tells the truth.
        tasks::spawn_blocking(move || file::replace(&target, content.as_bytes()))
            .await
            .map_err(|error| ToolError::refused(format!("the tool failed: {error}")))??;
    }
    Ok(ToolOutput::text(format!(
        "Successfully wrote {length} bytes to {path}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Workshop, is_gone, is_root};
    use std::os::unix::fs::{PermissionsExt, symlink};

    async fn writes(workshop: &Workshop, path: &str, content: &str) -> ToolOutput {
        let arguments = json!({"path": path, "content": content});
        workshop.run(Write::default(), arguments).await
    }

    #[tokio::test]
    async fn a_file_is_written_with_its_folders_and_overwritten() {
        let workshop = Workshop::new();
        for (content, expected) in [
            (
                "hello\nworld\n",
                "Successfully wrote 12 bytes to a/b/new.txt",
            ),
            ("é", "Successfully wrote 2 bytes to a/b/new.txt"),
            ("", "Successfully wrote 0 bytes to a/b/new.txt"),
        ] {
            let output = writes(&workshop, "a/b/new.txt", content).await;
            assert_eq!(output, ToolOutput::text(expected));
            let written = std::fs::read_to_string(workshop.path("a/b/new.txt")).unwrap();
            assert_eq!(written, content);
        }
    }

    #[tokio::test]
    async fn what_cannot_be_written_is_a_clear_error_and_changes_nothing() {
        let workshop = Workshop::new();
        workshop.write("file", "old");
        workshop.write("dir/x", "");
        for (path, expected) in [
            ("file/x", "EEXIST: file already exists, mkdir 'FOLDER/file'"),
            (
                "dir",
                "EISDIR: FOLDER/dir is a directory. List it with ls, or name a file in it.",
            ),
        ] {
            let output = writes(&workshop, path, "new").await;
            assert_eq!(workshop.shown(&output), expected);
            assert!(output.is_error);
        }
        assert_eq!(std::fs::read(workshop.path("file")).unwrap(), b"old");
    }

    #[tokio::test]
    async fn a_read_only_file_is_not_overwritten() {
        if is_root() {
            return; // Nothing is read-only to root.
        }
        let workshop = Workshop::new();
        workshop.write("file", "old");
        std::fs::set_permissions(workshop.path("file"), PermissionsExt::from_mode(0o444)).unwrap();
        let output = writes(&workshop, "file", "new").await;
        assert_eq!(
            workshop.shown(&output),
            "EACCES: permission denied, open 'FOLDER/file'"
        );
        assert_eq!(std::fs::read(workshop.path("file")).unwrap(), b"old");
    }

    #[tokio::test]
    async fn a_link_is_written_through() {
        let workshop = Workshop::new();
        workshop.write("real", "old");
        symlink("real", workshop.path("link")).unwrap();
        writes(&workshop, "link", "new").await;
        assert_eq!(std::fs::read(workshop.path("real")).unwrap(), b"new");
        assert!(workshop.path("link").is_symlink());
    }

    #[tokio::test]
    async fn a_cancelled_call_writes_nothing() {
        let workshop = Workshop::new();
        workshop.cancel.cancel();
        let output = writes(&workshop, "x", "y").await;
        assert_eq!(output, ToolOutput::error("Operation aborted"));
        assert!(is_gone(&workshop.path("x")));
    }
}
