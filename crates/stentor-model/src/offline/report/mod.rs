//! From what came back to Markdown.

mod failure;
mod files;
mod markdown;

use super::act::Exchange;
use super::fixed_replies;
use super::intent::{Intent, Lines};

pub use markdown::counted;
use markdown::{code, fenced, here_or, language_of};

/// Lines of a file or of output that are shown.
const MAX_SHOWN_LINES: usize = 80;

/// What a finished request led to.
pub fn report(intent: &Intent, had: &[Exchange], prompt: &str) -> String {
    if let Some(last) = had.last()
        && last.result.is_error
        && !matches!(intent, Intent::SummariseFolder { .. } | Intent::Run { .. })
    {
        return failure::report(intent, last);
    }
    match (intent, had) {
        (Intent::Help, _) => fixed_replies::help(),
        (Intent::Greeting, _) => fixed_replies::greeting(),
        (Intent::Thanks, _) => fixed_replies::thanks(),
        (Intent::Refuse(refusal), _) => fixed_replies::refusal(refusal),
        (Intent::Unknown, _) => fixed_replies::not_understood(prompt),
        (Intent::Plan { items }, _) => plan(items, !had.is_empty()),
        (Intent::SummariseFolder { path }, had) => files::folder_summary(path.as_deref(), had),
        (_, []) => "There is nothing to report.".to_owned(),
        (Intent::List { path }, [.., last]) => files::listing(path.as_deref(), &last.text()),
        (Intent::Read { path, .. }, [first, last]) if first.is_about_a_folder() => {
            files::listing(Some(path), &last.text())
        }
        // The second call only looked for another name, and found none.
        (Intent::Read { .. } | Intent::SummariseFile { .. }, [first, _]) => {
            failure::report(intent, first)
        }
        (Intent::Read { path, lines }, [.., last]) => read(path_read(last, path), *lines, last),
        (Intent::FindFiles { pattern, .. }, [.., last]) => files::found(pattern, last),
        (Intent::Search { text, path }, [.., last]) => files::matches(text, path.as_deref(), last),
        (Intent::Run { command }, [.., last]) => ran(command, last),
        (Intent::Write { .. }, [.., last]) => first_sentence(&last.text()),
        (Intent::Append { path, content }, [.., last]) => match last.call.name.as_str() {
            "bash" | "write" => format!(
                "Appended {} to {}.",
                counted(content.lines().count(), "line"),
                code(path)
            ),
            _ => format!(
                "I could not read all of {}, so I did not rewrite it.",
                code(path)
            ),
        },
        (Intent::Replace { path, old, new }, [.., last]) => replaced(path, old, new, last),
        (Intent::SummariseFile { path }, [.., last]) => {
            files::file_summary(path_read(last, path), last)
        }
        (Intent::CountLines { path }, [.., last]) => count_lines(path.as_deref(), last),
        (Intent::CountFiles { path }, [.., last]) => {
            files::file_count(path.as_deref(), &last.text())
        }
    }
}

/// What the guide says before it calls tools. `again` is true after a first stage.
pub fn announcement(intent: &Intent, again: bool) -> String {
    match intent {
        Intent::List { path } => format!("I list {}.", here_or(path.as_deref())),
        Intent::Read { path, .. } | Intent::SummariseFile { path } if again => {
            format!("I look again for {}.", code(path))
        }
        Intent::Read { path, .. } => format!("I read {}.", code(path)),
        Intent::FindFiles { pattern, path } => format!(
            "I look for files named {} in {}.",
            code(pattern),
            here_or(path.as_deref())
        ),
        Intent::Search { text, path } => {
            format!("I search {} for {}.", here_or(path.as_deref()), code(text))
        }
        Intent::Run { command } => format!("I run {}.", code(command)),
        Intent::Write { path, .. } => format!("I write {}.", code(path)),
        Intent::Append { path, .. } => format!("I append to {}.", code(path)),
        Intent::Replace { path, .. } if again => {
            format!(
                "The text is in {} more than once, so I replace all of them.",
                code(path)
            )
        }
        Intent::Replace { path, old, .. } => {
            format!("I replace {} in {}.", code(old), code(path))
        }
        Intent::SummariseFolder { .. } if again => "Now the README.".to_owned(),
        Intent::SummariseFolder { path } => {
            format!("I look at what is in {}.", here_or(path.as_deref()))
        }
        Intent::SummariseFile { path } => format!("I read {}.", code(path)),
        Intent::CountLines { path } => {
            format!("I count the lines of {}.", here_or(path.as_deref()))
        }
        Intent::CountFiles { path } => {
            format!("I count the files in {}.", here_or(path.as_deref()))
        }
        Intent::Plan { .. } => "I write the plan down.".to_owned(),
        Intent::Help | Intent::Greeting | Intent::Thanks | Intent::Refuse(_) | Intent::Unknown => {
            String::new()
        }
    }
}

