//! Models and thinking levels (section 6.2), whole answers.

use expect_test::expect;
use serde_json::{Value, json};

use crate::child::{Child, Folder};
use crate::transcript::{lines_of, told};

/// What a user of pi has described: a model that thinks and one that does not.
const MODELS: &str = r#"{
    "providers": {
        "acme": {
            "baseUrl": "http://127.0.0.1:9/v1",
            "api": "openai-completions",
            "apiKey": "the key itself",
            "models": [
                {
                    "id": "think", "name": "Thinker", "reasoning": true, "input": ["text", "image"],
                    "contextWindow": 100000, "maxTokens": 8000,
                    "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}
                },
                {"id": "plain"}
            ]
        }
    }
}"#;

fn folder() -> Folder {
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"x\"");
    folder.file("../home/.pi/agent/models.json", MODELS);
    folder
}

/// A child that begins with this model.
fn child(folder: &Folder, model: &str, words: &[&str]) -> Child {
    let mut all = vec!["--model", model];
    all.extend_from_slice(words);
    let mut child = Child::of(folder.command(&all).spawn().unwrap());
    child.until_type("ready");
    child
}

/// The same command several times.
fn again(child: &mut Child, command: &str, times: usize) -> Vec<Value> {
    let mut frames = Vec::new();
    for n in 0..times {
        frames.extend(child.done(json!({"id": n, "type": command})));
    }
    frames
}

