//! Compaction by hand (section 13), whole frames.

use expect_test::expect;
use serde_json::{Value, json};

use crate::child::{Child, Folder};
use crate::transcript::{answers_and_events, told};

const TALK: &str = r#"
on_exhausted = { text = "Heard: {{last_user}}" }
usage = { input = 100, output = 25 }
[model]
id = "mock"
[[turn]]
when = { last_user_contains = "go" }
steps = [{ text = "Well" }, { hang = true }]
"#;

pub const SUMMARY: &str = "[compaction]\nsummary = \"Things were said.\\nMany of them.\"\n";

fn folder(compaction: &str) -> Folder {
    Folder::with(&format!("{TALK}{compaction}"))
}

fn talked(folder: &Folder) -> Child {
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    child.prompt("first");
    child.prompt("second");
    child
}

#[test]
fn a_compaction_by_hand_is_told_answered_and_kept() {
    let folder = folder(SUMMARY);
    let mut child = talked(&folder);
    let mut frames = child.done(json!({"id": "c", "type": "compact"}));
    for (n, command) in [
        "get_messages",
        "get_state",
        "get_session_stats",
        "get_entries",
    ]
    .into_iter()
    .enumerate()
    {
        frames.extend(child.done(json!({"id": n, "type": command})));
    }
    frames.extend(child.done(json!({"id": "again", "type": "compact"})));
    frames.extend(child.prompt("third"));
    expect![[r#"
        {"type":"compaction_start","reason":"manual"}
        {"type":"compaction_end","reason":"manual","result":{"summary":"Things were said.\nMany of them.","shortSummary":"Things were said.","firstKeptEntryId":"ID1","tokensBefore":125,"estimatedTokensAfter":14,"details":{"readFiles":[],"modifiedFiles":[]}},"aborted":false,"willRetry":false}
        {"id":"c","type":"response","command":"compact","success":true,"data":{"summary":"Things were said.\nMany of them.","shortSummary":"Things were said.","firstKeptEntryId":"ID1","tokensBefore":125,"estimatedTokensAfter":14,"details":{"readFiles":[],"modifiedFiles":[]}}}
        {"id":0,"type":"response","command":"get_messages","success":true,"data":{"messages":[{"role":"compactionSummary","summary":"Things were said.\nMany of them.","tokensBefore":125,"timestamp":"TIME"},{"role":"user","content":[{"type":"text","text":"second"}],"attribution":"user","timestamp":"TIME"},{"role":"assistant","content":[{"type":"text","text":"Heard: second"}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}]}}
        {"id":1,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"medium","isStreaming":false,"isCompacting":false,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionFile":"ROOT/sessions/TIME_ID.jsonl","sessionId":"ID2","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":3,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":true,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
        {"id":2,"type":"response","command":"get_session_stats","success":true,"data":{"sessionFile":"ROOT/sessions/TIME_ID.jsonl","sessionId":"ID2","userMessages":1,"assistantMessages":1,"toolCalls":0,"toolResults":0,"totalMessages":3,"tokens":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"total":125},"cost":0,"contextUsage":{"tokens":null,"contextWindow":200000,"percent":null},"premiumRequests":0}}
        {"id":3,"type":"response","command":"get_entries","success":true,"data":{"entries":[{"type":"model_change","id":"ID3","parentId":null,"timestamp":"TIME","provider":"script","modelId":"mock","model":"script/mock"},{"type":"thinking_level_change","id":"ID4","parentId":"ID3","timestamp":"TIME","thinkingLevel":"medium"},{"type":"message","id":"ID5","parentId":"ID4","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"first"}],"attribution":"user","timestamp":"TIME"}},{"type":"message","id":"ID6","parentId":"ID5","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"Heard: first"}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}},{"type":"message","id":"ID1","parentId":"ID6","timestamp":"TIME","message":{"role":"user","content":[{"type":"text","text":"second"}],"attribution":"user","timestamp":"TIME"}},{"type":"message","id":"ID7","parentId":"ID1","timestamp":"TIME","message":{"role":"assistant","content":[{"type":"text","text":"Heard: second"}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}},{"type":"custom","id":"ID8","parentId":"ID7","timestamp":"TIME","customType":"stentor.consumedBySummary","data":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}},{"type":"compaction","id":"ID9","parentId":"ID8","timestamp":"TIME","summary":"Things were said.\nMany of them.","firstKeptEntryId":"ID1","tokensBefore":125,"details":{"readFiles":[],"modifiedFiles":[]}},{"type":"model_change","id":"ID10","parentId":"ID9","timestamp":"TIME","provider":"script","modelId":"mock","model":"script/mock"},{"type":"thinking_level_change","id":"ID11","parentId":"ID10","timestamp":"TIME","thinkingLevel":"medium"}],"leafId":"ID11"}}
        {"type":"compaction_start","reason":"manual"}
        {"type":"compaction_end","reason":"manual","aborted":false,"willRetry":false,"errorMessage":"Compaction failed: Already compacted"}
        {"id":"again","type":"response","command":"compact","success":false,"error":"Already compacted"}
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-5","message":{"role":"user","content":[{"type":"text","text":"third"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-5","message":"as it began"}
        {"type":"message_start","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Heard: third"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Heard: third","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Heard: third"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Heard: third","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[{"type":"text","text":"Heard: third"}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-6","toolResults":[]}
        {"type":"agent_end","messages":["msg-5","msg-6"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_conversation_with_nothing_in_it_is_not_compacted() {
    let folder = folder(SUMMARY);
    let mut child = folder.child(&["--no-session"]);
    let frames = child.done(json!({"id": "c", "type": "compact"}));
    expect![[r#"
        {"type":"compaction_start","reason":"manual"}
        {"type":"compaction_end","reason":"manual","aborted":false,"willRetry":false,"errorMessage":"Compaction failed: Nothing to compact (session too small)"}
        {"id":"c","type":"response","command":"compact","success":false,"error":"Nothing to compact (session too small)"}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_compaction_by_hand_ends_the_run_first() {
    let folder = folder(SUMMARY);
    let mut child = talked(&folder);
    child.send(json!({"id": "p", "type": "prompt", "message": "go"}));
    let mut frames = child.until(|frame| frame["assistantMessageEvent"]["type"] == "text_delta");
    frames.extend(child.done(json!({"id": "c", "type": "compact"})));
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-5","message":{"role":"user","content":[{"type":"text","text":"go"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-5","message":"as it began"}
        {"type":"message_start","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Well"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Well","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[{"type":"text","text":"Well"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"aborted","errorMessage":"Request was aborted","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-6","toolResults":[]}
        {"type":"agent_end","messages":["msg-5","msg-6"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"aborted","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":true}
        {"type":"compaction_start","reason":"manual"}
        {"type":"compaction_end","reason":"manual","result":{"summary":"Things were said.\nMany of them.","shortSummary":"Things were said.","firstKeptEntryId":"ID1","tokensBefore":127,"estimatedTokensAfter":10,"details":{"readFiles":[],"modifiedFiles":[]}},"aborted":false,"willRetry":false}
        {"id":"c","type":"response","command":"compact","success":true,"data":{"summary":"Things were said.\nMany of them.","shortSummary":"Things were said.","firstKeptEntryId":"ID1","tokensBefore":127,"estimatedTokensAfter":10,"details":{"readFiles":[],"modifiedFiles":[]}}}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_compaction_that_fails_says_why_and_changes_nothing() {
    let folder = folder(
        "[compaction]\nerror = { kind = \"invalid_request\", message = \"no summary today\" }\n",
    );
    let mut child = talked(&folder);
    let before = child.ask(json!({"type": "get_messages"}));
    let frames = child.done(json!({"id": "c", "type": "compact"}));
    expect![[r#"
        {"type":"compaction_start","reason":"manual"}
        {"type":"compaction_end","reason":"manual","aborted":false,"willRetry":false,"errorMessage":"Compaction failed: no summary today"}
        {"id":"c","type":"response","command":"compact","success":false,"error":"no summary today"}
    "#]].assert_eq(&told(&frames, &folder));
    assert_eq!(child.ask(json!({"type": "get_messages"})), before);
}

#[test]
fn what_is_said_while_a_summary_is_made_waits_for_it_and_an_abort_cancels_it() {
    let folder = folder("[compaction]\nsummary = \"Never.\"\nwait_ms = 3600000\n");
    let mut child = talked(&folder);
    child.send(json!({"id": "c", "type": "compact"}));
    let mut frames = child.until_type("compaction_start");
    frames.extend(child.done(json!({"id": "g", "type": "get_state"})));
    frames.extend(child.done(json!({"id": "s", "type": "steer", "message": "and this"})));
    child.send(json!({"id": "a", "type": "abort"}));
    let compacted = |frame: &Value| frame["id"] == "c";
    let aborted = |frame: &Value| frame["id"] == "a";
    frames.extend(child.until_all(&[&compacted, &aborted]));
    frames.extend(child.prompt("third"));
    // Which of the two commands that end together is answered first does not matter.
    let (mut answers, events) = answers_and_events(frames);
    answers.sort_by_key(|answer| answer["id"].as_str().unwrap().to_owned());
    expect![[r#"
        {"id":"a","type":"response","command":"abort","success":true}
        {"id":"c","type":"response","command":"compact","success":false,"error":"Compaction cancelled"}
        {"id":"g","type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"medium","isStreaming":true,"isCompacting":true,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionFile":"ROOT/sessions/TIME_ID.jsonl","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":4,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":false,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"contextUsage":{"tokens":125,"contextWindow":200000,"percent":0.0625},"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"id":"s","type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
    "#]].assert_eq(&told(&answers, &folder));
    expect![[r#"
        {"type":"compaction_start","reason":"manual"}
        {"type":"queue_update","steering":["and this"],"followUp":[]}
        {"type":"compaction_end","reason":"manual","aborted":true,"willRetry":false}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-5","message":{"role":"user","content":[{"type":"text","text":"third"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-5","message":"as it began"}
        {"type":"queue_update","steering":[],"followUp":[]}
        {"type":"message_start","messageId":"msg-6","message":{"role":"user","content":[{"type":"text","text":"and this"}],"attribution":"user","steering":true,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-6","message":"as it began"}
        {"type":"message_start","messageId":"msg-7","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-7","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-7","message":{"…":"as it began","content":[{"type":"text","text":"Heard: and this"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Heard: and this","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-7","message":{"…":"as it began","content":[{"type":"text","text":"Heard: and this"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Heard: and this","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-7","message":{"role":"assistant","content":[{"type":"text","text":"Heard: and this"}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-7","toolResults":[]}
        {"type":"agent_end","messages":["msg-5","msg-6","msg-7"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":3}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&events, &folder));
}

#[test]
fn what_is_queued_during_a_compaction_by_hand_is_delivered_after_it() {
    let folder = folder("[compaction]\nsummary = \"Said.\"\nwait_for = \"../gate\"\n");
    let mut child = talked(&folder);
    child.send(json!({"id": "c", "type": "compact"}));
    let mut frames = child.until_type("compaction_start");
    frames.extend(child.done(json!({"id": 1, "type": "get_state"})));
    frames.extend(child.done(json!({"id": 2, "type": "prompt", "message": "no behaviour given"})));
    let steer =
        json!({"id": 3, "type": "prompt", "message": "and this", "streamingBehavior": "steer"});
    frames.extend(child.done(steer));
    folder.open_gate();
    let compacted = |frame: &Value| frame["id"] == "c";
    let settled = |frame: &Value| frame["type"] == "agent_settled";
    frames.extend(child.until_all(&[&compacted, &settled]));
    let (answers, events) = answers_and_events(frames);
    expect![[r#"
        {"id":1,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"medium","isStreaming":true,"isCompacting":true,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionFile":"ROOT/sessions/TIME_ID.jsonl","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":4,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":false,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"contextUsage":{"tokens":125,"contextWindow":200000,"percent":0.0625},"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
        {"id":2,"type":"response","command":"prompt","success":false,"error":"Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."}
        {"id":3,"type":"response","command":"prompt","success":true,"data":{"disposition":"queued"}}
        {"id":"c","type":"response","command":"compact","success":true,"data":{"summary":"Said.","shortSummary":"Said.","firstKeptEntryId":"ID2","tokensBefore":125,"estimatedTokensAfter":8,"details":{"readFiles":[],"modifiedFiles":[]}}}
    "#]].assert_eq(&told(&answers, &folder));
    expect![[r#"
        {"type":"compaction_start","reason":"manual"}
        {"type":"queue_update","steering":["and this"],"followUp":[]}
        {"type":"compaction_end","reason":"manual","result":{"summary":"Said.","shortSummary":"Said.","firstKeptEntryId":"ID1","tokensBefore":125,"estimatedTokensAfter":8,"details":{"readFiles":[],"modifiedFiles":[]}},"aborted":false,"willRetry":false}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"queue_update","steering":[],"followUp":[]}
        {"type":"message_start","messageId":"msg-5","message":{"role":"user","content":[{"type":"text","text":"and this"}],"attribution":"user","steering":true,"timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-5","message":"as it began"}
        {"type":"message_start","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Heard: and this"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Heard: and this","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Heard: and this"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Heard: and this","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[{"type":"text","text":"Heard: and this"}],"api":"script","provider":"script","model":"mock","usage":{"input":100,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":125,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-6","toolResults":[]}
        {"type":"agent_end","messages":["msg-5","msg-6"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":3,"agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&events, &folder));
}
