//! Nothing outlives its parent: what a killed process leaves running goes with it.
//!
//! Linux only: elsewhere processes that leave their group are not found.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use serde_json::json;
use stentor_agent::tool::{LocalPlace, Plan, Progress, ToolContext, ToolHost};
use tokio_util::sync::CancellationToken;

/// Names the folder in which the process to be killed works.
const FOLDER: &str = "STENTOR_TEST_FOLDER";
/// The command it runs there.
const COMMAND: &str = "STENTOR_TEST_COMMAND";

struct NoHost;

impl ToolHost for NoHost {
    fn plan(&self) -> Plan {
        Plan::default()
    }

    fn set_plan(&self, _: Plan) {}
}

/// What the process to be killed does. It is started by the test below.
#[tokio::test]
#[ignore = "started by the test that kills it"]
async fn runs_a_command_until_it_is_killed() {
    let folder = std::env::var(FOLDER).unwrap();
    let folder = Path::new(&folder);
    let command = std::env::var(COMMAND).unwrap();
    let tools = stentor_tools::builtin_tools();
    let bash = tools
        .iter()
        .find(|tool| tool.spec().name == "bash")
        .unwrap();
    let context = ToolContext {
        call_id: "1".into(),
        cwd: Arc::from(folder),
        cancel: CancellationToken::new(),
        progress: Progress::ignored(),
        place: Arc::new(LocalPlace),
        host: Arc::new(NoHost),
        spill_dir: Arc::from(folder.join("spill")),
    };
    let arguments = json!({ "command": command }).as_object().unwrap().clone();
    Arc::clone(bash).run(arguments, context).await;
    // A command that leaves something in the background has ended; we have not.
    std::future::pending::<()>().await;
}

fn start(folder: &Path, command: &str) -> std::io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .args(["--exact", "runs_a_command_until_it_is_killed", "--ignored"])
        .env(FOLDER, folder)
        .env(COMMAND, command)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

#[test]
fn the_processes_of_a_killed_process_go_with_it() {
    for command in [
        "echo ready >&9; sleep 1000",
        "sleep 1000 & sleep 1000 & echo ready >&9; wait",
        "trap '' TERM HUP; echo ready >&9; while :; do sleep 1; done",
        "timeout 1000 sleep 1000 & echo ready >&9; wait",
        "setsid sleep 1000 & echo ready >&9; wait",
        "sleep 1000 & echo ready >&9",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
        let mut child = start(folder.path(), &format!("exec 9>pipe; {command}")).unwrap();
        let mut holders = BufReader::new(std::fs::File::open(&pipe).unwrap());
        let mut line = String::new();
        holders.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "{command}");
        child.kill().unwrap();
        child.wait().unwrap();
        // The end comes when nobody holds the pipe any more.
        holders.read_to_string(&mut line).unwrap();
    }
}
