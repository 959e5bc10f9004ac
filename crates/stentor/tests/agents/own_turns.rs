//! Children that begin to work though nobody asked them: the session shows it, and what is asked next is
//! answered next.

use std::process::Command;
use std::time::Duration;

use stentor_client::{AgentDialect, AgentEvent, ChildAgent, Events, TurnOrigin};
use tokio::time::timeout;

use crate::acp_child;
use crate::behind::agent;
use crate::shown::{Answering, options, turn, until};
use crate::world::World;

/// Long enough for a machine that has much to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// A job in the background, and an answer to everything that is said then.
const JOB: &str = r#"
on_exhausted = "repeat-last"
[[turn]]
when = { last_user_contains = "Start" }
tool = "bash"
arguments = { command = "cat go", background = true }
[[turn]]
when = { last_tool_result_contains = "job" }
text = "Started."
[[turn]]
text = "You said {{last_user}}"
"#;

/// The program in a world, with this model.
async fn start(world: &World, dialect: AgentDialect, model: &str) -> (ChildAgent, Events) {
    let mut options = options(world, dialect);
    let model = ["--model".to_owned(), model.to_owned()];
    options.command.extend(model);
    ChildAgent::start(options, Answering::default())
        .await
        .unwrap()
}

/// Everything of the next turn, which nobody asked for.
async fn own_turn(events: &mut Events) -> Vec<String> {
    let shown = timeout(PATIENCE, next_own_turn(events)).await;
    shown.expect("what the child does by itself is not shown")
}

async fn next_own_turn(events: &mut Events) -> Vec<String> {
    loop {
        match events.next().await.expect("no turn has begun") {
            AgentEvent::TurnStarted(origin) => {
                assert_eq!(origin, TurnOrigin::Own);
                return turn(events).await;
            }
            AgentEvent::TurnEnded(_) => panic!("a turn has ended that has not begun"),
            _ => {}
        }
    }
}

async fn asked(agent: &ChildAgent, events: &mut Events, text: &str) -> Vec<String> {
    agent.prompt(text).await.unwrap();
    turn(events).await
}

#[tokio::test]
async fn a_child_whose_job_has_ended_wakes_the_session_and_answers_what_it_is_asked_next() {
    use AgentDialect::{Acp, Omp, Psi};
    for (outer, inner) in [(Omp, Acp), (Omp, Omp), (Omp, Psi), (Psi, Omp), (Acp, Omp)] {
        let inner_world = World::new(JOB, "");
        let world = World::new("", &agent(&inner_world, inner));
        let pipe = world.path("work/go");
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        let (agent, mut events) = start(&world, outer, "agent/inner").await;
        let begun = asked(&agent, &mut events, "Start it.").await;
        assert!(begun.contains(&"text Started.".to_owned()), "{begun:?}");
        let released = tokio::task::spawn_blocking(move || std::fs::write(pipe, "went on\n"));
        released.await.unwrap().unwrap();
        let own = own_turn(&mut events).await;
        let is_answer = |line: &&String| line.contains("You said [Background job");
        let answers = own.iter().filter(is_answer).count();
        assert_eq!(answers, 1, "{inner} behind {outer}: {own:?}");
        for text in ["A", "B", "C"] {
            let lines = asked(&agent, &mut events, text).await;
            let said = format!("text You said {text}");
            let texts = lines.iter().filter(|line| line.starts_with("text"));
            let texts: Vec<&String> = texts.collect();
            assert_eq!(texts, [&said], "{inner} behind {outer}");
        }
    }
}

