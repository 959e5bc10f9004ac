//! `-p --schema`: JSON that matches a schema, or a status of its own.

use expect_test::expect;
use serde_json::{Value, json};

use stentor_test_support::isolated_command;

use crate::world::World;

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": { "name": { "type": "string" }, "size": { "type": "integer" } },
    "required": ["name", "size"],
    "additionalProperties": false
}"#;

/// A world with a model that gives these answers, one after the other.
fn world(answers: &[&str]) -> World {
    let turns = answers
        .iter()
        .map(|answer| format!("[[turn]]\ntext = '''{answer}'''\n"));
    let world = World::new();
    world.file("work/answers.toml", &turns.collect::<String>());
    world.file("work/schema.json", SCHEMA);
    world
}

const WORDS: [&str; 6] = [
    "-p",
    "describe it",
    "--model",
    "script/answers.toml",
    "--schema",
    "schema.json",
];

#[test]
fn stdout_gets_the_valid_value_and_nothing_else() {
    let world = world(&["```json\n{\"name\":\"x\",\"size\":3}\n```"]);
    let ran = world.run(&WORDS);
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert_eq!(ran.out, "{\n  \"name\": \"x\",\n  \"size\": 3\n}\n");
}

#[test]
fn an_answer_that_does_not_match_is_asked_for_again_with_what_is_wrong() {
    let world = world(&[
        "It is called x.",
        r#"{"name": "x", "size": "large"}"#,
        r#"{"name": "x", "size": 3}"#,
    ]);
    let ran = world.run(&WORDS);
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert_eq!(ran.out, "{\n  \"name\": \"x\",\n  \"size\": 3\n}\n");
    expect![[r#"
        model: script/~~/work/answers.toml (chosen by --model)
        warning: answer 1 does not match the schema:
        - it is not one JSON value: expected value at line 1 column 1
        warning: answer 2 does not match the schema:
        - /size: want integer, but got string
    "#]]
    .assert_eq(&ran.err);
    let exported = world
        .run(&["export", "-o", "-", &last_session(&world)])
        .ok();
    let asked = "<p>That answer is not valid";
    assert_eq!(exported.matches(asked).count(), 2, "{exported}");
}

#[test]
fn a_schema_that_nobody_satisfies_ends_with_3_and_the_last_answer_on_stderr() {
    let world = world(&["one", "two", "{\"name\":\u{202e}"]);
    let ran = world.run(&WORDS);
    assert_eq!((ran.status, ran.out.as_str()), (Some(3), ""));
    expect![[r#"
        model: script/~~/work/answers.toml (chosen by --model)
        warning: answer 1 does not match the schema:
        - it is not one JSON value: expected value at line 1 column 1
        warning: answer 2 does not match the schema:
        - it is not one JSON value: expected ident at line 1 column 2
        warning: answer 3 does not match the schema:
        - it is not one JSON value: expected value at line 1 column 9
        error: no answer of 3 matches the schema; this is the last one:
        {"name":\u{202e}
    "#]]
    .assert_eq(&ran.err);
}

#[test]
fn a_result_does_not_depend_on_whether_anybody_reads_stderr() {
    for (answers, expected) in [
        (&["no", "{\"name\":\"x\",\"size\":3}"][..], Some(0)),
        (&["no", "no", "no"], Some(3)),
    ] {
        let world = world(answers);
        let (nobody, stderr) = std::io::pipe().unwrap();
        drop(nobody);
        let output = world.command(&WORDS).stderr(stderr).output().unwrap();
        assert_eq!(output.status.code(), expected, "{answers:?}");
        assert_eq!(output.stdout.is_empty(), expected == Some(3), "{answers:?}");
    }
}

#[test]
fn json_output_ends_with_the_result_as_a_line() {
    let last = |answers: &[&str]| -> (Option<i32>, Value) {
        let ran = world(answers).run(&[&WORDS[..], &["--json"]].concat());
        let mut line: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
        assert!(line.as_object_mut().unwrap().remove("session").is_some());
        (ran.status, line)
    };
    assert_eq!(
        last(&["no", r#"{"name": "x", "size": 3}"#]),
        (
            Some(0),
            json!({ "type": "result", "valid": true, "result": { "name": "x", "size": 3 }, "tries": 2 })
        )
    );
    assert_eq!(
        last(&["no", "no", "no"]),
        (
            Some(3),
            json!({ "type": "result", "valid": false, "result": null, "tries": 3 })
        )
    );
}

#[test]
fn json_output_says_of_each_answer_why_it_is_invalid() {
    let answers = ["no", r#"{"name": "x", "size": "large"}"#, "{}"];
    let ran = world(&answers).run(&[&WORDS[..], &["--json"]].concat());
    assert_eq!(ran.status, Some(3), "{}", ran.err);
    let lines = ran
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let invalid: Vec<Value> = lines
        .filter(|line| line["type"] == "result_invalid")
        .map(|mut line| {
            assert!(line.as_object_mut().unwrap().remove("session").is_some());
            line
        })
        .collect();
    let expected = [
        "- it is not one JSON value: expected ident at line 1 column 2",
        "- /size: want integer, but got string",
        "- the value: missing properties 'name', 'size'",
    ];
    let expected = (1..)
        .zip(expected)
        .map(|(tries, error)| json!({ "type": "result_invalid", "error": error, "tries": tries }));
    assert_eq!(invalid, expected.collect::<Vec<_>>());
}

/// A world with a model that starts a command in the background and then gives these answers.
fn world_with_job(command: &str, answers: &[&str]) -> World {
    let world = world(answers);
    let answers = std::fs::read_to_string(world.path("work/answers.toml")).unwrap();
    let starts = format!(
        "[[turn]]\ntool = \"bash\"\narguments = {{ command = \"{command}\", background = true }}\n{answers}"
    );
    world.file("work/answers.toml", &starts);
    world
}

const WAITS: [&str; 4] = ["--permission-mode", "all", "--wait", "1"];

#[test]
fn a_job_that_goes_on_is_waited_for_once_and_stopped_after_the_last_try() {
    let answers = ["no", "never", r#"{"name": "x", "size": 3}"#];
    let world = world_with_job("sleep 1000", &answers);
    let ran = world.run(&[&WORDS[..], &WAITS].concat());
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert_eq!(ran.out, "{\n  \"name\": \"x\",\n  \"size\": 3\n}\n");
    // How long the call took is on its line.
    let said = ran.err.lines().skip(1);
    let said: Vec<&str> = said.filter(|line| !line.starts_with("> bash")).collect();
    expect![[r#"
        note: waiting for job-1 (sleep 1000), at most 1 s (--wait)
        warning: answer 1 does not match the schema:
        - it is not one JSON value: expected ident at line 1 column 2
        warning: answer 2 does not match the schema:
        - it is not one JSON value: expected ident at line 1 column 2
        note: stopping job-1 (sleep 1000)"#]]
    .assert_eq(&said.join("\n"));
}

/// Whether the agent is woken before, while or after an answer is found to be invalid is not known.
#[test]
fn a_job_that_ends_as_its_time_is_up_costs_no_try() {
    let valid = r#"{"name": "x", "size": 3}"#;
    let world = world_with_job("sleep 1", &["no", "no", valid, valid, valid]);
    let ran = world.run(&[&WORDS[..], &WAITS].concat());
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert_eq!(ran.out, "{\n  \"name\": \"x\",\n  \"size\": 3\n}\n");
}

#[test]
fn a_schema_that_cannot_be_used_is_refused_before_anything_is_asked() {
    let world = world(&["never asked"]);
    world.file("work/broken.json", "{");
    world.file("work/wrong.json", r#"{"type":"objekt"}"#);
    world.file("work/beside.json", r#"{"$ref":"other.json"}"#);
    world.file(
        "work/elsewhere.json",
        r#"{"$ref":"http://127.0.0.1:1/x.json"}"#,
    );
    let mut said = String::new();
    for schema in [
        "missing.json",
        ".",
        "broken.json",
        "wrong.json",
        "elsewhere.json",
        "beside.json",
        "/dev/zero",
        "/dev/stdin",
    ] {
        let mut words = WORDS;
        words[5] = schema;
        let ran = world.run(&words);
        assert_eq!((ran.status, ran.out.as_str()), (Some(2), ""), "{schema}");
        said.push_str(&ran.err);
    }
    expect![[r#"
        stentor: --schema missing.json: cannot read: No such file or directory (os error 2)
        stentor: --schema .: neither a regular file nor a pipe
        stentor: --schema broken.json: not JSON: EOF while parsing an object at line 1 column 1
        stentor: --schema wrong.json: not a JSON schema: /type: value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'; /type: want array, but got string
        stentor: --schema elsewhere.json: not a JSON schema: it refers to http://127.0.0.1:1/x.json; only references inside the file are followed
        stentor: --schema beside.json: not a JSON schema: it refers to other.json; only references inside the file are followed
        stentor: --schema /dev/zero: neither a regular file nor a pipe
        stentor: --schema /dev/stdin: standard input belongs to the prompt; name a file, or give the schema as <(COMMAND)
    "#]].assert_eq(&said);
    assert_eq!(
        world.run(&["sessions"]).ok(),
        "no sessions of this folder\n"
    );
}

#[test]
fn a_prompt_that_the_program_answers_itself_has_no_checked_result() {
    let world = world(&[r#"{"name":"x","size":3}"#]);
    for prompt in ["/name X", "/rewind", "/compact", "/help"] {
        let words = [["-p", prompt].as_slice(), &WORDS[2..]].concat();
        let ran = world.run(&words);
        let name = prompt.split(' ').next().unwrap();
        let why = format!(
            "stentor: --schema is for answers of a model, and {name} is answered by the program itself\n"
        );
        assert_eq!(
            (ran.status, ran.out, ran.err),
            (Some(2), String::new(), why)
        );
    }
    let listed = world.run(&["sessions"]);
    assert!(listed.out.starts_with("no sessions"), "{listed:?}");
}

#[test]
fn a_schema_is_read_from_a_pipe_and_one_that_nothing_matches_is_refused() {
    let run = |schema: &str| {
        let world = world(&[r#"{"name":"x","size":3}"#]);
        let command =
            r#"exec "$0" -p "describe it" --model script/answers.toml --schema <(printf %s "$1")"#;
        let (home, work) = (world.path("home"), world.path("work"));
        let mut bash = isolated_command("/bin/bash", &home, &work);
        let ran = bash
            .args(["-c", command, env!("CARGO_BIN_EXE_stentor"), schema])
            .output()
            .unwrap();
        (
            ran.status.code(),
            String::from_utf8(ran.stdout).unwrap(),
            String::from_utf8(ran.stderr).unwrap(),
        )
    };
    let (status, out, err) = run(SCHEMA);
    assert_eq!(
        (status, out.as_str()),
        (Some(0), "{\n  \"name\": \"x\",\n  \"size\": 3\n}\n"),
        "{err}"
    );
    for never in ["false", r##"{"$ref":"#"}"##] {
        let (status, out, err) = run(never);
        assert_eq!((status, out.as_str()), (Some(2), ""), "{err}");
        assert!(err.ends_with(": no value matches this schema\n"), "{err}");
    }
    let (status, _, err) = run(&format!("{}true", " ".repeat(70_000)));
    assert_eq!(status, Some(0), "{err}");
}

#[test]
fn a_run_that_fails_has_its_usual_status_and_no_result() {
    let world = World::new();
    world.file(
        "work/answers.toml",
        "[[turn]]\nerror = { kind = \"auth\", message = \"no key\" }\n",
    );
    world.file("work/schema.json", SCHEMA);
    let ran = world.run(&WORDS);
    assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""), "{}", ran.err);
}

fn last_session(world: &World) -> String {
    let sessions: Value = serde_json::from_str(&world.run(&["sessions", "--json"]).ok()).unwrap();
    sessions[0]["id"].as_str().unwrap().to_owned()
}
