//! A command that is known to be harmless hides no other one.

use serde_json::json;

use super::commands;
use super::person::{DIALECTS, Person, Says};
use crate::world::World;

/// Ways to run `touch made` in which every command that can be told apart is an `echo`.
const WAYS: [&str; 7] = [
    "((echo '$(touch made)'))",
    "((echo '`touch made`'))",
    "(\\\n(echo '$(touch made)'))",
    "echo $((echo '$(touch made)'))",
    "echo \"$((echo '$(touch made)'))\"",
    "echo \"$\\\n(touch made)\"",
    "echo \"$\\\n{x:-$(touch made)}\"",
];

#[test]
fn plan_mode_runs_none_of_them() {
    for way in WAYS {
        let world = World::new(&commands(&[way]), "permission_mode = \"plan\"\n");
        let said = world.asked(&["-p", "go", "--no-session"]);
        assert!(
            said.starts_with("It said: Permission denied: "),
            "{way}: {said}"
        );
        assert!(!world.path("work/made").exists(), "{way}");
    }
}

#[test]
fn a_yes_for_always_to_the_harmless_one_allows_none_of_them_in_any_dialect() {
    let asked: Vec<&str> = ["echo hello"].into_iter().chain(WAYS).collect();
    for dialect in DIALECTS {
        let world = World::new(&commands(&asked), "permission_mode = \"ask\"\n");
        let mut person = Person::prompts(&world, dialect);
        let first = person.asked().unwrap();
        person.answers(&first, Says::Always);
        let further = person.refuses_the_rest();
        assert_eq!(further.len(), WAYS.len(), "{dialect:?}: {further:#?}");
        assert!(!world.path("work/made").exists(), "{dialect:?}");
    }
}

#[test]
fn a_rule_that_allows_the_harmless_one_allows_no_calculation_named_like_it() {
    let config = r#"permission_mode = "ask"
[[permissions]]
tool = "bash"
command = "printf *"
decision = "allow"
"#;
    let ways = [
        "printf -v printf 'a[$(touch made)]'; printf %s $((printf ))",
        "printf %s $((printf '$(touch made)'))",
    ];
    for way in ways {
        let world = World::new(&commands(&[way]), config);
        let said = world.asked(&["-p", "go", "--no-session"]);
        assert!(
            said.starts_with("It said: Not permitted: "),
            "{way}: {said}"
        );
        assert!(!world.path("work/made").exists(), "{way}");
    }
}

/// Starts what evaluates each line that it is given, and then writes what is one harmless command to
/// a shell, and three lines to what reads it.
const WRITES: &str = r#"
on_exhausted = "repeat-last"
[[turn]]
when = { last_user_contains = "begin" }
tool = "bash"
arguments = { command = "while read -r line; do eval \"$line\"; done", stdin = true }
[[turn]]
when = { last_user_contains = "write" }
tool = "job"
arguments = { action = "write", id = "job-1", text = "echo '\ntouch made\n'\n" }
[[turn]]
text = "{{last_tool_result}}"
"#;

#[test]
fn what_is_written_to_a_program_is_never_known_to_be_harmless_in_plan_mode() {
    let world = World::new(WRITES, "permission_mode = \"all\"\n");
    let mut child = world.omp();
    for (text, ends) in [
        ("begin", r#""type":"agent_settled""#),
        ("/plan on", r#""command":"prompt""#),
        ("write", r#""type":"agent_settled""#),
    ] {
        child.send(&json!({ "id": "p", "type": "prompt", "message": text }).to_string());
        let lines = child.until(|line| line.contains(ends));
        let denied = lines.iter().any(|line| line.contains("Permission denied"));
        assert_eq!(denied, text == "write", "{text}: {lines:#?}");
    }
    child.end();
    assert!(!world.path("work/made").exists());
}

#[test]
fn a_yes_for_always_to_a_command_allows_nothing_that_is_written_to_a_program() {
    let calls = WRITES.replace(r#"when = { last_user_contains = "begin" }"#, "");
    let calls = calls.replace(
        r#"when = { last_user_contains = "write" }"#,
        "tool = \"bash\"\narguments = { command = \"echo hello\" }\n[[turn]]",
    );
    for dialect in DIALECTS {
        let world = World::new(&calls, "permission_mode = \"ask\"\n");
        let mut person = Person::prompts(&world, dialect);
        for says in [Says::Once, Says::Always] {
            let question = person.asked().unwrap();
            person.answers(&question, says);
        }
        assert_eq!(person.refuses_the_rest().len(), 1, "{dialect:?}");
        assert!(!world.path("work/made").exists(), "{dialect:?}");
    }
}

#[test]
fn a_rule_that_denies_is_held_against_each_part_of_what_is_written_to_a_program() {
    let calls = WRITES.replace(r"echo '\ntouch made\n'\n", r"true; echo x > made\n");
    let calls = calls.replace(r#"while read -r line; do eval \"$line\"; done"#, "bash");
    let config = r#"permission_mode = "all"
[[permissions]]
tool = "bash"
command = "echo * > *"
decision = "deny"
[[permissions]]
tool = "bash"
command = "bash"
decision = "allow"
"#;
    let world = World::new(&calls, config);
    let mut child = world.omp();
    for text in ["begin", "write"] {
        child.send(&json!({ "id": "p", "type": "prompt", "message": text }).to_string());
        let lines = child.until(|line| line.contains(r#""type":"agent_settled""#));
        let denied = lines.iter().any(|line| line.contains("Permission denied"));
        assert_eq!(denied, text == "write", "{text}: {lines:#?}");
    }
    child.end();
    assert!(!world.path("work/made").exists());
}
