use super::*;
use crate::testing::{Workshop, text};

async fn edits(workshop: &Workshop, arguments: Value) -> ToolOutput {
    workshop.run(Edit::default(), arguments).await
}

fn content(workshop: &Workshop, name: &str) -> String {
    std::fs::read_to_string(workshop.path(name)).unwrap()
}

#[tokio::test]
async fn a_replacement_in_any_form_is_done_and_shown() {
    for edit in [
        json!({"edits": [{"oldText": "world", "newText": "mars"}]}),
        json!({"edits": {"oldText": "world", "newText": "mars"}}),
        json!({"edits": "[{\"oldText\": \"world\", \"newText\": \"mars\"}]"}),
        json!({"oldText": "world", "newText": "mars"}),
    ] {
        let workshop = Workshop::new();
        workshop.write("new.txt", "hello\nworld\n");
        let mut arguments = edit;
        arguments["path"] = json!("new.txt");
        let output = edits(&workshop, arguments).await;
        assert_eq!(
            output,
            ToolOutput::text("Successfully replaced 1 block(s) in new.txt.").with_details(json!({
                "diff": " 1 hello\n-2 world\n+2 mars",
                "patch": "--- new.txt\n+++ new.txt\n@@ -1,2 +1,2 @@\n hello\n-world\n+mars\n",
                "firstChangedLine": 2,
            }))
        );
        assert_eq!(content(&workshop, "new.txt"), "hello\nmars\n");
    }
}

#[tokio::test]
async fn several_replacements_are_all_done_or_none() {
    let workshop = Workshop::new();
    workshop.write("a", "one\ntwo\nthree\n");
    let output = edits(
        &workshop,
        json!({"path": "a", "edits": [
            {"oldText": "three", "newText": "3"}, {"oldText": "one", "newText": "1"}]}),
    )
    .await;
    assert_eq!(text(&output), "Successfully replaced 2 block(s) in a.");
    assert_eq!(content(&workshop, "a"), "1\ntwo\n3\n");

    let output = edits(
        &workshop,
        json!({"path": "a", "edits": [
            {"oldText": "two", "newText": "2"}, {"oldText": "fife", "newText": "5"}]}),
    )
    .await;
    assert_eq!(
        text(&output),
        "Could not find edits[1] in a. The oldText must match exactly including all whitespace and \
         newlines.\n\nNothing in the file is similar. Read the file again."
    );
    assert_eq!(content(&workshop, "a"), "1\ntwo\n3\n");
}

#[tokio::test]
async fn a_text_that_is_not_there_is_answered_with_the_nearest() {
    let workshop = Workshop::new();
    workshop.write("a.rs", "fn main() {\n    println!(\"hello\");\n}\n");
    let output = edits(
        &workshop,
        json!({"path": "a.rs", "oldText": "  println!(\"helo\");", "newText": "x"}),
    )
    .await;
    assert_eq!(
        output,
        ToolOutput::error(
            "Could not find the exact text in a.rs. The old text must match exactly including all \
             whitespace and newlines.\n\nThe nearest match is at lines 2-2:\n2     \
             println!(\"hello\");"
        )
    );
}

#[tokio::test]
async fn what_cannot_be_edited_is_a_clear_error() {
    let workshop = Workshop::new();
    workshop.write("latin", b"caf\xe9");
    workshop.write("dir/x", "");
    workshop.write("a", "x");
    let edit = json!([{"oldText": "x", "newText": "y"}]);
    for (arguments, expected) in [
        (
            json!({"path": "missing", "edits": edit}),
            "Could not edit file: missing. Error code: ENOENT.",
        ),
        (
            json!({"path": "dir", "edits": edit}),
            "EISDIR: FOLDER/dir is a directory. List it with ls, or name a file in it.",
        ),
        (
            json!({"path": "latin", "edits": edit}),
            "Could not edit file: latin. It is not UTF-8 text (byte 3 is the first that is not), \
             and editing it as text would damage it. Use bash.",
        ),
        (
            json!({"path": "a"}),
            "Edit tool input is invalid. edits must contain at least one replacement. Give edits: \
             [{\"oldText\": …, \"newText\": …}].",
        ),
        (
            json!({"path": "a", "oldText": "x"}),
            "Edit tool input is invalid. oldText and newText belong together. Give edits: \
             [{\"oldText\": …, \"newText\": …}].",
        ),
    ] {
        let output = edits(&workshop, arguments).await;
        assert_eq!(workshop.shown(&output), expected);
        assert!(output.is_error);
    }
}

#[tokio::test]
async fn a_file_changed_in_the_meantime_is_left_alone() {
    let workshop = Workshop::new();
    workshop.write("a", "theirs");
    let fault = save(
        FileTarget::of(workshop.path("a")),
        "a".into(),
        "original".into(),
        "ours".into(),
    )
    .await
    .unwrap_err();
    assert_eq!(
        fault.to_string(),
        "Could not edit file: a. It was changed by somebody else in the meantime; nothing was \
         written. Read it again and repeat the edit."
    );
    assert_eq!(content(&workshop, "a"), "theirs");
}
