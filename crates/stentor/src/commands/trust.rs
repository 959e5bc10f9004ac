//! `stentor trust`: which folders may bring everything, what one brings, and taking trust back.

use std::io::{self, Write};
use std::path::Path;

use serde_json::json;

use crate::config::Config;
use crate::config::TrustRequirement;
use crate::trust::store::{TrustStore, TrustStoreError, TrustedFolder};
use stentor_text::visible::visible;

/// What became of a folder that was to be trusted.
pub struct Trusted<'a> {
    pub root: &'a Path,
    /// What it brings that waited.
    pub wanted: &'a [TrustRequirement],
    /// It was trusted before.
    pub already: bool,
}

impl Trusted<'_> {
    /// Says so.
    pub fn print(&self, json: bool, out: &mut impl Write) -> io::Result<()> {
        let root = visible(&self.root.display().to_string()).into_owned();
        if json {
            let wanted = self.wanted.iter().map(|one| {
                json!({ "what": one.what, "path": one.file, "line": one.line, "why": one.why })
            });
            let wanted: Vec<_> = wanted.collect();
            let report = json!({ "folder": root, "already": self.already, "brings": wanted });
            return writeln!(out, "{report}");
        }
        if self.already {
            return writeln!(out, "{root} is already trusted.");
        }
        match self.wanted.is_empty() {
            true => writeln!(out, "{root} contains nothing that needs trust.")?,
            false => writeln!(out, "These parts of {root} are used from now on:")?,
        }
        for one in self.wanted {
            let line = format!("  {} ({}): {}", one.what, one.place(self.root), one.why);
            writeln!(out, "{}", visible(&line))?;
        }
        writeln!(
            out,
            "{root} is now trusted. To take that back, run `stentor trust --revoke`."
        )
    }
}

/// Lists the folders that are trusted.
pub fn list(
    stored: &[TrustedFolder],
    config: &Config,
    json: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let listed = &config.settings.trusted_projects;
    if json {
        let report = json!({ "folders": stored, "trusted_projects": listed.value.0 });
        return writeln!(out, "{report}");
    }
    if stored.is_empty() && listed.value.0.is_empty() {
        return writeln!(
            out,
            "No folder is trusted; `stentor trust FOLDER` trusts one."
        );
    }
    for one in stored {
        let folder = visible(&one.folder);
        writeln!(out, "{folder}  since {}", one.since)?;
    }
    for folder in &listed.value.0 {
        let shown = folder.display().to_string();
        let folder = visible(&shown);
        writeln!(
            out,
            "{folder}  with everything below it ({})",
            listed.source
        )?;
    }
    Ok(())
}

/// Trusts a folder no longer. Returns what to say, and whether it was trusted.
pub fn revoke(
    store: &TrustStore,
    root: &Path,
    config: &Config,
) -> Result<(String, bool), TrustStoreError> {
    let revoked = store.revoke(root)?;
    let shown = root.display();
    let listed = &config.settings.trusted_projects;
    let is_listed = |folder: &std::path::PathBuf| {
        let folder = folder.canonicalize();
        folder.is_ok_and(|folder| root.starts_with(folder))
    };
    let said = match (listed.value.0.iter().any(is_listed), revoked) {
        (true, _) => format!(
            "{shown} is still trusted: `trusted_projects` names it or a folder above it ({})",
            listed.source
        ),
        (false, true) => format!("{shown} is no longer trusted."),
        (false, false) => format!("{shown} was not trusted."),
    };
    Ok((visible(&said).into_owned(), revoked))
}
