//! `stentor rpc`: a child that a frontend drives over stdin and stdout, and the probe
//! `stentor tools_list --json` that goes with it.
//!
//! Without `--dialect` it is the child of the synaps bridge, whose words these are. This way in is
//! taken before the rest of the command line is looked at: the first frame must be out at once.

use std::collections::btree_map::Entry;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use stentor_agent::agent::SessionDefaults;
use stentor_agent::box_error::BoxError;
use stentor_agent::tool::Circumstances;
use stentor_model::configuration::ProviderConfiguration;
use stentor_model::registry::RegistrySources;
use stentor_model::secret::Secret;
use stentor_policy::PermissionMode;
use stentor_serve::frontend::Frontend;
use stentor_serve::synaps::{self, CursorFlag, SynapsOptions};
use stentor_wire::attach::AttachRefusal;

use crate::args::AttachFlag;
use crate::config::value::{RawSetting, WrittenValue};
use crate::config::{Config, ConfigErrors, Layer, Sourced, ValueSource, locate};
use crate::dialect::{Dialect, Invocation};
use crate::frontend::{FrontendError, PreparedFrontend, Start, exit_code, take_pipes};
use crate::log;
use crate::print::streams::{usage_error, usage_text};
use crate::session_places;
use crate::setup::{self, Defaults, FolderError};

/// Exit status for a wrong command line.
const USAGE: u8 = 2;

/// Exit status for everything else that keeps it from starting.
const FAILED: u8 = 1;

/// A child for a frontend.
#[derive(Debug, Parser)]
#[command(
    name = "stentor rpc",
    bin_name = "stentor rpc",
    about = "Serve a frontend over stdin and stdout.",
    after_help = "The flags above are for the synaps dialect. Each dialect parses its own flags: see \
                  `stentor rpc --dialect acp --help` and `stentor rpc --dialect omp --help`.",
    max_term_width = 100,
    // A parent adds its own words to those somebody configured: the last counts.
    args_override_self = true
)]
struct RpcArgs {
    /// The protocol
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Dialect::Synaps)]
    dialect: Dialect,
    /// Resume a stored session: its id, a unique prefix of the id, or its name
    #[arg(long = "continue", value_name = "SESSION")]
    resume: Option<String>,
    /// The system prompt, or a file that contains it
    #[arg(short, long, value_name = "TEXT|FILE", allow_hyphen_values = true)]
    system: Option<String>,
    /// The model; an unknown name is accepted here and fails when it is used
    #[arg(short, long, allow_hyphen_values = true)]
    model: Option<String>,
    /// Do not start the configured MCP servers
    #[arg(long)]
    no_mcp: bool,
    /// Ignored: accepted because some parent processes pass it
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    profile: Option<String>,
    /// Say in every frame where it is in the session's events; with a place, go on from there
    #[arg(long, value_name = "EPOCH:NUMBER", num_args = 0..=1, require_equals = true, default_missing_value = CursorFlag::HERE)]
    cursor: Option<CursorFlag>,
    /// Act as a relay to `stentor serve`, whose clients share sessions
    #[arg(long, value_name = "SOCKET", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    attach: Option<AttachFlag>,
}

/// The tools a child would have.
#[derive(Debug, Parser)]
#[command(
    name = "stentor tools_list",
    about = "List the tools of a child as JSON."
)]
struct ToolsListArgs {
    /// Print JSON (the only format)
    #[arg(long)]
    json: bool,
}

/// Why there is no child, or no list.
#[derive(Debug, thiserror::Error)]
enum RpcError {
    #[error(transparent)]
    Frontend(#[from] FrontendError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    #[error("the system prompt cannot be read from {file}: {why}")]
    SystemPrompt { file: String, why: io::Error },
    #[error(transparent)]
    Session(BoxError),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("cannot print: {0}")]
    Print(io::Error),
}

/// Runs the child or the probe if the words ask for it.
pub fn run_if_meant(words: &[OsString]) -> Option<ExitCode> {
    if let Some(status) = crate::rpc_edn::run_if_meant(words) {
        return Some(status);
    }
    let (program, rest) = words.split_first()?;
    let (command, rest) = rest.split_first()?;
    let words = [program].into_iter().chain(rest);
    match command.to_str()? {
        "rpc" => Some(parsed(words, |args: RpcArgs| serve(&args, rest))),
        "tools_list" => Some(parsed(words, |_: ToolsListArgs| list_tools())),
        _ => None,
    }
}

