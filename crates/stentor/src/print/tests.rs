use expect_test::{Expect, expect};
use serde_json::json;
use stentor_agent::event::BudgetLimit;
use stentor_agent::live::LiveMessage;
use stentor_agent::model::ModelErrorKind;

use super::*;
use samples::{
    block, call, conversation, ended, finished, one_of_each, one_of_each_beside, started,
};

mod samples;

const TEXT: PrintOptions = PrintOptions {
    format: OutputFormat::Text,
    verbose: false,
    style: Style::Plain,
    progress: ProgressStyle::None,
    out_is_terminal: false,
    hides_answer: false,
};

fn printed(options: PrintOptions, kinds: &[EventKind]) -> (String, String, u8) {
    let mut printer = Printer::new(options);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    for (n, kind) in (1u64..).zip(kinds) {
        let event = Event {
            session: "s1".into(),
            seq: n,
            time_ms: 1000 + n,
            kind: kind.clone(),
        };
        printer.on_event(&event, &mut out, &mut err).unwrap();
    }
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(out), text(err), printer.exit_code())
}

fn check(options: PrintOptions, kinds: &[EventKind], expected: &Expect) {
    let (out, err, code) = printed(options, kinds);
    expected.assert_eq(&format!("{out}--- stderr\n{err}--- exit {code}\n"));
}

