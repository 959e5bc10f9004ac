//! What the commands of the conversation do. Each runs beside the screen and reports back.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use jiff::tz::TimeZone;
use stentor_agent::agent::Agent;
use stentor_agent::box_error::BoxError;
use stentor_agent::model::{ModelRegistry, NamedBy, ThinkingLevel};
use stentor_agent::session::{ForkPoint, Rewind, RewindCommand, Session};
use stentor_agent::tasks;
use stentor_journal::message::{KnownMessage, Message};
use stentor_journal::store::{Entry, ListedSession, short_id};
use stentor_policy::PermissionMode;
use stentor_text::visible::visible;

use super::menu::{Menu, MenuItem};
use super::rewinding;
use super::styled::{Colour, Row, TextStyle};
use crate::agents::known_window;
use crate::export::to_file;
use crate::local_time::moment;
use crate::models::Models;
use crate::print::call_line::one_line;
use crate::session_name::check_name;
use crate::slash::{BUILTINS, Builtin};

/// Sessions that are offered at once.
const MOST_SESSIONS: usize = 100;

/// What an action has to say, and what follows from it.
pub enum ActionOutcome {
    Rows(Vec<Row>),
    /// What a person should know.
    Warnings(Vec<String>),
    Failed(String),
    /// Somebody has to choose first.
    Choose(Menu, MenuPurpose),
    /// The conversation goes on in the session of this file; `None` begins a new one.
    Open(Option<PathBuf>),
    /// The conversation goes on in a copy, with this text in the line.
    Forked(Box<Session>, String),
    /// The conversation goes on as it was before a message, with this text in the line.
    Rewound(Vec<Row>, Option<String>),
    /// A prompt was not taken.
    NotPrompted(String),
    /// What the footer shows.
    Footer(String),
    Leave,
}

/// What a choice is for: the values belong to the items of the menu.
#[derive(Debug, Clone)]
pub enum MenuPurpose {
    Model(Vec<(String, String)>),
    Thinking(Vec<ThinkingLevel>),
    Permissions(Vec<PermissionMode>),
    Resume(Vec<PathBuf>),
    /// The ids of user messages.
    Fork(Vec<String>),
    /// The ids of user messages.
    RewindTo(Vec<String>),
    Rewind(Vec<Rewind>),
}

/// What actions need.
#[derive(Clone)]
pub struct Actions {
    pub agent: Agent,
    pub models: Arc<Models>,
    pub session: Session,
    pub cwd: PathBuf,
}

/// The error is shown and nothing else.
pub(super) type ActionResult = Result<ActionOutcome, BoxError>;

impl Actions {
    /// Does what a command is for.
    pub async fn run(self, builtin: Builtin, rest: String) -> ActionOutcome {
        let done = match builtin {
            Builtin::Help => Ok(ActionOutcome::Rows(self.help().await)),
            Builtin::Model => self.model(&rest).await,
            Builtin::Thinking => self.thinking(&rest).await,
            Builtin::Permissions => self.permissions(&rest).await,
            Builtin::Plan => match self.session.plan_command(&rest).await {
                Ok(text) => Ok(note(&text)),
                Err(error) => Err(error.into()),
            },
            Builtin::Compact => self.compact(rest).await,
            Builtin::Name => self.name(&rest).await,
            Builtin::Usage => self.usage().await,
            Builtin::New => Ok(ActionOutcome::Open(None)),
            Builtin::Resume => self.resume(rest).await,
            Builtin::Fork => self.fork().await,
            Builtin::Tree => self.tree().await,
            Builtin::Rewind => self.rewind(&rest).await,
            Builtin::Jobs => self.jobs(&rest),
            Builtin::Export => self.export(&rest).await,
            Builtin::Quit => Ok(ActionOutcome::Leave),
        };
        done.unwrap_or_else(|why| ActionOutcome::Failed(why.to_string()))
    }

