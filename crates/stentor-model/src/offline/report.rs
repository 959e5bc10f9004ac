//! From what came back to Markdown.

use std::collections::BTreeMap;

use super::markdown::{Part, capital, code, counted, fenced, here_or, language_of, list};
use super::outline::{first_paragraph, outline};
use super::replies;
use super::request::Request;
use super::steps::{Call, Exchange, MAX_LISTED};

/// Lines of a file or of output that are shown.
const MAX_LINES: usize = 80;
const MAX_ENTRIES: usize = 40;
const MAX_MATCHES: usize = 15;
const MAX_MATCH_CHARS: usize = 160;
const MAX_KINDS: usize = 6;

/// What a finished request led to.
pub fn report(request: &Request, had: &[Exchange], prompt: &str) -> String {
    let Some(last) = had.last() else {
        return match request {
            Request::Help => replies::help(),
            _ => replies::not_understood(prompt),
        };
    };
    let text = last.text();
    match request {
        Request::Write {
            path, sure: false, ..
        } if last.call.name == "read" && !last.is_about_nothing() => {
            format!(
                "{} exists already, and writing would replace it. Put the text in quotes if you \
                 want that.",
                code(path)
            )
        }
        Request::Run { command } if last.result.is_error => failed_command(command, &text),
        Request::Test if last.result.is_error && last.call.name == "bash" => {
            failed_command(last.argument("command").unwrap_or("The tests"), &text)
        }
        // The listing only looked for another name, and found none.
        Request::Read { path, .. } | Request::Summarise { path: Some(path) }
            if last.call.name == "ls" && !had.first().is_some_and(Exchange::is_about_a_folder) =>
        {
            missing(path)
        }
        _ if last.result.is_error => failed(request, last),
        Request::Run { command } => succeeded(command, &text),
        Request::Test if last.call.name == "bash" => {
            succeeded(last.argument("command").unwrap_or("The tests"), &text)
        }
        Request::Test => "I do not know how the tests of this project are run: there is no \
                          `Cargo.toml`, `package.json`, `pyproject.toml`, `go.mod` or `Makefile` \
                          here. Give me the command: ``run `…` ``."
            .to_owned(),
        Request::List { path } => listing(path.as_deref(), &text),
        Request::Read { path, .. } if last.call.name == "ls" => listing(Some(path), &text),
        Request::Read { lines, .. } => {
            file(last.argument("path").unwrap_or_default(), *lines, last)
        }
        Request::Find { pattern, .. } => found(pattern, last),
        Request::Search { text: wanted, path } => matches(wanted, path.as_deref(), last),
        Request::Write { .. } => sentence(&text),
        Request::Replace { path, old, new } => replaced(path, old, new, last),
        Request::Summarise { path } => match had.iter().rposition(|one| one.call.name == "ls") {
            Some(at) if last.call.name != "ls" => match had.get(at + 1) {
                Some(found) if found.call.name == "find" => {
                    folder(path.as_deref(), had.get(at..).unwrap_or_default())
                }
                _ => whole_file(last),
            },
            _ => whole_file(last),
        },
        Request::Help | Request::Unknown => replies::not_understood(prompt),
    }
}