#[test]
fn the_answer_goes_to_stdout_and_each_call_is_one_line_on_stderr() {
    check(
        TEXT,
        &conversation(),
        &expect![[r#"
            I will look.

            Here:
            - a
            --- stderr
            > bash  ls -la  ok 0.2 s
            > read  none.txt  failed: exit 1: boom
            > bash  ls -la  ok 0.2 s
            --- exit 0
        "#]],
    );
}

#[test]
fn thinking_and_usage_show_when_asked_for() {
    let verbose = PrintOptions {
        verbose: true,
        ..TEXT
    };
    check(
        verbose,
        &conversation(),
        &expect![[r#"
            I will look.

            Here:
            - a
            --- stderr
            Let me look.
            > bash  ls -la  ok 0.2 s
            > read  none.txt  failed: exit 1: boom
            > bash  ls -la  ok 0.2 s
            usage: 100 tokens in, 7 from the cache, 25 out, $0.0007
            --- exit 0
        "#]],
    );
}

#[test]
fn a_terminal_gets_signs_and_no_control_characters_of_others() {
    let live = LiveMessage::new(1, "e1", "a", "p", "m", 0);
    let run = call("1", "bash", json!({ "command": "x\u{1b}[2J" }));
    let events = [
        block(&live, LiveBlockKind::Text, &["\u{1b}]0;owned\u{7}hi"]),
        vec![
            started(&run),
            finished(&run, ToolOutput::text("")),
            EventKind::Notice {
                level: NoticeLevel::Warning,
                message: "a\u{1b}c".into(),
                from: stentor_agent::event::NoticeSource::Agent,
            },
        ],
    ]
    .concat();
    let (out, err, _) = printed(
        PrintOptions {
            style: Style::Terminal,
            out_is_terminal: true,
            hides_answer: false,
            ..TEXT
        },
        &events,
    );
    expect![[r#"
        (
            "\\u{1b}]0;owned\\u{7}hi\n",
            "\u{1b}[36m▸\u{1b}[0m \u{1b}[1mbash\u{1b}[0m  x\\u{1b}[2J  \u{1b}[32m✓\u{1b}[0m \u{1b}[2m0.2 s\u{1b}[0m\n\u{1b}[33mwarning:\u{1b}[0m a\\u{1b}c\n",
        )
    "#]].assert_debug_eq(&(out, err));
}

#[test]
fn trouble_is_told_and_decides_the_exit_status() {
    let failed = RunOutcome::Failed {
        kind: ModelErrorKind::Auth,
        message: "anthropic: 401 invalid key".into(),
        status: Some(401),
    };
    let budget = RunOutcome::BudgetReached {
        limit: BudgetLimit::Turns,
        message: "the budget of 3 turns is used up".into(),
    };
    let retry = EventKind::RetryStarted {
        attempt: 1,
        max_attempts: 3,
        delay_ms: 2000,
        asked_for: false,
        rate_limit: None,
        error: "overloaded".into(),
    };
    check(
        TEXT,
        &[retry, ended(failed)],
        &expect![[r#"
        --- stderr
        ... retrying in 2.0 s (1 of 3): overloaded
        error: anthropic: 401 invalid key
        --- exit 1
    "#]],
    );
    check(
        TEXT,
        &[ended(budget)],
        &expect![[r#"
        --- stderr
        error: the budget of 3 turns is used up
        --- exit 1
    "#]],
    );
    check(
        TEXT,
        &[ended(RunOutcome::Aborted)],
        &expect![[r#"
        --- stderr
        error: stopped
        --- exit 130
    "#]],
    );
    check(
        TEXT,
        &[],
        &expect![[r#"
        --- stderr
        --- exit 1
    "#]],
    );
}

#[test]
fn subagents_and_failed_extensions_show_as_lines() {
    check(
        TEXT,
        &one_of_each_beside(),
        &expect![[r#"
        --- stderr
        ... scout: look
        ... scout: done after 1.5 s
        warning: extension x failed at start: boom
        --- exit 1
    "#]],
    );
}

#[test]
fn json_has_one_object_a_line_for_every_kind_of_event() {
    let json = PrintOptions {
        format: OutputFormat::Json,
        ..TEXT
    };
    let (out, err, _) = printed(json, &one_of_each());
    assert_eq!(err, "");
    assert_eq!(out.lines().count(), one_of_each().len());
    expect![[r#"
        {"type":"run_started","session":"s1","seq":1,"time":1001}
        {"type":"turn_started","session":"s1","seq":2,"time":1002}
        {"type":"message_started","number":1,"message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":5},"session":"s1","seq":3,"time":1003}
        {"type":"message_ended","number":1,"message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":5},"session":"s1","seq":4,"time":1004}
        {"type":"answer_started","number":7,"api":"api","provider":"p","model":"m","session":"s1","seq":5,"time":1005}
        {"type":"block_started","number":7,"block":0,"kind":"text","session":"s1","seq":6,"time":1006}
        {"type":"block_delta","number":7,"block":0,"kind":"text","delta":"a ","session":"s1","seq":7,"time":1007}
        {"type":"block_ended","number":7,"block":0,"kind":"text","session":"s1","seq":8,"time":1008}
        {"type":"block_started","number":7,"block":1,"kind":"thinking","session":"s1","seq":9,"time":1009}
        {"type":"block_delta","number":7,"block":1,"kind":"thinking","delta":"b","session":"s1","seq":10,"time":1010}
        {"type":"block_ended","number":7,"block":1,"kind":"thinking","session":"s1","seq":11,"time":1011}
        {"type":"block_started","number":7,"block":2,"kind":"redacted_thinking","session":"s1","seq":12,"time":1012}
        {"type":"block_delta","number":7,"block":2,"kind":"redacted_thinking","delta":"c","session":"s1","seq":13,"time":1013}
        {"type":"block_ended","number":7,"block":2,"kind":"redacted_thinking","session":"s1","seq":14,"time":1014}
        {"type":"block_started","number":7,"block":3,"kind":"tool_call","callId":"c1","name":"bash","session":"s1","seq":15,"time":1015}
        {"type":"block_delta","number":7,"block":3,"kind":"tool_call","callId":"c1","name":"bash","delta":"{}","session":"s1","seq":16,"time":1016}
        {"type":"block_ended","number":7,"block":3,"kind":"tool_call","callId":"c1","name":"bash","call":{"id":"c1","name":"bash","arguments":{"command":"ls"}},"session":"s1","seq":17,"time":1017}
        {"type":"tool_started","call":{"id":"c1","name":"bash","arguments":{"command":"ls"}},"session":"s1","seq":18,"time":1018}
        {"type":"tool_progress","callId":"c1","name":"bash","output":{"content":[{"type":"text","text":""}]},"session":"s1","seq":19,"time":1019}
        {"type":"tool_ended","callId":"c1","name":"bash","output":{"content":[{"type":"text","text":"x"}],"details":{"exit":0}},"isError":false,"durationMs":230,"session":"s1","seq":20,"time":1020}
        {"type":"turn_ended","message":{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":5},"toolResults":[{"role":"user","content":[{"type":"text","text":"hi"}],"attribution":"user","timestamp":5}],"session":"s1","seq":21,"time":1021}
        {"type":"queue_changed","steering":["stop"],"followUp":[],"session":"s1","seq":22,"time":1022}
        {"type":"entry_appended","id":"e1","session":"s1","seq":23,"time":1023}
        {"type":"compaction_started","reason":"manual","session":"s1","seq":24,"time":1024}
        {"type":"compaction_ended","reason":"overflow","result":{"summary":"s","firstKeptEntryId":"e1","tokensBefore":9,"tokensAfter":3,"readFiles":["r"],"modifiedFiles":[]},"aborted":false,"willRetry":true,"error":null,"session":"s1","seq":25,"time":1025}
        {"type":"retry_started","attempt":1,"maxAttempts":3,"delayMs":2000,"error":"overloaded","session":"s1","seq":26,"time":1026}
        {"type":"retry_ended","success":false,"attempt":3,"error":"overloaded","session":"s1","seq":27,"time":1027}
        {"type":"summary_retry","how":"scheduled","attempt":1,"maxAttempts":3,"delayMs":2000,"error":"overloaded","session":"s1","seq":28,"time":1028}
        {"type":"summary_retry","how":"started","reason":"handoff","session":"s1","seq":29,"time":1029}
        {"type":"summary_retry","how":"ended","session":"s1","seq":30,"time":1030}
        {"type":"fallback_applied","from":"p/one","to":"p/two","role":"default","reason":"overloaded","session":"s1","seq":31,"time":1031}
        {"type":"fallback_succeeded","model":"p/two","role":"default","session":"s1","seq":32,"time":1032}
        {"type":"plan_changed","plan":{"phases":[{"name":"one","tasks":[{"content":"do","status":"in_progress"}]}]},"session":"s1","seq":33,"time":1033}
        {"type":"plan_tidied","session":"s1","seq":34,"time":1034}
        {"type":"jobs_changed","session":"s1","seq":35,"time":1035}
        {"type":"shutdown_asked","session":"s1","seq":36,"time":1036}
        {"type":"bash_started","id":4,"entryId":"e5","command":"ls","session":"s1","seq":37,"time":1037}
        {"type":"bash_output","id":4,"delta":"x","session":"s1","seq":38,"time":1038}
        {"type":"bash_ended","id":4,"entryId":"e5","error":"no shell","session":"s1","seq":39,"time":1039}
        {"type":"permission_asked","id":2,"call":{"id":"c1","name":"bash","arguments":{"command":"ls"}},"effect":"executes","paths":["/etc"],"command":"ls","reason":"outside","session":"s1","seq":40,"time":1040}
        {"type":"permission_answered","id":2,"answer":"reject_once","session":"s1","seq":41,"time":1041}
        {"type":"notice","level":"info","message":"n","session":"s1","seq":42,"time":1042}
        {"type":"run_ended","outcome":"completed","usage":{"input":100,"output":25,"cacheRead":7,"cacheWrite":0,"totalTokens":132,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"willRetry":false,"messages":[],"session":"s1","seq":43,"time":1043}
        {"type":"run_ended","outcome":"failed","usage":{"input":100,"output":25,"cacheRead":7,"cacheWrite":0,"totalTokens":132,"cost":{"input":0.00030000000000000003,"output":0.000375,"cacheRead":0,"cacheWrite":0,"total":0.000675}},"willRetry":false,"messages":[],"error":{"kind":"rate_limited","message":"slow down","status":429},"session":"s1","seq":44,"time":1044}
        {"type":"settled","aborted":false,"session":"s1","seq":45,"time":1045}
        {"type":"state_changed","what":"model","value":{"id":"m","name":"M","api":"api","provider":"p","baseUrl":"","reasoning":false,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":10,"maxTokens":5},"session":"s1","seq":46,"time":1046}
        {"type":"state_changed","what":"thinking","value":"low","session":"s1","seq":47,"time":1047}
        {"type":"state_changed","what":"name","value":null,"session":"s1","seq":48,"time":1048}
        {"type":"state_changed","what":"steering_mode","value":"all","session":"s1","seq":49,"time":1049}
        {"type":"state_changed","what":"follow_up_mode","value":"one-at-a-time","session":"s1","seq":50,"time":1050}
        {"type":"state_changed","what":"interrupt_mode","value":"wait","session":"s1","seq":51,"time":1051}
        {"type":"state_changed","what":"auto_compaction","value":true,"session":"s1","seq":52,"time":1052}
        {"type":"state_changed","what":"auto_retry","value":false,"session":"s1","seq":53,"time":1053}
        {"type":"state_changed","what":"permission_mode","value":"read-only","session":"s1","seq":54,"time":1054}
        {"type":"state_changed","what":"leaf","value":"e1","session":"s1","seq":55,"time":1055}
        {"type":"dialog_asked","id":1,"kind":"select","title":"t","timeoutMs":9,"options":[{"value":"v","label":"l","description":null}],"session":"s1","seq":56,"time":1056}
        {"type":"dialog_asked","id":2,"kind":"confirm","title":"t","timeoutMs":9,"message":"m","session":"s1","seq":57,"time":1057}
        {"type":"dialog_asked","id":3,"kind":"input","title":"t","timeoutMs":9,"placeholder":null,"session":"s1","seq":58,"time":1058}
        {"type":"dialog_asked","id":4,"kind":"editor","title":"t","timeoutMs":9,"prefill":"p","session":"s1","seq":59,"time":1059}
        {"type":"dialog_closed","id":1,"how":"answered","answer":"v","session":"s1","seq":60,"time":1060}
        {"type":"dialog_closed","id":1,"how":"answered","answer":true,"session":"s1","seq":61,"time":1061}
        {"type":"dialog_closed","id":1,"how":"answered","answer":null,"session":"s1","seq":62,"time":1062}
        {"type":"dialog_closed","id":1,"how":"timed_out","answer":null,"session":"s1","seq":63,"time":1063}
        {"type":"dialog_closed","id":1,"how":"withdrawn","answer":null,"session":"s1","seq":64,"time":1064}
        {"type":"status","key":"k","text":"t","session":"s1","seq":65,"time":1065}
        {"type":"widget","key":"k","lines":null,"placement":"belowEditor","session":"s1","seq":66,"time":1066}
        {"type":"title","title":"t","session":"s1","seq":67,"time":1067}
        {"type":"editor_text","text":"t","session":"s1","seq":68,"time":1068}
        {"type":"commands_changed","commands":[{"name":"n","description":null,"hint":"h","source":"skill","path":"/p"}],"session":"s1","seq":69,"time":1069}
        {"type":"subagent_started","id":1,"name":"scout","task":"look","callId":"c1","session":"s1","seq":70,"time":1070}
        {"type":"subagent_progress","id":1,"name":"scout","task":"look","callId":"c1","status":"reading","session":"s1","seq":71,"time":1071}
        {"type":"subagent_event","id":1,"name":"scout","task":"look","callId":"c1","event":{"type":"turn_started","session":"s2","seq":1,"time":2},"session":"s1","seq":72,"time":1072}
        {"type":"subagent_ended","id":1,"name":"scout","task":"look","callId":"c1","result":"r","failed":false,"durationMs":1500,"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"session":"s1","seq":73,"time":1073}
        {"type":"rules_triggered","rules":[{"name":"n","path":"/r","content":"c","description":null,"condition":["x"]}],"session":"s1","seq":74,"time":1074}
        {"type":"plan_reminder","plan":{"phases":[]},"attempt":1,"maxAttempts":3,"session":"s1","seq":75,"time":1075}
        {"type":"extension_failed","extension":"x","event":"start","error":"boom","session":"s1","seq":76,"time":1076}
    "#]].assert_eq(&out);
}

#[test]
fn every_json_event_is_documented() {
    let guide = include_str!("../../../../docs/json-events.md");
    for kind in one_of_each() {
        let event = Event {
            session: "s".into(),
            seq: 1,
            time_ms: 1,
            kind,
        };
        let json = json::event_json(&event);
        let name = format!("`{}`", json["type"].as_str().unwrap());
        assert!(guide.contains(&name), "docs/json-events.md lacks {name}");
        for field in json.as_object().unwrap().keys() {
            assert!(
                guide.contains(&format!("`{field}`")),
                "docs/json-events.md lacks `{field}` of {name}"
            );
        }
    }
}

#[test]
fn extensions_know_events_by_the_names_they_are_printed_with() {
    for kind in one_of_each().into_iter().chain(one_of_each_beside()) {
        let event = Event {
            session: "s1".into(),
            seq: 1,
            time_ms: 1,
            kind,
        };
        let name = stentor_tools::extension::event_name(&event.kind);
        assert_eq!(json::event_json(&event)["type"], name);
    }
}

#[test]
fn a_terminal_that_cannot_move_its_cursor_gets_a_line_every_ten_seconds() {
    let mut printer = Printer::new(PrintOptions {
        progress: ProgressStyle::Lines,
        ..TEXT
    });
    let mut err = Vec::new();
    printer.running.push(("c1".into(), "bash  make".into()));
    for seconds in 0..=25 {
        let elapsed = Duration::from_secs(seconds);
        printer.on_tick(elapsed, &mut err).unwrap();
    }
    expect![[r#"
        ... working, 10.0 s: bash  make
        ... working, 20.0 s: bash  make
    "#]]
    .assert_eq(&String::from_utf8(err).unwrap());
}
