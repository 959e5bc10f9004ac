//! What a person is told when the models are looked for again, whichever dialect asks.

use std::collections::BTreeSet;
use std::sync::Arc;

use stentor_agent::agent::Agent;
use stentor_agent::box_error::BoxError;
use stentor_agent::model::ModelRegistry;
use stentor_agent::tasks;

/// Names of models that are listed one by one.
const MOST_NAMES: usize = 8;

/// Looks for models again, and says which came and went.
pub(crate) async fn reload_models(agent: &Agent) -> String {
    if let Err(why) = agent.may_drive() {
        return format!("The models stay as they are: {why}.");
    }
    let models = Arc::clone(agent.models());
    let reloading = tasks::spawn_blocking(move || {
        let before = names(&*models);
        let warnings = models.reload()?;
        Ok::<_, BoxError>((before, names(&*models), warnings))
    });
    match reloading.await.unwrap_or_else(|error| Err(error.into())) {
        Ok((before, now, warnings)) => report(&before, &now, &warnings),
        Err(why) => format!("The models stay as they were: {why}"),
    }
}

fn names(models: &dyn ModelRegistry) -> BTreeSet<String> {
    let available = models.available();
    available.iter().map(|model| model.full_name()).collect()
}

fn report(before: &BTreeSet<String>, now: &BTreeSet<String>, warnings: &[String]) -> String {
    let mut text = format!("✓ Models reloaded: {} available.", now.len());
    for (title, names) in [
        ("New", now.difference(before)),
        ("Gone", before.difference(now)),
    ] {
        let names: Vec<&str> = names.map(String::as_str).collect();
        if names.is_empty() {
            continue;
        }
        let shown = names.get(..MOST_NAMES).unwrap_or(&names);
        text.push_str(&format!("\n{title}: {}", shown.join(", ")));
        if names.len() > shown.len() {
            text.push_str(&format!(" and {} more", names.len() - shown.len()));
        }
    }
    for warning in warnings {
        text.push_str(&format!("\n⚠ {warning}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reload_says_what_came_and_what_went() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let many: BTreeSet<String> = (0..10).map(|n| format!("p/{n}")).collect();
        for (before, now, expected) in [
            (
                set(&["a/1"]),
                set(&["a/1"]),
                "✓ Models reloaded: 1 available.",
            ),
            (
                set(&["a/1", "a/2"]),
                set(&["a/2", "b/3"]),
                "✓ Models reloaded: 2 available.\nNew: b/3\nGone: a/1",
            ),
            (
                set(&[]),
                many,
                "✓ Models reloaded: 10 available.\nNew: p/0, p/1, p/2, p/3, p/4, p/5, p/6, p/7 and 2 more",
            ),
        ] {
            assert_eq!(report(&before, &now, &[]), expected);
        }
        let warned = report(&set(&[]), &set(&[]), &["a.json: no".to_owned()]);
        assert_eq!(warned, "✓ Models reloaded: 0 available.\n⚠ a.json: no");
    }
}
