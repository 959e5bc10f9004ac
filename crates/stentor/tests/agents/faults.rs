//! Children that behave badly: nothing of ours hangs, and what is lost is counted.

use std::time::Duration;

use stentor_client::{
    AgentDialect, AgentEvent, ChildAgent, ChildAgentError, DenyAll, StartOptions,
};

use crate::shown::{turn, until};

/// A child that is a shell script.
fn script(dialect: AgentDialect, script: &str) -> StartOptions {
    let mut options = StartOptions::new(dialect, ["sh", "-c", script]);
    options.limits.abort_within = Duration::from_millis(200);
    options.limits.exit_within = Duration::from_millis(200);
    options
}

const READY: &str = r#"echo '{"type":"ready","session_id":"s","model":"m","protocol_version":1}'"#;

#[tokio::test]
async fn a_child_that_dies_before_it_is_ready_is_reported_with_its_last_lines() {
    for dialect in AgentDialect::ALL {
        let options = script(dialect, "echo one >&2; echo 'no key' >&2; exit 3");
        let failed = ChildAgent::start(options, DenyAll).await.map(drop);
        let Err(ChildAgentError::NotReady(why)) = failed else {
            panic!("{dialect}: {failed:?}");
        };
        assert_eq!(
            why,
            "the agent ended (exit status: 3); its last lines: one | no key"
        );
    }
}

