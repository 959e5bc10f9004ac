//! `stentor config`: what holds and where each value came from.

use serde_json::{Value as Json, json};

use super::source::{Scope, ValueSource};
use super::{Config, ConfigLocation, RawTable};

/// The configuration as text for a person.
pub fn as_text(config: &Config) -> String {
    let mut text = String::new();
    for (label, file) in [
        ("user file", &config.files.user),
        ("project file", &config.files.project),
    ] {
        let state = match file {
            None => "none".to_owned(),
            Some(file) if !file.exists => format!("{} (not there)", file.path.display()),
            Some(file) => file.path.display().to_string(),
        };
        let trust = match (label, &config.files.project) {
            ("project file", Some(_)) if config.files.project_trusted => " (trusted)",
            ("project file", Some(_)) => {
                " (not trusted: it may only choose models and tighten \
              settings)"
            }
            _ => "",
        };
        text.push_str(&format!("{label:<13} {state}{trust}\n"));
    }
    text.push('\n');
    text.push_str(&table(config));
    if let Some(mode) = &config.project_mode {
        text.push_str(&format!(
            "\nThe project asks for permission_mode \"{}\" ({}); that applies where it is \
             stricter.\n",
            mode.value, mode.source
        ));
    }
    let rules = config
        .permissions
        .iter()
        .map(|rule| (rule.value.to_string(), rule.source.to_string()));
    section(
        &mut text,
        "permissions; the most specific match wins",
        rules,
    );
    section(
        &mut text,
        "providers",
        config.providers.iter().map(raw_line),
    );
    section(&mut text, "models", config.models.iter().map(raw_line));
    section(
        &mut text,
        "extensions",
        config.extensions.iter().map(raw_line),
    );
    section(
        &mut text,
        "MCP servers",
        config.mcp_servers.iter().map(raw_line),
    );
    section(&mut text, "agents", config.agents.iter().map(raw_line));
    section(&mut text, "fleet", config.fleet.iter().map(raw_line));
    let waiting = config.wanted.iter().map(|wanted| {
        let place = format!("{}:{}", wanted.file.display(), wanted.line.unwrap_or(1));
        (format!("{}: {}", wanted.what, wanted.why), place)
    });
    section(
        &mut text,
        "ignored until the project is trusted (`stentor trust`)",
        waiting,
    );
    let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
    if !warnings.is_empty() {
        text.push_str(&format!("\nwarnings\n  {}\n", warnings.join("\n  ")));
    }
    text
}

/// The configuration as JSON for a program.
pub fn as_json(config: &Config) -> Json {
    let settings: serde_json::Map<String, Json> = config
        .settings
        .shown()
        .into_iter()
        .map(|shown| {
            let described = match shown.value {
                Some(set) => json!({ "value": set.value, "source": source_json(&set.source) }),
                None => json!({ "value": null, "source": null }),
            };
            (shown.key.name.to_owned(), described)
        })
        .collect();
    let rules: Vec<Json> = config
        .permissions
        .iter()
        .map(|rule| json!({ "rule": rule.value, "source": source_json(&rule.source) }))
        .collect();
    let raw = |tables: &[RawTable]| -> Vec<Json> {
        tables
            .iter()
            .map(|raw| {
                let keys: Vec<&String> = raw.table.keys().collect();
                json!({ "name": raw.name, "keys": keys, "source": location_json(&raw.at) })
            })
            .collect()
    };
    json!({
        "files": {
            "user": config.files.user.as_ref().map(|file| json!({ "path": file.path, "exists": file.exists })),
            "project": config.files.project.as_ref().map(|file| json!({ "path": file.path, "exists": file.exists })),
            "projectTrusted": config.files.project_trusted,
        },
        "settings": settings,
        "permissions": rules,
        "providers": raw(&config.providers),
        "models": raw(&config.models),
        "extensions": raw(&config.extensions),
        "mcpServers": raw(&config.mcp_servers),
        "agents": raw(&config.agents),
        "waitingForTrust": config.wanted.iter().map(|wanted| json!({
            "what": wanted.what,
            "path": wanted.file,
            "line": wanted.line,
            "why": wanted.why,
        })).collect::<Vec<_>>(),
        "warnings": config.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn table(config: &Config) -> String {
    let rows: Vec<[String; 3]> = config
        .settings
        .shown()
        .into_iter()
        .map(|shown| match shown.value {
            Some(set) => [
                shown.key.name.to_owned(),
                short(&set.value.to_string()),
                set.source.to_string(),
            ],
            None => [
                shown.key.name.to_owned(),
                "-".to_owned(),
                "not set".to_owned(),
            ],
        })
        .collect();
    // A value longer than this stands out of its column rather than being cut: it may be a path.
    const WIDEST: usize = 32;
    let width = |cell: fn(&[String; 3]) -> &String| {
        let widths = rows.iter().map(|row| cell(row).chars().count());
        widths.max().unwrap_or(0).min(WIDEST)
    };
    let (names, values) = (width(|row| &row[0]), width(|row| &row[1]));
    rows.iter()
        .map(|[name, value, source]| format!("{name:<names$}  {value:<values$}  {source}\n"))
        .collect()
}

fn section(text: &mut String, title: &str, rows: impl Iterator<Item = (String, String)>) {
    let mut title = Some(title);
    for (what, source) in rows {
        if let Some(title) = title.take() {
            text.push_str(&format!("\n{title}\n"));
        }
        text.push_str(&format!("  {what}  {source}\n"));
    }
}

/// Names the keys only: a value may be a secret.
fn raw_line(raw: &RawTable) -> (String, String) {
    let keys: Vec<&str> = raw.table.keys().map(String::as_str).collect();
    let source = format!("{}:{}", raw.at.file.display(), raw.at.line);
    (format!("{}  ({})", raw.name, keys.join(", ")), source)
}

/// A system prompt can be a book.
fn short(value: &str) -> String {
    const LONGEST: usize = 200;
    match value.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", &value[..cut]),
        None => value.to_owned(),
    }
}

fn source_json(source: &ValueSource) -> Json {
    match source {
        ValueSource::Default => json!({ "kind": "default" }),
        ValueSource::File(at) => location_json(at),
        ValueSource::Environment(name) => json!({ "kind": "environment", "variable": name }),
        ValueSource::Flag(name) => json!({ "kind": "flag", "flag": name }),
    }
}

fn location_json(at: &ConfigLocation) -> Json {
    let scope = match at.scope {
        Scope::User => "user",
        Scope::Project => "project",
    };
    json!({ "kind": "file", "scope": scope, "path": at.file, "line": at.line, "column": at.column })
}
