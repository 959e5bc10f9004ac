//! Each example with a child of its dialect that is a script of a shell.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// An example, which `cargo test` builds before its tests.
fn example(name: &str) -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    let path = path.join("examples").join(name);
    assert!(path.exists(), "`cargo build --examples` makes {path:?}");
    path
}

/// What an example writes to stdout and to stderr with these words before the child, and this input.
fn run(name: &str, words: &[&str], child: &str, input: &str) -> (String, String) {
    let mut running = Command::new(example(name))
        .args(words)
        .args(["sh", "-c", child, "child"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = running.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let out = running.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    assert!(out.status.success(), "{}", text(out.stderr));
    (text(out.stdout), text(out.stderr))
}

#[test]
fn acp_asks_before_a_tool_runs() {
    let child = r#"
say() { printf '%s\n' "$1"; }
read a; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
read a; say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
read a
say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"Look around","kind":"execute"}}}'
say '{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}}'
read answer
case "$answer" in *'"optionId":"yes"'*) text=permitted;; *) text=refused;; esac
say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}}}'
say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'$text'"}}}}'
say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'
read a
"#;
    for (typed, said) in [("y\n", "permitted"), ("n\n", "refused")] {
        let (out, error) = run("acp", &["Go on."], child, typed);
        assert_eq!(out, said);
        assert!(error.contains("Look around [y/N] "), "{error}");
        assert!(error.ends_with("Completed\n"), "{error}");
    }
}

#[test]
fn omp_steers_the_turn() {
    let child = r#"
say() { printf '%s\n' "$1"; }
while read -r line; do
    id=$(printf '%s' "$line" | sed 's/.*"id":"\([^"]*\)".*/\1/')
    type=$(printf '%s' "$line" | sed 's/.*"type":"\([^"]*\)".*/\1/')
    say '{"id":"'$id'","type":"response","command":"'$type'","success":true,"data":{"sessionId":"s"}}'
    delta() { say '{"type":"message_update","message":{"role":"assistant"},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"'$1'"}}'; }
    case "$line" in
    *'Go on.'*) say '{"type":"agent_start"}'; delta first;;
    *'turn left'*) delta second; say '{"type":"agent_end","messages":[]}'; say '{"type":"agent_settled"}';;
    esac
done
"#;
    let (out, _) = run("omp", &["Go on.", "turn left"], child, "");
    assert_eq!(out, "firstsecond");
}

#[test]
fn psi_lists_models_and_sessions() {
    let child = r#"
say() { printf '%s\n' "$1"; }
while read -r line; do
    id=$(printf '%s' "$line" | sed 's/.*:id "\([^"]*\)".*/\1/')
    op=$(printf '%s' "$line" | sed 's/.*:op "\([^"]*\)".*/\1/')
    case $op in
    handshake) data='{:server-info {:session-id "s"}}';;
    list_sessions) data='{:sessions [{:session-id "s" :session-file "/s" :session-name "One"}]}';;
    query_eql) data='{:result {:psi.agent-session/model-catalog [{:provider "p" :id "m" :name "M"}]}}';;
    *) data='{}';;
    esac
    say "{:id \"$id\" :kind :response :op \"$op\" :ok true :data $data}"
done
"#;
    let (out, _) = run("psi", &[], child, "");
    assert_eq!(out, "p/m\tM\n/s\tOne\n");
}

#[test]
fn synaps_goes_on_with_a_session() {
    let child = r#"
say() { printf '%s\n' "$1"; }
say '{"type":"ready","session_id":"'${2:-new}'","model":"m","protocol_version":1}'
while read -r line; do
    id=$(printf '%s' "$line" | sed 's/.*"id":"\([^"]*\)".*/\1/')
    case "$line" in *'"type":"prompt"'*)
        say '{"type":"message_update","event":{"type":"text_delta","delta":"And so on."}}'
        say '{"type":"response","id":"'$id'","command":"prompt","ok":true}'
    ;;
    *) say '{"type":"response","id":"'$id'","command":"get_state","ok":true,"session_id":"'${2:-new}'"}';;
    esac
done
"#;
    let (out, error) = run("synaps", &["And then?", "s-7"], child, "");
    assert_eq!(out, "And so on.");
    assert!(error.ends_with("continue with s-7\n"), "{error}");
}
