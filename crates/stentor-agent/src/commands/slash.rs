//! The slash commands of one session.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use stentor_journal::message::ContentBlock;

use super::SUBAGENT_TOOL;
use super::book::{AgentDefinition, CommandBook};
use super::command_cache::CommandCache;
use super::prompts::PromptSource;
use super::skill_list::skill_list;
use crate::box_error::BoxError;
use crate::event::{CommandInfo, CommandSource, EventKind};
use crate::hooks::{CommandRan, HookFuture, Hooks};
use crate::hub::Hub;
use crate::project_files::Project;
use crate::system_prompt::Instructions;
use crate::tasks;
use crate::tool::ToolSpec;

/// All slash commands of a session: those of files, of extensions, of servers.
///
/// What files say is looked at anew whenever commands are listed or used, and when a run begins
/// and ends. When that finds other commands than the client was last given, it is published
/// with [`EventKind::CommandsChanged`].
pub struct SlashCommands {
    cache: Option<Arc<CommandCache>>,
    hub: Hub,
    state: Mutex<SlashCommandsState>,
}

#[derive(Default)]
struct SlashCommandsState {
    /// Weak: hooks know their session, and with it this.
    hooks: Option<Weak<dyn Hooks>>,
    sources: Vec<Arc<dyn PromptSource>>,
    has_subagents: bool,
    /// What the client was last given.
    published: Arc<[CommandInfo]>,
    /// The system prompt without the skills.
    base_prompt: Arc<str>,
    instructions: Option<Instructions>,
    prompt: Option<CachedPrompt>,
}

/// A system prompt with the skills in it, and what it was made of.
struct CachedPrompt {
    base: Arc<str>,
    book: Arc<CommandBook>,
    can_read: bool,
    whole: Arc<str>,
}

/// The tool that skills are read with. Who does not have it is told of none.
pub const READ_TOOL: &str = "read";

/// A text that calls a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalledCommand {
    /// Without the slash.
    pub name: String,
    /// What follows, trimmed.
    pub arguments: String,
    pub source: CommandSource,
}

/// A command that its source could not fill in.
#[derive(Debug, thiserror::Error)]
#[error("/{name} failed: {why}")]
pub struct ExpandError {
    name: String,
    why: BoxError,
}

/// What the agent is asked instead of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpandedCommand {
    pub content: Vec<ContentBlock>,
    pub called: CalledCommand,
}

impl SlashCommands {
    /// Those of a session that publishes to `hub`. Without a cache there are none of files.
    pub(crate) fn new(cache: Option<Arc<CommandCache>>, hub: Hub) -> Self {
        Self {
            cache,
            hub,
            state: Mutex::default(),
        }
    }

    pub(crate) fn set_hooks(&self, hooks: &Arc<dyn Hooks>) {
        self.lock().hooks = Some(Arc::downgrade(hooks));
    }

    pub(crate) fn set_tools(&self, specs: &[ToolSpec]) {
        self.lock().has_subagents = specs.iter().any(|spec| spec.name == SUBAGENT_TOOL);
    }

    pub(crate) fn set_base_prompt(&self, base: Arc<str>) {
        let mut state = self.lock();
        state.base_prompt = match &state.instructions {
            Some(instructions) => instructions.applied_to(&base),
            None => base,
        };
    }

    /// What the client wants of every base prompt that is set from now on.
    pub(crate) fn set_instructions(&self, instructions: Option<Instructions>) {
        self.lock().instructions = instructions;
    }

    pub(crate) fn add_source(&self, source: Arc<dyn PromptSource>) {
        self.lock().sources.push(source);
    }

    /// The project whose files they are of, and what of it may be read.
    pub fn project(&self) -> Option<Project> {
        self.cache.as_ref().map(|cache| cache.project())
    }

    /// What the files say now. Waits for the disk.
    pub fn book(&self) -> Arc<CommandBook> {
        self.cache.as_ref().map_or_else(Arc::default, |s| s.look())
    }

    /// The agents a task can be given to, the built-in one among them; none without the tool that
    /// does it. Waits for the disk.
    pub fn agents(&self) -> Vec<AgentDefinition> {
        match self.lock().has_subagents {
            true => self.book().all_agents(),
            false => Vec::new(),
        }
    }

    /// All commands there are now, for the client: it need not be told of these again.
    pub async fn list(&self) -> Arc<[CommandInfo]> {
        self.look().await;
        let now = self.seen();
        self.lock().published = Arc::clone(&now);
        now
    }

    /// The same for who cannot wait but for the disk.
    pub fn list_now(&self) -> Arc<[CommandInfo]> {
        self.book();
        let now = self.seen();
        self.lock().published = Arc::clone(&now);
        now
    }

    /// Looks at the files and publishes if the commands are others than the client was last
    /// given.
    pub async fn refresh(&self) {
        self.look().await;
        let now = self.seen();
        {
            let mut state = self.lock();
            if state.published == now {
                return;
            }
            state.published = Arc::clone(&now);
        }
        self.hub.publish(EventKind::CommandsChanged(now));
    }

    /// The command that a text calls; `None` when it calls none. Does not look at the files: who
    /// must know of a file that was written a moment ago calls [`SlashCommands::book`] before.
    pub fn called(&self, text: &str) -> Option<CalledCommand> {
        let command = text.trim().strip_prefix('/')?;
        let (name, arguments) = match command.split_once(char::is_whitespace) {
            Some((name, arguments)) => (name, arguments.trim()),
            None => (command, ""),
        };
        let known = self.seen();
        let info = known.iter().find(|info| info.name == name)?;
        Some(CalledCommand {
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            source: info.source,
        })
    }

