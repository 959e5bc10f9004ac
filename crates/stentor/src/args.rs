//! The command line: its flags, subcommands and help.

mod mcp;
mod sentence;
mod serve;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Args as ClapArgs, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use stentor_agent::model::ThinkingLevel;
use stentor_agent::sandbox::SandboxMode;
use stentor_policy::PermissionMode;

use crate::agents;
use crate::config::error::{ConfigError, ConfigErrors};
use crate::config::value::{RawSetting, WrittenValue, count};
use crate::config::{Layer, ValueSource};

pub use mcp::{McpAction, McpAdd, McpScope, McpTransport};
pub use sentence::parse;
pub use serve::{
    AttachFlag, FleetAction, FleetArgs, HttpAddress, PageArgs, ServeAction, ServeArgs,
};

/// Everything the command line accepts.
#[derive(Debug, Parser)]
#[command(
    name = "stentor",
    version,
    about = "A headless coding agent: one program that any frontend can drive over stdin and stdout.",
    after_help = EXAMPLES,
    max_term_width = 100,
    disable_help_subcommand = true
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<CliCommand>,
    #[command(flatten)]
    pub ask: AskArgs,
    #[command(flatten)]
    pub model: ModelArgs,
    #[command(flatten)]
    pub session: SessionArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Print more to stderr: thinking, usage, log messages
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

/// What to do with other agents.
#[derive(Debug, Subcommand)]
pub enum AgentsAction {
    /// Start an agent and print what it can do; without `--prompt` its model is asked nothing
    Check {
        /// Its name in the configuration, or that of a known agent on the PATH
        name: String,
        /// Give it this prompt, print its answer and what it showed on the way, and interrupt two more turns
        #[arg(long, value_name = "TEXT")]
        prompt: Option<String>,
    },
}

