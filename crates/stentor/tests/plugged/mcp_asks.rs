//! What MCP servers ask of a session: a person, the model, where it works. Through every dialect.

use expect_test::expect;
use serde_json::{Value, json};

use crate::world::{Child, World};

/// A server whose one tool asks what it is told to ask, and gives back the answer.
const SERVER: &str = r#"
import json, sys, threading, time

def send(message):
    sys.stdout.write(json.dumps(dict(message, jsonrpc="2.0")) + "\n")
    sys.stdout.flush()

def said(id, text):
    send({"id": id, "result": {"content": [{"type": "text", "text": text}]}})

def report(token):
    done = 0
    while True:
        done += 1
        send({"method": "notifications/progress", "params": {"progressToken": token, "progress": done}})
        time.sleep(0.01)

call, asked, answers, others = None, [], [], []

def ask_next():
    if asked:
        send({"id": "q%d" % len(asked), **asked.pop(0)})
    else:
        for id in [call] + others:
            said(id, json.dumps(answers))

for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        with open("greeting.json", "w") as file:
            json.dump(message["params"]["capabilities"], file)
        send({"id": id, "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "asks", "version": "1"}}})
    elif method == "tools/list":
        send({"id": id, "result": {"tools": [{"name": "ask", "inputSchema": {"type": "object"}}]}})
    elif method == "tools/call":
        call, arguments = id, message["params"]["arguments"]
        if arguments.get("reports"):
            token = message["params"]["_meta"]["progressToken"]
            threading.Thread(target=report, args=(token,), daemon=True).start()
            continue
        if arguments.get("with_other") and not others:
            others.append(id)
            continue
        asked = arguments["asks"]
        ask_next()
        if arguments.get("gives_up"):
            send({"method": "notifications/cancelled", "params": {"requestId": "q1"}})
            said(call, "gave up")
    elif method is None:
        answers.append(message.get("result", message.get("error")))
        ask_next()
"#;

const ANSWERS: &str = r#"
[[turn]]
text = "{{last_tool_result}}"

[[turn]]
when = { last_user_contains = "capital of France" }
text = "Paris"
usage = { input = 1000, output = 7 }
"#;

/// A world whose model calls the tool with these arguments, and whose server has these settings.
fn world_with(arguments: &Value, settings: &str) -> World {
    let scenario = format!(
        "[[turn]]\nsteps = [{{ tool = \"mcp__asks__ask\", id = \"c1\", arguments_json = [{}] }}]\n{ANSWERS}",
        json!(arguments.to_string())
    );
    let config = format!(
        "permission_mode = \"all\"\n[mcp_servers.asks]\ncommand = [\"python3\", \"-S\", \"~/asks.py\"]\n{settings}"
    );
    let world = World::new(&scenario, &config);
    world.file("home/asks.py", SERVER);
    world
}

fn world(asks: &[Value]) -> World {
    world_with(&json!({ "asks": asks }), "")
}

fn form(message: &str, properties: Value, required: &[&str]) -> Value {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    json!({
        "method": "elicitation/create",
        "params": { "message": message, "requestedSchema": schema },
    })
}

fn colour() -> Value {
    let kind = json!({ "type": "string", "title": "Colour", "enum": ["r", "b"], "enumNames": ["Red", "Blue"] });
    form("Which one?", json!({ "colour": kind }), &["colour"])
}

fn name() -> Value {
    let kind = json!({ "type": "string", "title": "Name", "minLength": 2 });
    form("Who are you?", json!({ "name": kind }), &["name"])
}

/// A client of ACP that has forms and has prompted.
fn acp(world: &World) -> Child {
    let (mut child, session) = world.acp(json!({ "elicitation": { "form": {} } }));
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "go" }] });
    child.request_acp(3, "session/prompt", prompt);
    child
}

/// The next question: what it says, and what it wants.
fn question(child: &mut Child) -> (Value, Value) {
    let question = loop {
        let message = child.json();
        if message["method"] == "elicitation/create" {
            break message;
        }
    };
    let params = &question["params"];
    let shown = json!([params["message"], params["requestedSchema"]]);
    (question["id"].clone(), shown)
}

