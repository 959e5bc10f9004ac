use std::path::PathBuf;

use expect_test::expect;
use stentor_agent::dialog::{
    Dialog, DialogAnswer, DialogClose, DialogKind, DialogOption, WidgetPlacement,
};
use stentor_agent::event::{
    CommandInfo, CommandSource, NoticeLevel, NoticeSource, Subagent, SubagentCall, SubagentEnd,
    SubagentSource, SubagentWork,
};
use stentor_journal::usage::Usage;
use stentor_wire::omp::command::SubagentLevel;

use super::*;
use crate::omp::ui::UiKind;

fn encoded(connection: &Arc<OmpConnection>, events: Vec<EventKind>) -> String {
    let mut encoder = OmpEncoder::new(Arc::clone(connection), 1);
    let mut frames = Vec::new();
    for (seq, kind) in (1..).zip(events) {
        let session = Arc::from("s");
        let event = Event {
            session,
            seq,
            time_ms: 5,
            kind,
        };
        encoder.encode(&event, &mut frames);
    }
    String::from_utf8(frames).unwrap()
}

fn ask(id: u64, title: &str, kind: DialogKind, timeout_ms: Option<u64>) -> EventKind {
    EventKind::DialogAsked {
        id,
        dialog: Arc::new(Dialog {
            title: title.to_owned(),
            kind,
            form: None,
            timeout_ms,
        }),
    }
}

fn option(label: &str, description: Option<&str>) -> DialogOption {
    DialogOption {
        value: label.to_lowercase(),
        label: label.to_owned(),
        description: description.map(str::to_owned),
        permission: None,
    }
}