/// What to do besides answering a prompt.
#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Serve a client that speaks the Agent Client Protocol
    Acp {
        /// Log in to a provider instead of serving; clients run this in a terminal
        #[arg(long, value_name = "PROVIDER")]
        login: Option<String>,
        /// Let the agent that COMMAND starts answer; see docs/agents.md for its dialect
        #[arg(long, value_name = "COMMAND", value_parser = some_command)]
        agent: Option<String>,
        /// Act as a relay to `stentor serve`, whose clients share sessions
        #[arg(
            long,
            value_name = "SOCKET",
            num_args = 0..=1,
            require_equals = true,
            default_missing_value = "",
            conflicts_with = "login"
        )]
        attach: Option<AttachFlag>,
    },
    /// List other agents that can be used as models, or check one
    #[command(disable_help_subcommand = true)]
    Agents {
        #[command(subcommand)]
        action: Option<AgentsAction>,
    },
    /// Serve many clients at once over a Unix socket, in any dialect
    #[command(disable_help_subcommand = true)]
    Serve(ServeArgs),
    /// Show the nodes and sessions of a fleet, move sessions, or empty a node
    #[command(disable_help_subcommand = true)]
    Fleet(FleetArgs),
    /// Show and drive sessions in a browser; starts a server if none is running
    Page(PageArgs),
    /// List the stored sessions of this folder, or search, rename, rewind or delete some
    #[command(disable_help_subcommand = true)]
    Sessions {
        #[command(subcommand)]
        action: Option<SessionsAction>,
        /// The sessions of all folders, not only of this one
        #[arg(long, global = true)]
        all: bool,
    },
    /// Sum up the tokens and the cost of the stored sessions by day, model and folder
    Usage(UsageArgs),
    /// Export a session as a web page, Markdown, JSON or a session file
    Export {
        /// The session: its file, its id, or the beginning of its id or short id
        #[arg(value_name = "FILE|ID")]
        session: String,
        /// Where to write it; the ending decides what (.html, .md, .json, .jsonl); `-` means the page on
        /// stdout [default: SESSION.html]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Check a scenario file for `--model script/FILE`
    #[command(disable_help_subcommand = true)]
    Scenario {
        #[command(subcommand)]
        action: ScenarioAction,
    },
    /// Check the setup and show how to fix what is missing
    Doctor,
    /// Show the configuration and where each value came from
    Config,
    /// List the extensions, test them, or print the schema of their protocol
    #[command(disable_help_subcommand = true)]
    Extensions {
        #[command(subcommand)]
        action: Option<ExtensionsAction>,
    },
    /// List, add, remove, test or log in to MCP servers, or run as one
    #[command(disable_help_subcommand = true)]
    Mcp {
        #[command(subcommand)]
        action: Option<McpAction>,
    },
    /// Show the permission mode, the rules, the remembered answers and the sandbox
    #[command(disable_help_subcommand = true)]
    Permissions {
        #[command(subcommand)]
        action: Option<PermissionsAction>,
        /// Show the remembered answers of all projects
        #[arg(long)]
        all: bool,
    },
    /// Trust a folder: show what it contains, and use it from now on
    Trust {
        /// The folder; applies to its whole repository [default: the current folder]
        folder: Option<PathBuf>,
        /// List the trusted folders
        #[arg(long, conflicts_with_all = ["folder", "revoke"])]
        list: bool,
        /// Stop trusting the folder
        #[arg(long)]
        revoke: bool,
    },
    /// List the models and show which one would be used
    Models {
        /// Show only models whose name contains this text
        filter: Option<String>,
        /// Also show the models that cannot be used yet
        #[arg(long)]
        all: bool,
    },
    /// List the slash commands: prompt templates, skills and agents
    Commands,
    /// Log in to a provider with a subscription, or store an API key
    Login {
        /// The provider; without it, list the providers that support login
        provider: Option<String>,
        /// Store an API key, typed or piped in, instead
        #[arg(long, requires = "provider")]
        key: bool,
    },
    /// Log out of a provider, and forget its stored key
    Logout {
        /// The provider
        #[arg(required_unless_present = "all")]
        provider: Option<String>,
        /// Forget everything that is stored: logins, keys and logins to MCP servers
        #[arg(long, conflicts_with = "provider")]
        all: bool,
    },
    /// Print shell completions
    Completions {
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one page for each command into a folder
    Man {
        /// Write stentor.1, stentor-sessions.1 and so on into this folder
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
    /// Print what a shell can complete
    #[command(name = "__complete", hide = true)]
    Complete {
        #[arg(value_enum)]
        values: CompletableValues,
        /// The command whose commands are wanted
        words: Vec<String>,
    },
    /// Show the help of a command
    Help {
        /// The command, for example `mcp add`
        #[arg(value_name = "COMMAND")]
        words: Vec<String>,
    },
}

/// What a shell can complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompletableValues {
    Sessions,
    Models,
    Providers,
    Commands,
}

/// What to do with stored sessions.
#[derive(Debug, Subcommand)]
pub enum SessionsAction {
    /// Find the sessions in which a text occurs: prompts, answers, output and names
    Search {
        /// The text, in any case
        text: String,
    },
    /// Give a session a name
    Rename {
        /// The session: its file, its id, or the beginning of its id or short id
        #[arg(value_name = "ID")]
        session: String,
        /// The new name
        name: String,
    },
    /// Go back to the point before a message: files, conversation or both
    Rewind(RewindArgs),
    /// Delete sessions for good, after asking
    Delete {
        /// The sessions: files, ids, or the beginnings of ids or short ids
        #[arg(value_name = "ID", required = true)]
        sessions: Vec<String>,
        /// Delete without asking
        #[arg(short, long)]
        yes: bool,
    },
}

/// What to go back to.
#[derive(Debug, clap::Args)]
pub struct RewindArgs {
    /// The session: its file, its id, or the beginning of its id or short id
    #[arg(value_name = "ID")]
    pub session: String,
    /// The message: its id or its number in the list, 1 for the last one; without it, list the messages
    pub message: Option<String>,
    /// Put back only the files
    #[arg(long, conflicts_with = "conversation")]
    pub files: bool,
    /// Rewind only the conversation
    #[arg(long)]
    pub conversation: bool,
    /// Also overwrite files that have been changed since then
    #[arg(long)]
    pub force: bool,
    /// Undo the last rewind
    #[arg(long, conflicts_with = "message")]
    pub undo: bool,
}

/// Which sessions to sum up.
#[derive(Debug, clap::Args)]
pub struct UsageArgs {
    /// How many days to look back, today included
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub days: u32,
    /// Look at everything that is stored
    #[arg(long, conflicts_with = "days")]
    pub all_time: bool,
    /// Look at the sessions of this folder only
    #[arg(long)]
    pub here: bool,
}

/// What to do with a scenario file.
#[derive(Debug, Subcommand)]
pub enum ScenarioAction {
    /// Report mistakes with their lines, or what the file contains
    Check {
        /// The scenario
        file: PathBuf,
    },
}

/// What to do with the extensions.
#[derive(Debug, Subcommand)]
pub enum ExtensionsAction {
    /// List the extensions (default)
    List,
    /// Start the extensions and show what they register
    Test {
        /// Test only these extensions
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
    /// Print the JSON Schema of the extension protocol
    Schema,
}

/// What to do with the remembered answers.
#[derive(Debug, Subcommand)]
pub enum PermissionsAction {
    /// Forget remembered answers, so that you are asked again
    Forget {
        /// The numbers of the answers, as shown by `stentor permissions`
        #[arg(value_name = "NUMBER", required_unless_present = "project")]
        numbers: Vec<u64>,
        /// Forget all answers for the project in this folder
        #[arg(long, conflicts_with = "numbers")]
        project: bool,
    },
}

/// A single prompt and its answer.
#[derive(Debug, Default, ClapArgs)]
#[command(next_help_heading = "Asking")]
pub struct AskArgs {
    /// Answer one prompt and exit; without PROMPT, or with `-`, read it from stdin
    #[arg(short = 'p', long = "print", value_name = "PROMPT", num_args = 0..=1, default_missing_value = "-")]
    pub prompt: Option<String>,
    /// Wait for stdin and append it to the prompt, however long that takes
    #[arg(long, requires = "prompt")]
    pub stdin: bool,
    /// Send this picture with the prompt; can be repeated
    #[arg(long, value_name = "FILE", requires = "prompt")]
    pub image: Vec<PathBuf>,
    /// Print a JSON value that matches this JSON schema; exit with 3 if the model gives none
    #[arg(long, value_name = "FILE", requires = "prompt")]
    pub schema: Option<PathBuf>,
    /// How long to wait at the end for background jobs before stopping them
    #[arg(
        long,
        value_name = "SECONDS",
        requires = "prompt",
        default_value_t = 600
    )]
    pub wait: u64,
    /// Print JSON: one event per line with -p, one document with `sessions`, `config` and `models`
    #[arg(long, global = true)]
    pub json: bool,
}

