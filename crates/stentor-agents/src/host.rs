//! What a child asks, answered by the session: its policy first, then whoever can answer.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use stentor_agent::dialog::{Dialog, DialogAnswer, DialogKind, DialogOption};
use stentor_agent::model_host::{HostCall, ModelHost};
use stentor_agent::tool::{ToolEffect, ToolSpec, Touches};
use stentor_client::{
    AgentQuestion, Host, HostAnswer, HostFuture, HostOffers, HostPermissionAnswer, HostRefusal,
    OpenCall, Permission, PermissionKind, QuestionKind, TerminalExit, TerminalOutput,
    TerminalRequest,
};
use stentor_journal::message::ToolCall;
use stentor_policy::PermissionAnswer as PolicyAnswer;
use tokio::time::timeout;

use crate::command_line;
use crate::inbox::{ChildShared, GrantedAccess};
use crate::terminals::Terminals;

/// How long the publication of a call is awaited before whoever can is asked about it.
const PUBLISHED_WITHIN: Duration = Duration::from_secs(10);

/// How long a session may take to take up what its child began by itself.
const WOKEN_WITHIN: Duration = Duration::from_secs(2);

/// The longest description of a call that an "always" is stored with.
const WORDS_BYTES: usize = 4 * 1024;

/// The session, for its child.
pub(crate) struct SessionHost {
    /// The child belongs to this, and ends with it.
    shared: Weak<ChildShared>,
    terminals: Arc<Terminals>,
    /// The name of the agent.
    agent: String,
    /// Which child of the session it is for.
    child: u64,
    /// Numbers the calls that are made for it.
    calls: AtomicU64,
}

impl Host for SessionHost {
    fn offers(&self) -> HostOffers {
        // What the session has no tool for is not done for its agent either.
        let host = self.host();
        let has = |tool| host.as_ref().is_some_and(|host| host.has_tool(tool));
        HostOffers {
            read_files: has("read"),
            write_files: has("write"),
            terminals: has("bash"),
            questions: true,
        }
    }

