//! Messages that wait, and when they are delivered (section 10).

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::child::{Child, Folder};
use crate::transcript::{told, without_reports};

/// A model that speaks until it may stop, and then says what it heard last.
pub const SPEAKS: &str = r#"
on_exhausted = { text = "Heard: {{last_user}}" }
[model]
id = "mock"
[[turn]]
when = { last_user_contains = "go" }
steps = [{ text = "Well" }, { wait_for = "../gate" }, { text = "." }]
"#;

pub fn is_delta(frame: &Value) -> bool {
    frame["assistantMessageEvent"]["type"] == "text_delta"
}

/// Has the model begin, queues what `commands` say, and lets the model go on. Compares all that
/// is told.
pub fn check(model: &str, busy: fn(&Value) -> bool, commands: &[Value], expected: Expect) {
    let folder = Folder::with(model);
    folder.file("notes.txt", "alpha\n");
    let mut child = folder.child(&["--no-session"]);
    child.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    let mut frames = child.until(busy);
    for (n, command) in commands.iter().enumerate() {
        let mut command = command.clone();
        command["id"] = json!(n);
        frames.extend(child.done(command));
    }
    folder.open_gate();
    frames.extend(child.until_type("agent_settled"));
    expected.assert_eq(&told(&without_reports(frames), &folder));
}

