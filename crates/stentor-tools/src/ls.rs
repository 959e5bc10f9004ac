//! `ls`: the names in a folder.

use std::collections::BinaryHeap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use stentor_agent::tool::{
    Tool, ToolContext, ToolEffect, ToolFuture, ToolOutput, ToolSpec, Touches,
};
use tokio_util::sync::CancellationToken;

use crate::call;
use crate::fault::Fault;
use crate::paths;
use crate::search::{LeftOut, Listing};

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
        call::outcome(async move {
            let Arguments { path, limit } = call::arguments("ls", arguments)?;
            let folder = paths::absolute(path.as_deref().unwrap_or_default(), &context.cwd);
            let limit = call::whole_number("limit", limit, 1)?.unwrap_or(DEFAULT_LIMIT);
            let left_out = LeftOut::below(&folder, &self.spec, &context);
            let token = context.cancel.clone();
            call::blocking(&context.cancel, move || {
                list(&folder, limit, left_out, &token)
            })
            .await
        })
    }
}

fn list(
    folder: &Path,
    limit: u64,
    mut left_out: LeftOut,
    cancel: &CancellationToken,
) -> Result<ToolOutput, Fault> {
    let metadata = std::fs::metadata(folder)
        .map_err(|_| Fault::refused(format!("Path not found: {}", folder.display())))?;
    if !metadata.is_dir() {
        return Err(Fault::refused(format!(
            "Not a directory: {}",
            folder.display()
        )));
    }
    let cannot_read =
        |error: std::io::Error| Fault::refused(format!("Cannot read directory: {error}"));
    // Only the first names in order are kept, however many there are.
    let mut first: BinaryHeap<(String, String)> = BinaryHeap::new();
    let mut more = false;
    for entry in std::fs::read_dir(folder).map_err(cannot_read)? {
        if cancel.is_cancelled() {
            return Err(Fault::Aborted);
        }
        let entry = entry.map_err(cannot_read)?;
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        if left_out.takes(&entry.path(), is_link) {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        first.push((name.to_lowercase(), name));
        if first.len() as u64 > limit {
            first.pop();
            more = true;
        }
    }
    let mut lines: Vec<String> = first
        .into_sorted_vec()
        .into_iter()
        .map(|(_, name)| match folder.join(&name).is_dir() {
            true => format!("{name}/"),
            false => name,
        })
        .collect();
    if lines.is_empty() {
        lines.push("(empty directory)".to_owned());
    }
    let mut listing = Listing::new(lines);
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
