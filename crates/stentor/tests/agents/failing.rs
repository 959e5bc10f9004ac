//! Children that fail behind a session: the run ends with the reason, and the session lives.

use serde_json::{Value, json};
use stentor_client::{AgentDialect, AgentEvent, ChildAgent};

use crate::acp_child;
use crate::behind::agent;
use crate::shown::{Answering, options, turn, until};
use crate::world::{Child, World};

/// A session whose model is a shell script that speaks synaps.
async fn scripted(script: &str) -> (World, ChildAgent, stentor_client::Events) {
    let ready = r#"echo '{"type":"ready","session_id":"s","model":"m","protocol_version":1}'"#;
    let script = format!("{ready}; {script}");
    let config = format!(
        "[agents.bad]\ncommand = [\"sh\", \"-c\", {script:?}, \"sh\"]\ndialect = \"synaps\"\n"
    );
    let world = World::new("", &config);
    let mut options = options(&world, AgentDialect::Omp);
    options
        .command
        .extend(["--model".to_owned(), "agent/bad".to_owned()]);
    let (agent, events) = ChildAgent::start(options, Answering::default())
        .await
        .unwrap();
    (world, agent, events)
}

#[tokio::test]
async fn a_child_that_dies_ends_the_run_with_its_last_lines_and_the_next_prompt_starts_it_again() {
    let dies = "read prompt; echo 'out of memory' >&2; exit 9";
    let (_world, agent, mut events) = scripted(dies).await;
    for _ in 0..2 {
        agent.prompt("Go on.").await.unwrap();
        let end = "end Failed agent/bad: the agent ended (exit status: 9); its last lines: out of \
                   memory 0+0";
        assert_eq!(turn(&mut events).await, ["turn", end]);
    }
}

#[tokio::test]
async fn a_child_that_dies_at_its_start_and_one_that_is_not_there_end_the_run() {
    for (command, why) in [
        (
            "[\"sh\", \"-c\", \"echo no key >&2; exit 3\"]",
            "its last lines: no key",
        ),
        (
            "[\"/no/such/program\"]",
            "the agent could not be started: /no/such/program: No such file",
        ),
    ] {
        let config = format!("[agents.bad]\ncommand = {command}\ndialect = \"acp\"\n");
        let world = World::new("", &config);
        let mut options = options(&world, AgentDialect::Acp);
        options
            .command
            .extend(["--model".to_owned(), "agent/bad".to_owned()]);
        let (agent, mut events) = ChildAgent::start(options, Answering::default())
            .await
            .unwrap();
        agent.prompt("Go on.").await.unwrap();
        let lines = turn(&mut events).await;
        assert!(lines.iter().any(|line| line.contains(why)), "{lines:?}");
    }
}

#[tokio::test]
async fn a_call_whose_end_is_never_reported_has_a_result_when_the_turn_ends() {
    let start = r#"{"type":"message_update","event":{"type":"toolcall_start","tool_id":"t","tool_name":"x"}}"#;
    let input =
        r#"{"type":"message_update","event":{"type":"toolcall_input","tool_id":"t","input":{}}}"#;
    let end = r#"{"type":"response","id":"c1","command":"prompt","ok":true}"#;
    let script = format!("read prompt; echo '{start}'; echo '{input}'; echo '{end}'; read more");
    let (_world, agent, mut events) = scripted(&script).await;
    agent.prompt("Go on.").await.unwrap();
    assert_eq!(
        turn(&mut events).await,
        [
            "turn",
            "call x {}",
            "start t",
            "failed t The agent did not report how this call ended.",
            "end Completed 0+0"
        ]
    );
}

#[tokio::test]
async fn a_turn_that_never_ends_is_aborted_and_the_session_goes_on() {
    let delta = r#"{"type":"message_update","event":{"type":"text_delta","delta":"I"}}"#;
    let script = format!("read prompt; echo '{delta}'; exec sleep 600");
    let (_world, agent, mut events) = scripted(&script).await;
    agent.prompt("Go on.").await.unwrap();
    until(&mut events, |event| matches!(event, AgentEvent::Text(_))).await;
    agent.abort().await.unwrap();
    assert_eq!(turn(&mut events).await, ["end Aborted 0+0"]);
}

