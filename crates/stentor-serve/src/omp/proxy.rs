//! What the proxy knows of the dialect: which command opens a session, what a connection has set up,
//! and what is under way.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use stentor_wire::omp::frame::{Frame, PromptError, UiMethod, UiRequest};
use stentor_wire::omp::response::Response;

use super::commands::plain;
use super::framing::{AgentFrame, Framing};
use crate::proxy::{
    FirstSession, FromClient, GoesOn, OWN_ID, Preparation, ProxiedDialect, UpstreamStart,
    session_flags,
};

/// The flags that name a session.
const SESSION_FLAGS: [&str; 3] = ["--session", "--resume", "-r"];

/// Those that name one, and the one that means the newest.
const ALL_SESSION_FLAGS: [&str; 5] = ["--session", "--resume", "-r", "--continue", "-c"];

/// Those that mean the newest one.
const NEWEST_FLAGS: [&str; 2] = ["--continue", "-c"];

/// The field of `open_session` that names a folder.
const SESSION_DIR: &str = "sessionDir";

/// The commands that set up the connection, whichever session it is in. The last of each counts.
const SET_UP: [&str; 5] = [
    "negotiate_protocol",
    "set_event_filter",
    "set_subagent_subscription",
    "set_host_tools",
    "set_host_uri_schemes",
];

/// The commands that set what a new session has from the one before. The last of each counts.
const SETTINGS: [&str; 7] = [
    "set_model",
    "set_thinking_level",
    "set_steering_mode",
    "set_follow_up_mode",
    "set_interrupt_mode",
    "set_auto_compaction",
    "set_auto_retry",
];

/// Lines that answer something and are answered by nothing.
const ANSWERS: [&str; 4] = [
    "extension_ui_response",
    "host_tool_update",
    "host_tool_result",
    "host_uri_result",
];

/// Commands, prompts and questions that are tracked. What is more is not answered when a node is lost.
const MAX_TRACKED: usize = 1024;

/// A client of omp or pi.
#[derive(Default)]
pub(crate) struct OmpProxy {
    /// The folder of the client.
    cwd: PathBuf,
    /// By the place of the command in [`SET_UP`].
    set_up: BTreeMap<usize, OmpLine>,
    /// By the place of the command in [`SETTINGS`], those of the session.
    settings: BTreeMap<usize, OmpLine>,
    /// Commands without an answer: id to name.
    commands: HashMap<String, String>,
    /// Prompts that were accepted and whose result has not come, by id.
    prompts: HashSet<String>,
    /// Those of a run that the client has joined again: its end is theirs.
    orphans: HashSet<String>,
    /// The next beginning of a run is that of one that the client knows.
    rejoins: bool,
    /// Questions to the client without an answer.
    questions: HashSet<String>,
    is_running: bool,
    /// Counts the proxy's own commands.
    count: u64,
    /// Its last command, whose answer has not come.
    waits_for: Option<String>,
}

/// A command by its fields.
type OmpLine = BTreeMap<String, Box<RawValue>>;

/// What is looked at in a line.
#[derive(Deserialize, Default)]
struct OmpLineHead<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, rename = "type", default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "sessionPath", default)]
    session_path: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "sessionDir", default)]
    session_dir: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "targetId", default)]
    target_id: Option<Cow<'a, str>>,
    #[serde(default)]
    success: bool,
    #[serde(default)]
    aborted: bool,
}

impl OmpProxy {
    /// That of a client in a folder.
    pub fn new(cwd: &str) -> Self {
        Self {
            cwd: PathBuf::from(cwd),
            ..Self::default()
        }
    }

    /// Notes what further upstreams must know.
    fn note_settings(&mut self, kind: &str, line: &[u8]) {
        for (names, noted) in [
            (&SET_UP[..], &mut self.set_up),
            (&SETTINGS[..], &mut self.settings),
        ] {
            if let Some(place) = names.iter().position(|name| *name == kind)
                && let Ok(command) = serde_json::from_slice(line)
            {
                noted.insert(place, command);
            }
        }
    }

    /// What a command means for where the client is.
    fn opening(&mut self, kind: &str, head: &OmpLineHead<'_>) -> FromClient {
        let opening = match (kind, &head.session_path, &head.session_dir) {
            ("switch_session", Some(path), _) => FromClient::Opens(path.to_string()),
            ("open_session", _, Some(folder)) if !folder.trim().is_empty() => {
                let folder = plain(&self.cwd.join(&**folder));
                FromClient::OpensKeptIn(folder.to_string_lossy().into_owned())
            }
            ("new_session", _, _) => FromClient::Begins(None),
            _ => FromClient::Pass,
        };
        if matches!(opening, FromClient::Opens(_)) {
            // It has its own.
            self.settings.clear();
        }
        opening
    }

