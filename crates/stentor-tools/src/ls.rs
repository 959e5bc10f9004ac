//! `ls`: the names in a folder.

use std::collections::BinaryHeap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::FileType;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use stentor_agent::tool::{
    Tool, ToolContext, ToolEffect, ToolFuture, ToolOutput, ToolSpec, Touches,
};
use tokio_util::sync::CancellationToken;

use crate::folder::Folder;
use crate::paths::{self, FileTarget};
use crate::search::{DeniedResults, ResultListing};
use crate::tool_error::ToolError;
use crate::{file, tool_call};

/// Lists a folder.
pub(crate) struct Ls {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    path: Option<String>,
    limit: Option<f64>,
}

const DEFAULT_LIMIT: u64 = 500;

impl Default for Ls {
    fn default() -> Self {
        Self {
            spec: ToolSpec {
                name: "ls".into(),
                label: "ls".into(),
                description: "List directory contents. Returns entries sorted alphabetically, \
                    with '/' suffix for directories. Includes dotfiles. Output is truncated to \
                    500 entries or 50KB (whichever is hit first)."
                    .into(),
                parameters: json!({
                    "type": "object",
                    "properties": {
                        "path": {
                            "type": "string",
                            "description": "Directory to list (default: current directory)"
                        },
                        "limit": {
                            "type": "number",
                            "description": "Maximum number of entries to return (default: 500)"
                        }
                    },
                    "required": []
                })
                .into(),
                effect: ToolEffect::Reads,
            },
        }
    }
}

impl Tool for Ls {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, arguments: &Map<String, Value>, cwd: &Path) -> Touches {
        paths::touched(arguments, "path", cwd)
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        tool_call::outcome(async move {
            let Arguments { path, limit } = tool_call::arguments("ls", arguments)?;
            let target = FileTarget::judged(path.as_deref().unwrap_or_default(), &context);
            let limit = tool_call::whole_number("limit", limit, 1)?.unwrap_or(DEFAULT_LIMIT);
            let left_out = DeniedResults::below(&target.given, &self.spec, &context);
            let token = context.cancel.clone();
            tool_call::blocking(&context.cancel, move || {
                list(&target, limit, left_out, &token)
            })
            .await
        })
    }
}

fn list(
    target: &FileTarget,
    limit: u64,
    mut left_out: DeniedResults,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let given = target.given.as_path();
    let opened = Folder::open_target(target, "stat", file::LOOK_AT);
    let (opened, metadata) = opened.map_err(|fault| match fault.code() {
        Some(_) => ToolError::refused(format!("Path not found: {}", given.display())),
        None => fault,
    })?;
    if !metadata.is_dir() {
        let what = format!("Not a directory: {}", given.display());
        return Err(ToolError::refused(what));
    }
    let folder = Folder::of_open(opened);
    let cannot_read =
        |error: std::io::Error| ToolError::refused(format!("Cannot read directory: {error}"));
    // Only the first names in order are kept, however many there are.
    let mut first: BinaryHeap<(String, OsString)> = BinaryHeap::new();
    let mut more = false;
    for entry in folder.names().map_err(cannot_read)? {
        if cancel.is_cancelled() {
            return Err(ToolError::Aborted);
        }
        let entry = entry.map_err(|errno| cannot_read(errno.into()))?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        let kind = match entry.file_type() {
            FileType::Unknown => folder.kind(name, false).unwrap_or(FileType::Unknown),
            known => known,
        };
        if name == "." || name == ".." || left_out.takes(&given.join(name), kind.is_symlink()) {
            continue;
        }
        first.push((name.to_string_lossy().to_lowercase(), name.to_owned()));
        if first.len() as u64 > limit {
            first.pop();
            more = true;
        }
    }
    let mut lines: Vec<String> = first
        .into_sorted_vec()
        .into_iter()
        .map(|(_, name)| {
            let is_folder = folder.kind(&name, true).is_ok_and(|kind| kind.is_dir());
            let mark = if is_folder { "/" } else { "" };
            format!("{}{mark}", name.to_string_lossy())
        })
        .collect();
    if lines.is_empty() {
        lines.push("(empty directory)".to_owned());
    }
    let mut listing = ResultListing::new(lines);
    left_out.note_on(&mut listing);
    if more {
        listing.note(
            format!(
                "{limit} entries limit reached. Use limit={} for more",
                limit.saturating_mul(2)
            ),
            "entryLimitReached",
            json!(limit),
        );
    }
    Ok(listing.output())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Workshop;
    use std::os::unix::fs::symlink;

    #[tokio::test]
    async fn names_are_sorted_without_regard_to_case_and_folders_are_marked() {
        let workshop = Workshop::new();
        for name in ["b.txt", "A.txt", ".hidden", "dir/inner", "C/x"] {
            workshop.write(name, "");
        }
        symlink("dir", workshop.path("link")).unwrap();
        symlink("nowhere", workshop.path("lost")).unwrap();
        let output = workshop.run(Ls::default(), json!({})).await;
        assert_eq!(
            output,
            ToolOutput::text(".hidden\nA.txt\nb.txt\nC/\ndir/\nlink/\nlost")
        );
        let output = workshop.run(Ls::default(), json!({"path": "dir"})).await;
        assert_eq!(output, ToolOutput::text("inner"));
    }

    #[tokio::test]
    async fn a_limit_is_told() {
        let workshop = Workshop::new();
        for n in 0..5 {
            workshop.write(&format!("f{n}"), "");
        }
        let output = workshop.run(Ls::default(), json!({"limit": 2})).await;
        assert_eq!(
            output,
            ToolOutput::text("f0\nf1\n\n[2 entries limit reached. Use limit=4 for more]")
                .with_details(json!({"entryLimitReached": 2}))
        );
        let output = workshop.run(Ls::default(), json!({"limit": 5})).await;
        assert_eq!(output, ToolOutput::text("f0\nf1\nf2\nf3\nf4"));
    }

    #[tokio::test]
    async fn what_is_no_folder_is_a_clear_error() {
        let workshop = Workshop::new();
        workshop.write("file", "");
        std::fs::create_dir(workshop.path("empty")).unwrap();
        for (path, expected) in [
            ("file", "Not a directory: FOLDER/file"),
            ("missing", "Path not found: FOLDER/missing"),
            ("empty", "(empty directory)"),
        ] {
            let output = workshop.run(Ls::default(), json!({"path": path})).await;
            assert_eq!(workshop.shown(&output), expected);
        }
    }
}
