//! From the configuration to an agent: what a session in a folder is started with.

mod error;
mod loading;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use stentor_agent::agent::{Agent, SessionDefaults};
use stentor_agent::box_error::BoxError;
use stentor_agent::commands::CommandCache;
use stentor_agent::context_files::{ContextPlaces, find_context_files};
use stentor_agent::fallback::{FallbackChains, FallbackSettings};
use stentor_agent::model::NamedBy;
use stentor_agent::project_files::FileOwner;
use stentor_agent::rules::{RuleBook, RuleFile, read_rules};
use stentor_agent::sandbox::SandboxState;
use stentor_agent::session::{
    Budget, CompactionSettings, Environment, HookSource, PlanClearing, SessionOptions,
};
use stentor_agent::system_prompt::{PromptParts, system_prompt};
use stentor_agent::tool::{Tool, ToolSpec};
use stentor_agent::turn::RetryPolicy;
use stentor_agent::undo::UndoSource;
use stentor_checkpoint::{CheckpointLimits, Checkpoints};
use stentor_journal::clock::{SharedClock, SystemClock, iso_time};
use stentor_journal::session_files::SessionFiles;
use stentor_model::registry::{Registry, RegistrySources};
use stentor_model::script;
use stentor_model::secret::Secret;
use stentor_policy::{PermissionMode, Policy};
use stentor_text::spelling::nearest;
use stentor_tools::mcp::McpServers;
use stentor_tools::memory::MEMORY;
use stentor_tools::process::{self, KeptOutput, Launcher};
use stentor_tools::sandbox::SandboxRefusal;
use stentor_tools::{ASK, BASH, BuiltinTools, JOB, SUBAGENT, SubagentSetup};

use self::loading::Loader;
use crate::agents::Agents;
use crate::choose_model::{ChooseModelError, ChosenModel, choose_model};
use crate::config::table::tables;
use crate::config::{
    self, Config, ConfigErrors, Layer, Platform, Settings, Sourced, Surroundings, ValueSource,
};
use crate::environment::Variables;
use crate::launcher::launcher;
use crate::models::{Guide, Models};
use crate::notes::NoteStores;
use crate::sandbox::sandbox;
use crate::session_places;
use crate::stored_answers::{ProjectAnswers, StoredAnswers};
use crate::trust::store::TrustStore;
use crate::untrusted::brought;
use crate::untrusted::question::{TrustAsking, TrustQuestion};
use crate::user_folders::{agent_folders, command_folders};
use crate::{extensions, mcp_servers, web};

pub use error::{FolderError, SetupError};

/// Reads the configuration for a folder, in the environment of whoever works there.
pub fn load_config(
    cwd: &Path,
    flags: &Layer,
    variables: &Variables,
) -> Result<Config, ConfigErrors> {
    let surroundings = Surroundings {
        env: &|name| variables.get(name),
        cwd,
        platform: Platform::HERE,
    };
    let mut config = config::load(&surroundings, flags.clone())?;
    config.variables = variables.clone();
    Ok(config)
}

/// How sessions are started: the flags of the command line, and what the way in has by default.
#[derive(Clone)]
pub struct Defaults {
    pub flags: Layer,
    /// The environment of whoever is served.
    pub variables: Variables,
    pub models: Arc<Models>,
    /// The stance of this way in where nobody chose one.
    pub permission_mode: PermissionMode,
    /// True when the tool for subagents is among the tools nobody chose.
    pub subagents: bool,
    /// False when no rules are to watch what the model writes.
    pub rules: bool,
    pub tools: BuiltinTools,
    /// The MCP servers that run, which the sessions share.
    pub mcp: McpServers,
    pub notes: NoteStores,
    /// How sessions are asked about folders that are not trusted.
    pub trust: TrustAsking,
    pub clock: SharedClock,
}

impl SessionDefaults for Defaults {
    fn for_folder(&self, cwd: &Path) -> Result<SessionOptions, BoxError> {
        let config = load_config(cwd, &self.flags, &self.variables)?;
        for warning in &config.warnings {
            tracing::warn!("{warning}");
        }
        let options = self.options(&config, cwd)?;
        clean_up_output(spill_dir(&config));
        // The session tells its clients, too, but one that answers a prompt has none yet.
        for gap in &options.sandbox.gaps {
            tracing::warn!("sandbox: {gap}");
        }
        Ok(options)
    }
}