/// A child that goes on after its first turn is over, and then answers what it is asked.
const GOES_ON: &str = r#"
say() { printf '%s\n' "$1"; }
write() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}}}'; }
hear() { IFS= read -r line || exit; id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/'); }
answer() { say '{"jsonrpc":"2.0","id":'"$id"',"result":'"$1"'}'; }
hear; answer '{"protocolVersion":1,"agentCapabilities":{}}'
hear; answer '{"sessionId":"s"}'
hear; write One; answer '{"stopReason":"end_turn"}'
write Late
number=1
while hear; do number=$((number + 1)); write "Answer $number"; answer '{"stopReason":"end_turn"}'; done
"#;

#[tokio::test]
async fn what_a_child_says_after_its_turn_is_a_run_of_its_own() {
    let world = acp_child::with_script(World::new("", ""), GOES_ON, "");
    let (agent, mut events) = start(&world, AgentDialect::Omp, "agent/child").await;
    let first = asked(&agent, &mut events, "Go on.").await;
    assert_eq!(first, ["turn", "text One", "end Completed 0+0"]);
    let own = own_turn(&mut events).await;
    assert_eq!(
        own,
        [
            "text [The agent goes on by itself.]",
            "text Late",
            "end Completed 0+0"
        ]
    );
    let second = asked(&agent, &mut events, "Go on.").await;
    assert_eq!(second, ["turn", "text Answer 2", "end Completed 0+0"]);
}

#[tokio::test]
async fn where_the_session_is_not_woken_it_is_shown_before_the_next_answer() {
    let config = "[background]\nwake = false\n";
    let world = acp_child::with_script(World::new("", ""), GOES_ON, config);
    let (agent, mut events) = start(&world, AgentDialect::Omp, "agent/child").await;
    let first = asked(&agent, &mut events, "Go on.").await;
    assert_eq!(first, ["turn", "text One", "end Completed 0+0"]);
    for (number, late) in [(2, Some("text Late")), (3, None)] {
        let lines = asked(&agent, &mut events, "Go on.").await;
        let answer = format!("text Answer {number}");
        let expected: Vec<&str> = ["turn"]
            .into_iter()
            .chain(late)
            .chain([&*answer, "end Completed 0+0"])
            .collect();
        assert_eq!(lines, expected);
    }
}

#[tokio::test]
async fn an_auto_turn_of_a_synaps_child_is_a_turn_of_its_own() {
    let script = r#"
say() { printf '%s\n' "$1"; }
delta() { say '{"type":"message_update","event":{"type":"text_delta","delta":"'"$1"'"}}'; }
over() { say '{"type":"agent_end","usage":{"input_tokens":1,"output_tokens":1}}'; say '{"type":"response","id":"'"$1"'","command":"'"$2"'","ok":true}'; }
hear() {
    while IFS= read -r line; do
        id=$(printf '%s' "$line" | sed 's/.*"id":"\([a-z0-9]*\)".*/\1/')
        case "$line" in *'"type":"prompt"'*) return;; esac
    done
    exit
}
say '{"type":"ready","session_id":"s","model":"m","protocol_version":1}'
hear; delta One; over "$id" prompt
delta "By myself"; over auto:1 auto_turn
while hear; do delta Answer; over "$id" prompt; done
"#;
    let world = World::new("", "");
    world.file("home/child.sh", script);
    let child = world.path("home/child.sh").display().to_string();
    let config = format!("[agents.child]\ncommand = [\"sh\", {child:?}]\ndialect = \"synaps\"\n");
    world.file("home/.config/stentor/config.toml", &config);
    let (agent, mut events) = start(&world, AgentDialect::Omp, "agent/child").await;
    let first = asked(&agent, &mut events, "Go on.").await;
    assert_eq!(first, ["turn", "text One", "end Completed 1+1"]);
    let own = own_turn(&mut events).await;
    assert!(own.contains(&"text By myself".to_owned()), "{own:?}");
    for _ in 0..2 {
        let lines = asked(&agent, &mut events, "Go on.").await;
        assert_eq!(lines, ["turn", "text Answer", "end Completed 1+1"]);
    }
}

/// The same with other lines instead of what it says when its first turn is over.
fn goes_on_with(lines: &str) -> String {
    GOES_ON.replace("write Late\n", &format!("{lines}\n"))
}

#[tokio::test]
async fn a_prompt_reaches_a_child_whose_own_call_never_ends() {
    let call = r#"say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"T","kind":"execute","status":"in_progress","rawInput":{}}}}'"#;
    let world = acp_child::with_script(World::new("", ""), &goes_on_with(call), "");
    let (agent, mut events) = start(&world, AgentDialect::Acp, "agent/child").await;
    asked(&agent, &mut events, "Go on.").await;
    let is_started = |event: &AgentEvent| matches!(event, AgentEvent::ToolStarted { .. });
    let started = timeout(PATIENCE, until(&mut events, is_started)).await;
    started.expect("what the child does by itself is not shown");
    agent.prompt("Go on.").await.unwrap();
    let is_answer =
        |event: &AgentEvent| matches!(event, AgentEvent::Text(text) if text == "Answer 2");
    let answered = timeout(PATIENCE, until(&mut events, is_answer)).await;
    answered.expect("the prompt has not reached the child");
    turn(&mut events).await;
    let third = asked(&agent, &mut events, "Go on.").await;
    assert_eq!(third, ["turn", "text Answer 3", "end Completed 0+0"]);
}

#[tokio::test]
async fn a_child_that_says_much_by_itself_still_gets_the_next_prompt() {
    let update = |kind: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":"{kind}","content":{{"type":"text","text":"x"}}}}}}}}"#
        )
    };
    let (text, thought) = (update("agent_message_chunk"), update("agent_thought_chunk"));
    let flood = format!("yes '{text}\n{thought}' | head -n 16000");
    let config = "[background]\nwake = false\n";
    let world = acp_child::with_script(World::new("", ""), &goes_on_with(&flood), config);
    let (agent, mut events) = start(&world, AgentDialect::Omp, "agent/child").await;
    asked(&agent, &mut events, "Go on.").await;
    // Until as much waits as may.
    tokio::time::sleep(Duration::from_secs(3)).await;
    for answer in ["text Answer 2", "text Answer 3"] {
        let lines = timeout(PATIENCE, asked(&agent, &mut events, "Go on.")).await;
        let lines = lines.expect("the prompt has not reached the child");
        assert_eq!(lines.iter().nth_back(1).unwrap(), answer);
    }
}

#[tokio::test]
async fn a_user_may_say_what_such_a_run_begins_with() {
    let world = acp_child::with_script(World::new("", ""), &goes_on_with(":"), "");
    let (agent, mut events) = start(&world, AgentDialect::Omp, "agent/child").await;
    asked(&agent, &mut events, "Go on.").await;
    let lines = asked(&agent, &mut events, "[The agent goes on by itself.]").await;
    assert_eq!(lines, ["turn", "text Answer 2", "end Completed 0+0"]);
}
