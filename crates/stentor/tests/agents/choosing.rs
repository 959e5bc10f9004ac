//! Which model, mode and thinking level a child has, and how one gets there.

use serde_json::json;
use stentor_client::{AgentDialect, ChildAgent};

use crate::acp_child::{self, Steps, settings};
use crate::behind::agent;
use crate::driven::stored;
use crate::shown::{Answering, options, turn};
use crate::world::World;

const NOTED: &str = "on_exhausted = \"repeat-last\"\n[[turn]]\ntext = \"Noted.\"\n";

#[tokio::test]
async fn the_models_of_a_child_are_listed_once_it_runs_and_choosing_one_goes_on_in_its_session() {
    for inner in AgentDialect::ALL {
        let inner_world = World::new(NOTED, "");
        let world = World::new("", &agent(&inner_world, inner));
        let mut options = options(&world, AgentDialect::Omp);
        let model = ["--model".to_owned(), "agent/inner".to_owned()];
        options.command.extend(model);
        let (agent, mut events) = ChildAgent::start(options, Answering::default())
            .await
            .unwrap();
        agent.prompt("Remember this.").await.unwrap();
        turn(&mut events).await;
        let guide = "agent/inner/offline/guide";
        // The child is asked while it works; nothing waits for its answer but this.
        while !agent
            .models()
            .await
            .unwrap()
            .iter()
            .any(|model| model.id == guide)
        {}
        agent.set_model(guide).await.unwrap();
        agent.prompt("help").await.unwrap();
        let lines = turn(&mut events).await;
        assert!(
            !lines.contains(&"text Noted.".to_owned()),
            "{inner}: {lines:?}"
        );
        let end = lines.last().unwrap();
        assert!(end.starts_with("end Completed"), "{inner}: {lines:?}");
        agent.set_model("agent/inner").await.unwrap();
        agent.prompt("And back.").await.unwrap();
        let lines = turn(&mut events).await;
        assert!(
            lines.contains(&"text Noted.".to_owned()),
            "{inner}: {lines:?}"
        );
        agent.stop().await;
        let stored = stored(&inner_world);
        let all = ["Remember this.", "help", "And back."];
        let whole = stored
            .iter()
            .find(|session| all.iter().all(|said| session.contains(said)));
        assert!(
            !whole
                .unwrap_or_else(|| panic!("{inner}"))
                .contains("<conversation>"),
            "{inner}"
        );
    }
}

#[tokio::test]
async fn a_model_that_the_child_does_not_have_is_an_error_with_its_reason() {
    for inner in AgentDialect::ALL {
        let inner_world = World::new(NOTED, "");
        let world = World::new("", &agent(&inner_world, inner));
        let mut options = options(&world, AgentDialect::Omp);
        let model = ["--model".to_owned(), "agent/inner/nobody/knows".to_owned()];
        options.command.extend(model);
        let (agent, mut events) = ChildAgent::start(options, Answering::default())
            .await
            .unwrap();
        agent.prompt("Go on.").await.unwrap();
        let lines = turn(&mut events).await;
        let end = "end Failed agent/inner/nobody/knows: the agent refused: ";
        assert!(lines.last().unwrap().starts_with(end), "{inner}: {lines:?}");
    }
}

#[tokio::test]
async fn the_settings_of_an_entry_reach_the_child_before_its_first_prompt() {
    let select = |id: &str, category: &str, values: [&str; 2]| {
        let options = values.map(|value| json!({ "value": value, "name": value }));
        json!({
            "id": id, "name": id, "category": category, "type": "select",
            "currentValue": values[0], "options": options,
        })
    };
    let session = json!({
        "sessionId": "s",
        "configOptions": [
            select("llm", "model", ["m1", "m2"]),
            select("stance", "mode", ["code", "plan"]),
            select("effort", "thought_level", ["low", "high"]),
        ],
    });
    let config = "model = \"m2\"\nmode = \"plan\"\nthinking = \"high\"\n";
    let world = acp_child::world(config, |_| Steps::default().session(session));
    let (agent, mut events) = acp_child::start(&world, &[], Answering::default()).await;
    agent.prompt("Go on.").await.unwrap();
    turn(&mut events).await;
    let chosen = |id: u64, config: &str, value: &str| {
        json!({
            "jsonrpc": "2.0", "id": id, "method": "session/set_config_option",
            "params": { "configId": config, "value": value, "sessionId": "s" },
        })
    };
    let expected = [
        chosen(3, "stance", "plan"),
        chosen(4, "effort", "high"),
        chosen(5, "llm", "m2"),
    ];
    assert_eq!(settings(&world), expected);
}

#[tokio::test]
async fn a_setting_that_a_child_does_not_have_is_warned_about_and_the_prompt_is_answered() {
    let world = acp_child::world("mode = \"plan\"\nmodel = \"m2\"\n", |_| Steps::default());
    let mut command = world.command(&["-p", "Go on.", "--model", "agent/child"]);
    let out = command.output().unwrap();
    let warnings = String::from_utf8(out.stderr).unwrap();
    for warning in [
        "agent/child: the agent cannot change its mode: it does not announce this",
        "agent/child: the agent cannot change its model: it does not announce this",
    ] {
        assert!(warnings.contains(warning), "{warnings}");
    }
    assert_eq!(out.status.code(), Some(0), "{warnings}");
}

#[tokio::test]
async fn a_thinking_level_is_passed_on_once_one_was_chosen() {
    let script = r#"
id() { printf '%s' "$line" | sed 's/.*"id":"\([^"]*\)".*/\1/'; }
while IFS= read -r line; do
    case "$line" in
    *'"type":"get_state"'*) data=',"data":{"sessionId":"s","thinkingLevel":"low"}';;
    *) data='';;
    esac
    case "$line" in *thinking*) printf '%s\n' "$line" >> levels;; esac
    type=$(printf '%s' "$line" | sed 's/.*"type":"\([^"]*\)".*/\1/')
    printf '{"id":"%s","type":"response","command":"%s","success":true%s}\n' "$(id)" "$type" "$data"
    case "$line" in *'"type":"prompt"'*)
        echo '{"type":"agent_start"}'
        echo '{"type":"agent_end","messages":[]}'
        echo '{"type":"agent_settled"}'
    ;; esac
done
"#;
    let world = World::new("", "");
    world.file("home/child.sh", script);
    let child = world.path("home/child.sh").display().to_string();
    let config = format!("[agents.child]\ncommand = [\"sh\", {child:?}]\ndialect = \"omp\"\n");
    world.file("home/.config/stentor/config.toml", &config);
    let mut options = options(&world, AgentDialect::Omp);
    let model = ["--model".to_owned(), "agent/child".to_owned()];
    options.command.extend(model);
    let (agent, mut events) = ChildAgent::start(options, Answering::default())
        .await
        .unwrap();
    agent.prompt("One.").await.unwrap();
    turn(&mut events).await;
    assert!(!world.path("work/levels").exists(), "nobody chose one");
    for level in ["high", "medium"] {
        agent.set_thinking_level(level).await.unwrap();
        agent.prompt("Go on.").await.unwrap();
        turn(&mut events).await;
    }
    let levels = std::fs::read_to_string(world.path("work/levels")).unwrap();
    let levels: Vec<serde_json::Value> = levels
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .map(|frame: serde_json::Value| json!([frame["type"], frame["level"]]))
        .collect();
    let expected = ["high", "medium"].map(|level| json!(["set_thinking_level", level]));
    assert_eq!(levels, expected);
}