/// Parents show every line as a warning, and some never read any: besides errors, only what is left
/// out of a configuration or a folder is worth one.
const LOGGED: &str =
    "error,stentor::config=warn,stentor::setup=warn,stentor_agent::project_files=warn";

fn parsed<'a, A: Parser>(
    words: impl Iterator<Item = &'a OsString>,
    run: impl FnOnce(A) -> Result<u8, RpcError>,
) -> ExitCode {
    let args = match A::try_parse_from(words) {
        Ok(args) => args,
        Err(error) => return usage_error(error),
    };
    log::to_stderr(LOGGED);
    exit_code(run(args).map_err(|why| format!("stentor: {why}")))
}

fn serve(args: &RpcArgs, words: &[OsString]) -> Result<u8, RpcError> {
    let pipes = take_pipes()?;
    let prepared = prepare(args, &Start::of_process())?;
    let invocation = Invocation {
        dialect: Dialect::Synaps,
        args: words.to_vec(),
    };
    Ok(prepared.serve(pipes, &invocation)?)
}

/// Sets up the child that a client of the server asks for with these flags.
pub fn for_client(flags: &[String], start: &Start) -> Result<PreparedFrontend, AttachRefusal> {
    let words = ["stentor"]
        .into_iter()
        .chain(flags.iter().map(String::as_str));
    let args = RpcArgs::try_parse_from(words).map_err(|error| AttachRefusal {
        status: u8::try_from(error.exit_code()).unwrap_or(USAGE),
        message: usage_text(error),
    })?;
    prepare(&args, start).map_err(|why| AttachRefusal {
        message: format!("stentor: {why}"),
        status: FAILED,
    })
}

fn prepare(args: &RpcArgs, start: &Start) -> Result<PreparedFrontend, RpcError> {
    let cwd = start.working_folder(None)?;
    let system = args.system.as_deref();
    let options = SynapsOptions {
        resume: args.resume.clone(),
        system: system.map(|text| text_or_file(text, &cwd)).transpose()?,
        model: args.model.clone(),
        cursor: args.cursor.clone(),
        cwd: cwd.clone(),
    };
    let (defaults, config) = defaults(&cwd, start, args.no_mcp)?;
    let files = session_places::own(&config.settings, false);
    let others = session_places::beside(&config, &files, false);
    let agent = setup::agent(&config, Arc::new(defaults), files).also_in(others);
    Ok(PreparedFrontend::new(
        Frontend::Synaps(agent, options),
        &config,
    ))
}

fn list_tools() -> Result<u8, RpcError> {
    let pipes = take_pipes()?;
    let start = Start::of_process();
    let cwd = start.working_folder(None)?;
    let options = defaults(&cwd, &start, false)?.0.for_folder(&cwd);
    let mut tools = options.map_err(RpcError::Session)?.tools;
    // The protocol cannot ask.
    let now = Circumstances {
        somebody_answers: false,
        mode: PermissionMode::default(),
    };
    tools.retain(|tool| tool.is_offered(now));
    let list = synaps::tools_list(tools.iter().map(|tool| tool.spec()));
    let mut line = serde_json::to_vec(&list)?;
    line.push(b'\n');
    File::from(pipes.stdout)
        .write_all(&line)
        .map_err(RpcError::Print)?;
    Ok(0)
}

fn defaults(cwd: &Path, start: &Start, no_mcp: bool) -> Result<(Defaults, Config), ConfigErrors> {
    let mut flags = surroundings(cwd, start);
    if no_mcp {
        flags.use_mcp_servers = Some(Sourced {
            value: false,
            source: ValueSource::Flag("--no-mcp".to_owned()),
        });
    }
    let config = setup::load_config(cwd, &flags, &start.variables)?;
    let models = setup::models_with(&config, &flags, cwd, originals_models)?;
    // The protocol has no way to ask, so nothing is asked unless somebody wants it.
    Ok((Defaults::new(flags, models, &config), config))
}

