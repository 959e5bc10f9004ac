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
const FOLDERS: [(&str, &str); 18] = [
    (".git", GIT),
    (".githooks", GIT),
    (".husky", GIT),
    (".stentor", AGENT),
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
    (".ssh", SHELL),
    (".gnupg", SHELL),
];

/// Files, wherever in the working folder, with what they do.
const FILES: [(&str, &str); 24] = [
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
];

const AGENT: &str = "it configures an agent";
const GIT: &str = "git runs what it says by itself";
const EDITOR: &str = "an editor runs what it says by itself";
const SHELL: &str = "it decides what runs when a shell starts or somebody logs in";

/// The first path of a call that is asked for although edits are free, and why.
pub(super) fn protected<'s>(
    subject: &'s Subject<'_>,
    roots: &[PathBuf],
) -> Option<(&'s Path, &'static str)> {
    let roots = spelled(subject.cwd, roots);
    subject.paths.iter().find_map(|path| {
        let TouchedPath { given, resolved } = path;
        // A link may lead to such a file, and such a name may be a link.
        let mut names = std::iter::once(given.as_path()).chain(resolved.as_deref());
        let why = names.find_map(|name| protected_below(name, &roots))?;
        Some((resolved.as_deref().unwrap_or(given), why))
    })
}

/// Whether a permission to write a folder does not reach all that this call writes: what is protected
/// needs one that names it.
pub(super) fn needs_its_own_permission(subject: &Subject<'_>, roots: &[PathBuf]) -> bool {
    let writes = subject.effect == ToolEffect::Writes;
    let mut resolved = subject
        .paths
        .iter()
        .filter_map(|path| path.resolved.as_ref());
    writes
        && (protected(subject, roots).is_some()
            || resolved.any(|path| is_protected_anywhere(path, subject.cwd, roots)))
}

/// The same for a path, which may be outside the roots: there every folder on the way counts.
pub(super) fn is_protected_anywhere(path: &Path, cwd: &Path, roots: &[PathBuf]) -> bool {
    let roots = spelled(cwd, roots);
    match roots.iter().any(|root| path.starts_with(root)) {
        true => protected_below(path, &roots).is_some(),
        false => protected_name(path).is_some(),
    }
}

/// The working folder and those like it, as they are called and where they are.
fn spelled(cwd: &Path, roots: &[PathBuf]) -> Vec<PathBuf> {
    std::iter::once(cwd)
        .chain(roots.iter().map(PathBuf::as_path))
        .flat_map(|root| resolve(root).into_iter().chain([root.to_owned()]))
        .collect()
}

/// Only what is below a root counts: a project may itself lie in a folder of such a name.
fn protected_below(path: &Path, roots: &[PathBuf]) -> Option<&'static str> {
    roots
        .iter()
        .filter_map(|root| path.strip_prefix(root).ok())
        .find_map(protected_name)
}

fn protected_name(below: &Path) -> Option<&'static str> {
    // Some file systems take `.GIT` for the same.
    let is = |name: &str, known: &str| name.eq_ignore_ascii_case(known);
    let named = |table: &[(&str, &'static str)], name: &str| {
        let row = table.iter().find(|(known, _)| is(name, known));
        row.map(|(_, why)| *why)
    };
    let mut names = below.components().filter_map(|component| match component {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    let last = below.file_name().and_then(|name| name.to_str());
    names
        .find_map(|name| named(&FOLDERS, name))
        .or_else(|| named(&FILES, last?))
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
    }
}
