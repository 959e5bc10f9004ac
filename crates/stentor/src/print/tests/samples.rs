//! Events to print.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use stentor_agent::dialog::{
    Dialog, DialogAnswer, DialogClose, DialogKind, DialogOption, WidgetPlacement,
};
use stentor_agent::event::{
    AnswerRule, BashEnd, CommandInfo, CommandSource, CompactionReason, CompactionResult, Fallback,
    InterruptMode, NoticeSource, QueueMode, Queues, StateChange, Subagent, SubagentEnd,
    SubagentSource,
};
use stentor_agent::live::LiveMessage;
use stentor_agent::model::{InputKind, ModelErrorKind, ModelInfo, ThinkingLevel};
use stentor_agent::permission::PermissionRequest;
use stentor_agent::tool::{Plan, PlanPhase, PlanStatus, PlanTask, ToolEffect, Touches};
use stentor_journal::message::{ContentBlock, Message};
use stentor_journal::usage::{Prices, Usage};
use stentor_policy::{AlwaysAnswers, PermissionAnswer, PermissionMode};

use super::*;

pub(super) fn call(id: &str, name: &str, arguments: serde_json::Value) -> Arc<ToolCall> {
    Arc::new(ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.as_object().cloned().unwrap_or_default(),
        thought_signature: None,
        intent: None,
    })
}

pub(super) fn block(live: &LiveMessage, kind: LiveBlockKind, deltas: &[&str]) -> Vec<EventKind> {
    let block = live.open_block(kind);
    let mut events = vec![EventKind::BlockStarted {
        live: live.clone(),
        block: Arc::clone(&block),
    }];
    for delta in deltas {
        let range = block.append(delta);
        events.push(EventKind::BlockDelta {
            live: live.clone(),
            block: Arc::clone(&block),
            range,
        });
    }
    events.push(EventKind::BlockEnded {
        live: live.clone(),
        block,
        call: None,
        cut: false,
    });
    events
}

pub(super) fn ended(outcome: RunOutcome) -> EventKind {
    EventKind::RunEnded(Arc::new(RunEnd {
        messages: Vec::new(),
        usage: Usage {
            input: 100,
            output: 25,
            cache_read: 7,
            ..Usage::default()
        }
        .priced(Some(&Prices {
            input: 3.0,
            output: 15.0,
            ..Prices::default()
        })),
        outcome,
        will_retry: false,
    }))
}

pub(super) fn started(call: &Arc<ToolCall>) -> EventKind {
    EventKind::ToolStarted {
        call: Arc::clone(call),
    }
}

pub(super) fn finished(call: &Arc<ToolCall>, output: ToolOutput) -> EventKind {
    EventKind::ToolEnded {
        call: Arc::clone(call),
        output: Arc::new(output),
        duration_ms: 230,
    }
}

/// A turn with thinking, text, two calls that run together, and an answer.
pub(super) fn conversation() -> Vec<EventKind> {
    let first = LiveMessage::new(1, "e1", "a", "p", "m", 0);
    let second = LiveMessage::new(2, "e2", "a", "p", "m", 0);
    let list = call("1", "bash", json!({ "command": "ls -la" }));
    let read = call("2", "read", json!({ "path": "none.txt" }));
    [
        vec![
            EventKind::RunStarted,
            EventKind::AnswerStarted(first.clone()),
        ],
        block(&first, LiveBlockKind::Thinking, &["Let me ", "look."]),
        block(&first, LiveBlockKind::Text, &["I will ", "look."]),
        vec![
            started(&list),
            started(&read),
            finished(&list, ToolOutput::text("x")),
            finished(
                &read,
                ToolOutput::error("boom\n\nCommand exited with code 1"),
            ),
            started(&list),
            finished(&list, ToolOutput::text("x")),
        ],
        block(&second, LiveBlockKind::Text, &["Here:\n", "- a\n"]),
        vec![ended(RunOutcome::Completed)],
    ]
    .concat()
}