    fn permission(&self, permission: Permission) -> HostFuture<'_, HostPermissionAnswer> {
        Box::pin(async move {
            let Some(host) = self.host_soon().await else {
                return permission.refuse();
            };
            let _open = self.shared.upgrade().map(|shared| shared.ask());
            if let Some(call) = &permission.call {
                self.published(call).await;
            }
            let name = permission
                .tool
                .clone()
                .unwrap_or_else(|| "other".to_owned());
            let id = permission.call.as_ref().map(|call| call.id.clone());
            let call = Arc::new(ToolCall {
                id: id.unwrap_or_default(),
                arguments: permission.input.as_object().cloned().unwrap_or_default(),
                name,
                thought_signature: None,
                intent: Some(permission.title.clone()).filter(|title| !title.is_empty()),
            });
            let spec = spec(&call.name, permission.kind.as_deref());
            let mut touches = touches(&call.arguments, &host.cwd());
            touches.words = self.words(&call, spec.effect, &touches);
            if permission.is_choice() {
                // Which of several things is for a person to say, whether any of them for the policy.
                let about = described(&permission.title, &touches);
                return match host.permit_again(call, spec, touches).await {
                    Ok(()) => choose(&permission, about, &*host).await,
                    Err(_) => permission.refuse(),
                };
            }
            let granted = granted(spec.effect, &touches);
            match host.permit(call, spec, touches).await {
                Ok(()) => {
                    if let Some(shared) = self.shared.upgrade() {
                        shared.grant(granted);
                    }
                    self.allow(&permission, &*host)
                }
                Err(_) => permission.refuse(),
            }
        })
    }

    fn question(&self, question: AgentQuestion) -> HostFuture<'_, HostAnswer> {
        Box::pin(async move {
            let Some(host) = self.host_soon().await else {
                return HostAnswer::Cancelled;
            };
            let _open = self.shared.upgrade().map(|shared| shared.ask());
            let message = question.message.unwrap_or_default();
            // Only a confirmation has a place of its own for it.
            let title = match question.kind {
                QuestionKind::Confirm => question.title,
                _ if message.is_empty() => question.title,
                _ => format!("{message}\n\n{}", question.title),
            };
            let kind = match question.kind {
                QuestionKind::Select(choices) => DialogKind::Select {
                    options: options(choices),
                },
                QuestionKind::MultiSelect(choices) => DialogKind::MultiSelect {
                    options: options(choices),
                },
                QuestionKind::Confirm => DialogKind::Confirm {
                    message,
                    lasting: None,
                },
                QuestionKind::Text(prefill) if prefill.is_empty() => {
                    DialogKind::Input { placeholder: None }
                }
                QuestionKind::Text(prefill) => DialogKind::Editor {
                    prefill: Some(prefill),
                },
            };
            let dialog = Dialog {
                title,
                kind,
                form: None,
                timeout_ms: None,
            };
            match host.ask(dialog).await {
                DialogAnswer::Value(value) => HostAnswer::Value(value),
                DialogAnswer::Confirmed(yes) => HostAnswer::Confirmed(yes),
                DialogAnswer::Values(values) => HostAnswer::Values(values),
                DialogAnswer::Filled(_) | DialogAnswer::Nothing => HostAnswer::Cancelled,
            }
        })
    }

    fn read_text_file(
        &self,
        call: Option<OpenCall>,
        path: PathBuf,
        line: Option<u64>,
        limit: Option<u64>,
    ) -> HostFuture<'_, Result<String, HostRefusal>> {
        Box::pin(async move {
            let host = self.session().await?;
            let mut arguments = json!({ "path": named(&path)? });
            for (name, number) in [("offset", line), ("limit", limit)] {
                if let Some(number) = number.filter(|number| *number > 0) {
                    arguments[name] = number.into();
                }
            }
            let wanted = [GrantedAccess::Read(path)];
            let call = self.call(call, "read", arguments, &wanted).await;
            let text = host.read_text(call).await;
            let text = text.map_err(|why| HostRefusal::Because(why.to_string()))?;
            // No lines at all are a question whether it may be read.
            Ok(if limit == Some(0) {
                String::new()
            } else {
                text
            })
        })
    }

    fn write_text_file(
        &self,
        call: Option<OpenCall>,
        path: PathBuf,
        text: String,
    ) -> HostFuture<'_, Result<(), HostRefusal>> {
        Box::pin(async move {
            let host = self.session().await?;
            let arguments = json!({ "path": named(&path)?, "content": text });
            let wanted = [GrantedAccess::Write(path)];
            let call = self.call(call, "write", arguments, &wanted).await;
            let written = host.run_tool(call).await;
            written
                .map(drop)
                .map_err(|why| HostRefusal::Because(why.to_string()))
        })
    }

    fn terminal_create(
        &self,
        terminal: TerminalRequest,
    ) -> HostFuture<'_, Result<String, HostRefusal>> {
        Box::pin(async move {
            let host = self.session().await?;
            let line = command_line::of_terminal(&terminal, &host.cwd())?;
            let arguments = json!({ "command": line });
            let plain = command_line::without_marks(&terminal, &host.cwd());
            let wanted = [Some(line), plain].into_iter().flatten();
            let wanted: Vec<GrantedAccess> = wanted.map(GrantedAccess::Command).collect();
            let call = self.call(terminal.call, "bash", arguments, &wanted).await;
            let limit = terminal.output_limit_bytes;
            let terminals = &self.terminals;
            terminals.create(self.child, &*host, call, limit).await
        })
    }

    fn terminal_output(&self, id: String) -> HostFuture<'_, Result<TerminalOutput, HostRefusal>> {
        let output = self.terminals.output(self.child, &id);
        Box::pin(std::future::ready(output))
    }

    fn terminal_wait(&self, id: String) -> HostFuture<'_, Result<TerminalExit, HostRefusal>> {
        Box::pin(async move { self.terminals.wait(self.child, &id).await })
    }

    fn terminal_kill(&self, id: String, release: bool) -> HostFuture<'_, Result<(), HostRefusal>> {
        Box::pin(async move { self.terminals.kill(self.child, &id, release).await })
    }
}

impl Drop for SessionHost {
    fn drop(&mut self) {
        self.terminals.end_all_of(self.child);
    }
}

impl SessionHost {
    /// The session, for a child that is the next one of `shared`.
    pub fn new(shared: &Arc<ChildShared>, agent: &str) -> Self {
        Self {
            agent: agent.to_owned(),
            shared: Arc::downgrade(shared),
            terminals: Arc::clone(&shared.terminals),
            child: shared.children.fetch_add(1, Ordering::Relaxed),
            calls: AtomicU64::new(1),
        }
    }

