//! What the dialect is served on: a folder, scripted models, tools, logins.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};
use stentor_agent::agent::{Agent, SessionDefaults, SessionFiles};
use stentor_agent::clock::SystemClock;
use stentor_agent::commands::{CommandFolders, Shelf};
use stentor_agent::dialog::{Dialog, DialogAnswer, DialogKind, DialogOption, WidgetPlacement};
use stentor_agent::event::{EventKind, NoticeLevel};
use stentor_agent::memory::MemoryStore;
use stentor_agent::model::{Model, ModelError, ModelErrorKind, ModelInfo, ModelRegistry};
use stentor_agent::permission::PermissionMode;
use stentor_agent::policy::Policy;
use stentor_agent::session::{Environment, ScopedModel, SessionOptions};
use stentor_agent::tool::{
    Tool, ToolContext, ToolEffect, ToolFuture, ToolOutput, ToolSpec, Touches,
};
use stentor_model::script::{Format, ScriptModel};
use stentor_serve::login::{Login, LoginBegun, LoginFuture, LoginProvider};
use stentor_serve::psi::PsiOptions;

/// A model that answers `ok` to everything.
pub const OK: &str = r#"
[model]
id = "m-1"
reasoning = false
context_window = 200000
[[turn]]
steps = [ { text = "ok" } ]
"#;

/// Everything a test may want different.
pub struct World {
    pub dir: tempfile::TempDir,
    scripts: Vec<String>,
    pub scoped: bool,
    pub permission_mode: PermissionMode,
    pub login: Option<Arc<FakeLogin>>,
    pub with_memory: bool,
    pub max_pending: usize,
    pub delta_interval: Duration,
    pub grace: Duration,
}

impl World {
    /// The models play these scenarios; sessions begin with the first.
    pub fn new(scripts: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("home/work")).unwrap();
        Self {
            dir,
            scripts: scripts.iter().map(|text| (*text).to_owned()).collect(),
            scoped: false,
            permission_mode: PermissionMode::All,
            login: None,
            with_memory: true,
            max_pending: 64,
            delta_interval: Duration::ZERO,
            grace: Duration::from_secs(20),
        }
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub fn work(&self) -> PathBuf {
        self.root().join("home/work")
    }

    /// Writes a file below the working folder.
    pub fn file(&self, name: &str, text: &str) {
        let path = self.work().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn agent(&self) -> Agent {
        let models: Vec<Arc<ScriptModel>> = self
            .scripts
            .iter()
            .enumerate()
            .map(|(n, text)| {
                ScriptModel::parse(text, Format::Toml, &format!("script-{n}")).unwrap()
            })
            .collect();
        let registry = Arc::new(Registry(models));
        let defaults = Defaults {
            models: registry.available(),
            scoped: self.scoped,
            permission_mode: self.permission_mode,
            root: self.root().to_owned(),
        };
        let environment = Environment {
            models: registry,
            shell: stentor_tools::local_shell(),
            clock: Arc::new(SystemClock),
            spill_dir: self.root().join("spill").into(),
        };
        let files = SessionFiles::PerFolder(self.root().join("sessions"));
        Agent::new(environment, Arc::new(defaults), files)
    }

    pub fn options(&self) -> PsiOptions {
        let mut options = PsiOptions::new(self.work());
        options.home = Some(self.root().join("home"));
        options.local_time = false;
        options.max_pending = self.max_pending;
        options.delta_interval = self.delta_interval;
        options.grace = self.grace;
        options.login = self.login.clone().map(|login| login as Arc<dyn Login>);
        let notes = self.root().join("notes.jsonl");
        options.memory = self
            .with_memory
            .then(|| MemoryStore::new(notes, Arc::new(SystemClock)));
        options
    }
}

struct Defaults {
    models: Vec<Arc<ModelInfo>>,
    scoped: bool,
    permission_mode: PermissionMode,
    root: PathBuf,
}

impl SessionDefaults for Defaults {
    fn for_folder(&self, cwd: &Path) -> Result<SessionOptions, String> {
        let mut tools = stentor_tools::builtin_tools();
        tools.push(Arc::new(Person::default()));
        let mut options = SessionOptions::in_memory(cwd, tools);
        options.model = self.models.first().cloned();
        options.policy = Policy::new(self.permission_mode, Vec::new());
        options.auto_compaction = false;
        options.commands = Some(Arc::new(Shelf::new(CommandFolders {
            project: cwd.to_owned(),
            home: Some(self.root.join("home")),
            config: Some(self.root.join("config")),
            ..CommandFolders::default()
        })));
        options.retry.base_delay_ms = 1;
        if self.scoped {
            options.scoped_models = self
                .models
                .iter()
                .map(|model| ScopedModel {
                    model: Arc::clone(model),
                    thinking: None,
                })
                .collect();
        }
        Ok(options)
    }
}

struct Registry(Vec<Arc<ScriptModel>>);

impl ModelRegistry for Registry {
    fn available(&self) -> Vec<Arc<ModelInfo>> {
        self.0
            .iter()
            .map(|model| Arc::clone(model.info()))
            .collect()
    }