    /// Does what somebody has chosen.
    pub async fn choose(self, purpose: MenuPurpose, index: usize) -> ActionOutcome {
        let done = match purpose {
            MenuPurpose::Model(models) => match models.into_iter().nth(index) {
                Some((provider, id)) => self.set_model(&provider, &id).await,
                None => Ok(nothing()),
            },
            MenuPurpose::Thinking(levels) => match levels.get(index) {
                Some(level) => self.set_thinking(*level).await,
                None => Ok(nothing()),
            },
            MenuPurpose::Permissions(modes) => match modes.get(index) {
                Some(mode) => self.set_permissions(*mode).await,
                None => Ok(nothing()),
            },
            MenuPurpose::Resume(files) => Ok(ActionOutcome::Open(files.into_iter().nth(index))),
            MenuPurpose::Fork(ids) => match ids.into_iter().nth(index) {
                Some(id) => self.fork_before(id).await,
                None => Ok(nothing()),
            },
            MenuPurpose::RewindTo(ids) => match ids.into_iter().nth(index) {
                Some(id) => rewinding::scopes(&self.session, id).await,
                None => Ok(nothing()),
            },
            MenuPurpose::Rewind(ways) => match ways.into_iter().nth(index) {
                Some(wanted) => rewinding::go(&self.session, wanted).await,
                None => Ok(nothing()),
            },
        };
        done.unwrap_or_else(|why| ActionOutcome::Failed(why.to_string()))
    }

    /// What the footer shows: the model, how full the context is, what was spent.
    pub async fn footer(self) -> ActionOutcome {
        let Ok(stats) = self.session.stats().await else {
            return nothing();
        };
        let state = self.session.state().await;
        let model = state.ok().and_then(|state| state.model);
        let model = model.map_or_else(|| "no model".to_owned(), |info| info.full_name());
        let mut parts = vec![model];
        if let Some(tokens) = stats.context.tokens {
            let share = (tokens * 100).checked_div(stats.context.window);
            let share = share.map(|share| format!("{share}% of "));
            let window = short_count(stats.context.window);
            parts.push(format!("{}{window} context", share.unwrap_or_default()));
        }
        if !stats.total_usage.is_zero() {
            let cost = &stats.total_usage.cost;
            if cost.total > 0.0 {
                parts.push(cost.in_words(3));
            }
        }
        match self.session.jobs().in_background().len() {
            0 => {}
            1 => parts.push("1 job in the background".to_owned()),
            jobs => parts.push(format!("{jobs} jobs in the background")),
        }
        ActionOutcome::Footer(parts.join(" · "))
    }

    async fn help(&self) -> Vec<Row> {
        let mut rows = vec![Row::of("Commands", TextStyle::BOLD)];
        let entry = |name: &str, hint: &str, about: &str| {
            let name = format!("  /{name} {hint}");
            // What is longer than its column is set apart all the same.
            Row::of(&format!("{name:<24}  "), TextStyle::colour(Colour::Cyan))
                .with(about, TextStyle::PLAIN)
        };
        rows.extend(
            BUILTINS
                .iter()
                .map(|one| entry(one.name, one.hint, one.description)),
        );
        let listed = self.session.slash().list().await;
        rows.extend(listed.iter().map(|one| {
            let about = one.description.as_deref().unwrap_or_default();
            entry(
                &one.name,
                one.hint.as_deref().unwrap_or_default(),
                &one_line(about),
            )
        }));
        rows.push(Row::new());
        rows.push(Row::of("Keys", TextStyle::BOLD));
        for (key, about) in KEYS {
            rows.push(
                Row::of(&format!("  {key:<24}"), TextStyle::colour(Colour::Cyan))
                    .with(about, TextStyle::PLAIN),
            );
        }
        rows
    }

