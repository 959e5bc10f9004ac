//! Choosing a stored session at the terminal, by its number.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use jiff::tz::TimeZone;
use stentor_journal::store::{ListedSession, short_id};

use super::sessions::about;
use crate::local_time::moment;

/// So many are offered; older ones have their id.
const OFFERED: usize = 15;

/// Shows the newest sessions and reads a number. `None` when nothing was chosen.
pub fn pick(
    sessions: impl Iterator<Item = ListedSession>,
    zone: &TimeZone,
    answers: &mut impl BufRead,
    questions: &mut impl Write,
) -> io::Result<Option<PathBuf>> {
    let usable = sessions.filter(|session| session.problem.is_none());
    let offered: Vec<ListedSession> = usable.take(OFFERED).collect();
    if offered.is_empty() {
        writeln!(questions, "There is no session of this folder to resume.")?;
        return Ok(None);
    }
    for (number, session) in (1..).zip(&offered) {
        let (id, when) = (short_id(&session.id), moment(session.modified_ms, zone));
        writeln!(questions, "{number:>3}  {id}  {when}  {}", about(session))?;
    }
    loop {
        write!(
            questions,
            "Which one? [1-{}, Enter for none] ",
            offered.len()
        )?;
        questions.flush()?;
        let mut answer = String::new();
        if answers.read_line(&mut answer)? == 0 || answer.trim().is_empty() {
            return Ok(None);
        }
        let number = answer.trim().parse::<usize>().ok();
        let chosen = number.and_then(|number| offered.get(number.checked_sub(1)?));
        if let Some(session) = chosen {
            return Ok(Some(session.path.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn picked(answers: &str) -> (Option<PathBuf>, String) {
        let session = |id: &str| ListedSession {
            id: id.into(),
            path: format!("/s/{id}").into(),
            first_message: Some(format!("do {id}")),
            ..ListedSession::default()
        };
        let sessions = ["one", "two"].map(session).into_iter();
        let mut shown = Vec::new();
        let chosen = pick(
            sessions,
            &TimeZone::UTC,
            &mut answers.as_bytes(),
            &mut shown,
        )
        .unwrap();
        (chosen, String::from_utf8(shown).unwrap())
    }

    #[test]
    fn a_number_chooses_and_anything_else_asks_again() {
        let (chosen, shown) = picked("7\n2\n");
        assert_eq!(chosen, Some("/s/two".into()));
        expect![[r#"
              1  one  1970-01-01 00:00  do one
              2  two  1970-01-01 00:00  do two
            Which one? [1-2, Enter for none] Which one? [1-2, Enter for none] "#]]
        .assert_eq(&shown);
        assert_eq!(picked("\n").0, None);
        assert_eq!(picked("").0, None);
    }
}
