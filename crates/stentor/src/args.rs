//! The command line: what can be said, and the help for it.

mod mcp;

use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Args as ClapArgs, CommandFactory, Parser, Subcommand};
use stentor_agent::model::ThinkingLevel;
use stentor_agent::permission::PermissionMode;
use stentor_agent::sandbox::SandboxMode;

use crate::config::error::{ConfigError, ConfigErrors};
use crate::config::value::{Input, Raw, count};
use crate::config::{Layer, Source};

pub use mcp::{McpAction, McpAdd, McpScope, McpTransport};

/// Everything that can be said on the command line.
#[derive(Debug, Parser)]
#[command(
    name = "stentor",
    version,
    about = "A headless coding agent: one program that any frontend drives over stdin and stdout.",
    after_help = EXAMPLES,
    max_term_width = 100,
    disable_help_subcommand = true
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub ask: AskArgs,
    #[command(flatten)]
    pub model: ModelArgs,
    #[command(flatten)]
    pub session: SessionArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Say more on stderr: thinking, usage, what is logged
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

/// What to do besides answering a prompt.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve a client that speaks the Agent Client Protocol
    Acp {
        /// Log in at a provider instead, as clients have it done in a terminal
        #[arg(long, value_name = "PROVIDER")]
        login: Option<String>,
    },
    /// List the stored sessions of this folder
    Sessions {
        /// Of all folders
        #[arg(long)]
        all: bool,
    },
    /// Write a session as a web page
    Export {
        /// The session: its file, or its id or the beginning of it
        #[arg(value_name = "FILE|ID")]
        session: String,
        /// Where the page goes; `-` is stdout [default: SESSION.html]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Show the configuration and where each value came from
    Config,
    /// List the extensions, try them out, or print the schema of their protocol
    Extensions {
        #[command(subcommand)]
        action: Option<ExtensionsAction>,
    },
    /// List the MCP servers, add one, remove one, or try them out
    Mcp {
        #[command(subcommand)]
        action: Option<McpAction>,
    },
    /// Show what may run: mode, rules, remembered answers, sandbox
    Permissions {
        #[command(subcommand)]
        action: Option<PermissionsAction>,
        /// The remembered answers of all projects
        #[arg(long)]
        all: bool,
    },
    /// Trust a folder, so that everything it brings is used from now on
    Trust {
        /// The folder [default: the current one]; the whole repository it is in is trusted
        folder: Option<PathBuf>,
        /// List the folders that are trusted
        #[arg(long, conflicts_with_all = ["folder", "revoke"])]
        list: bool,
        /// Stop trusting the folder
        #[arg(long)]
        revoke: bool,
    },
    /// List the models and say which one would be used
    Models {
        /// Only those whose name contains this
        filter: Option<String>,
    },
    /// Log in at a provider with a subscription
    Login {
        /// Who; without it, the providers one can log in at are listed
        provider: Option<String>,
    },
    /// Forget a login
    Logout {
        /// Where
        provider: String,
    },
    /// Print shell completions
    Completions {
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// What to do with the extensions.
#[derive(Debug, Subcommand)]
pub enum ExtensionsAction {
    /// List them (the default)
    List,
    /// Start them, and show what they register
    Test {
        /// Only these
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
    /// Print the JSON Schema of the protocol
    Schema,
}

/// What to do with the remembered answers.
#[derive(Debug, Subcommand)]
pub enum PermissionsAction {
    /// Forget remembered answers, so that they are asked again
    Forget {
        /// Their numbers, as `stentor permissions` shows them
        #[arg(value_name = "NUMBER", required_unless_present = "project")]
        numbers: Vec<u64>,
        /// All answers of this folder's project
        #[arg(long, conflicts_with = "numbers")]
        project: bool,
    },
}

/// One prompt, one answer.
#[derive(Debug, Default, ClapArgs)]
#[command(next_help_heading = "Asking")]
pub struct AskArgs {
    /// Answer one prompt and exit; without PROMPT, or with `-`, it is read from stdin
    #[arg(short = 'p', long = "print", value_name = "PROMPT", num_args = 0..=1, default_missing_value = "-")]
    pub prompt: Option<String>,
    /// Add what stdin says to the prompt
    #[arg(long, requires = "prompt")]
    pub stdin: bool,
    /// Print JSON: one event a line with -p, one document with `sessions`, `config` and `models`
    #[arg(long, global = true)]
    pub json: bool,
}

/// Who answers.
#[derive(Debug, Default, ClapArgs)]
#[command(next_help_heading = "Model")]
pub struct ModelArgs {
    /// Who provides the model
    #[arg(long, value_name = "NAME", global = true)]
    pub provider: Option<String>,
    /// The model, as ID or PROVIDER/ID, with :LEVEL for its thinking level
    #[arg(long, value_name = "MODEL", global = true)]
    pub model: Option<String>,
    /// How long it may think before it answers
    #[arg(long, value_name = "LEVEL", global = true, value_parser = PossibleValuesParser::new(ThinkingLevel::ALL.map(ThinkingLevel::as_str)))]
    pub thinking: Option<String>,
    /// Replace the built-in system prompt
    #[arg(long, value_name = "TEXT", global = true)]
    pub system_prompt: Option<String>,
    /// Add to the system prompt
    #[arg(long, value_name = "TEXT", global = true)]
    pub append_system_prompt: Option<String>,
}

/// Which conversation, and where.
#[derive(Debug, Default, ClapArgs)]
#[command(next_help_heading = "Session")]
pub struct SessionArgs {
    /// Go on with the last session of this folder
    #[arg(short, long = "continue", global = true, conflicts_with_all = ["resume", "no_session"])]
    pub continue_last: bool,
    /// Go on with a stored session
    #[arg(
        long,
        alias = "session",
        value_name = "ID|FILE",
        global = true,
        conflicts_with = "no_session"
    )]
    pub resume: Option<String>,
    /// Keep nothing on disk
    #[arg(long, global = true)]
    pub no_session: bool,
    /// The folder for session files
    #[arg(long, value_name = "DIR", global = true)]
    pub session_dir: Option<String>,
    /// The folder to work in [default: the current one]
    #[arg(long, value_name = "DIR", global = true)]
    pub cwd: Option<PathBuf>,
}

/// What it may do.
#[derive(Debug, Default, ClapArgs)]
#[command(next_help_heading = "Tools and limits")]
pub struct LimitArgs {
    /// The tools it may use, separated by commas
    #[arg(long, value_name = "NAMES", global = true)]
    pub tools: Option<String>,
    /// Start this extension, too: a program, or a Python or JavaScript file; may be given twice
    #[arg(short, long, value_name = "FILE", global = true)]
    pub extension: Vec<String>,
    /// Look for no skills
    #[arg(long, global = true)]
    pub no_skills: bool,
    /// Look for no prompt templates
    #[arg(long, global = true)]
    pub no_prompt_templates: bool,
    /// Start no extensions
    #[arg(long, global = true, conflicts_with = "extension")]
    pub no_extensions: bool,
    /// Start no MCP servers of the configuration
    #[arg(long, global = true)]
    pub no_mcp: bool,
    /// No tools at all
    #[arg(long, global = true, conflicts_with = "tools")]
    pub no_tools: bool,
    /// What may run without being asked
    #[arg(long, value_name = "MODE", global = true, value_parser = PossibleValuesParser::new(PermissionMode::ALL.map(PermissionMode::as_str)))]
    pub permission_mode: Option<String>,
    /// What commands may change, held by the kernel (Linux); without network unless
    /// `sandbox.network` is set
    #[arg(long, value_name = "MODE", global = true, value_parser = PossibleValuesParser::new(SandboxMode::ALL.map(SandboxMode::as_str)))]
    pub sandbox: Option<String>,
    /// Go on with what holds of the sandbox where this machine cannot keep it; else nothing starts
    #[arg(long, global = true)]
    pub sandbox_optional: bool,
    /// Stop after this many turns
    #[arg(long, value_name = "N", global = true)]
    pub max_turns: Option<u64>,
    /// Stop when this is spent: `2.50` is US dollars, `200k` or `1m` tokens; may be given twice
    #[arg(long, value_name = "AMOUNT", global = true, value_parser = parse_budget)]
    pub budget: Vec<Budget>,
}

/// What may be spent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Budget {
    /// US dollars.
    Cost(f64),
    Tokens(u64),
}