    async fn model(&self, wanted: &str) -> ActionResult {
        if wanted.is_empty() {
            let models = Arc::clone(&self.models);
            // Servers on this machine are asked.
            let available = tasks::spawn_blocking(move || models.available()).await;
            let available = available?;
            let state = self.session.state().await?;
            let used = state.model.as_ref().map(|info| info.full_name());
            let at = available
                .iter()
                .position(|info| Some(info.full_name()) == used);
            let items = available.iter().map(|info| MenuItem {
                label: info.full_name(),
                detail: match known_window(info) {
                    Some(window) => format!("{} context", short_count(window)),
                    None => "unknown context".to_owned(),
                },
            });
            let menu = Menu::new("Which model?", items.collect()).at(at.unwrap_or(0));
            let values = available
                .iter()
                .map(|info| (info.provider.clone(), info.id.clone()));
            return Ok(ActionOutcome::Choose(
                menu,
                MenuPurpose::Model(values.collect()),
            ));
        }
        let (models, name) = (Arc::clone(&self.models), wanted.to_owned());
        let named = tasks::spawn_blocking(move || models.resolve_for_person(&name, NamedBy::User));
        let named = named.await?;
        let (info, thinking) = named?;
        if let Some(level) = thinking {
            self.session.set_thinking(level).await?;
        }
        self.set_model(&info.provider, &info.id).await
    }

    async fn set_model(&self, provider: &str, id: &str) -> ActionResult {
        let set = self.session.set_model(provider, id).await;
        set?;
        Ok(nothing())
    }

    async fn thinking(&self, wanted: &str) -> ActionResult {
        let state = self.session.state().await?;
        if !wanted.is_empty() {
            let level = wanted.parse::<ThinkingLevel>()?;
            return self.set_thinking(level).await;
        }
        let levels = state.model.map(|info| info.levels()).unwrap_or_default();
        let at = levels.iter().position(|level| *level == state.thinking);
        let items = levels.iter().map(|level| MenuItem {
            label: level.to_string(),
            detail: String::new(),
        });
        let menu = Menu::new("How much may it think?", items.collect()).at(at.unwrap_or(0));
        Ok(ActionOutcome::Choose(menu, MenuPurpose::Thinking(levels)))
    }

    async fn set_thinking(&self, level: ThinkingLevel) -> ActionResult {
        let set = self.session.set_thinking(level).await;
        let set = set?;
        Ok(match set == level {
            true => nothing(),
            false => note(&format!("this model has no {level}; it thinks at {set}")),
        })
    }

    async fn permissions(&self, wanted: &str) -> ActionResult {
        if !wanted.is_empty() {
            let mode = wanted.parse::<PermissionMode>()?;
            return self.set_permissions(mode).await;
        }
        let state = self.session.state().await?;
        let modes = PermissionMode::ALL.to_vec();
        let at = modes.iter().position(|mode| *mode == state.permission_mode);
        let items = modes.iter().map(|mode| MenuItem {
            label: mode.to_string(),
            detail: meaning(*mode).to_owned(),
        });
        let menu = Menu::new("What may run unasked?", items.collect()).at(at.unwrap_or(0));
        Ok(ActionOutcome::Choose(menu, MenuPurpose::Permissions(modes)))
    }

    async fn set_permissions(&self, mode: PermissionMode) -> ActionResult {
        let set = self.session.set_permission_mode(mode).await;
        set?;
        Ok(nothing())
    }

    async fn compact(&self, instructions: String) -> ActionResult {
        let instructions = (!instructions.is_empty()).then_some(instructions);
        let done = self.session.compact(instructions).await;
        done?;
        Ok(nothing())
    }

    async fn name(&self, name: &str) -> ActionResult {
        if name.is_empty() {
            let state = self.session.state().await?;
            let name = state
                .name
                .unwrap_or_else(|| "it has no name; /name NAME gives it one".to_owned());
            return Ok(note(&name));
        }
        self.session.set_name(check_name(name)?).await?;
        Ok(nothing())
    }

