//! Events and messages as one line each.

use stentor_agent::event::{BashEnd, Event, EventKind, Queues, RunEnd, RunOutcome, StateChange};
use stentor_agent::live::{LiveBlock, LiveBlockKind};
use stentor_agent::tool::ToolOutput;
use stentor_journal::message::{
    ContentBlock, KnownBlock, KnownMessage, Message, StopReason, text_of,
};

/// What was seen, a line per event. Adjacent deltas of one block are one line, because how they
/// were merged depends on how fast they were read. Entries of the session file are left out.
#[derive(Default)]
pub struct Transcript {
    lines: Vec<String>,
    /// The block the last line is a delta of: message, index, text so far.
    delta: Option<(u64, usize, String)>,
}

impl Transcript {
    pub fn note(&mut self, event: &Event) {
        if let EventKind::BlockDelta { live, block, range } = &event.kind {
            let text = block.with(range.clone(), str::to_owned);
            match &mut self.delta {
                Some((number, index, so_far))
                    if (*number, *index) == (live.number(), block.index) =>
                {
                    so_far.push_str(&text);
                }
                _ => self.delta = Some((live.number(), block.index, text)),
            }
            return;
        }
        let Some(line) = line(&event.kind) else {
            return;
        };
        self.end_delta();
        self.lines.push(line);
    }

    pub fn take(&mut self) -> String {
        self.end_delta();
        let mut text = std::mem::take(&mut self.lines).join("\n");
        text.push('\n');
        text
    }

    fn end_delta(&mut self) {
        if let Some((_, index, text)) = self.delta.take() {
            self.lines.push(format!("      {index} += {text:?}"));
        }
    }
}

fn line(kind: &EventKind) -> Option<String> {
    Some(match kind {
        EventKind::RunStarted => "run".to_owned(),
        EventKind::RunEnded(end) => run_ended(end),
        EventKind::TurnStarted => "  turn".to_owned(),
        EventKind::TurnEnded {
            message: answer,
            tool_results,
        } => format!(
            "  turn ended: {}, {} results",
            answer
                .as_assistant()
                .map_or("?", |answer| stop(answer.stop_reason)),
            tool_results.len()
        ),
        EventKind::MessageStarted { number, .. } => format!("    #{number} started"),
        EventKind::AnswerStarted(live) => format!("    #{} answer", live.number()),
        EventKind::BlockStarted { block, .. } => {
            format!("      {} {}", block.index, block_kind(block))
        }
        EventKind::BlockDelta { .. } | EventKind::EntryAppended { .. } => return None,
        EventKind::BlockEnded { block, call, .. } => {
            let call = call
                .as_ref()
                .map(|call| format!(" {}", serde_json::Value::Object(call.arguments.clone())));
            format!("      {} ended{}", block.index, call.unwrap_or_default())
        }
        EventKind::MessageEnded {
            number,
            message: one,
        } => {
            format!("    #{number} ended: {}", message(one))
        }
        EventKind::ToolStarted { call } => format!("    {} {} starts", call.name, call.id),
        EventKind::ToolProgress { call, partial } => {
            format!("    {} {} reports {}", call.name, call.id, output(partial))
        }
        EventKind::ToolEnded {
            call,
            output: done,
            duration_ms,
        } => format!(
            "    {} {} ended after {duration_ms} ms: {}",
            call.name,
            call.id,
            output(done)
        ),
        EventKind::QueueChanged(queues) => format!("queues: {}", queued(queues)),
        EventKind::StateChanged(change) => format!("state: {}", changed(change)),
        EventKind::CompactionStarted { reason } => format!("compaction {reason:?}"),
        EventKind::CompactionEnded(end) => format!(
            "compaction ended: {}{}{}{}",
            end.result
                .as_ref()
                .map_or("nothing", |result| &result.summary),
            if end.aborted { ", aborted" } else { "" },
            if end.will_retry { ", goes on" } else { "" },
            end.error
                .as_ref()
                .map(|error| format!(", {error}"))
                .unwrap_or_default(),
        ),
        EventKind::RetryStarted {
            attempt,
            max_attempts,
            delay_ms,
            error,
            ..
        } => {
            format!("retry {attempt}/{max_attempts} in {delay_ms} ms: {error}")
        }
        EventKind::RetryEnded {
            success,
            attempt,
            final_error,
        } => format!(
            "retry {attempt} ended: {}{}",
            if *success { "success" } else { "failure" },
            final_error
                .as_ref()
                .map(|error| format!(", {error}"))
                .unwrap_or_default()
        ),
        EventKind::Settled { aborted } => {
            format!("settled{}", if *aborted { " by abort" } else { "" })
        }
        EventKind::PlanChanged(plan) => format!("plan: {} tasks", plan.tasks().count()),
        EventKind::BashStarted { id, command, .. } => format!("bash {id} begins: {command}"),
        EventKind::BashOutput { id, delta } => format!("bash {id}: {delta:?}"),
        EventKind::BashEnded { id, end, .. } => match end {
            BashEnd::Ran(_) => format!("bash {id} ended"),
            BashEnd::Failed(why) => format!("bash {id} failed: {why}"),
        },
        EventKind::PermissionAsked { id, request } => {
            format!("    may {} run? (question {id})", request.call.name)
        }
        EventKind::PermissionAnswered { id, answer } => format!("    question {id}: {answer:?}"),
        EventKind::Notice { level, message, .. } => format!("notice {level:?}: {message}"),
        // What goes on beside the conversation is tested where it is made.
        beside => format!("{beside:?}"),
    })
}

