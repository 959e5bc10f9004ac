//! What children ask, and who answers: the policy of the session, or whoever it asks.

use serde_json::{Value, json};

use crate::acp_child::{self, Steps, answers};
use crate::world::World;

/// A turn of a session with `agent`, in which a client gives every request the answer that `answer`
/// makes of its parameters. Returns what was asked.
fn turn(
    world: &World,
    (agent, mode): (&str, &str),
    capabilities: Value,
    answer: impl Fn(&Value) -> Value,
) -> Vec<Value> {
    let model = format!("agent/{agent}");
    let mut program = world.child(&["acp", "--model", &model, "--permission-mode", mode]);
    let session = program.shake_hands_acp(capabilities, &world.path("work"));
    let prompt = json!([{ "type": "text", "text": "Go on." }]);
    let params = json!({ "sessionId": session, "prompt": prompt });
    program.request_acp(3, "session/prompt", params);
    let mut asked = Vec::new();
    loop {
        let frame = program.json();
        if frame["id"] == 3 && frame.get("method").is_none() {
            break;
        }
        if let (Some(_), Some(id)) = (frame.get("method"), frame.get("id")) {
            let result = answer(&frame["params"]);
            program.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string());
            asked.push(frame);
        }
    }
    program.end();
    asked
}

fn selected(option: &str) -> Value {
    json!({ "outcome": { "outcome": "selected", "optionId": option } })
}

/// A child that asks whether a call may run that has a title, and nothing else that says what it does.
fn nameless(title: &str, options: Value) -> Steps {
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": title });
    let params = json!({ "sessionId": "s", "toolCall": { "toolCallId": "t" }, "options": options });
    Steps::default()
        .update(call)
        .ask("session/request_permission", params)
}

fn yes_or_no() -> Value {
    json!([
        { "optionId": "y", "name": "Yes", "kind": "allow_once" },
        { "optionId": "n", "name": "No", "kind": "reject_once" },
    ])
}

