//! `stentor rpc`: a child that a frontend drives over stdin and stdout, and the probe
//! `stentor tools_list --json` that goes with it.
//!
//! Without `--dialect` it is the child of the synaps bridge, whose words these are. This way in is
//! taken before the rest of the command line is looked at: the first frame must be out at once.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use stentor_agent::agent::{Agent, SessionDefaults};
use stentor_model::configuration::ProviderConfiguration;
use stentor_model::registry::RegistrySources;
use stentor_model::secret::Secret;
use stentor_policy::PermissionMode;
use stentor_serve::stdio::{self, Pipes};
use stentor_serve::synaps::{self, SynapsOptions};
use stentor_tools::BuiltinTools;

use crate::config::value::{Input, Raw};
use crate::config::{Layer, Source, locate};
use crate::dialect::Dialect;
use crate::log::{self, PatientStderr};
use crate::notes::Notes;
use crate::session_places;
use crate::setup::{self, Defaults};
use crate::trust::question::Asking;

/// Exit status when the child cannot begin.
const FAILED: u8 = 1;
/// Exit status for a wrong command line.
const USAGE: u8 = 2;

/// A child for a frontend.
#[derive(Debug, Parser)]
#[command(
    name = "stentor rpc",
    bin_name = "stentor rpc",
    about = "Serve a frontend over stdin and stdout.",
    after_help = "What follows a dialect is read by it: `stentor rpc --dialect acp --help` and `… omp --help` \
                  show what is understood there. The flags above are those of the synaps dialect.",
    max_term_width = 100,
    // A parent adds its own words to those somebody configured: the last counts.
    args_override_self = true
)]
struct RpcArgs {
    /// The protocol
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Dialect::Synaps)]
    dialect: Dialect,
    /// Go on with a stored session: its id, a unique beginning of it, or its name
    #[arg(long = "continue", value_name = "SESSION")]
    resume: Option<String>,
    /// The system prompt, or a file with it
    #[arg(short, long, value_name = "TEXT|FILE", allow_hyphen_values = true)]
    system: Option<String>,
    /// The model; any name is taken, one that means nothing fails when it is used
    #[arg(short, long, allow_hyphen_values = true)]
    model: Option<String>,
    /// Accepted for the sake of parents that pass one; there are no profiles
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    profile: Option<String>,
}

/// The tools a child would have.
#[derive(Debug, Parser)]
#[command(
    name = "stentor tools_list",
    about = "List the tools of a child as JSON."
)]
struct ToolsListArgs {
    /// The only form there is
    #[arg(long)]
    json: bool,
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
        "rpc" => Some(parsed(words, |args: RpcArgs| serve(&args))),
        "tools_list" => Some(parsed(words, |_: ToolsListArgs| list_tools())),
        _ => None,
    }
}

fn parsed<'a, A: Parser>(
    words: impl Iterator<Item = &'a OsString>,
    run: impl FnOnce(A) -> Result<u8, String>,
) -> ExitCode {
    let args = match A::try_parse_from(words) {
        Ok(args) => args,
        Err(error) => {
            // Help goes to stdout, errors to stderr; a closed pipe is nobody's problem.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(USAGE));
        }
    };
    // Parents show every line as a warning, and some never read any.
    log::to_stderr("error");
    match run(args) {
        Ok(status) => ExitCode::from(status),
        Err(why) => {
            let _ = writeln!(PatientStderr, "stentor: {why}");
            ExitCode::from(FAILED)
        }
    }
}

fn serve(args: &RpcArgs) -> Result<u8, String> {
    let pipes = take_pipes()?;
    let cwd = setup::working_folder(None)?;
    let options = SynapsOptions {
        resume: args.resume.clone(),
        system: args.system.as_deref().map(text_or_file).transpose()?,
        model: args.model.clone(),
        cwd: cwd.clone(),
    };
    let agent = agent(&cwd)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))?;
    let status = runtime.block_on(synaps::serve(agent, pipes, options));
    // Nothing that still blocks may hold up the end: everything that counts is on disk.
    runtime.shutdown_background();
    status
}

fn list_tools() -> Result<u8, String> {
    let pipes = take_pipes()?;
    let cwd = setup::working_folder(None)?;
    let tools = defaults(&cwd)?.0.for_folder(&cwd)?.tools;
    let list = synaps::tools_list(tools.iter().map(|tool| tool.spec()));
    let mut line = serde_json::to_vec(&list).map_err(|error| error.to_string())?;
    line.push(b'\n');
    File::from(pipes.stdout)
        .write_all(&line)
        .map_err(|error| format!("cannot print: {error}"))?;
    Ok(0)
}

fn take_pipes() -> Result<Pipes, String> {
    stdio::take().map_err(|error| format!("cannot use stdin and stdout: {error}"))
}

fn agent(cwd: &Path) -> Result<Agent, String> {
    let (defaults, config) = defaults(cwd)?;
    let files = session_places::own(&config.settings, false);
    Ok(setup::agent(&config, Arc::new(defaults), files))
}

fn defaults(cwd: &Path) -> Result<(Defaults, crate::config::Config), String> {
    let flags = surroundings(cwd);
    let config = setup::load_config(cwd, &flags).map_err(|errors| errors.to_string())?;
    let models = setup::models_with(&config, &flags, cwd, originals_models)
        .map_err(|errors| errors.to_string())?;
    let defaults = Defaults {
        mcp: models.mcp_servers(),
        models,
        // The protocol has no way to ask.
        permission_mode: PermissionMode::All,
        subagents: true,
        rules: true,
        tools: BuiltinTools::default(),
        notes: Notes::of(&config, false),
        trust: Asking::beside(),
        clock: setup::system_clock(),
        flags,
    };
    Ok((defaults, config))
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
        sources.providers.entry("local".to_owned()).or_insert(local);
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
fn surroundings(cwd: &Path) -> Layer {
    let places = locate::places(&setup::variable, locate::Platform::HERE);
    let base = setup::variable("SYNAPS_BASE_DIR").filter(|base| !base.is_empty());
    let nowhere = || places.data_dir.is_none() && setup::variable("STENTOR_DATA_DIR").is_none();
    let data_dir = match base {
        Some(base) => PathBuf::from(base),
        None if nowhere() => cwd.join(".stentor").join("data"),
        None => return Layer::default(),
    };
    let mut layer = Layer::default();
    let text = data_dir.to_string_lossy();
    let set = layer.set(
        "data_dir",
        &Input {
            raw: Raw::Text(&text),
            source: Source::Environment("SYNAPS_BASE_DIR".to_owned()),
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

/// The content of a regular file of that name, else the text itself.
fn text_or_file(text: &str) -> Result<String, String> {
    let path = Path::new(text);
    if !path.is_file() {
        return Ok(text.to_owned());
    }
    std::fs::read_to_string(path)
        .map_err(|error| format!("the system prompt cannot be read from {text}: {error}"))
}
