//! A session with a scripted model, the real tools and real extension processes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use stentor_agent::commands::{CommandCache, CommandFolders};
use stentor_agent::event::EventKind;
use stentor_agent::hub::Subscription;
use stentor_agent::model::{Model, ModelError, ModelInfo, ModelRegistry, NamedBy};
use stentor_agent::session::{Environment, Session, SessionOptions};
use stentor_journal::clock::SystemClock;
use stentor_journal::message::{ContentBlock, KnownMessage, Message};
use stentor_model::script::{Scenario, ScriptFormat, ScriptModel};
use stentor_policy::{PermissionMode, Policy};
use stentor_tools::extension::{ExtensionSpec, Extensions, RestartPolicy, event_name};
use stentor_tools::{SubagentSetup, subagent_tool};
use tokio::time::timeout;

/// A session with extensions.
pub struct Stage {
    pub session: Session,
    pub events: Subscription,
    pub folder: tempfile::TempDir,
    pub environment: Environment,
    pub options: SessionOptions,
}

/// Nothing that works takes this long, however busy the machine is.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What was seen of one run.
#[derive(Debug, Default)]
pub struct Seen {
    pub kinds: Vec<EventKind>,
}

/// The extension that misbehaves in this way.
pub fn fault(mode: &str) -> ExtensionSpec {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/extensions/fault.py");
    let mut spec = python(mode, &script);
    spec.command.push(mode.to_owned());
    spec
}

/// An extension in Python.
pub fn python(name: &str, script: &Path) -> ExtensionSpec {
    let command = ["python3", "-S"].map(str::to_owned).into_iter();
    let command = command.chain([script.display().to_string()]);
    let mut spec = ExtensionSpec::new(name, command.collect());
    spec.start_timeout = Duration::from_secs(20);
    spec.restart = RestartPolicy::never();
    spec
}

/// A model that calls `bash` with this command and then says what came of it.
pub fn runs(command: &str) -> Scenario {
    Scenario::new()
        .tool("bash", json!({ "command": command }))
        .text("It said: {{last_tool_result}}")
}

impl Stage {
    pub fn new(scenario: Scenario, extensions: Vec<ExtensionSpec>) -> Self {
        Self::playing(ScriptModel::new(scenario, "one"), extensions, false)
    }

    /// The same with the tool for subagents, and a scenario that may tell who asks.
    pub fn with_subagents(scenario: &str, extensions: Vec<ExtensionSpec>) -> Self {
        let model = ScriptModel::parse(scenario, ScriptFormat::Toml, "one").unwrap();
        Self::playing(model, extensions, true)
    }

    fn playing(
        model: Arc<ScriptModel>,
        extensions: Vec<ExtensionSpec>,
        has_subagents: bool,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = SessionOptions::in_memory(folder.path(), stentor_tools::builtin_tools());
        options.model = Some(Arc::clone(model.info()));
        options.policy = Policy::new(PermissionMode::All, Vec::new());
        options.commands = Some(Arc::new(CommandCache::new(CommandFolders {
            project: folder.path().into(),
            ..CommandFolders::default()
        })));
        let environment = Environment {
            models: Arc::new(OneModel(model)),
            shell: stentor_tools::local_shell(),
            clock: Arc::new(SystemClock),
            journals: Arc::new(stentor_journal::store::SessionFileStore),
            spill_dir: Arc::from(folder.path().join(".spill")),
        };
        if has_subagents {
            options.tools.push(subagent_tool(SubagentSetup {
                environment: environment.clone(),
                session: options.clone(),
            }));
        }
        options.hooks = vec![Arc::new(Extensions::new(
            extensions,
            |event| json!({ "type": event_name(&event.kind), "seq": event.seq, "time": event.time_ms }),
        ))];
        let session = Session::start(environment.clone(), options.clone()).unwrap();
        Self {
            events: session.subscribe(),
            session,
            folder,
            environment,
            options,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Prompts and returns everything seen until nothing follows any more.
    pub async fn run(&mut self, text: &str) -> Seen {
        self.prompt(text).await;
        self.settled().await
    }

    pub async fn prompt(&self, text: &str) {
        let content = vec![ContentBlock::text(text)];
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

    /// What extensions failed at, and why.
    pub fn failures(&self) -> Vec<(String, String)> {
        let failures = self.kinds.iter().filter_map(|kind| match kind {
            EventKind::ExtensionFailed { event, error, .. } => Some((event.clone(), error.clone())),
            _ => None,
        });
        failures.collect()
    }

    /// The messages extensions added.
    pub fn added(&self) -> Vec<String> {
        let added = self.kinds.iter().filter_map(|kind| match kind {
            EventKind::MessageEnded { message, .. } => match &**message {
                Message::Known(KnownMessage::Custom(custom)) => Some(custom.content.text()),
                _ => None,
            },
            _ => None,
        });
        added.collect()
    }
}

/// The one model there is.
struct OneModel(Arc<ScriptModel>);

impl ModelRegistry for OneModel {
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
