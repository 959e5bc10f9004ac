//! What the dialect is served on: a folder, scripted models, tools, logins.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};
use stentor_agent::agent::{Agent, SessionDefaults};
use stentor_agent::box_error::BoxError;
use stentor_agent::commands::{CommandCache, CommandFolders};
use stentor_agent::dialog::{Dialog, DialogAnswer, DialogKind, DialogOption, WidgetPlacement};
use stentor_agent::event::{CommandInfo, CommandSource, EventKind, NoticeLevel, NoticeSource};
use stentor_agent::hooks::{CallHooks, CommandRan, HookFuture, Hooks, PromptVerdict};
use stentor_agent::memory::MemoryStore;
use stentor_agent::model::{Model, ModelError, ModelErrorKind, ModelInfo, ModelRegistry, NamedBy};
use stentor_agent::session::{Environment, HookSource, HookedSession, ScopedModel, SessionOptions};
use stentor_agent::tool::{
    Tool, ToolContext, ToolEffect, ToolFuture, ToolOutput, ToolSpec, Touches,
};
use stentor_journal::clock::{Clock, CountingClock, SharedClock};
use stentor_journal::session_files::SessionFiles;
use stentor_model::script::{ScriptFormat, ScriptModel};
use stentor_policy::{PermissionMode, Policy};
use stentor_serve::login::{ForgottenCredentials, Login, LoginBegun, LoginFuture, ProviderLogin};
use stentor_serve::psi::PsiOptions;
use stentor_tools::SubagentSetup;

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
    pub max_loaded: usize,
    pub delta_interval: Duration,
    pub grace: Duration,
    /// Sessions have the tool for subagents.
    pub with_subagents: bool,
    /// Sessions have an extension with the commands `deploy`, `hush`, `ask` and `fail`.
    pub with_extension: bool,
    /// What models there are besides, from a registry that can be reloaded.
    pub later_models: Arc<Mutex<Result<Vec<&'static str>, String>>>,
    clock: SharedClock,
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
            max_loaded: 32,
            delta_interval: Duration::ZERO,
            grace: Duration::from_secs(20),
            with_subagents: false,
            with_extension: false,
            later_models: Arc::new(Mutex::new(Ok(Vec::new()))),
            // Ids and times grow with every look, so that sessions sort as they were made.
            clock: Arc::new(Counting::new()),
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
                ScriptModel::parse(text, ScriptFormat::Toml, &format!("script-{n}")).unwrap()
            })
            .collect();
        let registry = Arc::new(Registry {
            models,
            later: Arc::clone(&self.later_models),
            loaded: Mutex::default(),
        });
        let first = registry.available();
        let environment = Environment {
            models: registry,
            shell: stentor_tools::local_shell(),
            clock: Arc::clone(&self.clock),
            journals: Arc::new(stentor_journal::store::SessionFileStore),
            spill_dir: self.root().join("spill").into(),
        };
        let defaults = Defaults {
            models: first,
            scoped: self.scoped,
            permission_mode: self.permission_mode,
            subagents: self.with_subagents.then(|| environment.clone()),
            with_extension: self.with_extension,
            root: self.root(),
        };
        let files = SessionFiles::PerFolder(self.root().join("sessions"));
        Agent::new(environment, Arc::new(defaults), files)
    }

    pub fn options(&self) -> PsiOptions {
        let mut options = PsiOptions::new(self.work());
        options.home = Some(self.root().join("home"));
        options.local_time = false;
        options.max_pending = self.max_pending;
        options.max_loaded = self.max_loaded;
        options.delta_interval = self.delta_interval;
        options.grace = self.grace;
        options.login = self.login.clone().map(|login| login as Arc<dyn Login>);
        let notes = self.root().join("notes.jsonl");
        options.memory = self
            .with_memory
            .then(|| MemoryStore::new(notes, Arc::clone(&self.clock)));
        options
    }
}

/// Counts, with ids that look like ids and like nothing else on the wire.
struct Counting {
    clock: CountingClock,
    first_id: u32,
}

