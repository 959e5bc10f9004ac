//! What a walk leaves out because rules deny it, and how that is said.

use std::path::Path;

use serde_json::json;
use stentor_agent::tool::{ToolContext, ToolSpec};
use stentor_policy::DeniedPaths;

use super::listing::ResultListing;

/// Leaves out what rules deny, and counts it. Whether it would have been a result does not matter:
/// that would tell what is in it.
pub(crate) struct DeniedResults {
    denied: Option<DeniedPaths>,
    count: u64,
}

impl DeniedResults {
    /// For a call that looks at everything below `root`.
    pub(crate) fn below(root: &Path, spec: &ToolSpec, context: &ToolContext) -> Self {
        let rules = context.host.path_rules();
        Self {
            denied: rules.denied_below(root, &spec.name, spec.effect, &context.cwd),
            count: 0,
        }
    }

    /// True when the path is not to be looked at.
    pub(crate) fn takes(&mut self, path: &Path, is_link: bool) -> bool {
        let is_denied = self
            .denied
            .as_ref()
            .is_some_and(|denied| denied.contains(path, is_link));
        self.count += u64::from(is_denied);
        is_denied
    }

    /// Says how much was left out, if anything was.
    pub(crate) fn note_on(&self, listing: &mut ResultListing) {
        let what = match self.count {
            0 => return,
            1 => "1 path was left out: a permission rule denies it".to_owned(),
            count => format!("{count} paths were left out: permission rules deny them"),
        };
        listing.last_note(what, "leftOutByRules", json!(self.count));
    }
}