#[tokio::test]
async fn a_resumed_session_goes_on_with_the_child_s_own_session() {
    for inner in AgentDialect::ALL {
        let scenario = "on_exhausted = \"repeat-last\"\n[[turn]]\ntext = \"Noted.\"\n";
        let inner_world = World::new(scenario, "");
        let world = World::new("", &agent(&inner_world, inner));
        for (prompt, more) in [
            ("Remember this.", None),
            ("What was it?", Some("--continue")),
        ] {
            let mut options = options(&world, AgentDialect::Omp);
            let model = ["--model".to_owned(), "agent/inner".to_owned()];
            options
                .command
                .extend(model.into_iter().chain(more.map(str::to_owned)));
            let (agent, mut events) = ChildAgent::start(options, Answering::default())
                .await
                .unwrap();
            agent.prompt(prompt).await.unwrap();
            let lines = turn(&mut events).await;
            assert_eq!(
                lines,
                ["turn", "text Noted.", "end Completed 0+0"],
                "{inner}"
            );
            agent.stop().await;
        }
        let stored = crate::driven::stored(&inner_world);
        let same = |session: &&String| {
            session.contains("Remember this.") && session.contains("What was it?")
        };
        let sessions: Vec<&String> = stored.iter().filter(same).collect();
        assert_eq!(sessions.len(), 1, "{inner}");
        // It was asked, not told what was said before.
        assert!(!sessions[0].contains("<conversation>"), "{inner}");
    }
}

#[tokio::test]
async fn a_child_that_does_not_know_the_conversation_is_told_it() {
    let inner_world = World::new("[[turn]]\ntext = \"I see.\"\n", "");
    let world = World::new(
        "[[turn]]\ntext = \"First.\"\n",
        &agent(&inner_world, AgentDialect::Acp),
    );
    let (agent, mut events) =
        ChildAgent::start(options(&world, AgentDialect::Omp), Answering::default())
            .await
            .unwrap();
    agent.prompt("Who was here?").await.unwrap();
    turn(&mut events).await;
    agent.set_model("agent/inner").await.unwrap();
    agent.prompt("And now?").await.unwrap();
    turn(&mut events).await;
    let told =
        "<conversation>\\nUser: Who was here?\\nAssistant: First.\\n</conversation>\\n\\nAnd now?";
    let stored = crate::driven::stored(&inner_world);
    assert!(
        stored.iter().any(|session| session.contains(told)),
        "{stored:?}"
    );
}

#[tokio::test]
async fn a_subagent_can_be_another_agent_and_asks_with_its_session() {
    let write = r#"[[turn]]
tool = "write"
arguments = { path = "new.txt", content = "hello\n" }
[[turn]]
text = "Written."
"#;
    let delegate = r#"[[turn]]
tool = "subagent"
arguments = { task = "Write it.", agent = "inner" }
[[turn]]
text = "{{last_tool_result}}"
"#;
    for inner in [AgentDialect::Acp, AgentDialect::Omp] {
        let inner_world = World::new(write, "");
        let world = World::new(delegate, &agent(&inner_world, inner));
        let host = Answering {
            denies: true,
            ..Answering::default()
        };
        let started = ChildAgent::start(options(&world, AgentDialect::Omp), host.clone()).await;
        let (agent, mut events) = started.unwrap();
        agent.prompt("Delegate.").await.unwrap();
        let lines = turn(&mut events).await;
        assert!(
            lines.contains(&"text Written.".to_owned()),
            "{inner}: {lines:?}"
        );
        assert_eq!(host.asked.lock().unwrap().len(), 1, "{inner}");
        assert!(!world.path("work/new.txt").exists(), "{inner}");
    }
}

#[test]
fn a_copy_of_a_session_does_not_go_on_with_the_child_s_session() {
    let scenario = "on_exhausted = \"repeat-last\"\n[[turn]]\ntext = \"Noted.\"\n";
    for inner in AgentDialect::ALL {
        let inner_world = World::new(scenario, "");
        let world = World::new("", &agent(&inner_world, inner));
        let mut child = world.child(&["--mode", "rpc", "--model", "agent/inner"]);
        let ask = |child: &mut Child, frame: Value| {
            child.send(&frame.to_string());
            loop {
                let answer = child.json();
                if answer["type"] == "response" && answer["command"] == frame["type"] {
                    return answer;
                }
            }
        };
        let prompt = |child: &mut Child, text: &str| {
            ask(child, json!({ "type": "prompt", "message": text }));
            while child.json()["type"] != "agent_settled" {}
        };
        prompt(&mut child, "Remember this.");
        prompt(&mut child, "And this.");
        let messages = ask(&mut child, json!({ "type": "get_branch_messages" }));
        let second = &messages["data"]["messages"][1]["entryId"];
        ask(&mut child, json!({ "type": "branch", "entryId": second }));
        prompt(&mut child, "Something else.");
        child.end();
        let stored = crate::driven::stored(&inner_world);
        let with = |text: &str| -> Vec<&String> {
            stored
                .iter()
                .filter(|session| session.contains(text))
                .collect()
        };
        let (original, copy) = (with("And this."), with("Something else."));
        assert_eq!((original.len(), copy.len()), (1, 1), "{inner}");
        assert!(!original[0].contains("Something else."), "{inner}");
        let told = "<conversation>\\nUser: Remember this.\\nAssistant: Noted.\\n</conversation>";
        assert!(copy[0].contains(told), "{inner}: {}", copy[0]);
    }
}