impl Defaults {
    /// What the ways in have in common. Nothing is asked where nobody chose: most frontends have no
    /// way to ask.
    pub fn new(flags: Layer, models: Arc<Models>, config: &Config) -> Self {
        Self {
            flags,
            variables: config.variables.clone(),
            mcp: models.mcp_servers(),
            models,
            permission_mode: PermissionMode::All,
            subagents: true,
            rules: true,
            tools: BuiltinTools::default(),
            notes: NoteStores::of(config, false),
            trust: TrustAsking::default(),
            clock: system_clock(),
        }
    }

    /// The options of a session in `cwd` under a configuration that has been read.
    pub fn options(&self, config: &Config, cwd: &Path) -> Result<SessionOptions, SetupError> {
        let settings = &config.settings;
        let launcher = launcher(config, self.models.registry().key_variables());
        let sandbox = sandbox(config, cwd, &spill_dir(config), &launcher)?;
        let launcher = sandbox.launcher;
        let mut all = self.tools.started_by(&launcher);
        all.extend(web::tools(config, &self.models));
        let (mut tools, subagents) = chosen_tools(settings, all, self.subagents)?;
        tools.extend(self.notes.tool(settings, config.project.root()));
        let model = choose_model(&config.model_choice(), &self.models)?;
        let mut options = SessionOptions::in_memory(cwd, tools);
        options.system_prompt = self.system_prompt(config, cwd, &options.tools).into();
        options.thinking = model.thinking;
        options.model = Some(model.info);
        options.policy = policy(config, self.permission_mode).with_path_guard(sandbox.path_guard);
        let mode = config.permission_mode(self.permission_mode);
        options.names_permission_mode = matches!(mode.source, ValueSource::Flag(_));
        options.sandbox = Arc::new(sandbox.state);
        if config.files.root_trusted {
            options
                .trusted_session_folders
                .push(config.project.root().to_owned());
        }
        self.remember_answers(&mut options, config);
        let registry = self.models.registry();
        let theirs = registry.foreign_settings();
        options.steering_mode = set_or(&settings.steering_mode, theirs.steering_mode);
        options.follow_up_mode = set_or(&settings.follow_up_mode, theirs.follow_up_mode);
        options.interrupt_mode = set_or(&settings.interrupt_mode, theirs.interrupt_mode);
        options.auto_compaction = set_or(&settings.auto_compaction, theirs.auto_compaction);
        options.auto_retry = set_or(&settings.auto_retry, theirs.auto_retry);
        options.compaction = CompactionSettings {
            reserve_tokens: settings.compaction_reserve_tokens.value,
            keep_recent_tokens: settings.compaction_keep_recent_tokens.value,
        };
        options.retry = RetryPolicy {
            max_attempts: u32::try_from(settings.retry_max_attempts.value).unwrap_or(u32::MAX),
            base_delay_ms: settings.retry_base_delay_ms.value,
            ..RetryPolicy::default()
        };
        options.max_answer_bytes = settings.max_answer_bytes.value;
        options.fallback = self.fallback(config);
        options.plan_clearing = self.plan_clearing(settings);
        options.budget = Budget {
            tokens: settings.budget_tokens.as_ref().map(|set| set.value),
            cost: settings.budget_cost.as_ref().map(|set| set.value),
            turns: settings.budget_turns.as_ref().map(|set| set.value),
        };
        if self.rules {
            options.rules = Arc::new(rules(config));
        }
        options.undo = undo(config, cwd);
        options.wake_on_job_end = settings.background_wake.value;
        options.commands = Some(Arc::new(CommandCache::new(command_folders(config))));
        if subagents {
            let tool = stentor_tools::subagent_tool(SubagentSetup {
                environment: self.environment(config),
                session: options.clone(),
            });
            options.tools.push(tool);
        }
        // Subagents have neither: nobody answers them.
        let asks = match &settings.tools {
            Some(wanted) => wanted.value.iter().any(|name| name == ASK),
            None => true,
        };
        if asks {
            options.tools.push(self.tools.ask());
        }
        options.tools.push(self.tools.exit_plan_mode());
        // Subagents have none of their own: what they do is asked of those of their session.
        options.hooks = extensions::hooks(config, &launcher)?.into_iter().collect();
        options
            .hooks
            .extend(self.trust_question(config, cwd, options.commands.clone()));
        let env = |name: &str| config.variable(name);
        let servers = mcp_servers::of_sessions(config, &env, &self.mcp, launcher)?;
        options.servers = Some(servers);
        Ok(options)
    }

