//! `grep`: lines by a pattern of their text.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
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

use super::left_out::DeniedResults;
use super::listing::ResultListing;
use super::walk::Root;
use crate::paths::{self, FileTarget};
use crate::tool_error::ToolError;
use crate::truncation::{self, MAX_BYTES, MAX_LINE_CHARS};
use crate::{file, tool_call};

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
        tool_call::outcome(async move {
            let arguments: Arguments = tool_call::arguments("grep", arguments)?;
            let path = arguments.path.as_deref().unwrap_or_default();
            let target = FileTarget::judged(path, &context);
            let left_out = DeniedResults::below(&target.given, &self.spec, &context);
            let token = context.cancel.clone();
            tool_call::blocking(&context.cancel, move || {
                grep(&arguments, &target, left_out, &token)
            })
            .await
        })
    }
}

fn grep(
    arguments: &Arguments,
    target: &FileTarget,
    mut left_out: DeniedResults,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let limit = tool_call::whole_number("limit", arguments.limit, 0)?
        .unwrap_or(DEFAULT_LIMIT)
        .max(1);
    let context = tool_call::whole_number("context", arguments.context, 0)?
        .unwrap_or_default()
        .min(MAX_CONTEXT) as usize;
    let matcher = matcher(arguments)?;
    let root = Root::open(target)?;
    let given = target.given.as_path();
    let filter = arguments.glob.as_deref();
    let filter = filter.map(|glob| filter_below(given, glob)).transpose()?;
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .line_terminator(LineTerminator::crlf())
        .before_context(context)
        .after_context(context)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_SEARCHED_LINE_BYTES))
        .build();
    let mut hits = Hits::new(limit);
    match root {
        Root::Folder(mut tree) => {
            for found in tree.entries(cancel) {
                let found = found?;
                if left_out.takes(&found.path, found.is_link) {
                    continue;
                }
                let is_wanted = |filter: &Override| !filter.matched(&found.path, false).is_ignore();
                if found.is_file && filter.as_ref().is_none_or(is_wanted) {
                    let shown = found.relative.to_string_lossy().into_owned();
                    match tree.open_file(&found.relative) {
                        Ok(file) => hits.search(&mut searcher, &matcher, file, shown, cancel)?,
                        Err(error) => tracing::debug!(path = shown, %error, "left out of a search"),
                    }
                }
                if hits.is_full() {
                    break;
                }
            }
        }
        // Named outright, it must be searchable; in a tree it would just be left out.
        Root::File => {
            let (file, _) = file::open_judged(target)?;
            let name = given.file_name().unwrap_or_default();
            let shown = name.to_string_lossy().into_owned();
            hits.search(&mut searcher, &matcher, file, shown, cancel)?;
        }
    }
    Ok(hits.output(&left_out))
}

fn matcher(arguments: &Arguments) -> Result<RegexMatcher, ToolError> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(arguments.ignore_case)
        .fixed_strings(arguments.literal)
        .multi_line(true)
        // With CR before LF belonging to the line's end, `$` works in files of either kind.
        .crlf(true);
    builder
        .build(&arguments.pattern)
        .map_err(|error| ToolError::refused(error.to_string()))
}

/// Which files a glob lets through, in the words of a `.gitignore` turned around.
fn filter_below(root: &Path, glob: &str) -> Result<Override, ToolError> {
    let mut builder = OverrideBuilder::new(root);
    builder
        .add(glob)
        .and_then(|builder| builder.build())
        .map_err(|error| ToolError::refused(format!("Invalid glob '{glob}': {error}")))
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
        file: File,
        shown: String,
        cancel: &CancellationToken,
    ) -> Result<(), ToolError> {
        self.shown = shown;
        let source = Stoppable { file, cancel };
        if let Err(error) = searcher.search_reader(matcher, source, &mut *self) {
            if cancel.is_cancelled() {
                return Err(ToolError::Aborted);
            }
            tracing::debug!(path = self.shown, %error, "left out of a search");
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

    fn output(mut self, left_out: &DeniedResults) -> ToolOutput {
        if self.lines.is_empty() {
            self.lines.push("No matches found".to_owned());
        }
        let mut listing = ResultListing::new(self.lines);
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
    file: File,
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
