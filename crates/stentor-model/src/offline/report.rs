//! From what came back to Markdown.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use stentor_agent::permission::REJECTED;

use super::markdown::{ExcerptPart, capital, code, counted, fenced, here_or, language_of, list};
use super::outline::{first_paragraph, outline};
use super::replies;
use super::request::{OfflineRequest, TextToReplace};
use super::steps::{Exchange, MAX_LISTED, OfflineCall};

/// Lines of a file or of output that are shown.
const MAX_LINES: usize = 80;
const MAX_ENTRIES: usize = 40;
const MAX_MATCHES: usize = 15;
const MAX_MATCH_CHARS: usize = 160;
const MAX_KINDS: usize = 6;

/// What a person is told who said no.
const NOT_ALLOWED: &str = "You did not allow it.";

/// What a finished request led to.
pub fn report(request: &OfflineRequest, had: &[Exchange], prompt: &str) -> String {
    let Some(last) = had.last() else {
        return match request {
            OfflineRequest::Help => replies::help(),
            _ => replies::not_understood(prompt),
        };
    };
    let text = last.text();
    let tool = last.call.name.as_str();
    match request {
        OfflineRequest::Write(writing) if tool != "write" && !last.result.is_error => format!(
            "{} exists already, and writing would replace it. Put the text in quotes if you want \
             that.",
            code(&writing.path)
        ),
        OfflineRequest::Run(_) | OfflineRequest::Test if tool == "bash" => {
            let command = last.argument("command").unwrap_or_default();
            match last.result.is_error {
                true => failed_command(command, &text),
                false => succeeded(command, &text),
            }
        }
        // The listing only looked for the name, and did not find it.
        OfflineRequest::Read(path, _) | OfflineRequest::Summarise(Some(path))
            if tool == "ls" && last.argument("path") != Some(path) =>
        {
            missing(path)
        }
        _ if last.result.is_error => failed(request, last),
        OfflineRequest::Test => replies::NO_TESTS.to_owned(),
        OfflineRequest::List(place) => listing(place.as_deref(), &text),
        OfflineRequest::Read(path, _) if tool == "ls" => listing(Some(path), &text),
        OfflineRequest::Read(_, lines) => {
            file(last.argument("path").unwrap_or_default(), *lines, last)
        }
        OfflineRequest::Find(pattern, _) => found(pattern, last),
        OfflineRequest::Search(wanted, place) => matches(wanted, place.as_deref(), last),
        OfflineRequest::Write(_) => sentence(&text),
        OfflineRequest::Replace(replacing) => replaced(replacing, last),
        OfflineRequest::Summarise(place) if had.iter().any(|one| one.call.name == "find") => {
            folder(place.as_deref(), had)
        }
        OfflineRequest::Summarise(_) => {
            let path = last.argument("path").unwrap_or_default();
            outline(path, &text, last.total_lines())
        }
        OfflineRequest::Run(_) | OfflineRequest::Help | OfflineRequest::Unknown => {
            replies::not_understood(prompt)
        }
    }
}

/// What the guide says before it makes a call.
pub fn announcement(call: &OfflineCall) -> String {
    let argument = |name: &str| call.arguments.get(name).and_then(|value| value.as_str());
    let place = here_or(argument("path"));
    let what = code(
        argument("pattern")
            .or(argument("command"))
            .unwrap_or_default(),
    );
    match call.tool {
        "ls" => format!("Listing {place}."),
        "read" => format!("Reading {place}."),
        "find" => format!("Looking for files named {what} in {place}."),
        "grep" => format!("Searching {place} for {what}."),
        "bash" => format!("Running {what}."),
        "edit" => format!("Changing {place}."),
        _ => format!("Writing {place}."),
    }
}

fn failed(request: &OfflineRequest, last: &Exchange) -> String {
    let text = last.text();
    if text.starts_with(REJECTED) {
        return NOT_ALLOWED.to_owned();
    }
    let hint = match request {
        _ if is_denied(&text) => replies::DENIED.to_owned(),
        OfflineRequest::Read(path, _) | OfflineRequest::Summarise(Some(path))
            if last.is_about_nothing() =>
        {
            return missing(path);
        }
        OfflineRequest::Replace(TextToReplace { path, .. }) if last.is_about_nothing() => {
            return missing(path);
        }
        OfflineRequest::Replace(TextToReplace { path, .. }) => {
            format!("The text must be in the file exactly like that; `read {path}` shows it.")
        }
        _ if last.is_about_nothing() => "`list` shows which folders there are.".to_owned(),
        _ => String::new(),
    };
    let said = match text.trim() {
        "" => "The tool failed and gave no reason.".to_owned(),
        said if said.contains('\n') => {
            let shown = fenced(said, "text", MAX_LINES, ExcerptPart::End);
            format!("That did not work:\n\n{shown}")
        }
        said => format!("That did not work: {said}"),
    };
    format!("{said}\n\n{hint}").trim_end().to_owned()
}