    /// The models that step in for one that fails.
    fn fallback(&self, config: &Config) -> FallbackSettings {
        let models = Arc::clone(&self.models);
        let settings = &config.settings;
        let list = settings.retry_fallback.clone();
        let by = list
            .as_ref()
            .map_or(NamedBy::User, |set| config.named_by(&set.source));
        let names = list.map(|set| set.value).unwrap_or_default();
        FallbackSettings {
            chains: Arc::new(move || match names.as_slice() {
                [] => models.registry().fallback_chains(),
                names => FallbackChains::for_any_model(models.full_names(names, by), by),
            }),
            cooldown_ms: settings.retry_fallback_cooldown_ms.value,
            returns: settings.retry_fallback_returns.value,
        }
    }

    /// When what is done leaves the plan.
    fn plan_clearing(&self, settings: &Settings) -> PlanClearing {
        let models = Arc::clone(&self.models);
        let own = settings.todo_clear_after_s.as_ref();
        let own = own.map(|set| set.value.0.map(Duration::from_secs));
        PlanClearing {
            // Nothing is read for this: the registry has been asked for the settings of other
            // programs before there is a session (`environment`), and after each reload.
            wanted: Arc::new(move || own.or_else(|| models.registry().todo_clear_delay())),
            otherwise: None,
        }
    }

    /// What all sessions of the process share.
    pub fn environment(&self, config: &Config) -> Environment {
        Environment {
            models: Arc::clone(&self.models) as _,
            shell: stentor_tools::shell_started_by(launcher(
                config,
                self.models.registry().key_variables(),
            )),
            clock: Arc::clone(&self.clock),
            journals: Arc::new(stentor_journal::store::SessionFileStore),
            spill_dir: spill_dir(config).into(),
        }
    }

    /// What was answered with "always" in this project before, and where new answers go.
    fn remember_answers(&self, options: &mut SessionOptions, config: &Config) {
        let Some(answers) = stored_answers(config) else {
            return;
        };
        let project = config.project.root();
        match answers.of_project(project) {
            Ok(kept) => {
                let remembered = kept.into_iter().map(|kept| kept.answer).collect();
                let policy = std::mem::take(&mut options.policy);
                options.policy = policy.with_remembered(remembered);
            }
            Err(error) => tracing::warn!("no remembered answers: {error}"),
        }
        options.answer_store = Some(Arc::new(ProjectAnswers {
            answers,
            project: project.to_owned(),
            clock: Arc::clone(&self.clock),
        }));
    }

    /// The question whether the folder is trusted, if it brings what waits for that.
    fn trust_question(
        &self,
        config: &Config,
        cwd: &Path,
        commands: Option<Arc<CommandCache>>,
    ) -> Option<Arc<dyn HookSource>> {
        let wanted = brought::waiting(config, &|name| config.variable(name));
        if wanted.is_empty() {
            return None;
        }
        Some(Arc::new(TrustQuestion {
            asking: self.trust.clone(),
            root: config.project.root().to_owned(),
            wanted: wanted.into(),
            store: trust_store(config),
            loader: Arc::new(Loader::new(self.clone(), config, cwd.to_owned(), commands)),
            clock: Arc::clone(&self.clock),
        }))
    }

