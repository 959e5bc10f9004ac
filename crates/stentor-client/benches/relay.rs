//! What a delta costs from the pipe of a child to whoever reads its events.

use divan::counter::ItemsCount;
use stentor_client::{AgentDialect, AgentEvent, ChildAgent, ChildPipes, DenyAll, StartOptions};
use tokio::io::AsyncWriteExt;

/// Deltas of one measurement.
const DELTAS: usize = 50_000;

fn main() {
    divan::main();
}

/// What a child writes before anything else, a delta, and the end of a turn.
fn frames(dialect: AgentDialect) -> (String, String, String) {
    match dialect {
        AgentDialect::Synaps => (
            r#"{"type":"ready","session_id":"s","model":"m","protocol_version":1}"#.to_owned(),
            r#"{"type":"message_update","event":{"type":"text_delta","delta":"word "}}"#.to_owned(),
            r#"{"type":"response","id":"c1","command":"prompt","ok":true}"#.to_owned(),
        ),
        AgentDialect::Omp => (
            r#"{"id":"c2","type":"response","command":"get_state","success":true,"data":{}}"#.to_owned(),
            r#"{"type":"message_update","messageId":"msg-2","message":{"role":"assistant"},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"word "}}"#.to_owned(),
            "{\"type\":\"agent_start\"}\n{\"type\":\"agent_settled\"}".to_owned(),
        ),
        AgentDialect::Psi => (
            "{:id \"c1\" :kind :response :op \"handshake\" :ok true}\n{:id \"c2\" :kind :response :op \"subscribe\" :ok true}".to_owned(),
            String::new(),
            String::new(),
        ),
        AgentDialect::Acp => (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":1}}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"sessionId\":\"s\"}}".to_owned(),
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"word "},"messageId":"m"}}}"#.to_owned(),
            r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#.to_owned(),
        ),
    }
}

#[expect(
    clippy::expect_used,
    reason = "a benchmark that cannot be set up measures nothing"
)]
#[divan::bench(args = ["acp", "omp", "synaps"], sample_count = 20)]
fn delta(bencher: divan::Bencher<'_, '_>, dialect: &str) {
    let dialect: AgentDialect = dialect.parse().expect("a dialect");
    let (hello, delta, end) = frames(dialect);
    let mut turn = format!("{delta}\n").repeat(DELTAS);
    turn.push_str(&end);
    turn.push('\n');
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    bencher.counter(ItemsCount::new(DELTAS)).bench(|| {
        runtime.block_on(async {
            let (theirs, ours) = tokio::io::duplex(64 * 1024);
            let (stdout, _keep) = tokio::io::split(ours);
            let (_unread, mut child) = tokio::io::split(theirs);
            let (stdin, _sink) = tokio::io::duplex(1024 * 1024);
            let pipes = ChildPipes {
                stdin: Box::new(stdin),
                stdout: Box::new(stdout),
                stderr: None,
                process: None,
            };
            let (hello, turn) = (format!("{hello}\n"), turn.clone());
            let writer = tokio::spawn(async move {
                child.write_all(hello.as_bytes()).await.expect("a reader");
                child
            });
            let options = StartOptions::new(dialect, [""; 0]);
            let (agent, mut events) = ChildAgent::over(pipes, options, DenyAll)
                .await
                .expect("a child");
            let mut child = writer.await.expect("written");
            agent.prompt("Go on.").await.expect("written");
            tokio::spawn(async move { child.write_all(turn.as_bytes()).await });
            let mut count = 0;
            while let Some(event) = events.next().await {
                match event {
                    AgentEvent::Text(_) => count += 1,
                    AgentEvent::TurnEnded(_) => break,
                    _ => {}
                }
            }
            assert_eq!(count, DELTAS);
        });
    });
}