    /// The session, while it works on something.
    fn host(&self) -> Option<Arc<dyn ModelHost>> {
        self.shared.upgrade()?.host()
    }

    /// The same. A session that is woken by a child which began to work by itself is waited for.
    async fn host_soon(&self) -> Option<Arc<dyn ModelHost>> {
        let shared = self.shared.upgrade()?;
        timeout(WOKEN_WITHIN, shared.when_hosted()).await.ok()
    }

    async fn session(&self) -> Result<Arc<dyn ModelHost>, HostRefusal> {
        let gone = || HostRefusal::Because("the session works on nothing".to_owned());
        self.host_soon().await.ok_or_else(gone)
    }

    /// A call of one of the session's tools, under the id of the child's call that it is part of, where
    /// that is known. Where that one was permitted in this turn, nobody is asked once more.
    async fn call(
        &self,
        of: Option<OpenCall>,
        tool: &str,
        arguments: Value,
        wanted: &[GrantedAccess],
    ) -> HostCall {
        let id = match of {
            Some(call) => {
                self.published(&call).await;
                call.id
            }
            None => {
                let number = self.calls.fetch_add(1, Ordering::Relaxed);
                format!("{tool}_{}_{number}", self.child)
            }
        };
        let call = Arc::new(ToolCall {
            id,
            name: tool.to_owned(),
            arguments: arguments.as_object().cloned().unwrap_or_default(),
            thought_signature: None,
            intent: None,
        });
        let shared = self.shared.upgrade();
        HostCall {
            call,
            is_approved: shared
                .is_some_and(|shared| wanted.iter().any(|wanted| shared.is_granted(wanted))),
        }
    }

    /// The whole call, where neither a command nor paths say what it does. An "always" to it must
    /// not reach to other calls of tools that have no name either, or to those of other agents.
    fn words(&self, call: &ToolCall, effect: ToolEffect, touches: &Touches) -> Option<String> {
        let is_described = match effect {
            ToolEffect::Nothing | ToolEffect::Executes => false,
            ToolEffect::Reads | ToolEffect::Writes => !touches.paths.is_empty(),
        };
        if touches.command.is_some() || is_described {
            return None;
        }
        let title = call.intent.as_deref().unwrap_or_default();
        let mut words = format!("{}: {title}", self.agent);
        if !call.arguments.is_empty() {
            let arguments = Value::Object(call.arguments.clone());
            words.push_str(&format!(" {arguments}"));
        }
        if words.len() > WORDS_BYTES {
            // Too much to store: their hash makes them those of this call and no other.
            let hash = Sha256::digest(words.as_bytes());
            words.truncate(words.floor_char_boundary(WORDS_BYTES));
            words.push_str(&format!("… {hash:x}"));
        }
        Some(words)
    }

    /// The answer that allows this once. An agent that can only be allowed something for good is
    /// refused: what lasts is the session's to remember.
    fn allow(&self, permission: &Permission, host: &dyn ModelHost) -> HostPermissionAnswer {
        let answer = permission.allow_once();
        if answer == HostPermissionAnswer::Cancelled {
            host.warn(format!(
                "agent/{}: it can only be allowed this for good, so it is refused: {}",
                self.agent, permission.title
            ));
            return permission.refuse();
        }
        answer
    }

    /// Waits until a call has been published, but not long: nobody is left waiting for one that never
    /// is.
    async fn published(&self, call: &OpenCall) {
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        let published = shared.when_announced(call);
        let _ = timeout(PUBLISHED_WITHIN, published).await;
    }
}

/// The path, for a tool: one that is absolute and can be written as text.
fn named(path: &Path) -> Result<&str, HostRefusal> {
    let named = path.to_str().filter(|_| path.is_absolute());
    named.ok_or_else(|| HostRefusal::Because("the path is not absolute".to_owned()))
}

