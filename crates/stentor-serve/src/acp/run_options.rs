//! What a prompt wants otherwise than its session, in its `_meta` (section 16).
//!
//! `model`, `reasoning_effort` and `permission_mode` are the words other agents know; under
//! `stentor` they are `model`, `thinking` and `permissionMode`, and those count first. Anything
//! else in `_meta` is nobody's business here.

use serde_json::{Map, Value, json};
use stentor_agent::model::{ModelRegistry, NamedBy};
use stentor_agent::session::RunOptions;

use super::error::{AcpResult, Refusal};
use super::settings;

/// The words of `_meta` that count, as `initialize` lists them.
pub(super) const WORDS: [&str; 3] = ["model", "reasoning_effort", "permission_mode"];

/// The word that leaves it to the session.
const DEFAULT: &str = "default";

/// What the `_meta` of a prompt says about its run.
pub(super) fn of_meta(
    meta: Option<&Map<String, Value>>,
    models: &dyn ModelRegistry,
) -> AcpResult<RunOptions> {
    let own = meta
        .and_then(|meta| meta.get("stentor"))
        .and_then(Value::as_object);
    let word = |own_name: &str, name: &str| {
        let of = |map: Option<&Map<String, Value>>, name: &str| {
            let text = map?.get(name)?.as_str()?.trim();
            (!text.is_empty() && text != DEFAULT).then(|| text.to_owned())
        };
        of(own, own_name).or_else(|| of(meta, name))
    };
    let [model, effort, mode] = WORDS;
    let refused = |name: &str, value: &str, why: String| Refusal {
        data: Some(json!({ name: value.chars().take(80).collect::<String>() })),
        ..Refusal::invalid_params(why)
    };
    let mut options = RunOptions::default();
    if let Some(name) = word("model", model) {
        let found = models.resolve(&name, NamedBy::User);
        let found = found.ok_or_else(|| {
            let why = "_meta names a model that is not known here: give provider/id, as the \
                       option lists them.";
            refused(model, &name, why.to_owned())
        })?;
        options.model = Some(found);
    }
    if let Some(level) = word("thinking", effort) {
        let parsed = level.parse();
        let parsed = parsed.map_err(|error: stentor_agent::model::UnknownThinkingLevel| {
            refused(effort, &level, error.to_string())
        })?;
        options.thinking = Some(parsed);
    }
    if let Some(name) = word("permissionMode", mode) {
        let parsed = settings::parse_mode(&name);
        let parsed = parsed.map_err(|refusal| refused(mode, &name, refusal.message))?;
        options.permission_mode = Some(parsed);
    }
    Ok(options)
}
