//! Tool calls as people see them: while they run with their last lines, and when they have ended.

use std::time::Instant;

use stentor_agent::tool::ToolOutput;
use stentor_journal::message::{ToolCall, text_of};

use super::styled::{Colour, Row, TextStyle};
use crate::print::call_line::{CallFailure, call_summary, seconds};

/// Lines of output that a running call shows.
const LIVE_LINES: usize = 3;
/// Lines of output that a call leaves on the screen when it has ended.
const LAST_LINES: usize = 5;
/// Lines of a change that are left on the screen.
const CHANGED_LINES: usize = 24;
/// Calls that are shown at once; of others their number.
const SHOWN_CALLS: usize = 4;

/// The calls that run.
#[derive(Default)]
pub struct RunningCalls {
    calls: Vec<RunningCallRow>,
}

struct RunningCallRow {
    id: String,
    name: String,
    summary: String,
    since: Instant,
    last_lines: Vec<String>,
    /// Somebody is asked whether it may run.
    is_asked: bool,
    /// What it changes was on the screen when somebody was asked.
    is_previewed: bool,
}

impl RunningCalls {
    pub fn started(&mut self, call: &ToolCall, now: Instant) {
        self.calls.push(RunningCallRow {
            id: call.id.clone(),
            name: call.name.clone(),
            summary: call_summary(call),
            since: now,
            last_lines: Vec::new(),
            is_asked: false,
            is_previewed: false,
        });
    }

    pub fn progressed(&mut self, call: &ToolCall, partial: &ToolOutput) {
        let text = text_of(&partial.content, "\n");
        if let Some(running) = self.calls.iter_mut().find(|known| known.id == call.id) {
            running.last_lines = last_lines(&text, LIVE_LINES);
        }
    }

    /// Somebody is asked whether a call may run.
    pub fn asked(&mut self, call: &ToolCall) {
        if let Some(asked) = self.calls.iter_mut().find(|known| known.id == call.id) {
            asked.is_asked = true;
            asked.is_previewed = true;
        }
    }

    /// Somebody has answered: the calls that were asked about begin now.
    pub fn answered(&mut self, now: Instant) {
        for call in self.calls.iter_mut().filter(|call| call.is_asked) {
            call.is_asked = false;
            call.since = now;
        }
    }

    /// What stays of a call that has ended.
    pub fn ended(&mut self, call: &ToolCall, output: &ToolOutput, duration_ms: u64) -> Vec<Row> {
        let mut known = self.calls.iter();
        let is_previewed = known.any(|known| known.id == call.id && known.is_previewed);
        self.calls.retain(|known| known.id != call.id);
        ended(call, output, duration_ms, is_previewed)
    }

    pub fn clear(&mut self) {
        self.calls.clear();
    }

    /// The name of a call that runs.
    pub fn current(&self) -> Option<&str> {
        let mut running = self.calls.iter().filter(|call| !call.is_asked);
        running.next_back().map(|call| call.name.as_str())
    }

    /// Each call with how long it runs and what it wrote last.
    pub fn rows(&self, now: Instant) -> Vec<Row> {
        let mut rows = Vec::new();
        let running = || self.calls.iter().filter(|call| !call.is_asked);
        for call in running().take(SHOWN_CALLS) {
            let took = now.saturating_duration_since(call.since).as_secs();
            let row = heading(&call.name, &call.summary);
            rows.push(row.with(&format!("  {took} s"), TextStyle::DIM));
            rows.extend(call.last_lines.iter().map(|line| output_row(line)));
        }
        let more = running().count().saturating_sub(SHOWN_CALLS);
        if more > 0 {
            rows.push(Row::of(&format!("  and {more} more calls"), TextStyle::DIM));
        }
        rows
    }
}

fn ended(call: &ToolCall, output: &ToolOutput, duration_ms: u64, is_previewed: bool) -> Vec<Row> {
    let row = heading(&call.name, &call_summary(call));
    let text = text_of(&output.content, "\n");
    if output.is_error {
        let red = TextStyle::colour(Colour::Red);
        let failure = CallFailure::of(output, LAST_LINES);
        let row = row.with(&format!("  ✗ {}", failure.summary), red);
        let lines = failure.last_lines.iter();
        return [row]
            .into_iter()
            .chain(lines.map(|line| output_row(line)))
            .collect();
    }
    let row = row.with("  ✓ ", TextStyle::colour(Colour::Green));
    let row = row.with(&seconds(duration_ms), TextStyle::DIM);
    let patch = output
        .details
        .as_ref()
        .and_then(|details| details.get("patch")?.as_str());
    let mut rows = vec![row];
    if let Some(patch) = patch {
        if !is_previewed {
            rows.extend(patch_rows(patch));
        }
    } else if shows_output(&call.name) {
        rows.extend(
            last_lines(&text, LAST_LINES)
                .iter()
                .map(|line| output_row(line)),
        );
    }
    rows
}

/// Whether what a tool gives is for people, too. What only the model reads would be noise.
fn shows_output(tool: &str) -> bool {
    !matches!(tool, "read" | "grep" | "find" | "ls" | "write" | "todo")
}

fn heading(name: &str, summary: &str) -> Row {
    Row::of("▸ ", TextStyle::colour(Colour::Cyan))
        .with(name, TextStyle::BOLD)
        .with("  ", TextStyle::PLAIN)
        .with(summary, TextStyle::PLAIN)
}

fn output_row(line: &str) -> Row {
    Row::of("  │ ", TextStyle::DIM).with(line, TextStyle::DIM)
}

fn last_lines(text: &str, count: usize) -> Vec<String> {
    let mut last: Vec<String> = text
        .lines()
        .rev()
        .filter(|line| !line.trim().is_empty())
        .take(count)
        .map(str::to_owned)
        .collect();
    last.reverse();
    last
}

/// A unified patch in colour, without the lines that name the file.
pub fn patch_rows(patch: &str) -> Vec<Row> {
    let lines = patch.lines().skip_while(|line| !line.starts_with("@@"));
    let lines: Vec<&str> = lines.collect();
    let mut rows: Vec<Row> = lines
        .iter()
        .take(CHANGED_LINES)
        .map(|line| {
            let look = match line.chars().next() {
                Some('+') => TextStyle::colour(Colour::Green),
                Some('-') => TextStyle::colour(Colour::Red),
                Some('@') => TextStyle::colour(Colour::Cyan),
                _ => TextStyle::DIM,
            };
            Row::of("  ", TextStyle::PLAIN).with(line, look)
        })
        .collect();
    let more = lines.len().saturating_sub(CHANGED_LINES);
    if more > 0 {
        rows.push(Row::of(&format!("  … {more} more lines"), TextStyle::DIM));
    }
    rows
}
