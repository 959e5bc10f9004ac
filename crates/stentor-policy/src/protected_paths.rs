//! What is asked for even where edits are free: files that configure an agent, or that other
//! programs run without being told to.
//!
//! A model whose edits are accepted could otherwise give itself other rights, or have a command run
//! at the next commit, the next start of a shell or the next opening of an editor. What runs only
//! when somebody builds, tests or starts the project is not here: that is what edits are for.

use std::path::{Component, Path, PathBuf};

use super::resolve::resolve;
use super::rule::{Subject, TouchedPath};
use super::touches::ToolEffect;

/// Folders, wherever in the working folder, with what they do.
const FOLDERS: [(&str, &str); 26] = [
    (".git", GIT),
    (".config/git", GIT),
    (".githooks", GIT),
    (".husky", GIT),
    (".stentor", AGENT),
    (".config/stentor", AGENT),
    (".local/share/stentor", AGENT),
    (".agents", AGENT),
    (".claude", AGENT),
    (".codex", AGENT),
    (".cursor", AGENT),
    (".gemini", AGENT),
    (".omp", AGENT),
    (".pi", AGENT),
    (".windsurf", AGENT),
    (".devcontainer", EDITOR),
    (".idea", EDITOR),
    (".vscode", EDITOR),
    (".zed", EDITOR),
    (".config/zed", EDITOR),
    (".config/autostart", SHELL),
    (".config/environment.d", SHELL),
    (".config/fish", SHELL),
    (".config/systemd", SHELL),
    (".ssh", SHELL),
    (".gnupg", SHELL),
];

/// Files, wherever in the working folder, with what they do.
const FILES: [(&str, &str); 35] = [
    (".mcp.json", AGENT),
    ("AGENTS.md", AGENT),
    ("AGENTS.override.md", AGENT),
    ("CLAUDE.md", AGENT),
    ("CLAUDE.local.md", AGENT),
    ("GEMINI.md", AGENT),
    ("SYSTEM.md", AGENT),
    ("APPEND_SYSTEM.md", AGENT),
    (".cursorrules", AGENT),
    // A file instead of a folder in a linked work tree: it says where the real one is.
    (".git", GIT),
    (".gitconfig", GIT),
    (".gitmodules", GIT),
    (".pre-commit-config.yaml", GIT),
    ("lefthook.yml", GIT),
    (".envrc", SHELL),
    (".bashrc", SHELL),
    (".bash_profile", SHELL),
    (".bash_login", SHELL),
    (".bash_logout", SHELL),
    (".profile", SHELL),
    (".zshrc", SHELL),
    (".zshenv", SHELL),
    (".zprofile", SHELL),
    (".zlogin", SHELL),
    (".zlogout", SHELL),
    (".cshrc", SHELL),
    (".tcshrc", SHELL),
    (".login", SHELL),
    (".kshrc", SHELL),
    (".inputrc", SHELL),
    (".pam_environment", SHELL),
    (".xinitrc", SHELL),
    (".xprofile", SHELL),
    (".xsession", SHELL),
    (".xsessionrc", SHELL),
];

const AGENT: &str = "it configures an agent";
const GIT: &str = "git runs what it says automatically";
const EDITOR: &str = "an editor runs what it says automatically";
const SHELL: &str = "it decides what runs when a shell starts or somebody logs in";

/// The folders of a session that decide what is protected.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProtectedFolders<'a> {
    /// They count as the working folder does: names below them are looked at.
    pub roots: &'a [PathBuf],
    /// The program's own folders, wherever they are: they hold its rights.
    pub own: &'a [PathBuf],
}

impl ProtectedFolders<'_> {
    /// The first path of a call that is asked for although edits are free, and why.
    pub(super) fn touched_by<'s>(
        &self,
        subject: &'s Subject<'_>,
    ) -> Option<(&'s Path, &'static str)> {
        let roots = spelled(std::iter::once(subject.cwd).chain(paths(self.roots)));
        subject.paths.iter().find_map(|path| {
            let TouchedPath { given, resolved } = path;
            // A link may lead to such a file, and such a name may be a link.
            let mut names = std::iter::once(given.as_path()).chain(resolved.as_deref());
            let why =
                names.find_map(|name| self.own_folder(name).or(protected_below(name, &roots)))?;
            Some((resolved.as_deref().unwrap_or(given), why))
        })
    }

    /// Whether a permission to write a folder does not reach all that this call writes: what is
    /// protected needs one that names it.
    pub(super) fn need_their_own_permission(&self, subject: &Subject<'_>) -> bool {
        let writes = subject.effect == ToolEffect::Writes;
        let mut resolved = subject
            .paths
            .iter()
            .filter_map(|path| path.resolved.as_ref());
        writes
            && (self.touched_by(subject).is_some()
                || resolved.any(|path| self.contain(path, subject.cwd)))
    }

    /// The same for a path, which may be outside the roots: there every folder on the way counts.
    pub(super) fn contain(&self, path: &Path, cwd: &Path) -> bool {
        let roots = spelled(std::iter::once(cwd).chain(paths(self.roots)));
        let named = match roots.iter().any(|root| path.starts_with(root)) {
            true => protected_below(path, &roots),
            false => protected_name(path),
        };
        named.or(self.own_folder(path)).is_some()
    }

    fn own_folder(&self, path: &Path) -> Option<&'static str> {
        let mut own = spelled(paths(self.own)).into_iter();
        own.any(|own| path.starts_with(own)).then_some(AGENT)
    }
}

