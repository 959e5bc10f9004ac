//! The program behind the program, in every dialect behind every dialect: the same conversation
//! with and without a child in between.

use expect_test::expect;
use stentor_client::{AgentDialect, AgentEvent, ChildAgent, Events};

use crate::shown::{Answering, options, titled_turn, turn, until, words};
use crate::world::World;

/// Thinking, two tools, a permission, then an answer that is aborted, then one that is steered.
const CONVERSATION: &str = r#"
usage = { input = 3, output = 1 }
[[turn]]
steps = [
  { thinking = "Let me see." },
  { text = "Looking." },
  { tool = "ls", arguments = {} },
  { tool = "write", arguments = { path = "new.txt", content = "hello\n" } },
]
[[turn]]
text = "Done."
[[turn]]
steps = [{ text = "I" }, { hang = true }]
[[turn]]
steps = [{ text = "One." }, { wait_for = "go" }]
[[turn]]
text = "You said {{last_user}}"
"#;

/// The configuration with which the program that lives in `inner` is a child of another.
pub fn agent(inner: &World, dialect: AgentDialect) -> String {
    let home = inner.path("home").display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    let program = env!("CARGO_BIN_EXE_stentor");
    let mut command = vec!["env".to_owned(), "-i".to_owned()];
    command.extend([
        format!("HOME={home}"),
        format!("PATH={path}"),
        program.to_owned(),
    ]);
    command.extend(words(dialect).iter().map(|word| (*word).to_owned()));
    format!("[agents.inner]\ncommand = {command:?}\ndialect = \"{dialect}\"\n")
}

/// The whole conversation as lines.
async fn conversation(agent: &ChildAgent, events: &mut Events, world: &World) -> Vec<String> {
    agent.prompt("Go on.").await.unwrap();
    let mut lines = titled_turn(events).await;
    agent.prompt("Hang.").await.unwrap();
    until(events, |event| matches!(event, AgentEvent::Text(_))).await;
    agent.abort().await.unwrap();
    lines.extend(turn(events).await);
    agent.prompt("Begin.").await.unwrap();
    until(events, |event| matches!(event, AgentEvent::Text(_))).await;
    match agent.steer("turn left").await {
        Ok(()) => {
            world.file("work/go", "");
            lines.extend(turn(events).await);
        }
        Err(_) => {
            world.file("work/go", "");
            lines.extend(turn(events).await);
            agent.prompt("turn left").await.unwrap();
            lines.extend(turn(events).await);
        }
    }
    lines
}

async fn direct(outer: AgentDialect) -> (Vec<String>, Vec<String>) {
    let world = World::new(CONVERSATION, "");
    let host = Answering::default();
    let (agent, mut events) = ChildAgent::start(options(&world, outer), host.clone())
        .await
        .unwrap();
    let lines = conversation(&agent, &mut events, &world).await;
    let asked = host.asked.lock().unwrap().clone();
    (lines, asked)
}

async fn behind(outer: AgentDialect, inner: AgentDialect) -> (Vec<String>, Vec<String>) {
    let inner_world = World::new(CONVERSATION, "");
    let world = World::new("", &agent(&inner_world, inner));
    let mut options = options(&world, outer);
    options
        .command
        .extend(["--model".to_owned(), "agent/inner".to_owned()]);
    let host = Answering::default();
    let (agent, mut events) = ChildAgent::start(options, host.clone()).await.unwrap();
    let lines = conversation(&agent, &mut events, &world).await;
    let asked = host.asked.lock().unwrap().clone();
    (lines, asked)
}

/// What is missing (`-`) and what is more (`+`).
fn difference(direct: &[String], behind: &[String]) -> String {
    let mut text = String::new();
    let mut rest = behind.to_vec();
    for line in direct {
        match rest.iter().position(|other| other == line) {
            Some(place) => drop(rest.remove(place)),
            None => text.push_str(&format!("    - {line}\n")),
        }
    }
    for line in rest {
        text.push_str(&format!("    + {line}\n"));
    }
    if text.is_empty() && direct != behind {
        text = "    the same in another order:\n".to_owned();
        for line in behind {
            text.push_str(&format!("      {line}\n"));
        }
    }
    text
}

#[tokio::test]
async fn every_dialect_behind_every_dialect_loses_only_what_is_listed() {
    let mut table = String::new();
    for outer in AgentDialect::ALL {
        let (lines, asked) = direct(outer).await;
        for inner in AgentDialect::ALL {
            let (others, others_asked) = behind(outer, inner).await;
            table.push_str(&format!("{inner} behind {outer}\n"));
            table.push_str(&difference(&lines, &others));
            if asked != others_asked {
                table.push_str(&format!(
                    "    asked {others_asked:?} instead of {asked:?}\n"
                ));
            }
        }
    }
    expect![[r#"
        acp behind acp
        omp behind acp
            - ended call_1_2 Successfully wrote 6 bytes to new.txt ["hello\n"]
            + ended call_1_2 Successfully wrote 6 bytes to new.txt
        psi behind acp
            - ended call_1_2 Successfully wrote 6 bytes to new.txt ["hello\n"]
            - end Completed 6+2
            + ended call_1_2 Successfully wrote 6 bytes to new.txt
            + end Completed 3+1
        synaps behind acp
            - ended call_1_2 Successfully wrote 6 bytes to new.txt ["hello\n"]
            + ended call_1_2 Successfully wrote 6 bytes to new.txt
            asked [] instead of ["Some(\"write\") {\"content\":\"hello\\n\",\"path\":\"new.txt\"}"]
        acp behind omp
            + title List the working folder
            + title Write new.txt
        omp behind omp
        psi behind omp
            - end Completed 6+2
            + title ls
            + title write new.txt
            + end Completed 3+1
        synaps behind omp
            asked [] instead of ["Some(\"write\") {\"content\":\"hello\\n\",\"path\":\"new.txt\"}"]
        acp behind psi
            - end Completed 3+1
            + end Completed 6+2
        omp behind psi
        psi behind psi
        synaps behind psi
            - end Completed 3+1
            + end Completed 6+2
            asked [] instead of ["Some(\"write\") {\"content\":\"hello\\n\",\"path\":\"new.txt\"}"]
        acp behind synaps
        omp behind synaps
        psi behind synaps
            - end Completed 6+2
            + end Completed 3+1
        synaps behind synaps
    "#]]
    .assert_eq(&table);
    let page = include_str!("../../../../docs/agents.md");
    assert!(
        page.contains(&format!("```text\n{table}```\n")),
        "docs/agents.md must list:\n{table}"
    );
}