#[test]
fn every_model_there_is_a_key_for_is_listed() {
    let folder = folder();
    let mut child = child(&folder, "acme/think", &["--no-session"]);
    let frames = child.done(json!({"id": 1, "type": "get_available_models"}));
    expect![[r#"
        {"id":1,"type":"response","command":"get_available_models","success":true,"data":{"models":[{"id":"think","name":"Thinker","api":"openai-completions","provider":"acme","baseUrl":"http://127.0.0.1:9/v1","reasoning":true,"input":["text","image"],"cost":{"input":3,"output":15,"cacheRead":0.3,"cacheWrite":3.75},"contextWindow":100000,"maxTokens":8000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high"],"minLevel":"minimal","maxLevel":"high"}},{"id":"plain","name":"plain","api":"openai-completions","provider":"acme","baseUrl":"http://127.0.0.1:9/v1","reasoning":false,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":16384,"maxTokens":8192},{"id":"guide","name":"Offline guide","api":"offline","provider":"offline","baseUrl":"","reasoning":true,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}}]}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_key_in_the_environment_makes_its_providers_models_available() {
    let folder = Folder::with("[[turn]]\ntext = \"x\"");
    let mut command = folder.command(&["--no-session"]);
    let mut child = Child::of(command.env("DEEPSEEK_API_KEY", "k").spawn().unwrap());
    child.until_type("ready");
    let frames = child.done(json!({"id": 1, "type": "get_available_models"}));
    expect![[r#"
        {"id":1,"type":"response","command":"get_available_models","success":true,"data":{"models":[{"id":"deepseek-v4-pro","name":"DeepSeek V4 Pro","api":"openai-completions","provider":"deepseek","baseUrl":"https://api.deepseek.com","reasoning":true,"input":["text"],"cost":{"input":1.32,"output":3.96,"cacheRead":0.044,"cacheWrite":0},"contextWindow":1000000,"maxTokens":384000,"thinking":{"mode":"effort","efforts":["high"],"minLevel":"high","maxLevel":"high"}},{"id":"deepseek-flash","name":"DeepSeek V4.1 Flash","api":"openai-completions","provider":"deepseek","baseUrl":"https://api.deepseek.com","reasoning":true,"input":["text","image"],"cost":{"input":0.3,"output":1.2,"cacheRead":0.006,"cacheWrite":0},"contextWindow":1000000,"maxTokens":384000,"thinking":{"mode":"effort","efforts":["high"],"minLevel":"high","maxLevel":"high"}},{"id":"guide","name":"Offline guide","api":"offline","provider":"offline","baseUrl":"","reasoning":true,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}}]}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_model_is_chosen_told_of_and_kept() {
    let folder = folder();
    let mut child = child(&folder, "acme/think", &["--session-dir", "../sessions"]);
    let set = |id: u8, model: &str| json!({"id": id, "type": "set_model", "provider": "acme", "modelId": model});
    let mut frames = child.done(set(1, "plain"));
    frames.extend(child.done(json!({"id": 2, "type": "get_state"})));
    frames.extend(child.done(set(3, "think")));
    frames.extend(child.done(json!({"id": 4, "type": "get_state"})));
    let unknown = json!({"id": 5, "type": "set_model", "provider": "nope", "modelId": "missing"});
    frames.extend(child.done(unknown));
    frames.extend(child.done(json!({"id": 6, "type": "get_entries"})));
    expect![[r#"
        {"type":"model_changed"}
        {"type":"thinking_level_changed","level":"off","thinkingLevel":"off"}
        {"id":1,"type":"response","command":"set_model","success":true,"data":{"id":"plain","name":"plain","api":"openai-completions","provider":"acme","baseUrl":"http://127.0.0.1:9/v1","reasoning":false,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":16384,"maxTokens":8192}}
        {"id":2,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"plain","name":"plain","api":"openai-completions","provider":"acme","baseUrl":"http://127.0.0.1:9/v1","reasoning":false,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":16384,"maxTokens":8192},"thinkingLevel":"off","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionFile":"ROOT/work/../sessions/TIME_ID.jsonl","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":0,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
        {"type":"model_changed"}
        {"id":3,"type":"response","command":"set_model","success":true,"data":{"id":"think","name":"Thinker","api":"openai-completions","provider":"acme","baseUrl":"http://127.0.0.1:9/v1","reasoning":true,"input":["text","image"],"cost":{"input":3,"output":15,"cacheRead":0.3,"cacheWrite":3.75},"contextWindow":100000,"maxTokens":8000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high"],"minLevel":"minimal","maxLevel":"high"}}}
        {"id":4,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"think","name":"Thinker","api":"openai-completions","provider":"acme","baseUrl":"http://127.0.0.1:9/v1","reasoning":true,"input":["text","image"],"cost":{"input":3,"output":15,"cacheRead":0.3,"cacheWrite":3.75},"contextWindow":100000,"maxTokens":8000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high"],"minLevel":"minimal","maxLevel":"high"}},"thinkingLevel":"off","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionFile":"ROOT/work/../sessions/TIME_ID.jsonl","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":0,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
        {"id":5,"type":"response","command":"set_model","success":false,"error":"Model not found: nope/missing"}
        {"id":6,"type":"response","command":"get_entries","success":true,"data":{"entries":[{"type":"model_change","id":"ID2","parentId":null,"timestamp":"TIME","provider":"acme","modelId":"think","model":"acme/think"},{"type":"thinking_level_change","id":"ID3","parentId":"ID2","timestamp":"TIME","thinkingLevel":"medium"},{"type":"model_change","id":"ID4","parentId":"ID3","timestamp":"TIME","provider":"acme","modelId":"plain","model":"acme/plain"},{"type":"thinking_level_change","id":"ID5","parentId":"ID4","timestamp":"TIME","thinkingLevel":"off"},{"type":"model_change","id":"ID6","parentId":"ID5","timestamp":"TIME","provider":"acme","modelId":"think","model":"acme/think"}],"leafId":"ID6"}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn cycling_goes_through_all_models_and_begins_again() {
    let folder = folder();
    let mut child = child(&folder, "acme/think", &["--no-session"]);
    let frames = again(&mut child, "cycle_model", 3);
    expect![[r#"
        {"type":"model_changed"}
        {"type":"thinking_level_changed","level":"off","thinkingLevel":"off"}
        {"id":0,"type":"response","command":"cycle_model","success":true,"data":{"model":{"id":"plain","name":"plain","api":"openai-completions","provider":"acme","baseUrl":"http://127.0.0.1:9/v1","reasoning":false,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":16384,"maxTokens":8192},"thinkingLevel":"off","isScoped":false}}
        {"type":"model_changed"}
        {"id":1,"type":"response","command":"cycle_model","success":true,"data":{"model":{"id":"guide","name":"Offline guide","api":"offline","provider":"offline","baseUrl":"","reasoning":true,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"off","isScoped":false}}
        {"type":"model_changed"}
        {"id":2,"type":"response","command":"cycle_model","success":true,"data":{"model":{"id":"think","name":"Thinker","api":"openai-completions","provider":"acme","baseUrl":"http://127.0.0.1:9/v1","reasoning":true,"input":["text","image"],"cost":{"input":3,"output":15,"cacheRead":0.3,"cacheWrite":3.75},"contextWindow":100000,"maxTokens":8000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high"],"minLevel":"minimal","maxLevel":"high"}},"thinkingLevel":"off","isScoped":false}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn cycling_goes_through_the_models_of_the_command_line_each_with_its_level() {
    let folder = folder();
    let words = ["--no-session", "--models", "acme/plain,acme/think:high"];
    let mut child = child(&folder, "acme/think", &words);
    let frames = again(&mut child, "cycle_model", 3);
    expect![[r#"
        {"type":"model_changed"}
        {"type":"thinking_level_changed","level":"off","thinkingLevel":"off"}
        {"id":0,"type":"response","command":"cycle_model","success":true,"data":{"model":{"id":"plain","name":"plain","api":"openai-completions","provider":"acme","baseUrl":"http://127.0.0.1:9/v1","reasoning":false,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":16384,"maxTokens":8192},"thinkingLevel":"off","isScoped":true}}
        {"type":"model_changed"}
        {"type":"thinking_level_changed","level":"high","thinkingLevel":"high"}
        {"id":1,"type":"response","command":"cycle_model","success":true,"data":{"model":{"id":"think","name":"Thinker","api":"openai-completions","provider":"acme","baseUrl":"http://127.0.0.1:9/v1","reasoning":true,"input":["text","image"],"cost":{"input":3,"output":15,"cacheRead":0.3,"cacheWrite":3.75},"contextWindow":100000,"maxTokens":8000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high"],"minLevel":"minimal","maxLevel":"high"}},"thinkingLevel":"high","isScoped":true}}
        {"type":"model_changed"}
        {"type":"thinking_level_changed","level":"off","thinkingLevel":"off"}
        {"id":2,"type":"response","command":"cycle_model","success":true,"data":{"model":{"id":"plain","name":"plain","api":"openai-completions","provider":"acme","baseUrl":"http://127.0.0.1:9/v1","reasoning":false,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":16384,"maxTokens":8192},"thinkingLevel":"off","isScoped":true}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn where_there_is_one_model_cycling_changes_nothing() {
    let folder = Folder::with("[[turn]]\ntext = \"x\"");
    let mut alone = child(&folder, "offline/guide", &["--no-session"]);
    let mut frames = again(&mut alone, "cycle_model", 2);
    frames.extend(alone.done(json!({"id": 3, "type": "get_available_models"})));
    expect![[r#"
        {"id":0,"type":"response","command":"cycle_model","success":true,"data":null}
        {"id":1,"type":"response","command":"cycle_model","success":true,"data":null}
        {"id":3,"type":"response","command":"get_available_models","success":true,"data":{"models":[{"id":"guide","name":"Offline guide","api":"offline","provider":"offline","baseUrl":"","reasoning":true,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}}]}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_model_that_does_not_think_has_one_level() {
    let folder = folder();
    let mut child = child(&folder, "acme/plain", &["--no-session"]);
    let mut frames = again(&mut child, "cycle_thinking_level", 1);
    frames.extend(child.done(json!({"id": 1, "type": "get_available_thinking_levels"})));
    frames.extend(child.done(json!({"id": 2, "type": "set_thinking_level", "level": "high"})));
    frames.extend(child.done(json!({"id": 3, "type": "get_state"})));
    expect![[r#"
        {"id":0,"type":"response","command":"cycle_thinking_level","success":true,"data":null}
        {"id":1,"type":"response","command":"get_available_thinking_levels","success":true,"data":{"levels":["off"]}}
        {"id":2,"type":"response","command":"set_thinking_level","success":true}
        {"id":3,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"plain","name":"plain","api":"openai-completions","provider":"acme","baseUrl":"http://127.0.0.1:9/v1","reasoning":false,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":16384,"maxTokens":8192},"thinkingLevel":"off","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":0,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn levels_are_cycled_told_of_and_clamped() {
    let folder = Folder::with(
        r#"
        [model]
        id = "mock"
        thinking_levels = ["off", "low", "medium"]
        [[turn]]
        text = "Thought: {{thinking}}"
        "#,
    );
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    let mut frames = again(&mut child, "cycle_thinking_level", 4);
    frames.extend(child.done(json!({"id": 4, "type": "get_available_thinking_levels"})));
    frames.extend(child.done(json!({"id": 5, "type": "set_thinking_level", "level": "max"})));
    frames.extend(child.done(json!({"id": 6, "type": "set_thinking_level", "level": "minimal"})));
    frames.extend(child.prompt("hi"));
    expect![[r#"
        {"type":"thinking_level_changed","level":"off","thinkingLevel":"off"}
        {"id":0,"type":"response","command":"cycle_thinking_level","success":true,"data":{"level":"off"}}
        {"type":"thinking_level_changed","level":"low","thinkingLevel":"low"}
        {"id":1,"type":"response","command":"cycle_thinking_level","success":true,"data":{"level":"low"}}
        {"type":"thinking_level_changed","level":"medium","thinkingLevel":"medium"}
        {"id":2,"type":"response","command":"cycle_thinking_level","success":true,"data":{"level":"medium"}}
        {"type":"thinking_level_changed","level":"off","thinkingLevel":"off"}
        {"id":3,"type":"response","command":"cycle_thinking_level","success":true,"data":{"level":"off"}}
        {"id":4,"type":"response","command":"get_available_thinking_levels","success":true,"data":{"levels":["off","low","medium"]}}
        {"type":"thinking_level_changed","level":"medium","thinkingLevel":"medium"}
        {"id":5,"type":"response","command":"set_thinking_level","success":true}
        {"type":"thinking_level_changed","level":"off","thinkingLevel":"off"}
        {"id":6,"type":"response","command":"set_thinking_level","success":true}
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Thought: off"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Thought: off","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Thought: off"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Thought: off","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Thought: off"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-2","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
    let file = child.data(json!({"type": "get_state"}))["sessionFile"].clone();
    expect![[r#"
        {"type":"session","version":3,"id":"ID1","timestamp":"TIME","cwd":"ROOT/work"}
        {"type":"model_change","id":"ID2","parentId":null,"timestamp":"TIME","provider":"script","modelId":"mock","model":"script/mock"}
        {"type":"thinking_level_change","id":"ID3","parentId":"ID2","timestamp":"TIME","thinkingLevel":"medium"}
        {"type":"thinking_level_change","id":"ID4","parentId":"ID3","timestamp":"TIME","thinkingLevel":"off"}
        {"type":"thinking_level_change","id":"ID5","parentId":"ID4","timestamp":"TIME","thinkingLevel":"low"}
        {"type":"thinking_level_change","id":"ID6","parentId":"ID5","timestamp":"TIME","thinkingLevel":"medium"}
        {"type":"thinking_level_change","id":"ID7","parentId":"ID6","timestamp":"TIME","thinkingLevel":"off"}
        {"type":"thinking_level_change","id":"ID8","parentId":"ID7","timestamp":"TIME","thinkingLevel":"medium"}
        {"type":"thinking_level_change","id":"ID9","parentId":"ID8","timestamp":"TIME","thinkingLevel":"off"}
        {"type":"message","id":"ID10","parentId":"ID9","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message","id":"ID11","parentId":"ID10","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"Thought: off"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
    "#]].assert_eq(&lines_of(file.as_str().unwrap(), &folder));
}

#[test]
fn what_is_asked_behind_a_change_is_answered_with_the_change() {
    let folder = folder();
    let mut child = child(&folder, "acme/think", &["--no-session"]);
    child
        .send(json!({"id": 1, "type": "set_model", "provider": "acme", "modelId": "plain"}))
        .send(json!({"id": 2, "type": "get_state"}))
        .send(json!({"id": 3, "type": "cycle_model"}))
        .send(json!({"id": 4, "type": "get_available_thinking_levels"}));
    let frames = child.until(|frame| frame["id"] == 4);
    expect![[r#"
        {"type":"model_changed"}
        {"type":"thinking_level_changed","level":"off","thinkingLevel":"off"}
        {"id":1,"type":"response","command":"set_model","success":true,"data":{"id":"plain","name":"plain","api":"openai-completions","provider":"acme","baseUrl":"http://127.0.0.1:9/v1","reasoning":false,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":16384,"maxTokens":8192}}
        {"id":2,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"plain","name":"plain","api":"openai-completions","provider":"acme","baseUrl":"http://127.0.0.1:9/v1","reasoning":false,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":16384,"maxTokens":8192},"thinkingLevel":"off","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":0,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
        {"type":"model_changed"}
        {"id":3,"type":"response","command":"cycle_model","success":true,"data":{"model":{"id":"guide","name":"Offline guide","api":"offline","provider":"offline","baseUrl":"","reasoning":true,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"off","isScoped":false}}
        {"id":4,"type":"response","command":"get_available_thinking_levels","success":true,"data":{"levels":["off","minimal","low","medium","high","xhigh"]}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn an_id_nobody_has_described_is_taken_where_its_provider_is_known() {
    let folder = folder();
    let mut child = child(&folder, "acme/plain", &["--no-session"]);
    let set = json!({"id": 1, "type": "set_model", "provider": "acme", "modelId": "unheard-of"});
    let frames = child.done(set);
    expect![[r#"
        {"type":"model_changed"}
        {"id":1,"type":"response","command":"set_model","success":true,"data":{"id":"unheard-of","name":"unheard-of","api":"openai-completions","provider":"acme","baseUrl":"http://127.0.0.1:9/v1","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":100000,"maxTokens":8000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}}}
    "#]].assert_eq(&told(&frames, &folder));
}
