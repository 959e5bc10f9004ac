//! A session with a scripted model and MCP servers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use stentor_agent::event::{EventKind, NoticeLevel, NoticeSource};
use stentor_agent::hub::Subscription;
use stentor_agent::model::{Model, ModelError, ModelInfo, ModelRegistry, NamedBy};
use stentor_agent::session::{Environment, Session, SessionOptions, SessionServers};
use stentor_agent::tool_servers::{ToolServer, ToolServerTransport};
use stentor_journal::clock::SystemClock;
use stentor_journal::message::{ContentBlock, KnownMessage, Message};
use stentor_model::script::{Scenario, ScriptModel};
use stentor_policy::{PermissionMode, Policy};
use stentor_tools::mcp::McpServers;
use tokio::time::timeout;

/// A folder, a model, and the servers that sessions share.
pub struct Stage {
    pub folder: tempfile::TempDir,
    pub servers: McpServers,
    model: Arc<ScriptModel>,
}

/// A session on the stage.
pub struct Play {
    pub session: Session,
    pub events: Subscription,
}

/// Nothing that works takes this long, however busy the machine is.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What was seen of one run.
#[derive(Debug, Default)]
pub struct Seen {
    pub kinds: Vec<EventKind>,
}

/// The server of this folder in one of its modes.
pub fn server(mode: &str) -> ToolServer {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/server.py");
    let args = [
        "-S".to_owned(),
        script.display().to_string(),
        mode.to_owned(),
    ];
    program("s", "python3", args)
}

/// A server that is a program.
pub fn program(name: &str, command: &str, args: impl Into<Vec<String>>) -> ToolServer {
    ToolServer::new(
        name,
        ToolServerTransport::Stdio {
            command: PathBuf::from(command),
            args: args.into(),
            env: Vec::new(),
            cwd: None,
        },
    )
}

/// A model that calls a tool of the server and then says what came of it.
pub fn calls(tool: &str, arguments: Value) -> Scenario {
    Scenario::new()
        .tool(tool, arguments)
        .text("It said: {{last_tool_result}}")
}

impl Stage {
    pub fn new(scenario: Scenario) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            servers: McpServers::default(),
            model: ScriptModel::new(scenario, "one"),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// How often the server was started.
    pub fn starts(&self) -> usize {
        let started = std::fs::read_to_string(self.path("started")).unwrap_or_default();
        started.lines().count()
    }

    /// A session with these servers.
    pub fn play(&self, wanted: Vec<ToolServer>) -> Play {
        self.play_with(wanted, PATIENCE)
    }

    /// A session whose first prompt waits only so long.
    pub fn play_with(&self, wanted: Vec<ToolServer>, patience: Duration) -> Play {
        let mut options =
            SessionOptions::in_memory(self.folder.path(), stentor_tools::builtin_tools());
        options.model = Some(Arc::clone(self.model.info()));
        options.policy = Policy::new(PermissionMode::All, Vec::new());
        options.servers = Some(SessionServers {
            starter: self
                .servers
                .starter(stentor_tools::process::Launcher::default()),
            wanted,
            additional_folders: Vec::new(),
            patience,
            problems: Vec::new(),
        });
        let environment = Environment {
            models: Arc::new(Shelf(Arc::clone(&self.model))),
            shell: stentor_tools::local_shell(),
            clock: Arc::new(SystemClock),
            journals: Arc::new(stentor_journal::store::SessionFileStore),
            spill_dir: Arc::from(self.folder.path().join(".spill")),
        };
        let session = Session::start(environment, options).unwrap();
        Play {
            events: session.subscribe(),
            session,
        }
    }
}

/// One prompt to a session with one server whose tool is called.
pub async fn asked(server: ToolServer, tool: &str, arguments: Value) -> (Stage, Seen) {
    let stage = Stage::new(calls(tool, arguments));
    let mut play = stage.play(vec![server]);
    let seen = play.run("go").await;
    (stage, seen)
}