/// Which model answers.
#[derive(Debug, Default, ClapArgs)]
#[command(next_help_heading = "Model")]
pub struct ModelArgs {
    /// The provider of the model
    #[arg(long, value_name = "NAME", global = true)]
    pub provider: Option<String>,
    /// The model: ID or PROVIDER/ID, optionally with :LEVEL for the thinking level
    #[arg(long, value_name = "MODEL", global = true)]
    pub model: Option<String>,
    /// How much the model may think before it answers
    #[arg(long, value_name = "LEVEL", global = true, value_parser = PossibleValuesParser::new(ThinkingLevel::ALL.map(ThinkingLevel::as_str)))]
    pub thinking: Option<String>,
    /// Replace the built-in system prompt
    #[arg(long, value_name = "TEXT", global = true)]
    pub system_prompt: Option<String>,
    /// Append text to the system prompt
    #[arg(long, value_name = "TEXT", global = true)]
    pub append_system_prompt: Option<String>,
}

/// Which conversation, and in which folder.
#[derive(Debug, Default, ClapArgs)]
#[command(next_help_heading = "Session")]
pub struct SessionArgs {
    /// Continue the last session of this folder
    #[arg(short, long = "continue", global = true, conflicts_with_all = ["resume", "no_session"])]
    pub continue_last: bool,
    /// Resume a stored session; without ID, choose one at the terminal
    #[arg(
        long,
        alias = "session",
        value_name = "ID|FILE",
        global = true,
        num_args = 0..=1,
        default_missing_value = "",
        conflicts_with = "no_session"
    )]
    pub resume: Option<String>,
    /// Do not store the session on disk
    #[arg(long, global = true)]
    pub no_session: bool,
    /// The folder for session files
    #[arg(long, value_name = "DIR", global = true)]
    pub session_dir: Option<String>,
    /// The working folder [default: the current folder]
    #[arg(long, value_name = "DIR", global = true)]
    pub cwd: Option<PathBuf>,
}

