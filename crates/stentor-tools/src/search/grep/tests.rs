use super::*;
use crate::testing::{Workshop, text};

fn tree() -> Workshop {
    let workshop = Workshop::new();
    workshop.write("a.txt", "alpha\nbeta\ngamma\nbeta two\n");
    workshop.write("src/b.rs", "fn Beta() {}\r\nlet x = a.b;\r\n");
    workshop.write(".hidden/c.txt", "beta hidden\n");
    workshop.write(".git/config", "beta git\n");
    workshop.write("ignored.log", "beta ignored\n");
    workshop.write("bin.dat", b"beta\0binary\n");
    workshop.write(".gitignore", "*.log\n");
    workshop
}

#[tokio::test]
async fn matching_lines_come_with_path_and_number() {
    let workshop = tree();
    for (arguments, expected) in [
        (
            json!({"pattern": "beta"}),
            ".hidden/c.txt:1: beta hidden\na.txt:2: beta\na.txt:4: beta two",
        ),
        (
            json!({"pattern": "beta", "ignoreCase": true, "glob": "*.rs"}),
            "src/b.rs:1: fn Beta() {}",
        ),
        (
            json!({"pattern": "beta", "glob": "!*.txt"}),
            "No matches found",
        ),
        (
            json!({"pattern": "beta", "glob": "*.log"}),
            "No matches found",
        ),
        (
            json!({"pattern": "a.b", "literal": true, "path": "src"}),
            "b.rs:2: let x = a.b;",
        ),
        (
            json!({"pattern": "^gamma$", "path": "a.txt", "context": 1}),
            "a.txt-2- beta\na.txt:3: gamma\na.txt-4- beta two",
        ),
        (
            json!({"pattern": "beta|gamma", "path": "a.txt", "context": 1}),
            "a.txt-1- alpha\na.txt:2: beta\na.txt:3: gamma\na.txt:4: beta two",
        ),
        (
            json!({"pattern": r"\);?$|\}$", "path": "src/b.rs"}),
            "b.rs:1: fn Beta() {}",
        ),
        (json!({"pattern": "--pre=x"}), "No matches found"),
        (
            json!({"pattern": "beta", "path": "ignored.log"}),
            "ignored.log:1: beta ignored",
        ),
        (
            json!({"pattern": "x", "path": "nowhere"}),
            "Path not found: FOLDER/nowhere",
        ),
    ] {
        let output = workshop.run(Grep::default(), arguments.clone()).await;
        assert_eq!(workshop.shown(&output), expected, "{arguments}");
    }
}

#[tokio::test]
async fn limits_are_told() {
    let workshop = tree();
    let output = workshop
        .run(Grep::default(), json!({"pattern": "beta", "limit": 2}))
        .await;
    assert_eq!(
        output,
        ToolOutput::text(
            ".hidden/c.txt:1: beta hidden\na.txt:2: beta\n\n[2 matches limit reached. Use limit=4 \
             for more, or refine pattern]"
        )
        .with_details(json!({"matchLimitReached": 2}))
    );
    let output = workshop
        .run(
            Grep::default(),
            json!({"pattern": "beta", "path": "a.txt", "limit": 1, "context": 1}),
        )
        .await;
    assert!(text(&output).starts_with("a.txt-1- alpha\na.txt:2: beta\na.txt-3- gamma\n\n["));
}

#[tokio::test]
async fn long_lines_and_long_results_are_cut() {
    let workshop = Workshop::new();
    let line = format!("needle{}\n", "x".repeat(600));
    workshop.write("a.txt", line.repeat(300));
    let output = workshop
        .run(Grep::default(), json!({"pattern": "needle", "limit": 1}))
        .await;
    let kept: String = line.chars().take(500).collect();
    assert_eq!(
        output,
        ToolOutput::text(format!(
            "a.txt:1: {kept}... [truncated]\n\n[1 matches limit reached. Use limit=2 for more, or \
             refine pattern. Some lines truncated to 500 chars. Use read tool to see full lines]"
        ))
        .with_details(json!({"matchLimitReached": 1, "linesTruncated": true}))
    );
    let output = workshop
        .run(Grep::default(), json!({"pattern": "needle", "limit": 300}))
        .await;
    assert!(text(&output).ends_with(
        "\n\n[50.0KB limit reached. Some lines truncated to 500 chars. Use read tool to see full \
         lines]"
    ));
}

#[tokio::test]
async fn a_wrong_pattern_is_explained() {
    let workshop = tree();
    let output = workshop
        .run(Grep::default(), json!({"pattern": "a("}))
        .await;
    assert!(output.is_error);
    assert!(
        text(&output).contains("unclosed group"),
        "{}",
        text(&output)
    );
}

#[tokio::test]
async fn a_cancelled_search_ends_and_a_pipe_is_not_waited_for() {
    let workshop = tree();
    let fifo = workshop.path("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
    let output = workshop
        .run(Grep::default(), json!({"pattern": "x", "path": "fifo"}))
        .await;
    assert!(text(&output).contains("is not a regular file"));
    let output = workshop
        .run(Grep::default(), json!({"pattern": "beta two"}))
        .await;
    assert_eq!(text(&output), "a.txt:4: beta two");
    workshop.cancel.cancel();
    let output = workshop
        .run(Grep::default(), json!({"pattern": "beta"}))
        .await;
    assert_eq!(output, ToolOutput::error("Operation aborted"));
}
