//! A question shows the whole command, and nothing in it acts or deceives.

use super::commands;
use super::person::{DIALECTS, Dialect, Person, Says};
use crate::world::World;

const ASK: &str = "permission_mode = \"ask\"\n";

fn question(dialect: Dialect, command: &str) -> String {
    let world = World::new(&commands(&[command]), ASK);
    let mut person = Person::prompts(&world, dialect);
    let question = person.asked().unwrap();
    person.answers(&question, Says::No);
    person.refuses_the_rest();
    question
}

/// The line without the arguments of the call, which are what they are.
fn shown(question: &str) -> &str {
    question.split(r#""rawInput""#).next().unwrap()
}

#[test]
fn the_end_of_a_long_command_is_shown() {
    let long = format!("echo {}; touch the-end", "x ".repeat(4000));
    let lines = "echo one\necho two\ntouch the-end";
    for dialect in DIALECTS {
        for command in [long.as_str(), lines] {
            let question = question(dialect, command);
            assert!(shown(&question).contains("touch the-end"), "{dialect:?}");
        }
    }
}

#[test]
fn what_would_not_be_seen_is_made_visible() {
    let command = "ls \u{202e}emas\u{2066} # \u{1b}[2K\u{1b}[1A\u{200b}\rok";
    for dialect in DIALECTS {
        let question = question(dialect, command);
        let shown = shown(&question);
        // Their numbers, with the backslash as each format writes it.
        for mark in ["202e", "2066", "1b", "200b", "d"] {
            let mark = format!("\\\\u{{{mark}}}");
            assert!(shown.contains(&mark), "{dialect:?} {mark}: {shown}");
        }
        assert!(
            !shown.contains(['\u{202e}', '\u{2066}', '\u{200b}']),
            "{shown}"
        );
        assert!(
            !shown.contains("\\u001b") && !shown.contains("\\r"),
            "{shown}"
        );
    }
}

#[test]
fn a_command_that_no_frame_should_hold_is_cut_and_says_so() {
    let long = format!("echo {}", "x".repeat(300 * 1024));
    for dialect in DIALECTS {
        let question = question(dialect, &long);
        assert!(question.contains("more bytes are not shown"), "{dialect:?}");
    }
}