impl Play {
    /// Prompts and returns everything seen until nothing follows any more.
    pub async fn run(&mut self, text: &str) -> Seen {
        self.prompt(text).await;
        self.settled().await
    }

    pub async fn prompt(&self, text: &str) {
        let content = vec![ContentBlock::text(text)];
        let content = self.session.expand(content).await.unwrap();
        drop(self.session.prompt(content).await.unwrap());
    }

    pub async fn settled(&mut self) -> Seen {
        self.until(|kind| matches!(kind, EventKind::Settled { .. }))
            .await
    }

    /// Everything up to and including the first event that `is_it`.
    pub async fn until(&mut self, is_it: impl Fn(&EventKind) -> bool) -> Seen {
        let mut seen = Seen::default();
        loop {
            let next = timeout(PATIENCE, self.events.next()).await;
            let Ok(Some(event)) = next else {
                panic!("nothing more comes after {seen:#?}");
            };
            let found = is_it(&event.kind);
            seen.kinds.push(event.kind);
            if found {
                return seen;
            }
        }
    }

    /// Everything up to and including a warning that says this.
    pub async fn warned(&mut self, text: &str) -> Seen {
        self.until(
            |kind| matches!(kind, EventKind::Notice { message, .. } if message.contains(text)),
        )
        .await
    }

    /// What was seen, if a warning in it says this; else what is seen until one does.
    pub async fn warned_by(&mut self, seen: Seen, text: &str) -> Seen {
        let warnings = seen.warnings();
        match warnings.iter().any(|warning| warning.contains(text)) {
            true => seen,
            false => self.warned(text).await,
        }
    }

    /// The names of the tools that the model is told of beside our own.
    pub async fn tools(&self) -> Vec<String> {
        let tools = self.session.tools().await.unwrap();
        let names = tools.iter().map(|spec| spec.name.clone());
        names.filter(|name| name.contains("mcp")).collect()
    }
}

impl Seen {
    /// The text of the last answer.
    pub fn answer(&self) -> String {
        let mut answers = self.kinds.iter().filter_map(|kind| match kind {
            EventKind::MessageEnded { message, .. } => message.as_assistant(),
            _ => None,
        });
        let last = answers.next_back().expect("an answer");
        let texts: Vec<&str> = last
            .content
            .iter()
            .filter_map(ContentBlock::as_text)
            .collect();
        match &last.error_message {
            Some(error) => format!("error: {error}"),
            None => texts.concat(),
        }
    }

    /// What people were warned of.
    pub fn warnings(&self) -> Vec<String> {
        let warnings = self.kinds.iter().filter_map(|kind| match kind {
            EventKind::Notice {
                level: NoticeLevel::Warning,
                message,
                from: NoticeSource::Agent,
            } => Some(message.clone()),
            _ => None,
        });
        warnings.collect()
    }

    /// What the agent was asked.
    pub fn said(&self) -> Vec<String> {
        let said = self.kinds.iter().filter_map(|kind| match kind {
            EventKind::MessageEnded { message, .. } => match &**message {
                Message::Known(KnownMessage::User(user)) => Some(user.content.text()),
                _ => None,
            },
            _ => None,
        });
        said.collect()
    }
}

/// The one model there is.
struct Shelf(Arc<ScriptModel>);

impl ModelRegistry for Shelf {
    fn available(&self) -> Vec<Arc<ModelInfo>> {
        vec![Arc::clone(self.0.info())]
    }

    fn find(&self, _: &str, _: &str, _: NamedBy) -> Option<Arc<ModelInfo>> {
        Some(Arc::clone(self.0.info()))
    }

    fn open(&self, _: &Arc<ModelInfo>) -> Result<Arc<dyn Model>, ModelError> {
        Ok(Arc::clone(&self.0) as Arc<dyn Model>)
    }
}