/// What it may do.
#[derive(Debug, Default, ClapArgs)]
#[command(next_help_heading = "Tools and limits")]
pub struct LimitArgs {
    /// The tools the model may use, separated by commas
    #[arg(long, value_name = "NAMES", global = true)]
    pub tools: Option<String>,
    /// Also start this extension: a program, or a Python or JavaScript file; can be repeated
    #[arg(short, long, value_name = "FILE", global = true)]
    pub extension: Vec<String>,
    /// Do not load skills
    #[arg(long, global = true)]
    pub no_skills: bool,
    /// Do not load prompt templates
    #[arg(long, global = true)]
    pub no_prompt_templates: bool,
    /// Do not start extensions
    #[arg(long, global = true, conflicts_with = "extension")]
    pub no_extensions: bool,
    /// Do not start the configured MCP servers
    #[arg(long, global = true)]
    pub no_mcp: bool,
    /// Disable all tools
    #[arg(long, global = true, conflicts_with = "tools")]
    pub no_tools: bool,
    /// What may run without asking you
    #[arg(long, value_name = "MODE", global = true, value_parser = PossibleValuesParser::new(PermissionMode::ALL.map(PermissionMode::as_str)))]
    pub permission_mode: Option<String>,
    /// What commands may change, enforced by the kernel (Linux only); blocks the network unless
    /// `sandbox.network` is set
    #[arg(long, value_name = "MODE", global = true, value_parser = PossibleValuesParser::new(SandboxMode::ALL.map(SandboxMode::as_str)))]
    pub sandbox: Option<String>,
    /// If the sandbox is not fully available, run with the restrictions that are, instead of refusing to start
    #[arg(long, global = true)]
    pub sandbox_optional: bool,
    /// Stop after N turns
    #[arg(long, value_name = "N", global = true)]
    pub max_turns: Option<u64>,
    /// Stop when this much is spent: US dollars (`2.50`) or tokens (`200k`, `1m`); can be repeated
    #[arg(long, value_name = "AMOUNT", global = true, value_parser = parse_budget)]
    pub budget: Vec<SpendingLimit>,
}

/// What may be spent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SpendingLimit {
    /// US dollars.
    Cost(f64),
    Tokens(u64),
}

const EXAMPLES: &str = "\
Examples:
  stentor                                  a conversation, on a terminal
  stentor \"summarise this folder\"
  stentor -p \"find TODO in this folder\" --permission-mode read-only
  stentor -p \"run the tests\"
  git diff | stentor -p \"review this change\"            # needs a model
  stentor -p \"what is wrong with @src/main.rs?\"         # needs a model
  stentor -c -p \"and now fix it\" --budget 0.50          # needs a model
  stentor sessions
  stentor export 0198c5 -o session.html

Frontends start `stentor acp`, `stentor --mode rpc` (omp, pi), `stentor --rpc-edn` (psi) or
`stentor rpc` (synaps).
Without an API key, the built-in model offline/guide answers; run `stentor models` to see the others.";

impl Args {
    /// Parses knowing only the first command that is among the words: clap copies every global flag
    /// into each command it knows, which would be a quarter of the time and of the memory of a start.
    /// What fails is parsed again with all of them, for the right words about it.
    fn with_one_command(words: &[OsString]) -> Result<Self, clap::Error> {
        let all = Self::command();
        let mut given = words.iter().skip(1).filter_map(|word| word.to_str());
        let named = given.find_map(|word| all.find_subcommand(word));
        let one = clap::Command::new("stentor")
            .args(all.get_arguments())
            .subcommands(named)
            .disable_help_subcommand(true);
        drop(all);
        Self::from_arg_matches(&one.try_get_matches_from(words)?)
    }

    /// The command line as clap knows it, for completions and the manual page.
    pub fn description() -> clap::Command {
        Self::command()
    }

