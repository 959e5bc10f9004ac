//! `stentor models`: which models there are, and which one would be used.

use std::io::{self, Write};

use serde_json::{Value, json};
use stentor_agent::model::ModelInfo;
use stentor_model::registry::{ListedModel, SilentProvider};

use crate::choose_model::{ChooseModelError, ChosenModel};

/// Which models are wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// Only those whose name contains this.
    pub filter: Option<&'a str>,
    /// Also those that cannot be used.
    pub all: bool,
}

/// Prints the models. Unless all are wanted or some by name, of the models that cannot be used only what
/// would make them usable is printed.
pub fn run(
    listed: &[ListedModel],
    silent: &[SilentProvider],
    chosen: &Result<ChosenModel, ChooseModelError>,
    wanted: Wanted<'_>,
    json: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let part = wanted.filter.unwrap_or_default().to_lowercase();
    let matches = |model: &&ListedModel| {
        model.info.full_name().to_lowercase().contains(&part)
            || model.info.name.to_lowercase().contains(&part)
    };
    let shown: Vec<&ListedModel> = listed.iter().filter(matches).collect();
    if json {
        return write_json(&shown, chosen, out);
    }
    let used = chosen.as_ref().ok().map(|chosen| chosen.info.full_name());
    let all = wanted.all || wanted.filter.is_some();
    if shown.is_empty() && all {
        writeln!(out, "nothing matches `{part}`")?;
    }
    let rows = shown.iter().filter(|model| all || model.usable.is_some());
    let width = rows
        .clone()
        .map(|model| model.info.full_name().chars().count())
        .max()
        .unwrap_or(0);
    for model in rows {
        let name = model.info.full_name();
        let mark = match (&model.usable, used.as_ref() == Some(&name)) {
            (_, true) => "*",
            (Some(_), false) => "+",
            (None, false) => " ",
        };
        let info = &model.info;
        let price = match info.cost.map(|cost| (cost.input, cost.output)) {
            None => "price unknown".to_owned(),
            Some((0.0, 0.0)) if model.by_subscription => "part of a subscription".to_owned(),
            Some((0.0, 0.0)) => "free".to_owned(),
            Some((input, output)) => format!("${input} in, ${output} out per million tokens"),
        };
        let window = tokens(info.context_window);
        writeln!(out, "{mark} {name:<width$}  {window:>5} context  {price}")?;
    }
    if !all {
        write_hints(&shown, silent, out)?;
    }
    match chosen {
        Ok(chosen) => writeln!(out, "\n{}: {}", chosen.info.full_name(), chosen.why),
        Err(problem) => writeln!(out, "\n{problem}"),
    }
}

fn write_json(
    shown: &[&ListedModel],
    chosen: &Result<ChosenModel, ChooseModelError>,
    out: &mut impl Write,
) -> io::Result<()> {
    let models: Vec<Value> = shown
        .iter()
        .map(|model| {
            let mut value = model_json(&model.info);
            value["usable"] = json!(model.usable.is_some());
            value["why"] = json!(model.usable.as_ref().unwrap_or(&model.hint));
            value
        })
        .collect();
    let would_use = match chosen {
        Ok(chosen) => json!({ "model": model_json(&chosen.info), "why": chosen.why }),
        Err(problem) => json!({ "problem": problem.to_string() }),
    };
    let document = json!({ "wouldUse": would_use, "models": models });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

/// What is known about a model; here, other than in the dialects, a price may be unknown.
fn model_json(info: &ModelInfo) -> Value {
    let mut value = json!(info);
    if info.cost.is_none() {
        value["cost"] = Value::Null;
    }
    value
}

/// A line for each provider whose models cannot be used: how many, and what would change that.
fn write_hints(
    shown: &[&ListedModel],
    silent: &[SilentProvider],
    out: &mut impl Write,
) -> io::Result<()> {
    let mut hints: Vec<(&str, &str, usize)> = Vec::new();
    for model in shown.iter().filter(|model| model.usable.is_none()) {
        let (provider, hint) = (model.info.provider.as_str(), model.hint.as_str());
        match hints.iter_mut().find(|known| known.0 == provider) {
            Some(known) => known.2 += 1,
            None => hints.push((provider, hint, 1)),
        }
    }
    let is_anything = !hints.is_empty();
    if is_anything || !silent.is_empty() {
        writeln!(out, "\nNot usable yet:")?;
    }
    for provider in silent {
        writeln!(out, "  {}: {}", provider.id, provider.reason)?;
    }
    for (provider, hint, count) in hints {
        let models = if count == 1 { "model" } else { "models" };
        writeln!(out, "  {provider}, {count} {models}: {hint}")?;
    }
    if is_anything {
        writeln!(
            out,
            "A key can also be stored: `stentor login PROVIDER --key`."
        )?;
    }
    Ok(())
}

/// `200k`, `1M`.
fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}M", count / 1_000_000),
    }
}
