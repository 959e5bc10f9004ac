//! The same conversation in every dialect.

use stentor_client::{
    AgentDialect, AgentEvent, AgentPrompt, ChildAgentError, Feature, FeatureSupport,
    InitialSession, PromptPicture,
};

use crate::shown::{Answering, options, start, turn, until};
use crate::world::World;

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
"#;

/// The events, the same for all but for what the dialect loses.
fn expected(dialect: AgentDialect) -> Vec<&'static str> {
    let ls = "call ls {}";
    let write = r#"call write {"content":"hello\n","path":"new.txt"}"#;
    let wrote = match dialect {
        AgentDialect::Acp => r#"ended call_1_2 Successfully wrote 6 bytes to new.txt ["hello\n"]"#,
        _ => "ended call_1_2 Successfully wrote 6 bytes to new.txt",
    };
    let listed = "ended call_1_1 plan.toml";
    let mut lines = vec!["turn", "thinking Let me see.", "text Looking."];
    match dialect {
        // Calls are announced with the answer, and start when they start.
        AgentDialect::Acp | AgentDialect::Omp => {
            lines.extend([ls, write, "start call_1_1", listed, "start call_1_2", wrote])
        }
        // A call is known when it starts.
        AgentDialect::Psi => {
            lines.extend([ls, "start call_1_1", listed, write, "start call_1_2", wrote])
        }
        // Only results are reported: that is when calls start, as far as one knows.
        AgentDialect::Synaps => {
            lines.extend([ls, write, "start call_1_1", listed, "start call_1_2", wrote])
        }
    }
    lines.push("text Done.");
    // psi reports the usage of the last answer.
    lines.push(match dialect {
        AgentDialect::Psi => "end Completed 3+1",
        _ => "end Completed 6+2",
    });
    lines
}

#[tokio::test]
async fn a_turn_with_thinking_tools_and_a_permission_is_the_same_in_every_dialect() {
    for dialect in AgentDialect::ALL {
        let world = World::new(CONVERSATION, "");
        let host = Answering::default();
        let (agent, mut events) = start(&world, dialect, host.clone()).await;
        agent.prompt("Go on.").await.unwrap();
        assert_eq!(turn(&mut events).await, expected(dialect), "{dialect}");
        let asked = host.asked.lock().unwrap().clone();
        let write = r#"Some("write") {"content":"hello\n","path":"new.txt"}"#;
        match dialect {
            AgentDialect::Synaps => assert_eq!(asked, [""; 0]),
            _ => assert_eq!(asked, [write], "{dialect}"),
        }
        agent.stop().await;
        let mut last = None;
        while let Some(event) = events.next().await {
            last = Some(event);
        }
        let Some(AgentEvent::Exited(exit)) = last else {
            panic!("{dialect}: {last:?}");
        };
        assert_eq!(exit.status.as_deref(), Some("exit status: 0"), "{dialect}");
        assert_eq!(agent.lost(), Default::default(), "{dialect}");
        let gone = agent.prompt("Again.").await;
        assert!(
            matches!(gone, Err(ChildAgentError::Ended(_))),
            "{dialect}: {gone:?}"
        );
    }
}

#[tokio::test]
async fn a_denied_call_fails_and_the_turn_goes_on() {
    for dialect in [AgentDialect::Acp, AgentDialect::Omp, AgentDialect::Psi] {
        let world = World::new(CONVERSATION, "");
        let host = Answering {
            denies: true,
            ..Answering::default()
        };
        let (agent, mut events) = start(&world, dialect, host).await;
        agent.prompt("Go on.").await.unwrap();
        let lines = turn(&mut events).await;
        assert!(
            lines
                .iter()
                .any(|line| line.starts_with("failed call_1_2 ")),
            "{lines:?}"
        );
        assert!(!world.path("work/new.txt").exists());
    }
}

#[tokio::test]
async fn an_abort_ends_the_turn_and_the_next_prompt_is_answered() {
    let scenario =
        "[[turn]]\nsteps = [{ text = \"I\" }, { hang = true }]\n[[turn]]\ntext = \"Yes.\"\n";
    for dialect in AgentDialect::ALL {
        let world = World::new(scenario, "");
        let (agent, mut events) = start(&world, dialect, Answering::default()).await;
        agent.prompt("Hang.").await.unwrap();
        until(&mut events, |event| matches!(event, AgentEvent::Text(_))).await;
        let busy = agent.prompt("Too early.").await;
        assert!(
            matches!(busy, Err(ChildAgentError::Busy)),
            "{dialect}: {busy:?}"
        );
        agent.abort().await.unwrap();
        assert_eq!(turn(&mut events).await, ["end Aborted 0+0"], "{dialect}");
        agent.prompt("Go on.").await.unwrap();
        let lines = turn(&mut events).await;
        assert_eq!(
            lines,
            ["turn", "text Yes.", "end Completed 0+0"],
            "{dialect}"
        );
    }
}

