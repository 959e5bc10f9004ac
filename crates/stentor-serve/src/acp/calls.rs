//! Tool calls as people see them: titles, kinds, places and what came of them (section 8).

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use agent_client_protocol_schema::v1 as acp;
use serde_json::{Map, Value, json};
use stentor_agent::permission::PermissionRequest;
use stentor_agent::plan_mode::EXIT_PLAN_MODE;
use stentor_agent::tool::{Tool, ToolEffect};
use stentor_journal::message::{ContentBlock, KnownBlock, ToolCall, text_of};
use stentor_text::visible::visible;

use super::changes::{self, FileBefore};
use super::limits;

/// Shows the calls of a session. Cheap to clone.
#[derive(Clone)]
pub(super) struct CallViewer {
    cwd: Arc<Path>,
    /// Further folders that the session is about.
    additional: Arc<[PathBuf]>,
    tools: Arc<HashMap<String, Arc<dyn Tool>>>,
}

/// The outcome of a call, whether it just ended or comes from a stored conversation.
pub(super) struct CallOutcome<'a> {
    pub content: &'a [ContentBlock],
    pub details: Option<&'a Value>,
    pub is_error: bool,
    /// The client's terminal it ran in.
    pub terminal: Option<&'a str>,
    /// What the file held that was written, if that is known.
    pub before: FileBefore,
}

impl CallViewer {
    /// Shows calls of `tools` made in `cwd`.
    pub fn new(cwd: &Path, additional: &[PathBuf], tools: &[Arc<dyn Tool>]) -> Self {
        let tools = tools
            .iter()
            .map(|tool| (tool.spec().name.clone(), Arc::clone(tool)));
        Self {
            cwd: cwd.into(),
            additional: additional.into(),
            tools: Arc::new(tools.collect()),
        }
    }

    /// A call whose arguments are still being written.
    pub fn announced(&self, id: &str, name: &str) -> acp::ToolCall {
        let title = match name {
            "read" => "Read a file".to_owned(),
            "write" => "Write a file".to_owned(),
            "edit" => "Edit a file".to_owned(),
            "bash" => "Run a command".to_owned(),
            "grep" => "Search in files".to_owned(),
            "find" => "Find files".to_owned(),
            "ls" => "List a folder".to_owned(),
            "todo" => "Update the plan".to_owned(),
            "fetch" => "Fetch a page".to_owned(),
            "web_search" => "Search the web".to_owned(),
            "subagent" => "Delegate a task".to_owned(),
            "job" => "Look after a background job".to_owned(),
            ASK => "Ask you".to_owned(),
            EXIT_PLAN_MODE => "Present a plan".to_owned(),
            _ => plain_name(name),
        };
        acp::ToolCall::new(id.to_owned(), title)
            .name(name.to_owned())
            .kind(self.kind(name))
    }

    /// A call as it was made.
    pub fn made(&self, call: &ToolCall) -> acp::ToolCall {
        acp::ToolCall::new(call.id.clone(), self.title(call))
            .name(call.name.clone())
            .kind(self.kind(&call.name))
            .locations(self.locations(call, None))
            .raw_input(bounded(Value::Object(call.arguments.clone())))
    }

    /// The same as an update of an announced call.
    pub fn completed_arguments(&self, call: &ToolCall) -> acp::ToolCallUpdate {
        acp::ToolCallUpdate::new(call.id.clone(), self.made_fields(call))
    }

    /// The change a call will make if it runs now. Reads the file.
    pub fn preview(&self, call: &ToolCall) -> Vec<acp::ToolCallContent> {
        let tool = self.tools.get(&call.name);
        let may_change = tool.is_some_and(|tool| tool.spec().effect == ToolEffect::Writes);
        match self.path(call) {
            Some(path) if may_change => {
                let before = FileBefore::of(&path);
                let shown = self.wanted(call, &before);
                let after = tool.filter(|_| shown.is_empty());
                let after = after.and_then(|tool| tool.preview(&call.arguments, before.text()));
                after.map_or(shown, |after| changes::unshown(&before, &after))
            }
            _ => Vec::new(),
        }
    }

    /// A call somebody is asked about, with the change it will make.
    pub fn asked(
        &self,
        request: &PermissionRequest,
        mut content: Vec<acp::ToolCallContent>,
    ) -> acp::ToolCallUpdate {
        let call = &*request.call;
        // A title may be too short for a command or an address, and only what was seen whole can be decided on.
        let is_long = request.command.is_some() || request.url.is_some();
        let subject = is_long.then(|| request.subject(limits::OUTPUT_BYTES));
        if let Some(subject) = subject.flatten()
            && !self.title(call).ends_with(&subject)
        {
            content.push(text_content(&subject));
        }
        content.push(text_content(&request.reason));
        let fields = self.made_fields(call);
        let fields = fields
            .status(acp::ToolCallStatus::Pending)
            .name(call.name.clone())
            .content(content);
        acp::ToolCallUpdate::new(call.id.clone(), fields)
    }