/// The name of the rule that recognised an intent.
pub fn rule_name(intent: &Intent) -> &'static str {
    match intent {
        Intent::List { .. } => "list a folder",
        Intent::Read { .. } => "read a file",
        Intent::FindFiles { .. } => "find files by name",
        Intent::Search { .. } => "search for text",
        Intent::Run { .. } => "run a command",
        Intent::Write { .. } => "write a file",
        Intent::Append { .. } => "append to a file",
        Intent::Replace { .. } => "replace text in a file",
        Intent::SummariseFolder { .. } => "summarise a folder",
        Intent::SummariseFile { .. } => "summarise a file",
        Intent::CountLines { .. } => "count lines",
        Intent::CountFiles { .. } => "count files",
        Intent::Plan { .. } => "make a plan",
        Intent::Help => "help",
        Intent::Greeting | Intent::Thanks => "small talk",
        Intent::Refuse(_) => "do nothing that cannot be undone",
        Intent::Unknown => "none fits, explain what I can do",
    }
}

fn read(path: &str, lines: Lines, exchange: &Exchange) -> String {
    let text = exchange.text();
    let has_image = exchange
        .result
        .content
        .iter()
        .any(|block| block.as_text().is_none());
    if has_image {
        return format!("{} is not text. {}", code(path), first_sentence(&text));
    }
    if text.trim().is_empty() {
        return format!("{} is empty.", code(path));
    }
    let what = match lines {
        Lines::All => code(path),
        Lines::From {
            first,
            count: Some(1),
        } => format!("Line {first} of {}", code(path)),
        Lines::From {
            first,
            count: Some(count),
        } => {
            format!(
                "Lines {first} to {} of {}",
                (first + count).saturating_sub(1),
                code(path)
            )
        }
        Lines::From { first, count: None } => format!("{} from line {first}", code(path)),
        Lines::Last { count } => format!(
            "The last {} of {}",
            counted(count as usize, "line"),
            code(path)
        ),
    };
    let size = match lines {
        Lines::All => format!(" ({})", counted(exchange.total_lines(), "line")),
        Lines::From { .. } | Lines::Last { .. } => String::new(),
    };
    format!(
        "{what}{size}:\n\n{}",
        fenced(&text, language_of(path), MAX_SHOWN_LINES)
    )
}

/// The file that was really read, which may have another ending than the one that was named.
fn path_read<'a>(exchange: &Exchange<'a>, named: &'a str) -> &'a str {
    let path = exchange.call.arguments.get("path");
    path.and_then(|path| path.as_str()).unwrap_or(named)
}

fn ran(command: &str, exchange: &Exchange) -> String {
    let text = exchange.text();
    if exchange.result.is_error {
        return failure::command(command, &text);
    }
    let output = text.trim_end();
    if output.is_empty() || output == "(no output)" {
        return format!("{} succeeded and printed nothing.", code(command));
    }
    let lines = counted(output.lines().count(), "line");
    let language = if command.starts_with("git diff") {
        "diff"
    } else {
        "text"
    };
    format!(
        "{} succeeded and printed {lines}:\n\n{}",
        code(command),
        fenced(output, language, MAX_SHOWN_LINES)
    )
}

fn replaced(path: &str, old: &str, new: &str, exchange: &Exchange) -> String {
    if exchange.call.name == "read" {
        return format!(
            "{} does not contain {}, so I changed nothing.",
            code(path),
            code(old)
        );
    }
    let diff = exchange
        .result
        .details
        .as_ref()
        .and_then(|details| details.get("diff"))
        .and_then(|diff| diff.as_str());
    let done = format!(
        "Replaced {} with {} in {}.",
        code(old),
        code(new),
        code(path)
    );
    match diff {
        Some(diff) if !diff.trim().is_empty() => {
            format!("{done}\n\n{}", fenced(diff, "diff", MAX_SHOWN_LINES))
        }
        _ => done,
    }
}

fn count_lines(path: Option<&str>, exchange: &Exchange) -> String {
    let text = exchange.text();
    let lines = match text.trim().parse::<usize>() {
        Ok(lines) if exchange.call.name == "bash" => lines,
        _ => exchange.total_lines(),
    };
    format!(
        "{} has {}.",
        files::start(&here_or(path)),
        counted(lines, "line")
    )
}

fn plan(items: &[String], kept: bool) -> String {
    let list: Vec<String> = items
        .iter()
        .enumerate()
        .map(|(n, item)| format!("{}. {item}", n + 1))
        .collect();
    let what = if kept {
        "The plan is written down"
    } else {
        "No tool here can store a plan, so here it is"
    };
    format!(
        "{what}, {}:\n\n{}",
        counted(items.len(), "step"),
        list.join("\n")
    )
}

fn first_sentence(text: &str) -> String {
    let line = text
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("Done");
    let line = line.trim();
    if line.ends_with(['.', '!', '?', ']']) {
        line.to_owned()
    } else {
        format!("{line}.")
    }
}

#[cfg(test)]
mod tests;