#[tokio::test]
async fn a_steering_message_reaches_the_turn_or_the_reason_is_told() {
    let scenario = r#"
[[turn]]
steps = [{ text = "One." }, { wait_for = "go" }]
[[turn]]
text = "You said {{last_user}}"
"#;
    for dialect in AgentDialect::ALL {
        let world = World::new(scenario, "");
        let (agent, mut events) = start(&world, dialect, Answering::default()).await;
        agent.prompt("Begin.").await.unwrap();
        until(&mut events, |event| matches!(event, AgentEvent::Text(_))).await;
        let steered = agent.steer("turn left").await;
        world.file("work/go", "");
        if dialect == AgentDialect::Synaps {
            let Err(ChildAgentError::Unsupported {
                feature, reason, ..
            }) = steered
            else {
                panic!("{steered:?}");
            };
            assert_eq!(
                (feature, reason),
                (Feature::Steer, "it answers one prompt at a time")
            );
            continue;
        }
        steered.unwrap();
        let lines = turn(&mut events).await;
        assert!(
            lines.contains(&"text You said turn left".to_owned()),
            "{dialect}: {lines:?}"
        );
    }
}

#[tokio::test]
async fn pictures_reach_the_model() {
    // One pixel.
    let data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let scenario = "[[turn]]\ntext = \"I see.\"\n";
    for dialect in AgentDialect::ALL {
        let world = World::new(scenario, "");
        let (agent, mut events) = start(&world, dialect, Answering::default()).await;
        let picture = PromptPicture {
            mime_type: "image/png".to_owned(),
            data: data.to_owned(),
        };
        let prompt = AgentPrompt::with_pictures("What is this?", vec![picture]);
        agent.prompt(prompt).await.unwrap();
        let lines = turn(&mut events).await;
        assert_eq!(
            lines,
            ["turn", "text I see.", "end Completed 0+0"],
            "{dialect}"
        );
        assert!(
            stored(&world).iter().any(|session| session.contains(data)),
            "{dialect}"
        );
    }
}

/// The files of all sessions.
pub fn stored(world: &World) -> Vec<String> {
    let mut folders = vec![world.path("home")];
    let mut sessions = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "jsonl") {
                sessions.push(std::fs::read_to_string(path).unwrap());
            }
        }
    }
    sessions
}

#[tokio::test]
async fn a_session_is_resumed_by_the_id_it_was_opened_with() {
    let scenario = "[[turn]]\ntext = \"Noted.\"\n";
    for dialect in AgentDialect::ALL {
        let world = World::new(scenario, "");
        let (agent, mut events) = start(&world, dialect, Answering::default()).await;
        agent.prompt("Remember this.").await.unwrap();
        turn(&mut events).await;
        let id = agent
            .session()
            .await
            .unwrap()
            .resume_id
            .expect("it stores sessions");
        agent.stop().await;
        let mut again = options(&world, dialect);
        again.session = InitialSession::Resume(id);
        let (agent, mut events) = stentor_client::ChildAgent::start(again, Answering::default())
            .await
            .unwrap();
        agent.prompt("What was it?").await.unwrap();
        turn(&mut events).await;
        let has = |session: &String, text| session.contains(text);
        let same =
            |session: &String| has(session, "Remember this.") && has(session, "What was it?");
        assert!(stored(&world).iter().any(same), "{dialect}");
    }
}

#[tokio::test]
async fn models_modes_and_sessions_are_listed_and_chosen() {
    for dialect in AgentDialect::ALL {
        let world = World::new("[[turn]]\ntext = \"Hi.\"\n", "");
        let (agent, _events) = start(&world, dialect, Answering::default()).await;
        let models = agent.models().await.unwrap();
        let guide = models.iter().find(|model| model.id == "offline/guide");
        let guide = guide.unwrap_or_else(|| panic!("{dialect}: {models:?}"));
        agent.set_model(&guide.id).await.unwrap();
        let unknown = agent.set_model("nobody/knows").await;
        assert!(
            matches!(unknown, Err(ChildAgentError::Refused(_))),
            "{dialect}: {unknown:?}"
        );
        let first = agent.session().await.unwrap().id;
        assert_ne!(agent.new_session().await.unwrap().id, first, "{dialect}");
        for (feature, tried) in [
            (Feature::Modes, agent.set_mode("read-only").await.map(drop)),
            (Feature::ListSessions, agent.sessions().await.map(drop)),
            (
                Feature::ThinkingLevel,
                agent.set_thinking_level("low").await,
            ),
        ] {
            match agent.support(feature) {
                FeatureSupport::No(why) => assert!(
                    matches!(&tried, Err(ChildAgentError::Unsupported { reason, .. }) if *reason == why),
                    "{dialect}: {tried:?}"
                ),
                _ => tried.unwrap_or_else(|error| panic!("{dialect} {feature:?}: {error}")),
            }
        }
    }
}