    fn system_prompt(&self, config: &Config, cwd: &Path, tools: &[Arc<dyn Tool>]) -> String {
        let settings = &config.settings;
        let context_files = if settings.context_files.value {
            find_context_files(ContextPlaces {
                project: &config.project,
                config_dir: config.places.config_dir.as_deref(),
                agent_folders: &agent_folders(config).all(),
            })
        } else {
            Vec::new()
        };
        let specs: Vec<ToolSpec> = tools.iter().map(|tool| tool.spec().clone()).collect();
        let today = iso_time(self.clock.now_ms());
        system_prompt(&PromptParts {
            custom: settings
                .system_prompt
                .as_ref()
                .map(|set| set.value.as_str()),
            append: settings
                .append_system_prompt
                .as_ref()
                .map(|set| set.value.as_str()),
            tools: &specs,
            context_files: &context_files,
            trusted: config.files.root_trusted,
            cwd,
            date: today.get(..10).unwrap_or(&today),
        })
    }
}

/// What was set, else what another program's settings say, else the default.
fn set_or<T: Copy>(set: &Sourced<T>, theirs: Option<T>) -> T {
    match theirs {
        Some(theirs) if set.source == ValueSource::Default => theirs,
        _ => set.value,
    }
}

/// How the programs of sessions in a folder are started.
pub fn session_launcher(config: &Config, cwd: &Path) -> Result<Launcher, SetupError> {
    let registry = registry(config, |_| {})?;
    let launcher = launcher(config, registry.key_variables());
    Ok(sandbox(config, cwd, &spill_dir(config), &launcher)?.launcher)
}

/// An agent for a way in.
pub fn agent(config: &Config, defaults: Arc<Defaults>, files: SessionFiles) -> Agent {
    let environment = defaults.environment(config);
    Agent::new(environment, defaults, files)
}

/// The machine's clock.
pub fn system_clock() -> SharedClock {
    Arc::new(SystemClock)
}

/// The models of this configuration.
pub fn models(config: &Config, flags: &Layer, cwd: &Path) -> Result<Arc<Models>, ConfigErrors> {
    models_with(config, flags, cwd, |_| {})
}

/// The models of this configuration, with a key for one provider that counts before all others.
pub fn models_with_key(
    config: &Config,
    flags: &Layer,
    cwd: &Path,
    key: Option<(&str, &str)>,
) -> Result<Arc<Models>, ConfigErrors> {
    let key = key.map(|(key, provider)| (Secret::new(key), provider.to_owned()));
    models_with(config, flags, cwd, move |sources| {
        if let Some((key, provider)) = &key {
            let configured = sources.providers.entry(provider.clone()).or_default();
            configured.api_key = Some(key.clone());
        }
    })
}

/// The models of this configuration, and an agent that a command starts.
pub fn models_with_agent(
    config: &Config,
    flags: &Layer,
    cwd: &Path,
    command: &str,
) -> Result<Arc<Models>, ConfigErrors> {
    let agent: Arc<Agents> = Arc::new(Agents::of_command(config, command));
    models_with(config, flags, cwd, move |sources| {
        sources.plugged.insert(0, Arc::clone(&agent) as _);
    })
}

/// The same for a way in that has something to say about where models come from.
pub fn models_with(
    config: &Config,
    flags: &Layer,
    cwd: &Path,
    adjust: impl Fn(&mut RegistrySources) + Send + Sync + 'static,
) -> Result<Arc<Models>, ConfigErrors> {
    let registry = registry(config, &adjust)?;
    let (flags, folder) = (flags.clone(), cwd.to_owned());
    let variables = config.variables.clone();
    let again = move || {
        let config = load_config(&folder, &flags, &variables)?;
        self::registry(&config, &adjust)
    };
    let own_file = config.files.user.as_ref();
    let own_folder = own_file.and_then(|file| file.path.parent());
    let models = Models::new(registry, cwd, own_folder.map(Path::to_owned));
    Ok(Arc::new(models.read_again_by(again)))
}

