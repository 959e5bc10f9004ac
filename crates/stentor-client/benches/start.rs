//! What the start of an agent costs beyond its own, and how much memory it takes on our side.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use divan::AllocProfiler;
use stentor_client::{AgentDialect, ChildAgent, ChildPipes, DenyAll, StartOptions};
use tokio::io::AsyncWriteExt;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

/// A child that says it is ready and waits.
const CHILD: [&str; 3] = [
    "sh",
    "-c",
    r#"echo '{"type":"ready","session_id":"s","model":"m","protocol_version":1}'; read line"#,
];

fn main() {
    divan::main();
}

#[expect(
    clippy::expect_used,
    reason = "a benchmark that cannot be set up measures nothing"
)]
fn runtime() -> tokio::runtime::Runtime {
    // One thread: only what a measured thread allocates is counted.
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime")
}

/// The process alone: started, its first line read, ended.
#[expect(
    clippy::expect_used,
    reason = "a benchmark that cannot be set up measures nothing"
)]
#[divan::bench(sample_count = 100)]
fn child_alone() {
    let [program, words @ ..] = CHILD;
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child");
    let mut line = String::new();
    let stdout = child.stdout.take().expect("a pipe");
    BufReader::new(stdout).read_line(&mut line).expect("a line");
    drop(child.stdin.take());
    child.wait().expect("an end");
}

/// The same as an agent: started, its handshake made, ended.
#[expect(
    clippy::expect_used,
    reason = "a benchmark that cannot be set up measures nothing"
)]
#[divan::bench(sample_count = 100)]
fn agent(bencher: divan::Bencher<'_, '_>) {
    let runtime = runtime();
    bencher.bench(|| {
        runtime.block_on(async {
            let options = StartOptions::new(AgentDialect::Synaps, CHILD);
            let (agent, events) = ChildAgent::start(options, DenyAll).await.expect("a child");
            agent.stop().await;
            drop(events);
        });
    });
}

/// An agent whose pipes are memory: what it allocates is what it takes on our side.
#[expect(
    clippy::expect_used,
    reason = "a benchmark that cannot be set up measures nothing"
)]
#[divan::bench(sample_count = 100)]
fn in_memory(bencher: divan::Bencher<'_, '_>) {
    let runtime = runtime();
    bencher.bench(|| {
        runtime.block_on(async {
            // Small, so that what is counted is not theirs.
            let (theirs, stdout) = tokio::io::duplex(256);
            let (stdin, _sink) = tokio::io::duplex(256);
            let pipes = ChildPipes {
                stdin: Box::new(stdin),
                stdout: Box::new(stdout),
                stderr: None,
                process: None,
            };
            let (_unread, mut child) = tokio::io::split(theirs);
            let ready = r#"{"type":"ready","session_id":"s","model":"m","protocol_version":1}"#;
            let hello = format!("{ready}\n");
            child.write_all(hello.as_bytes()).await.expect("a reader");
            let options = StartOptions::new(AgentDialect::Synaps, [""; 0]);
            let started = ChildAgent::over(pipes, options, DenyAll).await;
            started.map(drop).expect("a child");
        });
    });
}