    fn own_command(&mut self, out: &mut Vec<u8>, mut command: OmpLine) {
        self.count += 1;
        let id = format!("\"{OWN_ID}{}\"", self.count);
        if let Ok(raw) = RawValue::from_string(id.clone()) {
            command.insert("id".to_owned(), raw);
        }
        if serde_json::to_writer(&mut *out, &command).is_ok() {
            out.push(b'\n');
            self.waits_for = Some(id);
        }
    }

    /// Answers commands, withdraws questions and says why.
    fn answer_open(&mut self, why: &str, to_client: &mut Vec<u8>) {
        for (id, command) in self.commands.drain() {
            let id = RawValue::from_string(id).ok();
            let failure = Response::failure(id.as_deref(), &command, why);
            write(to_client, "response", &failure);
        }
        for question in self.questions.drain() {
            let cancelled = UiRequest {
                id: &format!("{OWN_ID}{question}"),
                method: UiMethod::Cancel {
                    target_id: &question,
                },
            };
            let frame: AgentFrame<'_> = Frame::ExtensionUiRequest(cancelled);
            write(to_client, "extension_ui_request", &frame);
        }
        let level = "warning";
        let notice: AgentFrame<'_> = Frame::Notice {
            level,
            message: why,
        };
        write(to_client, "notice", &notice);
    }

    /// A line that may be an answer, or a question.
    fn note(&mut self, line: &[u8], to_client: &mut Vec<u8>) {
        let Ok(head) = serde_json::from_slice::<OmpLineHead<'_>>(line) else {
            return to_client.extend_from_slice(line);
        };
        let id = head.id.map_or("", RawValue::get);
        match head.kind.as_deref() {
            Some("response") if is_own(id) => {
                if self.waits_for.as_deref() == Some(id) {
                    self.waits_for = None;
                }
                return;
            }
            Some("ready") if self.waits_for.is_some() => return,
            Some("response") => {
                let command = self.commands.remove(id);
                let is_prompt = matches!(command.as_deref(), Some("prompt" | "abort_and_prompt"));
                if is_prompt && head.success && self.prompts.len() < MAX_TRACKED {
                    self.prompts.insert(id.to_owned());
                }
            }
            Some("prompt_result") => {
                self.prompts.remove(id);
            }
            Some("agent_start") => {
                if std::mem::take(&mut self.rejoins) && self.is_running {
                    return;
                }
                self.is_running = true;
            }
            Some("agent_settled") => {
                self.is_running = false;
                let status = if head.aborted { "aborted" } else { "completed" };
                let orphans = std::mem::take(&mut self.orphans);
                write_results(orphans, status, None, to_client);
            }
            Some("extension_ui_request") => match head.method.as_deref() {
                Some("select" | "confirm" | "input" | "editor")
                    if self.questions.len() < MAX_TRACKED =>
                {
                    self.questions.insert(id.trim_matches('"').to_owned());
                }
                Some("cancel") => {
                    if let Some(target) = &head.target_id {
                        self.questions.remove(&**target);
                    }
                }
                _ => {}
            },
            _ => {}
        }
        to_client.extend_from_slice(line);
    }
}

impl ProxiedDialect for OmpProxy {
    fn named_by(&self, flags: &[String]) -> Option<String> {
        session_flags::named(flags, &SESSION_FLAGS)
    }

    fn wants_newest(&self, flags: &[String]) -> bool {
        let is_newest = |flag: &String| NEWEST_FLAGS.contains(&flag.as_str());
        flags.iter().any(is_newest) && self.named_by(flags).is_none()
    }