    async fn usage(&self) -> ActionResult {
        let stats = self.session.stats().await?;
        let usage = &stats.total_usage;
        let mut rows = vec![
            fact("model calls", &stats.total_turns.to_string()),
            fact("tool calls", &stats.tool_calls.to_string()),
            fact("tokens in", &usage.new_tokens_in().to_string()),
            fact("from the cache", &usage.cache_read.to_string()),
            fact("tokens out", &usage.output.to_string()),
            fact("cost", &usage.cost.in_words(4)),
        ];
        let window = stats.context.window;
        let context = match stats.context.tokens {
            Some(tokens) => format!("{tokens} of {window} tokens"),
            None => format!("not known yet, of {window} tokens"),
        };
        rows.push(fact("context", &context));
        if let Some(file) = &stats.file {
            rows.push(fact("session", &file.display().to_string()));
        }
        Ok(ActionOutcome::Rows(rows))
    }

    async fn resume(&self, wanted: String) -> ActionResult {
        let (agent, cwd) = (self.agent.clone(), self.cwd.clone());
        if !wanted.is_empty() {
            let found = tasks::spawn_blocking(move || agent.find(&wanted)).await;
            let found = found?;
            return Ok(ActionOutcome::Open(Some(found?)));
        }
        let listed = tasks::spawn_blocking(move || {
            let listed = agent.newest_first(Some(&cwd));
            let usable = listed.filter(|session| session.problem.is_none());
            usable.take(MOST_SESSIONS).collect::<Vec<_>>()
        });
        let listed = listed.await?;
        let own = &**self.session.id();
        let listed: Vec<ListedSession> = listed
            .into_iter()
            .filter(|session| session.id != own)
            .collect();
        match session_menu(&listed) {
            Some((menu, purpose)) => Ok(ActionOutcome::Choose(menu, purpose)),
            None => Err("there is no other session of this folder".into()),
        }
    }

    async fn fork(&self) -> ActionResult {
        let messages = self.session.user_messages().await?;
        if messages.is_empty() {
            return Err("nothing has been said yet".into());
        }
        let items = messages.iter().rev().map(|(_, text)| MenuItem {
            label: one_line(text),
            detail: String::new(),
        });
        let menu = Menu::new("Go on before which message?", items.collect());
        let ids = messages.iter().rev().map(|(id, _)| id.clone()).collect();
        Ok(ActionOutcome::Choose(menu, MenuPurpose::Fork(ids)))
    }

    async fn fork_before(&self, id: String) -> ActionResult {
        let mut options = self.agent.options(&self.cwd)?;
        options.prefer_stored_model();
        let forked = self
            .agent
            .fork(&self.session, ForkPoint::Before(id), options)
            .await;
        let (session, text) = forked?;
        Ok(ActionOutcome::Forked(
            Box::new(session),
            text.unwrap_or_default(),
        ))
    }

    async fn rewind(&self, rest: &str) -> ActionResult {
        match RewindCommand::parse(rest)? {
            RewindCommand::List => rewinding::messages(&self.session).await,
            command => rewinding::run(&self.session, command).await,
        }
    }

    fn jobs(&self, rest: &str) -> ActionResult {
        let text = self.session.jobs_command(rest)?;
        let rows = text
            .lines()
            .map(|line| Row::of(&visible(line), TextStyle::PLAIN));
        Ok(ActionOutcome::Rows(rows.collect()))
    }

    async fn tree(&self) -> ActionResult {
        let (_, entries) = self.session.entries().await?;
        let (_, path) = self.session.active_path().await?;
        let active: HashSet<&str> = path.iter().map(|entry| entry.id.as_str()).collect();
        let nodes = tree_nodes(&entries);
        if nodes.is_empty() {
            return Err("nothing has been said yet".into());
        }
        let items = nodes.iter().map(|node| MenuItem {
            label: format!("{}{}", "  ".repeat(node.depth), one_line(&node.text)),
            detail: match active.contains(node.id.as_str()) {
                true => "on this branch".to_owned(),
                false => String::new(),
            },
        });
        let menu = Menu::new("The session; go on before which message?", items.collect());
        let ids: Vec<String> = nodes.iter().map(|node| node.id.clone()).collect();
        Ok(ActionOutcome::Choose(
            menu.at(nodes.len()),
            MenuPurpose::Fork(ids),
        ))
    }