/// What the guide says before it makes a call.
pub fn announcement(call: &Call) -> String {
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

fn failed(request: &Request, last: &Exchange) -> String {
    let text = last.text();
    let said = match text.trim() {
        "" => "The tool failed and gave no reason.".to_owned(),
        said if said.lines().count() > 1 => {
            format!(
                "That did not work:\n\n{}",
                fenced(said, "text", MAX_LINES, Part::End)
            )
        }
        said => format!("That did not work: {said}"),
    };
    let hint = match request {
        _ if is_denied(&text) => replies::DENIED.to_owned(),
        Request::Read { path, .. }
        | Request::Summarise { path: Some(path) }
        | Request::Replace { path, .. }
            if last.is_about_nothing() =>
        {
            return missing(path);
        }
        Request::Replace { path, .. } => {
            format!("The text must be in the file exactly like that; `read {path}` shows it.")
        }
        _ if last.is_about_nothing() => "`list` shows which folders there are.".to_owned(),
        _ => return said,
    };
    format!("{said}\n\n{hint}")
}

fn missing(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    format!(
        "There is no file {}. `find files named {name}` looks for it in all folders.",
        code(path)
    )
}

/// A refusal of the policy, not of the system.
fn is_denied(text: &str) -> bool {
    text.starts_with("Permission denied:")
        || text.contains("The user denied")
        || text.contains("rejected")
}

fn failed_command(command: &str, text: &str) -> String {
    let status = exit_code(text);
    if status.is_none() && is_denied(text) {
        return format!(
            "{} was not run: {}\n\n{}",
            code(command),
            sentence(text),
            replies::DENIED
        );
    }
    let failed = match status {
        Some(status) => format!("{} failed with exit code {status}.", code(command)),
        None => format!("{} did not succeed.", code(command)),
    };
    let output = text
        .rsplit_once("Command exited with code")
        .map_or(text, |(output, _)| output);
    let shown = match output.trim_end() {
        "" | "(no output)" => String::new(),
        output => format!("\n\n{}", fenced(output, "text", MAX_LINES / 2, Part::End)),
    };
    let hint = match status {
        Some(127) => "\n\nThe program was not found: is it installed and spelled correctly?",
        Some(126) => "\n\nThe file is there but is not executable: `chmod +x` would change that.",
        Some(137 | 143) => "\n\nIt was killed, perhaps because it took too much time or memory.",
        _ => "",
    };
    format!("{failed}{shown}{hint}")
}

fn exit_code(text: &str) -> Option<i32> {
    let (_, after) = text.rsplit_once("exited with code ")?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn succeeded(command: &str, text: &str) -> String {
    let output = text.trim_end();
    if output.is_empty() || output == "(no output)" {
        let clean = command == "git diff";
        return match clean {
            true => "`git diff` printed nothing: there are no unstaged changes.".to_owned(),
            false => format!("{} succeeded and printed nothing.", code(command)),
        };
    }
    let language = if command.starts_with("git diff") {
        "diff"
    } else {
        "text"
    };
    format!(
        "{} succeeded and printed {}:\n\n{}",
        code(command),
        counted(output.lines().count(), "line"),
        fenced(output, language, MAX_LINES, Part::Beginning)
    )
}

fn file(path: &str, lines: Option<(u64, u64)>, exchange: &Exchange) -> String {
    let text = exchange.text();
    let is_picture = exchange
        .result
        .content
        .iter()
        .any(|block| block.as_text().is_none());
    if is_picture {
        return format!("{} is not text. {}", code(path), sentence(&text));
    }
    if text.trim().is_empty() || text == "(empty file)" {
        return format!("{} is empty.", code(path));
    }
    let text = without_note(&text);
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
        fenced(text, language_of(path), MAX_LINES, Part::Beginning)
    )
}

/// The text without the tool's note to a model how to read on.
fn without_note(text: &str) -> &str {
    let note = text
        .rsplit_once("\n\n[")
        .filter(|(_, note)| note.contains("Use offset="));
    note.map_or(text, |(shown, _)| shown)
}

fn whole_file(exchange: &Exchange) -> String {
    let path = exchange.argument("path").unwrap_or_default();
    outline(path, &exchange.text(), exchange.total_lines())
}

fn listing(path: Option<&str>, text: &str) -> String {
    let entries = entries(text);
    if entries.is_empty() {
        return format!("{} is empty.", capital(&here_or(path)));
    }
    let folders = entries.iter().filter(|name| name.ends_with('/')).count();
    let names: Vec<String> = entries.iter().map(|name| code(name)).collect();
    format!(
        "{} has {}: {} and {}.\n\n{}",
        capital(&here_or(path)),
        counted(entries.len(), "entry"),
        counted(folders, "folder"),
        counted(entries.len() - folders, "file"),
        list(&names, MAX_ENTRIES)
    )
}

fn found(pattern: &str, exchange: &Exchange) -> String {
    let text = exchange.text();
    let names: Vec<String> = entries(&text).iter().map(|name| code(name)).collect();
    if names.is_empty() {
        return format!("No file is named {}.", code(pattern));
    }
    format!(
        "Found {}{} named {}:\n\n{}",
        at_least(exchange),
        counted(names.len(), "file"),
        code(pattern),
        list(&names, MAX_ENTRIES)
    )
}

fn matches(wanted: &str, path: Option<&str>, exchange: &Exchange) -> String {
    let text = exchange.text();
    let found: Vec<(&str, &str, &str)> = text.lines().filter_map(match_parts).collect();
    if found.is_empty() {
        return format!("No match for {} in {}.", code(wanted), here_or(path));
    }
    let mut files: Vec<&str> = found.iter().map(|(path, _, _)| *path).collect();
    files.sort_unstable();
    files.dedup();
    let lines: Vec<String> = found
        .iter()
        .map(|(path, line, text)| {
            let text: String = text.trim().chars().take(MAX_MATCH_CHARS).collect();
            format!("{} {}", code(&format!("{path}:{line}")), code(&text))
        })
        .collect();
    format!(
        "Found {}{} for {} in {}:\n\n{}",
        at_least(exchange),
        counted(found.len(), "match"),
        code(wanted),
        counted(files.len(), "file"),
        list(&lines, MAX_MATCHES)
    )
}

/// `path:line: text`; the path may contain colons, the number decides.
fn match_parts(line: &str) -> Option<(&str, &str, &str)> {
    line.match_indices(':').find_map(|(at, _)| {
        let (number, text) = line.get(at + 1..)?.split_once(':')?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then_some((line.get(..at)?, number, text))
    })
}

fn replaced(path: &str, old: &str, new: &str, last: &Exchange) -> String {
    if last.call.name == "read" {
        return format!("{} is too long for me to replace all of them.", code(path));
    }
    let done = format!(
        "Replaced {} with {} in {}.",
        code(old),
        code(new),
        code(path)
    );
    let details = last.result.details.as_ref();
    let diff = details.and_then(|details| details.get("diff")?.as_str());
    match diff.filter(|diff| !diff.trim().is_empty()) {
        Some(diff) => format!(
            "{done}\n\n{}",
            fenced(diff, "diff", MAX_LINES, Part::Beginning)
        ),
        None => done,
    }
}

/// What is in a folder: entries, kinds of files, the beginning of its README.
fn folder(path: Option<&str>, had: &[Exchange]) -> String {
    let of = |tool: &str| {
        had.iter()
            .find(|one| one.call.name == tool && !one.result.is_error)
    };
    let listed = of("ls").map(Exchange::text).unwrap_or_default();
    let top = entries(&listed);
    let is_folder = |name: &&&str| name.ends_with('/');
    let folders: Vec<String> = top
        .iter()
        .filter(is_folder)
        .map(|name| code(name))
        .collect();
    let mut parts = vec![
        format!("## {}", capital(&here_or(path))),
        format!(
            "At the top: {} and {}.",
            counted(folders.len(), "folder"),
            counted(top.len() - folders.len(), "file")
        ),
    ];
    if !folders.is_empty() {
        let shown: Vec<&str> = folders
            .iter()
            .take(MAX_ENTRIES)
            .map(String::as_str)
            .collect();
        let more = if folders.len() > MAX_ENTRIES {
            " and more"
        } else {
            ""
        };
        parts.push(format!("**Folders:** {}{more}", shown.join(", ")));
    }
    parts.extend(of("find").map(|all| kinds(&all.text())));
    if let Some(readme) = of("read") {
        let text = readme.text();
        let title = text.lines().find_map(|line| line.strip_prefix("# "));
        parts.extend(title.map(|title| format!("**README:** {}", title.trim())));
        parts.extend(first_paragraph(&text).map(|paragraph| format!("> {paragraph}")));
    }
    parts.join("\n\n")
}

fn kinds(text: &str) -> String {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    let names = entries(text)
        .into_iter()
        .filter(|name| !name.ends_with('/'));
    for name in names {
        let file = name.rsplit('/').next().unwrap_or(name);
        let ending = file.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
        *kinds
            .entry(ending.map_or("", |(_, ending)| ending))
            .or_default() += 1;
    }
    let total: usize = kinds.values().sum();
    let mut kinds: Vec<(&str, usize)> = kinds.into_iter().collect();
    kinds.sort_by_key(|(ending, count)| (std::cmp::Reverse(*count), *ending));
    let shown = kinds
        .iter()
        .take(MAX_KINDS)
        .map(|(ending, count)| match *ending {
            "" => format!("{count} without ending"),
            ending => format!("{count} {}", code(&format!(".{ending}"))),
        });
    let at_least = if total as u64 >= MAX_LISTED {
        "at least "
    } else {
        ""
    };
    format!(
        "**Files in all:** {at_least}{total} ({})",
        shown.collect::<Vec<_>>().join(", ")
    )
}

/// The entries of a listing, without the notes of the tool about it.
fn entries(text: &str) -> Vec<&str> {
    let is_note = |line: &str| line.starts_with(['[', '(']) || line.starts_with("No files found");
    text.lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty() && !is_note(line))
        .collect()
}

/// What to say before a number that may be larger.
fn at_least(exchange: &Exchange) -> &'static str {
    if exchange.is_complete() {
        ""
    } else {
        "at least "
    }
}

/// The first line as a sentence.
fn sentence(text: &str) -> String {
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or("Done");
    if line.ends_with(['.', '!', '?', ']']) {
        line.to_owned()
    } else {
        format!("{line}.")
    }
}