    /// What the flags say about the configuration. Relative paths are relative to `cwd`.
    pub fn layer(&self, cwd: &Path, home: Option<&Path>) -> Result<Layer, ConfigErrors> {
        let mut flags = Flags {
            layer: Layer::default(),
            errors: Vec::new(),
            cwd,
            home,
        };
        flags.set("provider", "--provider", self.model.provider.as_deref());
        flags.set("model", "--model", self.model.model.as_deref());
        if let Some(CliCommand::Acp { agent: Some(_), .. }) = &self.command {
            let model = format!("{}/{}", stentor_agents::PROVIDER, agents::COMMAND_LINE);
            flags.set("model", "--agent", Some(&model));
        }
        flags.set("thinking", "--thinking", self.model.thinking.as_deref());
        flags.set(
            "system_prompt",
            "--system-prompt",
            self.model.system_prompt.as_deref(),
        );
        flags.set(
            "append_system_prompt",
            "--append-system-prompt",
            self.model.append_system_prompt.as_deref(),
        );
        flags.set(
            "session_dir",
            "--session-dir",
            self.session.session_dir.as_deref(),
        );
        flags.set("tools", "--tools", self.limits.tools.as_deref());
        let extensions = self.limits.extension.join(",");
        let extensions = (!extensions.is_empty()).then_some(extensions);
        flags.set("extension_files", "--extension", extensions.as_deref());
        let none = self.limits.no_skills.then_some("false");
        flags.set("use_skills", "--no-skills", none);
        let none = self.limits.no_prompt_templates.then_some("false");
        flags.set("use_prompt_templates", "--no-prompt-templates", none);
        let none = self.limits.no_extensions.then_some("false");
        flags.set("use_extensions", "--no-extensions", none);
        let no_servers = self.limits.no_mcp.then_some("false");
        flags.set("use_mcp_servers", "--no-mcp", no_servers);
        flags.set("tools", "--no-tools", self.limits.no_tools.then_some(""));
        flags.set(
            "permission_mode",
            "--permission-mode",
            self.limits.permission_mode.as_deref(),
        );
        flags.set("sandbox.mode", "--sandbox", self.limits.sandbox.as_deref());
        let optional = self.limits.sandbox_optional.then_some("false");
        flags.set("sandbox.required", "--sandbox-optional", optional);
        let turns = self.limits.max_turns.map(|turns| turns.to_string());
        flags.set("budget.turns", "--max-turns", turns.as_deref());
        for budget in &self.limits.budget {
            match budget {
                SpendingLimit::Cost(dollars) => {
                    flags.set("budget.cost", "--budget", Some(&dollars.to_string()));
                }
                SpendingLimit::Tokens(tokens) => {
                    flags.set("budget.tokens", "--budget", Some(&tokens.to_string()));
                }
            }
        }
        if flags.errors.is_empty() {
            Ok(flags.layer)
        } else {
            Err(ConfigErrors(flags.errors))
        }
    }
}

struct Flags<'a> {
    layer: Layer,
    errors: Vec<ConfigError>,
    cwd: &'a Path,
    home: Option<&'a Path>,
}

impl Flags<'_> {
    fn set(&mut self, key: &str, flag: &str, text: Option<&str>) {
        let Some(text) = text else { return };
        let input = WrittenValue {
            raw: RawSetting::Text(text),
            source: ValueSource::Flag(flag.to_owned()),
            base: self.cwd,
            home: self.home,
        };
        if let Some(Err(problem)) = self.layer.set(key, &input) {
            self.errors.push(ConfigError::BadValue {
                at: input.source,
                key: key.to_owned(),
                problem,
            });
        }
    }
}

fn some_command(text: &str) -> Result<String, &'static str> {
    match text.trim().is_empty() {
        true => Err("there is no command"),
        false => Ok(text.to_owned()),
    }
}