#[tokio::test]
async fn what_a_subagent_that_is_an_agent_consumes_counts_in_the_budget_of_its_session() {
    let done = "usage = { input = 60, output = 40 }\n[[turn]]\ntext = \"Done.\"\n";
    let delegate = r#"usage = { input = 3, output = 1 }
[[turn]]
tool = "subagent"
arguments = { task = "Do it.", agent = "inner" }
[[turn]]
text = "{{last_tool_result}}"
"#;
    for inner in AgentDialect::ALL {
        let inner_world = World::new(done, "");
        let agent = agent(&inner_world, inner);
        // The four tokens of the session's own, the hundred of the agent's.
        for (limit, expected) in [
            (200, "text Done."),
            (
                104,
                "end Failed Budget reached: 104 of 104 tokens are used. 3+1",
            ),
        ] {
            let config = format!("{agent}[budget]\ntokens = {limit}\n");
            let world = World::new(delegate, &config);
            let started =
                ChildAgent::start(options(&world, AgentDialect::Omp), Answering::default()).await;
            let (agent, mut events) = started.unwrap();
            agent.prompt("Delegate.").await.unwrap();
            let lines = turn(&mut events).await;
            assert!(lines.contains(&expected.to_owned()), "{inner}: {lines:?}");
        }
    }
}

/// The beginning of a child that speaks ACP, and the names of its frames.
const FRAMES: &str = r#"
say() { printf '%s\n' "$1"; }
hello='{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}'
opened='{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
text='{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I"}}}}'
call='{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"T","kind":"execute","status":"in_progress","rawInput":{}}}}'
may='{"jsonrpc":"2.0","id":"m","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[{"optionId":"y","name":"Y","kind":"allow_once"}]}}'
terminal='{"jsonrpc":"2.0","id":"c","method":"terminal/create","params":{"sessionId":"s","command":"exec sleep 600"}}'
ended='{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'
"#;

#[tokio::test]
async fn a_child_that_dies_at_any_stage_ends_the_run_and_the_next_prompt_starts_it_again() {
    let ready = "read a; say \"$hello\"; read a; say \"$opened\";";
    for (stage, script, shown) in [
        ("at once", "die", vec![]),
        ("when it is greeted", "read a; die", vec![]),
        ("before its session", "read a; say \"$hello\"; die", vec![]),
        (
            "in a frame",
            "read a; printf '%s' '{\"jsonrpc'; die",
            vec![],
        ),
        ("when it is asked", &format!("{ready} read a; die"), vec![]),
        (
            "in its answer",
            &format!("{ready} read a; say \"$text\"; die"),
            vec!["text I"],
        ),
        (
            "in a call",
            &format!("{ready} read a; say \"$call\"; die"),
            vec![
                "call execute {}",
                "start t",
                "failed t The agent did not report how this call ended.",
            ],
        ),
        (
            "while a permission is asked",
            &format!("{ready} read a; say \"$call\"; say \"$may\"; read a; die"),
            vec![
                "call execute {}",
                "start t",
                "failed t The agent did not report how this call ended.",
            ],
        ),
        (
            "with a terminal open",
            &format!("{ready} read a; say \"$terminal\"; read a; die"),
            vec![
                r#"call bash {"command":"exec sleep 600"}"#,
                "start client_request_1",
                "failed client_request_1 The agent did not report how this call ended.",
            ],
        ),
    ] {
        // The first two die; the third answers.
        let script = format!(
            "{FRAMES}die() {{ echo at work >&2; exit 7; }}\nif [ ! -e second ]; then\n\
             if [ -e first ]; then touch second; fi; touch first; {script}\nfi\n\
             {ready} read a; say \"$text\"; say \"$ended\"; read a\n"
        );
        let world = acp_child::with_script(World::new("", ""), &script, "");
        let mut options = options(&world, AgentDialect::Omp);
        let model = ["--model".to_owned(), "agent/child".to_owned()];
        options.command.extend(model);
        let (agent, mut events) = ChildAgent::start(options, Answering::default())
            .await
            .unwrap();
        for _ in 0..2 {
            agent.prompt("Go on.").await.unwrap();
            let mut lines = turn(&mut events).await;
            let end = lines.pop().unwrap();
            let why = "(exit status: 7); its last lines: at work";
            assert!(
                end.starts_with("end Failed") && end.contains(why),
                "{stage}: {end}"
            );
            lines.retain(|line| line != "turn");
            assert_eq!(lines, shown, "{stage}");
        }
        agent.prompt("Once more.").await.unwrap();
        let lines = turn(&mut events).await;
        assert_eq!(lines, ["turn", "text I", "end Completed 0+0"], "{stage}");
    }
}

