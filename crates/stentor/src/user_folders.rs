//! The folders in which the user and a project keep what is not configuration.

use stentor_agent::agent_folders::AgentFolders;
use stentor_agent::commands::CommandFolders;

use crate::config::Config;

/// What pi and omp keep for the user.
pub fn agent_folders(config: &Config) -> AgentFolders {
    AgentFolders::find(config.places.home.as_deref(), |name| config.variable(name))
}

/// Where the templates, skills and agents of the user and of a folder lie. Nothing is read before
/// somebody wants to know.
pub fn command_folders(config: &Config) -> CommandFolders {
    CommandFolders {
        project: config.project.clone(),
        untrusted: !config.files.root_trusted,
        home: config.places.home.clone(),
        agent_folders: agent_folders(config),
        config: config.places.config_dir.clone(),
        without_templates: !config.settings.use_prompt_templates.value,
        without_skills: !config.settings.use_skills.value,
    }
}
