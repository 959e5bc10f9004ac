//! What a child is told again, and what not: after an answer that was not given, and in a session that
//! has gone back behind what its child said last.

use serde_json::{Value, json};
use stentor_client::{AgentDialect, AgentPrompt, ChildAgent, Events, PromptPicture};

use crate::acp_child;
use crate::behind::agent;
use crate::driven::stored;
use crate::shown::{Answering, options, turn};
use crate::world::World;

/// The session of the built program with the child `agent/inner`.
async fn session(world: &World, words: &[&str]) -> (ChildAgent, Events) {
    let mut options = options(world, AgentDialect::Omp);
    let words = ["--model", "agent/inner"].iter().chain(words);
    options.command.extend(words.map(|word| (*word).to_owned()));
    ChildAgent::start(options, Answering::default())
        .await
        .unwrap()
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
    for inner in AgentDialect::ALL {
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

/// A child that writes down what it is given. It fails at `fails`, and waits for an abort at `hangs`.
const WRITES_DOWN: &str = r#"
echo started >> starts
while IFS= read -r line; do
    id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
    case "$line" in
    *'"initialize"'*) result='{"protocolVersion":1,"agentCapabilities":{}}';;
    *'"session/new"'*) result='{"sessionId":"s"}';;
    *'"session/prompt"'*)
        printf '%s\n' "$line" >> prompts
        result='{"stopReason":"end_turn"}'
        case "$line" in
        *fails*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"overloaded"}}\n' "$id"
            continue;;
        *hangs*) touch hangs; IFS= read -r line; result='{"stopReason":"cancelled"}';;
        esac;;
    *) continue;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// What that child was given, and how often it was started.
fn written_down(world: &World) -> (Vec<String>, usize) {
    let read = |name: &str| std::fs::read_to_string(world.path("work").join(name)).unwrap();
    let prompts = read("prompts");
    let texts = prompts.lines().map(|line| {
        let frame: Value = serde_json::from_str(line).unwrap();
        let blocks = frame["params"]["prompt"].as_array().unwrap();
        let texts = blocks.iter().map(|block| block["text"].as_str().unwrap());
        texts.collect()
    });
    (texts.collect(), read("starts").lines().count())
}

#[tokio::test]
async fn a_turn_without_an_answer_does_not_cost_the_child_and_is_not_told_again() {
    let world = acp_child::with_script(World::new("", ""), WRITES_DOWN, "");
    let (agent, mut events) = acp_child::start(&world, &[], Answering::default()).await;
    for prompt in ["one", "fails", "two"] {
        agent.prompt(prompt).await.unwrap();
        turn(&mut events).await;
    }
    agent.prompt("hangs").await.unwrap();
    let hangs = world.path("work/hangs");
    let up = tokio::task::spawn_blocking(move || stentor_test_support::when_made(&hangs));
    up.await.unwrap();
    agent.abort().await.unwrap();
    turn(&mut events).await;
    agent.prompt("three").await.unwrap();
    turn(&mut events).await;
    let expected = ["one", "fails", "two", "hangs", "three"];
    let expected: Vec<String> = expected.iter().map(|&text| text.to_owned()).collect();
    assert_eq!(written_down(&world), (expected, 1));
}

#[tokio::test]
async fn a_picture_for_a_child_that_takes_none_is_told_in_words_and_the_session_goes_on() {
    let world = acp_child::with_script(World::new("", ""), WRITES_DOWN, "");
    let (agent, mut events) = acp_child::start(&world, &[], Answering::default()).await;
    let picture = PromptPicture {
        mime_type: "image/png".to_owned(),
        data: "AAAA".to_owned(),
    };
    let with_picture = AgentPrompt::with_pictures("look", vec![picture]);
    agent.prompt(with_picture.clone()).await.unwrap();
    assert_eq!(turn(&mut events).await, ["turn", "end Completed 0+0"]);
    agent.prompt("two").await.unwrap();
    turn(&mut events).await;
    let note = "look\n\n(an image, image/png, about 3 bytes, which agent/child cannot see)";
    let expected = vec![note.to_owned(), "two".to_owned()];
    assert_eq!(written_down(&world), (expected, 1));
    // The session knows it by now, and so does the client.
    agent.prompt(with_picture).await.unwrap();
    let lines = turn(&mut events).await;
    let refused = "which agent/child cannot see. Choose another model, or leave it out";
    assert!(lines.last().unwrap().contains(refused), "{lines:?}");
}