#[test]
fn follow_ups_come_one_a_turn_when_the_run_would_stop_and_after_all_steering() {
    check(
        SPEAKS,
        is_delta,
        &[
            json!({"type": "follow_up", "message": "later"}),
            json!({"type": "prompt", "message": "last", "streamingBehavior": "followUp"}),
            json!({"type": "steer", "message": "now"}),
        ],
        expect![[r#"
            {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Well"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Well","partial":"=message"},"usage":"=message.usage"}
            {"type":"queue_update","steering":[],"followUp":["later"]}
            {"id":0,"type":"response","command":"follow_up","success":true,"data":{"disposition":"queued"}}
            {"type":"queue_update","steering":[],"followUp":["later","last"]}
            {"id":1,"type":"response","command":"prompt","success":true,"data":{"disposition":"queued"}}
            {"type":"queue_update","steering":["now"],"followUp":["later","last"]}
            {"id":2,"type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Well."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":".","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Well."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Well.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Well."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-2","toolResults":[]}
            {"type":"turn_start"}
            {"type":"queue_update","steering":[],"followUp":["later","last"]}
            {"type":"message_start","messageId":"msg-3","message":{"role":"user","content":[{"type":"text","text":"now"}],"attribution":"user","steering":true,"timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-3","message":"as it began"}
            {"type":"message_start","messageId":"msg-4","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Heard: now"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Heard: now","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-4","message":{"…":"as it began","content":[{"type":"text","text":"Heard: now"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Heard: now","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-4","message":{"role":"assistant","content":[{"type":"text","text":"Heard: now"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-4","toolResults":[]}
            {"type":"turn_start"}
            {"type":"queue_update","steering":[],"followUp":["last"]}
            {"type":"message_start","messageId":"msg-5","message":{"role":"user","content":[{"type":"text","text":"later"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-5","message":"as it began"}
            {"type":"message_start","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Heard: later"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Heard: later","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Heard: later"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Heard: later","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[{"type":"text","text":"Heard: later"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-6","toolResults":[]}
            {"type":"turn_start"}
            {"type":"queue_update","steering":[],"followUp":[]}
            {"type":"message_start","messageId":"msg-7","message":{"role":"user","content":[{"type":"text","text":"last"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-7","message":"as it began"}
            {"type":"message_start","messageId":"msg-8","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"text","text":"Heard: last"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Heard: last","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"text","text":"Heard: last"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Heard: last","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-8","message":{"role":"assistant","content":[{"type":"text","text":"Heard: last"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-8","toolResults":[]}
            {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4","msg-5","msg-6","msg-7","msg-8"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":8}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"prompt_result","id":1,"agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

#[test]
fn follow_ups_come_all_in_one_turn_if_that_is_wanted() {
    check(
        SPEAKS,
        is_delta,
        &[
            json!({"type": "set_follow_up_mode", "mode": "all"}),
            json!({"type": "follow_up", "message": "one"}),
            json!({"type": "follow_up", "message": "two"}),
        ],
        expect![[r#"
            {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-1","message":"as it began"}
            {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Well"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Well","partial":"=message"},"usage":"=message.usage"}
            {"id":0,"type":"response","command":"set_follow_up_mode","success":true}
            {"type":"queue_update","steering":[],"followUp":["one"]}
            {"id":1,"type":"response","command":"follow_up","success":true,"data":{"disposition":"queued"}}
            {"type":"queue_update","steering":[],"followUp":["one","two"]}
            {"id":2,"type":"response","command":"follow_up","success":true,"data":{"disposition":"queued"}}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Well."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":".","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Well."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Well.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Well."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-2","toolResults":[]}
            {"type":"turn_start"}
            {"type":"queue_update","steering":[],"followUp":["two"]}
            {"type":"message_start","messageId":"msg-3","message":{"role":"user","content":[{"type":"text","text":"one"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-3","message":"as it began"}
            {"type":"queue_update","steering":[],"followUp":[]}
            {"type":"message_start","messageId":"msg-4","message":{"role":"user","content":[{"type":"text","text":"two"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-4","message":"as it began"}
            {"type":"message_start","messageId":"msg-5","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-5","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-5","message":{"…":"as it began","content":[{"type":"text","text":"Heard: two"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Heard: two","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-5","message":{"…":"as it began","content":[{"type":"text","text":"Heard: two"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Heard: two","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-5","message":{"role":"assistant","content":[{"type":"text","text":"Heard: two"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-5","toolResults":[]}
            {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4","msg-5"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":5}
            {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

#[test]
fn what_is_queued_while_nothing_runs_waits_for_the_next_prompt() {
    let folder = Folder::with(SPEAKS);
    let mut child = folder.child(&["--no-session"]);
    let mut frames = child.done(json!({"id": 1, "type": "follow_up", "message": "later"}));
    frames.extend(child.done(json!({"id": 2, "type": "steer", "message": "soon"})));
    frames.extend(child.done(json!({"id": 3, "type": "get_state"})));
    frames.extend(child.prompt("hello"));
    expect![[r#"
        {"type":"queue_update","steering":[],"followUp":["later"]}
        {"id":1,"type":"response","command":"follow_up","success":true,"data":{"disposition":"queued"}}
        {"type":"queue_update","steering":["soon"],"followUp":["later"]}
        {"id":2,"type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
        {"id":3,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"medium","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":0,"queuedMessageCount":2,"pendingMessageCount":2,"queuedMessages":{"steering":["soon"],"followUp":["later"]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"hello"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"queue_update","steering":[],"followUp":["later"]}
        {"type":"message_start","messageId":"msg-2","message":{"role":"user","content":[{"type":"text","text":"soon"}],"attribution":"user","steering":true,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-2","message":"as it began"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-3","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-3","message":{"…":"as it began","content":[{"type":"text","text":"Heard: soon"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Heard: soon","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-3","message":{"…":"as it began","content":[{"type":"text","text":"Heard: soon"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Heard: soon","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-3","message":{"role":"assistant","content":[{"type":"text","text":"Heard: soon"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-3","toolResults":[]}
        {"type":"turn_start"}
        {"type":"queue_update","steering":[],"followUp":[]}
        {"type":"message_start","messageId":"msg-4","message":{"role":"user","content":[{"type":"text","text":"later"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-4","message":"as it began"}
        {"type":"message_start","messageId":"msg-5","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-5","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-5","message":{"…":"as it began","content":[{"type":"text","text":"Heard: later"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Heard: later","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-5","message":{"…":"as it began","content":[{"type":"text","text":"Heard: later"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Heard: later","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-5","message":{"role":"assistant","content":[{"type":"text","text":"Heard: later"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-5","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2","msg-3","msg-4","msg-5"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":5}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}

/// What is told when commands change the queues of a session that is idle.
fn changed(child: &mut Child, commands: &[Value]) -> Vec<Value> {
    let mut frames = Vec::new();
    for (n, command) in commands.iter().enumerate() {
        let mut command = command.clone();
        command["id"] = json!(n);
        frames.extend(child.done(command));
    }
    frames
}

#[test]
fn every_change_of_the_queues_is_told_before_it_is_answered() {
    let folder = Folder::with(SPEAKS);
    let mut child = folder.child(&["--no-session"]);
    let frames = changed(
        &mut child,
        &[
            json!({"type": "steer", "message": "a"}),
            json!({"type": "follow_up", "message": "b", "images": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}),
            json!({"type": "follow_up", "message": "c"}),
            json!({"type": "promote_queued_message", "message": "c"}),
            json!({"type": "promote_queued_message", "message": "nowhere"}),
            json!({"type": "remove_queued_message", "message": "a", "queue": "steering"}),
            json!({"type": "remove_queued_message", "message": "a", "queue": "followUp"}),
            json!({"type": "clear_queue"}),
            json!({"type": "clear_queue"}),
        ],
    );
    expect![[r#"
        {"type":"queue_update","steering":["a"],"followUp":[]}
        {"id":0,"type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
        {"type":"queue_update","steering":["a"],"followUp":["b"]}
        {"id":1,"type":"response","command":"follow_up","success":true,"data":{"disposition":"queued"}}
        {"type":"queue_update","steering":["a"],"followUp":["b","c"]}
        {"id":2,"type":"response","command":"follow_up","success":true,"data":{"disposition":"queued"}}
        {"type":"queue_update","steering":["a","c"],"followUp":["b"]}
        {"id":3,"type":"response","command":"promote_queued_message","success":true,"data":{"promoted":true}}
        {"id":4,"type":"response","command":"promote_queued_message","success":true,"data":{"promoted":false}}
        {"type":"queue_update","steering":["c"],"followUp":["b"]}
        {"id":5,"type":"response","command":"remove_queued_message","success":true,"data":{"removed":true}}
        {"id":6,"type":"response","command":"remove_queued_message","success":true,"data":{"removed":false}}
        {"type":"queue_update","steering":[],"followUp":[]}
        {"id":7,"type":"response","command":"clear_queue","success":true,"data":{"steering":["c"],"followUp":["b"]}}
        {"id":8,"type":"response","command":"clear_queue","success":true,"data":{"steering":[],"followUp":[]}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn what_waits_stays_after_an_abort_and_is_delivered_with_the_next_prompt() {
    let folder = Folder::with(SPEAKS);
    let mut child = folder.child(&["--no-session"]);
    child.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    let mut frames = child.until(is_delta);
    frames.extend(changed(
        &mut child,
        &[
            json!({"type": "steer", "message": "steered"}),
            json!({"type": "prompt", "message": "queued", "streamingBehavior": "followUp"}),
            json!({"type": "abort"}),
            json!({"type": "get_state"}),
        ],
    ));
    frames.extend(child.prompt("second"));
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-1","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-1","message":"as it began"}
        {"type":"message_start","messageId":"msg-2","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-2","message":{"…":"as it began","content":[{"type":"text","text":"Well"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Well","partial":"=message"},"usage":"=message.usage"}
        {"type":"queue_update","steering":["steered"],"followUp":[]}
        {"id":0,"type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
        {"type":"queue_update","steering":["steered"],"followUp":["queued"]}
        {"id":1,"type":"response","command":"prompt","success":true,"data":{"disposition":"queued"}}
        {"type":"message_end","messageId":"msg-2","message":{"role":"assistant","content":[{"type":"text","text":"Well"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-2","toolResults":[]}
        {"type":"agent_end","messages":["msg-1","msg-2"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"aborted","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":true}
        {"id":2,"type":"response","command":"abort","success":true}
        {"id":3,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"medium","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":2,"queuedMessageCount":2,"pendingMessageCount":2,"queuedMessages":{"steering":["steered"],"followUp":["queued"]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-3","message":{"role":"user","content":[{"type":"text","text":"second"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-3","message":"as it began"}
        {"type":"queue_update","steering":[],"followUp":["queued"]}
        {"type":"message_start","messageId":"msg-4","message":{"role":"user","content":[{"type":"text","text":"steered"}],"attribution":"user","steering":true,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-4","message":"as it began"}
        {"type":"message_start","messageId":"msg-5","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-5","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-5","message":{"…":"as it began","content":[{"type":"text","text":"Heard: steered"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Heard: steered","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-5","message":{"…":"as it began","content":[{"type":"text","text":"Heard: steered"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Heard: steered","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-5","message":{"role":"assistant","content":[{"type":"text","text":"Heard: steered"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-5","toolResults":[]}
        {"type":"turn_start"}
        {"type":"queue_update","steering":[],"followUp":[]}
        {"type":"message_start","messageId":"msg-6","message":{"role":"user","content":[{"type":"text","text":"queued"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-6","message":"as it began"}
        {"type":"message_start","messageId":"msg-7","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-7","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-7","message":{"…":"as it began","content":[{"type":"text","text":"Heard: queued"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Heard: queued","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-7","message":{"…":"as it began","content":[{"type":"text","text":"Heard: queued"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Heard: queued","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-7","message":{"role":"assistant","content":[{"type":"text","text":"Heard: queued"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-7","toolResults":[]}
        {"type":"agent_end","messages":["msg-3","msg-4","msg-5","msg-6","msg-7"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":5}
        {"type":"prompt_result","id":1,"agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}
