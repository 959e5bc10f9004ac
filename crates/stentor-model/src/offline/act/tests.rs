use std::sync::Arc;

use serde_json::json;
use stentor_agent::tool::ToolEffect;

use super::*;

const ALL: &[&str] = &[
    "read", "bash", "edit", "write", "grep", "find", "ls", "todo",
];

fn tools(names: &[&str]) -> Vec<ToolSpec> {
    let spec = |name: &&str| ToolSpec {
        name: (*name).to_owned(),
        label: String::new(),
        description: String::new(),
        parameters: json!({}).into(),
        effect: ToolEffect::Reads,
    };
    names.iter().map(spec).collect()
}

fn call(tool: &'static str, arguments: Value) -> Next {
    let Value::Object(arguments) = arguments else {
        panic!("an object")
    };
    Next::Calls(vec![Call { tool, arguments }])
}

fn bash(command: &str) -> Next {
    call("bash", json!({ "command": command }))
}

struct Had(ToolCall, ToolResultMessage);

fn had(tool: &str, text: &str, is_error: bool) -> Had {
    let call = json!({"id": "c", "name": tool, "arguments": {}});
    let result = json!({"toolCallId": "c", "toolName": tool, "isError": is_error, "timestamp": 0,
        "content": [{"type": "text", "text": text}]});
    Had(
        serde_json::from_value(call).unwrap(),
        serde_json::from_value(result).unwrap(),
    )
}

fn next_after(intent: &Intent, had: &[Had], names: &[&str]) -> Next {
    let exchanges: Vec<Exchange> = had
        .iter()
        .map(|Had(call, result)| Exchange { call, result })
        .collect();
    let tools: Arc<[ToolSpec]> = tools(names).into();
    next(intent, &exchanges, &tools)
}

fn path(name: &str) -> Option<String> {
    Some(name.to_owned())
}

#[test]
fn every_intent_has_its_call_and_a_way_with_only_a_shell() {
    let read = |lines| Intent::Read {
        path: "a b.txt".into(),
        lines,
    };
    let from = |first, count| Lines::From { first, count };
    for (intent, proper, with_shell) in [
        (
            Intent::List { path: path("src") },
            call("ls", json!({"path": "src"})),
            bash("ls -1Ap -- src"),
        ),
        (
            read(Lines::All),
            call("read", json!({"path": "a b.txt"})),
            bash("sed -n '1,$p' -- 'a b.txt'"),
        ),
        (
            read(from(10, Some(5))),
            call("read", json!({"path": "a b.txt", "offset": 10, "limit": 5})),
            bash("sed -n '10,14p' -- 'a b.txt'"),
        ),
        (
            read(Lines::Last { count: 3 }),
            bash("tail -n 3 -- 'a b.txt'"),
            bash("tail -n 3 -- 'a b.txt'"),
        ),
        (
            Intent::FindFiles {
                pattern: "*.{yaml,yml}".into(),
                path: None,
            },
            call("find", json!({"pattern": "*.{yaml,yml}"})),
            bash(
                "find . -type f \\( -name '*.yaml' -o -name '*.yml' \\) -not -path '*/.git/*' -not -path '*/node_modules/*' -not -path '*/target/*' | head -n 500",
            ),
        ),
        (
            Intent::Search {
                text: "TODO".into(),
                path: None,
            },
            call("grep", json!({"pattern": "TODO", "limit": 500})),
            bash(
                "grep -rnIF --exclude-dir=.git --exclude-dir=target --exclude-dir=node_modules -e TODO -- . || [ $? -eq 1 ]",
            ),
        ),
        (
            Intent::Search {
                text: "it's(".into(),
                path: path("src"),
            },
            call(
                "grep",
                json!({"pattern": "it's(", "path": "src", "ignoreCase": true, "literal": true, "limit": 500}),
            ),
            bash(
                "grep -rnIFi --exclude-dir=.git --exclude-dir=target --exclude-dir=node_modules -e 'it'\\''s(' -- src || [ $? -eq 1 ]",
            ),
        ),
        (
            Intent::Run {
                command: "ls -la".into(),
            },
            bash("ls -la"),
            bash("ls -la"),
        ),
        (
            Intent::Write {
                path: "a".into(),
                content: "x\n".into(),
            },
            call("write", json!({"path": "a", "content": "x\n"})),
            bash("printf '%s' 'x\n' > a"),
        ),
        (
            Intent::CountLines { path: path("-x") },
            bash(
                "if [ -d ./-x ]; then find ./-x -type f -not -path '*/.git/*' -not -path '*/node_modules/*' -not -path '*/target/*' -exec cat {} + | wc -l; else wc -l < ./-x; fi",
            ),
            bash(
                "if [ -d ./-x ]; then find ./-x -type f -not -path '*/.git/*' -not -path '*/node_modules/*' -not -path '*/target/*' -exec cat {} + | wc -l; else wc -l < ./-x; fi",
            ),
        ),
        (
            Intent::Replace {
                path: "a".into(),
                old: "x".into(),
                new: "y".into(),
            },
            call(
                "edit",
                json!({"path": "a", "edits": [{"oldText": "x", "newText": "y"}]}),
            ),
            Next::Impossible { needs: "edit" },
        ),
        (
            Intent::Plan {
                items: vec!["a".into()],
            },
            call(
                "todo",
                json!({"todos": [{"content": "a", "status": "pending"}]}),
            ),
            Next::Done,
        ),
        (Intent::Help, Next::Done, Next::Done),
        (Intent::Unknown, Next::Done, Next::Done),
    ] {
        assert_eq!(next_after(&intent, &[], ALL), proper, "{intent:?}");
        assert_eq!(
            next_after(&intent, &[], &["bash"]),
            with_shell,
            "{intent:?}"
        );
    }
}

