//! Extensions from the outside: configured, listed, tried out, and at work with `stentor -p`.

use std::path::{Path, PathBuf};

use expect_test::expect;

use crate::world::{Ran, World};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/extensions")
        .join(name)
        .canonicalize()
        .unwrap()
}

/// A world with both examples in the user's folder of extensions, and a model that wants to run
/// something dangerous.
fn with_examples() -> World {
    let world = World::new();
    for name in ["guard.py", "line_count.js"] {
        let text = std::fs::read_to_string(example(name)).unwrap();
        world.file(&format!("home/.config/stentor/extensions/{name}"), &text);
    }
    world.file(
        "work/plan.toml",
        r#"
[[turn]]
tool = "bash"
arguments = { command = "rm -rf precious" }

[[turn]]
text = "It said: {{last_tool_result}}"
"#,
    );
    world.file("work/precious/file", "data");
    world
}

#[test]
fn where_nobody_can_be_asked_the_guard_denies_and_the_model_is_told() {
    let world = with_examples();
    let Ran { status, out, err } = world.run(&[
        "--model",
        "script/plan.toml",
        "-p",
        "clean up",
        "--no-session",
    ]);
    assert_eq!(status, Some(0), "{err}");
    expect![[r#"
        It said: Nobody could be asked about this command: it removes files for good.
    "#]]
    .assert_eq(&out);
    assert!(world.work("precious/file").exists());
}

#[test]
fn without_extensions_nobody_guards() {
    let world = with_examples();
    let ran = world.run(&[
        "--model",
        "script/plan.toml",
        "--no-extensions",
        "-p",
        "clean up",
    ]);
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert!(!world.work("precious/file").exists());
}

#[test]
fn an_extension_of_the_command_line_is_used() {
    let world = World::new();
    world.file(
        "work/plan.toml",
        r#"
[[turn]]
tool = "line_count"
arguments = { folder = "below" }

[[turn]]
text = "{{last_tool_result}}"
"#,
    );
    world.file("work/below/a.txt", "1\n2\n");
    let file = example("line_count.js").display().to_string();
    let ran = world.run(&["--model", "script/plan.toml", "-e", &file, "-p", "count"]);
    assert_eq!(
        (ran.status, ran.out.as_str()),
        (Some(0), ".txt: 2 lines\n"),
        "{}",
        ran.err
    );
}

#[test]
fn they_are_listed_with_where_they_come_from_and_tried_out() {
    let world = with_examples();
    expect![[r#"
        guard       python3 ~~/home/.config/stentor/extensions/guard.py  (~~/home/.config/stentor/extensions/guard.py)
        line_count  node ~~/home/.config/stentor/extensions/line_count.js  (~~/home/.config/stentor/extensions/line_count.js)
    "#]]
    .assert_eq(&world.run(&["extensions"]).ok());
    let ran = world.run(&["extensions", "test", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        report["extensions"][0]["hooks"],
        serde_json::json!(["tool/before"])
    );
    assert_eq!(
        report["extensions"][1]["tools"],
        serde_json::json!(["line_count"])
    );
    assert_eq!(ran.status, Some(0));
}

#[test]
fn a_table_changes_or_leaves_out_what_the_folder_has_and_mistakes_are_told_with_their_place() {
    let world = with_examples();
    world.file(
        "home/.config/stentor/config.toml",
        "[extensions.guard]\nenabled = false\n\n[extensions.broken]\ncommand = [\"false\"]\nrestart = 0\n",
    );
    let listed = world.run(&["extensions"]).ok();
    assert!(!listed.contains("guard"), "{listed}");
    let Ran { status, out, .. } = world.run(&["extensions", "test", "broken"]);
    assert_eq!(status, Some(1));
    expect![[r#"
        broken  fails: it ended (exit status: 1)
    "#]]
    .assert_eq(&out);
    let Ran { status, err, .. } = world.run(&["extensions", "test", "brokem"]);
    assert_eq!(status, Some(2));
    expect![[r#"
        stentor: there is no extension `brokem`; did you mean `broken`?
    "#]]
    .assert_eq(&err);
    world.file(
        "home/.config/stentor/config.toml",
        "[extensions.guard]\ncomand = [\"x\"]\n",
    );
    let Ran { status, err, .. } = world.run(&["extensions"]);
    assert_eq!(status, Some(2));
    assert!(
        err.starts_with(
            "stentor: ~~/home/.config/stentor/config.toml:1:13: [extensions.guard]: unknown field `comand`"
        ),
        "{err}"
    );
}

#[test]
fn a_project_starts_no_program_until_it_is_trusted() {
    let world = World::new();
    world.file(
        "work/.stentor/config.toml",
        "[extensions.theirs]\ncommand = [\"touch\", \"started\"]\n",
    );
    world.file("work/.stentor/extensions/also.py", "open('started', 'w')");
    let Ran { out, err, .. } = world.run(&["-p", "hello"]);
    assert!(
        err.contains(
            "is not used: [extensions.theirs] (.stentor/config.toml:1), the extension also"
        ),
        "{err}"
    );
    assert!(!world.work("started").exists(), "{out}");
    world.file(
        "home/.config/stentor/config.toml",
        &format!("trusted_projects = [{:?}]\n", world.work("")),
    );
    let listed = world.run(&["extensions"]).ok();
    assert!(
        listed.contains("theirs") && listed.contains("also"),
        "{listed}"
    );
}

#[test]
fn the_schema_is_printed() {
    let schema = World::new().run(&["extensions", "schema"]).ok();
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(schema["protocolVersion"], 1);
}

#[test]
fn an_extension_that_fails_is_a_warning_and_the_answer_comes_all_the_same() {
    let world = World::new();
    world.file(
        "home/.config/stentor/config.toml",
        "[extensions.gone]\ncommand = [\"no-such-program\"]\nrestart = 0\n",
    );
    world.file("work/plan.toml", "[[turn]]\ntext = \"hello\"\n");
    let Ran { status, out, err } = world.run(&["--model", "script/plan.toml", "-p", "hi"]);
    assert_eq!((status, out.as_str()), (Some(0), "hello\n"));
    assert!(err.contains("extension gone failed at start"), "{err}");
}

#[test]
fn the_first_example_of_the_documentation_works_as_it_says() {
    let guide = include_str!("../../../../docs/extensions.md");
    let script = guide.split("```python\n").nth(1).unwrap();
    let script = script.split("```").next().unwrap();
    let world = World::new();
    world.file("work/hello.py", script);
    let ran = world.run(&["-e", "hello.py", "-p", "/hello world", "--no-session"]);
    assert_eq!(ran.ok(), "Hello, world!\n");
}