    /// The same, for a text that may call a command of an extension that is still starting: waits
    /// until it is known whether it does, and no longer than the extensions' patience.
    pub async fn called_in_time(&self, text: &str) -> Option<CalledCommand> {
        if let Some(called) = self.called(text) {
            return Some(called);
        }
        self.to_come(text)?.await;
        self.called(text)
    }

    /// What to wait for until it is known whether a text that calls no command calls one of an
    /// extension. `None` when that is known.
    pub fn to_come(&self, text: &str) -> Option<HookFuture<()>> {
        let name = called_name(text)?;
        let hooks = self.lock().hooks.as_ref().and_then(Weak::upgrade)?;
        hooks.command_to_come(name)
    }

    /// What the agent is asked when the user says `text`; `None` when that is for the agent as it
    /// is, or for an extension.
    pub async fn expand(&self, text: &str) -> Result<Option<ExpandedCommand>, ExpandError> {
        if !text.trim_start().starts_with('/') {
            return Ok(None);
        }
        self.look().await;
        if self.called(text).is_none() {
            self.await_sources(text).await;
        }
        let Some(called) = self.called(text) else {
            return Ok(None);
        };
        let content = match called.source {
            CommandSource::Builtin | CommandSource::Extension => return Ok(None),
            CommandSource::Prompt | CommandSource::Skill | CommandSource::Agent => {
                let book = self.seen_book();
                let text = book.expand(&called.name, &called.arguments);
                text.map(|text| vec![ContentBlock::text(text)])
            }
            CommandSource::McpPrompt => match self.source_of(&called.name) {
                Some(source) => {
                    let fetched = source.fetch(&called.name, &called.arguments).await;
                    Some(fetched.map_err(|why| ExpandError {
                        name: called.name.clone(),
                        why,
                    })?)
                }
                None => None,
            },
        };
        Ok(content.map(|content| ExpandedCommand { content, called }))
    }

    /// Begins to run a command of an extension.
    pub(crate) fn run(
        &self,
        name: &str,
        arguments: &str,
    ) -> Option<HookFuture<Option<CommandRan>>> {
        let hooks = self.lock().hooks.as_ref().and_then(Weak::upgrade)?;
        Some(hooks.run_command(name, arguments))
    }

    /// The system prompt with the skills that a model may use that has these tools.
    pub(crate) fn system_prompt(&self, tools: &[ToolSpec]) -> Arc<str> {
        self.prompt_with_skills(tools.iter().any(|tool| tool.name == READ_TOOL))
    }

    /// The system prompt with the skills, if the model can read them.
    pub fn prompt_with_skills(&self, can_read: bool) -> Arc<str> {
        let book = self.seen_book();
        let mut state = self.lock();
        let base = Arc::clone(&state.base_prompt);
        if let Some(kept) = &state.prompt
            && Arc::ptr_eq(&kept.base, &base)
            && Arc::ptr_eq(&kept.book, &book)
            && kept.can_read == can_read
        {
            return Arc::clone(&kept.whole);
        }
        let skills = can_read.then(|| skill_list(&book.skills));
        let whole: Arc<str> = match skills.filter(|text| !text.is_empty()) {
            None => Arc::clone(&base),
            Some(skills) => format!("{base}\n\n{skills}").into(),
        };
        state.prompt = Some(CachedPrompt {
            base,
            book,
            can_read,
            whole: Arc::clone(&whole),
        });
        whole
    }

    /// Looks at the files where that holds up nobody.
    pub(crate) async fn look(&self) {
        if let Some(cache) = &self.cache {
            let cache = Arc::clone(cache);
            let looked = tasks::spawn_blocking(move || drop(cache.look())).await;
            if let Err(error) = looked {
                tracing::warn!(%error, "cannot look for commands");
            }
        }
    }

    fn seen_book(&self) -> Arc<CommandBook> {
        self.cache.as_ref().map_or_else(Arc::default, |s| s.seen())
    }

    /// All commands, without looking at the files: those of extensions first, since they are
    /// offered a text first. Each name is listed once, for whom it would call.
    fn seen(&self) -> Arc<[CommandInfo]> {
        let (hooks, sources, has_subagents) = {
            let state = self.lock();
            let hooks = state.hooks.as_ref().and_then(Weak::upgrade);
            (hooks, state.sources.clone(), state.has_subagents)
        };
        let mut list = hooks.map(|hooks| hooks.commands()).unwrap_or_default();
        let of_files = self.seen_book().infos().into_iter();
        list.extend(of_files.filter(|info| has_subagents || info.source != CommandSource::Agent));
        list.extend(sources.iter().flat_map(|source| source.prompts()));
        let mut names = std::collections::HashSet::new();
        list.retain(|info| names.insert(info.name.clone()));
        list.into()
    }

    /// Gives sources that are not ready the time they take to know a command.
    async fn await_sources(&self, text: &str) {
        let name = called_name(text).unwrap_or_default();
        let sources = self.lock().sources.clone();
        for source in sources {
            source.await_prompt(name).await;
        }
    }

    fn source_of(&self, name: &str) -> Option<Arc<dyn PromptSource>> {
        let sources = self.lock().sources.clone();
        let has = |source: &Arc<dyn PromptSource>| {
            let prompts = source.prompts();
            prompts.iter().any(|info| info.name == name)
        };
        sources.into_iter().find(has)
    }

    fn lock(&self) -> MutexGuard<'_, SlashCommandsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of the command that a text would call.
fn called_name(text: &str) -> Option<&str> {
    let command = text.trim().strip_prefix('/')?;
    command.split_whitespace().next()
}
