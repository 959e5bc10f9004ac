//! The modes of a child, chosen from every frontend.

use serde_json::{Value, json};
use stentor_client::{AgentDialect, ChildAgent, ChildAgentError};

use crate::acp_child::{self, Steps, settings};
use crate::behind::agent;
use crate::shown::{Answering, options, turn};
use crate::world::{Child, World};

/// What a child with two modes says of its session.
fn with_modes() -> Value {
    let modes = [("code", "Code"), ("plan", "Plan")];
    let modes = modes.map(|(id, name)| json!({ "id": id, "name": name }));
    json!({ "sessionId": "s", "modes": { "currentModeId": "code", "availableModes": modes } })
}

/// The modes that the child was put in.
fn put_in(world: &World) -> Vec<Value> {
    let set = settings(world).into_iter();
    set.map(|frame| json!([frame["method"], frame["params"]["modeId"]]))
        .collect()
}

#[tokio::test]
async fn the_modes_of_a_child_are_listed_as_models_once_it_runs_and_are_chosen_in_every_dialect() {
    for outer in AgentDialect::ALL {
        let world = acp_child::world("", |_| Steps::default().session(with_modes()));
        let mut options = options(&world, outer);
        let model = ["--model".to_owned(), "agent/child".to_owned()];
        options.command.extend(model);
        let (agent, mut events) = ChildAgent::start(options, Answering::default())
            .await
            .unwrap();
        agent.prompt("One.").await.unwrap();
        turn(&mut events).await;
        let models = agent.models().await.unwrap();
        for mode in ["agent/child@code", "agent/child@plan"] {
            let is_listed = models.iter().any(|model| model.id == mode);
            assert!(is_listed, "{outer}: {models:?}");
        }
        // Twice the same is set once; without a mode it is the one that the child began in.
        for model in ["agent/child@plan", "agent/child@plan", "agent/child"] {
            agent.set_model(model).await.unwrap();
            agent.prompt("Go on.").await.unwrap();
            let lines = turn(&mut events).await;
            assert_eq!(lines, ["turn", "end Completed 0+0"], "{outer}");
        }
        let set = ["plan", "code"].map(|mode| json!(["session/set_mode", mode]));
        assert_eq!(put_in(&world), set, "{outer}");
    }
}

#[tokio::test]
async fn a_mode_can_be_named_at_the_start_and_one_that_the_child_does_not_have_is_an_error() {
    let world = acp_child::world("", |_| Steps::default().session(with_modes()));
    let ask = |model: &str| {
        let mut command = world.command(&["-p", "Go on.", "--model", model]);
        let out = command.output().unwrap();
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    };
    let (code, error) = ask("agent/child@plan");
    assert_eq!(code, Some(0), "{error}");
    assert_eq!(put_in(&world), [json!(["session/set_mode", "plan"])]);
    let (code, error) = ask("agent/child@nosuch");
    let why = "agent/child@nosuch: it has no mode \"nosuch\": its modes are code, plan";
    assert!(code == Some(1) && error.contains(why), "{error}");
}

#[tokio::test]
async fn a_child_without_modes_refuses_one_with_the_reason() {
    for inner in [AgentDialect::Omp, AgentDialect::Psi, AgentDialect::Synaps] {
        let inner_world = World::new("[[turn]]\ntext = \"Hi.\"\n", "");
        let world = World::new("", &agent(&inner_world, inner));
        let mut command = world.command(&["-p", "Go on.", "--model", "agent/inner@plan"]);
        let out = command.output().unwrap();
        let error = String::from_utf8(out.stderr).unwrap();
        let why = "agent/inner@plan: the agent cannot change its mode: there are no modes";
        assert!(
            out.status.code() == Some(1) && error.contains(why),
            "{error}"
        );
    }
}

/// Sends a request and returns the option for the mode of the child each time it is written up to the
/// answer.
fn options_shown(child: &mut Child, id: u64, method: &str, params: Value) -> Vec<Value> {
    let frame = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    child.send(&frame.to_string());
    let mut shown = Vec::new();
    loop {
        let frame = child.json();
        let update = &frame["params"]["update"];
        let options = match update["sessionUpdate"].as_str() {
            Some("config_option_update") => &update["configOptions"],
            _ => &frame["result"]["configOptions"],
        };
        if let Some(options) = options.as_array() {
            let modes = options.iter().filter(|option| option["id"] == "agent_mode");
            shown.push(modes.cloned().collect());
        }
        if frame["id"] == id {
            return shown;
        }
    }
}

#[test]
fn acp_shows_the_modes_of_a_child_as_an_option_also_when_the_child_changes_its_mode() {
    let changed = json!({ "sessionUpdate": "current_mode_update", "currentModeId": "plan" });
    let world = acp_child::world("", |_| {
        Steps::default().session(with_modes()).update(changed)
    });
    let mut child = world.child(&["acp", "--model", "agent/child"]);
    let hello = json!({ "protocolVersion": 1 });
    options_shown(&mut child, 1, "initialize", hello);
    let new = json!({ "cwd": world.path("work"), "mcpServers": [] });
    let frame = json!({ "jsonrpc": "2.0", "id": 2, "method": "session/new", "params": new });
    child.send(&frame.to_string());
    let session = loop {
        let frame = child.json();
        if frame["id"] == 2 {
            break frame["result"]["sessionId"].clone();
        }
    };
    let option = |current: &str| {
        let values = [
            ("agent/child", "Default"),
            ("agent/child@code", "Code"),
            ("agent/child@plan", "Plan"),
        ];
        let values = values.map(|(value, name)| json!({ "value": value, "name": name }));
        json!([{
            "id": "agent_mode", "name": "Mode of the agent", "category": "model_config",
            "description": "A mode of the agent that answers, from its next turn on.",
            "type": "select", "currentValue": current, "options": values,
        }])
    };
    let text = json!([{ "type": "text", "text": "Go on." }]);
    let prompt = json!({ "sessionId": session, "prompt": text });
    let shown = options_shown(&mut child, 3, "session/prompt", prompt.clone());
    assert_eq!(shown, [option("agent/child"), option("agent/child@plan")]);
    let chosen =
        json!({ "sessionId": session, "configId": "agent_mode", "value": "agent/child@code" });
    let shown = options_shown(&mut child, 4, "session/set_config_option", chosen);
    assert_eq!(
        shown,
        [option("agent/child@code"), option("agent/child@code")]
    );
    options_shown(&mut child, 5, "session/prompt", prompt);
    assert_eq!(put_in(&world), [json!(["session/set_mode", "code"])]);
}

#[tokio::test]
async fn a_mode_survives_a_restart_of_the_session() {
    let world = acp_child::world("", |_| Steps::default().session(with_modes()));
    let started = |words: &[&str]| {
        let mut command = world.command(words);
        let out = command.output().unwrap();
        assert_eq!(out.status.code(), Some(0), "{out:?}");
    };
    started(&["-p", "One.", "--model", "agent/child@plan"]);
    started(&["-p", "Two.", "--continue"]);
    let set = json!(["session/set_mode", "plan"]);
    assert_eq!(put_in(&world), [set.clone(), set]);
}

#[tokio::test]
async fn what_no_agent_has_is_refused_by_the_library_too() {
    let world = World::new("[[turn]]\ntext = \"Hi.\"\n", "");
    let (agent, _events) =
        ChildAgent::start(options(&world, AgentDialect::Acp), Answering::default())
            .await
            .unwrap();
    let refused = agent.set_mode("nosuch").await;
    assert!(
        matches!(refused, Err(ChildAgentError::Refused(_))),
        "{refused:?}"
    );
}