fn parse_budget(text: &str) -> Result<SpendingLimit, String> {
    let number = text.strip_prefix('$').unwrap_or(text);
    if text.ends_with(['k', 'K', 'm', 'M']) {
        count(text).map(SpendingLimit::Tokens)
    } else {
        let dollars = number.parse::<f64>().ok();
        dollars
            .filter(|dollars| dollars.is_finite() && *dollars >= 0.0)
            .map(SpendingLimit::Cost)
    }
    .ok_or_else(|| "use US dollars (2.50) or tokens (200k, 1m)".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;
    use expect_test::expect;

    use super::*;

    fn parse(words: &[&str]) -> Result<Args, clap::Error> {
        Args::try_parse_from([&["stentor"], words].concat())
    }

    #[test]
    fn the_description_is_sound() {
        Args::description().debug_assert();
    }

    #[test]
    fn a_prompt_comes_from_the_flag_or_from_stdin() {
        for (words, prompt) in [
            (&["-p", "hi"][..], Some("hi")),
            (&["--print", "hi"], Some("hi")),
            (&["-p", "-"], Some("-")),
            (&["-p"], Some("-")),
            (&["-p", "--json"], Some("-")),
            (&["-p=- a\n- b", "--json"], Some("- a\n- b")),
            (&["config"], None),
            (&[], None),
        ] {
            let args = parse(words).unwrap();
            assert_eq!(args.ask.prompt.as_deref(), prompt, "{words:?}");
        }
    }

    #[test]
    fn a_sentence_in_the_place_of_a_command_is_a_prompt() {
        let prompt = |words: &[&str]| {
            let words = [&["stentor"], words].concat();
            let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
            super::parse(&words).map(|args| args.ask.prompt)
        };
        for (words, said) in [
            (&["do this"][..], "do this"),
            (&["--model", "m", "do this", "--json"], "do this"),
            (&["summarise", "this", "folder"], "summarise this folder"),
            (&["@notes.txt", "what is new?"], "@notes.txt what is new?"),
        ] {
            assert_eq!(prompt(words).unwrap().as_deref(), Some(said), "{words:?}");
        }
        let error = prompt(&["sesions"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidSubcommand);
    }

    #[test]
    fn flags_become_the_strongest_layer_and_remember_their_names() {
        let args = parse(&[
            "-p",
            "hi",
            "--model",
            "a/b",
            "--thinking",
            "low",
            "--no-tools",
            "--session-dir",
            "here",
            "--max-turns",
            "3",
            "--budget",
            "2.50",
            "--budget=200k",
        ])
        .unwrap();
        let settings = args.layer(Path::new("/work"), None).unwrap().settle();
        let set: Vec<String> = settings
            .shown()
            .into_iter()
            .filter_map(|shown| Some((shown.key.name, shown.value?)))
            .filter(|(_, set)| set.source != ValueSource::Default)
            .map(|(name, set)| format!("{name} = {} ({})", set.value, set.source))
            .collect();
        expect![[r#"
            model = "a/b" (--model)
            thinking = "low" (--thinking)
            tools = [] (--no-tools)
            session_dir = "/work/here" (--session-dir)
            budget.tokens = 200000 (--budget)
            budget.cost = 2.5 (--budget)
            budget.turns = 3 (--max-turns)"#]]
        .assert_eq(&set.join("\n"));
    }

    #[test]
    fn flags_work_before_and_after_a_subcommand() {
        for words in [
            &["config", "--json", "--model", "m"][..],
            &["--json", "--model", "m", "config"],
        ] {
            let args = parse(words).unwrap();
            assert!(args.ask.json, "{words:?}");
            assert_eq!(args.model.model.as_deref(), Some("m"), "{words:?}");
        }
    }

    #[test]
    fn what_contradicts_itself_or_is_unknown_is_an_error() {
        for (words, kind) in [
            (&["--frobnicate"][..], ErrorKind::UnknownArgument),
            (&["frobnicate"], ErrorKind::InvalidSubcommand),
            (
                &["-p", "x", "-c", "--resume", "1"],
                ErrorKind::ArgumentConflict,
            ),
            (
                &["-p", "x", "--tools", "a", "--no-tools"],
                ErrorKind::ArgumentConflict,
            ),
            (
                &["-p", "x", "-c", "--no-session"],
                ErrorKind::ArgumentConflict,
            ),
            (&["--thinking", "deep"], ErrorKind::InvalidValue),
            (&["--permission-mode", "none"], ErrorKind::InvalidValue),
            (&["--budget", "lots"], ErrorKind::ValueValidation),
            (&["--budget", "-1"], ErrorKind::UnknownArgument),
            (&["--max-turns", "many"], ErrorKind::ValueValidation),
            (&["--stdin"], ErrorKind::MissingRequiredArgument),
            (&["export"], ErrorKind::MissingRequiredArgument),
        ] {
            let error = parse(words).unwrap_err();
            assert_eq!(error.kind(), kind, "{words:?}: {error}");
            assert_eq!(error.exit_code(), 2, "{words:?}");
        }
    }

    #[test]
    fn a_budget_is_dollars_or_tokens() {
        for (text, budget) in [
            ("2.50", Some(SpendingLimit::Cost(2.5))),
            ("$3", Some(SpendingLimit::Cost(3.0))),
            ("200k", Some(SpendingLimit::Tokens(200_000))),
            ("1M", Some(SpendingLimit::Tokens(1_000_000))),
            ("1.5k", None),
            ("inf", None),
            ("NaN", None),
            ("", None),
            ("k", None),
        ] {
            assert_eq!(parse_budget(text).ok(), budget, "{text}");
        }
    }

    #[test]
    fn an_empty_model_name_is_told_with_its_flag() {
        let args = parse(&["--model", ""]).unwrap();
        let errors = args.layer(Path::new("/work"), None).unwrap_err();
        expect![[r#"--model: `model` is "", expected a name"#]].assert_eq(&errors.to_string());
    }
}