fn missing(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let path = code(path);
    format!("There is no file {path}. `find files named {name}` looks for it in all folders.")
}

/// A refusal of the policy, not of the system.
fn is_denied(text: &str) -> bool {
    text.starts_with("Permission denied:")
        || text.contains("The user denied")
        || text.contains("rejected")
}

fn failed_command(command: &str, text: &str) -> String {
    let command = code(command);
    let (output, status) = match text.rsplit_once("Command exited with code ") {
        Some((output, status)) => {
            let status = status.split_whitespace().next();
            (output, status.unwrap_or_default())
        }
        None if text.starts_with(REJECTED) => {
            return format!("{command} was not run. {NOT_ALLOWED}");
        }
        None if is_denied(text) => {
            let (why, denied) = (sentence(text), replies::DENIED);
            return format!("{command} was not run: {why}\n\n{denied}");
        }
        None => (text, ""),
    };
    let failed = match status {
        "" => format!("{command} did not succeed."),
        status => format!("{command} failed with exit code {status}."),
    };
    let shown = match output.trim_end() {
        "" | "(no output)" => String::new(),
        output => format!(
            "\n\n{}",
            fenced(output, "text", MAX_LINES / 2, ExcerptPart::End)
        ),
    };
    let hint = match status {
        "127" => "\n\nThe program was not found: is it installed and spelled correctly?",
        "126" => "\n\nThe file is there but is not executable: `chmod +x` would change that.",
        "137" | "143" => "\n\nIt was killed, perhaps because it took too much time or memory.",
        _ => "",
    };
    format!("{failed}{shown}{hint}")
}

fn succeeded(command: &str, text: &str) -> String {
    let output = text.trim_end();
    let language = if command.starts_with("git diff") {
        "diff"
    } else {
        "text"
    };
    match output {
        "" | "(no output)" if command == "git diff" => {
            "`git diff` printed nothing: there are no unstaged changes.".to_owned()
        }
        "" | "(no output)" => format!("{} succeeded and printed nothing.", code(command)),
        _ => format!(
            "{} succeeded and printed {}:\n\n{}",
            code(command),
            counted(output.lines().count(), "line"),
            fenced(output, language, MAX_LINES, ExcerptPart::Beginning)
        ),
    }
}

fn file(path: &str, lines: Option<(u64, u64)>, exchange: &Exchange) -> String {
    let text = exchange.text();
    let mut blocks = exchange.result.content.iter();
    if blocks.any(|block| block.as_text().is_none()) {
        return format!("{} is not text. {}", code(path), sentence(&text));
    }
    if text.trim().is_empty() || text == "(empty file)" {
        return format!("{} is empty.", code(path));
    }
    // The tool's note to a model how to read on is for the model.
    let note = text
        .rsplit_once("\n\n[")
        .filter(|(_, note)| note.contains("Use offset="));
    let shown = note.map_or(text.as_str(), |(shown, _)| shown);
    let what = match lines {
        None => format!(
            "{} ({})",
            code(path),
            counted(exchange.total_lines(), "line")
        ),
        Some((first, last)) if first == last => format!("Line {first} of {}", code(path)),
        Some((first, last)) => format!("Lines {first} to {last} of {}", code(path)),
    };
    format!(
        "{what}:\n\n{}",
        fenced(shown, language_of(path), MAX_LINES, ExcerptPart::Beginning)
    )
}

fn listing(path: Option<&str>, text: &str) -> String {
    let place = capital(&here_or(path));
    let names = entries(text);
    if names.is_empty() {
        return format!("{place} is empty.");
    }
    format!(
        "{place} has {}: {}.\n\n{}",
        counted(names.len(), "entry"),
        folders_and_files(&names),
        list(&coded(&names), MAX_ENTRIES)
    )
}

fn found(pattern: &str, exchange: &Exchange) -> String {
    let text = exchange.text();
    let names = entries(&text);
    if names.is_empty() {
        return format!("No file is named {}.", code(pattern));
    }
    format!(
        "Found {}{} named {}:\n\n{}",
        at_least(!exchange.is_complete()),
        counted(names.len(), "file"),
        code(pattern),
        list(&coded(&names), MAX_ENTRIES)
    )
}

fn matches(wanted: &str, place: Option<&str>, exchange: &Exchange) -> String {
    let text = exchange.text();
    let found: Vec<(&str, &str, &str)> = text.lines().filter_map(match_parts).collect();
    if found.is_empty() {
        return format!("No match for {} in {}.", code(wanted), here_or(place));
    }
    let files: BTreeSet<&str> = found.iter().map(|(path, ..)| *path).collect();
    let shown = found.iter().map(|(path, line, text)| {
        let text: String = text.trim().chars().take(MAX_MATCH_CHARS).collect();
        format!("{} {}", code(&format!("{path}:{line}")), code(&text))
    });
    format!(
        "Found {}{} for {} in {}:\n\n{}",
        at_least(!exchange.is_complete()),
        counted(found.len(), "match"),
        code(wanted),
        counted(files.len(), "file"),
        list(&shown.collect::<Vec<_>>(), MAX_MATCHES)
    )
}