fn paths(folders: &[PathBuf]) -> impl Iterator<Item = &Path> {
    folders.iter().map(PathBuf::as_path)
}

/// Folders as they are called and where they are.
fn spelled<'a>(folders: impl Iterator<Item = &'a Path>) -> Vec<PathBuf> {
    folders
        .flat_map(|folder| resolve(folder).into_iter().chain([folder.to_owned()]))
        .collect()
}

/// Only what is below a root counts: a project may itself lie in a folder of such a name.
fn protected_below(path: &Path, roots: &[PathBuf]) -> Option<&'static str> {
    roots.iter().find_map(|root| {
        let below = path.strip_prefix(root).ok()?;
        // The root may be the first half of a name: the working folder is `~/.config`.
        let is_half = || {
            let root = root.file_name()?.to_str()?;
            let second = below.components().next()?.as_os_str().to_str()?;
            let whole = format!("{root}/{second}");
            let mut folders = FOLDERS.iter();
            folders.find(|(known, _)| known.eq_ignore_ascii_case(&whole))
        };
        protected_name(below).or_else(|| is_half().map(|(_, why)| *why))
    })
}

fn protected_name(below: &Path) -> Option<&'static str> {
    // Some file systems take `.GIT` for the same.
    let is = |(name, known): (&&str, &str)| name.eq_ignore_ascii_case(known);
    let names = below.components().filter_map(|component| match component {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    let names: Vec<&str> = names.collect();
    let is_on_the_way = |known: &str| {
        let known: Vec<&str> = known.split('/').collect();
        let mut places = names.windows(known.len());
        places.any(|names| names.iter().zip(known.iter().copied()).all(is))
    };
    let last = below.file_name().and_then(|name| name.to_str());
    let is_last = |known: &str| last.is_some_and(|last| is((&last, known)));
    let folder = FOLDERS.iter().find(|(known, _)| is_on_the_way(known));
    let file = || FILES.iter().find(|(known, _)| is_last(known));
    folder.or_else(file).map(|(_, why)| *why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_protected_below_the_root_and_nowhere_else() {
        let roots = [PathBuf::from("/home/me/.claude/work")];
        for (path, expected) in [
            ("src/main.rs", None),
            (".git/hooks/pre-commit", Some(GIT)),
            (".GIT/config", Some(GIT)),
            ("sub/.git", Some(GIT)),
            ("sub/module/.git/config", Some(GIT)),
            (".stentor/config.toml", Some(AGENT)),
            ("deep/AGENTS.md", Some(AGENT)),
            (".vscode/tasks.json", Some(EDITOR)),
            (".envrc", Some(SHELL)),
            (".config/fish/config.fish", Some(SHELL)),
            ("dotfiles/.config/stentor/config.toml", Some(AGENT)),
            (".config/nextest.toml", None),
            ("fish/config.fish", None),
            ("docs/AGENTS.md.txt", None),
            ("gitignore", None),
            (".gitignore", None),
            (".github/workflows/ci.yml", None),
        ] {
            let found = protected_below(&roots[0].join(path), &roots);
            assert_eq!(found, expected, "{path}");
        }
        assert_eq!(
            protected_below(Path::new("/elsewhere/.git/x"), &roots),
            None
        );
        let roots = [PathBuf::from("/home/me/.config")];
        for (path, expected) in [
            ("systemd/user/x.service", Some(SHELL)),
            ("fish/config.fish", Some(SHELL)),
            ("nvim/init.lua", None),
        ] {
            let found = protected_below(&roots[0].join(path), &roots);
            assert_eq!(found, expected, "{path}");
        }
        let inside = [PathBuf::from("/home/me/.config/fish")];
        let file = inside[0].join("config.fish");
        assert_eq!(protected_below(&file, &inside), None, "one works in it");
    }
}
