//! Where sessions work: labels of folders, since a folder does not travel with a log.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;

use uuid::Uuid;

use crate::directory::SessionRecord;
use crate::error::FleetError;
use crate::settings::{Checkout, WorkPlace};

/// The places that this node has.
#[derive(Debug, Clone)]
pub struct NodePlaces {
    named: BTreeMap<String, WorkPlace>,
    /// The label of what is on this host and nowhere else.
    host: String,
}

/// Where a session works on this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkingFolder {
    Here(PathBuf),
    /// This node does not have the place: what was said can be read, for this reason nothing more.
    Absent(String),
}

impl NodePlaces {
    /// Those of a node. What is in none of the named places is on its host only.
    pub fn new(named: &BTreeMap<String, WorkPlace>, node: &str) -> Self {
        let resolved = named.iter().map(|(label, place)| {
            let place = match place {
                WorkPlace::Folder(path) => WorkPlace::Folder(real(path)),
                WorkPlace::Checkout(checkout) => WorkPlace::Checkout(Checkout {
                    path: real(&checkout.path),
                    ..checkout.clone()
                }),
            };
            (label.clone(), place)
        });
        Self {
            named: resolved.collect(),
            host: host_label(node),
        }
    }

    /// The labels of all of them.
    pub fn labels(&self) -> Vec<String> {
        let named = self.named.keys().cloned();
        named.chain([self.host.clone()]).collect()
    }

    /// Where the named ones are, by label.
    pub fn folders(&self) -> BTreeMap<String, String> {
        let named = self.named.iter();
        named
            .map(|(label, place)| (label.clone(), place.path().display().to_string()))
            .collect()
    }

    /// True for the label of what is on this host and nowhere else.
    pub fn is_host(&self, label: &str) -> bool {
        label == self.host
    }

    /// The label of the place that a folder is in, and the folder relative to it: the innermost
    /// place if there are several.
    pub fn of(&self, folder: &Path) -> (String, String) {
        let folder = real(folder);
        let inside = self.named.iter().filter_map(|(label, place)| {
            let relative = folder.strip_prefix(place.path()).ok()?;
            Some((label, relative))
        });
        match inside.min_by_key(|(_, relative)| relative.components().count()) {
            Some((label, relative)) => (label.clone(), relative.display().to_string()),
            None => (self.host.clone(), String::new()),
        }
    }

    /// Where a session works on this node.
    pub fn folder_of(&self, session: &SessionRecord) -> WorkingFolder {
        if session.place == self.host {
            return WorkingFolder::Here(PathBuf::from(&session.cwd));
        }
        let relative = Path::new(&session.folder);
        let stays_inside = relative
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        match self.named.get(&session.place) {
            // Joined with nothing it would end in a slash.
            Some(place) if session.folder.is_empty() => WorkingFolder::Here(place.path().clone()),
            Some(place) if stays_inside => WorkingFolder::Here(place.path().join(relative)),
            _ => WorkingFolder::Absent(format!(
                "this node has no place `{}`, so the conversation can only be read here; open it on \
                 a node that has the place, or name the place in [fleet.places]",
                session.place
            )),
        }
    }

    /// True when a folder is in a place that can be checked out and is not there yet.
    pub fn can_make(&self, folder: &Path) -> bool {
        let leaves = folder
            .components()
            .any(|part| matches!(part, Component::ParentDir));
        let (label, _) = self.of(folder);
        match self.named.get(&label) {
            Some(WorkPlace::Checkout(checkout)) => !leaves && !checkout.path.exists(),
            Some(WorkPlace::Folder(_)) | None => false,
        }
    }

    /// Makes a place that is checked out, if it is not there yet. Blocks.
    pub fn prepare(&self, label: &str) -> Result<(), FleetError> {
        match self.named.get(label) {
            Some(WorkPlace::Checkout(checkout)) if !checkout.path.exists() => check_out(checkout),
            _ => Ok(()),
        }
    }
}

/// The label of what is on a host and nowhere else.
pub fn host_label(node: &str) -> String {
    format!("host-{node}")
}

/// Beside its final place first, so that nobody works in half of it.
fn check_out(checkout: &Checkout) -> Result<(), FleetError> {
    let failed = |why: String| FleetError::Checkout {
        path: checkout.path.clone(),
        why,
    };
    let folder = checkout.path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder).map_err(|why| failed(why.to_string()))?;
    let name = checkout.path.file_name().unwrap_or_default();
    // Several sessions may need it at once.
    let unfinished = folder.join(format!(
        ".{}-{}",
        name.to_string_lossy(),
        Uuid::new_v4().simple()
    ));
    let git = |words: &[&str]| {
        let ran = std::process::Command::new("git")
            .args(words)
            .stdin(Stdio::null())
            .env("GIT_TERMINAL_PROMPT", "0")
            .output()
            .map_err(|why| failed(format!("git cannot be run: {why}")))?;
        match ran.status.success() {
            true => Ok(()),
            false => Err(failed(
                String::from_utf8_lossy(&ran.stderr).trim().to_owned(),
            )),
        }
    };
    let target = unfinished.display().to_string();
    let made = git(&[
        "clone",
        "--quiet",
        "--no-checkout",
        "--",
        &checkout.repository,
        &target,
    ])
    .and_then(|()| {
        let commit = format!("{}^{{commit}}", checkout.commit);
        git(&["-C", &target, "checkout", "--quiet", "--detach", &commit])
    })
    .and_then(|()| {
        std::fs::rename(&unfinished, &checkout.path).map_err(|why| failed(why.to_string()))
    });
    if made.is_err() {
        std::fs::remove_dir_all(&unfinished).ok();
    }
    // Another session may have been quicker.
    match checkout.path.is_dir() {
        true => Ok(()),
        false => made,
    }
}

/// The path without links. Of what is not there yet, as far as it is: it has the same path when it is.
fn real(path: &Path) -> PathBuf {
    let mut there = path.ancestors();
    let found = there.find_map(|part| Some((part, part.canonicalize().ok()?)));
    let rest = found.and_then(|(part, real)| Some((real, path.strip_prefix(part).ok()?)));
    match rest {
        // Joined with nothing it would end in a slash.
        Some((real, rest)) if rest.as_os_str().is_empty() => real,
        Some((real, rest)) => real.join(rest),
        None => path.to_owned(),
    }
}