    async fn export(&self, file: &str) -> ActionResult {
        let state = self.session.state().await?;
        let stored = state
            .file
            .ok_or("this session is not stored, so it cannot be exported")?;
        let output = (!file.is_empty()).then(|| PathBuf::from(file));
        let cwd = self.cwd.clone();
        let written = tasks::spawn_blocking(move || to_file(&stored, output.as_deref(), &cwd));
        let target = written.await??;
        Ok(note(&format!("written: {}", target.display())))
    }
}

const KEYS: [(&str, &str); 9] = [
    (
        "Enter",
        "sends the line; while it works, the line steers it",
    ),
    ("Alt-Enter, \\ Enter", "begins another line"),
    ("Tab", "completes commands, models and @files"),
    (
        "Up, Down, Ctrl-R",
        "earlier lines, and a search through them",
    ),
    ("Ctrl-A E K U W Y", "as in a shell"),
    ("Ctrl-C", "stops what runs; twice leaves"),
    ("Ctrl-D", "leaves, on an empty line"),
    ("Ctrl-L, Ctrl-Z", "clears the screen, suspends"),
    ("@FILE", "attaches a file or a picture"),
];

/// A menu of sessions; `None` when there is none.
pub fn session_menu(listed: &[ListedSession]) -> Option<(Menu, MenuPurpose)> {
    if listed.is_empty() {
        return None;
    }
    let zone = TimeZone::system();
    let items = listed.iter().map(|session| {
        let when = moment(session.modified_ms, &zone);
        let about = session.name.as_ref().or(session.first_message.as_ref());
        let about = about.map_or_else(|| "(nothing said yet)".to_owned(), |text| one_line(text));
        MenuItem {
            label: format!("{when}  {about}"),
            detail: short_id(&session.id).to_owned(),
        }
    });
    let menu = Menu::new("Which session?", items.collect());
    let files = listed.iter().map(|session| session.path.clone()).collect();
    Some((menu, MenuPurpose::Resume(files)))
}

fn meaning(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::ReadOnly => "only reading; nothing is asked",
        PermissionMode::Plan => "only reading, until you agree to a plan",
        PermissionMode::Ask => "reading in the folder; the rest is asked",
        PermissionMode::AcceptEdits => {
            "reading and changing files in the folder; the rest is asked"
        }
        PermissionMode::All => "everything",
    }
}

fn nothing() -> ActionOutcome {
    ActionOutcome::Rows(Vec::new())
}

fn note(text: &str) -> ActionOutcome {
    ActionOutcome::Rows(vec![Row::of(text, TextStyle::DIM)])
}

fn fact(name: &str, value: &str) -> Row {
    Row::of(&format!("{name:<16}"), TextStyle::DIM).with(value, TextStyle::PLAIN)
}

/// `200k`, `1M`.
fn short_count(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}M", count / 1_000_000),
    }
}

/// A user message in the tree; deeper where branches part.
struct MessageNode {
    id: String,
    text: String,
    depth: usize,
}

fn tree_nodes(entries: &[Entry]) -> Vec<MessageNode> {
    let mut children: HashMap<&str, usize> = HashMap::new();
    for parent in entries
        .iter()
        .filter_map(|entry| entry.parent_id.as_deref())
    {
        *children.entry(parent).or_default() += 1;
    }
    // A parent stands before its children.
    let mut depths: HashMap<&str, usize> = HashMap::new();
    for entry in entries {
        let depth = entry.parent_id.as_deref().map_or(0, |parent| {
            let parts = children.get(parent).is_some_and(|count| *count > 1);
            depths.get(parent).copied().unwrap_or(0) + usize::from(parts)
        });
        depths.insert(&entry.id, depth);
    }
    let nodes = entries.iter().filter_map(|entry| {
        let message = entry.to_message()?;
        let Message::Known(KnownMessage::User(user)) = &*message else {
            return None;
        };
        Some(MessageNode {
            id: entry.id.clone(),
            text: user.content.text(),
            depth: depths.get(entry.id.as_str()).copied().unwrap_or(0),
        })
    });
    nodes.collect()
}
