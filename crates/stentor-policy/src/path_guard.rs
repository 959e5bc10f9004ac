//! What no rule, answer or mode opens: the sandbox of the commands, kept by the other tools, too.
//!
//! A sandbox that holds back only commands would be none: a model that may not run
//! `echo x >> ~/.profile` could use the tool that writes files.

use std::path::{Path, PathBuf};

use super::resolve::resolve;
use super::rule::Subject;
use super::touches::ToolEffect;

/// Where tools may write at most, and what they may not touch at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathGuard {
    pub writes: WriteLimit,
    /// Files and folders that are not to be touched, nor a folder that contains one.
    pub unreadable: Vec<PathBuf>,
}

/// Where tools may write at most.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum WriteLimit {
    #[default]
    Anywhere,
    /// In the working folder and folders like it, and in these.
    Within(Vec<PathBuf>),
    Nowhere,
}

impl PathGuard {
    /// Why a call may not be, if it may not.
    pub(super) fn stops(&self, subject: &Subject<'_>, roots: &[PathBuf]) -> Option<String> {
        self.stops_touching(subject)
            .or_else(|| self.stops_writing(subject, roots))
    }

    fn stops_touching(&self, subject: &Subject<'_>) -> Option<String> {
        // Commands are held back by the sandbox itself, which sees what they really do.
        if subject.effect == ToolEffect::Executes {
            return None;
        }
        let hidden: Vec<PathBuf> = self
            .unreadable
            .iter()
            .filter_map(|path| resolve(path))
            .collect();
        let touched = |path: &Path| {
            hidden
                .iter()
                .find(|hidden| path.starts_with(hidden) || hidden.starts_with(path))
        };
        let mut resolved = subject.paths.iter().filter_map(|p| p.resolved.as_deref());
        resolved
            .find_map(touched)
            .map(|hidden| format!("the configuration makes {} unreadable", hidden.display()))
    }

    fn stops_writing(&self, subject: &Subject<'_>, roots: &[PathBuf]) -> Option<String> {
        if subject.effect != ToolEffect::Writes {
            return None;
        }
        let extra = match &self.writes {
            WriteLimit::Anywhere => return None,
            WriteLimit::Nowhere => return Some("the sandbox is read-only".to_owned()),
            WriteLimit::Within(extra) => extra,
        };
        let allowed: Vec<PathBuf> = std::iter::once(subject.cwd)
            .chain(roots.iter().map(PathBuf::as_path))
            .chain(extra.iter().map(PathBuf::as_path))
            .filter_map(resolve)
            .collect();
        if subject.paths.is_empty() {
            return Some(
                "it does not declare where it writes, and the sandbox restricts \
                         that"
                    .to_owned(),
            );
        }
        let is_allowed = |path: &Path| allowed.iter().any(|folder| path.starts_with(folder));
        let outside = subject.paths.iter().find(|path| match &path.resolved {
            Some(resolved) => !is_allowed(resolved),
            None => true,
        })?;
        let shown = outside.resolved.as_ref().unwrap_or(&outside.given);
        Some(format!(
            "{} is outside the folders the sandbox lets this session write to",
            shown.display()
        ))
    }
}
