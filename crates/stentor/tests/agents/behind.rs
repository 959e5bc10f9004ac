//! The program behind the program, in every dialect behind every dialect: the same conversation
//! with and without a child in between.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use expect_test::expect;
use stentor_client::{AgentDialect, AgentEvent, ChildAgent, Events};

use crate::shown::{Answering, fine_turn, options, until, words};
use crate::world::World;

/// Thinking, two tools, a permission, then an answer that is aborted, then one that is steered, then a
/// call that is.
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
[[turn]]
steps = [{ text = "Running." }, { tool = "bash", arguments = { command = "echo begun; cat pipe" } }]
[[turn]]
text = "You said {{last_user}}"
[[turn]]
text = "You said {{last_user}}, too"
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

/// The whole conversation as lines. Whoever answers in the end lives in `home`; none when it cannot be
/// steered.
async fn conversation(
    agent: &ChildAgent,
    events: &mut Events,
    world: &World,
    home: Option<PathBuf>,
) -> Vec<String> {
    agent.prompt("Go on.").await.unwrap();
    let mut lines = fine_turn(events).await;
    agent.prompt("Hang.").await.unwrap();
    until(events, |event| matches!(event, AgentEvent::Text(_))).await;
    agent.abort().await.unwrap();
    lines.extend(fine_turn(events).await);
    agent.prompt("Begin.").await.unwrap();
    until(events, |event| matches!(event, AgentEvent::Text(_))).await;
    let steered = agent.steer("turn left").await;
    world.file("work/go", "");
    lines.extend(fine_turn(events).await);
    if steered.is_err() {
        agent.prompt("turn left").await.unwrap();
        lines.extend(fine_turn(events).await);
    }
    let pipe = world.path("work/pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    agent.prompt("Run.").await.unwrap();
    // synaps does not tell that a call runs.
    let runs = |event: &AgentEvent| match home {
        Some(_) => matches!(event, AgentEvent::ToolCalled(_)),
        None => matches!(event, AgentEvent::Text(_)),
    };
    until(events, runs).await;
    let steered = agent.steer("turn right").await;
    let released = tokio::task::spawn_blocking(move || {
        if let Some(home) = home.filter(|_| steered.is_ok()) {
            when_anywhere(&home, "turn right");
        }
        std::fs::write(pipe, "went on\n").map(|()| steered.is_ok())
    });
    let is_steered = released.await.unwrap().unwrap();
    let run = fine_turn(events).await;
    // Of the others, this much has been read by now.
    let is_read = |line: &String| line.starts_with("call bash") || line.starts_with("title");
    lines.extend(run.into_iter().filter(|line| !is_read(line)));
    if !is_steered {
        agent.prompt("turn right").await.unwrap();
        lines.extend(fine_turn(events).await);
    }
    // Some repeat the name of the session with every turn.
    let mut names = HashSet::new();
    lines.retain(|line| !line.starts_with("session") || names.insert(line.clone()));
    lines
}

/// Waits until a session below a folder has a text on disk.
fn when_anywhere(folder: &Path, text: &str) {
    let has = |path: &Path| std::fs::read_to_string(path).is_ok_and(|all| all.contains(text));
    while !files(folder).iter().any(|path| has(path)) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let found = entries.flat_map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => files(&entry.path()),
        _ => vec![entry.path()],
    });
    let sessions = found.filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    sessions.collect()
}

async fn direct(outer: AgentDialect) -> (Vec<String>, Vec<String>) {
    let world = World::new(CONVERSATION, "");
    let host = Answering::default();
    let (agent, mut events) = ChildAgent::start(options(&world, outer), host.clone())
        .await
        .unwrap();
    let home = Some(world.path("home"));
    let lines = conversation(&agent, &mut events, &world, home).await;
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
    let home = (inner != AgentDialect::Synaps).then(|| inner_world.path("home"));
    let lines = conversation(&agent, &mut events, &world, home).await;
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
            - end Completed 6+2
            + ended call_1_2 Successfully wrote 6 bytes to new.txt
            + end Completed 3+1
            + end Completed 3+1
        synaps behind acp
            - ended call_1_2 Successfully wrote 6 bytes to new.txt ["hello\n"]
            - context of 200000
            - context of 200000
            - progress call_6_1 begun
            - text You said turn right
            - context of 200000
            - end Completed 6+2
            + ended call_1_2 Successfully wrote 6 bytes to new.txt
            + context of 1000000
            + context of 1000000
            + text You said Run.
            + answer over
            + text You said turn right, too
            + context of 1000000
            + end Completed 9+3
            asked [] instead of ["Some(\"write\") {\"content\":\"hello\\n\",\"path\":\"new.txt\"}", "Some(\"bash\") {\"command\":\"echo begun; cat pipe\"}"]
        acp behind omp
            - usage 3+1
            - usage 3+1
            - usage 3+1
            - usage 3+1
            + session Go on.
            + title List the working folder
            + title Write new.txt
            + usage 6+2
            + usage 0+0
            + usage 0+0
            + usage 6+2
        omp behind omp
        psi behind omp
            - end Completed 6+2
            - usage 3+1
            - usage 3+1
            - end Completed 6+2
            + title ls
            + title write new.txt
            + usage 0+0
            + end Completed 3+1
            + usage 0+0
            + usage 0+0
            + answer over
            + end Completed 3+1
        synaps behind omp
            - context of 200000
            - context of 200000
            - usage 3+1
            - context of 200000
            - usage 3+1
            - progress call_6_1 begun
            - text You said turn right
            - usage 3+1
            - context of 200000
            - end Completed 6+2
            + usage 6+2
            + context of 1000000
            + usage 0+0
            + context of 1000000
            + context of 1000000
            + usage 0+0
            + text You said Run.
            + usage 6+2
            + text You said turn right, too
            + answer over
            + context of 1000000
            + end Completed 9+3
            asked [] instead of ["Some(\"write\") {\"content\":\"hello\\n\",\"path\":\"new.txt\"}", "Some(\"bash\") {\"command\":\"echo begun; cat pipe\"}"]
        acp behind psi
            - end Completed 3+1
            - end Completed 3+1
            + session Go on.
            + end Completed 6+2
            + end Completed 6+2
        omp behind psi
        psi behind psi
        synaps behind psi
            - context of 200000
            - progress call_6_1 begun
            - text You said turn right
            - end Completed 3+1
            + context of 1000000
            + end Completed 6+2
            + text You said Run.
            + text You said turn right, too
            + answer over
            asked [] instead of ["Some(\"write\") {\"content\":\"hello\\n\",\"path\":\"new.txt\"}", "Some(\"bash\") {\"command\":\"echo begun; cat pipe\"}"]
        acp behind synaps
        omp behind synaps
        psi behind synaps
            - end Completed 6+2
            - end Completed 6+2
            + end Completed 3+1
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
