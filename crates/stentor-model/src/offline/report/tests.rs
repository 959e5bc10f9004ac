use expect_test::{Expect, expect};
use serde_json::{Value, json};
use stentor_journal::message::{ToolCall, ToolResultMessage};

use super::*;
use crate::offline::understand;

/// The report on `prompt` when the tools answered like this.
fn check(prompt: &str, results: &[(&str, Value, &str, bool)], expected: Expect) {
    let had: Vec<(ToolCall, ToolResultMessage)> = results
        .iter()
        .enumerate()
        .map(|(n, (tool, arguments, text, is_error))| {
            let call = json!({"id": format!("c{n}"), "name": tool, "arguments": arguments});
            let result = json!({"toolCallId": format!("c{n}"), "toolName": tool,
                "isError": is_error, "timestamp": 0, "content": [{"type": "text", "text": text}]});
            (
                serde_json::from_value(call).unwrap(),
                serde_json::from_value(result).unwrap(),
            )
        })
        .collect();
    let exchanges: Vec<Exchange> = had
        .iter()
        .map(|(call, result)| Exchange { call, result })
        .collect();
    let intents = understand(prompt);
    let [intent] = intents.as_slice() else {
        panic!("one intent")
    };
    expected.assert_eq(&report(intent, &exchanges, prompt));
}

fn ok(tool: &'static str, text: &'static str) -> (&'static str, Value, &'static str, bool) {
    (tool, json!({}), text, false)
}

fn failed(tool: &'static str, text: &'static str) -> (&'static str, Value, &'static str, bool) {
    (tool, json!({}), text, true)
}

#[test]
fn a_listing_counts_and_lists() {
    check(
        "list src",
        &[ok("ls", "a.rs\nsub/\n")],
        expect![[r#"
        `src` has 2 entries: 1 folder and 1 file.

        - `a.rs`
        - `sub/`"#]],
    );
    check(
        "list",
        &[ok("ls", "(empty directory)")],
        expect!["This folder is empty."],
    );
}

#[test]
fn matches_are_counted_by_file() {
    check(
        "find TODO in this folder",
        &[ok(
            "grep",
            "a.rs:3: // TODO one\na.rs:9: // TODO `two`\nb c.md:1: TODO\n\n[2 matches limit reached]",
        )],
        expect![[r#"
            Found 3 matches for `TODO` in 2 files:

            - `a.rs:3` `// TODO one`
            - `a.rs:9` `` // TODO `two` ``
            - `b c.md:1` `TODO`"#]],
    );
    check(
        "find TODO",
        &[ok("grep", "No matches found")],
        expect!["No match for `TODO` in this folder."],
    );
    check(
        "find *.rs",
        &[ok("find", "src/a.rs\nb.rs")],
        expect![[r#"
        Found 2 files named `*.rs`:

        - `src/a.rs`
        - `b.rs`"#]],
    );
    check(
        "find *.rs",
        &[ok("find", "No files found matching pattern")],
        expect!["No file is named `*.rs`."],
    );
}

#[test]
fn a_file_is_shown_in_a_fence_it_does_not_contain() {
    check(
        "read a.md",
        &[ok("read", "text\n```sh\nls\n```\n")],
        expect![[r#"
            `a.md` (4 lines):

            ````markdown
            text
            ```sh
            ls
            ```
            ````"#]],
    );
    check(
        "read lines 2 to 3 of a.rs",
        &[ok("read", "b\nc")],
        expect![[r#"
            Lines 2 to 3 of `a.rs`:

            ```rust
            b
            c
            ```"#]],
    );
    check(
        "read a.rs",
        &[failed("read", "ENOENT: no such file or directory")],
        expect![[r#"
            That did not work (read a file). The tool said: ENOENT: no such file or directory

            `find files named a.rs` looks for it in all folders."#]],
    );
    check(
        "show src/",
        &[ok("ls", "a.rs")],
        expect![[r#"
        `src/` has 1 entry: no folders and 1 file.

        - `a.rs`"#]],
    );
}

#[test]
fn a_command_shows_its_output_or_its_failure() {
    check(
        "run `ls`",
        &[ok("bash", "a\nb\n")],
        expect![[r#"
        `ls` succeeded and printed 2 lines:

        ```text
        a
        b
        ```"#]],
    );
    check(
        "run `true`",
        &[ok("bash", "(no output)")],
        expect!["`true` succeeded and printed nothing."],
    );
    check(
        "run `make`",
        &[failed("bash", "boom\n\nCommand exited with code 2")],
        expect![[r#"
            `make` failed with exit code 2.

            ```text
            boom
            ```"#]],
    );
}

#[test]
fn a_change_shows_what_changed() {
    check(
        "write hi to a.txt",
        &[ok("write", "Successfully wrote 3 bytes to a.txt")],
        expect!["Successfully wrote 3 bytes to a.txt."],
    );
    check(
        "append 'x' to a.txt",
        &[ok("bash", "(no output)")],
        expect!["Appended 1 line to `a.txt`."],
    );
    check(
        "replace a with b in c.txt",
        &[ok("edit", "Successfully replaced 1 block(s) in c.txt.")],
        expect!["Replaced `a` with `b` in `c.txt`."],
    );
    check(
        "replace a with b in c.txt",
        &[failed("edit", "Could not find the exact text in c.txt")],
        expect![[r#"
            That did not work (replace text in a file). The tool said: Could not find the exact text in c.txt

            The text must be in the file exactly like that, spaces included. `read c.txt` shows what is there."#]],
    );
}

#[test]
fn a_folder_is_summed_up() {
    let read = (
        "read",
        json!({"path": "README.md", "limit": 60}),
        "# Demo\n\n[badge]\n\nA small demo\nof things.\n\nMore.",
        false,
    );
    check(
        "summarise this folder",
        &[
            ok("ls", "README.md\nsrc/\nx"),
            ok("find", "README.md\nsrc/\nsrc/a.rs\nsrc/b.rs\nx"),
            read,
        ],
        expect![[r#"
            ## This folder

            At the top 1 folder and 2 files.

            **Folders:** `src/`

            **Files in all:** 4 (2 `.rs`, 1 without ending, 1 `.md`)

            **README:** Demo

            > A small demo of things."#]],
    );
    check(
        "summarise src/lib.rs",
        &[ok("read", "//! Doc.\npub fn a() {\n}\nstruct B;\n")],
        expect![[r#"
            `src/lib.rs` has 4 lines and 9 words.

            **Definitions:**

            - line 2: `pub fn a()`
            - line 4: `struct B;`"#]],
    );
    check(
        "how many lines does a.txt have?",
        &[ok("bash", "12\n")],
        expect!["`a.txt` has 12 lines."],
    );
    check(
        "how many files are here?",
        &[ok("find", "a\nb\nc/\n")],
        expect!["This folder has 2 files."],
    );
}

#[test]
fn a_plan_is_a_numbered_list() {
    check(
        "plan: a; b",
        &[ok("todo", "ok")],
        expect![[r#"
        The plan is written down, 2 steps:

        1. a
        2. b"#]],
    );
}