/// What the original child's variables say about models: where the provider's own API is, and a
/// server that speaks the common wire, whose models are `local/NAME`.
fn originals_models(sources: &mut RegistrySources) {
    let environment = Arc::clone(&sources.environment);
    if let Some(endpoint) = environment("LOCAL_ENDPOINT").filter(|url| !url.is_empty()) {
        let local = ProviderConfiguration {
            name: Some("Local".to_owned()),
            base_url: Some(endpoint),
            api: Some("openai-completions".to_owned()),
            api_key: Some(Secret::new("local")),
            ..ProviderConfiguration::default()
        };
        // What somebody configured under that name counts more.
        if let Entry::Vacant(entry) = sources.providers.entry("local".to_owned()) {
            entry.insert(local);
            // As with the original, the variable alone chooses none of its models.
            sources.only_by_name.push("local".to_owned());
        }
    }
    sources.environment = Arc::new(move |name| {
        let own = (name == "ANTHROPIC_BASE_URL")
            .then(|| environment("SYNAPS_ANTHROPIC_BASE_URL"))
            .flatten();
        own.filter(|url| !url.is_empty())
            .or_else(|| environment(name))
    });
}

/// What the original child's variables say about folders. Sessions must always have a place: an id that was
/// handed out must be one to go on with.
fn surroundings(cwd: &Path, start: &Start) -> Layer {
    let variable = |name: &str| start.variables.get(name);
    let places = locate::places(&variable, locate::Platform::HERE);
    let base = variable("SYNAPS_BASE_DIR").filter(|base| !base.is_empty());
    let nowhere = || places.data_dir.is_none() && variable("STENTOR_DATA_DIR").is_none();
    let data_dir = match base {
        Some(base) => PathBuf::from(base),
        None if nowhere() => cwd.join(".stentor").join("data"),
        None => return Layer::default(),
    };
    let mut layer = Layer::default();
    let text = data_dir.to_string_lossy();
    let set = layer.set(
        "data_dir",
        &WrittenValue {
            raw: RawSetting::Text(&text),
            source: ValueSource::Environment("SYNAPS_BASE_DIR".to_owned()),
            base: cwd,
            home: places.home.as_deref(),
        },
    );
    if let Some(Err(problem)) = set {
        tracing::error!(
            "SYNAPS_BASE_DIR: {} is not {}",
            problem.found,
            problem.expected
        );
    }
    layer
}

/// The content of a regular file of that name in the folder, else the text itself.
fn text_or_file(text: &str, cwd: &Path) -> Result<String, RpcError> {
    let path = cwd.join(text);
    if !path.is_file() {
        return Ok(text.to_owned());
    }
    std::fs::read_to_string(path).map_err(|why| RpcError::SystemPrompt {
        file: text.to_owned(),
        why,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use stentor_agent::tool::ToolSpec;

    use super::*;
    use crate::environment::Variables;

    /// Every tool that there is, also those that only some sessions are offered.
    fn all_tools() -> Vec<ToolSpec> {
        let folder = tempfile::tempdir().unwrap();
        let variables = [
            ("HOME", folder.path().to_str().unwrap()),
            ("STENTOR_MEMORY", "true"),
            ("STENTOR_WEB_SEARCH", "service"),
            (
                "STENTOR_WEB_SEARCH_URL",
                "https://search.example/?q={query}",
            ),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let start = Start {
            folder: folder.path().to_owned(),
            variables: Variables::OfClient(Arc::new(variables.into_iter().collect())),
            storing: None,
        };
        let cwd = start.working_folder(None).unwrap();
        let options = defaults(&cwd, &start, false)
            .unwrap()
            .0
            .for_folder(&cwd)
            .unwrap();
        let specs = options.tools.iter().map(|tool| tool.spec().clone());
        specs.collect()
    }

    #[test]
    fn every_tool_is_documented_with_every_parameter_and_no_other() {
        let page = include_str!("../../../docs/tools.md");
        let tools = all_tools();
        let rows = page.lines().filter_map(|line| line.strip_prefix("| [`"));
        let listed: BTreeSet<&str> = rows.filter_map(|row| row.split('`').next()).collect();
        let named: BTreeSet<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(listed, named);
        for tool in &tools {
            let section = page.split(&format!("\n## {}\n", tool.name)).nth(1);
            let section = section.unwrap_or_else(|| panic!("{} has no section", tool.name));
            let section = section.split("\n## ").next().unwrap();
            let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
            let documented: BTreeSet<&str> = rows.filter_map(|row| row.split('`').next()).collect();
            let schema: serde_json::Value = serde_json::to_value(&tool.parameters).unwrap();
            let parameters = schema["properties"].as_object().unwrap().keys();
            let parameters: BTreeSet<&str> = parameters.map(String::as_str).collect();
            assert_eq!(documented, parameters, "{}", tool.name);
            let has_limits = section.lines().any(|line| {
                line.contains("imit") || line.contains("most") || line.contains("up to")
            });
            assert!(has_limits, "{}: no limits", tool.name);
        }
    }
}
