use super::*;
use crate::testing::{Workshop, text};
use std::sync::Mutex;
use stentor_agent::tool::{Place, PlaceFuture};
use tokio_util::sync::CancellationToken;

fn bash() -> Bash {
    Bash::new(ShellProgram::of_this_machine())
}

async fn runs(workshop: &Workshop, arguments: Value) -> ToolOutput {
    workshop.run(bash(), arguments).await
}

#[tokio::test]
async fn output_and_exit_code_are_told_as_clients_know_them() {
    let workshop = Workshop::new();
    for (command, expected) in [
        ("echo one; echo two", ToolOutput::text("one\ntwo\n")),
        ("true", ToolOutput::text("(no output)")),
        (
            "exit 7",
            ToolOutput::error("(no output)\n\nCommand exited with code 7"),
        ),
        (
            "echo out; echo err >&2; exit 3",
            ToolOutput::error("out\nerr\n\n\nCommand exited with code 3"),
        ),
        (
            "kill -9 $$",
            ToolOutput::error("(no output)\n\nCommand exited with code 137"),
        ),
        (
            r"printf '\033[1mbold\033[0m\r\n'",
            ToolOutput::text("bold\n"),
        ),
        (
            "cat; echo nothing to read",
            ToolOutput::text("nothing to read\n"),
        ),
        ("printf 'a\\377b'", ToolOutput::text("a\u{fffd}b")),
    ] {
        assert_eq!(runs(&workshop, json!({"command": command})).await, expected);
    }
}

#[tokio::test]
async fn a_command_runs_in_the_folder_and_in_a_group_of_its_own() {
    let workshop = Workshop::new();
    workshop.write("here.txt", "");
    let output = runs(&workshop, json!({"command": "ls; kill -0 -- -$$"})).await;
    assert_eq!(output, ToolOutput::text("here.txt\n"));
}

#[tokio::test]
async fn a_long_output_is_shown_by_its_end_and_kept_whole() {
    let workshop = Workshop::new();
    let output = runs(&workshop, json!({"command": "seq 1 3000"})).await;
    let lines: Vec<String> = (1001..=3000).map(|n| n.to_string()).collect();
    let shown = lines.join("\n");
    let details = output.details.clone().unwrap();
    let path = details["fullOutputPath"].as_str().unwrap();
    assert_eq!(
        text(&output),
        format!("{shown}\n\n[Showing lines 1001-3000 of 3000. Full output: {path}]")
    );
    assert_eq!(
        details["truncation"],
        json!({
            "content": shown, "truncated": true, "truncatedBy": "lines",
            "totalLines": 3000, "totalBytes": 13893, "outputLines": 2000, "outputBytes": 9999,
            "lastLinePartial": false, "firstLineExceedsLimit": false,
            "maxLines": 2000, "maxBytes": 51200,
        })
    );
    let whole: String = (1..=3000).map(|n| format!("{n}\n")).collect();
    assert_eq!(std::fs::read_to_string(path).unwrap(), whole);
}

#[tokio::test]
async fn wide_lines_are_cut_by_size() {
    let workshop = Workshop::new();
    let command = "for i in $(seq 100); do printf '%01000d\\n' $i; done";
    let output = runs(&workshop, json!({"command": command})).await;
    assert!(
        text(&output).contains("\n\n[Showing lines 50-100 of 100 (50.0KB limit). Full output: ")
    );
    let command = "head -c 100000 /dev/zero | tr '\\0' x";
    let output = runs(&workshop, json!({"command": command})).await;
    assert!(
        text(&output)
            .contains("\n\n[Showing last 50.0KB of line 1 (line is 97.7KB). Full output: ")
    );
}