fn reply(child: &mut Child, id: &Value, result: Value) {
    let reply = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    child.send(&reply.to_string());
}

fn accept(content: Value) -> Value {
    json!({ "action": "accept", "content": content })
}

/// What the model says at the end, which is what the server was answered.
fn answer(child: &mut Child) -> String {
    let lines = child.until_answer(3);
    let texts = lines.iter().filter_map(|line| {
        let frame: Value = serde_json::from_str(line).unwrap();
        let update = &frame["params"]["update"];
        let is_text = update["sessionUpdate"] == "agent_message_chunk";
        is_text.then(|| update["content"]["text"].as_str().unwrap().to_owned())
    });
    texts.collect()
}

#[test]
fn a_question_of_a_server_is_one_of_the_session_in_acp() {
    let world = world(&[colour()]);
    let mut child = acp(&world);
    let (id, shown) = question(&mut child);
    expect![[r#"["The MCP server \"asks\" asks: Which one?",{"type":"object","properties":{"colour":{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"b","title":"Blue"}],"title":"Colour"}},"required":["colour"]}]"#]].assert_eq(&shown.to_string());
    reply(&mut child, &id, accept(json!({ "colour": "b" })));
    expect![[r#"[{"action": "accept", "content": {"colour": "b"}}]"#]]
        .assert_eq(&answer(&mut child));
    let greeting = std::fs::read_to_string(world.path("work/greeting.json")).unwrap();
    expect![[r#"{"elicitation": {"form": {}, "url": {}}, "roots": {}, "sampling": {}}"#]]
        .assert_eq(&greeting);
    child.end();
}

#[test]
fn a_question_of_a_server_is_a_dialog_in_omp_and_psi() {
    let world = world(&[name()]);
    let mut child = world.omp_with_dialogs();
    child.send(r#"{"id":"p","type":"prompt","message":"go"}"#);
    // One that is too short is asked for again.
    for (given, title) in [
        ("A", "The MCP server \"asks\" asks: Who are you?\nName"),
        (
            "Ada",
            "The MCP server \"asks\" asks: Who are you?\nName (its length must be at least 2)",
        ),
    ] {
        let asked = child.until_type("extension_ui_request").pop().unwrap();
        assert_eq!(
            (&asked["method"], &asked["title"]),
            (&json!("input"), &json!(title))
        );
        let response =
            json!({ "type": "extension_ui_response", "id": asked["id"], "value": given });
        child.send(&response.to_string());
    }
    let frames = child.until_type("agent_settled");
    let ended = frames
        .iter()
        .find(|frame| frame["type"] == "tool_execution_end");
    let result = &ended.unwrap()["result"]["content"][0]["text"];
    assert_eq!(
        result,
        &json!(r#"[{"action": "accept", "content": {"name": "Ada"}}]"#)
    );
    child.end();

    let mut child = world.psi();
    child.ask_psi("p", "prompt", r#"{:message "go"}"#);
    let lines = child.until(|line| line.contains("ui/dialog-requested"));
    let line = lines.last().unwrap();
    assert!(line.contains(r#":kind "input""#), "{line}");
    let (_, id) = line.split_once(":dialog-id \"").unwrap();
    let id = id.split('"').next().unwrap();
    child.ask_psi(
        "d",
        "resolve_dialog",
        &format!("{{:dialog-id {id:?} :result \"Ada\"}}"),
    );
    child
        .until(|line| line.contains(r#"\"action\": \"accept\", \"content\": {\"name\": \"Ada\"}"#));
    child.end();
}

#[test]
fn where_nobody_can_answer_a_question_is_cancelled() {
    let world = world(&[colour(), form("Sure?", json!({}), &[])]);
    let cancelled = r#"[{"action": "cancel"}, {"action": "cancel"}]"#;
    let printed = world.asked(&["-p", "go", "--no-session"]);
    assert_eq!(printed.trim(), cancelled);
    let mut child = world.synaps();
    child.send(r#"{"type":"prompt","id":"p","message":"go"}"#);
    let text = cancelled.replace('"', "\\\"");
    child.until(|line| line.contains(&text));
    child.end();
}

fn person() -> Value {
    json!({
        "name": { "type": "string", "title": "Name" },
        "age": { "type": "integer", "minimum": 1 },
        "news": { "type": "boolean", "description": "By mail" },
    })
}

/// Answers the next question of an omp session, and says what it was.
fn answer_omp(child: &mut Child, key: &str, given: Value) -> String {
    let asked = child.until_type("extension_ui_request").pop().unwrap();
    let response = json!({ "type": "extension_ui_response", "id": asked["id"], key: given });
    child.send(&response.to_string());
    let texts = ["title", "message"].map(|key| asked[key].as_str().unwrap_or_default());
    texts.join("\n").trim().to_owned()
}

/// What the server was answered, in an omp session.
fn result_in_omp(child: &mut Child) -> String {
    let frames = child.until_type("agent_settled");
    let mut frames = frames.iter();
    let ended = frames.find(|frame| frame["type"] == "tool_execution_end");
    let text = &ended.unwrap()["result"]["content"][0]["text"];
    text.as_str().unwrap().to_owned()
}

#[test]
fn no_configured_server_starts_where_that_is_asked_for_in_any_dialect() {
    let world = world(&[colour()]);
    let is_refused = |line: &str| line.contains("mcp__asks__ask") && line.contains("not found");
    let printed = world.asked(&["-p", "go", "--no-session", "--no-mcp"]);
    assert!(is_refused(&printed), "{printed}");
    let mut child = world.child(&["--mode", "rpc", "--no-session", "--no-mcp"]);
    child.send(r#"{"id":"p","type":"prompt","message":"go"}"#);
    child.until(is_refused);
    child.until_type("agent_settled");
    child.end();
    let mut child = world.child(&["--rpc-edn", "--no-session", "--no-mcp"]);
    child.shake_hands_psi();
    child.ask_psi("p", "prompt", r#"{:message "go"}"#);
    child.until(is_refused);
    child.end();
    let mut child = world.child(&["rpc", "--no-mcp"]);
    child.send(r#"{"type":"prompt","id":"p","message":"go"}"#);
    child.until(is_refused);
    child.end();
    let mut child = world.child(&["acp", "--no-mcp"]);
    let session = child.shake_hands_acp(json!({}), &world.path("work"));
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "go" }] });
    let lines = child.ask_acp(3, "session/prompt", prompt);
    assert!(lines.iter().any(|line| is_refused(line)), "{lines:?}");
    child.end();
    assert!(!world.path("work/greeting.json").exists());
}

#[test]
fn a_form_of_several_fields_is_shown_first_and_may_be_declined() {
    let world = world(&[
        form("Tell me.", person(), &["name", "news"]),
        form("And?", person(), &[]),
    ]);
    let mut child = world.omp_with_dialogs();
    child.send(r#"{"id":"p","type":"prompt","message":"go"}"#);
    let shown = [
        ("confirmed", json!(true)),
        ("value", json!("Ada")),
        ("value", json!("")),
        ("value", json!("true")),
        ("confirmed", json!(false)),
    ]
    .map(|(key, given)| answer_omp(&mut child, key, given));
    expect![[r#"
        The MCP server "asks" asks
        Tell me.

        It wants to know: Name, age, news
        --
        For the MCP server "asks": Name
        --
        For the MCP server "asks": age (optional)
        --
        For the MCP server "asks": news: By mail
        --
        The MCP server "asks" asks
        And?

        It wants to know: Name, age, news"#]]
    .assert_eq(&shown.join("\n--\n"));
    assert_eq!(
        result_in_omp(&mut child),
        r#"[{"action": "accept", "content": {"name": "Ada", "news": true}}, {"action": "decline"}]"#
    );
    child.end();
}

#[test]
fn a_form_of_several_fields_is_one_form_for_a_client_that_has_forms() {
    let world = world(&[
        form("Tell me.", person(), &["name", "news"]),
        form("And?", person(), &[]),
        form("Or?", person(), &[]),
    ]);
    let mut child = acp(&world);
    let (id, shown) = question(&mut child);
    expect![[r#"["The MCP server \"asks\" asks: Tell me.",{"type":"object","properties":{"name":{"type":"string","title":"Name"},"age":{"type":"integer","minimum":1,"title":"age"},"news":{"type":"boolean","title":"news","description":"By mail"}},"required":["name","news"]}]"#]].assert_eq(&shown.to_string());
    // What does not fit is asked for again.
    reply(
        &mut child,
        &id,
        accept(json!({ "name": "Ada", "age": 0, "news": true })),
    );
    let (id, shown) = question(&mut child);
    let again = "The MCP server \"asks\" asks: Tell me.\n\nage: a number of at least 1 is needed";
    assert_eq!(shown[0], again);
    // What fits is not to be typed once more.
    let kept = ["name", "age", "news"].map(|name| &shown[1]["properties"][name]["default"]);
    assert_eq!(json!(kept), json!(["Ada", null, true]));
    reply(
        &mut child,
        &id,
        accept(json!({ "name": "Ada", "news": true })),
    );
    let (id, _) = question(&mut child);
    reply(&mut child, &id, json!({ "action": "decline" }));
    let (id, _) = question(&mut child);
    reply(&mut child, &id, json!({ "action": "cancel" }));
    assert_eq!(
        answer(&mut child),
        r#"[{"action": "accept", "content": {"name": "Ada", "news": true}}, {"action": "decline"}, {"action": "cancel"}]"#
    );
    child.end();
}

#[test]
fn fields_that_a_form_sends_back_empty_are_left_out_where_that_is_allowed() {
    let fields = json!({
        "name": { "type": "string" },
        "mail": { "type": "string", "format": "email" },
        "born": { "type": "string", "format": "date" },
    });
    let one = json!({ "mail": { "type": "string", "format": "email" } });
    let world = world(&[form("Tell me.", fields, &["name"]), form("And?", one, &[])]);
    let mut child = acp(&world);
    let (id, _) = question(&mut child);
    let untouched = json!({ "name": "Ada", "mail": "", "born": "" });
    reply(&mut child, &id, accept(untouched));
    let (id, shown) = question(&mut child);
    assert_eq!(shown[0], "The MCP server \"asks\" asks: And?");
    reply(&mut child, &id, accept(json!({ "mail": "" })));
    assert_eq!(
        answer(&mut child),
        r#"[{"action": "accept", "content": {"name": "Ada"}}, {"action": "accept", "content": {}}]"#
    );
    child.end();
}

#[test]
fn a_form_that_a_client_could_not_fill_in_to_its_end_is_not_begun() {
    let world = world(&[form("Tell me.", person(), &["name"]), name()]);
    let (mut child, session) = world.acp(json!({}));
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "go" }] });
    child.request_acp(3, "session/prompt", prompt);
    let lines = child.until_answer(3);
    let all = lines.join("\n");
    assert!(!all.contains("session/request_permission"), "{all}");
    for asked in ["Tell me.", "Who are you?"] {
        let told = format!("asks: {asked} This client cannot show the form, so nobody was asked.");
        assert_eq!(all.matches(&told).count(), 1, "{all}");
    }
    let cancelled = json!(r#"[{"action": "cancel"}, {"action": "cancel"}]"#).to_string();
    assert!(all.contains(&cancelled), "{all}");
    child.end();
}

#[test]
fn what_may_be_left_out_does_not_stop_a_client_that_can_only_choose() {
    let world = world(&[form("Tell me.", person(), &["news"])]);
    let (mut child, session) = world.acp(json!({}));
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "go" }] });
    child.request_acp(3, "session/prompt", prompt);
    let titles = [(); 2].map(|()| {
        let asked = loop {
            let message = child.json();
            if message["method"] == "session/request_permission" {
                break message;
            }
        };
        let first = &asked["params"]["options"][0]["optionId"];
        let chosen = json!({ "outcome": { "outcome": "selected", "optionId": first } });
        reply(&mut child, &asked["id"], chosen);
        asked["params"]["toolCall"]["title"].clone()
    });
    assert_eq!(
        json!(titles),
        json!([
            "The MCP server \"asks\" asks",
            "For the MCP server \"asks\": news: By mail"
        ])
    );
    let accepted = r#"[{"action": "accept", "content": {"news": true}}]"#;
    assert!(answer(&mut child).ends_with(accepted));
    child.end();
}

#[test]
fn a_person_learns_that_a_form_is_cancelled_after_answers_that_do_not_fit() {
    let world = world(&[name()]);
    let mut child = world.omp_with_dialogs();
    child.send(r#"{"id":"p","type":"prompt","message":"go"}"#);
    for _ in 0..3 {
        answer_omp(&mut child, "value", json!("A"));
    }
    let told = "The form of the MCP server \\\"asks\\\" was cancelled after 3 answers that do not \
                fit: Name (its length must be at least 2)";
    child.until(|line| line.contains(told));
    assert_eq!(result_in_omp(&mut child), r#"[{"action": "cancel"}]"#);
    child.end();
}

#[test]
fn an_address_is_shown_and_agreed_to_and_other_schemes_are_not() {
    let url = |url: &str| {
        let params = json!({ "mode": "url", "message": "Pay.", "url": url, "elicitationId": "1" });
        json!({ "method": "elicitation/create", "params": params })
    };
    let world = world(&[url("https://pay.example/1"), url("file:///etc/passwd")]);
    let mut child = acp(&world);
    let (id, shown) = question(&mut child);
    let shown = shown[0].as_str().unwrap();
    assert!(
        shown.contains("Open this address at pay.example"),
        "{shown}"
    );
    assert!(shown.contains("https://pay.example/1"), "{shown}");
    reply(&mut child, &id, accept(json!({ "answer": true })));
    assert_eq!(
        answer(&mut child),
        r#"[{"action": "accept"}, {"action": "decline"}]"#
    );
    child.end();
}

#[test]
fn a_server_that_gives_up_takes_its_question_back() {
    let world = world_with(&json!({ "asks": [name()], "gives_up": true }), "");
    let mut child = world.omp_with_dialogs();
    child.send(r#"{"id":"p","type":"prompt","message":"go"}"#);
    let frames = child.until_type("agent_settled");
    let ended = frames
        .iter()
        .find(|frame| frame["type"] == "tool_execution_end");
    assert_eq!(ended.unwrap()["result"]["content"][0]["text"], "gave up");
    child.end();
}

#[test]
fn a_question_that_may_be_for_either_of_two_sessions_is_asked_in_neither() {
    let world = world_with(&json!({ "asks": [name()], "with_other": true }), "");
    let (mut child, first) = world.acp(json!({ "elicitation": { "form": {} } }));
    let new = json!({ "cwd": world.path("work"), "mcpServers": [] });
    let second = child.ask_acp(4, "session/new", new).pop().unwrap();
    let second: Value = serde_json::from_str(&second).unwrap();
    for (id, session) in [(3, &json!(first)), (5, &second["result"]["sessionId"])] {
        let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "go" }] });
        child.request_acp(id, "session/prompt", prompt);
    }
    let why = "several sessions use this server, and it is not clear which one this is for";
    let refused = format!(r#"[{{"code": -32603, "message": "{why}"}}]"#);
    let is_answer = |frame: &Value| {
        let update = &frame["params"]["update"];
        update["sessionUpdate"] == "agent_message_chunk" && update["content"]["text"] == refused
    };
    let mut answered = 0;
    while answered < 2 {
        let frame = child.json();
        assert_ne!(frame["method"], "elicitation/create");
        answered += usize::from(is_answer(&frame));
    }
    child.end();
}

fn capital() -> Value {
    let content = json!({ "type": "text", "text": "What is the capital of France?" });
    let params = json!({ "messages": [{ "role": "user", "content": content }], "maxTokens": 100, "systemPrompt": "Be short." });
    json!({ "method": "sampling/createMessage", "params": params })
}

const PARIS: &str = r#"{"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "MODEL", "stopReason": "endTurn"}"#;
/// What the model says, with its own name as it would be anywhere.
fn shown(world: &World, text: &str) -> String {
    let plan = world.path("work/plan.toml").display().to_string();
    text.trim().replace(&plan, "MODEL")
}

const REJECTED: &str = r#"{"code": -1, "message": "the user rejected the request"}"#;

#[test]
fn the_model_is_asked_with_consent_and_what_it_consumes_is_counted() {
    let world = world(&[capital(), capital(), capital(), capital()]);
    let mut child = acp(&world);
    for given in ["once", "deny", "session"] {
        let (id, shown) = question(&mut child);
        let shown = shown[0].as_str().unwrap();
        let text = "The MCP server \"asks\" wants to ask the model:\n[system] Be short.\n[user] What is the capital of France?\n";
        assert_eq!(shown, text);
        reply(&mut child, &id, accept(json!({ "answer": given })));
    }
    assert_eq!(
        shown(&world, &answer(&mut child)),
        format!("[{PARIS}, {REJECTED}, {PARIS}, {PARIS}]")
    );
    child.end();
    let usage: Value = serde_json::from_str(&world.asked(&["usage", "--json"])).unwrap();
    let text = usage.to_string();
    assert!(text.contains("3021"), "{text}");
    let models = usage["models"].as_array().unwrap().iter();
    let models: Vec<&str> = models.map(|row| row["model"].as_str().unwrap()).collect();
    let plan = format!("script/{}", world.path("work/plan.toml").display());
    assert_eq!(models, [plan]);
}

#[test]
fn a_request_larger_than_what_is_left_is_refused_before_the_model_is_asked() {
    let mut large = capital();
    let content = json!({ "type": "text", "text": "capital of France? ".repeat(300) });
    large["params"]["messages"][0]["content"] = content;
    let world = world_with(
        &json!({ "asks": [large, capital()] }),
        "sampling = \"allow\"\nsampling_tokens = 1200\n",
    );
    let why = "the request has about 1427 tokens, and this server may use 1200 more tokens of the \
               model in this session, input and output together";
    let printed = world.asked(&["-p", "go", "--no-session"]);
    assert_eq!(
        shown(&world, &printed),
        format!("[{{\"code\": -1, \"message\": \"{why}\"}}, {PARIS}]")
    );
}

#[test]
fn an_answer_that_breaks_off_before_its_usage_is_known_counts_as_estimated() {
    let twice = json!({ "asks": [capital(), capital()] });
    let world = world_with(&twice, "sampling = \"allow\"\nsampling_tokens = 60\n");
    let plan = std::fs::read_to_string(world.path("work/plan.toml")).unwrap();
    let broken = format!(
        "steps = [{{ text = \"{}\" }}, {{ error = {{ kind = \"network\", message = \"gone\" }} }}]",
        "Paris ".repeat(50)
    );
    let plan = plan.replace(
        "text = \"Paris\"\nusage = { input = 1000, output = 7 }",
        &broken,
    );
    world.file("work/plan.toml", &plan);
    let printed = world.asked(&["-p", "go", "--no-session"]);
    assert_eq!(
        printed.trim(),
        "[{\"code\": -32603, \"message\": \"the model gave no answer: gone\"}, {\"code\": -1, \"message\": \"this server may use 60 tokens of the model in a session, and has\"}]"
    );
}

#[test]
fn a_server_asks_the_model_no_more_often_than_it_may() {
    let twice = json!({ "asks": [capital(), capital()] });
    let world = world_with(&twice, "sampling = \"allow\"\nsampling_calls = 1\n");
    let why = "this server may ask the model 1 times in a session, and has";
    let printed = world.asked(&["-p", "go", "--no-session"]);
    assert_eq!(
        shown(&world, &printed),
        format!("[{PARIS}, {{\"code\": -1, \"message\": \"{why}\"}}]")
    );

    let world = world_with(&twice, "sampling = \"allow\"\nsampling_tokens = 1007\n");
    let why = "this server may use 1007 tokens of the model in a session, and has";
    let printed = world.asked(&["-p", "go", "--no-session"]);
    assert_eq!(
        shown(&world, &printed),
        format!("[{PARIS}, {{\"code\": -1, \"message\": \"{why}\"}}]")
    );
}

#[test]
fn nobody_to_ask_means_no_and_a_server_that_may_not_is_not_even_offered_it() {
    let world = world(&[capital()]);
    let printed = world.asked(&["-p", "go", "--no-session"]);
    assert_eq!(printed.trim(), format!("[{REJECTED}]"));

    let world = world_with(&json!({ "asks": [capital()] }), "sampling = \"deny\"\n");
    let printed = world.asked(&["-p", "go", "--no-session"]);
    assert_eq!(
        printed.trim(),
        r#"[{"code": -32601, "message": "no such method"}]"#
    );
    let greeting = std::fs::read_to_string(world.path("work/greeting.json")).unwrap();
    assert!(!greeting.contains("sampling"), "{greeting}");
}

#[test]
fn only_the_users_own_file_lets_a_server_ask_the_model_unasked() {
    let world = world(&[]);
    let text = "[mcp_servers.other]\ncommand = \"true\"\nsampling = \"allow\"\n";
    world.file("work/.stentor/config.toml", text);
    world.asked(&["trust"]);
    let mut command = world.command(&["mcp"]);
    let output = command.output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        err.contains("only your own file may set `sampling = \"allow\"`"),
        "{err}"
    );
}

#[test]
fn a_server_learns_where_the_session_works() {
    let world = world(&[json!({ "method": "roots/list" })]);
    let printed = world.asked(&["-p", "go", "--no-session"]);
    let cwd = world.path("work").canonicalize().unwrap();
    let expected = format!(
        r#"[{{"roots": [{{"uri": "file://{}", "name": "work"}}]}}]"#,
        cwd.display()
    );
    assert_eq!(printed.trim(), expected);
}

#[test]
fn a_server_learns_of_the_additional_directories_of_an_acp_session() {
    let world = world(&[json!({ "method": "roots/list" })]);
    let (mut child, _) = world.acp(json!({}));
    let folder = |name: &str| world.path(name).canonicalize().unwrap();
    world.file("more/a.txt", "a");
    let additional = [folder("more"), folder("work")];
    let params =
        json!({ "cwd": folder("work"), "mcpServers": [], "additionalDirectories": additional });
    let opened = child.ask_acp(5, "session/new", params).pop().unwrap();
    let opened: Value = serde_json::from_str(&opened).unwrap();
    let text = json!([{ "type": "text", "text": "go" }]);
    let prompt = json!({ "sessionId": opened["result"]["sessionId"], "prompt": text });
    child.request_acp(3, "session/prompt", prompt);
    let root = |name: &str| {
        let folder = folder(name);
        format!(
            r#"{{"uri": "file://{}", "name": "{name}"}}"#,
            folder.display()
        )
    };
    let expected = format!(r#"[{{"roots": [{}, {}]}}]"#, root("work"), root("more"));
    assert_eq!(answer(&mut child), expected);
    child.end();
}

#[test]
fn progress_gives_a_call_time_but_not_for_ever() {
    let world = world_with(
        &json!({ "reports": true }),
        "timeout_ms = 60000\nmax_timeout_ms = 300\n",
    );
    let printed = world.asked(&["-p", "go", "--no-session"]);
    assert_eq!(
        printed.trim(),
        "The MCP server \"asks\" failed: no answer within 0.3 s"
    );
}
