//! Rules that watch the stream, and reminders of what is to do (section 8).

use expect_test::expect;
use serde_json::{Value, json};

use crate::child::Folder;
use crate::transcript::told;

#[test]
fn a_rule_stops_the_stream_goes_in_and_lets_it_go_on_once() {
    let folder = Folder::with(
        r#"
        [model]
        id = "mock"
        [[turn]]
        steps = [{ text = ["I write x.unw", "rap() here", " and go on"] }, { hang = true }]
        [[turn]]
        text = "I write x? and never x.unwrap() again."
        "#,
    );
    folder.file(
        ".omp/rules/no-unwrap.md",
        "---\ndescription: Errors are values\ncondition: '\\.unwrap\\(\\)'\n---\nUse `?`.\n",
    );
    let mut child = folder.child(&["--no-session"]);
    let frames = child.prompt("write");
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"write"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"I write x.unwrap() here"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"I write x.unwrap() here","partial":"=message"},"usage":"=message.usage"}
        {"type":"ttsr_triggered","rules":[{"name":"no-unwrap","path":"ROOT/work/.omp/rules/no-unwrap.md","content":"Use `?`.","description":"Errors are values","condition":["\\.unwrap\\(\\)"],"_source":{"provider":"stentor","providerName":"Stentor","path":"ROOT/work/.omp/rules/no-unwrap.md","level":"project"}}]}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"I write x.unwrap() here"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"aborted","errorMessage":"Stopped by a rule: no-unwrap","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-2","toolResults":[]}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"developer","content":[{"type":"text","text":"<system-reminder>\nYour answer was stopped because it goes against a rule of the user. Go on from where you were, and follow the rule.\n\n## no-unwrap\nUse `?`.\n</system-reminder>"}],"attribution":"agent","synthetic":true,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":"as it began"}
        {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"I write x? and never x.unwrap() again."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"I write x? and never x.unwrap() again.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"I write x? and never x.unwrap() again."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"I write x? and never x.unwrap() again.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"I write x? and never x.unwrap() again."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-4","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":4}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_run_that_stops_with_things_to_do_is_reminded_three_times() {
    let folder = Folder::with(
        "on_exhausted = \"repeat-last\"\n[model]\nid = \"mock\"\n[[turn]]\ntext = \"Done.\"",
    );
    let mut child = folder.child(&["--no-session"]);
    let phases = json!([{"name": "Plan", "tasks": [
        {"content": "one", "status": "completed"}, {"content": "two", "status": "in_progress"},
    ]}]);
    let mut frames = child.done(json!({"id": 1, "type": "set_todos", "phases": phases}));
    frames.extend(child.done(json!({"id": 2, "type": "get_state"})));
    frames.extend(child.prompt("go"));
    expect![[r#"
        {"id":1,"type":"response","command":"set_todos","success":true,"data":{"todoPhases":[{"name":"Plan","tasks":[{"content":"one","status":"completed"},{"content":"two","status":"in_progress"}]}]}}
        {"id":2,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"medium","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":0,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[{"name":"Plan","tasks":[{"content":"one","status":"completed"},{"content":"two","status":"in_progress"}]}],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-2","toolResults":[]}
        {"type":"todo_reminder","todos":[{"id":"task-2","content":"two","status":"in_progress"}],"attempt":1,"maxAttempts":3}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"developer","content":[{"type":"text","text":"<system-reminder>\nYou stopped, but these tasks on your list are not done:\n- two (in progress)\nContinue with them, or mark them as done, abandoned or blocked if they are. (Reminder 1 of 3)\n</system-reminder>"}],"attribution":"agent","synthetic":true,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":"as it began"}
        {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-4","toolResults":[]}
        {"type":"todo_reminder","todos":[{"id":"task-2","content":"two","status":"in_progress"}],"attempt":2,"maxAttempts":3}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-5","message":{"role":"developer","content":[{"type":"text","text":"<system-reminder>\nYou stopped, but these tasks on your list are not done:\n- two (in progress)\nContinue with them, or mark them as done, abandoned or blocked if they are. (Reminder 2 of 3)\n</system-reminder>"}],"attribution":"agent","synthetic":true,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-5","message":"as it began"}
        {"type":"message_start","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-6","toolResults":[]}
        {"type":"todo_reminder","todos":[{"id":"task-2","content":"two","status":"in_progress"}],"attempt":3,"maxAttempts":3}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-7","message":{"role":"developer","content":[{"type":"text","text":"<system-reminder>\nYou stopped, but these tasks on your list are not done:\n- two (in progress)\nContinue with them, or mark them as done, abandoned or blocked if they are. (Reminder 3 of 3)\n</system-reminder>"}],"attribution":"agent","synthetic":true,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-7","message":"as it began"}
        {"type":"message_start","messageId":"msg-8","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-8","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-8","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4","msg-5","msg-6","msg-7","msg-8"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":8}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
    child.data(json!({"type": "set_todos", "phases": []}));
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-9","message":{"role":"user","content":[{"type":"text","text":"again"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-9","message":"as it began"}
        {"type":"message_start","messageId":"msg-10","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-10","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-10","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-10","message":{"…":"as it began","content":[{"type":"text","text":"Done."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Done.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-10","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-10","toolResults":[]}
        {"type":"agent_end","messages":["msg-9","msg-10"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&child.prompt("again"), &folder));
}

/// The list of todos after something in it was done and left it, and what was told of that.
fn cleared(config: &str, omp: &str, phases: Value) -> (Vec<Value>, Value) {
    let folder = Folder::with("[model]\nid = \"mock\"\n[[turn]]\ntext = \"Hello.\"");
    folder.file("../home/.config/stentor/config.toml", config);
    folder.file("../home/.omp/agent/config.yml", omp);
    let mut child = folder.child(&["--no-session"]);
    child.send(json!({"id": "t", "type": "set_todos", "phases": phases}));
    let mut frames = child.until_all(&[
        &|frame: &Value| frame["type"] == "todo_auto_clear",
        &|frame: &Value| frame["id"] == "t",
    ]);
    frames.retain(|frame| frame["id"] != "t");
    let left = child.data(json!({"type": "get_state"}))["todoPhases"].take();
    (frames, left)
}

#[test]
fn what_is_done_leaves_the_todos_after_a_while_and_an_empty_phase_with_it() {
    let phases = json!([
        {"name": "One", "tasks": [{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}]},
        {"name": "Two", "tasks": [{"content": "c", "status": "abandoned"}]},
    ]);
    let left = json!([{"name": "One", "tasks": [{"content": "b", "status": "pending"}]}]);
    let told = vec![json!({"type": "todo_auto_clear"})];
    let own = cleared("todo_clear_after_s = 0\n", "", phases.clone());
    assert_eq!(own, (told.clone(), left.clone()));
    let omps = cleared("", "tasks:\n  todoClearDelay: 0\n", phases);
    assert_eq!(omps, (told, left));
}