/// Has a person choose. What the agent calls its options decides nothing: each says what it does.
async fn choose(
    permission: &Permission,
    title: String,
    host: &dyn ModelHost,
) -> HostPermissionAnswer {
    let labels = distinct(permission.options.iter().map(|option| &*option.name));
    let options = permission.options.iter().zip(&labels);
    let options = options.map(|(option, label)| DialogOption {
        // Some clients answer with what they show: no id of one option may be the name of another.
        value: label.clone(),
        label: label.clone(),
        description: Some(meaning(option.kind).to_owned()),
        permission: Some(match option.kind {
            PermissionKind::AllowOnce => PolicyAnswer::AllowOnce,
            PermissionKind::AllowAlways => PolicyAnswer::AllowAlways,
            PermissionKind::RejectOnce => PolicyAnswer::RejectOnce,
            PermissionKind::RejectAlways => PolicyAnswer::RejectAlways,
        }),
    });
    let dialog = Dialog {
        title,
        kind: DialogKind::Select {
            options: options.collect(),
        },
        form: None,
        timeout_ms: None,
    };
    let DialogAnswer::Value(chosen) = host.ask(dialog).await else {
        return HostPermissionAnswer::Cancelled;
    };
    let mut options = permission.options.iter().zip(&labels);
    let chosen = options.find(|(_, label)| **label == chosen);
    chosen.map_or(HostPermissionAnswer::Cancelled, |(option, _)| {
        HostPermissionAnswer::Selected(option.id.clone())
    })
}

/// The names, with numbers where one comes again.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for name in names {
        let mut label = name.to_owned();
        let mut number = 1;
        while labels.contains(&label) {
            number += 1;
            label = format!("{name} ({number})");
        }
        labels.push(label);
    }
    labels
}

/// What an option does, for people.
fn meaning(kind: PermissionKind) -> &'static str {
    match kind {
        PermissionKind::AllowOnce => "allows it once",
        PermissionKind::AllowAlways => "allows it, and the agent remembers that",
        PermissionKind::RejectOnce => "refuses it",
        PermissionKind::RejectAlways => "refuses it, and the agent remembers that",
    }
}

/// A question of an agent about a call, with what the call would touch.
fn described(title: &str, touches: &Touches) -> String {
    let mut text = title.to_owned();
    if let Some(command) = &touches.command {
        text.push_str(&format!("\n\nCommand: {command}"));
    }
    for path in &touches.paths {
        text.push_str(&format!("\n\nPath: {}", path.display()));
    }
    text
}

fn options(choices: Vec<(String, String)>) -> Vec<DialogOption> {
    let choices = choices.into_iter();
    let options = choices.map(|(value, label)| DialogOption {
        value,
        label,
        description: None,
        permission: None,
    });
    options.collect()
}

/// What a tool of a child does, as far as its name and kind say.
fn spec(name: &str, kind: Option<&str>) -> ToolSpec {
    let effect = match (kind, name) {
        (Some("think"), _) | (_, "todo" | "todo_write" | "update_plan") => ToolEffect::Nothing,
        (Some("read" | "search"), _) | (_, "read" | "ls" | "grep" | "find" | "glob") => {
            ToolEffect::Reads
        }
        (Some("edit" | "delete" | "move"), _) | (_, "edit" | "write") => ToolEffect::Writes,
        // What nobody knows may do anything.
        _ => ToolEffect::Executes,
    };
    ToolSpec {
        name: name.to_owned(),
        label: name.to_owned(),
        description: String::new(),
        parameters: Arc::new(Value::Object(Map::new())),
        effect,
    }
}

/// What a call of that effect is permitted with it. Who may write a file may read it.
fn granted(effect: ToolEffect, touches: &Touches) -> Vec<GrantedAccess> {
    let paths = touches.paths.iter();
    let mut granted: Vec<GrantedAccess> = match effect {
        ToolEffect::Nothing => Vec::new(),
        ToolEffect::Reads => paths.cloned().map(GrantedAccess::Read).collect(),
        ToolEffect::Writes | ToolEffect::Executes => paths
            .flat_map(|path| {
                [
                    GrantedAccess::Read(path.clone()),
                    GrantedAccess::Write(path.clone()),
                ]
            })
            .collect(),
    };
    if effect == ToolEffect::Executes {
        granted.extend(touches.command.clone().map(GrantedAccess::Command));
    }
    granted
}

/// What a call would touch, as far as its arguments say.
fn touches(arguments: &Map<String, Value>, cwd: &Path) -> Touches {
    let named = |keys: &[&str]| {
        let mut values = keys.iter().filter_map(|key| arguments.get(*key));
        values.find_map(Value::as_str).map(str::to_owned)
    };
    let path = named(&["path", "file_path", "filePath", "notebook_path"]);
    let mut commands = ["command", "cmd"].iter();
    let command = commands.find_map(|key| command_line::of_argument(arguments.get(*key)?));
    Touches {
        paths: path.map(|path| cwd.join(path)).into_iter().collect(),
        command,
        ..Touches::default()
    }
}
