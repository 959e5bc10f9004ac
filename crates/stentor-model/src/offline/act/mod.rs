//! From what is wanted to tool calls.
//!
//! An intent is a short sequence of stages. Which stage comes next follows from the results so
//! far and nothing else, so the same conversation always leads to the same calls.

mod operation;

use serde_json::Value;
use stentor_agent::tool::ToolSpec;
use stentor_journal::message::{ToolCall, ToolResultMessage, text_of};

pub use operation::Call;
use operation::Toolbox;

use super::intent::{Intent, Lines};

/// Files listed for a summary or a count. More are told as "more than".
pub const MAX_LISTED: u64 = 5000;

/// Lines of a README that go into a summary of a folder.
const README_LINES: u64 = 60;

/// A call that was made and what came back.
#[derive(Clone, Copy)]
pub struct Exchange<'a> {
    pub call: &'a ToolCall,
    pub result: &'a ToolResultMessage,
}

/// What to do next for an intent.
#[derive(Debug, PartialEq)]
pub enum Next {
    Calls(Vec<Call>),
    /// Everything is there to report.
    Done,
    /// No tool at hand can do it.
    Impossible {
        needs: &'static str,
    },
}

impl Exchange<'_> {
    /// What the tool said.
    pub fn text(&self) -> String {
        text_of(&self.result.content, "\n")
    }

    /// True when the tool gave the whole of what it was asked for.
    pub fn is_complete(&self) -> bool {
        let cut = self.detail("truncation");
        let is_cut = cut.is_some_and(|cut| cut.get("truncated") != Some(&Value::Bool(false)));
        let limits = [
            "matchLimitReached",
            "resultLimitReached",
            "entryLimitReached",
        ];
        !is_cut && limits.iter().all(|name| self.detail(name).is_none())
    }

    /// How many lines the file or output has, shown or not.
    pub fn total_lines(&self) -> usize {
        let total = self
            .detail("truncation")
            .and_then(|cut| cut.get("totalLines")?.as_u64());
        match total.and_then(|total| usize::try_from(total).ok()) {
            Some(total) => total,
            None => self.text().lines().count(),
        }
    }

    /// True when a file was to be read and turned out to be a folder.
    pub fn is_about_a_folder(&self) -> bool {
        let text = self.text().to_lowercase();
        let other = ["no such", "not found", "outside"];
        self.result.is_error
            && self.call.name == "read"
            && (text.contains("directory") || text.contains("folder"))
            && !other.iter().any(|words| text.contains(words))
    }

    /// True when the call looked into a README.
    pub fn is_about_readme(&self) -> bool {
        ["path", "command"].iter().any(|name| {
            let value = self.call.arguments.get(*name).and_then(Value::as_str);
            value.is_some_and(|value| value.to_lowercase().contains("readme"))
        })
    }

    fn detail(&self, name: &str) -> Option<&Value> {
        let details = self.result.details.as_ref()?;
        details.get(name).filter(|value| !value.is_null())
    }
}

/// The next stage of `intent` after the exchanges it has had.
pub fn next(intent: &Intent, had: &[Exchange], tools: &[ToolSpec]) -> Next {
    let tools = Toolbox::new(tools);
    match (intent, had) {
        (Intent::List { path }, []) => one(tools.list(path.as_deref()), "ls"),
        (Intent::Read { path, lines }, []) => match lines {
            Lines::All => one(tools.read(path, None, None), "read"),
            Lines::From { first, count } => one(tools.read(path, Some(*first), *count), "read"),
            Lines::Last { count } => {
                let tail = tools.tail(path, *count);
                one(tail.or_else(|| tools.read(path, None, None)), "read")
            }
        },
        // It was a folder after all.
        (Intent::Read { path, .. }, [read]) if read.is_about_a_folder() => {
            perhaps(tools.list(Some(path)))
        }
        // People say README when the file is README.md.
        (Intent::Read { path, .. } | Intent::SummariseFile { path }, [read])
            if read.result.is_error && !read.is_about_a_folder() && has_no_ending(path) =>
        {
            perhaps(tools.list(parent(path)))
        }
        (Intent::Read { path, lines }, [read, list])
            if read.result.is_error && !read.is_about_a_folder() && !list.result.is_error =>
        {
            let (first, count) = match lines {
                Lines::From { first, count } => (Some(*first), *count),
                Lines::All | Lines::Last { .. } => (None, None),
            };
            let named = with_ending(path, &list.text());
            perhaps(named.and_then(|path| tools.read(&path, first, count)))
        }
        (Intent::SummariseFile { path }, [read, list])
            if read.result.is_error && !list.result.is_error =>
        {
            let named = with_ending(path, &list.text());
            perhaps(named.and_then(|path| tools.read(&path, None, None)))
        }
        (Intent::FindFiles { pattern, path }, []) => {
            one(tools.find(pattern, path.as_deref(), None), "find")
        }
        (Intent::Search { text, path }, []) => one(tools.search(text, path.as_deref()), "grep"),
        (Intent::Run { command }, []) => one(tools.run(command), "bash"),
        (Intent::Write { path, content }, []) => one(tools.write(path, content), "write"),
        (Intent::Append { path, content }, had) => append(path, content, had, &tools),
        (Intent::Replace { path, old, new }, had) => replace(path, old, new, had, &tools),
        (Intent::SummariseFolder { path }, []) => match tools.list(path.as_deref()) {
            Some(list) => {
                let all = tools.find("*", path.as_deref(), Some(MAX_LISTED));
                Next::Calls(std::iter::once(list).chain(all).collect())
            }
            None => Next::Impossible { needs: "ls" },
        },
        (Intent::SummariseFolder { path }, [list, rest @ ..])
            if !rest.iter().any(Exchange::is_about_readme) =>
        {
            let readme = readme_in(&list.text())
                .filter(|_| !list.result.is_error)
                .and_then(|name| {
                    tools.read(&inside(path.as_deref(), name), None, Some(README_LINES))
                });
            match readme {
                Some(call) => Next::Calls(vec![call]),
                None => Next::Done,
            }
        }
        (Intent::SummariseFile { path }, []) => one(tools.read(path, None, None), "read"),
        (Intent::CountLines { path }, []) => {
            let fallback = || tools.read(path.as_deref()?, None, None);
            one(tools.count_lines(path.as_deref()).or_else(fallback), "bash")
        }
        (Intent::CountFiles { path }, []) => {
            one(tools.find("*", path.as_deref(), Some(MAX_LISTED)), "find")
        }
        (Intent::Plan { items }, []) => match tools.plan(items) {
            Some(call) => Next::Calls(vec![call]),
            // The report shows the plan all the same.
            None => Next::Done,
        },
        _ => Next::Done,
    }
}