#[tokio::test]
async fn a_child_that_hangs_in_its_handshake_is_ended_by_an_abort() {
    let script = "mkfifo alive; exec 3<>alive; touch up; exec sleep 600";
    let world = acp_child::with_script(World::new("", ""), script, "");
    let (agent, mut events) = acp_child::start(&world, &[], Answering::default()).await;
    agent.prompt("Go on.").await.unwrap();
    let up = world.path("work/up");
    while !up.exists() {
        tokio::task::yield_now().await;
    }
    agent.abort().await.unwrap();
    assert_eq!(turn(&mut events).await, ["turn", "end Aborted 0+0"]);
    // The child had the other end open. When it is gone, reading comes to its end.
    let fifo = world.path("work/alive");
    let read = tokio::task::spawn_blocking(move || {
        let options = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(&fifo);
        let mut reader = std::fs::File::open(&fifo).unwrap();
        drop(options);
        std::io::Read::read(&mut reader, &mut [0; 1]).unwrap()
    });
    assert_eq!(read.await.unwrap(), 0);
}

#[tokio::test]
async fn rubbish_and_second_answers_do_not_end_a_session() {
    let delta = r#"echo '{"type":"message_update","event":{"type":"text_delta","delta":"I"}}'"#;
    let answer = |id: &str| {
        format!(r#"echo '{{"type":"response","id":"{id}","command":"prompt","ok":true}}'"#)
    };
    let (first, second) = (answer("c1"), answer("c3"));
    // In between it is asked for its models.
    let script = format!(
        "read prompt; echo rubbish; echo '[]'; {delta}; {first}; {first}; read models; \
         read prompt; {first}; {delta}; {second}; read more"
    );
    let (_world, agent, mut events) = scripted(&script).await;
    for _ in 0..2 {
        agent.prompt("Go on.").await.unwrap();
        assert_eq!(
            turn(&mut events).await,
            ["turn", "text I", "end Completed 0+0"]
        );
    }
}

#[test]
fn what_a_child_repeats_when_its_session_is_loaded_is_no_new_answer() {
    let script = format!(
        r#"{FRAMES}
read a; say "$hello"
while IFS= read -r line; do
    id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
    result='{{"stopReason":"end_turn"}}'
    case "$line" in
    *session/new*) result='{{"sessionId":"s"}}';;
    *session/load*) say "$text"; say "$call"; result='{{}}';;
    *session/prompt*) say "$text";;
    esac
    printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$result"
done
"#
    );
    let world = acp_child::with_script(World::new("", ""), &script, "");
    assert_eq!(
        world.asked(&["-p", "One.", "--model", "agent/child"]),
        "I\n"
    );
    let words = ["-p", "Two.", "--model", "agent/child", "--continue"];
    assert_eq!(world.asked(&words), "I\n");
}

/// The memory of the process that drives the child, which wrote a line of 100 MB.
#[cfg(target_os = "linux")]
#[test]
fn a_line_of_a_hundred_megabytes_costs_little_memory_and_is_said_to_be_lost() {
    let ready = r#"echo '{"type":"ready","session_id":"s","model":"m","protocol_version":1}'"#;
    let end = r#"echo '{"type":"response","id":"c1","command":"prompt","ok":true}'"#;
    let long = "head -c 100000000 /dev/zero | tr '\\0' x; echo";
    let script = format!("{ready}; read prompt; {long}; {end}; read more");
    let config = format!(
        "[agents.bad]\ncommand = [\"sh\", \"-c\", {script:?}, \"sh\"]\ndialect = \"synaps\"\n"
    );
    let world = World::new("[[turn]]\ntext = \"hi\"\n", &config);
    let mut omp = world.omp();
    let before = omp.most_resident();
    omp.send(r#"{"id":"m","type":"set_model","provider":"agent","modelId":"bad"}"#);
    omp.until_type("response");
    omp.send(r#"{"id":"p","type":"prompt","message":"Go on."}"#);
    let frames = omp.until_type("agent_end");
    let said = frames.iter().any(|frame| {
        let frame = frame.to_string();
        frame.contains("agent/bad: it wrote a line of more than 16777216 bytes")
    });
    assert!(said, "{frames:?}");
    let grown = omp.most_resident() - before;
    assert!(grown < 48 << 20, "{grown}");
    omp.end();
}