const EXAMPLES: &str = "\
Examples:
  stentor -p \"summarise this folder\"
  stentor -p \"find TODO in this folder\" --permission-mode read-only
  git diff | stentor -p \"review this change\" --stdin
  stentor -c -p \"and now fix it\" --budget 0.50
  stentor sessions
  stentor export 0198c5 -o session.html

Frontends start `stentor acp`, `stentor --mode rpc` (omp, pi), `stentor --rpc-edn` (psi) or `stentor
rpc` (synaps).
Without a key the built-in model offline/guide answers; `stentor models` says what else there is.";

impl Args {
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
                Budget::Cost(dollars) => {
                    flags.set("budget.cost", "--budget", Some(&dollars.to_string()));
                }
                Budget::Tokens(tokens) => {
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
        let input = Input {
            raw: Raw::Text(text),
            source: Source::Flag(flag.to_owned()),
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

fn parse_budget(text: &str) -> Result<Budget, String> {
    let number = text.strip_prefix('$').unwrap_or(text);
    if text.ends_with(['k', 'K', 'm', 'M']) {
        count(text).map(Budget::Tokens)
    } else {
        let dollars = number.parse::<f64>().ok();
        dollars
            .filter(|dollars| dollars.is_finite() && *dollars >= 0.0)
            .map(Budget::Cost)
    }
    .ok_or_else(|| "use US dollars, as in 2.50, or tokens, as in 200k or 1m".to_owned())
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
            .filter(|(_, set)| set.source != Source::Default)
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
            ("2.50", Some(Budget::Cost(2.5))),
            ("$3", Some(Budget::Cost(3.0))),
            ("200k", Some(Budget::Tokens(200_000))),
            ("1M", Some(Budget::Tokens(1_000_000))),
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