/// True when one of the exchanges that count failed, so that what was to come after makes no sense.
pub fn failed(intent: &Intent, had: &[Exchange]) -> bool {
    match intent {
        Intent::Read { .. } | Intent::SummariseFile { .. } => match had {
            [first, _] => first.result.is_error && !first.is_about_a_folder(),
            _ => had.last().is_some_and(|last| last.result.is_error),
        },
        Intent::SummariseFolder { .. } => had.first().is_some_and(|first| first.result.is_error),
        _ => had.last().is_some_and(|last| last.result.is_error),
    }
}

/// A call that may help; without it the report has to do.
fn perhaps(call: Option<Call>) -> Next {
    call.map_or(Next::Done, |call| Next::Calls(vec![call]))
}

fn one(call: Option<Call>, needs: &'static str) -> Next {
    match call {
        Some(call) => Next::Calls(vec![call]),
        None => Next::Impossible { needs },
    }
}

fn append(path: &str, content: &str, had: &[Exchange], tools: &Toolbox) -> Next {
    match had {
        [] => match tools.append(path, content) {
            Some(call) => Next::Calls(vec![call]),
            None if tools.has("write") => one(tools.read(path, None, None), "bash"),
            None => Next::Impossible { needs: "bash" },
        },
        // Without a shell the file is written anew, if all of it is known.
        [read] if read.call.name == "read" && !read.result.is_error && read.is_complete() => {
            let mut text = read.text();
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(content);
            one(tools.write(path, &text), "write")
        }
        _ => Next::Done,
    }
}

fn replace(path: &str, old: &str, new: &str, had: &[Exchange], tools: &Toolbox) -> Next {
    match had {
        [] => match tools.edit(path, old, new) {
            Some(call) => Next::Calls(vec![call]),
            None if tools.has("write") => one(tools.read(path, None, None), "edit"),
            None => Next::Impossible { needs: "edit" },
        },
        // The edit tool wants a text that occurs once; a person who says `replace` means all.
        [edit] if is_about_several_matches(edit) && tools.has("write") => {
            perhaps(tools.read(path, None, None))
        }
        [.., read] if read.call.name == "read" && !read.result.is_error && read.is_complete() => {
            let text = read.text();
            if text.contains(old) {
                one(tools.write(path, &text.replace(old, new)), "write")
            } else {
                Next::Done
            }
        }
        _ => Next::Done,
    }
}

fn has_no_ending(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    !name.is_empty() && !name.contains('.')
}

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent)
}

/// The entry of `listing` that has the name of `path`, another case or an ending apart.
fn with_ending(path: &str, listing: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let entry = listing.lines().map(str::trim).find(|entry| {
        let entry = entry.to_lowercase();
        let rest = entry.strip_prefix(&name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.')) && !entry.ends_with('/')
    })?;
    Some(inside(parent(path), entry))
}

fn is_about_several_matches(exchange: &Exchange) -> bool {
    let text = exchange.text().to_lowercase();
    exchange.result.is_error
        && exchange.call.name == "edit"
        && [
            "occurrences",
            "unique",
            "multiple",
            "several",
            "more than one",
        ]
        .iter()
        .any(|word| text.contains(word))
}

fn readme_in(listing: &str) -> Option<&str> {
    listing
        .lines()
        .map(str::trim)
        .filter(|name| !name.ends_with('/'))
        .find(|name| name.to_lowercase().starts_with("readme"))
}

fn inside(folder: Option<&str>, name: &str) -> String {
    match folder {
        Some(folder) => format!("{}/{name}", folder.trim_end_matches('/')),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests;
