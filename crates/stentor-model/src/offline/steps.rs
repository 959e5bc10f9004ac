//! From what is wanted to tool calls.
//!
//! A request is a short sequence of calls. Which comes next follows from the results so far and
//! nothing else, so the same conversation always leads to the same calls.

use serde_json::{Map, Value, json};
use stentor_agent::tool::ToolSpec;
use stentor_journal::message::{ToolCall, ToolResultMessage, text_of};

use super::request::Request;

/// Files listed for a summary. More are shown as "at least".
pub const MAX_LISTED: u64 = 5000;

/// Results of a search that are worth having; a report shows only the first of them.
const MAX_MATCHES: u64 = 500;

/// Lines of a README that go into a summary of a folder.
const README_LINES: u64 = 60;

/// A tool call to make.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub tool: &'static str,
    pub arguments: Map<String, Value>,
}

/// A call that was made and what came back.
#[derive(Clone, Copy)]
pub struct Exchange<'a> {
    pub call: &'a ToolCall,
    pub result: &'a ToolResultMessage,
}

/// What to do next for a request.
#[derive(Debug, PartialEq)]
pub enum Next {
    Calls(Vec<Call>),
    /// Everything is there to report.
    Done,
    /// The tool is not enabled in this session.
    Lacks(&'static str),
}

/// How to run the tests of a project that has one of these files.
const TEST_COMMANDS: &[(&str, &str)] = &[
    ("Cargo.toml", "cargo test"),
    ("go.mod", "go test ./..."),
    ("package.json", "npm test"),
    ("pyproject.toml", "python3 -m pytest"),
    ("setup.py", "python3 -m pytest"),
    ("pytest.ini", "python3 -m pytest"),
    ("pom.xml", "mvn test"),
    ("gradlew", "./gradlew test"),
    ("mix.exs", "mix test"),
    ("deps.edn", "clojure -M:test"),
    ("Gemfile", "bundle exec rake test"),
    ("Makefile", "make test"),
    ("test_*.py", "python3 -m unittest"),
];

impl Exchange<'_> {
    /// What the tool printed.
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

    /// How many lines the file has, shown or not.
    pub fn total_lines(&self) -> usize {
        let cut = self.detail("truncation");
        let total = cut.and_then(|cut| cut.get("totalLines")?.as_u64());
        match total.and_then(|total| usize::try_from(total).ok()) {
            Some(total) => total,
            None => self.text().lines().count(),
        }
    }

    /// The path or command the tool was called with.
    pub fn argument(&self, name: &str) -> Option<&str> {
        self.call.arguments.get(name).and_then(Value::as_str)
    }

    /// True when a file was to be read and turned out to be a folder.
    pub fn is_about_a_folder(&self) -> bool {
        self.result.is_error && self.text().contains("EISDIR")
    }

    /// True when there is no such file.
    pub fn is_about_nothing(&self) -> bool {
        let text = self.text().to_lowercase();
        let missing = ["enoent", "no such file", "not found", "does not exist"];
        self.result.is_error && missing.iter().any(|words| text.contains(words))
    }

    fn detail(&self, name: &str) -> Option<&Value> {
        let details = self.result.details.as_ref()?;
        details.get(name).filter(|value| !value.is_null())
    }
}

/// The next step of `request` after the exchanges it has had.
pub fn next(request: &Request, had: &[Exchange], tools: &[ToolSpec]) -> Next {
    let calls = match (request, had) {
        (Request::List { path }, []) => vec![list(path.as_deref())],
        (Request::Read { path, lines }, []) => vec![read(path, *lines)],
        (Request::Read { path, .. }, [first]) if first.is_about_a_folder() => {
            vec![list(Some(path))]
        }
        // People write README when the file is README.md.
        (Request::Read { path, .. } | Request::Summarise { path: Some(path) }, [first])
            if first.is_about_nothing() && !file_name(path).contains('.') =>
        {
            vec![list(parent(path))]
        }
        (Request::Read { path, lines }, [first, listed])
            if first.is_about_nothing() && !listed.result.is_error =>
        {
            named_alike(path, &listed.text())
                .map(|path| read(&path, *lines))
                .into_iter()
                .collect()
        }
        (Request::Summarise { path: Some(path) }, [first, listed])
            if first.is_about_nothing() && !listed.result.is_error =>
        {
            named_alike(path, &listed.text())
                .map(|path| read(&path, None))
                .into_iter()
                .collect()
        }
        (Request::Find { pattern, path }, []) => vec![find(pattern, path.as_deref(), None)],
        (Request::Search { text, path }, []) => vec![search(text, path.as_deref())],
        (Request::Run { command }, []) => vec![run(command)],
        (
            Request::Write {
                path, sure: false, ..
            },
            [],
        ) => vec![read(path, Some((1, 1)))],
        (
            Request::Write {
                path,
                content,
                sure: false,
            },
            [read],
        ) if read.is_about_nothing() => {
            vec![write(path, content)]
        }
        (
            Request::Write {
                path,
                content,
                sure: true,
            },
            [],
        ) => vec![write(path, content)],
        (Request::Replace { path, old, new }, had) => replace(path, old, new, had),
        (Request::Summarise { path: Some(path) }, []) => vec![read(path, None)],
        (Request::Summarise { path: None }, []) => look_around(None),
        (Request::Summarise { path: Some(path) }, [first]) if first.is_about_a_folder() => {
            look_around(Some(path))
        }
        (Request::Summarise { path }, [.., listed, found])
            if found.call.name == "find" && !listed.result.is_error =>
        {
            let listing = listed.text();
            let readme = readme_in(&listing);
            let readme = readme.map(|name| inside(path.as_deref(), name));
            readme
                .map(|path| read(&path, Some((1, README_LINES))))
                .into_iter()
                .collect()
        }
        (Request::Test, []) => vec![list(None)],
        (Request::Test, [listed]) => test_command(&listed.text()).map(run).into_iter().collect(),
        _ => Vec::new(),
    };
    let lacks = calls
        .iter()
        .find(|call| !tools.iter().any(|tool| tool.name == call.tool));
    match (calls.is_empty(), lacks) {
        (true, _) => Next::Done,
        (false, Some(call)) => Next::Lacks(call.tool),
        (false, None) => Next::Calls(calls),
    }
}

