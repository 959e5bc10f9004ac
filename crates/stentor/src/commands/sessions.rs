//! `stentor sessions`: which conversations there are, and where something was said in them.

use std::io::{self, Write};

use jiff::tz::TimeZone;
use serde_json::{Value, json};
use stentor_journal::clock::iso_time;
use stentor_journal::store::{self, ListedSession, Occurrence, SessionConsumption, short_id};

use crate::local_time::moment;

/// Places of one session that a search shows.
const MAX_PLACES: usize = 3;

/// A session with what it consumed.
pub struct SessionLine {
    pub listed: ListedSession,
    pub consumed: SessionConsumption,
    /// Where the text that was searched for occurs.
    pub found: Vec<Occurrence>,
}

impl SessionLine {
    /// Reads the whole file; what cannot be read counts as nothing.
    pub fn of(listed: ListedSession) -> Self {
        let consumed = store::consumed(&listed.path).unwrap_or_default();
        Self {
            listed,
            consumed,
            found: Vec::new(),
        }
    }

    /// The same if `text` occurs in it.
    pub fn with(listed: ListedSession, text: &str) -> Option<Self> {
        let mut found = store::occurrences(&listed.path, text, MAX_PLACES).unwrap_or_default();
        let name = listed.name.as_deref().unwrap_or_default();
        if found.is_empty() && name.to_lowercase().contains(&text.to_lowercase()) {
            found.push(Occurrence {
                role: "name",
                excerpt: name.to_owned(),
            });
        }
        (!found.is_empty()).then(|| Self {
            found,
            ..Self::of(listed)
        })
    }
}

/// Prints the sessions, newest first, with the times of `zone`; `none` when there are none.
pub fn run(
    sessions: impl Iterator<Item = SessionLine>,
    all_folders: bool,
    none: &str,
    zone: &TimeZone,
    json: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    if json {
        let list: Vec<Value> = sessions.map(|session| as_json(&session)).collect();
        serde_json::to_writer_pretty(&mut *out, &list)?;
        return writeln!(out);
    }
    let mut any = false;
    for session in sessions {
        any = true;
        write_session(&session, all_folders, zone, out)?;
    }
    if !any {
        writeln!(out, "{none}")?;
    }
    Ok(())
}

fn write_session(
    session: &SessionLine,
    all_folders: bool,
    zone: &TimeZone,
    out: &mut impl Write,
) -> io::Result<()> {
    let listed = &session.listed;
    let count = session.consumed.totals.messages;
    let messages = if count == 1 { "message" } else { "messages" };
    write!(
        out,
        "{}  {}  {count} {messages}",
        short_id(&listed.id),
        moment(listed.modified_ms, zone)
    )?;
    if let Some(model) = &session.consumed.model {
        write!(out, "  {model}")?;
    }
    let cost = &session.consumed.totals.usage.cost;
    if cost.total > 0.0 || cost.is_unknown {
        write!(
            out,
            "  {}",
            cost.in_words(if cost.total < 0.01 { 4 } else { 2 })
        )?;
    }
    writeln!(out)?;
    if all_folders {
        writeln!(out, "    in {}", listed.cwd)?;
    }
    writeln!(out, "    {}", about(listed))?;
    for place in &session.found {
        writeln!(out, "    {}: {}", place.role, place.excerpt)?;
    }
    Ok(())
}

/// The name, else the first prompt, else what is wrong with the file.
pub fn about(session: &ListedSession) -> String {
    const LONGEST: usize = 90;
    let text = match (&session.problem, &session.name, &session.first_message) {
        (Some(problem), _, _) => format!("cannot be opened: {problem}"),
        (None, Some(name), _) => name.clone(),
        (None, None, Some(first)) => first.clone(),
        (None, None, None) => "(nothing said yet)".to_owned(),
    };
    let line = text.lines().find(|line| !line.trim().is_empty());
    let line = line.unwrap_or_default().trim();
    match line.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or_default()),
        None => line.to_owned(),
    }
}

fn as_json(session: &SessionLine) -> Value {
    let listed = &session.listed;
    let usage = &session.consumed.totals.usage;
    let mut value = json!({
        "id": listed.id,
        "shortId": short_id(&listed.id),
        "path": listed.path.display().to_string(),
        "cwd": listed.cwd,
        "name": listed.name,
        "created": listed.created,
        "modified": iso_time(listed.modified_ms),
        "sizeBytes": listed.size_bytes,
        "messages": session.consumed.totals.messages,
        "model": session.consumed.model,
        "usage": usage,
        "firstMessage": listed.first_message,
        "parentSession": listed.parent_session,
        "problem": listed.problem,
    });
    if !session.found.is_empty() {
        let found = session.found.iter();
        let found = found.map(|place| json!({ "role": place.role, "excerpt": place.excerpt }));
        value["found"] = found.collect();
    }
    value
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use stentor_journal::store::Totals;
    use stentor_journal::usage::{Cost, Usage};

    use super::*;

    fn text(sessions: Vec<SessionLine>, all_folders: bool) -> String {
        let mut out = Vec::new();
        let sessions = sessions.into_iter();
        run(
            sessions,
            all_folders,
            "none",
            &TimeZone::UTC,
            false,
            &mut out,
        )
        .unwrap();
        String::from_utf8(out).unwrap()
    }

    fn line(
        listed: ListedSession,
        messages: u64,
        model: Option<&str>,
        dollars: f64,
    ) -> SessionLine {
        let cost = Cost {
            total: dollars,
            ..Cost::default()
        };
        let usage = Usage {
            cost,
            ..Usage::default()
        };
        let totals = Totals {
            messages,
            usage,
            ..Totals::default()
        };
        SessionLine {
            listed,
            consumed: SessionConsumption {
                totals,
                model: model.map(str::to_owned),
            },
            found: Vec::new(),
        }
    }

    #[test]
    fn a_session_shows_its_model_its_cost_and_its_name_or_first_prompt_or_problem() {
        let listed = |id: &str| ListedSession {
            id: id.into(),
            cwd: "/work".into(),
            modified_ms: 1_794_728_738_409,
            first_message: Some("\n fix it\nplease".into()),
            ..ListedSession::default()
        };
        let named = ListedSession {
            name: Some("Name".into()),
            ..listed("0198c5aa-1111-7222-8333-abcdef012345")
        };
        let broken = ListedSession {
            problem: Some("it is empty".into()),
            ..listed("c")
        };
        let long = ListedSession {
            first_message: Some("é".repeat(200)),
            ..listed("d")
        };
        let mut found = line(long, 2, Some("script/x"), 1.239);
        found.found.push(Occurrence {
            role: "user",
            excerpt: "…here…".into(),
        });
        let sessions = vec![
            line(listed("a"), 1, None, 0.0),
            line(named, 1234, Some("anthropic/claude"), 0.0031),
            line(broken, 0, None, 0.0),
            found,
        ];
        expect![[r#"
            a  2026-11-15 07:45  1 message
                in /work
                fix it
            abcdef01  2026-11-15 07:45  1234 messages  anthropic/claude  $0.0031
                in /work
                Name
            c  2026-11-15 07:45  0 messages
                in /work
                cannot be opened: it is empty
            d  2026-11-15 07:45  2 messages  script/x  $1.24
                in /work
                éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé…
                user: …here…
        "#]]
        .assert_eq(&text(sessions, true));
        assert_eq!(text(Vec::new(), false), "none\n");
    }
}