impl Counting {
    fn new() -> Self {
        // No two worlds of this process have ids in common.
        static WORLDS: AtomicU32 = AtomicU32::new(0);
        Self {
            clock: CountingClock::starting_at(1_777_734_000_000),
            first_id: 0xa100_0000 + WORLDS.fetch_add(0x1_0000, Ordering::Relaxed),
        }
    }
}

impl Clock for Counting {
    fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    fn session_id(&self) -> String {
        self.clock.session_id()
    }

    fn random(&self) -> u32 {
        self.first_id + self.clock.random()
    }
}

struct Defaults {
    models: Vec<Arc<ModelInfo>>,
    scoped: bool,
    permission_mode: PermissionMode,
    subagents: Option<Environment>,
    with_extension: bool,
    root: PathBuf,
}

impl SessionDefaults for Defaults {
    fn for_folder(&self, cwd: &Path) -> Result<SessionOptions, BoxError> {
        let mut tools = stentor_tools::builtin_tools();
        tools.push(Arc::new(Person::default()));
        let mut options = SessionOptions::in_memory(cwd, tools);
        options.model = self.models.first().cloned();
        options.policy = Policy::new(self.permission_mode, Vec::new());
        options.auto_compaction = false;
        options.commands = Some(Arc::new(CommandCache::new(CommandFolders {
            project: cwd.into(),
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
        if let Some(environment) = &self.subagents {
            let tool = stentor_tools::subagent_tool(SubagentSetup {
                environment: environment.clone(),
                session: options.clone(),
            });
            options.tools.push(tool);
        }
        if self.with_extension {
            options.hooks = vec![Arc::new(Extension)];
        }
        Ok(options)
    }
}

struct Registry {
    models: Vec<Arc<ScriptModel>>,
    /// What a reload finds.
    later: Arc<Mutex<Result<Vec<&'static str>, String>>>,
    /// What the last one found.
    loaded: Mutex<Vec<Arc<ScriptModel>>>,
}

impl ModelRegistry for Registry {
    fn available(&self) -> Vec<Arc<ModelInfo>> {
        let loaded = self.loaded.lock().unwrap();
        self.models
            .iter()
            .chain(loaded.iter())
            .map(|model| Arc::clone(model.info()))
            .collect()
    }

    fn reload(&self) -> Result<Vec<String>, BoxError> {
        let found = self.later.lock().unwrap().clone()?;
        *self.loaded.lock().unwrap() = found
            .into_iter()
            .map(|id| {
                ScriptModel::parse("[[turn]]\ntext = \"hi\"", ScriptFormat::Toml, id).unwrap()
            })
            .collect();
        Ok(Vec::new())
    }

    fn find(&self, provider: &str, id: &str, _: NamedBy) -> Option<Arc<ModelInfo>> {
        self.available()
            .into_iter()
            .find(|info| info.provider == provider && info.id == id)
    }

    fn open(&self, info: &Arc<ModelInfo>) -> Result<Arc<dyn Model>, ModelError> {
        if info.id == "locked" {
            let why = "no key for script/locked";
            return Err(ModelError::new(ModelErrorKind::Auth, why));
        }
        let loaded = self.loaded.lock().unwrap();
        let mut models = self.models.iter().chain(loaded.iter());
        match models.find(|model| model.info().id == info.id) {
            Some(model) => Ok(Arc::clone(model) as Arc<dyn Model>),
            None => Err(ModelError::new(
                ModelErrorKind::UnknownModel,
                "no such model",
            )),
        }
    }
}

/// What an extension does to a session: it has commands.
struct Extension;

impl HookSource for Extension {
    fn attach(&self, _: HookedSession) -> Arc<dyn Hooks> {
        Arc::new(Extension)
    }
}

impl CallHooks for Extension {}

impl Hooks for Extension {
    fn commands(&self) -> Vec<CommandInfo> {
        ["deploy", "hush", "ask", "fail"]
            .map(|name| CommandInfo {
                name: name.to_owned(),
                description: None,
                hint: None,
                source: CommandSource::Extension,
                path: None,
            })
            .into()
    }

    fn run_command(&self, name: &str, arguments: &str) -> HookFuture<Option<CommandRan>> {
        let ran = match name {
            "deploy" => Some(CommandRan::Said(Some(format!("deployed {arguments}")))),
            "hush" => Some(CommandRan::Said(None)),
            "ask" => Some(CommandRan::Ask(arguments.to_owned())),
            "fail" => Some(CommandRan::Failed("no such place".to_owned())),
            _ => None,
        };
        Box::pin(std::future::ready(ran))
    }

    fn before_prompt(&self, text: Arc<str>) -> HookFuture<PromptVerdict> {
        let verdict = match text.split_once(' ').unwrap_or((&text, "")) {
            ("/deploy", rest) => PromptVerdict::Answered {
                text: format!("deployed {rest}"),
            },
            _ => PromptVerdict::Answer {
                context: Vec::new(),
            },
        };
        Box::pin(std::future::ready(verdict))
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
                parameters: json!({"type": "object", "properties": {}, "required": []}).into(),
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
                    from: NoticeSource::Agent,
                });
            }
            let kind = match text("ask") {
                Some("confirm") => DialogKind::Confirm {
                    message: "Really?".into(),
                    lasting: None,
                },
                Some("select") => DialogKind::Select {
                    options: ["red", "blue"]
                        .map(|value| DialogOption {
                            value: value.into(),
                            label: value.to_uppercase(),
                            description: None,
                            permission: None,
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
                form: None,
                timeout_ms: None,
            };
            let answer = context.host.ask(dialog).await;
            ToolOutput::text(match answer {
                DialogAnswer::Value(value) => format!("answered {value}"),
                DialogAnswer::Confirmed(yes) => format!("confirmed {yes}"),
                DialogAnswer::Values(values) => values.join(", "),
                DialogAnswer::Filled(_) | DialogAnswer::Nothing => "nothing".to_owned(),
            })
        })
    }
}

/// A provider whose browser comes back by itself, some whose code is pasted, and one that fails.
#[derive(Default)]
pub struct FakeLogin {
    logged_in: Mutex<HashMap<String, bool>>,
    /// Lets the browser come back.
    pub browser: tokio::sync::Notify,
}

impl Login for FakeLogin {
    fn forget_all(&self) -> LoginFuture<'_, ForgottenCredentials> {
        let mut logged_in = self.logged_in.lock().unwrap();
        let names = logged_in.iter().filter(|(_, is)| **is);
        let logins = names.map(|(id, _)| id.to_uppercase()).collect();
        logged_in.clear();
        Box::pin(std::future::ready(Ok(ForgottenCredentials {
            logins,
            ..ForgottenCredentials::default()
        })))
    }

    fn providers(&self) -> Vec<ProviderLogin> {
        let logged_in = self.logged_in.lock().unwrap();
        ["acme", "pasty", "script", "broken"]
            .map(|id| ProviderLogin {
                id: id.to_owned(),
                name: id.to_uppercase(),
                logged_in: logged_in.get(id).copied().unwrap_or(false),
            })
            .into()
    }

    fn begin<'a>(&'a self, provider: &'a str) -> LoginFuture<'a, LoginBegun> {
        Box::pin(async move {
            if provider == "broken" {
                return Err("broken does not answer".into());
            }
            Ok(LoginBegun {
                url: format!("https://login.example/{provider}"),
                uses_callback_server: provider == "acme",
                instructions: "Open the address.".to_owned(),
                user_code: None,
            })
        })
    }

    fn complete<'a>(&'a self, provider: &'a str, input: Option<String>) -> LoginFuture<'a, ()> {
        Box::pin(async move {
            match input.as_deref() {
                None => self.browser.notified().await,
                Some("good") => {}
                Some(address) if address.contains("code=good") => {}
                Some(code) => return Err(format!("the code {code} is wrong").into()),
            }
            self.logged_in
                .lock()
                .unwrap()
                .insert(provider.to_owned(), true);
            Ok(())
        })
    }

    fn cancel(&self, _: &str) {}
}