#[test]
fn every_question_has_the_method_of_the_reference() {
    let confirm = DialogKind::Confirm {
        message: "Continue?".to_owned(),
        lasting: None,
    };
    let plain = DialogKind::Select {
        options: vec![option("Allow", None), option("Block", None)],
    };
    let described = DialogKind::Select {
        options: vec![option("Fast", Some("and dear")), option("Slow", None)],
    };
    let input = DialogKind::Input {
        placeholder: Some("feature/...".to_owned()),
    };
    let editor = DialogKind::Editor {
        prefill: Some("line 1\nline 2".to_owned()),
    };
    let events = vec![
        ask(1, "Confirm", confirm, Some(30_000)),
        ask(2, "Pick one", plain, None),
        ask(3, "Pick one", described, Some(300)),
        ask(4, "Branch name", input, None),
        ask(5, "Edit text", editor, None),
    ];
    expect![[r#"
        {"type":"extension_ui_request","id":"1000000100000001","method":"confirm","title":"Confirm","message":"Continue?","timeout":30000}
        {"type":"extension_ui_request","id":"1000000100000002","method":"select","title":"Pick one","options":["Allow","Block"]}
        {"type":"extension_ui_request","id":"1000000100000003","method":"select","title":"Pick one","options":["Fast","Slow"],"optionDetails":[{"description":"and dear"},{}],"timeout":300}
        {"type":"extension_ui_request","id":"1000000100000004","method":"input","title":"Branch name","placeholder":"feature/..."}
        {"type":"extension_ui_request","id":"1000000100000005","method":"editor","title":"Edit text","prefill":"line 1\nline 2"}
    "#]].assert_eq(&encoded(&Arc::default(), events));
}

#[test]
fn a_question_nobody_waits_for_any_more_is_cancelled_an_answered_one_is_not() {
    let closed = |id, close| EventKind::DialogClosed { id, close };
    let answered = DialogClose::Answered(DialogAnswer::Confirmed(true));
    let connection = Arc::<OmpConnection>::default();
    connection.answered(UiKind::Dialog, 1, 1);
    let events = vec![
        closed(1, answered.clone()),
        closed(2, DialogClose::TimedOut),
        closed(3, DialogClose::Withdrawn),
        // By another client of the session.
        closed(4, answered),
    ];
    expect![[r#"
        {"type":"extension_ui_request","id":"3000000100000001","method":"cancel","targetId":"1000000100000002"}
        {"type":"extension_ui_request","id":"3000000100000002","method":"cancel","targetId":"1000000100000003"}
        {"type":"extension_ui_request","id":"3000000100000003","method":"cancel","targetId":"1000000100000004"}
    "#]].assert_eq(&encoded(&connection, events));
}

#[test]
fn everything_shown_to_a_person_has_the_method_of_the_reference() {
    let notice = |level, message: &str| EventKind::Notice {
        level,
        message: message.to_owned(),
        from: NoticeSource::Extension,
    };
    let status = |text: Option<&str>| EventKind::Status {
        key: "demo".to_owned(),
        text: text.map(str::to_owned),
    };
    let widget = |lines: Option<&[&str]>, placement| EventKind::Widget {
        key: "demo".to_owned(),
        lines: lines.map(|lines| lines.iter().map(|line| (*line).to_owned()).collect()),
        placement,
    };
    let events = vec![
        notice(NoticeLevel::Info, "starting"),
        notice(NoticeLevel::Warning, "careful"),
        notice(NoticeLevel::Error, "broken"),
        status(Some("running")),
        status(None),
        widget(Some(&["a", "b"]), WidgetPlacement::AboveEditor),
        widget(Some(&["a"]), WidgetPlacement::BelowEditor),
        widget(None, WidgetPlacement::AboveEditor),
        EventKind::Title("demo title".to_owned()),
        EventKind::EditorText("prefill".to_owned()),
        EventKind::ExtensionFailed {
            extension: "command:boom".to_owned(),
            event: "command".to_owned(),
            error: "kaboom".to_owned(),
        },
    ];
    expect![[r#"
        {"type":"extension_ui_request","id":"3000000100000001","method":"notify","message":"starting","notifyType":"info"}
        {"type":"extension_ui_request","id":"3000000100000002","method":"notify","message":"careful","notifyType":"warning"}
        {"type":"extension_ui_request","id":"3000000100000003","method":"notify","message":"broken","notifyType":"error"}
        {"type":"extension_ui_request","id":"3000000100000004","method":"setStatus","statusKey":"demo","statusText":"running"}
        {"type":"extension_ui_request","id":"3000000100000005","method":"setStatus","statusKey":"demo"}
        {"type":"extension_ui_request","id":"3000000100000006","method":"setWidget","widgetKey":"demo","widgetLines":["a","b"]}
        {"type":"extension_ui_request","id":"3000000100000007","method":"setWidget","widgetKey":"demo","widgetLines":["a"],"widgetPlacement":"belowEditor"}
        {"type":"extension_ui_request","id":"3000000100000008","method":"setWidget","widgetKey":"demo"}
        {"type":"extension_ui_request","id":"3000000100000009","method":"setTitle","title":"demo title"}
        {"type":"extension_ui_request","id":"300000010000000a","method":"set_editor_text","text":"prefill"}
        {"type":"extension_error","extensionPath":"command:boom","event":"command","error":"kaboom"}
    "#]].assert_eq(&encoded(&Arc::default(), events));
}

#[test]
fn slash_commands_are_told_when_they_change() {
    let command = |name: &str, source| CommandInfo {
        name: name.to_owned(),
        description: Some("does it".to_owned()),
        hint: (source == CommandSource::Prompt).then(|| "FILE".to_owned()),
        source,
        path: Some(PathBuf::from("/x")),
    };
    let commands = [
        command("deploy", CommandSource::Extension),
        command("review", CommandSource::Prompt),
        command("skill:pdf", CommandSource::Skill),
    ];
    let connection = Arc::default();
    let events = vec![EventKind::CommandsChanged(Arc::from(commands))];
    expect![[r#"
        {"type":"available_commands_update","commands":[{"name":"plan","description":"Plan first: only read until you have accepted a plan","input":{"hint":"[on|off]"},"source":"builtin"},{"name":"rewind","description":"Go back to the point before a message: files, conversation or both","input":{"hint":"[MESSAGE] [--files|--conversation] [--force], or --undo"},"source":"builtin"},{"name":"jobs","description":"List what runs in the background, show its output, or stop it","input":{"hint":"[ID], or stop ID"},"source":"builtin"},{"name":"deploy","description":"does it","source":"extension"},{"name":"review","description":"does it","input":{"hint":"FILE"},"source":"file"},{"name":"skill:pdf","description":"does it","source":"skill"}]}
    "#]].assert_eq(&encoded(&connection, events));
}

#[test]
fn subagents_are_told_to_who_subscribed_and_listed_while_they_work() {
    let agent = Arc::new(Subagent {
        id: 7,
        name: "reviewer".to_owned(),
        source: SubagentSource::Project,
        task: "Review".to_owned(),
        call_id: "call-1".to_owned(),
        index: 1,
        session_id: "child".into(),
        session_file: Some(PathBuf::from("/s/x.jsonl")),
    });
    let end = Arc::new(SubagentEnd {
        result: "fine".to_owned(),
        failed: false,
        cancelled: false,
        duration_ms: 3,
        usage: Usage::default(),
    });
    let work = || {
        vec![
            EventKind::SubagentStarted(Arc::clone(&agent)),
            EventKind::SubagentProgress {
                agent: Arc::clone(&agent),
                status: "reading".to_owned(),
                work: Arc::new(SubagentWork {
                    recent: vec![SubagentCall {
                        id: "1".to_owned(),
                        tool: "bash".to_owned(),
                        about: "ls".to_owned(),
                        time_ms: 9,
                    }],
                    output: vec!["I look.".to_owned()],
                    calls: 1,
                    requests: 1,
                    duration_ms: 4,
                    ..SubagentWork::default()
                }),
            },
        ]
    };
    let connection: Arc<OmpConnection> = Arc::default();
    assert_eq!(encoded(&connection, work()), "");
    assert_eq!(connection.subagents.list().len(), 1);
    connection.wants.subscribe(SubagentLevel::Progress);
    let mut events = work();
    events.push(EventKind::SubagentEnded {
        agent: Arc::clone(&agent),
        end,
    });
    expect![[r#"
        {"type":"subagent_lifecycle","payload":{"id":"reviewer-7","agent":"reviewer","agentSource":"project","description":"Review","status":"started","sessionFile":"/s/x.jsonl","parentToolCallId":"call-1","index":1}}
        {"type":"subagent_progress","payload":{"index":1,"agent":"reviewer","agentSource":"project","task":"Review","parentToolCallId":"call-1","progress":{"index":1,"id":"reviewer-7","agent":"reviewer","agentSource":"project","status":"running","task":"Review","lastIntent":"reading","recentTools":[{"tool":"bash","args":"ls","endMs":9}],"recentOutput":["I look."],"toolCount":1,"requests":1,"tokens":0,"cost":0,"durationMs":4},"sessionFile":"/s/x.jsonl"}}
        {"type":"subagent_lifecycle","payload":{"id":"reviewer-7","agent":"reviewer","agentSource":"project","description":"Review","status":"completed","sessionFile":"/s/x.jsonl","parentToolCallId":"call-1","index":1}}
    "#]].assert_eq(&encoded(&connection, events));
    assert_eq!(connection.subagents.list().len(), 0);
}
