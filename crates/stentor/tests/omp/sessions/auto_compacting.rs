//! Compaction that begins by itself (section 13), whole frames.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::child::Folder;
use crate::sessions::compacting::SUMMARY;
use crate::transcript::told;

/// A long conversation and a prompt after which the window is full.
fn filled(compaction: &str, commands: &[Value], expected: Expect) {
    let folder = Folder::with(&format!(
        r#"
        [model]
        id = "mock"
        [[turn]]
        text = "Long."
        times = 2
        usage = {{ input = 10, output = 1 }}
        [[turn]]
        text = "Short."
        usage = {{ input = 190000, output = 25 }}
        {compaction}
        "#
    ));
    let mut child = folder.child(&["--no-session"]);
    child.prompt(&"many words ".repeat(9_000));
    child.prompt(&"more words ".repeat(9_000));
    for command in commands {
        child.data(command.clone());
    }
    let frames = child.prompt("few words");
    expected.assert_eq(&told(&frames, &folder));
}

#[test]
fn a_compaction_by_itself_is_told_in_the_words_of_both_families() {
    filled(
        SUMMARY,
        &[],
        expect![[r#"
            {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-5","message":{"role":"user","content":[{"type":"text","text":"few words"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-5","message":"as it began"}
            {"type":"message_start","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Short."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Short.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Short."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Short.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[{"type":"text","text":"Short."}],"api":"script","provider":"script","model":"mock","usage":{"input":190000,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":190025,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-6","toolResults":[]}
            {"type":"agent_end","messages":["msg-5","msg-6"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
            {"type":"auto_compaction_start","reason":"threshold","action":"context-full"}
            {"type":"compaction_start","reason":"threshold"}
            {"type":"auto_compaction_end","action":"context-full","result":{"summary":"Things were said.\nMany of them.","shortSummary":"Things were said.","firstKeptEntryId":"ID1","tokensBefore":190025,"estimatedTokensAfter":24765,"details":{"readFiles":[],"modifiedFiles":[]}},"aborted":false,"willRetry":false}
            {"type":"compaction_end","reason":"threshold","result":{"summary":"Things were said.\nMany of them.","shortSummary":"Things were said.","firstKeptEntryId":"ID1","tokensBefore":190025,"estimatedTokensAfter":24765,"details":{"readFiles":[],"modifiedFiles":[]}},"aborted":false,"willRetry":false}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

#[test]
fn a_compaction_by_itself_that_fails_is_told_and_the_conversation_goes_on() {
    filled(
        "[compaction]\nerror = { kind = \"invalid_request\", message = \"no summary today\" }",
        &[],
        expect![[r#"
            {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-5","message":{"role":"user","content":[{"type":"text","text":"few words"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-5","message":"as it began"}
            {"type":"message_start","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Short."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Short.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Short."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Short.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[{"type":"text","text":"Short."}],"api":"script","provider":"script","model":"mock","usage":{"input":190000,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":190025,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-6","toolResults":[]}
            {"type":"agent_end","messages":["msg-5","msg-6"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
            {"type":"auto_compaction_start","reason":"threshold","action":"context-full"}
            {"type":"compaction_start","reason":"threshold"}
            {"type":"auto_compaction_end","action":"context-full","aborted":false,"willRetry":false,"errorMessage":"Compaction failed: no summary today"}
            {"type":"compaction_end","reason":"threshold","aborted":false,"willRetry":false,"errorMessage":"Compaction failed: no summary today"}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

#[test]
fn no_compaction_begins_by_itself_if_that_is_not_wanted() {
    filled(
        SUMMARY,
        &[json!({"type": "set_auto_compaction", "enabled": false})],
        expect![[r#"
            {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
            {"type":"agent_start"}
            {"type":"turn_start"}
            {"type":"message_start","messageId":"msg-5","message":{"role":"user","content":[{"type":"text","text":"few words"}],"attribution":"user","timestamp":"TIME"}}
            {"type":"message_end","messageId":"msg-5","message":"as it began"}
            {"type":"message_start","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
            {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Short."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Short.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Short."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Short.","partial":"=message"},"usage":"=message.usage"}
            {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[{"type":"text","text":"Short."}],"api":"script","provider":"script","model":"mock","usage":{"input":190000,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":190025,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
            {"type":"turn_end","message":"msg-6","toolResults":[]}
            {"type":"agent_end","messages":["msg-5","msg-6"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
            {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
            {"type":"session_settled"}
            {"type":"agent_settled","aborted":false}
        "#]],
    );
}

#[test]
fn what_is_queued_during_a_compaction_by_itself_is_delivered_after_it() {
    let folder = Folder::with(
        r#"
        on_exhausted = { text = "Heard: {{last_user}}" }
        [model]
        id = "mock"
        [[turn]]
        text = "Long."
        times = 2
        usage = { input = 10, output = 1 }
        [[turn]]
        text = "Short."
        usage = { input = 190000, output = 25 }
        [compaction]
        summary = "Things were said."
        wait_for = "../gate"
        "#,
    );
    let mut child = folder.child(&["--no-session"]);
    child.prompt(&"many words ".repeat(9_000));
    child.prompt(&"more words ".repeat(9_000));
    child.send(json!({"id": "p", "type": "prompt", "message": "few words"}));
    let mut frames = child.until_type("compaction_start");
    frames.extend(child.done(json!({"id": 1, "type": "get_state"})));
    frames.extend(child.done(json!({"id": 2, "type": "follow_up", "message": "and this"})));
    folder.open_gate();
    frames.extend(child.until_type("agent_settled"));
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-5","message":{"role":"user","content":[{"type":"text","text":"few words"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-5","message":"as it began"}
        {"type":"message_start","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Short."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Short.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Short."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Short.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[{"type":"text","text":"Short."}],"api":"script","provider":"script","model":"mock","usage":{"input":190000,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":190025,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-6","toolResults":[]}
        {"type":"agent_end","messages":["msg-5","msg-6"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"auto_compaction_start","reason":"threshold","action":"context-full"}
        {"type":"compaction_start","reason":"threshold"}
        {"id":1,"type":"response","command":"get_state","success":true,"data":{"model":{"id":"mock","name":"Scenario mock","api":"script","provider":"script","baseUrl":"","reasoning":true,"input":["text","image"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":200000,"maxTokens":32000,"thinking":{"mode":"effort","efforts":["minimal","low","medium","high","xhigh"],"minLevel":"minimal","maxLevel":"xhigh"}},"thinkingLevel":"medium","isStreaming":true,"isCompacting":true,"steeringMode":"one-at-a-time","followUpMode":"one-at-a-time","interruptMode":"immediate","sessionId":"ID1","autoCompactionEnabled":true,"autoRetryEnabled":true,"messageCount":6,"queuedMessageCount":0,"pendingMessageCount":0,"queuedMessages":{"steering":[],"followUp":[]},"hasPendingAsyncWork":false,"isSettled":false,"fastModeEnabled":false,"fastModeActive":false,"tokensPerSecond":null,"todoPhases":[],"contextUsage":{"tokens":190025,"contextWindow":200000,"percent":95.0125},"systemPrompt":"…","dumpTools":["read","bash","edit","write","grep","find","ls","todo","job","fetch","subagent"]}}
        {"type":"queue_update","steering":[],"followUp":["and this"]}
        {"id":2,"type":"response","command":"follow_up","success":true,"data":{"disposition":"queued"}}
        {"type":"auto_compaction_end","action":"context-full","result":{"summary":"Things were said.","shortSummary":"Things were said.","firstKeptEntryId":"ID2","tokensBefore":190025,"estimatedTokensAfter":24762,"details":{"readFiles":[],"modifiedFiles":[]}},"aborted":false,"willRetry":false}
        {"type":"compaction_end","reason":"threshold","result":{"summary":"Things were said.","shortSummary":"Things were said.","firstKeptEntryId":"ID2","tokensBefore":190025,"estimatedTokensAfter":24762,"details":{"readFiles":[],"modifiedFiles":[]}},"aborted":false,"willRetry":false}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"queue_update","steering":[],"followUp":[]}
        {"type":"message_start","messageId":"msg-7","message":{"role":"user","content":[{"type":"text","text":"and this"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-7","message":"as it began"}
        {"type":"message_start","messageId":"msg-8","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"text","text":"Heard: and this"}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Heard: and this","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-8","message":{"…":"as it began","content":[{"type":"text","text":"Heard: and this"}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Heard: and this","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-8","message":{"role":"assistant","content":[{"type":"text","text":"Heard: and this"}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-8","toolResults":[]}
        {"type":"agent_end","messages":["msg-7","msg-8"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_conversation_that_is_too_long_already_is_compacted_before_the_next_prompt() {
    let folder = Folder::with(&format!(
        r#"
        on_exhausted = {{ text = "Short." }}
        [model]
        id = "mock"
        [[turn]]
        text = "Long."
        usage = {{ input = 10, output = 1 }}
        [[turn]]
        text = "Longer."
        usage = {{ input = 190000, output = 25 }}
        {SUMMARY}
        "#
    ));
    let mut child = folder.child(&["--no-session"]);
    child.data(json!({"type": "set_auto_compaction", "enabled": false}));
    child.prompt(&"many words ".repeat(9_000));
    child.prompt(&"more words ".repeat(9_000));
    child.data(json!({"type": "set_auto_compaction", "enabled": true}));
    let frames = child.prompt("few words");
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"auto_compaction_start","reason":"threshold","action":"context-full"}
        {"type":"compaction_start","reason":"threshold"}
        {"type":"auto_compaction_end","action":"context-full","result":{"summary":"Things were said.\nMany of them.","shortSummary":"Things were said.","firstKeptEntryId":"ID1","tokensBefore":190028,"estimatedTokensAfter":24763,"details":{"readFiles":[],"modifiedFiles":[]}},"aborted":false,"willRetry":false}
        {"type":"compaction_end","reason":"threshold","result":{"summary":"Things were said.\nMany of them.","shortSummary":"Things were said.","firstKeptEntryId":"ID1","tokensBefore":190028,"estimatedTokensAfter":24763,"details":{"readFiles":[],"modifiedFiles":[]}},"aborted":false,"willRetry":false}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-5","message":{"role":"user","content":[{"type":"text","text":"few words"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-5","message":"as it began"}
        {"type":"message_start","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Short."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Short.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Short."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Short.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[{"type":"text","text":"Short."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-6","toolResults":[]}
        {"type":"agent_end","messages":["msg-5","msg-6"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_compaction_by_itself_is_cancelled_by_an_abort() {
    let folder = Folder::with(
        r#"
        on_exhausted = { text = "Again." }
        [model]
        id = "mock"
        [[turn]]
        text = "Long."
        times = 2
        usage = { input = 10, output = 1 }
        [[turn]]
        text = "Short."
        usage = { input = 190000, output = 25 }
        [compaction]
        summary = "Never."
        wait_ms = 3600000
        "#,
    );
    let mut child = folder.child(&["--no-session"]);
    child.prompt(&"many words ".repeat(9_000));
    child.prompt(&"more words ".repeat(9_000));
    child.send(json!({"id": "p", "type": "prompt", "message": "few words"}));
    let mut frames = child.until_type("compaction_start");
    frames.extend(child.done(json!({"id": "a", "type": "abort"})));
    expect![[r#"
        {"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-5","message":{"role":"user","content":[{"type":"text","text":"few words"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-5","message":"as it began"}
        {"type":"message_start","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Short."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Short.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-6","message":{"…":"as it began","content":[{"type":"text","text":"Short."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Short.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[{"type":"text","text":"Short."}],"api":"script","provider":"script","model":"mock","usage":{"input":190000,"output":25,"cacheRead":0,"cacheWrite":0,"totalTokens":190025,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-6","toolResults":[]}
        {"type":"agent_end","messages":["msg-5","msg-6"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":2}
        {"type":"auto_compaction_start","reason":"threshold","action":"context-full"}
        {"type":"compaction_start","reason":"threshold"}
        {"type":"auto_compaction_end","action":"context-full","aborted":true,"willRetry":false}
        {"type":"compaction_end","reason":"threshold","aborted":true,"willRetry":false}
        {"type":"prompt_result","id":"p","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":true}
        {"id":"a","type":"response","command":"abort","success":true}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_context_that_is_too_long_is_compacted_and_the_run_goes_on() {
    let folder = Folder::with(
        r#"
        [model]
        id = "mock"
        [[turn]]
        text = "One."
        times = 2
        [[turn]]
        error = { kind = "context_overflow", message = "prompt is too long" }
        [[turn]]
        text = "Now it fits."
        [compaction]
        summary = "Much was said."
        "#,
    );
    let mut child = folder.child(&["--no-session"]);
    child.prompt(&"many words ".repeat(9_000));
    child.prompt("and more");
    let frames = child.prompt("and on");
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-5","message":{"role":"user","content":[{"type":"text","text":"and on"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-5","message":"as it began"}
        {"type":"message_start","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"error","errorMessage":"prompt is too long","timestamp":"TIME","duration":"MS"}}
        {"type":"turn_end","message":"msg-6","toolResults":[]}
        {"type":"agent_end","messages":["msg-5","msg-6"],"willRetry":true,"isTerminal":false,"yielded":false,"messageCount":2}
        {"type":"entry_appended","entry":{"type":"context_edit","id":"ID1","parentId":"ID2","timestamp":"TIME","targetId":"ID2","replacement":null}}
        {"type":"auto_compaction_start","reason":"overflow","action":"context-full"}
        {"type":"compaction_start","reason":"overflow"}
        {"type":"auto_compaction_end","action":"context-full","result":{"summary":"Much was said.","shortSummary":"Much was said.","firstKeptEntryId":"ID3","tokensBefore":24756,"estimatedTokensAfter":6,"details":{"readFiles":[],"modifiedFiles":[]}},"aborted":false,"willRetry":true}
        {"type":"compaction_end","reason":"overflow","result":{"summary":"Much was said.","shortSummary":"Much was said.","firstKeptEntryId":"ID3","tokensBefore":24756,"estimatedTokensAfter":6,"details":{"readFiles":[],"modifiedFiles":[]}},"aborted":false,"willRetry":true}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-7","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_update","messageId":"msg-7","message":{"…":"as it began","content":[{"type":"text","text":""}]},"assistantMessageEvent":{"type":"text_start","contentIndex":0,"partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-7","message":{"…":"as it began","content":[{"type":"text","text":"Now it fits."}]},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Now it fits.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_update","messageId":"msg-7","message":{"…":"as it began","content":[{"type":"text","text":"Now it fits."}]},"assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"Now it fits.","partial":"=message"},"usage":"=message.usage"}
        {"type":"message_end","messageId":"msg-7","message":{"role":"assistant","content":[{"type":"text","text":"Now it fits."}],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME","duration":"MS","ttft":"MS"}}
        {"type":"turn_end","message":"msg-7","toolResults":[]}
        {"type":"agent_end","messages":["msg-7"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":1}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"completed","sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}

#[test]
fn a_context_that_is_still_too_long_after_a_compaction_fails() {
    let folder = Folder::with(
        r#"
        [model]
        id = "mock"
        [[turn]]
        text = "One."
        times = 2
        [[turn]]
        error = { kind = "context_overflow", message = "prompt is too long" }
        times = 2
        [compaction]
        summary = "Much was said."
        "#,
    );
    let mut child = folder.child(&["--no-session"]);
    child.prompt("first");
    child.prompt("second");
    let frames = child.prompt("third");
    expect![[r#"
        {"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-5","message":{"role":"user","content":[{"type":"text","text":"third"}],"attribution":"user","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-5","message":"as it began"}
        {"type":"message_start","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-6","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"error","errorMessage":"prompt is too long","timestamp":"TIME","duration":"MS"}}
        {"type":"turn_end","message":"msg-6","toolResults":[]}
        {"type":"agent_end","messages":["msg-5","msg-6"],"willRetry":true,"isTerminal":false,"yielded":false,"messageCount":2}
        {"type":"entry_appended","entry":{"type":"context_edit","id":"ID1","parentId":"ID2","timestamp":"TIME","targetId":"ID2","replacement":null}}
        {"type":"auto_compaction_start","reason":"overflow","action":"context-full"}
        {"type":"compaction_start","reason":"overflow"}
        {"type":"auto_compaction_end","action":"context-full","result":{"summary":"Much was said.","shortSummary":"Much was said.","firstKeptEntryId":"ID3","tokensBefore":8,"estimatedTokensAfter":6,"details":{"readFiles":[],"modifiedFiles":[]}},"aborted":false,"willRetry":true}
        {"type":"compaction_end","reason":"overflow","result":{"summary":"Much was said.","shortSummary":"Much was said.","firstKeptEntryId":"ID3","tokensBefore":8,"estimatedTokensAfter":6,"details":{"readFiles":[],"modifiedFiles":[]}},"aborted":false,"willRetry":true}
        {"type":"agent_start"}
        {"type":"turn_start"}
        {"type":"message_start","messageId":"msg-7","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"stop","timestamp":"TIME"}}
        {"type":"message_end","messageId":"msg-7","message":{"role":"assistant","content":[],"api":"script","provider":"script","model":"mock","usage":"nothing","stopReason":"error","errorMessage":"prompt is too long","timestamp":"TIME","duration":"MS"}}
        {"type":"turn_end","message":"msg-7","toolResults":[]}
        {"type":"agent_end","messages":["msg-7"],"willRetry":false,"isTerminal":true,"yielded":true,"messageCount":1}
        {"type":"prompt_result","id":"prompt","agentInvoked":true,"status":"error","error":{"message":"prompt is too long","provider":"script","model":"mock","httpStatus":400,"retryable":false},"sessionSettled":true}
        {"type":"session_settled"}
        {"type":"agent_settled","aborted":false}
    "#]].assert_eq(&told(&frames, &folder));
}
