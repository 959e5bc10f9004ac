//! `grep`: lines by a pattern of their text.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::overrides::{Override, OverrideBuilder};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use stentor_agent::tool::{
    Tool, ToolContext, ToolEffect, ToolFuture, ToolOutput, ToolSpec, Touches,
};
use tokio_util::sync::CancellationToken;

use super::left_out::LeftOut;
use super::listing::Listing;
use super::walk;
use crate::call;
use crate::fault::Fault;
use crate::file;
use crate::paths;
use crate::truncation::{self, MAX_BYTES, MAX_LINE_CHARS};

/// Searches the text of files.
pub(crate) struct Grep {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    literal: bool,
    context: Option<f64>,
    limit: Option<f64>,
}

const DEFAULT_LIMIT: u64 = 100;
/// More lines around a match than anyone reads.
const MAX_CONTEXT: u64 = 1000;
/// A line longer than this is no text; the file that has one is left out.
const MAX_SEARCHED_LINE_BYTES: usize = 16 << 20;

impl Default for Grep {
    fn default() -> Self {
        Self {
            spec: ToolSpec {
                name: "grep".into(),
                label: "grep".into(),
                description: "Search file contents for a pattern. Returns matching lines with \
                    file paths and line numbers. Respects .gitignore. Output is truncated to 100 \
                    matches or 50KB (whichever is hit first). Long lines are truncated to 500 \
                    chars."
                    .into(),
                parameters: json!({
                    "type": "object",
                    "properties": {
                        "pattern": {
                            "type": "string",
                            "description": "Search pattern (regex or literal string)"
                        },
                        "path": {
                            "type": "string",
                            "description": "Directory or file to search (default: current \
                                directory)"
                        },
                        "glob": {
                            "type": "string",
                            "description": "Filter files by glob pattern, e.g. '*.ts' or \
                                '**/*.spec.ts'"
                        },
                        "ignoreCase": {
                            "type": "boolean",
                            "description": "Case-insensitive search (default: false)"
                        },
                        "literal": {
                            "type": "boolean",
                            "description": "Treat pattern as literal string instead of regex \
                                (default: false)"
                        },
                        "context": {
                            "type": "number",
                            "description": "Number of lines to show before and after each match \
                                (default: 0)"
                        },
                        "limit": {
                            "type": "number",
                            "description": "Maximum number of matches to return (default: 100)"
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

impl Tool for Grep {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, arguments: &Map<String, Value>, cwd: &Path) -> Touches {
        paths::touched(arguments, "path", cwd)
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        call::outcome(async move {
            let arguments: Arguments = call::arguments("grep", arguments)?;
            let root = paths::absolute(arguments.path.as_deref().unwrap_or_default(), &context.cwd);
            let left_out = LeftOut::below(&root, &self.spec, &context);
            let token = context.cancel.clone();
            call::blocking(&context.cancel, move || {
                grep(&arguments, root, left_out, &token)
            })
            .await
        })
    }
}

fn grep(
    arguments: &Arguments,
    root: PathBuf,
    mut left_out: LeftOut,
    cancel: &CancellationToken,
) -> Result<ToolOutput, Fault> {
    let limit = call::whole_number("limit", arguments.limit, 0)?
        .unwrap_or(DEFAULT_LIMIT)
        .max(1);
    let context = call::whole_number("context", arguments.context, 0)?
        .unwrap_or_default()
        .min(MAX_CONTEXT) as usize;
    let matcher = matcher(arguments)?;
    let root = walk::root(root)?;
    let filter = arguments
        .glob
        .as_deref()
        .map(|glob| filter(glob, &root))
        .transpose()?;
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .line_terminator(LineTerminator::crlf())
        .before_context(context)
        .after_context(context)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_SEARCHED_LINE_BYTES))
        .build();
    let mut hits = Hits::new(limit);
    if root.is_dir() {
        for entry in walk::entries(walk::below(&root), cancel) {
            let entry = entry?;
            if entry.depth() > 0 && left_out.takes(entry.path(), entry.path_is_symlink()) {
                continue;
            }
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            let wanted = |path: &Path| {
                filter
                    .as_ref()
                    .is_none_or(|filter| !filter.matched(path, false).is_ignore())
            };
            if is_file && wanted(entry.path()) {
                let shown = walk::shown(entry.path(), &root);
                hits.search(&mut searcher, &matcher, entry.path(), shown, cancel)?;
            }
            if hits.is_full() {
                break;
            }
        }
    } else {
        // Named outright, it must be searchable; in a tree it would just be left out.
        file::open_regular(&root)?;
        let shown = walk::shown(&root, &root);
        hits.search(&mut searcher, &matcher, &root, shown, cancel)?;
    }
    Ok(hits.output(&left_out))
}

fn matcher(arguments: &Arguments) -> Result<RegexMatcher, Fault> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(arguments.ignore_case)
        .fixed_strings(arguments.literal)
        .multi_line(true)
        // With CR before LF belonging to the line's end, `$` works in files of either kind.
        .crlf(true);
    builder
        .build(&arguments.pattern)
        .map_err(|error| Fault::refused(error.to_string()))
}

/// Which files a glob lets through, in the words of a `.gitignore` turned around.
fn filter(glob: &str, root: &Path) -> Result<Override, Fault> {
    let folder = if root.is_dir() {
        root
    } else {
        root.parent().unwrap_or(root)
    };
    let mut builder = OverrideBuilder::new(folder);
    builder
        .add(glob)
        .and_then(|builder| builder.build())
        .map_err(|error| Fault::refused(format!("Invalid glob '{glob}': {error}")))
}

/// The lines found so far.
struct Hits {
    limit: u64,
    matches: u64,
    lines: Vec<String>,
    /// Bytes in `lines`: what is beyond the limit is not shown, so it is not kept.
    bytes: u64,
    some_cut: bool,
    /// The file that is searched, as it is shown.
    shown: String,
}

impl Hits {
    fn new(limit: u64) -> Self {
        Self {
            limit,
            matches: 0,
            lines: Vec::new(),
            bytes: 0,
            some_cut: false,
            shown: String::new(),
        }
    }

    fn is_full(&self) -> bool {
        self.matches >= self.limit || self.bytes > MAX_BYTES
    }

    fn search(
        &mut self,
        searcher: &mut Searcher,
        matcher: &impl Matcher,
        path: &Path,
        shown: String,
        cancel: &CancellationToken,
    ) -> Result<(), Fault> {
        let Ok((file, _)) = file::open_regular(path) else {
            tracing::debug!(path = %path.display(), "left out of a search");
            return Ok(());
        };
        self.shown = shown;
        let source = Stoppable { file, cancel };
        if let Err(error) = searcher.search_reader(matcher, source, &mut *self) {
            if cancel.is_cancelled() {
                return Err(Fault::Aborted);
            }
            tracing::debug!(path = %path.display(), %error, "left out of a search");
        }
        Ok(())
    }

    fn push(&mut self, line: Option<u64>, sign: char, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\r', '\n']).replace('\r', "");
        let (text, was_cut) = truncation::line(&text);
        self.some_cut |= was_cut;
        let number = line.unwrap_or_default();
        let line = match sign {
            ':' => format!("{}:{number}: {text}", self.shown),
            _ => format!("{}-{number}- {text}", self.shown),
        };
        self.bytes += line.len() as u64 + 1;
        self.lines.push(line);
    }

    fn output(mut self, left_out: &LeftOut) -> ToolOutput {
        if self.lines.is_empty() {
            self.lines.push("No matches found".to_owned());
        }
        let mut listing = Listing::new(self.lines);
        if self.matches >= self.limit {
            let (limit, more) = (self.limit, self.limit.saturating_mul(2));
            listing.note(
                format!(
                    "{limit} matches limit reached. Use limit={more} for more, or refine pattern"
                ),
                "matchLimitReached",
                json!(limit),
            );
        }
        if self.some_cut {
            listing.last_note(
                format!(
                    "Some lines truncated to {MAX_LINE_CHARS} chars. Use read tool to see full \
                     lines"
                ),
                "linesTruncated",
                json!(true),
            );
        }
        left_out.note_on(&mut listing);
        listing.output()
    }
}

impl Sink for &mut Hits {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, hit: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.is_full() {
            return Ok(false);
        }
        self.matches += 1;
        self.push(hit.line_number(), ':', hit.bytes());
        // Going on after the last match shows the lines after it.
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, io::Error> {
        let after_the_last =
            self.is_full() && *line.kind() != grep_searcher::SinkContextKind::After;
        if after_the_last || self.bytes > MAX_BYTES {
            return Ok(false);
        }
        self.push(line.line_number(), '-', line.bytes());
        Ok(true)
    }
}

/// A file that fails to read once the search is cancelled.
struct Stoppable<'a> {
    file: std::fs::File,
    cancel: &'a CancellationToken,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        self.file.read(buffer)
    }
}

#[cfg(test)]
mod tests;