/// One event of every kind.
pub(super) fn one_of_each() -> Vec<EventKind> {
    let live = LiveMessage::new(7, "e7", "api", "p", "m", 5);
    let message = Arc::new(Message::user(vec![ContentBlock::text("hi")], 5));
    let run = call("c1", "bash", json!({ "command": "ls" }));
    let output = ToolOutput::text("x").with_details(json!({ "exit": 0 }));
    let model = ModelInfo {
        id: "m".into(),
        name: "M".into(),
        api: "api".into(),
        provider: "p".into(),
        base_url: String::new(),
        reasoning: false,
        input: vec![InputKind::Text],
        cost: None,
        context_window: 10,
        max_tokens: 5,
        thinking_levels: Vec::new(),
        modes: Vec::new(),
    };
    let plan = Plan {
        phases: vec![PlanPhase {
            name: "one".into(),
            tasks: vec![PlanTask {
                content: "do".into(),
                status: PlanStatus::InProgress,
            }],
        }],
    };
    let tool_call = LiveBlockKind::ToolCall {
        id: "c1".into(),
        name: "bash".into(),
    };
    let mut events = vec![
        EventKind::RunStarted,
        EventKind::TurnStarted,
        EventKind::MessageStarted {
            number: 1,
            entry_id: "e1".into(),
            message: Arc::clone(&message),
        },
        EventKind::MessageEnded {
            number: 1,
            message: Arc::clone(&message),
        },
        EventKind::AnswerStarted(live.clone()),
    ];
    events.extend(block(&live, LiveBlockKind::Text, &["a\u{2028}"]));
    events.extend(block(&live, LiveBlockKind::Thinking, &["b"]));
    events.extend(block(&live, LiveBlockKind::Redacted, &["c"]));
    events.extend(block(&live, tool_call, &["{}"]));
    if let Some(EventKind::BlockEnded { call, .. }) = events.last_mut() {
        *call = Some(Arc::clone(&run));
    }
    events.extend([
        started(&run),
        EventKind::ToolProgress {
            call: Arc::clone(&run),
            partial: Arc::new(ToolOutput::text("")),
        },
        finished(&run, output),
        EventKind::TurnEnded {
            message: Arc::clone(&message),
            tool_results: Arc::from([Arc::clone(&message)]),
        },
        EventKind::QueueChanged(Arc::new(Queues {
            steering: vec!["stop".into()],
            follow_up: Vec::new(),
        })),
        EventKind::EntryAppended {
            id: "e1".into(),
            entry: None,
        },
        EventKind::CompactionStarted {
            reason: CompactionReason::Manual,
        },
        EventKind::CompactionEnded(Arc::new(CompactionEnd {
            reason: CompactionReason::Overflow,
            result: Some(CompactionResult {
                summary: "s".into(),
                first_kept_entry_id: "e1".into(),
                tokens_before: 9,
                tokens_after: 3,
                read_files: vec!["r".into()],
                modified_files: Vec::new(),
            }),
            aborted: false,
            will_retry: true,
            error: None,
        })),
        EventKind::RetryStarted {
            attempt: 1,
            max_attempts: 3,
            delay_ms: 2000,
            asked_for: false,
            rate_limit: None,
            error: "overloaded".into(),
        },
        EventKind::RetryEnded {
            success: false,
            attempt: 3,
            final_error: Some("overloaded".into()),
        },
        EventKind::SummaryRetry(SummaryRetry::Scheduled {
            attempt: 1,
            max_attempts: 3,
            delay_ms: 2000,
            error: "overloaded".into(),
        }),
        EventKind::SummaryRetry(SummaryRetry::Started {
            reason: CompactionReason::Handoff,
        }),
        EventKind::SummaryRetry(SummaryRetry::Ended),
        EventKind::FallbackApplied(Arc::new(Fallback {
            from: "p/one".into(),
            to: "p/two".into(),
            role: "default".into(),
            reason: "overloaded".into(),
        })),
        EventKind::FallbackSucceeded {
            model: "p/two".into(),
            role: "default".into(),
        },
        EventKind::PlanChanged(Arc::new(plan)),
        EventKind::PlanTidied,
        EventKind::JobsChanged,
        EventKind::ShutdownAsked,
        EventKind::BashStarted {
            id: 4,
            entry_id: "e5".into(),
            command: "ls".into(),
        },
        EventKind::BashOutput {
            id: 4,
            delta: "x".into(),
        },
        EventKind::BashEnded {
            id: 4,
            entry_id: "e5".into(),
            end: BashEnd::Failed("no shell".into()),
        },
        EventKind::PermissionAsked {
            id: 2,
            request: Arc::new(PermissionRequest {
                call: Arc::clone(&run),
                effect: ToolEffect::Executes,
                paths: vec![PathBuf::from("/etc")],
                command: Some("ls".into()),
                url: None,
                reason: "outside".into(),
                always: AlwaysAnswers::about("bash", &Touches::default(), Path::new("/")),
            }),
        },
        EventKind::PermissionAnswered {
            id: 2,
            answer: PermissionAnswer::RejectOnce,
        },
        EventKind::Notice {
            level: NoticeLevel::Info,
            message: "n".into(),
            from: NoticeSource::Agent,
        },
        ended(RunOutcome::Completed),
        ended(RunOutcome::Failed {
            kind: ModelErrorKind::RateLimited,
            message: "slow down".into(),
            status: Some(429),
        }),
        EventKind::Settled { aborted: false },
    ]);
    let changes = [
        StateChange::Model(Arc::new(model)),
        StateChange::ThinkingLevel(ThinkingLevel::Low),
        StateChange::Name(None),
        StateChange::SteeringMode(QueueMode::All),
        StateChange::FollowUpMode(QueueMode::OneAtATime),
        StateChange::InterruptMode(InterruptMode::Wait),
        StateChange::AutoCompaction(true),
        StateChange::AutoRetry(false),
        StateChange::PermissionMode(PermissionMode::ReadOnly),
        StateChange::Leaf(Some("e1".into())),
    ];
    events.extend(changes.map(EventKind::StateChanged));
    events.extend(one_of_each_beside());
    events
}

