//! From what is wanted to tool calls.
//!
//! A request is a short sequence of calls. Which comes next follows from the results so far and
//! nothing else, so the same conversation always leads to the same calls.

use serde_json::{Map, Value, json};
use stentor_agent::tool::ToolSpec;
use stentor_journal::message::{ToolCall, ToolResultMessage, text_of};

use super::request::{FileToWrite, OfflineRequest, TextToReplace};

/// Files listed for a summary. More are shown as "at least".
pub const MAX_LISTED: u64 = 5000;

/// Results of a search that are worth having; a report shows only the first of them.
const MAX_MATCHES: u64 = 500;

/// Lines of a README that go into a summary of a folder.
const README_LINES: u64 = 60;

/// How to run the tests of a project that has one of these files.
const TEST_COMMANDS: &str = "\
Cargo.toml: cargo test
go.mod: go test ./...
package.json: npm test
pyproject.toml: python3 -m pytest
setup.py: python3 -m pytest
pytest.ini: python3 -m pytest
pom.xml: mvn test
gradlew: ./gradlew test
mix.exs: mix test
deps.edn: clojure -M:test
Gemfile: bundle exec rake test
Makefile: make test
test_*.py: python3 -m unittest";

/// A tool call to make.
#[derive(Debug, Clone, PartialEq)]
pub struct OfflineCall {
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
pub enum NextStep {
    Calls(Vec<OfflineCall>),
    /// Everything is there to report.
    Done,
    /// The tool is not enabled in this session.
    Lacks(&'static str),
}

impl Exchange<'_> {
    /// What the tool printed.
    pub fn text(&self) -> String {
        text_of(&self.result.content, "\n")
    }

    /// True when the tool gave the whole of what it was asked for.
    pub fn is_complete(&self) -> bool {
        let cut = self.detail("truncation");
        let is_cut = cut.is_some_and(|cut| cut.get("truncated") != Some(&Value::Bool(false)));
        let limits = ["match", "result", "entry"].map(|what| format!("{what}LimitReached"));
        !is_cut && limits.iter().all(|name| self.detail(name).is_none())
    }

