//! `stentor` alone: one screen that says what it is, what it would use, and what to do next.

use std::path::Path;

use crate::config::Config;

/// The model that would be used, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelReport {
    /// `provider/id`, or what is missing.
    pub name: String,
    /// For example `--model`, or that no key is configured.
    pub why: String,
}

/// The screen.
pub fn overview(config: &Config, model: &ModelReport, cwd: &Path) -> String {
    let configuration = match (&config.files.user, &config.files.project) {
        (_, Some(project)) => project.path.display().to_string(),
        (Some(user), None) if user.exists => user.path.display().to_string(),
        (Some(user), None) => format!("none ({} does not exist)", user.path.display()),
        (None, None) => "none".to_owned(),
    };
    format!(
        "\
stentor {version}: a headless coding agent

  model          {model}
                 {why}
  folder         {cwd}
  configuration  {configuration}

  Talk           stentor              a conversation, on a terminal
  Ask            stentor -p \"summarise this folder\"
  Continue       stentor -c -p \"run the tests\"
  Connect        stentor acp          an editor that speaks ACP
                 stentor --mode rpc   a client of omp or pi
                 stentor --rpc-edn    psi's Emacs frontend
                 stentor rpc          the synaps bridge
  Look           stentor models, stentor sessions, stentor config
  Help           stentor --help
",
        version = env!("CARGO_PKG_VERSION"),
        model = model.name,
        why = model.why,
        cwd = cwd.display(),
    )
}
