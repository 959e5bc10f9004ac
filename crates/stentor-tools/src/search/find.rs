//! `find`: files by the pattern of their names.

use std::path::Path;
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use stentor_agent::tool::{
    Tool, ToolContext, ToolEffect, ToolFuture, ToolOutput, ToolSpec, Touches,
};
use tokio_util::sync::CancellationToken;

use super::left_out::DeniedResults;
use super::listing::ResultListing;
use super::walk::{Root, SearchEntry};
use crate::paths::{self, FileTarget};
use crate::tool_call;
use crate::tool_error::ToolError;

/// Finds files by a glob.
pub(crate) struct Find {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    pattern: String,
    path: Option<String>,
    limit: Option<f64>,
}

const DEFAULT_LIMIT: u64 = 1000;

impl Default for Find {
    fn default() -> Self {
        Self {
            spec: ToolSpec {
                name: "find".into(),
                label: "find".into(),
                description: "Search for files by glob pattern. Returns matching file paths \
                    relative to the search directory. Respects .gitignore. Output is truncated to \
                    1000 results or 50KB (whichever is hit first)."
                    .into(),
                parameters: json!({
                    "type": "object",
                    "properties": {
                        "pattern": {
                            "type": "string",
                            "description": "Glob pattern to match files, e.g. '*.ts', \
                                '**/*.json', or 'src/**/*.spec.ts'"
                        },
                        "path": {
                            "type": "string",
                            "description": "Directory to search in (default: current directory)"
                        },
                        "limit": {
                            "type": "number",
                            "description": "Maximum number of results (default: 1000)"
                        }
                    },
                    "required": ["pattern"]
                })
                .into(),
                effect: ToolEffect::Reads,
            },
        }
    }
}

impl Tool for Find {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, arguments: &Map<String, Value>, cwd: &Path) -> Touches {
        paths::touched(arguments, "path", cwd)
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        tool_call::outcome(async move {
            let Arguments {
                pattern,
                path,
                limit,
            } = tool_call::arguments("find", arguments)?;
            let target = FileTarget::judged(path.as_deref().unwrap_or_default(), &context);
            let limit = tool_call::whole_number("limit", limit, 1)?.unwrap_or(DEFAULT_LIMIT);
            let left_out = DeniedResults::below(&target.given, &self.spec, &context);
            let token = context.cancel.clone();
            tool_call::blocking(&context.cancel, move || {
                find(&pattern, &target, limit, left_out, &token)
            })
            .await
        })
    }
}

/// How a pattern looks at a path.
struct FindPattern {
    glob: GlobMatcher,
    looks_at: LooksAt,
}

enum LooksAt {
    Name,
    Relative,
    Absolute,
}

impl FindPattern {
    /// A pattern without a slash is about names; with one about paths, at any depth. Small
    /// letters stand for large ones too, unless there is a large one.
    fn new(pattern: &str) -> Result<Self, ToolError> {
        let (text, looks_at) = if pattern.starts_with('/') {
            (pattern.to_owned(), LooksAt::Absolute)
        } else if pattern.starts_with("**/") || pattern == "**" {
            (pattern.to_owned(), LooksAt::Relative)
        } else if pattern.contains('/') {
            let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
            (format!("**/{pattern}"), LooksAt::Relative)
        } else {
            (pattern.to_owned(), LooksAt::Name)
        };
        let glob = GlobBuilder::new(&text)
            .literal_separator(true)
            .case_insensitive(!pattern.chars().any(char::is_uppercase))
            .build()
            .map_err(|error| {
                ToolError::refused(format!(
                    "Invalid glob pattern '{pattern}': {}",
                    error.kind()
                ))
            })?;
        Ok(Self {
            glob: glob.compile_matcher(),
            looks_at,
        })
    }

    fn matches(&self, found: &SearchEntry) -> bool {
        match self.looks_at {
            LooksAt::Name => found
                .path
                .file_name()
                .is_some_and(|name| self.glob.is_match(Path::new(name))),
            LooksAt::Relative => self.glob.is_match(&found.relative),
            LooksAt::Absolute => self.glob.is_match(&found.path),
        }
    }
}