/// How the tests of a project with these files are run.
fn test_command(listing: &str) -> Option<&'static str> {
    let is = |line: &str, file: &str| match file.split_once('*') {
        Some((begin, end)) => line.starts_with(begin) && line.ends_with(end),
        None => line == file,
    };
    let has = |file: &str| listing.lines().any(|line| is(line.trim(), file));
    TEST_COMMANDS
        .iter()
        .find(|(file, _)| has(file))
        .map(|(_, command)| *command)
}

/// The edit tool wants a text that occurs once; a person who asks to replace it means all.
fn replace(path: &str, old: &str, new: &str, had: &[Exchange]) -> Vec<Call> {
    match had {
        [] => {
            let edits = json!([{ "oldText": old, "newText": new }]);
            vec![call("edit", json!({ "path": path, "edits": edits }))]
        }
        [edit] if edit.result.is_error && edit.text().contains(" occurrences of ") => {
            vec![read(path, None)]
        }
        [_, read] if !read.result.is_error && read.is_complete() && read.text().contains(old) => {
            vec![write(path, &read.text().replace(old, new))]
        }
        _ => Vec::new(),
    }
}

fn look_around(path: Option<&str>) -> Vec<Call> {
    vec![list(path), find("*", path, Some(MAX_LISTED))]
}

fn call(tool: &'static str, arguments: Value) -> Call {
    let arguments = match arguments {
        Value::Object(arguments) => arguments
            .into_iter()
            .filter(|(_, it)| !it.is_null())
            .collect(),
        _ => Map::new(),
    };
    Call { tool, arguments }
}

fn list(path: Option<&str>) -> Call {
    call("ls", json!({ "path": path }))
}

fn read(path: &str, lines: Option<(u64, u64)>) -> Call {
    let first = lines.map(|(first, _)| first.max(1));
    let count = lines.map(|(first, last)| last.saturating_sub(first.max(1)) + 1);
    call(
        "read",
        json!({ "path": path, "offset": first, "limit": count }),
    )
}

fn find(pattern: &str, path: Option<&str>, limit: Option<u64>) -> Call {
    call(
        "find",
        json!({ "pattern": pattern, "path": path, "limit": limit }),
    )
}

/// Text without capitals is looked for in any case, as people expect.
fn search(text: &str, path: Option<&str>) -> Call {
    let any_case = !text.chars().any(char::is_uppercase);
    let special = |char: char| !(char.is_alphanumeric() || matches!(char, '_' | ' ' | '-'));
    let arguments = json!({
        "pattern": text,
        "path": path,
        "ignoreCase": any_case.then_some(true),
        "literal": text.chars().any(special).then_some(true),
        "limit": MAX_MATCHES,
    });
    call("grep", arguments)
}

fn run(command: &str) -> Call {
    call("bash", json!({ "command": command }))
}

fn write(path: &str, content: &str) -> Call {
    call("write", json!({ "path": path, "content": content }))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent)
}

/// The entry of `listing` that has the name of `path`, another case or an ending apart.
fn named_alike(path: &str, listing: &str) -> Option<String> {
    let name = file_name(path).to_lowercase();
    let entry = listing.lines().map(str::trim).find(|entry| {
        let entry = entry.to_lowercase();
        let rest = entry.strip_prefix(&name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.')) && !entry.ends_with('/')
    })?;
    Some(inside(parent(path), entry))
}

fn readme_in(listing: &str) -> Option<&str> {
    let files = listing
        .lines()
        .map(str::trim)
        .filter(|name| !name.ends_with('/'));
    files
        .into_iter()
        .find(|name| name.to_lowercase().starts_with("readme"))
}

fn inside(folder: Option<&str>, name: &str) -> String {
    match folder {
        Some(folder) => format!("{}/{name}", folder.trim_end_matches('/')),
        None => name.to_owned(),
    }
}