/// A message as one line.
pub fn message(message: &Message) -> String {
    let Message::Known(known) = message else {
        return "unknown".to_owned();
    };
    match known {
        KnownMessage::User(user) => format!("user {:?}", user.content.text()),
        KnownMessage::Developer(user) => format!("developer {:?}", user.content.text()),
        KnownMessage::Assistant(answer) => {
            let blocks: Vec<String> = answer.content.iter().map(block_text).collect();
            let error = answer.error_message.as_ref().map(|why| format!(" ({why})"));
            format!(
                "assistant [{}] {}{}",
                blocks.join(", "),
                stop(answer.stop_reason),
                error.unwrap_or_default()
            )
        }
        KnownMessage::ToolResult(result) => format!(
            "result of {}: {:?}{}",
            result.tool_call_id,
            text_of(&result.content, "\n"),
            if result.is_error { " error" } else { "" }
        ),
        KnownMessage::BashExecution(run) => format!("bash {:?}: {:?}", run.command, run.output),
        KnownMessage::Custom(custom) => format!("custom {:?}", custom.content.text()),
        KnownMessage::BranchSummary(branch) => format!("branch {:?}", branch.summary),
        KnownMessage::CompactionSummary(summary) => format!("summary {:?}", summary.summary),
    }
}

fn block_text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Known(KnownBlock::Text(block)) => format!("{:?}", block.text),
        ContentBlock::Known(KnownBlock::Thinking(block)) => {
            format!("thinking {:?}", block.thinking)
        }
        ContentBlock::Known(KnownBlock::ToolCall(call)) => format!("{} {}", call.name, call.id),
        other => format!("{other:?}"),
    }
}

fn run_ended(end: &RunEnd) -> String {
    let roles: Vec<&str> = end.messages.iter().map(|message| role(message)).collect();
    let outcome = match &end.outcome {
        RunOutcome::Failed { kind, message, .. } => format!("failed {kind:?} {message}"),
        RunOutcome::BudgetReached { limit, message } => format!("budget {limit:?} {message}"),
        other => format!("{other:?}").to_lowercase(),
    };
    let again = if end.will_retry { ", goes on" } else { "" };
    format!("run ended: {outcome}{again} [{}]", roles.join(" "))
}

fn role(message: &Message) -> &'static str {
    match message {
        Message::Known(KnownMessage::User(_)) => "user",
        Message::Known(KnownMessage::Assistant(_)) => "assistant",
        Message::Known(KnownMessage::ToolResult(_)) => "result",
        _ => "other",
    }
}

fn stop(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Stop => "stop",
        StopReason::Length => "length",
        StopReason::ToolUse => "toolUse",
        StopReason::Error => "error",
        StopReason::Aborted => "aborted",
        StopReason::Unknown => "unknown",
    }
}

fn block_kind(block: &LiveBlock) -> String {
    match &block.kind {
        LiveBlockKind::Text => "text".to_owned(),
        LiveBlockKind::Thinking => "thinking".to_owned(),
        LiveBlockKind::Redacted => "redacted".to_owned(),
        LiveBlockKind::ToolCall { id, name } => format!("call {name} {id}"),
    }
}

fn output(output: &ToolOutput) -> String {
    let error = if output.is_error { " error" } else { "" };
    format!("{:?}{error}", text_of(&output.content, "\n"))
}

fn queued(queues: &Queues) -> String {
    format!(
        "steering {:?} follow-up {:?}",
        queues.steering, queues.follow_up
    )
}

fn changed(change: &StateChange) -> String {
    match change {
        StateChange::Model(info) => format!("model {}", info.full_name()),
        StateChange::ThinkingLevel(level) => format!("thinking {level}"),
        other => format!("{other:?}"),
    }
}
