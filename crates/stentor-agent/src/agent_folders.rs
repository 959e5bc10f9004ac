//! The folders in which pi and omp keep what belongs to a user: settings, prompts, skills,
//! sessions.

use std::path::{Path, PathBuf};

/// The agent folders of a user. One that cannot be known, without a home, is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentFolders {
    pub pi: Option<PathBuf>,
    pub omp: Option<PathBuf>,
}

impl AgentFolders {
    /// The folder `PI_CODING_AGENT_DIR` names for both, else `.pi/agent` and `.omp/agent` of
    /// `home`; `PI_CONFIG_DIR` is omp's variable for another name of `.omp`.
    pub fn find<T: Into<PathBuf>>(
        home: Option<&Path>,
        variable: impl Fn(&str) -> Option<T>,
    ) -> Self {
        let set = |name: &str| {
            let path: PathBuf = variable(name)?.into();
            (!path.as_os_str().is_empty()).then(|| in_home(path, home))
        };
        if let Some(named) = set("PI_CODING_AGENT_DIR") {
            return Self {
                pi: Some(named.clone()),
                omp: Some(named),
            };
        }
        let of_omp = set("PI_CONFIG_DIR").unwrap_or_else(|| PathBuf::from(".omp"));
        Self {
            pi: home.map(|home| home.join(".pi/agent")),
            omp: match home {
                Some(home) => Some(home.join(of_omp)),
                None => Some(of_omp).filter(|folder| folder.is_absolute()),
            }
            .map(|folder| folder.join("agent")),
        }
    }

    /// Those there are, each once.
    pub fn all(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = self.pi.iter().chain(&self.omp).cloned().collect();
        folders.dedup();
        folders
    }
}

/// Both programs let a path of theirs begin with `~`.
pub fn in_home(path: PathBuf, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_moves_the_folders_as_it_does_for_their_programs() {
        let home = Some(Path::new("/h"));
        let found = |home, vars: &[(&str, &str)]| {
            let folders = AgentFolders::find(home, |name| {
                let found = vars.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| *value)
            });
            let all = folders.all().into_iter();
            all.map(|path| path.display().to_string())
                .collect::<Vec<_>>()
                .join(" ")
        };
        for (vars, expected) in [
            (&[][..], "/h/.pi/agent /h/.omp/agent"),
            (&[("PI_CODING_AGENT_DIR", "")], "/h/.pi/agent /h/.omp/agent"),
            (&[("PI_CODING_AGENT_DIR", "/a")], "/a"),
            (&[("PI_CODING_AGENT_DIR", "~/a")], "/h/a"),
            (&[("PI_CONFIG_DIR", ".mine")], "/h/.pi/agent /h/.mine/agent"),
            (&[("PI_CONFIG_DIR", "/o")], "/h/.pi/agent /o/agent"),
        ] {
            assert_eq!(found(home, vars), expected);
        }
        assert_eq!(found(None, &[]), "");
        assert_eq!(found(None, &[("PI_CODING_AGENT_DIR", "/a")]), "/a");
    }
}