#[tokio::test]
async fn a_child_that_never_shakes_hands_is_given_up() {
    for dialect in AgentDialect::ALL {
        let mut options = script(dialect, "exec sleep 600");
        options.limits.ready_within = Duration::from_millis(50);
        let failed = ChildAgent::start(options, DenyAll).await.map(drop);
        let Err(ChildAgentError::NotReady(why)) = failed else {
            panic!("{dialect}: {failed:?}");
        };
        assert_eq!(
            why,
            "the agent was given up: it took too long to shake hands"
        );
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_an_error() {
    let options = StartOptions::new(AgentDialect::Acp, ["/no/such/program"]);
    let failed = ChildAgent::start(options, DenyAll).await.map(drop);
    let why = failed.unwrap_err().to_string();
    let expected = "the agent could not be started: /no/such/program: No such file or directory";
    assert!(why.starts_with(expected), "{why}");
}

#[tokio::test]
async fn a_child_that_dies_in_a_turn_ends_the_turn_with_its_last_lines() {
    let dies = format!("{READY}; read prompt; echo 'out of memory' >&2; exit 9");
    let (agent, mut events) = ChildAgent::start(script(AgentDialect::Synaps, &dies), DenyAll)
        .await
        .unwrap();
    agent.prompt("Go on.").await.unwrap();
    let end = "end Failed the agent ended (exit status: 9); its last lines: out of memory 0+0";
    assert_eq!(turn(&mut events).await, ["turn", end]);
    assert!(matches!(events.next().await, Some(AgentEvent::Exited(_))));
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn a_turn_that_does_not_end_when_it_is_aborted_costs_the_child() {
    let hangs = format!("{READY}; exec sleep 600");
    let (agent, mut events) = ChildAgent::start(script(AgentDialect::Synaps, &hangs), DenyAll)
        .await
        .unwrap();
    agent.prompt("Go on.").await.unwrap();
    agent.abort().await.unwrap();
    let end = "end Failed the agent was given up: it did not stop when it was told to 0+0";
    assert_eq!(turn(&mut events).await, ["turn", end]);
}

#[tokio::test]
async fn garbage_is_skipped_and_counted_and_nothing_but_garbage_ends_the_child() {
    let answer = r#"echo '{"type":"response","id":"c1","command":"prompt","ok":true}'"#;
    let mixed = format!("{READY}; read prompt; echo rubbish; echo '[]'; {answer}; read more");
    let (agent, mut events) = ChildAgent::start(script(AgentDialect::Synaps, &mixed), DenyAll)
        .await
        .unwrap();
    agent.prompt("Go on.").await.unwrap();
    let lines = turn(&mut events).await;
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(
        lines[1].starts_with("lost it wrote a line that cannot be read"),
        "{lines:?}"
    );
    assert_eq!(agent.lost().unreadable, 2);

    let only = format!("{READY}; while :; do echo rubbish; done");
    let (_agent, mut events) = ChildAgent::start(script(AgentDialect::Synaps, &only), DenyAll)
        .await
        .unwrap();
    let mut last = None;
    while let Some(event) = events.next().await {
        last = Some(event);
    }
    let Some(AgentEvent::Exited(exit)) = last else {
        panic!("{last:?}")
    };
    assert!(
        exit.given_up
            .is_some_and(|why| why.contains("cannot be read"))
    );
}

#[tokio::test]
async fn a_line_of_a_hundred_megabytes_is_skipped_without_being_stored() {
    let answer = r#"echo '{"type":"response","id":"c1","command":"prompt","ok":true}'"#;
    let long = "head -c 100000000 /dev/zero | tr '\\0' x; echo";
    let child = format!("{READY}; read prompt; {long}; {answer}; read more");
    let (agent, mut events) = ChildAgent::start(script(AgentDialect::Synaps, &child), DenyAll)
        .await
        .unwrap();
    agent.prompt("Go on.").await.unwrap();
    let lines = turn(&mut events).await;
    let limit = "lost it wrote a line of more than 16777216 bytes";
    assert_eq!(lines, ["turn", limit, "end Completed 0+0"]);
    assert_eq!(agent.lost().too_long, 1);
}

#[tokio::test]
async fn a_run_of_omp_is_over_though_its_last_frame_is_too_long_to_be_read() {
    let (begin, _) = begun(AgentDialect::Omp);
    let long = "head -c 20000000 /dev/zero | tr '\\0' x; echo '\"]}'";
    let end = format!(r#"printf '%s' '{{"type":"agent_end","messages":["'; {long}"#);
    let state = r#"{"id":"c4","type":"response","command":"get_state","success":true,"data":{"sessionId":"s","isStreaming":false}}"#;
    let child = format!("{begin}; {end}; read state; echo '{state}'; read more");
    let (agent, mut events) = ChildAgent::start(script(AgentDialect::Omp, &child), DenyAll)
        .await
        .unwrap();
    agent.prompt("Go on.").await.unwrap();
    let limit = "lost it wrote a line of more than 16777216 bytes";
    assert_eq!(
        turn(&mut events).await,
        ["turn", "text I", limit, "end Completed 0+0"]
    );
}

#[tokio::test]
async fn a_second_answer_is_counted_and_changes_nothing() {
    let answer = r#"echo '{"type":"response","id":"c1","command":"prompt","ok":true}'"#;
    let result = r#"echo '{"type":"message_update","event":{"type":"toolcall_result","tool_id":"t","result":"r"}}'"#;
    let again = r#"echo '{"type":"response","id":"c2","command":"prompt","ok":true}'"#;
    let child = format!(
        "{READY}; read prompt; {result}; {answer}; {answer}; read more; {again}; read more"
    );
    let (agent, mut events) = ChildAgent::start(script(AgentDialect::Synaps, &child), DenyAll)
        .await
        .unwrap();
    agent.prompt("Go on.").await.unwrap();
    assert_eq!(turn(&mut events).await, ["turn", "end Completed 0+0"]);
    agent.prompt("Once more.").await.unwrap();
    assert_eq!(turn(&mut events).await, ["turn", "end Completed 0+0"]);
    assert_eq!(agent.lost().unexpected, 2);
}

#[tokio::test]
async fn a_child_that_writes_without_end_waits_for_its_reader() {
    let flood = r#"while :; do echo '{"type":"message_update","event":{"type":"text_delta","delta":"x"}}'; done"#;
    let child = format!("{READY}; read prompt; {flood}");
    let mut options = script(AgentDialect::Synaps, &child);
    options.limits.events = 16;
    let (agent, mut events) = ChildAgent::start(options, DenyAll).await.unwrap();
    agent.prompt("Go on.").await.unwrap();
    // Requests get through although nobody reads the events.
    agent.abort().await.unwrap();
    agent.stop().await;
    let mut count = 0;
    while let Some(event) = events.next().await {
        count += usize::from(matches!(event, AgentEvent::Text(_)));
    }
    // What one read of the pipe brought, and what the queue holds.
    assert!(count < 64 * 1024 / 60 + 16, "{count}");
}

#[tokio::test]
async fn an_old_child_that_answers_unknown_commands_without_their_id_is_driven() {
    let unknown = r#"{"type":"response","command":"set_event_filter","success":false,"error":"Unknown command: set_event_filter"}"#;
    let state = r#"{"id":"c2","type":"response","command":"get_state","success":true,"data":{"sessionId":"s"}}"#;
    let child = format!("read filter; read state; echo '{unknown}'; echo '{state}'; read more");
    let (agent, _events) = ChildAgent::start(script(AgentDialect::Omp, &child), DenyAll)
        .await
        .unwrap();
    assert_eq!(agent.opened().id.as_deref(), Some("s"));
}

/// Children of a shell that have begun to answer: what they do up to then, their first words, and how
/// they end their turn.
fn begun(dialect: AgentDialect) -> (String, String) {
    match dialect {
        AgentDialect::Omp => {
            let state = r#"{"id":"c2","type":"response","command":"get_state","success":true,"data":{"sessionId":"s"}}"#;
            let start = r#"{"type":"agent_start"}"#;
            let delta = r#"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","delta":"I"}}"#;
            let begin = format!(
                "read a; read a; echo '{state}'; read prompt; echo '{start}'; echo '{delta}'"
            );
            (begin, r#"echo '{"type":"agent_settled"}'"#.to_owned())
        }
        AgentDialect::Psi => {
            let answer = |id: &str, op: &str, data: &str| {
                format!(r#"echo '{{:id "{id}" :kind :response :op "{op}" :ok true :data {data}}}'"#)
            };
            let event = |name: &str, data: &str| {
                format!(
                    r#"echo '{{:kind :event :event "{name}" :data {{:session-id "s" {data}}}}}'"#
                )
            };
            let steps = [
                "read a".to_owned(),
                answer("c1", "handshake", r#"{:server-info {:session-id "s"}}"#),
                "read a".to_owned(),
                answer("c2", "subscribe", "{}"),
                "read prompt".to_owned(),
                answer("c3", "prompt", "{}"),
                event(
                    "session/updated",
                    r#":phase "streaming" :is-streaming true"#,
                ),
                event("assistant/delta", r#":text "I""#),
            ];
            let end = event("session/updated", r#":phase "idle" :is-streaming false"#);
            (steps.join("; "), end)
        }
        AgentDialect::Acp | AgentDialect::Synaps => unreachable!("other tests have these"),
    }
}

#[tokio::test]
async fn faults_in_the_turn_of_an_omp_and_of_a_psi_child_end_or_spare_it_as_in_other_dialects() {
    let garbage = "lost it wrote a line that cannot be read";
    for dialect in [AgentDialect::Omp, AgentDialect::Psi] {
        let (begin, end) = begun(dialect);
        for (fault, aborts, expected) in [
            (
                "echo 'out of memory' >&2; exit 9".to_owned(),
                false,
                vec![
                    "turn",
                    "text I",
                    "end Failed the agent ended (exit status: 9); its last lines: out of memory 0+0",
                ],
            ),
            (
                "exec sleep 600".to_owned(),
                true,
                vec!["end Failed the agent was given up: it did not stop when it was told to 0+0"],
            ),
            (
                format!("echo '}}rubbish'; echo ']'; {end}; {end}; read more"),
                false,
                vec!["turn", "text I", garbage, "end Completed 0+0"],
            ),
        ] {
            let child = format!("{begin}; {fault}");
            let started = ChildAgent::start(script(dialect, &child), DenyAll).await;
            let (agent, mut events) = started.unwrap();
            agent.prompt("Go on.").await.unwrap();
            if aborts {
                until(&mut events, |event| matches!(event, AgentEvent::Text(_))).await;
                agent.abort().await.unwrap();
            }
            let lines = turn(&mut events).await;
            assert_eq!(lines.len(), expected.len(), "{dialect}: {lines:?}");
            for (line, expected) in lines.iter().zip(expected) {
                assert!(line.starts_with(expected), "{dialect}: {lines:?}");
            }
        }
    }
}

/// An ACP child that does this when it is prompted.
fn prompted(steps: &str) -> StartOptions {
    let script = format!(
        r#"
say() {{ printf '%s\n' "$1"; }}
read a; say '{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":1,"agentCapabilities":{{}}}}}}'
read a; say '{{"jsonrpc":"2.0","id":2,"result":{{"sessionId":"s"}}}}'
read a
long() {{ head -c 17000000 /dev/zero | tr '\0' y; }}
{steps}
read a
"#
    );
    StartOptions::new(AgentDialect::Acp, ["sh", "-c", &script])
}

async fn lines_of(steps: &str) -> Vec<String> {
    let (agent, mut events) = ChildAgent::start(prompted(steps), DenyAll).await.unwrap();
    agent.prompt("Go on.").await.unwrap();
    turn(&mut events).await
}

#[tokio::test]
async fn an_answer_that_is_too_long_to_be_read_ends_the_turn() {
    for result in [
        // With and without its number before what is long.
        r#"printf '{"jsonrpc":"2.0","id":3,"result":{"x":"'; long; say '"}}'"#,
        r#"printf '{"result":{"x":"'; long; say '"},"id":3}'"#,
    ] {
        let lines = lines_of(result).await;
        let last = lines.last().unwrap();
        assert!(last.starts_with("end Failed"), "{lines:?}");
        assert!(last.contains("too long to be read"), "{lines:?}");
    }
}

#[tokio::test]
async fn a_request_that_is_too_long_to_be_read_is_refused() {
    let steps = r#"
printf '{"jsonrpc":"2.0","id":"w1","method":"fs/write_text_file","params":{"content":"'; long; say '"}}'
read answer
case "$answer" in *'"id":"w1","error"'*) say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"refusal"}}';; esac
"#;
    let lines = lines_of(steps).await;
    assert_eq!(lines.last().unwrap(), "end Refused 0+0");
}

#[tokio::test]
async fn a_line_without_an_end_ends_the_turn() {
    let lines = lines_of("cat /dev/zero").await;
    let last = lines.last().unwrap();
    assert!(
        last.contains("it writes a line that does not end"),
        "{lines:?}"
    );
}

#[tokio::test]
async fn what_an_omp_child_has_not_streamed_is_shown_from_its_messages() {
    let script = r#"
say() { printf '%s\n' "$1"; }
while IFS= read -r line; do
    id=$(printf '%s' "$line" | sed 's/.*"id":"\([a-z0-9]*\)".*/\1/')
    say '{"type":"response","id":"'"$id"'","success":true,"data":{}}'
    case "$line" in *'"type":"prompt"'*)
        say '{"type":"agent_start"}'
        say '{"type":"message_end","message":{"role":"custom","content":"A job ended.","display":true}}'
        say '{"type":"message_end","message":{"role":"custom","content":"hidden","display":false}}'
        say '{"type":"message_end","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Whole."}],"stopReason":"stop"}}'
        say '{"type":"message_update","assistantMessageEvent":{"type":"text_delta","delta":"Pie"}}'
        say '{"type":"message_update","assistantMessageEvent":{"type":"text_delta","delta":"ces"}}'
        say '{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"Pieces"}],"stopReason":"stop"}}'
        say '{"type":"agent_end"}';;
    esac
done
"#;
    let options = StartOptions::new(AgentDialect::Omp, ["sh", "-c", script]);
    let (agent, mut events) = ChildAgent::start(options, DenyAll).await.unwrap();
    agent.prompt("Go on.").await.unwrap();
    let lines = turn(&mut events).await;
    let texts = lines.iter().filter(|line| line.starts_with("t"));
    let texts: Vec<&String> = texts.collect();
    let expected = [
        "turn",
        "text A job ended.",
        "thinking Hm.",
        "text Whole.",
        "text Pie",
        "text ces",
    ];
    assert_eq!(texts, expected);
}
