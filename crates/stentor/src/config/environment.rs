//! The layer that environment variables make: every key has one.

use std::path::Path;

use super::error::{ConfigError, ValueProblem};
use super::keys::{KEYS, Layer, variable};
use super::locate::EnvLookup;
use super::source::ValueSource;
use super::value::{RawSetting, WrittenValue};

/// Reads `STENTOR_…`. An empty variable counts as not set.
pub fn read_environment(
    env: EnvLookup<'_>,
    cwd: &Path,
    home: Option<&Path>,
) -> Result<Layer, Vec<ConfigError>> {
    let mut layer = Layer::default();
    let mut errors = Vec::new();
    for key in KEYS {
        let name = variable(key.name);
        let Some(value) = env(&name).filter(|value| !value.is_empty()) else {
            continue;
        };
        let source = ValueSource::Environment(name);
        let set = match value.to_str() {
            Some(text) => layer.set(
                key.name,
                &WrittenValue {
                    raw: RawSetting::Text(text),
                    source: source.clone(),
                    base: cwd,
                    home,
                },
            ),
            None => Some(Err(ValueProblem {
                found: "not UTF-8".to_owned(),
                expected: "UTF-8 text".to_owned(),
                suggestion: None,
            })),
        };
        if let Some(Err(problem)) = set {
            errors.push(ConfigError::BadValue {
                at: source,
                key: key.name.to_owned(),
                problem,
            });
        }
    }
    if errors.is_empty() {
        Ok(layer)
    } else {
        Err(errors)
    }
}