#[tokio::test]
async fn reports_start_empty_and_end_with_the_last_state() {
    let workshop = Workshop::new();
    let pipe = workshop.path("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    let mut context = workshop.context();
    let record = context.progress.clone();
    context.progress = Progress::new(move |output| {
        // The command goes on once its first line has been told.
        if text(&output) == "one\n" {
            let pipe = pipe.clone();
            std::thread::spawn(move || std::fs::write(pipe, "go\n"));
        }
        record.report(output);
    });
    let command = "echo one; read -r go < pipe; echo two";
    let arguments = crate::testing::object(json!({ "command": command }));
    let output = Arc::new(bash()).run(arguments, context).await;
    assert_eq!(output, ToolOutput::text("one\ntwo\n"));
    let reports = workshop.reports.lock().unwrap().clone();
    assert_eq!(
        reports,
        [
            ToolOutput {
                content: Vec::new(),
                details: None,
                is_error: false
            },
            ToolOutput::text("one\n").with_details(json!({})),
            ToolOutput::text("one\ntwo\n").with_details(json!({})),
        ]
    );
}

#[tokio::test]
async fn a_flood_of_output_makes_few_reports_and_a_bounded_result() {
    let workshop = Workshop::new();
    let started = std::time::Instant::now();
    let output = runs(&workshop, json!({"command": "yes | head -c 100000000"})).await;
    assert_eq!(
        output.details.unwrap()["truncation"]["totalBytes"],
        100_000_000
    );
    let reports = workshop.reports.lock().unwrap().len() as u128;
    let allowed = started.elapsed().as_millis() / 50 + 3;
    assert!(reports <= allowed, "{reports} reports, {allowed} allowed");
}

#[tokio::test]
async fn a_command_out_of_time_is_ended_with_what_it_wrote() {
    let workshop = Workshop::new();
    let output = runs(
        &workshop,
        json!({"command": "echo before; sleep 1000", "timeout": 0.2}),
    )
    .await;
    assert_eq!(
        output,
        ToolOutput::error("before\n\n\nCommand timed out after 0.2 seconds")
    );
    for timeout in [-1.0, 1e12] {
        let output = runs(&workshop, json!({"command": "true", "timeout": timeout})).await;
        assert!(text(&output).starts_with("Invalid timeout: "));
    }
}

/// Runs `command`, which holds the write end of a pipe open and says when it is ready, and
/// cancels it then. Returns the result once the last holder of the pipe is gone.
async fn cancelled_when_ready(command: &str) -> ToolOutput {
    let workshop = Workshop::new();
    let pipe = workshop.path("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    let cancel = workshop.cancel.clone();
    let reader = tokio::task::spawn_blocking(move || {
        use std::io::{BufRead, BufReader, Read};
        let mut holders = BufReader::new(std::fs::File::open(pipe).unwrap());
        let mut line = String::new();
        holders.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        cancel.cancel();
        // The end comes when nobody can write any more.
        holders.read_to_string(&mut line).unwrap();
    });
    let command = format!("exec 9>pipe; {command}");
    let output = runs(&workshop, json!({"command": command})).await;
    reader.await.unwrap();
    output
}

#[tokio::test]
async fn an_aborted_command_goes_with_everything_it_started() {
    for (command, expected) in [
        (
            "echo tick 1; echo ready >&9; sleep 1000",
            "tick 1\n\n\nCommand aborted",
        ),
        (
            "sleep 1000 & sleep 1001 & echo ready >&9; wait",
            "Command aborted",
        ),
        (
            "trap '' TERM; (trap '' TERM; echo ready >&9; while :; do sleep 1; done)",
            "Command aborted",
        ),
    ] {
        let output = cancelled_when_ready(command).await;
        assert_eq!(output, ToolOutput::error(expected), "{command}");
    }
}

#[tokio::test]
async fn a_call_cancelled_before_it_starts_runs_nothing() {
    let workshop = Workshop::new();
    workshop.cancel.cancel();
    let output = runs(&workshop, json!({"command": "touch ran"})).await;
    assert_eq!(output, ToolOutput::error("Command aborted"));
    assert!(!workshop.path("ran").exists());
}

#[tokio::test]
async fn a_dropped_call_takes_its_processes_along() {
    let workshop = Workshop::new();
    let pipe = workshop.path("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    let (ready, is_ready) = tokio::sync::oneshot::channel();
    let reader = tokio::task::spawn_blocking(move || {
        use std::io::Read;
        let mut holders = std::fs::File::open(pipe).unwrap();
        let mut byte = [0];
        holders.read_exact(&mut byte).unwrap();
        ready.send(()).unwrap();
        holders.read_to_end(&mut Vec::new()).unwrap();
    });
    let command = "exec 9>pipe; echo >&9; sleep 1000";
    tokio::select! {
        _ = runs(&workshop, json!({"command": command})) => panic!("it does not end by itself"),
        ready = is_ready => ready.unwrap(),
    }
    reader.await.unwrap();
}

#[tokio::test]
async fn a_background_child_that_holds_the_output_does_not_hold_the_call() {
    let workshop = Workshop::new();
    let output = runs(&workshop, json!({"command": "sleep 1000 & echo $!"})).await;
    let shown = text(&output);
    let child = shown.trim();
    // It lives on, and is ended here.
    let output = runs(&workshop, json!({"command": format!("kill {child}")})).await;
    assert_eq!(output, ToolOutput::text("(no output)"));
}

#[tokio::test]
async fn eight_commands_at_once_do_not_mix() {
    let workshop = Workshop::new();
    let calls = (0..8).map(|n| {
        let tool = Arc::new(bash());
        let command = format!("for i in $(seq 200); do echo {n}; done; exit {n}");
        let arguments = crate::testing::object(json!({"command": command}));
        tokio::spawn(tool.run(arguments, workshop.context()))
    });
    for (n, call) in calls.collect::<Vec<_>>().into_iter().enumerate() {
        let output = call.await.unwrap();
        let lines = format!("{n}\n").repeat(200);
        let expected = match n {
            0 => ToolOutput::text(lines),
            n => ToolOutput::error(format!("{lines}\n\nCommand exited with code {n}")),
        };
        assert_eq!(output, expected);
    }
}

#[tokio::test]
async fn what_cannot_start_is_a_clear_error() {
    let workshop = Workshop::new();
    let output = runs(&workshop, json!({"command": "x".repeat(3 << 20)})).await;
    assert!(text(&output).starts_with("The command could not be started with "));
    let output = runs(&workshop, json!({"command": "a\0b"})).await;
    assert!(text(&output).starts_with("The command could not be started with "));
    let mut context = workshop.context();
    context.cwd = Arc::from(Path::new("/no/such/folder"));
    let arguments = crate::testing::object(json!({"command": "true"}));
    let output = Arc::new(bash()).run(arguments, context).await;
    assert_eq!(
        output,
        ToolOutput::error(
            "Working directory does not exist: /no/such/folder\nCannot execute bash commands."
        )
    );
}

/// A client with a terminal.
struct Terminal(Mutex<Vec<PlaceCommand>>);

impl Place for Terminal {
    fn read_text<'a>(&'a self, _: &'a Path) -> PlaceFuture<'a, Option<String>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn write_text<'a>(&'a self, _: &'a str, _: &'a Path, _: &'a str) -> PlaceFuture<'a, bool> {
        Box::pin(std::future::ready(Ok(false)))
    }

    fn run_command<'a>(
        &'a self,
        command: &'a PlaceCommand,
        _: &'a CancellationToken,
    ) -> PlaceFuture<'a, Option<PlaceOutput>> {
        self.0.lock().unwrap().push(command.clone());
        Box::pin(std::future::ready(Ok(Some(PlaceOutput {
            output: "in the client\r\n".into(),
            truncated: true,
            exit_code: Some(2),
            timed_out: false,
        }))))
    }
}

#[tokio::test]
async fn the_place_runs_the_command_if_it_can() {
    let mut workshop = Workshop::new();
    let terminal = Arc::new(Terminal(Mutex::default()));
    workshop.place = Arc::clone(&terminal) as Arc<dyn Place>;
    let output = runs(&workshop, json!({"command": "make", "timeout": 2})).await;
    assert_eq!(
        text(&output),
        "in the client\n\n\nCommand exited with code 2\n[The beginning of the output was not kept \
         by the client.]"
    );
    let asked = terminal.0.lock().unwrap();
    let [asked] = asked.as_slice() else {
        panic!("asked once")
    };
    assert_eq!(
        (asked.command.as_str(), asked.timeout_ms),
        ("make", Some(2000))
    );
}
