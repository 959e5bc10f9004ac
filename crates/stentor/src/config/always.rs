//! What no folder may say, trusted or not.
//!
//! A command in the sandbox may write the project's folder, and with it the project's file: what
//! that says must never be a way out of the sandbox. And a scenario file is a program that speaks
//! as a model: only the user names one.

use stentor_agent::project_files::Project;
use stentor_agent::sandbox::SandboxMode;
use stentor_model::script;
use stentor_policy::PermissionMode;

use super::file::FileContent;
use super::{ConfigLocation, RawTable, Sourced, ValueSource, Warning};

/// Why a key is left out that is the user's own business.
macro_rules! only_yours {
    ($key:literal) => {
        concat!("`", $key, "` counts only in your own file")
    };
}

const OPENS: &str = "a project's file may tighten the sandbox, never loosen it";
const MOVES: &str = "a project's file cannot make stentor write outside the project";
const SCRIPTED: &str = "a scripted model could run commands: only a flag, the environment, your own \
                        file or your client can name one";
const RUNS: &str = "`api_key_command` would run a program outside the sandbox; only your own file \
                    can name one";

/// Removes what no project may say, given what the user's file says.
pub fn restrict(
    project: &mut FileContent,
    user_file: &FileContent,
    place: &Project,
) -> Vec<Warning> {
    let mut refused = RefusedSettings(Vec::new());
    let layer = &mut project.layer;
    let mode = user_file.layer.sandbox_mode.as_ref();
    refused.drop_if(&mut layer.sandbox_mode, OPENS, |asked| {
        mode.is_some_and(|set| is_looser(*asked, set.value))
    });
    refused.drop_if(&mut layer.sandbox_network, OPENS, |on| *on);
    refused.drop_if(&mut layer.sandbox_required, OPENS, |on| !*on);
    refused.drop_if(&mut layer.sandbox_writable, OPENS, |_| true);
    refused.drop_if(&mut layer.sandbox_unreadable, OPENS, |_| true);
    refused.drop_if(
        &mut layer.trusted_projects,
        only_yours!("trusted_projects"),
        |_| true,
    );
    refused.drop_if(&mut layer.pass_env, only_yours!("pass_env"), |_| true);
    refused.drop_if(&mut layer.attach, only_yours!("attach"), |_| true);
    refused.drop_if(
        &mut layer.web_allow_private,
        only_yours!("web.allow_private"),
        |_| true,
    );
    refused.drop_if(&mut layer.web_search, only_yours!("web.search"), |_| true);
    // The words that are searched go there, and the key with them.
    refused.drop_if(
        &mut layer.web_search_url,
        only_yours!("web.search_url"),
        |_| true,
    );
    refused.drop_if(
        &mut layer.web_search_key_env,
        only_yours!("web.search_key_env"),
        |_| true,
    );
    refused.drop_if(
        &mut layer.web_search_key_header,
        only_yours!("web.search_key_header"),
        |_| true,
    );
    refused.drop_if(
        &mut layer.limits_processes,
        only_yours!("limits.processes"),
        |_| true,
    );
    refused.drop_if(
        &mut layer.limits_memory_mb,
        only_yours!("limits.memory_mb"),
        |_| true,
    );
    refused.drop_if(
        &mut layer.limits_file_mb,
        only_yours!("limits.file_mb"),
        |_| true,
    );
    // Remembered answers lie there, and what is inside the project a command may write.
    refused.drop_if(&mut layer.data_dir, MOVES, |_| true);
    refused.drop_if(&mut layer.session_dir, MOVES, |dir| !place.holds(dir));
    refused.drop_if(&mut layer.share_sessions, MOVES, |_| true);
    let scripted = |name: &str| name == script::PROVIDER || name.starts_with("script/");
    let is_scripts = layer
        .provider
        .as_ref()
        .is_some_and(|set| scripted(&set.value.0));
    refused.drop_if(&mut layer.provider, SCRIPTED, |_| is_scripts);
    refused.drop_if(&mut layer.model, SCRIPTED, |name| {
        is_scripts || scripted(&name.0)
    });
    for table in project.agents.drain(..) {
        refused.warn(table.at, only_yours!("agents"));
    }
    if let Some(table) = project.fleet.take() {
        refused.warn(table.at, only_yours!("fleet"));
    }
    for table in project.providers.iter_mut().chain(&mut project.models) {
        refused.without_command(table);
    }
    refused.0
}

/// True when `a` lets less through than `b`.
pub fn is_stricter(a: PermissionMode, b: PermissionMode) -> bool {
    // ALL lists the modes most careful first.
    let place = |mode| PermissionMode::ALL.iter().position(|known| *known == mode);
    place(a) < place(b)
}

fn is_looser(a: SandboxMode, b: SandboxMode) -> bool {
    // ALL lists the modes strictest first.
    let place = |mode| SandboxMode::ALL.iter().position(|known| *known == mode);
    place(a) > place(b)
}

/// What was left out, and why.
struct RefusedSettings(Vec<Warning>);

impl RefusedSettings {
    fn drop_if<T>(
        &mut self,
        field: &mut Option<Sourced<T>>,
        why: &str,
        is_refused: impl FnOnce(&T) -> bool,
    ) {
        let dropped = field.take_if(|set| is_refused(&set.value));
        if let Some(ValueSource::File(at)) = dropped.map(|set| set.source) {
            self.warn(at, why);
        }
    }

    fn without_command(&mut self, table: &mut RawTable) {
        if table.table.remove("api_key_command").is_some() {
            self.warn(table.at.clone(), RUNS);
        }
    }

    fn warn(&mut self, at: ConfigLocation, why: &str) {
        let message = format!("left out: {why}");
        self.0.push(Warning { at, message });
    }
}