fn find(
    pattern: &str,
    target: &FileTarget,
    limit: u64,
    mut left_out: DeniedResults,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let pattern = FindPattern::new(pattern)?;
    let mut lines = Vec::new();
    let mut limit_reached = false;
    if let Root::Folder(mut tree) = Root::open(target)? {
        for found in tree.entries(cancel) {
            let found = found?;
            if left_out.takes(&found.path, found.is_link) || !pattern.matches(&found) {
                continue;
            }
            let Ok(kind) = tree.kind(&found.relative) else {
                continue;
            };
            if lines.len() as u64 >= limit {
                limit_reached = true;
                break;
            }
            let mut line = found.relative.to_string_lossy().into_owned();
            if kind.is_dir() {
                line.push('/');
            }
            lines.push(line);
        }
    }
    if lines.is_empty() {
        lines.push("No files found matching pattern".to_owned());
    }
    let mut listing = ResultListing::new(lines);
    left_out.note_on(&mut listing);
    if limit_reached {
        let more = limit.saturating_mul(2);
        listing.note(
            format!("{limit} results limit reached. Use limit={more} for more, or refine pattern"),
            "resultLimitReached",
            json!(limit),
        );
    }
    Ok(listing.output())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Workshop, text};

    fn tree() -> Workshop {
        let workshop = Workshop::new();
        for name in [
            "README.md",
            "src/main.rs",
            "src/deep/lib.rs",
            "src/deep/Upper.RS",
            "vendor/src/x.rs",
            ".hidden/secret.rs",
            ".git/config.rs",
            "target/out.rs",
            "deeper/ignored/me.rs",
        ] {
            workshop.write(name, "");
        }
        workshop.write(".gitignore", "target/\n");
        workshop.write("deeper/.gitignore", "ignored\n");
        workshop
    }

    #[tokio::test]
    async fn globs_find_what_git_does_not_ignore() {
        let workshop = tree();
        for (arguments, expected) in [
            (
                json!({"pattern": "*.rs"}),
                ".hidden/secret.rs\nsrc/deep/Upper.RS\nsrc/deep/lib.rs\nsrc/main.rs\nvendor/src/x.rs",
            ),
            (json!({"pattern": "Upper*"}), "src/deep/Upper.RS"),
            (json!({"pattern": "*.RS"}), "src/deep/Upper.RS"),
            (
                json!({"pattern": "src/*.rs"}),
                "src/main.rs\nvendor/src/x.rs",
            ),
            (json!({"pattern": "deep"}), "src/deep/"),
            (
                json!({"pattern": "**/deep/*"}),
                "src/deep/Upper.RS\nsrc/deep/lib.rs",
            ),
            (
                json!({"pattern": "*.rs", "path": "src/deep"}),
                "Upper.RS\nlib.rs",
            ),
            (
                json!({"pattern": "*.py"}),
                "No files found matching pattern",
            ),
            (
                json!({"pattern": "*", "path": "nowhere"}),
                "Path not found: FOLDER/nowhere",
            ),
            (
                json!({"pattern": "[a"}),
                "Invalid glob pattern '[a': unclosed character class; missing ']'",
            ),
        ] {
            let output = workshop.run(Find::default(), arguments.clone()).await;
            assert_eq!(workshop.shown(&output), expected, "{arguments}");
        }
    }

    #[tokio::test]
    async fn a_limit_is_told() {
        let workshop = tree();
        let output = workshop
            .run(Find::default(), json!({"pattern": "*.rs", "limit": 1}))
            .await;
        assert_eq!(
            output,
            ToolOutput::text(
                ".hidden/secret.rs\n\n[1 results limit reached. Use limit=2 for more, or refine \
                 pattern]"
            )
            .with_details(json!({"resultLimitReached": 1}))
        );
    }

    #[tokio::test]
    async fn many_results_are_cut_at_50_kib() {
        let workshop = Workshop::new();
        let long = "n".repeat(200);
        for n in 100..400 {
            workshop.write(&format!("{long}{n}"), "");
        }
        let output = workshop.run(Find::default(), json!({"pattern": "*"})).await;
        assert!(text(&output).ends_with("\n\n[50.0KB limit reached]"));
        assert_eq!(
            output.details.unwrap()["truncation"]["truncatedBy"],
            "bytes"
        );
    }

    #[tokio::test]
    async fn a_cancelled_search_ends() {
        let workshop = tree();
        workshop.cancel.cancel();
        let output = workshop.run(Find::default(), json!({"pattern": "*"})).await;
        assert_eq!(output, ToolOutput::error("Operation aborted"));
    }
}