    fn client_line(&mut self, line: &[u8]) -> FromClient {
        let Ok(head) = serde_json::from_slice::<OmpLineHead<'_>>(line) else {
            return FromClient::Pass;
        };
        let Some(kind) = head.kind.as_deref() else {
            return FromClient::Pass;
        };
        self.note_settings(kind, line);
        let id = head.id.map(RawValue::get);
        if ANSWERS.contains(&kind) {
            self.questions.remove(id.unwrap_or("").trim_matches('"'));
            return FromClient::Pass;
        }
        if let Some(id) = id.filter(|_| self.commands.len() < MAX_TRACKED) {
            self.commands.insert(id.to_owned(), kind.to_owned());
        }
        self.opening(kind, &head)
    }

    fn upstream_line(&mut self, line: &[u8], to_client: &mut Vec<u8>) {
        // Most lines are pieces of answers.
        let looked_at = [
            &b"{\"id\":"[..],
            b"{\"type\":\"r",
            b"{\"type\":\"agent_s",
            b"{\"type\":\"prompt_result\"",
            b"{\"type\":\"extension_ui_request\"",
        ];
        match looked_at.iter().any(|start| line.starts_with(start)) {
            true => self.note(line, to_client),
            false => to_client.extend_from_slice(line),
        }
    }

    fn arrival(&self, flags: &[String], _named: Option<&str>) -> UpstreamStart {
        UpstreamStart {
            flags: session_flags::without(flags, &ALL_SESSION_FLAGS),
            first: FirstSession::None,
        }
    }

    fn flags_in(&self, flags: &[String], session: &str) -> Vec<String> {
        let mut flags = session_flags::without(flags, &ALL_SESSION_FLAGS);
        flags.extend(["--session".to_owned(), session.to_owned()]);
        flags
    }

    fn prologue(&mut self, goes_on: GoesOn<'_>) -> Vec<u8> {
        let mut lines = Vec::new();
        let mut told: Vec<_> = self.set_up.values().cloned().collect();
        if goes_on == GoesOn::WithNew {
            told.extend(self.settings.values().cloned());
        }
        for command in told {
            self.own_command(&mut lines, command);
        }
        // Commands are done in their order: when this one is answered, all are.
        let last = RawValue::from_string("\"get_available_thinking_levels\"".to_owned());
        let last = last.map(|kind| BTreeMap::from([("type".to_owned(), kind)]));
        self.own_command(&mut lines, last.unwrap_or_default());
        lines
    }

    fn preparation(&mut self) -> Preparation {
        match self.waits_for {
            Some(_) => Preparation::Waits,
            None => Preparation::Done,
        }
    }

    fn line_elsewhere(&self, line: Vec<u8>, folder: Option<&str>) -> Vec<u8> {
        let command = serde_json::from_slice::<OmpLine>(&line);
        let folder = folder.and_then(|folder| to_raw_value(folder).ok());
        // Relative to the folder of the client, which another node may not have.
        match (command, folder) {
            (Ok(mut command), Some(folder)) if command.contains_key(SESSION_DIR) => {
                command.insert(SESSION_DIR.to_owned(), folder);
                let written = serde_json::to_vec(&command);
                written.map_or(line, |mut line| {
                    line.push(b'\n');
                    line
                })
            }
            _ => line,
        }
    }

    fn refuse(&mut self, line: &[u8], why: &str, to_client: &mut Vec<u8>) {
        let head = serde_json::from_slice::<OmpLineHead<'_>>(line).unwrap_or_default();
        let id = head.id;
        let command = head.kind.as_deref().unwrap_or("switch_session");
        self.commands.remove(id.map_or("", RawValue::get));
        self.waits_for = None;
        let failure = Response::failure(id, command, why);
        write(to_client, "response", &failure);
    }

    fn lost(&mut self, why: &str, to_client: &mut Vec<u8>) {
        self.answer_open(why, to_client);
        if !self.is_running {
            self.prompts.clear();
        }
        self.end_run(why, to_client);
    }

    fn interrupted(&mut self, why: &str, to_client: &mut Vec<u8>) {
        self.answer_open(why, to_client);
        self.orphans.extend(self.prompts.drain());
        self.rejoins = true;
    }

    fn end_run(&mut self, why: &str, to_client: &mut Vec<u8>) {
        self.rejoins = false;
        if !std::mem::take(&mut self.is_running) {
            return;
        }
        let ended: AgentFrame<'_> = Frame::AgentEnd {
            messages: &[],
            will_retry: false,
            is_terminal: true,
            yielded: true,
            message_count: 0,
        };
        write(to_client, "agent_end", &ended);
        let prompts = self.prompts.drain().chain(self.orphans.drain());
        write_results(prompts, "error", Some(why), to_client);
        let settled: AgentFrame<'_> = Frame::SessionSettled;
        write(to_client, "session_settled", &settled);
        let settled: AgentFrame<'_> = Frame::AgentSettled { aborted: false };
        write(to_client, "agent_settled", &settled);
    }

    fn give_up(&mut self, why: &str, to_client: &mut Vec<u8>) {
        let failure = Response::failure(None, "attach", why);
        write(to_client, "response", &failure);
    }
}

/// Writes how prompts ended.
fn write_results(
    prompts: impl IntoIterator<Item = String>,
    status: &str,
    why: Option<&str>,
    to_client: &mut Vec<u8>,
) {
    for id in prompts {
        let id = RawValue::from_string(id).ok();
        let error = why.map(|message| PromptError {
            message,
            provider: None,
            model: None,
            http_status: None,
            retryable: true,
        });
        let result: AgentFrame<'_> = Frame::PromptResult {
            id: id.as_deref(),
            agent_invoked: true,
            status,
            error,
            session_settled: true,
        };
        write(to_client, "prompt_result", &result);
    }
}

fn is_own(id: &str) -> bool {
    id.strip_prefix('"')
        .is_some_and(|id| id.starts_with(OWN_ID))
}

fn write(to_client: &mut Vec<u8>, name: &str, frame: &impl serde::Serialize) {
    Framing::default().write(to_client, name, frame);
}
