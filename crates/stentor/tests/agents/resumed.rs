//! Sessions that have gone back behind what their child said last.

use serde_json::{Value, json};
use stentor_client::{Agent, Dialect, Events};

use crate::behind::agent;
use crate::driven::stored;
use crate::shown::{Answering, options, turn};
use crate::world::World;

/// The session of the built program with the child `agent/inner`.
async fn session(world: &World, words: &[&str]) -> (Agent, Events) {
    let mut options = options(world, Dialect::Omp);
    let words = ["--model", "agent/inner"].iter().chain(words);
    options.command.extend(words.map(|word| (*word).to_owned()));
    Agent::start(options, Answering::default()).await.unwrap()
}

/// The file of the only session there is, and the entry after which another program would go on that
/// went back to the first answer.
fn goes_back(world: &World) {
    let mut files = Vec::new();
    let mut folders = vec![world.path("home")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|kind| kind == "jsonl") => files.push(path),
                false => {}
            }
        }
    }
    let [file] = files.as_slice() else {
        panic!("{files:?}");
    };
    let mut text = std::fs::read_to_string(file).unwrap();
    let entries = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let first = entries
        .into_iter()
        .find(|entry: &Value| entry["message"]["role"] == "assistant")
        .unwrap();
    let label = json!({
        "type": "label", "id": "aaaaaaaa", "parentId": first["id"],
        "timestamp": "2026-01-01T00:00:00.000Z", "targetId": first["id"], "label": "here",
    });
    text.push_str(&format!("{label}\n"));
    std::fs::write(file, text).unwrap();
}

#[tokio::test]
async fn a_session_that_went_back_gives_its_child_the_conversation_it_has_now() {
    for inner in Dialect::ALL {
        let scenario = "on_exhausted = \"repeat-last\"\n[[turn]]\ntext = \"Noted.\"\n";
        let inner_world = World::new(scenario, "");
        let world = World::new("", &agent(&inner_world, inner));
        let (agent, mut events) = session(&world, &[]).await;
        for prompt in ["Remember this.", "Never mind."] {
            agent.prompt(prompt).await.unwrap();
            turn(&mut events).await;
        }
        agent.stop().await;
        goes_back(&world);
        for prompt in ["What was it?", "And then?"] {
            let (agent, mut events) = session(&world, &["--continue"]).await;
            agent.prompt(prompt).await.unwrap();
            let lines = turn(&mut events).await;
            let expected = ["turn", "text Noted.", "end Completed 0+0"];
            assert_eq!(lines, expected, "{inner}");
            agent.stop().await;
        }
        let stored = stored(&inner_world);
        let with = |text: &str| -> Vec<&String> {
            let with = stored.iter().filter(|session| session.contains(text));
            with.collect()
        };
        let told = "<conversation>\\nUser: Remember this.\\nAssistant: Noted.\\n\
                    </conversation>\\n\\nWhat was it?";
        let anew = with("What was it?");
        assert_eq!(anew.len(), 1, "{inner}");
        assert!(anew[0].contains(told), "{inner}: {}", anew[0]);
        assert!(!anew[0].contains("Never mind."), "{inner}");
        // It goes on with the session it has begun then.
        assert_eq!(anew, with("And then?"), "{inner}");
    }
}
