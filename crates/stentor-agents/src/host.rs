//! What a child asks, answered by the session: its policy first, then whoever can answer.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Map, Value, json};
use stentor_agent::dialog::{Dialog, DialogAnswer, DialogKind, DialogOption};
use stentor_agent::tasks;
use stentor_agent::tool::{ToolEffect, ToolSpec, Touches};
use stentor_client::{
    Answer, Host, HostFuture, HostRefusal, Offers, Permission, PermissionAnswer, PermissionKind,
    Question, QuestionKind,
};
use stentor_journal::message::ToolCall;
use tokio::time::timeout;

use crate::inbox::Shared;

/// The longest file a child is given.
const FILE_BYTES: u64 = 16 * 1024 * 1024;

/// How long the publication of a call is awaited before whoever can is asked about it.
const PUBLISHED_WITHIN: Duration = Duration::from_secs(10);

/// The session, for its child.
pub(crate) struct SessionHost {
    pub shared: Arc<Shared>,
    pub files: AtomicU64,
}

impl Host for SessionHost {
    fn offers(&self) -> Offers {
        Offers {
            read_files: true,
            write_files: true,
            terminals: false,
        }
    }

    fn permission(&self, permission: Permission) -> HostFuture<'_, PermissionAnswer> {
        Box::pin(async move {
            let Some(host) = self.shared.host() else {
                return permission.refuse();
            };
            let id = permission.call_id.clone().unwrap_or_default();
            if !id.is_empty() {
                // Nobody is left waiting for a call that is never published.
                let published = self.shared.when_announced(&id);
                let _ = timeout(PUBLISHED_WITHIN, published).await;
            }
            let name = permission
                .tool
                .clone()
                .unwrap_or_else(|| "other".to_owned());
            let call = Arc::new(ToolCall {
                id,
                arguments: permission.input.as_object().cloned().unwrap_or_default(),
                name,
                thought_signature: None,
                intent: Some(permission.title.clone()).filter(|title| !title.is_empty()),
            });
            let spec = spec(&call.name, permission.kind.as_deref());
            let touches = touches(&call.arguments, &host.cwd());
            let paths = touches.paths.clone();
            match host.permit(call, spec, touches).await {
                Ok(()) => {
                    self.shared.grant(paths);
                    allow(&permission)
                }
                Err(_) => permission.refuse(),
            }
        })
    }

    fn question(&self, question: Question) -> HostFuture<'_, Answer> {
        Box::pin(async move {
            let Some(host) = self.shared.host() else {
                return Answer::Cancelled;
            };
            let message = question.message.unwrap_or_default();
            let kind = match question.kind {
                QuestionKind::Select(options) => DialogKind::Select {
                    options: options
                        .into_iter()
                        .map(|(value, label)| DialogOption {
                            value,
                            label,
                            description: None,
                        })
                        .collect(),
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
                title: question.title,
                kind,
                timeout_ms: None,
            };
            match host.ask(dialog).await {
                DialogAnswer::Value(value) => Answer::Value(value),
                DialogAnswer::Confirmed(yes) => Answer::Confirmed(yes),
                DialogAnswer::Nothing => Answer::Cancelled,
            }
        })
    }

    fn read_text_file(
        &self,
        path: PathBuf,
        line: Option<u64>,
        limit: Option<u64>,
    ) -> HostFuture<'_, Result<String, HostRefusal>> {
        Box::pin(async move {
            self.permit_file("read", &path, json!({ "path": path }))
                .await?;
            let text = in_background(move || read(&path)).await?;
            let first = usize::try_from(line.unwrap_or(1).saturating_sub(1)).unwrap_or(usize::MAX);
            let count = limit.map_or(usize::MAX, |limit| {
                usize::try_from(limit).unwrap_or(usize::MAX)
            });
            if first == 0 && count == usize::MAX {
                return Ok(text);
            }
            Ok(text.split_inclusive('\n').skip(first).take(count).collect())
        })
    }

    fn write_text_file(
        &self,
        path: PathBuf,
        text: String,
    ) -> HostFuture<'_, Result<(), HostRefusal>> {
        Box::pin(async move {
            let arguments = json!({ "path": path, "content": text });
            self.permit_file("write", &path, arguments).await?;
            in_background(move || {
                if let Some(folder) = path.parent() {
                    std::fs::create_dir_all(folder)?;
                }
                std::fs::write(&path, text)
            })
            .await
        })
    }
}

impl SessionHost {
    async fn permit_file(
        &self,
        tool: &str,
        path: &Path,
        arguments: Value,
    ) -> Result<(), HostRefusal> {
        let refused = |why: &str| HostRefusal::Because(why.to_owned());
        if !path.is_absolute() {
            return Err(refused("the path is not absolute"));
        }
        // The call that wants it was permitted in this turn.
        if self.shared.is_granted(path) {
            return Ok(());
        }
        let host = self
            .shared
            .host()
            .ok_or_else(|| refused("there is no session"))?;
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        let call = Arc::new(ToolCall {
            id: format!("file_{number}"),
            name: tool.to_owned(),
            arguments: arguments.as_object().cloned().unwrap_or_default(),
            thought_signature: None,
            intent: None,
        });
        let touches = Touches {
            paths: vec![path.to_owned()],
            ..Touches::default()
        };
        let permitted = host.permit(call, spec(tool, None), touches).await;
        permitted.map_err(HostRefusal::Because)
    }
}

/// The answer that allows this once, or, where the child has only that, for good.
fn allow(permission: &Permission) -> PermissionAnswer {
    match permission.allow_once() {
        PermissionAnswer::Cancelled => {
            let always = permission.option(PermissionKind::AllowAlways);
            always.map_or(PermissionAnswer::Cancelled, |option| {
                PermissionAnswer::Selected(option.id.clone())
            })
        }
        answer => answer,
    }
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

/// What a call would touch, as far as its arguments say.
fn touches(arguments: &Map<String, Value>, cwd: &Path) -> Touches {
    let named = |keys: &[&str]| {
        let mut values = keys.iter().filter_map(|key| arguments.get(*key));
        values.find_map(Value::as_str).map(str::to_owned)
    };
    let path = named(&["path", "file_path", "filePath", "notebook_path"]);
    let command = named(&["command", "cmd"]).or_else(|| {
        let words = arguments.get("command")?.as_array()?;
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        Some(words.join(" "))
    });
    Touches {
        paths: path.map(|path| cwd.join(path)).into_iter().collect(),
        settled: None,
        command,
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    let about = std::fs::metadata(path)?;
    if about.len() > FILE_BYTES || !about.is_file() {
        return Err(std::io::Error::other("it is no file, or too long"));
    }
    std::fs::read_to_string(path)
}

async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, HostRefusal> {
    let done = tasks::spawn_blocking(work).await;
    match done {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(HostRefusal::Because(error.to_string())),
        Err(error) => Err(HostRefusal::Because(error.to_string())),
    }
}