    /// What a call that runs has put out so far, if that is anything.
    pub fn progress(&self, call_id: &str, content: &[ContentBlock]) -> Option<acp::ToolCallUpdate> {
        let shown = shown(content);
        if shown.is_empty() {
            return None;
        }
        let fields = acp::ToolCallUpdateFields::new()
            .status(acp::ToolCallStatus::InProgress)
            .content(shown);
        Some(acp::ToolCallUpdate::new(call_id.to_owned(), fields))
    }

    /// What came of a call.
    pub fn ended(&self, call: &ToolCall, outcome: &CallOutcome<'_>) -> acp::ToolCallUpdate {
        let status = match outcome.is_error {
            true => acp::ToolCallStatus::Failed,
            false => acp::ToolCallStatus::Completed,
        };
        let first_line = outcome
            .details
            .and_then(|details| details.get("firstChangedLine"))
            .and_then(Value::as_u64);
        let mut content = self.made_change(call, outcome);
        if let Some(terminal) = outcome.terminal {
            content.push(acp::ToolCallContent::Terminal(acp::Terminal::new(
                terminal.to_owned(),
            )));
        } else if content.is_empty() {
            content = shown(outcome.content);
        }
        let mut raw = Map::new();
        raw.insert("output".into(), text_of(outcome.content, "\n").into());
        if let Some(details) = outcome.details {
            raw.insert("details".into(), details.clone());
        }
        let fields = acp::ToolCallUpdateFields::new()
            .status(status)
            .content(content)
            .raw_output(bounded(Value::Object(raw)));
        let reported = outcome
            .details
            .map(|details| self.reported_locations(details));
        let reported = reported.unwrap_or_default();
        let fields = match first_line {
            _ if !reported.is_empty() => fields.locations(reported),
            Some(line) => fields.locations(self.locations(call, Some(line))),
            None => fields,
        };
        acp::ToolCallUpdate::new(call.id.clone(), fields)
    }

    /// The file a call is about, if it is about one.
    pub fn path(&self, call: &ToolCall) -> Option<PathBuf> {
        let tool = self.tools.get(&call.name)?;
        tool.touches(&call.arguments, &self.cwd)
            .paths
            .into_iter()
            .next()
    }

    fn made_fields(&self, call: &ToolCall) -> acp::ToolCallUpdateFields {
        acp::ToolCallUpdateFields::new()
            .title(self.title(call))
            .kind(self.kind(&call.name))
            .locations(self.locations(call, None))
            .raw_input(bounded(Value::Object(call.arguments.clone())))
    }

    /// The change a call wants to make to a file that holds `before`.
    fn wanted(&self, call: &ToolCall, before: &FileBefore) -> Vec<acp::ToolCallContent> {
        if matches!(before, FileBefore::Unknown | FileBefore::Hidden(_)) {
            return Vec::new();
        }
        let after = self
            .tools
            .get(&call.name)
            .and_then(|tool| tool.preview(&call.arguments, before.text()));
        match (self.path(call), after) {
            (Some(path), Some(after)) => changes::between(&path, before, &after),
            _ => Vec::new(),
        }
    }

    /// The change a call has made: as its result tells, or as its arguments do.
    fn made_change(&self, call: &ToolCall, outcome: &CallOutcome<'_>) -> Vec<acp::ToolCallContent> {
        let patch = outcome
            .details
            .and_then(|details| details.get("patch"))
            .and_then(Value::as_str);
        let reported = outcome.details.map(changes::reported).unwrap_or_default();
        match (self.path(call), patch) {
            _ if outcome.is_error => Vec::new(),
            _ if !reported.is_empty() => reported,
            (Some(path), Some(patch)) => changes::of_patch(&path, patch),
            (_, _) => self.wanted(call, &outcome.before),
        }
    }