    fn find(&self, provider: &str, id: &str) -> Option<Arc<ModelInfo>> {
        self.available()
            .into_iter()
            .find(|info| info.provider == provider && info.id == id)
    }

    fn open(&self, info: &Arc<ModelInfo>) -> Result<Arc<dyn Model>, ModelError> {
        if info.id == "locked" {
            let why = "no key for script/locked";
            return Err(ModelError::new(ModelErrorKind::Auth, why));
        }
        let model = self.0.iter().find(|model| model.info().id == info.id);
        match model {
            Some(model) => Ok(Arc::clone(model) as Arc<dyn Model>),
            None => Err(ModelError::new(
                ModelErrorKind::UnknownModel,
                "no such model",
            )),
        }
    }
}

/// A tool that talks to the person: what extensions and other tools do through the session.
struct Person {
    spec: ToolSpec,
}

impl Default for Person {
    fn default() -> Self {
        Self {
            spec: ToolSpec {
                name: "person".into(),
                label: "person".into(),
                description: "Talks to the person".into(),
                parameters: json!({"type": "object", "properties": {}, "required": []}),
                effect: ToolEffect::Nothing,
            },
        }
    }
}

impl Tool for Person {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, _: &Map<String, Value>, _: &Path) -> Touches {
        Touches::default()
    }

    fn run(self: Arc<Self>, arguments: Map<String, Value>, context: ToolContext) -> ToolFuture {
        Box::pin(async move {
            let text = |key: &str| arguments.get(key).and_then(Value::as_str);
            let key = "ext".to_owned();
            if let Some(status) = text("status") {
                context.host.publish(EventKind::Status {
                    key: key.clone(),
                    text: (!status.is_empty()).then(|| status.to_owned()),
                });
            }
            if let Some(lines) = text("widget") {
                context.host.publish(EventKind::Widget {
                    key: key.clone(),
                    lines: Some(lines.lines().map(str::to_owned).collect()),
                    placement: WidgetPlacement::BelowEditor,
                });
            }
            if let Some(message) = text("notice") {
                context.host.publish(EventKind::Notice {
                    level: NoticeLevel::Warning,
                    message: message.to_owned(),
                });
            }
            let kind = match text("ask") {
                Some("confirm") => DialogKind::Confirm {
                    message: "Really?".into(),
                },
                Some("select") => DialogKind::Select {
                    options: ["red", "blue"]
                        .map(|value| DialogOption {
                            value: value.into(),
                            label: value.to_uppercase(),
                            description: None,
                        })
                        .into(),
                },
                Some("input") => DialogKind::Input {
                    placeholder: Some("your name".into()),
                },
                _ => return ToolOutput::text("done"),
            };
            let dialog = Dialog {
                title: "A question".into(),
                kind,
                timeout_ms: None,
            };
            let answer = context.host.ask(dialog).await;
            ToolOutput::text(match answer {
                DialogAnswer::Value(value) => format!("answered {value}"),
                DialogAnswer::Confirmed(yes) => format!("confirmed {yes}"),
                DialogAnswer::Nothing => "nothing".to_owned(),
            })
        })
    }
}

/// Two providers: one whose browser comes back by itself, one whose code is pasted.
#[derive(Default)]
pub struct FakeLogin {
    logged_in: Mutex<HashMap<String, bool>>,
    /// Lets the browser come back.
    pub browser: tokio::sync::Notify,
}

impl Login for FakeLogin {
    fn providers(&self) -> Vec<LoginProvider> {
        let logged_in = self.logged_in.lock().unwrap();
        ["acme", "pasty", "script"]
            .map(|id| LoginProvider {
                id: id.to_owned(),
                name: id.to_uppercase(),
                logged_in: logged_in.get(id).copied().unwrap_or(false),
            })
            .into()
    }

    fn begin<'a>(&'a self, provider: &'a str) -> LoginFuture<'a, LoginBegun> {
        Box::pin(async move {
            Ok(LoginBegun {
                url: format!("https://login.example/{provider}"),
                uses_callback_server: provider == "acme",
                instructions: "Open the address.".to_owned(),
            })
        })
    }

    fn complete<'a>(&'a self, provider: &'a str, input: Option<String>) -> LoginFuture<'a, ()> {
        Box::pin(async move {
            match input.as_deref() {
                None => self.browser.notified().await,
                Some("good") => {}
                Some(code) => return Err(format!("the code {code} is wrong")),
            }
            self.logged_in
                .lock()
                .unwrap()
                .insert(provider.to_owned(), true);
            Ok(())
        })
    }

    fn logout<'a>(&'a self, provider: &'a str) -> LoginFuture<'a, bool> {
        Box::pin(async move {
            let was = self.logged_in.lock().unwrap().remove(provider);
            Ok(was.unwrap_or(false))
        })
    }
}
