//! `stentor models`: which models there are, and which one would be used.

use std::io::{self, Write};

use serde_json::{Value, json};
use stentor_agent::model::ModelInfo;
use stentor_model::registry::{ListedModel, SilentProvider};

use crate::agents::known_window;
use crate::choose_model::{ChooseModelError, ChosenModel};

/// Where the sizes of windows end, if none of them is unknown.
const WINDOW_WIDTH: usize = 5;

/// Which models are wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModelFilter<'a> {
    /// Only those whose name contains this.
    pub filter: Option<&'a str>,
    /// Also those that cannot be used.
    pub all: bool,
}

/// What is known of the models.
#[derive(Debug, Clone, Copy)]
pub struct ModelOverview<'a> {
    pub listed: &'a [ListedModel],
    /// The providers that the user has configured and that do not tell which models they have.
    pub silent: &'a [SilentProvider],
    pub chosen: &'a Result<ChosenModel, ChooseModelError>,
}

impl ModelOverview<'_> {
    /// Why the model that would be used cannot be, as far as is known.
    pub fn problem(&self) -> Option<&str> {
        let chosen = &self.chosen.as_ref().ok()?.info;
        let mut listed = self.listed.iter();
        let listed =
            listed.find(|one| (&one.info.provider, &one.info.id) == (&chosen.provider, &chosen.id));
        match listed {
            Some(listed) => listed.usable.is_none().then_some(listed.hint.as_str()),
            None => {
                let mut silent = self.silent.iter();
                let silent = silent.find(|one| one.id == chosen.provider)?;
                Some(&silent.reason)
            }
        }
    }

    /// Prints the models. Unless all are wanted or some by name, of the models that cannot be used only
    /// what would make them usable is printed.
    pub fn print(
        &self,
        wanted: ModelFilter<'_>,
        json: bool,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let part = wanted.filter.unwrap_or_default().to_lowercase();
        let matches = |model: &&ListedModel| {
            model.info.full_name().to_lowercase().contains(&part)
                || model.info.name.to_lowercase().contains(&part)
        };
        let shown: Vec<&ListedModel> = self.listed.iter().filter(matches).collect();
        let silent = self.silent.iter();
        let silent: Vec<&SilentProvider> = silent
            .filter(|one| one.id.to_lowercase().contains(&part))
            .collect();
        if json {
            return self.print_json(&shown, &silent, out);
        }
        let all = wanted.all || wanted.filter.is_some();
        if shown.is_empty() && silent.is_empty() && all {
            writeln!(out, "nothing matches `{part}`")?;
        }
        self.print_rows(&shown, all, out)?;
        write_hints(&shown, &silent, wanted.filter.is_some(), out)?;
        match (self.chosen, self.problem()) {
            (Ok(chosen), None) => writeln!(out, "\n{}: {}", chosen.info.full_name(), chosen.why),
            (Ok(chosen), Some(problem)) => {
                let name = chosen.info.full_name();
                writeln!(out, "\n{name}: {}, but: {problem}", chosen.why)
            }
            (Err(problem), _) => writeln!(out, "\n{problem}"),
        }
    }

    fn print_rows(
        &self,
        shown: &[&ListedModel],
        all: bool,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let used = self
            .chosen
            .as_ref()
            .ok()
            .map(|chosen| chosen.info.full_name());
        let rows = shown.iter().filter(|model| all || model.usable.is_some());
        let width = rows
            .clone()
            .map(|model| model.info.full_name().chars().count())
            .max()
            .unwrap_or(0);
        let window = |info: &ModelInfo| known_window(info).map_or("unknown".to_owned(), tokens);
        let windows = rows.clone().map(|model| window(&model.info).len());
        let window_width = windows.max().unwrap_or(0).max(WINDOW_WIDTH);
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
            let window = window(info);
            writeln!(
                out,
                "{mark} {name:<width$}  {window:>window_width$} context  {price}"
            )?;
        }
        Ok(())
    }

    fn print_json(
        &self,
        shown: &[&ListedModel],
        silent: &[&SilentProvider],
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
        let mut would_use = match self.chosen {
            Ok(chosen) => json!({ "model": model_json(&chosen.info), "why": chosen.why }),
            Err(problem) => json!({ "problem": problem.to_string() }),
        };
        if let Some(problem) = self.problem() {
            would_use["problem"] = json!(problem);
        }
        let silent = silent.iter();
        let silent = silent.map(|one| json!({ "provider": one.id, "why": one.reason }));
        let document = json!({
            "wouldUse": would_use,
            "models": models,
            "withoutModels": silent.collect::<Vec<Value>>(),
        });
        serde_json::to_writer_pretty(&mut *out, &document)?;
        writeln!(out)
    }
}

/// What is known about a model; here, other than in the dialects, a price and a size may be unknown.
fn model_json(info: &ModelInfo) -> Value {
    let mut value = json!(info);
    if info.cost.is_none() {
        value["cost"] = Value::Null;
    }
    if known_window(info).is_none() {
        value["contextWindow"] = Value::Null;
        value["maxTokens"] = Value::Null;
    }
    value
}

/// A line for each provider whose models cannot be used: how many, and what would change that.
fn write_hints(
    shown: &[&ListedModel],
    silent: &[&SilentProvider],
    by_name: bool,
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
    if is_anything && !by_name {
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