    fn title(&self, call: &ToolCall) -> String {
        let text = |name: &str| call.arguments.get(name).and_then(Value::as_str);
        let number = |name: &str| call.arguments.get(name).and_then(Value::as_f64);
        let place = self.path(call).map(|path| self.relative(&path));
        // What a call is about says more than what it says of itself, and cannot be made up.
        let is_about_something = match call.name.as_str() {
            "read" | "write" | "edit" => place.is_some(),
            "bash" => text("command").is_some(),
            "grep" | "find" => text("pattern").is_some(),
            "fetch" => text("url").is_some(),
            "web_search" => text("query").is_some(),
            _ => true,
        };
        if let (false, Some(intent)) = (is_about_something, &call.intent) {
            return one_line(intent);
        }
        let at = place.as_deref().unwrap_or("a file");
        let within = match place.as_deref() {
            None | Some(".") => String::new(),
            Some(place) => format!(" in {place}"),
        };
        let title = match call.name.as_str() {
            "read" => match (number("offset"), number("limit")) {
                (None, None) => format!("Read {at}"),
                (Some(first), None) if first > 1.0 => format!("Read {at} from line {first}"),
                (Some(_), None) => format!("Read {at}"),
                (first, Some(limit)) => {
                    let first = first.unwrap_or(1.0).max(1.0);
                    format!("Read {at}, lines {first} to {}", first + limit - 1.0)
                }
            },
            "write" => format!("Write {at}"),
            "edit" => format!("Edit {at}"),
            "bash" => format!("Run {}", text("command").unwrap_or("a command")),
            "grep" => format!("Search for {:?}{within}", text("pattern").unwrap_or("")),
            "find" => format!(
                "Find files matching {:?}{within}",
                text("pattern").unwrap_or("")
            ),
            "ls" => match at {
                "." => "List the working folder".to_owned(),
                at => format!("List {at}"),
            },
            "todo" => "Update the plan".to_owned(),
            "fetch" => format!("Fetch {}", text("url").unwrap_or("an address")),
            "web_search" => format!("Search the web for {:?}", text("query").unwrap_or("")),
            "subagent" => match text("task").or_else(|| text("prompt")) {
                Some(task) => format!("Delegate: {task}"),
                None => "Delegate a task".to_owned(),
            },
            "job" => {
                let action = text("action").unwrap_or("look after");
                format!("Background: {action} {}", text("id").unwrap_or("jobs"))
            }
            ASK => match first_question(call) {
                Some(question) => format!("Ask: {question}"),
                None => "Ask you".to_owned(),
            },
            EXIT_PLAN_MODE => "Present a plan".to_owned(),
            name => call.intent.clone().unwrap_or_else(|| plain_name(name)),
        };
        one_line(&title)
    }

    fn kind(&self, name: &str) -> acp::ToolKind {
        match name {
            "read" | "ls" => acp::ToolKind::Read,
            "write" | "edit" => acp::ToolKind::Edit,
            // An agent's calls that have no name have their kind as one.
            "bash" | "execute" => acp::ToolKind::Execute,
            "grep" | "find" | "search" => acp::ToolKind::Search,
            "todo" | "think" => acp::ToolKind::Think,
            "delete" => acp::ToolKind::Delete,
            "move" => acp::ToolKind::Move,
            EXIT_PLAN_MODE => acp::ToolKind::SwitchMode,
            "fetch" | "web_fetch" | "web_search" => acp::ToolKind::Fetch,
            name => match self.tools.get(name).map(|tool| tool.spec().effect) {
                Some(ToolEffect::Reads) => acp::ToolKind::Read,
                Some(ToolEffect::Writes) => acp::ToolKind::Edit,
                Some(ToolEffect::Nothing | ToolEffect::Executes) | None => acp::ToolKind::Other,
            },
        }
    }

    fn locations(&self, call: &ToolCall, line: Option<u64>) -> Vec<acp::ToolCallLocation> {
        let Some(path) = self.path(call) else {
            return Vec::new();
        };
        let offset = call.arguments.get("offset").and_then(Value::as_f64);
        // Lines are counted from 1; a number beyond all files is no line.
        let offset = offset.filter(|line| (1.0..4e9).contains(line));
        let line = line.or(offset.map(|line| line as u64));
        let line = line.and_then(|line| u32::try_from(line).ok());
        vec![acp::ToolCallLocation::new(path).line(line)]
    }

    /// The places that a call is about as whoever ran it elsewhere reports them. Editors open them, so
    /// they are only believed within the folders of the session, and not if their text deceives.
    fn reported_locations(&self, details: &Value) -> Vec<acp::ToolCallLocation> {
        let locations = details.get("locations").and_then(Value::as_array);
        let locations = locations.into_iter().flatten().filter_map(|location| {
            let path = self.own_path(location.get("path")?.as_str()?)?;
            let line = location.get("line").and_then(Value::as_u64);
            let line = line.and_then(|line| u32::try_from(line).ok());
            Some(acp::ToolCallLocation::new(path).line(line))
        });
        locations.take(limits::LOCATIONS).collect()
    }

    /// A path of a stranger, if it is in a folder of the session.
    fn own_path(&self, path: &str) -> Option<PathBuf> {
        let is_plain = !path.is_empty()
            && path.len() <= limits::PATH_BYTES
            && !path.contains(['\n', '\t'])
            && matches!(visible(path), Cow::Borrowed(_));
        if !is_plain {
            return None;
        }
        let mut plain = PathBuf::new();
        for part in self.cwd.join(path).components() {
            match part {
                Component::ParentDir => {
                    plain.pop();
                }
                Component::CurDir => {}
                part => plain.push(part),
            }
        }
        let mut folders = self
            .additional
            .iter()
            .map(PathBuf::as_path)
            .chain([&*self.cwd]);
        folders
            .any(|folder| plain.starts_with(folder))
            .then_some(plain)
    }