/// The registry of a configuration.
fn registry(
    config: &Config,
    adjust: impl Fn(&mut RegistrySources),
) -> Result<Registry, ConfigErrors> {
    let variables = config.variables.clone();
    let environment: stentor_model::registry::EnvironmentLookup =
        Arc::new(move |name| variables.get(name)?.into_string().ok());
    let config_dir = config.places.config_dir.as_deref();
    let mut sources = RegistrySources::usual(
        environment,
        config.places.home.as_deref(),
        config_dir.unwrap_or(Path::new("")),
        system_clock(),
    );
    if config_dir.is_none() {
        sources.credentials_file = PathBuf::new();
    }
    sources.providers = tables("providers", &config.providers)?;
    sources.models = tables("models", &config.models)?;
    let agents = Arc::new(Agents::of(config)?);
    sources.plugged = vec![Arc::clone(&agents) as _, Arc::new(Guide::default())];
    let ca_file = config.settings.ca_file.as_ref();
    sources.http.ca_file = ca_file.map(|set| set.value.clone());
    if !config.settings.use_local_servers.value {
        sources.local_servers.clear();
    }
    adjust(&mut sources);
    let registry = Registry::new(sources);
    if !config.agents.is_empty() {
        // Which variables hold keys is known from everything that models are known from.
        agents.start_by(launcher(config, registry.key_variables()));
    }
    Ok(registry)
}

/// The model a configuration asks for, with what its provider says of it: for whoever can wait until
/// the providers that the user has configured have been asked. Who names a provider waits for no other.
pub fn chosen_model(config: &Config, models: &Models) -> Result<ChosenModel, ChooseModelError> {
    let choice = config.model_choice();
    let registry = models.registry();
    let candidates = choice.candidates();
    let likeliest = candidates.first().and_then(|name| name.provider.as_deref());
    let is_named = likeliest
        .is_some_and(|provider| provider == script::PROVIDER || registry.has_provider(provider));
    let named: Vec<&str> = candidates
        .iter()
        .filter_map(|name| name.provider.as_deref())
        .collect();
    registry.ask_configured(is_named.then_some(&named[..]));
    choose_model(&choice, models)
}

/// The working folder, links resolved so that sessions of one folder are found by any way to it.
/// What was asked for is relative to `from`.
pub fn working_folder(from: &Path, asked: Option<&Path>) -> Result<PathBuf, FolderError> {
    let folder = asked.unwrap_or(from);
    let resolved = asked
        .map_or_else(|| from.to_owned(), |asked| from.join(asked))
        .canonicalize()
        .map_err(|why| FolderError::Unreachable {
            folder: folder.to_owned(),
            why,
        })?;
    match resolved.is_dir() {
        true => Ok(resolved),
        false => Err(FolderError::NotAFolder(folder.to_owned())),
    }
}

/// The file with the folders that the user trusts. Without a folder for it there is none.
pub fn trust_store(config: &Config) -> Option<TrustStore> {
    let file = config.files.user.as_ref()?;
    Some(TrustStore::in_folder(file.path.parent()?))
}

/// The rules that watch what a model writes: ours and those of omp, the nearest first. Those of a
/// project count if it is trusted.
fn rules(config: &Config) -> RuleBook {
    let mut folders = Vec::new();
    if config.files.root_trusted {
        let of_project = brought::rule_folders(&config.project).into_iter();
        folders.extend(of_project.map(|folder| (folder, FileOwner::Project(&config.project))));
    }
    let own = config.places.config_dir.iter().map(|dir| dir.join("rules"));
    let omps = agent_folders(config).omp.map(|dir| dir.join("rules"));
    folders.extend(own.chain(omps).map(|folder| (folder, FileOwner::Own)));
    let mut rules = Vec::new();
    for file in read_rules(&folders) {
        match file {
            RuleFile::Rule(rule) => rules.push(rule),
            RuleFile::Problem(why) => tracing::warn!("skipped a rule: {why}"),
        }
    }
    let (book, bad) = RuleBook::new(rules);
    for problem in bad {
        tracing::warn!("skipped a rule: {problem}");
    }
    book
}

/// The sandbox that sessions in `cwd` have, or why they would not start.
pub fn sandbox_state(config: &Config, cwd: &Path) -> Result<SandboxState, SandboxRefusal> {
    let launcher = Launcher::default();
    sandbox(config, cwd, &spill_dir(config), &launcher).map(|sandbox| sandbox.state)
}

