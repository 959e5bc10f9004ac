//! `stentor sessions`: which conversations there are.

use std::io::{self, Write};

use serde_json::{Value, json};
use stentor_journal::clock::iso_time;
use stentor_journal::store::Listed;

/// Prints the list, newest first.
pub fn run(
    sessions: &[Listed],
    all_folders: bool,
    json: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    if json {
        let list: Vec<Value> = sessions.iter().map(as_json).collect();
        serde_json::to_writer_pretty(&mut *out, &list)?;
        return writeln!(out);
    }
    if sessions.is_empty() {
        let where_ = if all_folders { "" } else { " of this folder" };
        return writeln!(out, "no sessions{where_}");
    }
    for session in sessions {
        let when = iso_time(session.modified_ms);
        let when = when.get(..16).unwrap_or(&when).replace('T', " ");
        let count = session.message_count.map_or_else(
            || "many messages".to_owned(),
            |count| format!("{count} message{}", if count == 1 { "" } else { "s" }),
        );
        writeln!(out, "{}  {when}  {count}", session.id)?;
        if all_folders {
            writeln!(out, "    in {}", session.cwd)?;
        }
        writeln!(out, "    {}", about(session))?;
    }
    Ok(())
}

/// The name, else the first prompt, else what is wrong with the file.
fn about(session: &Listed) -> String {
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

fn as_json(session: &Listed) -> Value {
    json!({
        "id": session.id,
        "path": session.path.display().to_string(),
        "cwd": session.cwd,
        "name": session.name,
        "created": session.created,
        "modified": iso_time(session.modified_ms),
        "sizeBytes": session.size_bytes,
        "messages": session.message_count,
        "firstMessage": session.first_message,
        "parentSession": session.parent_session,
        "problem": session.problem,
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn text(sessions: &[Listed], all_folders: bool) -> String {
        let mut out = Vec::new();
        run(sessions, all_folders, false, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_session_shows_its_name_or_its_first_prompt_or_its_problem() {
        let listed = |id: &str| Listed {
            id: id.into(),
            cwd: "/work".into(),
            modified_ms: 1_794_728_738_409,
            message_count: Some(1),
            first_message: Some("\n fix it\nplease".into()),
            ..Listed::default()
        };
        let sessions = [
            listed("a"),
            Listed {
                name: Some("Name".into()),
                message_count: None,
                ..listed("b")
            },
            Listed {
                problem: Some("it is empty".into()),
                ..listed("c")
            },
            Listed {
                first_message: Some("é".repeat(200)),
                message_count: Some(2),
                ..listed("d")
            },
        ];
        expect![[r#"
            a  2026-11-15 07:45  1 message
                in /work
                fix it
            b  2026-11-15 07:45  many messages
                in /work
                Name
            c  2026-11-15 07:45  1 message
                in /work
                cannot be opened: it is empty
            d  2026-11-15 07:45  2 messages
                in /work
                éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé…
        "#]].assert_eq(&text(&sessions, true));
        assert_eq!(text(&[], false), "no sessions of this folder\n");
    }
}
