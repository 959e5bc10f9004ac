//! Where configuration and data lie on this platform.

use std::ffi::OsString;
use std::path::PathBuf;

use stentor_agent::project_files::Project;

/// The environment, given so that a test can fix it.
pub type EnvLookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The folders stentor uses. Without a home there may be none, which is no failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandardFolders {
    pub home: Option<PathBuf>,
    pub config_dir: Option<PathBuf>,
    /// The user named that folder, which may have been there for other things.
    pub is_named: bool,
    pub data_dir: Option<PathBuf>,
}

/// The conventions that differ between systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// The XDG base directories.
    Unix,
    /// `~/Library/Application Support`.
    MacOs,
}

impl Platform {
    /// The one this program runs on.
    pub const HERE: Self = if cfg!(target_os = "macos") {
        Self::MacOs
    } else {
        Self::Unix
    };
}

/// The project's file, whether or not it exists, and the folder it speaks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    pub file: PathBuf,
    pub root: PathBuf,
}

/// Finds the folders.
pub fn places(env: EnvLookup<'_>, platform: Platform) -> StandardFolders {
    let folder = |name: &str| {
        env(name)
            .map(PathBuf::from)
            // The base directory specification wants relative paths ignored.
            .filter(|path| path.is_absolute())
    };
    let home = folder("HOME");
    let below_home = |rest: &str| home.as_ref().map(|home| home.join(rest));
    let (config_base, data_base) = match platform {
        Platform::Unix => (
            folder("XDG_CONFIG_HOME").or_else(|| below_home(".config")),
            folder("XDG_DATA_HOME").or_else(|| below_home(".local/share")),
        ),
        Platform::MacOs => {
            let support = below_home("Library/Application Support");
            (support.clone(), support)
        }
    };
    let ours = |base: Option<PathBuf>| base.map(|base| base.join("stentor"));
    let named = set(env, "STENTOR_CONFIG_DIR");
    StandardFolders {
        is_named: named.is_some(),
        config_dir: named.or_else(|| ours(config_base)),
        data_dir: ours(data_base),
        home,
    }
}

/// The nearest `.stentor/config.toml` from the working folder up to the root of its project.
///
/// Outside a repository only the working folder itself is looked at: a file that happens to lie in
/// some parent folder, such as `/tmp`, was not put there for this project.
pub fn project_file(project: &Project) -> Option<ProjectFile> {
    project.folders().find_map(|root| {
        let file = root.join(".stentor").join("config.toml");
        file.symlink_metadata().is_ok().then(|| ProjectFile {
            file,
            root: root.to_owned(),
        })
    })
}

/// A path of our own variables may be relative to where we are.
fn set(env: EnvLookup<'_>, name: &str) -> Option<PathBuf> {
    env(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(platform: Platform, vars: &[(&str, &str)]) -> [Option<String>; 2] {
        let env = |name: &str| {
            let found = vars.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let places = places(&env, platform);
        [places.config_dir, places.data_dir].map(|dir| dir.map(|dir| dir.display().to_string()))
    }

    #[test]
    fn folders_follow_the_platform_and_our_own_variables() {
        use Platform::{MacOs, Unix};
        for (platform, vars, config, data) in [
            (
                Unix,
                &[("HOME", "/h")][..],
                Some("/h/.config/stentor"),
                Some("/h/.local/share/stentor"),
            ),
            (
                Unix,
                &[
                    ("HOME", "/h"),
                    ("XDG_CONFIG_HOME", "/c"),
                    ("XDG_DATA_HOME", "/d"),
                ],
                Some("/c/stentor"),
                Some("/d/stentor"),
            ),
            (
                Unix,
                &[("HOME", "/h"), ("XDG_CONFIG_HOME", "not/absolute")],
                Some("/h/.config/stentor"),
                Some("/h/.local/share/stentor"),
            ),
            (
                MacOs,
                &[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c")],
                Some("/h/Library/Application Support/stentor"),
                Some("/h/Library/Application Support/stentor"),
            ),
            (Unix, &[], None, None),
            (Unix, &[("HOME", "")], None, None),
            (
                Unix,
                &[("STENTOR_CONFIG_DIR", "/mine")],
                Some("/mine"),
                None,
            ),
        ] {
            let expected = [config, data].map(|dir| dir.map(str::to_owned));
            assert_eq!(find(platform, vars), expected, "{platform:?} {vars:?}");
        }
    }

    #[test]
    fn the_project_file_is_the_nearest_one_up_to_the_repository_root() {
        let found = |cwd: &PathBuf| project_file(&cwd.into());
        let dir = tempfile::tempdir().unwrap();
        let outer = dir.path();
        let repo = outer.join("repo");
        let deep = repo.join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::create_dir_all(outer.join(".stentor")).unwrap();
        std::fs::write(outer.join(".stentor/config.toml"), "").unwrap();

        assert_eq!(found(&deep), None, "no repository: parents do not count");
        std::fs::create_dir(repo.join(".git")).unwrap();
        assert_eq!(found(&deep), None, "nothing above the root counts");
        std::fs::create_dir_all(repo.join(".stentor")).unwrap();
        std::fs::write(repo.join(".stentor/config.toml"), "").unwrap();
        assert_eq!(found(&deep).map(|found| found.root), Some(repo));
    }
}