/// The file with remembered answers. Without a folder for data there is none.
pub fn stored_answers(config: &Config) -> Option<StoredAnswers> {
    let data_dir = config.settings.data_dir.as_ref()?;
    Some(StoredAnswers::in_folder(&data_dir.value))
}

/// Where sessions in `cwd` record what can be undone, if they do.
pub fn undo(config: &Config, cwd: &Path) -> Option<UndoSource> {
    let data_dir = config.settings.data_dir.as_ref()?;
    let all = Checkpoints::in_folder(
        data_dir.value.join("checkpoints"),
        CheckpointLimits::default(),
    );
    let sessions = session_places::shared(config).into_iter();
    let sessions = sessions.map(|files| files.root());
    let own = config
        .settings
        .session_dir
        .iter()
        .map(|dir| dir.value.clone());
    let all = all.leaving_out(sessions.chain(own).chain([data_dir.value.clone()]));
    let is_on = config.settings.undo.value;
    is_on.then(|| UndoSource::Own(Box::new(all.of_folder(cwd))))
}

/// Tools that are made of more than the machine, or not always offered: they are put together
/// elsewhere.
const SPECIAL: [&str; 3] = [SUBAGENT, MEMORY, ASK];

/// The tools that were chosen, and whether subagents are among them.
fn chosen_tools(
    settings: &Settings,
    all: Vec<Arc<dyn Tool>>,
    subagents: bool,
) -> Result<(Vec<Arc<dyn Tool>>, bool), SetupError> {
    let Some(wanted) = &settings.tools else {
        return Ok((all, subagents));
    };
    let known = |name: &str| all.iter().find(|tool| tool.spec().name == name);
    let mut chosen: Vec<Arc<dyn Tool>> = Vec::new();
    for name in &wanted.value {
        if SPECIAL.contains(&name.as_str()) {
            continue;
        }
        let Some(tool) = known(name) else {
            let known = all.iter().map(|tool| tool.spec().name.as_str());
            let known: Vec<&str> = known.chain(SPECIAL).collect();
            return Err(SetupError::UnknownTool {
                at: wanted.source.clone(),
                name: name.clone(),
                near: nearest(name, known.iter().copied()).map(str::to_owned),
                known: known.into_iter().map(str::to_owned).collect(),
            });
        };
        if !chosen.iter().any(|have| have.spec().name == *name) {
            chosen.push(Arc::clone(tool));
        }
    }
    let subagents = wanted.value.iter().any(|name| name == SUBAGENT);
    let names = |name: &str| chosen.iter().any(|have| have.spec().name == name);
    // Whoever starts something in the background has to look after it.
    if (names(BASH) || subagents) && !names(JOB) {
        chosen.extend(known(JOB).cloned());
    }
    Ok((chosen, subagents))
}

fn policy(config: &Config, default: PermissionMode) -> Policy {
    let rules = config.permissions.iter().map(|rule| rule.value.clone());
    let policy = Policy::new(config.permission_mode(default).value, rules.collect());
    // A result that was cut names the file that has it whole, so the model must be able to read it.
    // The same goes for the skills it is told of.
    let mut readable = command_folders(config).user_skills();
    readable.push(spill_dir(config));
    policy
        .with_readable(readable)
        .with_own_folders(config.own_folders())
}

/// Has the outputs that are too old or too many removed, beside everything else: nobody waits for
/// it, and what it did not come to is done next time.
fn clean_up_output(folder: PathBuf) {
    if !folder.is_dir() {
        return;
    }
    std::thread::spawn(move || {
        if let Err(error) = process::clean_up_output(&folder, KeptOutput::default()) {
            tracing::warn!(folder = %folder.display(), %error, "old outputs were not removed");
        }
    });
}

/// Where output too long to show is stored whole.
pub fn spill_dir(config: &Config) -> PathBuf {
    match &config.settings.data_dir {
        Some(data) => data.value.join("output"),
        None => std::env::temp_dir().join(format!("stentor-{}", std::process::id())),
    }
}
