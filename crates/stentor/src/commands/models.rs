//! `stentor models`: which models there are, and which one would be used.

use std::io::{self, Write};
use std::sync::Arc;

use serde_json::json;
use stentor_agent::model::ModelInfo;

use crate::choose_model::ChosenModel;

/// Prints the models whose name contains `filter`.
pub fn run(
    available: &[Arc<ModelInfo>],
    chosen: &Result<ChosenModel, String>,
    filter: Option<&str>,
    json: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let wanted = filter.unwrap_or_default().to_lowercase();
    let shown = |info: &&Arc<ModelInfo>| {
        info.full_name().to_lowercase().contains(&wanted)
            || info.name.to_lowercase().contains(&wanted)
    };
    if json {
        let models: Vec<&Arc<ModelInfo>> = available.iter().filter(shown).collect();
        let would_use = match chosen {
            Ok(chosen) => json!({ "model": chosen.info, "why": chosen.why }),
            Err(problem) => json!({ "problem": problem }),
        };
        let document = json!({ "wouldUse": would_use, "models": models });
        serde_json::to_writer_pretty(&mut *out, &document)?;
        return writeln!(out);
    }
    let used = chosen.as_ref().ok().map(|chosen| chosen.info.full_name());
    let names = available.iter().filter(shown).map(|info| info.full_name());
    let width = names.map(|name| name.chars().count()).max().unwrap_or(0);
    for info in available.iter().filter(shown) {
        let name = info.full_name();
        let mark = if used.as_ref() == Some(&name) {
            "*"
        } else {
            " "
        };
        let price = match (info.cost.input, info.cost.output) {
            (0.0, 0.0) => "free".to_owned(),
            (input, output) => format!("${input} in, ${output} out per million tokens"),
        };
        let window = tokens(info.context_window);
        writeln!(out, "{mark} {name:<width$}  {window:>5} context  {price}")?;
    }
    match chosen {
        Ok(chosen) => writeln!(out, "\n{}: {}", chosen.info.full_name(), chosen.why),
        Err(problem) => writeln!(out, "\n{problem}"),
    }
}

/// `200k`, `1M`.
fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}M", count / 1_000_000),
    }
}