    fn relative(&self, path: &Path) -> String {
        match path.strip_prefix(&self.cwd) {
            Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
            Ok(rest) => rest.display().to_string(),
            Err(_) => path.display().to_string(),
        }
    }
}

/// The tool that asks questions.
const ASK: &str = "ask";

fn first_question(call: &ToolCall) -> Option<&str> {
    let first = call.arguments.get("questions")?.get(0)?;
    first.get("question")?.as_str()
}

/// One block of text.
pub(super) fn text_content(text: &str) -> acp::ToolCallContent {
    acp::ToolCallContent::Content(acp::Content::new(cut(text, limits::OUTPUT_BYTES)))
}

/// A call waits, and will change a file like this.
pub(super) fn previewed(call_id: &str, change: Vec<acp::ToolCallContent>) -> acp::ToolCallUpdate {
    let fields = acp::ToolCallUpdateFields::new()
        .status(acp::ToolCallStatus::Pending)
        .content(change);
    acp::ToolCallUpdate::new(call_id.to_owned(), fields)
}

/// A call runs.
pub(super) fn in_progress(call_id: &str) -> acp::ToolCallUpdate {
    let fields = acp::ToolCallUpdateFields::new().status(acp::ToolCallStatus::InProgress);
    acp::ToolCallUpdate::new(call_id.to_owned(), fields)
}

/// A terminal, shown where the call is.
pub(super) fn in_terminal(call_id: &str, terminal_id: &str) -> acp::ToolCallUpdate {
    let terminal = acp::ToolCallContent::Terminal(acp::Terminal::new(terminal_id.to_owned()));
    let fields = acp::ToolCallUpdateFields::new()
        .status(acp::ToolCallStatus::InProgress)
        .content(vec![terminal]);
    acp::ToolCallUpdate::new(call_id.to_owned(), fields)
}

/// The first line, not longer than a title may be.
pub(super) fn one_line(text: &str) -> String {
    let text = visible(text);
    let mut lines = text.trim().lines();
    let line = lines.next().unwrap_or_default();
    let is_cut = lines.next().is_some() || line.chars().count() > limits::TITLE_CHARS;
    let mut title: String = line.chars().take(limits::TITLE_CHARS).collect();
    if is_cut {
        title.push('…');
    }
    title
}

/// `mcp__server__tool` as people say it.
fn plain_name(name: &str) -> String {
    let mut parts = name.splitn(3, "__");
    match (parts.next(), parts.next(), parts.next()) {
        (Some("mcp"), Some(server), Some(tool)) => format!("{tool} ({server})"),
        _ if name.trim().is_empty() => "A tool without a name".to_owned(),
        _ => name.to_owned(),
    }
}

fn shown(content: &[ContentBlock]) -> Vec<acp::ToolCallContent> {
    let block = |block: &ContentBlock| match block {
        ContentBlock::Known(KnownBlock::Text(text)) if text.text.is_empty() => None,
        ContentBlock::Known(KnownBlock::Text(text)) => Some(text_content(&text.text)),
        ContentBlock::Known(KnownBlock::Image(image)) if image.data.len() > limits::IMAGE_BYTES => {
            Some(text_content(
                "[A picture that is too large to be shown here.]",
            ))
        }
        ContentBlock::Known(KnownBlock::Image(image)) => {
            let image = acp::ImageContent::new(&*image.data, image.mime_type.clone());
            let image = acp::ContentBlock::Image(image);
            Some(acp::ToolCallContent::Content(acp::Content::new(image)))
        }
        ContentBlock::Known(_) | ContentBlock::Other(_) => None,
    };
    content.iter().filter_map(block).collect()
}

fn cut(text: &str, limit_bytes: usize) -> String {
    if text.len() <= limit_bytes {
        return text.to_owned();
    }
    let kept = &text[..text.floor_char_boundary(limit_bytes)];
    format!(
        "{kept}\n[{} more bytes are not shown]",
        text.len() - kept.len()
    )
}

/// The value with its long texts cut, so that a frame stays small.
fn bounded(value: Value) -> Value {
    match value {
        Value::String(text) if text.len() > limits::RAW_TEXT_BYTES => {
            json!(cut(&text, limits::RAW_TEXT_BYTES))
        }
        Value::Array(list) => list.into_iter().map(bounded).collect(),
        Value::Object(map) => {
            let map = map.into_iter().map(|(name, value)| (name, bounded(value)));
            Value::Object(map.collect())
        }
        value => value,
    }
}
