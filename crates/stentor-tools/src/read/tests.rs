use super::*;
use crate::testing::{Workshop, is_root, text};
use serde_json::json;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use stentor_agent::tool::{Place, PlaceCommand, PlaceFuture, PlaceOutput};
use stentor_journal::message::{ContentBlock, ImageBlock, KnownBlock};

async fn reads(workshop: &Workshop, arguments: Value) -> ToolOutput {
    workshop.run(Read::default(), arguments).await
}

#[tokio::test]
async fn a_text_is_shown_as_it_is() {
    let workshop = Workshop::new();
    for content in [
        "hello\nworld\n",
        "no newline",
        "\n",
        "a\r\nb\r\n",
        "\u{feff}bom\n",
    ] {
        workshop.write("a.txt", content);
        let output = reads(&workshop, json!({"path": "a.txt"})).await;
        assert_eq!(output, ToolOutput::text(content));
    }
    workshop.write("empty", "");
    let output = reads(&workshop, json!({"path": "empty"})).await;
    assert_eq!(output, ToolOutput::text("(empty file)"));
}

#[tokio::test]
async fn a_range_of_lines_says_how_to_go_on() {
    let workshop = Workshop::new();
    workshop.write("a.txt", "1\n2\n3\n4\n5\n");
    for (arguments, expected) in [
        (json!({"offset": 4}), "4\n5\n"),
        (
            json!({"offset": 2, "limit": 2}),
            "2\n3\n\n[2 more lines in file. Use offset=4 to continue.]",
        ),
        (json!({"limit": 5}), "1\n2\n3\n4\n5\n"),
        (json!({"limit": 500}), "1\n2\n3\n4\n5\n"),
        (
            json!({"offset": 0, "limit": 4}),
            "1\n2\n3\n4\n\n[1 more lines in file. Use offset=5 to continue.]",
        ),
        (json!({"offset": 5, "limit": 1}), "5\n"),
    ] {
        let mut arguments = arguments;
        arguments["path"] = json!("a.txt");
        let output = reads(&workshop, arguments.clone()).await;
        assert_eq!(output, ToolOutput::text(expected), "{arguments}");
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_a_clear_error() {
    let workshop = Workshop::new();
    workshop.write("a.txt", "1\n2\n");
    workshop.write("dir/b", "");
    let fifo = workshop.path("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
    symlink("nowhere", workshop.path("dangling")).unwrap();
    for (arguments, expected) in [
        (
            json!({"path": "missing.txt"}),
            "ENOENT: no such file or directory, access 'FOLDER/missing.txt'",
        ),
        (
            json!({"path": "dangling"}),
            "ENOENT: no such file or directory, access 'FOLDER/dangling'",
        ),
        (
            json!({"path": "a.txt/x"}),
            "ENOTDIR: not a directory, access 'FOLDER/a.txt/x'",
        ),
        (
            json!({"path": "a.txt", "offset": 3}),
            "Offset 3 is beyond end of file (2 lines total)",
        ),
        (
            json!({"path": "a.txt", "limit": 0}),
            "Invalid limit: 0. It must be a number of at least 1.",
        ),
        (
            json!({"path": "dir"}),
            "EISDIR: FOLDER/dir is a directory. List it with ls, or name a file in it.",
        ),
        (
            json!({"path": "fifo"}),
            "FOLDER/fifo is not a regular file (it is a device, pipe or socket) and cannot be \
             used here.",
        ),
        (
            json!({"path": "/dev/zero"}),
            "/dev/zero is not a regular file (it is a device, pipe or socket) and cannot be used \
             here.",
        ),
    ] {
        let output = reads(&workshop, arguments).await;
        assert_eq!(workshop.shown(&output), expected);
        assert_eq!((output.is_error, output.details), (true, Some(json!({}))));
    }
}

#[tokio::test]
async fn an_unreadable_file_is_a_clear_error() {
    if is_root() {
        return; // Nothing is unreadable to root.
    }
    let workshop = Workshop::new();
    workshop.write("secret", "x");
    std::fs::set_permissions(workshop.path("secret"), PermissionsExt::from_mode(0o000)).unwrap();
    let output = reads(&workshop, json!({"path": "secret"})).await;
    assert_eq!(
        workshop.shown(&output),
        "EACCES: permission denied, access 'FOLDER/secret'"
    );
}

#[tokio::test]
async fn a_long_text_is_cut_at_2000_lines() {
    let workshop = Workshop::new();
    let all: String = (1..=2500).map(|n| format!("{n}\n")).collect();
    workshop.write("a.txt", &all);
    let output = reads(&workshop, json!({"path": "a.txt"})).await;
    let shown: Vec<String> = (1..=2000).map(|n| n.to_string()).collect();
    let shown = shown.join("\n");
    assert_eq!(
        text(&output),
        format!("{shown}\n\n[Showing lines 1-2000 of 2500. Use offset=2001 to continue.]")
    );
    assert_eq!(
        output.details,
        Some(json!({"truncation": {
            "content": shown, "truncated": true, "truncatedBy": "lines",
            "totalLines": 2500, "totalBytes": all.len(),
            "outputLines": 2000, "outputBytes": shown.len(),
            "lastLinePartial": false, "firstLineExceedsLimit": false,
            "maxLines": 2000, "maxBytes": 51200,
        }}))
    );
}

#[tokio::test]
async fn long_lines_are_cut_at_50_kib() {
    let workshop = Workshop::new();
    let line = "x".repeat(999);
    workshop.write("a.txt", vec![line.as_str(); 100].join("\n"));
    let output = reads(&workshop, json!({"path": "a.txt", "offset": 10})).await;
    assert!(
        text(&output).ends_with(
            "\n\n[Showing lines 10-60 of 100 (50.0KB limit). Use offset=61 to continue.]"
        )
    );
    workshop.write("b.txt", "y".repeat(60_000));
    let output = reads(&workshop, json!({"path": "b.txt"})).await;
    assert_eq!(
        text(&output),
        "[Line 1 is 58.6KB, exceeds 50.0KB limit. Use bash: sed -n '1p' b.txt | head -c 51200]"
    );
    let truncation = &output.details.unwrap()["truncation"];
    assert_eq!(truncation["firstLineExceedsLimit"], true);
}

#[tokio::test]
async fn a_huge_sparse_file_is_not_loaded() {
    let workshop = Workshop::new();
    workshop.write("big", "first line\n");
    let file = std::fs::File::options()
        .append(true)
        .open(workshop.path("big"))
        .unwrap();
    // The hole is beyond what tells a binary file, so the text path meets a line of 3 GiB.
    (&file).write_all(&vec![b'z'; 10_000]).unwrap();
    file.set_len(3 << 30).unwrap();
    let output = reads(&workshop, json!({"path": "big"})).await;
    assert_eq!(
        text(&output),
        "first line\n\n[Showing lines 1-1 of more than 2 (50.0KB limit). Use offset=2 to continue.]"
    );
}

#[tokio::test]
async fn bytes_that_are_no_utf8_are_shown_with_a_note() {
    let workshop = Workshop::new();
    workshop.write("latin", b"caf\xe9\nend\n");
    let output = reads(&workshop, json!({"path": "latin"})).await;
    assert_eq!(
        text(&output),
        "caf\u{fffd}\nend\n\n[Bytes that are not valid UTF-8 are shown as \u{fffd}.]"
    );
}

#[tokio::test]
async fn a_picture_is_a_block_whatever_its_name_and_binary_is_a_note() {
    let workshop = Workshop::new();
    workshop.write("a.txt", b"\x89PNG\r\n\x1a\nrest");
    let output = reads(&workshop, json!({"path": "a.txt"})).await;
    assert_eq!(
        output.content,
        [
            ContentBlock::text("Read image file [image/png]"),
            ContentBlock::Known(KnownBlock::Image(ImageBlock {
                data: "iVBORw0KGgpyZXN0".into(),
                mime_type: "image/png".into(),
            })),
        ]
    );
    workshop.write(
        "b.bin",
        [b"\x7fELF\x02\x01\x01".as_slice(), &[0; 57]].concat(),
    );
    let output = reads(&workshop, json!({"path": "b.bin"})).await;
    assert!(!output.is_error);
    assert_eq!(
        text(&output),
        "[Binary file (application/x-executable), 64B, not shown. Use bash to look into it, for \
         example with file, xxd or strings.]"
    );
}

#[tokio::test]
async fn a_cancelled_call_reads_nothing() {
    let workshop = Workshop::new();
    workshop.write("a.txt", "x");
    workshop.cancel.cancel();
    let output = reads(&workshop, json!({"path": "a.txt"})).await;
    assert_eq!(output, ToolOutput::error("Operation aborted"));
}

/// A client with one unsaved file.
struct Editor;

impl Place for Editor {
    fn read_text<'a>(&'a self, path: &'a Path) -> PlaceFuture<'a, Option<String>> {
        let answer = match path.file_name().and_then(|name| name.to_str()) {
            Some("open.txt") => Ok(Some("unsaved 1\nunsaved 2\n".to_owned())),
            Some("locked.txt") => Err("the client says no".into()),
            _ => Ok(None),
        };
        Box::pin(std::future::ready(answer))
    }

    fn write_text<'a>(&'a self, _: &'a str, _: &'a Path, _: &'a str) -> PlaceFuture<'a, bool> {
        Box::pin(std::future::ready(Ok(false)))
    }

    fn run_command<'a>(
        &'a self,
        _: &'a PlaceCommand,
        _: &'a CancellationToken,
    ) -> PlaceFuture<'a, Option<PlaceOutput>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

#[tokio::test]
async fn the_place_is_asked_before_the_disk() {
    let mut workshop = Workshop::new();
    workshop.place = Arc::new(Editor);
    workshop.write("saved.txt", "saved\n");
    workshop.write("locked.txt", "saved\n");
    for (path, expected) in [
        ("saved.txt", ToolOutput::text("saved\n")),
        ("open.txt", ToolOutput::text("unsaved 2\n")),
        ("locked.txt", ToolOutput::error("the client says no")),
    ] {
        let offset = if path == "open.txt" { 2 } else { 1 };
        let output = reads(&workshop, json!({"path": path, "offset": offset})).await;
        assert_eq!(output, expected);
    }
}