    /// How many lines the file has, shown or not.
    pub fn total_lines(&self) -> usize {
        let cut = self.detail("truncation");
        let total = cut.and_then(|cut| cut.get("totalLines")?.as_u64());
        let total = total.and_then(|total| usize::try_from(total).ok());
        total.unwrap_or_else(|| self.text().lines().count())
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

    /// True for a listing that has every name: what is not in it is not there.
    pub fn tells_all(&self) -> bool {
        self.is_complete() && !self.text().contains("\n\n[")
    }

    fn detail(&self, name: &str) -> Option<&Value> {
        let details = self.result.details.as_ref()?;
        details.get(name).filter(|value| !value.is_null())
    }
}

/// The next step of `request` after the exchanges it has had.
pub fn next(request: &OfflineRequest, had: &[Exchange], tools: &[ToolSpec]) -> NextStep {
    let is_offered = |name: &str| tools.iter().any(|tool| tool.name == name);
    let can_list = is_offered("ls");
    let calls = match request {
        OfflineRequest::List(place) if had.is_empty() => vec![list(place.as_deref())],
        OfflineRequest::Read(path, lines) => match look(path, *lines, had, can_list) {
            PathLook::Call(call) => vec![call],
            PathLook::Folder => vec![list(Some(path))],
            PathLook::Done => Vec::new(),
        },
        OfflineRequest::Find(pattern, place) if had.is_empty() => {
            vec![find(pattern, place.as_deref(), None)]
        }
        OfflineRequest::Search(text, place) if had.is_empty() => {
            vec![search(text, place.as_deref())]
        }
        OfflineRequest::Run(command) if had.is_empty() => vec![run(command)],
        OfflineRequest::Write(writing) if !writing.sure => match had.last() {
            Some(last) if last.call.name == "write" => Vec::new(),
            _ => write_new(writing, had, can_list),
        },
        OfflineRequest::Write(writing) if had.is_empty() => {
            vec![write(&writing.path, &writing.content)]
        }
        OfflineRequest::Replace(replacing) => replace(replacing, had),
        OfflineRequest::Summarise(place) => summarise(place.as_deref(), had, can_list),
        OfflineRequest::Test => match had {
            [] => vec![list(None)],
            [listed] => test_command(&listed.text()).map(run).into_iter().collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    match calls.iter().find(|call| !is_offered(call.tool)) {
        Some(call) => NextStep::Lacks(call.tool),
        None if calls.is_empty() => NextStep::Done,
        None => NextStep::Calls(calls),
    }
}

/// What a path turns out to be.
enum PathLook {
    /// This shows more.
    Call(OfflineCall),
    Folder,
    /// Nothing more can be found out.
    Done,
}

/// Finds out what a path is, and reads it if it is a file. What has no ending may be a folder, or
/// `README` for `README.md`: the names around it tell, without a call that fails.
fn look(path: &str, lines: Option<(u64, u64)>, had: &[Exchange], can_list: bool) -> PathLook {
    let (parent, name) = parent_and_name(path);
    let has_ending = name.trim_start_matches('.').contains('.');
    match had {
        [] if matches!(name, "" | "." | "..") => PathLook::Folder,
        [] if !has_ending && can_list => PathLook::Call(list(parent)),
        [] => PathLook::Call(read(path, lines)),
        [first] if first.is_about_a_folder() => PathLook::Folder,
        [listed] if listed.call.name == "ls" && listed.argument("path") != Some(path) => {
            match entry_like(listed, name) {
                Some(folder) if folder.ends_with('/') => PathLook::Folder,
                Some(file) => PathLook::Call(read(&inside(parent, &file), lines)),
                None if listed.tells_all() => PathLook::Done,
                None => PathLook::Call(read(path, lines)),
            }
        }
        _ => PathLook::Done,
    }
}

/// The entry of a listing with this name, in any case, else the file that only has an ending more.
fn entry_like(listed: &Exchange, name: &str) -> Option<String> {
    let (listing, name) = (listed.text(), name.to_lowercase());
    let find = |is: &dyn Fn(&str) -> bool| {
        let mut entries = listing.lines().map(str::trim);
        let found = entries.find(|entry| is(&entry.to_lowercase()));
        found.map(str::to_owned)
    };
    let same = find(&|entry| entry.trim_end_matches('/') == name);
    same.or_else(|| {
        find(&|entry| {
            let rest = entry.strip_prefix(&name);
            rest.is_some_and(|rest| rest.starts_with('.') && !rest.ends_with('/'))
        })
    })
}

/// Writes a file that is not there yet: who did not put the text in quotes may not mean to replace one.
fn write_new(writing: &FileToWrite, had: &[Exchange], can_list: bool) -> Vec<OfflineCall> {
    let write = || vec![write(&writing.path, &writing.content)];
    let (parent, name) = parent_and_name(&writing.path);
    match had {
        [] if can_list => vec![list(parent)],
        [] => vec![read(&writing.path, Some((1, 1)))],
        [.., looked] if looked.is_about_nothing() => write(),
        [listed] if listed.call.name == "ls" && !listed.result.is_error => {
            match entry_named(listed, name) {
                true => Vec::new(),
                false if listed.tells_all() => write(),
                false => vec![read(&writing.path, Some((1, 1)))],
            }
        }
        _ => Vec::new(),
    }
}

/// A file is read; of a folder its listing, its files and its README are.
fn summarise(place: Option<&str>, had: &[Exchange], can_list: bool) -> Vec<OfflineCall> {
    let look_around = || vec![list(place), find("*", place, Some(MAX_LISTED))];
    match (place, had) {
        (None, []) => look_around(),
        (_, [.., listed, found]) if found.call.name == "find" && !listed.result.is_error => {
            let listing = listed.text();
            let mut files = listing.lines().map(str::trim);
            let readme = files
                .find(|name| name.to_lowercase().starts_with("readme") && !name.ends_with('/'));
            let call = readme.map(|name| read(&inside(place, name), Some((1, README_LINES))));
            call.into_iter().collect()
        }
        (Some(path), had) => match look(path, None, had, can_list) {
            PathLook::Call(call) => vec![call],
            PathLook::Folder => look_around(),
            PathLook::Done => Vec::new(),
        },
        (None, _) => Vec::new(),
    }
}

/// The edit tool wants a text that occurs once; a person who asks to replace it means all.
fn replace(TextToReplace { path, old, new }: &TextToReplace, had: &[Exchange]) -> Vec<OfflineCall> {
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

/// How the tests of a project with these files are run.
fn test_command(listing: &str) -> Option<&'static str> {
    let is = |line: &str, file: &str| match file.split_once('*') {
        Some((begin, end)) => line.starts_with(begin) && line.ends_with(end),
        None => line == file,
    };
    let mut commands = TEST_COMMANDS
        .lines()
        .filter_map(|line| line.split_once(": "));
    let found = commands.find(|(file, _)| listing.lines().any(|line| is(line.trim(), file)));
    found.map(|(_, command)| command)
}

fn call(tool: &'static str, arguments: Value) -> OfflineCall {
    let arguments = match arguments {
        Value::Object(arguments) => arguments
            .into_iter()
            .filter(|(_, it)| !it.is_null())
            .collect(),
        _ => Map::new(),
    };
    OfflineCall { tool, arguments }
}

fn list(path: Option<&str>) -> OfflineCall {
    call("ls", json!({ "path": path }))
}

fn read(path: &str, lines: Option<(u64, u64)>) -> OfflineCall {
    let first = lines.map(|(first, _)| first.max(1));
    let count = lines.map(|(first, last)| last.saturating_sub(first.max(1)) + 1);
    call(
        "read",
        json!({ "path": path, "offset": first, "limit": count }),
    )
}

fn find(pattern: &str, path: Option<&str>, limit: Option<u64>) -> OfflineCall {
    call(
        "find",
        json!({ "pattern": pattern, "path": path, "limit": limit }),
    )
}

/// Text without capitals is looked for in any case, as people expect.
fn search(text: &str, path: Option<&str>) -> OfflineCall {
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

fn run(command: &str) -> OfflineCall {
    call("bash", json!({ "command": command }))
}

fn write(path: &str, content: &str) -> OfflineCall {
    call("write", json!({ "path": path, "content": content }))
}

/// The folder that a path is in, if it names one, and its last part.
fn parent_and_name(path: &str) -> (Option<&str>, &str) {
    match path.rsplit_once('/') {
        Some(("", name)) => (Some("/"), name),
        Some((parent, name)) => (Some(parent), name),
        None => (None, path),
    }
}

/// Whether a listing has this very name, in any case: not every file system tells them apart.
fn entry_named(listed: &Exchange, name: &str) -> bool {
    let name = name.to_lowercase();
    let listing = listed.text().to_lowercase();
    let mut entries = listing.lines().map(str::trim);
    entries.any(|entry| entry.trim_end_matches('/') == name)
}

fn inside(folder: Option<&str>, name: &str) -> String {
    match folder {
        Some(folder) => format!("{}/{name}", folder.trim_end_matches('/')),
        None => name.to_owned(),
    }
}
