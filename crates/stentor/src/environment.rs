//! The environment that whoever is served was started in.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// The variables of an environment. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Variables {
    /// Those of this process.
    #[default]
    OfProcess,
    /// Those of a client that was started elsewhere.
    OfClient(Arc<BTreeMap<String, String>>),
}

impl Variables {
    /// A variable. `HOME` comes from the password database where it is not set: some frontends
    /// start their agents with `PATH` alone.
    pub fn get(&self, name: &str) -> Option<OsString> {
        let set = match self {
            Self::OfProcess => std::env::var_os(name),
            Self::OfClient(variables) => variables.get(name).map(OsString::from),
        };
        match name {
            "HOME" => set.or_else(|| std::env::home_dir().map(PathBuf::into_os_string)),
            _ => set,
        }
    }

    /// The names of all of them that are UTF-8.
    pub fn names(&self) -> Vec<String> {
        match self {
            Self::OfProcess => std::env::vars_os()
                .filter_map(|(name, _)| name.into_string().ok())
                .collect(),
            Self::OfClient(variables) => variables.keys().cloned().collect(),
        }
    }
}