/// `path:line: text`; the path may contain colons, the number decides.
fn match_parts(line: &str) -> Option<(&str, &str, &str)> {
    line.match_indices(':').find_map(|(at, _)| {
        let (number, text) = line.get(at + 1..)?.split_once(':')?;
        let is_number = number.parse::<u64>().is_ok();
        is_number.then_some((line.get(..at)?, number, text))
    })
}

fn replaced(TextToReplace { path, old, new }: &TextToReplace, last: &Exchange) -> String {
    let path = code(path);
    if last.call.name == "read" {
        return format!("{path} is too long for me to replace all of them.");
    }
    let done = format!("Replaced {} with {} in {path}.", code(old), code(new));
    let details = last.result.details.as_ref();
    let diff = details.and_then(|details| details.get("diff")?.as_str());
    match diff.filter(|diff| !diff.trim().is_empty()) {
        Some(diff) => format!(
            "{done}\n\n{}",
            fenced(diff, "diff", MAX_LINES, ExcerptPart::Beginning)
        ),
        None => done,
    }
}

/// What is in a folder: entries, kinds of files, the beginning of its README.
fn folder(place: Option<&str>, had: &[Exchange]) -> String {
    let text_of = |tool: &str| {
        let mut made = had.iter().rev();
        let one = made.find(|one| one.call.name == tool && !one.result.is_error);
        one.map(Exchange::text)
    };
    let listed = text_of("ls").unwrap_or_default();
    let top = entries(&listed);
    let mut parts = vec![
        format!("## {}", capital(&here_or(place))),
        format!("At the top: {}.", folders_and_files(&top)),
    ];
    let folders: Vec<&str> = top
        .iter()
        .filter(|name| name.ends_with('/'))
        .copied()
        .collect();
    if !folders.is_empty() {
        let more = if folders.len() > MAX_ENTRIES {
            " and more"
        } else {
            ""
        };
        let shown = coded(folders.get(..MAX_ENTRIES).unwrap_or(&folders));
        parts.push(format!("**Folders:** {}{more}", shown.join(", ")));
    }
    parts.extend(text_of("find").map(|all| kinds(&all)));
    if let Some(readme) = text_of("read") {
        let title = readme.lines().find_map(|line| line.strip_prefix("# "));
        parts.extend(title.map(|title| format!("**README:** {}", title.trim())));
        parts.extend(first_paragraph(&readme).map(|paragraph| format!("> {paragraph}")));
    }
    parts.join("\n\n")
}

fn kinds(text: &str) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let files = entries(text)
        .into_iter()
        .filter(|name| !name.ends_with('/'));
    for path in files {
        let name = path.rsplit('/').next().unwrap_or(path);
        let ending = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
        *counts
            .entry(ending.map_or("", |(_, ending)| ending))
            .or_default() += 1;
    }
    let total: usize = counts.values().sum();
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(ending, count)| (Reverse(*count), *ending));
    let shown = counts
        .iter()
        .take(MAX_KINDS)
        .map(|(ending, count)| match *ending {
            "" => format!("{count} without ending"),
            ending => format!("{count} `.{ending}`"),
        });
    let shown = shown.collect::<Vec<_>>().join(", ");
    let at_least = at_least(total as u64 >= MAX_LISTED);
    format!("**Files in all:** {at_least}{total} ({shown})")
}

/// The entries of a listing, without the notes of the tool about it.
fn entries(text: &str) -> Vec<&str> {
    let is_note = |line: &str| line.starts_with(['[', '(']) || line.starts_with("No files found");
    let lines = text.lines().map(str::trim_end);
    lines
        .filter(|line| !line.is_empty() && !is_note(line))
        .collect()
}

fn folders_and_files(names: &[&str]) -> String {
    let folders = names.iter().filter(|name| name.ends_with('/')).count();
    let files = counted(names.len() - folders, "file");
    format!("{} and {files}", counted(folders, "folder"))
}

fn coded(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| code(name)).collect()
}

/// What to say before a number that may be larger.
fn at_least(may_be_more: bool) -> &'static str {
    if may_be_more { "at least " } else { "" }
}

/// The first line as a sentence.
fn sentence(text: &str) -> String {
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty()).unwrap_or("Done");
    let end = if line.ends_with(['.', '!', '?', ']']) {
        ""
    } else {
        "."
    };
    format!("{line}{end}")
}