#[test]
fn always_to_a_call_without_a_command_or_a_path_is_about_this_call_of_this_agent() {
    let world = acp_child::world("", |_| nameless("Look around", yes_or_no()));
    let always = |agent: &str| {
        let asked = turn(&world, (agent, "ask"), json!({}), |_| {
            selected("allow_always")
        });
        asked.len()
    };
    assert_eq!(always("child"), 1);
    // It has been answered for good.
    assert_eq!(always("child"), 0);
    let config = world.path("home/.config/stentor/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let other = text.replace("[agents.child]", "[agents.other]");
    world.file(
        "home/.config/stentor/config.toml",
        &format!("{text}\n{other}"),
    );
    assert_eq!(always("other"), 1, "another agent");
    let script = std::fs::read_to_string(world.path("home/child.sh")).unwrap();
    let script = script.replace("Look around", "Delete the database");
    world.file("home/child.sh", &script);
    assert_eq!(always("child"), 1, "another call");
}

#[test]
fn always_to_a_long_call_is_about_all_of_its_arguments() {
    // The child chooses the id of the call, and calls all of them the same.
    let long = |end: &str| {
        let call = json!({
            "sessionUpdate": "tool_call", "toolCallId": "t", "title": "query", "kind": "other",
            "status": "pending", "rawInput": { "sql": format!("{}{end}", "A".repeat(5000)) },
        });
        let params =
            json!({ "sessionId": "s", "toolCall": { "toolCallId": "t" }, "options": yes_or_no() });
        Steps::default()
            .update(call)
            .ask("session/request_permission", params)
    };
    let world = acp_child::world("", |_| long("first"));
    let always = || {
        let asked = turn(&world, ("child", "ask"), json!({}), |_| {
            selected("allow_always")
        });
        asked.len()
    };
    assert_eq!(always(), 1);
    assert_eq!(always(), 0, "the same call");
    let script = std::fs::read_to_string(world.path("home/child.sh")).unwrap();
    let script = script.replace("Afirst", "Asecond");
    world.file("home/child.sh", &script);
    assert_eq!(always(), 1, "another call that begins like it");
}

#[test]
fn an_agent_that_can_only_be_allowed_something_for_good_is_refused() {
    let options = json!([
        { "optionId": "a", "name": "Always", "kind": "allow_always" },
        { "optionId": "n", "name": "No", "kind": "reject_once" },
    ]);
    let world = acp_child::world("", |_| nameless("Look around", options));
    turn(&world, ("child", "ask"), json!({}), |_| {
        selected("allow_once")
    });
    assert_eq!(answers(&world)[0]["result"], selected("n"));
}

/// Two ways to say yes: a question of which only a person knows the answer.
fn colours() -> Value {
    json!([
        { "optionId": "r", "name": "Red", "kind": "allow_once" },
        { "optionId": "b", "name": "Blue", "kind": "allow_once" },
        { "optionId": "n", "name": "Neither", "kind": "reject_once" },
    ])
}

#[test]
fn a_permission_with_several_ways_to_say_yes_is_put_to_a_person_in_every_mode() {
    for mode in ["ask", "all"] {
        let world = acp_child::world("", |_| nameless("Which colour?", colours()));
        let asked = turn(&world, ("child", mode), json!({}), |params| {
            let options = params["options"].as_array().unwrap();
            let blue = options.iter().find(|option| option["name"] == "Blue");
            selected(blue.unwrap()["optionId"].as_str().unwrap())
        });
        assert_eq!(asked.len(), 1, "{mode}: {asked:?}");
        assert_eq!(answers(&world)[0]["result"], selected("b"), "{mode}");
    }
}

/// A child that asks about a command with several ways to say yes.
fn choice_about(command: &str) -> Steps {
    let call = json!({
        "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Continue?", "kind": "execute",
        "status": "pending", "rawInput": { "command": command },
    });
    let params = json!({
        "sessionId": "s", "toolCall": { "toolCallId": "t" }, "options": [
            { "optionId": "y", "name": "No", "kind": "allow_once" },
            { "optionId": "No", "name": "Sure", "kind": "allow_once" },
            { "optionId": "n", "name": "No", "kind": "reject_once" },
        ],
    });
    Steps::default()
        .update(call)
        .ask("session/request_permission", params)
}

#[test]
fn a_choice_about_what_the_policy_denies_is_refused_and_nobody_is_asked() {
    let rule = "[[permissions]]\ntool = \"*\"\ncommand = \"rm*\"\ndecision = \"deny\"\n";
    for (rules, mode, command) in [
        (rule, "ask", "rm -rf /srv/x"),
        (rule, "all", "rm -rf /srv/x"),
        ("", "read-only", "touch x"),
    ] {
        let world = acp_child::world(rules, |_| choice_about(command));
        let asked = turn(&world, ("child", mode), json!({}), |_| selected("option-1"));
        assert!(asked.is_empty(), "{mode}: {asked:?}");
        assert_eq!(answers(&world)[0]["result"], selected("n"), "{mode}");
    }
}

#[test]
fn a_choice_says_which_command_it_is_about_and_what_each_option_does() {
    for (option, expected) in [("option-1", "y"), ("option-2", "No"), ("option-3", "n")] {
        let world = acp_child::world("", |_| choice_about("touch x"));
        let asked = turn(&world, ("child", "ask"), json!({}), |_| selected(option));
        assert_eq!(asked.len(), 1, "{asked:?}");
        let call = &asked[0]["params"]["toolCall"];
        assert_eq!(call["title"], "Continue?\n\nCommand: touch x");
        let meanings = "No: allows it once\nSure: allows it once\nNo (2): refuses it";
        assert_eq!(call["content"][0]["content"]["text"], meanings);
        assert_eq!(answers(&world)[0]["result"], selected(expected));
    }
}

#[test]
fn each_option_of_a_choice_is_of_the_kind_that_the_child_says() {
    let kinds = [
        "allow_once",
        "allow_always",
        "reject_once",
        "reject_always",
        "allow_once",
    ];
    let options = kinds.iter().enumerate();
    let options =
        options.map(|(n, kind)| json!({ "optionId": n.to_string(), "name": kind, "kind": kind }));
    let options = Value::Array(options.collect());
    let world = acp_child::world("", |_| nameless("Which?", options));
    let asked = turn(&world, ("child", "ask"), json!({}), |_| {
        selected("option-4")
    });
    assert_eq!(
        asked[0]["params"]["options"],
        json!([
            { "optionId": "option-1", "name": "allow_once", "kind": "allow_once" },
            { "optionId": "option-2", "name": "allow_always", "kind": "allow_always" },
            { "optionId": "option-3", "name": "reject_once", "kind": "reject_once" },
            { "optionId": "option-4", "name": "reject_always", "kind": "reject_always" },
            { "optionId": "option-5", "name": "allow_once (2)", "kind": "allow_once" },
        ])
    );
    assert_eq!(answers(&world)[0]["result"], selected("3"));
}

#[test]
fn a_question_of_a_child_that_nobody_can_answer_is_cancelled() {
    let form = json!({
        "sessionId": "s", "mode": "form", "message": "Which?",
        "requestedSchema": { "type": "object", "properties": { "a": { "type": "string" } } },
    });
    let world = acp_child::world("", |_| {
        nameless("Which colour?", colours()).ask("elicitation/create", form)
    });
    world.asked(&["-p", "Go on.", "--model", "agent/child"]);
    let answers = answers(&world);
    let cancelled = json!({ "outcome": { "outcome": "cancelled" } });
    assert_eq!(answers[0]["result"], cancelled);
    assert_eq!(answers[1]["result"], json!({ "action": "cancel" }));
}

#[test]
fn a_form_of_a_child_is_asked_field_by_field() {
    let form = json!({
        "sessionId": "s", "mode": "form", "message": "About the house",
        "requestedSchema": { "type": "object", "properties": {
            "colour": { "type": "string", "title": "Its colour", "enum": ["red", "blue"] },
            "rooms": { "type": "integer" },
            "sold": { "type": "boolean" },
            "with": {
                "type": "array",
                "items": { "anyOf": [{ "const": "g", "title": "Garden" }, { "const": "c", "title": "Car" }] },
            },
        } },
    });
    let world = acp_child::world("", |_| Steps::default().ask("elicitation/create", form));
    let filled_in = |params: &Value| {
        let answer = &params["requestedSchema"]["properties"]["answer"];
        let content = match answer["type"].as_str().unwrap() {
            "boolean" => json!(true),
            "array" => json!(["c"]),
            "string" if answer.get("oneOf").is_some() => json!("blue"),
            _ => json!(" 4 "),
        };
        json!({ "action": "accept", "content": { "answer": content } })
    };
    let has_forms = json!({ "elicitation": { "form": {} } });
    let asked = turn(&world, ("child", "ask"), has_forms, filled_in);
    assert_eq!(asked.len(), 4, "{asked:?}");
    let content = json!({ "colour": "blue", "rooms": 4, "sold": true, "with": ["c"] });
    let accepted = json!({ "action": "accept", "content": content });
    assert_eq!(answers(&world)[0]["result"], accepted);
}

#[test]
fn an_optional_field_may_be_left_empty_and_one_with_a_bad_answer_is_asked_again() {
    let form = json!({
        "sessionId": "s", "mode": "form", "message": "About the house",
        "requestedSchema": { "type": "object", "required": ["b_rooms", "d_name"], "properties": {
            "a_age": { "type": "integer" },
            "b_rooms": { "type": "integer" },
            "c_note": { "type": "string" },
            "d_name": { "type": "string" },
        } },
    });
    let world = acp_child::world("", |_| Steps::default().ask("elicitation/create", form));
    let filled_in = |params: &Value| {
        let said = match params["message"].as_str().unwrap() {
            "About the house\n\nb_rooms" => "four",
            "About the house\n\nb_rooms (a whole number is required)" => "4",
            "About the house\n\nd_name (an answer is required)" => "Rose",
            _ => "",
        };
        json!({ "action": "accept", "content": { "answer": said } })
    };
    let has_forms = json!({ "elicitation": { "form": {} } });
    let asked = turn(&world, ("child", "ask"), has_forms, filled_in);
    assert_eq!(asked.len(), 6, "{asked:?}");
    let content = json!({ "b_rooms": 4, "d_name": "Rose" });
    let accepted = json!({ "action": "accept", "content": content });
    assert_eq!(answers(&world)[0]["result"], accepted);
}

#[test]
fn a_permission_for_a_call_within_another_is_asked_while_that_one_runs() {
    let update = |id: &str, status: &str| {
        json!({
            "sessionUpdate": "tool_call_update", "toolCallId": id, "status": status,
        })
    };
    let call = |id: &str, kind: &str, status: &str, input: Value| {
        json!({
            "sessionUpdate": "tool_call", "toolCallId": id, "title": id, "kind": kind, "status": status,
            "rawInput": input,
        })
    };
    let may = json!({
        "sessionId": "s", "toolCall": { "toolCallId": "inner" }, "options": yes_or_no(),
    });
    let world = acp_child::world("", |_| {
        Steps::default()
            .update(call("outer", "think", "in_progress", json!({})))
            .update(call(
                "inner",
                "execute",
                "pending",
                json!({ "command": "make" }),
            ))
            .ask("session/request_permission", may)
            .update(update("inner", "completed"))
            .update(update("outer", "completed"))
    });
    let asked = turn(&world, ("child", "ask"), json!({}), |_| {
        selected("allow_once")
    });
    assert_eq!(asked.len(), 1);
    assert_eq!(
        asked[0]["params"]["toolCall"]["rawInput"]["command"],
        "make"
    );
    assert_eq!(answers(&world)[0]["result"], selected("y"));
}

/// How often somebody is asked when a child first asks about a command and then runs it with a variable
/// more in its environment.
fn questions_about(command: &str, (variable, value): (&str, &str)) -> usize {
    let call = json!({
        "sessionUpdate": "tool_call", "toolCallId": "t", "title": "shell", "kind": "execute",
        "rawInput": { "command": command },
    });
    let may = json!({
        "sessionId": "s", "toolCall": { "toolCallId": "t" }, "options": yes_or_no(),
    });
    let terminal = json!({
        "sessionId": "s", "command": command,
        "env": [{ "name": variable, "value": value }],
    });
    let wait = json!({ "sessionId": "s", "terminalId": "term_1" });
    let world = acp_child::world("", |_| {
        Steps::default()
            .update(call)
            .ask("session/request_permission", may)
            .ask("terminal/create", terminal)
            .ask("terminal/wait_for_exit", wait)
    });
    let asked = turn(&world, ("child", "ask"), json!({}), |_| {
        selected("allow_once")
    });
    assert_eq!(answers(&world)[2]["result"]["exitCode"], 0, "{variable}");
    asked.len()
}

#[test]
fn a_permitted_command_is_not_asked_about_again_when_it_runs_with_marks_in_its_environment() {
    for (variable, questions) in [("AGENT_SESSION_ID", 1), ("BASH_ENV", 2)] {
        let asked = questions_about("printf hi", (variable, "x"));
        assert_eq!(asked, questions, "{variable}");
    }
}

#[test]
fn a_permitted_command_is_asked_about_again_when_what_its_environment_marks_could_change_it() {
    for (command, variable, value) in [
        (r#"eval "$A_SESSION_ID""#, "A_SESSION_ID", "true"),
        (r#"eval "$AGENT_SESSION_ID""#, "AGENT_SESSION_ID", "true"),
        ("printenv AGENT", "AGENT", "x"),
        ("printf hi", "AGENT", "x; touch y"),
    ] {
        let asked = questions_about(command, (variable, value));
        assert_eq!(asked, 2, "{command}, {variable}={value}");
    }
}