/// One event of every kind that goes on beside the conversation.
pub(super) fn one_of_each_beside() -> Vec<EventKind> {
    let ask = |id, kind| EventKind::DialogAsked {
        id,
        dialog: Arc::new(Dialog {
            title: "t".into(),
            kind,
            form: None,
            timeout_ms: Some(9),
        }),
    };
    let close = |close| EventKind::DialogClosed { id: 1, close };
    let agent = Arc::new(Subagent {
        id: 1,
        name: "scout".into(),
        source: SubagentSource::User,
        task: "look".into(),
        call_id: "c1".into(),
        index: 0,
        session_id: "child".into(),
        session_file: None,
    });
    vec![
        ask(
            1,
            DialogKind::Select {
                options: vec![DialogOption {
                    value: "v".into(),
                    label: "l".into(),
                    description: None,
                    permission: None,
                }],
            },
        ),
        ask(
            2,
            DialogKind::Confirm {
                message: "m".into(),
                lasting: None,
            },
        ),
        ask(3, DialogKind::Input { placeholder: None }),
        ask(
            4,
            DialogKind::Editor {
                prefill: Some("p".into()),
            },
        ),
        close(DialogClose::Answered(DialogAnswer::Value("v".into()))),
        close(DialogClose::Answered(DialogAnswer::Confirmed(true))),
        close(DialogClose::Answered(DialogAnswer::Nothing)),
        close(DialogClose::TimedOut),
        close(DialogClose::Withdrawn),
        EventKind::Status {
            key: "k".into(),
            text: Some("t".into()),
        },
        EventKind::Widget {
            key: "k".into(),
            lines: None,
            placement: WidgetPlacement::BelowEditor,
        },
        EventKind::Title("t".into()),
        EventKind::EditorText("t".into()),
        EventKind::CommandsChanged(Arc::from([CommandInfo {
            name: "n".into(),
            description: None,
            hint: Some("h".into()),
            source: CommandSource::Skill,
            path: Some("/p".into()),
        }])),
        EventKind::SubagentStarted(Arc::clone(&agent)),
        EventKind::SubagentProgress {
            agent: Arc::clone(&agent),
            status: "reading".into(),
            work: Arc::default(),
        },
        EventKind::SubagentEvent {
            agent: Arc::clone(&agent),
            event: Box::new(Event {
                session: "s2".into(),
                seq: 1,
                time_ms: 2,
                kind: EventKind::TurnStarted,
            }),
        },
        EventKind::SubagentEnded {
            agent,
            end: Arc::new(SubagentEnd {
                result: "r".into(),
                failed: false,
                cancelled: false,
                duration_ms: 1500,
                usage: Usage::default(),
            }),
        },
        EventKind::RulesTriggered(Arc::from([AnswerRule {
            name: "n".into(),
            path: "/r".into(),
            content: "c".into(),
            description: None,
            condition: vec!["x".into()],
        }])),
        EventKind::PlanReminder {
            plan: Arc::new(Plan::default()),
            attempt: 1,
            max_attempts: 3,
        },
        EventKind::ExtensionFailed {
            extension: "x".into(),
            event: "start".into(),
            error: "boom".into(),
        },
    ]
}