#[test]
fn without_any_tool_it_says_what_is_missing() {
    for (intent, needs) in [
        (Intent::List { path: None }, "ls"),
        (
            Intent::Run {
                command: "x".into(),
            },
            "bash",
        ),
        (Intent::SummariseFolder { path: None }, "ls"),
    ] {
        assert_eq!(next_after(&intent, &[], &[]), Next::Impossible { needs });
    }
}

#[test]
fn a_folder_that_was_to_be_read_is_listed() {
    let intent = Intent::Read {
        path: "src".into(),
        lines: Lines::All,
    };
    let failed = had("read", "EISDIR: illegal operation on a directory", true);
    assert_eq!(
        next_after(&intent, &[failed], ALL),
        call("ls", json!({"path": "src"}))
    );
    let missing = had("read", "No such file or directory", true);
    let file = Intent::Read {
        path: "a.txt".into(),
        lines: Lines::All,
    };
    assert_eq!(next_after(&file, &[missing], ALL), Next::Done);
}

#[test]
fn a_text_that_occurs_several_times_is_replaced_everywhere() {
    let intent = Intent::Replace {
        path: "a".into(),
        old: "x".into(),
        new: "y".into(),
    };
    let edit = || {
        had(
            "edit",
            "Found 3 occurrences of the text. It must be unique.",
            true,
        )
    };
    assert_eq!(
        next_after(&intent, &[edit()], ALL),
        call("read", json!({"path": "a"}))
    );
    assert_eq!(
        next_after(&intent, &[edit(), had("read", "x1 x2\nx3\n", false)], ALL),
        call("write", json!({"path": "a", "content": "y1 y2\ny3\n"}))
    );
    let mut cut = had("read", "x1 x2", false);
    cut.1.details = Some(json!({"truncation": {"truncated": true}}));
    assert_eq!(next_after(&intent, &[edit(), cut], ALL), Next::Done);
    assert_eq!(
        next_after(&intent, &[had("edit", "Successfully replaced", false)], ALL),
        Next::Done
    );
}

#[test]
fn appending_without_a_shell_needs_the_whole_file() {
    let intent = Intent::Append {
        path: "a".into(),
        content: "z\n".into(),
    };
    let few = &["read", "write"];
    assert_eq!(
        next_after(&intent, &[], few),
        call("read", json!({"path": "a"}))
    );
    assert_eq!(
        next_after(&intent, &[had("read", "x", false)], few),
        call("write", json!({"path": "a", "content": "x\nz\n"}))
    );
}

#[test]
fn a_folder_is_summed_up_from_its_entries_its_files_and_its_readme() {
    let intent = Intent::SummariseFolder { path: path("lib/") };
    let Next::Calls(calls) = next_after(&intent, &[], ALL) else {
        panic!("calls")
    };
    let names: Vec<&str> = calls.iter().map(|call| call.tool).collect();
    assert_eq!(names, ["ls", "find"]);
    let first = || {
        [
            had("ls", "src/\nReadme.md\n", false),
            had("find", "a\n", false),
        ]
    };
    assert_eq!(
        next_after(&intent, &first(), ALL),
        call("read", json!({"path": "lib/Readme.md", "limit": 60}))
    );
    let [list, find] = first();
    let mut readme = had("read", "# Lib", false);
    readme.0.arguments = json!({"path": "lib/Readme.md"})
        .as_object()
        .unwrap()
        .clone();
    let all = [list, find, readme];
    assert_eq!(next_after(&intent, &all, ALL), Next::Done);
}

#[test]
fn a_name_without_its_ending_is_looked_up() {
    let intent = Intent::Read {
        path: "docs/readme".into(),
        lines: Lines::All,
    };
    let missing = || had("read", "No such file or directory", true);
    assert_eq!(
        next_after(&intent, &[missing()], ALL),
        call("ls", json!({"path": "docs"}))
    );
    let listing = |text| [missing(), had("ls", text, false)];
    assert_eq!(
        next_after(&intent, &listing("readme/\nREADME.md\n"), ALL),
        call("read", json!({"path": "docs/README.md"}))
    );
    assert_eq!(next_after(&intent, &listing("other.md\n"), ALL), Next::Done);
}
