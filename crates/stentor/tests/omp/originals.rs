//! Recorded runs of the originals, played again with the same scripted model.
//!
//! Each file in `originals/` is what one run of an original came to: `>` a line that was written to
//! it, `<` a frame that it wrote, in a short form. What the client wrote next it wrote after the
//! frames before it; `…` stands behind a delta that had not ended yet. Deltas that follow each
//! other are one; updates of running tools, which depend on time, are left out. Where this program
//! does something else on purpose, the line begins with `~` in place of `<`, and the original's
//! line stands above it behind `#`. `until TYPE` says how far a run had come, by a frame that is
//! left out, before the next line was written to it.
//!
//! Answers and events are compared each in their order: an answer may fall between any two events.

use serde_json::Value;

use crate::child::{Child, Folder};

/// What the model says, by the tag in the prompt.
const MOCK: &str = r#"
usage = { input = 100, output = 25 }
on_exhausted = "error"
[model]
id = "mock-1"
prices = { input = 3, output = 15, cache_read = 0.3, cache_write = 3.75 }
[[turn]]
when = { last_user_contains = "STEER" }
text = ["Understood, ", "changing direction as steered."]
[[turn]]
when = { last_user_contains = "FOLLOW" }
text = ["Here ", "is ", "the ", "follow-up ", "answer."]
[[turn]]
when = { last_user_contains = "[[text]]" }
text = ["Hello", " from the mock."]
[[turn]]
when = { last_user_contains = "[[think]]" }
steps = [{ thinking = ["Let me", " think about it."], signature = "c2lnLW1vY2s=" }, { text = "The answer is 42." }]
[[turn]]
when = { last_user_contains = "[[tools2]]" }
steps = [
  { text = ["I will", " run two tools."] },
  { tool = "bash", arguments_json = '{"command":"echo one; sleep 0.3; echo two"}' },
  { tool = "read", arguments_json = '{"path":"notes.txt"}' },
]
[[turn]]
when = { last_user_contains = "[[slowtools]]" }
steps = [
  { tool = "bash", arguments_json = ['{"command":"sleep', ' 1; echo first"}'] },
  { tool = "bash", arguments_json = '{"command":"sleep 1; echo second"}' },
  { tool = "bash", arguments_json = '{"command":"sleep 1; echo third"}' },
]
[[turn]]
when = { last_user_contains = "[[longbash]]" }
steps = [{ tool = "bash", arguments_json = '{"command":"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo tick $i; sleep 0.5; done"}' }]
[[turn]]
when = { last_user_contains = "[[badtool]]" }
steps = [
  { tool = "nope", arguments_json = '{"a":1}' },
  { tool = "read", arguments_json = '{"nopath":true}' },
]
[[turn]]
when = { last_user_contains = "[[err400]]" }
error = { kind = "invalid_request", message = "mock bad request" }
[[turn]]
when = { last_user_contains = "[[midfail" }
times = 1
steps = [{ text = "partial answer " }, { end_block = true }, { error = { kind = "overloaded", message = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}' } }]
[[turn]]
when = { last_user_contains = "'name': 'write'" }
steps = [{ tool = "write", arguments_json = '{"path":"new.txt","content":"hello\nworld\n"}' }]
[[turn]]
when = { last_user_matches = "'name': 'read'|InJlYWQi" }
steps = [{ tool = "read", arguments_json = '{"path":"new.txt"}' }]
[[turn]]
when = { last_user_contains = "exit 7" }
steps = [{ tool = "bash", arguments_json = '{"command":"exit 7"}' }]
[[turn]]
when = { last_user_contains = "'name': 'ls'" }
steps = [{ tool = "ls", arguments_json = '{}' }]
[[turn]]
when = { last_user_contains = "ImVkaXQi" }
steps = [{ tool = "edit", arguments_json = '{"path":"new.txt","edits":[{"oldText":"world","newText":"mars"}]}' }]
[[turn]]
when = { last_user_contains = "ImVjaG9faG9zdCIs" }
steps = [{ tool = "echo_host", arguments_json = '{"message":"hello"}' }]
"#;

/// What follows the mock's turns in a transcript of its own.
const TOOL_DONE: &str = r#"
[[turn]]
when = { last_role = "tool_result" }
text = "Tool done."
"#;

/// A turn that says nothing for a while, then sixty words.
fn sixty_words() -> String {
    let words: Vec<String> = (0..60).map(|n| format!("\"w{n} \"")).collect();
    format!(
        "[[turn]]\nwhen = {{ last_user_contains = \"[[slow]]\" }}\nsteps = [{{ text = \"\" }}, {{ wait_ms = 700 }}, {{ text = [{}] }}]\n",
        words.join(", ")
    )
}

fn play(recorded: &str, more_turns: &str) {
    let folder = Folder::with(&format!("{MOCK}{more_turns}"));
    folder.file("notes.txt", "alpha\nbeta\ngamma\n");
    folder.file("new.txt", "hello\nworld\n");
    let mut child = folder.child(&["--session-dir", "../sessions"]);
    let mut seen = Seen::default();
    let mut expected = Seen::default();
    for line in recorded.lines() {
        let Some((mark, text)) = line.split_once(' ') else {
            continue;
        };
        match mark {
            ">" => {
                seen.catch_up(&mut child, &expected);
                let line = text.replace("/home/user/project", &folder.work("").to_string_lossy());
                child.line(&line.replace("15cedc74273cd4a6", &seen.host_call));
            }
            "<" | "~" => expected.add_line(text),
            // Not a line of the recording: how far it had come when the next command was given.
            "until" => {
                seen.catch_up(&mut child, &expected);
                seen.read_until(&mut child, text);
            }
            _ => {}
        }
    }
    seen.catch_up(&mut child, &expected);
    expected.end_delta();
    seen.end_delta();
    same(&seen.events, &expected.events);
    same(&seen.answers, &expected.answers);
}

fn same(seen: &[String], expected: &[String]) {
    for (n, (seen, expected)) in seen.iter().zip(expected).enumerate() {
        assert_eq!(seen, expected, "line {n}");
    }
    assert_eq!(seen.len(), expected.len(), "{seen:#?}");
}

/// Frames in the short form, answers apart.
#[derive(Default)]
struct Seen {
    events: Vec<String>,
    answers: Vec<String>,
    /// A delta that may go on: what it is of, and its text.
    delta: Option<(String, String)>,
    /// The id of the last call of a tool of the client.
    host_call: String,
}

impl Seen {
    /// Reads frames until as much has come as is expected so far.
    fn catch_up(&mut self, child: &mut Child, expected: &Seen) {
        let enough = |seen: &Seen| {
            let texts = match (&expected.delta, &seen.delta) {
                (Some((_, wanted)), Some((_, have))) => have.len() >= wanted.len(),
                (Some(_), None) => seen.events.len() > expected.events.len(),
                (None, _) => true,
            };
            seen.events.len() >= expected.events.len()
                && seen.answers.len() >= expected.answers.len()
                && texts
        };
        while !enough(self) {
            self.add(&child.next());
        }
    }

    /// Reads frames up to the first of this type.
    fn read_until(&mut self, child: &mut Child, kind: &str) {
        loop {
            let frame = child.next();
            self.add(&frame);
            if frame["type"] == kind {
                return;
            }
        }
    }

    fn add_line(&mut self, line: &str) {
        if line.starts_with("response ") {
            self.answers.push(line.to_owned());
        } else if let Some((of, text)) = line.split_once("_delta ") {
            let (index, text) = text.split_once(' ').unwrap();
            let text: String = serde_json::from_str(text.trim_end_matches(" …")).unwrap();
            let of = format!("{of}_delta {index}");
            // What stands behind `…` is said again when it has ended.
            self.delta = Some((of, text));
        } else {
            self.end_delta();
            self.events.push(line.to_owned());
        }
    }

    fn end_delta(&mut self) {
        if let Some((of, text)) = self.delta.take() {
            self.events.push(format!("{of} {}", Value::from(text)));
        }
    }

    fn add(&mut self, frame: &Value) {
        if frame["type"] == "host_tool_call" {
            self.host_call = frame["id"].as_str().unwrap().to_owned();
        }
        if let Some((of, more)) = delta(frame) {
            match &mut self.delta {
                Some((open, text)) if *open == of => text.push_str(more),
                _ => {
                    self.end_delta();
                    self.delta = Some((of, more.to_owned()));
                }
            }
        } else if frame["type"] == "response" {
            self.answers.push(answer(frame));
        } else if let Some(line) = event(frame) {
            self.end_delta();
            self.events.push(line);
        }
    }
}

fn delta(frame: &Value) -> Option<(String, &str)> {
    let event = &frame["assistantMessageEvent"];
    let text = event["delta"].as_str()?;
    let kind = event["type"].as_str()?;
    Some((format!("update {kind} {}", event["contentIndex"]), text))
}

fn answer(frame: &Value) -> String {
    let command = frame["command"].as_str().unwrap_or("(none)");
    match frame["error"].as_str() {
        None => format!("response {command} ok"),
        Some(error) => format!("response {command} failed: {error}"),
    }
}

/// The short form of an event; none for those the recorded originals do not have.
fn event(frame: &Value) -> Option<String> {
    let text = |key: &str| frame[key].as_str().unwrap_or_default().to_owned();
    let kind = frame["type"].as_str().unwrap();
    let message = &frame["message"];
    Some(match kind {
        "agent_start" | "turn_start" => kind.to_owned(),
        "agent_end" => format!("agent_end ({} messages)", count(&frame["messages"])),
        "turn_end" => format!("turn_end ({} results)", count(&frame["toolResults"])),
        "message_start" => format!("message_start {}", message["role"].as_str().unwrap()),
        "message_end" => {
            let role = message["role"].as_str().unwrap();
            let mut line = format!("message_end {role}: {}", content(&message["content"]));
            if role == "assistant" {
                line.push_str(&format!(" ({})", message["stopReason"].as_str().unwrap()));
            }
            if message["isError"] == true {
                line.push_str(" (error)");
            }
            line
        }
        "message_update" => {
            let event = &frame["assistantMessageEvent"];
            format!(
                "update {} {}",
                event["type"].as_str().unwrap(),
                event["contentIndex"]
            )
        }
        "tool_execution_start" => {
            format!("tool_start {} {}", text("toolName"), sorted(&frame["args"]))
        }
        "tool_execution_end" => format!(
            "tool_end {}: {}{}",
            text("toolName"),
            content(&frame["result"]["content"]),
            if frame["isError"] == true {
                " (error)"
            } else {
                ""
            }
        ),
        "auto_retry_start" => format!(
            "auto_retry_start {} of {} after {} ms: {}",
            frame["attempt"],
            frame["maxAttempts"],
            frame["delayMs"],
            text("errorMessage")
        ),
        "auto_retry_end" => {
            let success = if frame["success"] == true {
                "True"
            } else {
                "False"
            };
            let error = frame["finalError"].as_str();
            let error = error.map_or(String::new(), |error| format!(": {error}"));
            format!("auto_retry_end {success} {}{error}", frame["attempt"])
        }
        "host_tool_call" => {
            format!(
                "host_tool_call {} {}",
                text("toolName"),
                sorted(&frame["arguments"])
            )
        }
        _ => return None,
    })
}

fn count(list: &Value) -> usize {
    list.as_array().unwrap().len()
}

fn content(blocks: &Value) -> String {
    let blocks: Vec<String> = blocks
        .as_array()
        .unwrap()
        .iter()
        .map(|block| match block["type"].as_str().unwrap() {
            "text" => format!("text {}", block["text"]),
            "thinking" => format!("thinking {}", block["thinking"]),
            "toolCall" => format!(
                "call {} {}",
                block["name"].as_str().unwrap(),
                sorted(&block["arguments"])
            ),
            "image" => format!("image {}", block["mimeType"].as_str().unwrap()),
            other => other.to_owned(),
        })
        .collect();
    let blocks = blocks.join(" + ");
    match blocks.as_str() {
        "" => "nothing".to_owned(),
        // How much a command said before it was stopped depends on time.
        _ if blocks.ends_with("Command aborted\"") => "output and Command aborted".to_owned(),
        _ => blocks,
    }
}

/// An object with its keys in order.
fn sorted(object: &Value) -> String {
    let mut fields: Vec<_> = object.as_object().unwrap().iter().collect();
    fields.sort_by_key(|(key, _)| key.as_str());
    let fields: Vec<String> = fields
        .into_iter()
        .map(|(key, value)| {
            let value = match value {
                Value::Array(items) => {
                    let items: Vec<String> = items
                        .iter()
                        .map(|item| {
                            if item.is_object() {
                                sorted(item)
                            } else {
                                item.to_string()
                            }
                        })
                        .collect();
                    format!("[{}]", items.join(","))
                }
                other => other.to_string(),
            };
            format!("{}:{value}", Value::from(key.as_str()))
        })
        .collect();
    format!("{{{}}}", fields.join(","))
}

macro_rules! plays {
    ($($test:ident: $file:literal, $more:expr;)*) => {
        $(#[test]
        fn $test() {
            play(include_str!(concat!("originals/", $file, ".txt")), $more);
        })*
    };
}

plays! {
    text: "omp-13.19.0_01-text", "";
    thinking: "omp-13.19.0_02-thinking", "";
    two_tools: "omp-13.19.0_03-two-tools", r#"
        [[turn]]
        when = { last_role = "tool_result" }
        text = ["Both tools", " are done."]
    "#;
    steering_during_tools: "omp-13.19.0_04-steer-during-tools", "";
    follow_up: "omp-13.19.0_05-follow-up", &sixty_words();
    abort_in_the_middle_of_the_stream: "omp-13.19.0_06-abort-mid-stream", r#"
        [[turn]]
        when = { last_user_contains = "[[slow]]" }
        steps = [{ text = ["w0 ", "w1 ", "w2 ", "w3 "] }, { hang = true }]
    "#;
    abort_during_a_tool: "omp-13.19.0_07-abort-during-tool", "";
    bash: "omp-13.19.0_08-bash", "";
    compact: "omp-13.19.0_09-compact", "";
    errors: "omp-13.19.0_10-errors", "";
    retry: "omp-13.19.0_13-auto-retry", r#"
        [[turn]]
        when = { last_user_contains = "[[midfail" }
        text = "Recovered after retry."
    "#;
    provider_error: "omp-13.19.0_14-provider-error", "";
    bad_tool_calls: "omp-13.19.0_15-bad-tool-calls", r#"
        [[turn]]
        when = { last_role = "tool_result" }
        text = "Handled errors."
    "#;
    all_of_a_queue: "omp-13.19.0_16-queue-all", "";
    steering_during_text: "omp-13.19.0_18-steer-during-text", &sixty_words();
    abort_and_prompt: "omp-13.19.0_19-abort-and-prompt", r#"
        [[turn]]
        when = { last_user_contains = "[[slow]]" }
        steps = [{ text = ["w0 ", "w1 "] }, { hang = true }]
    "#;
    steering_that_waits: "omp-13.19.0_20-steer-wait-mode", "";
    prompt_while_streaming: "omp-13.19.0_23-prompt-while-streaming", r#"
        [[turn]]
        when = { last_user_contains = "[[slow]]" }
        steps = [{ text = ["w0 ", "w1 ", "w2 ", "w3 ", "w4 ", "w5 ", "w6 "] }, { hang = true }]
    "#;
    abort_of_a_retry: "omp-13.19.0_24-abort-retry", "";
    builtin_tools: "pi-0.73.1_17-builtin-tools", TOOL_DONE;
    malformed_json: "pi-0.73.1_21-malformed-json", "";
    edit_tool: "pi-0.73.1_22-edit-tool", TOOL_DONE;
    host_tools: "omp-18.3.4_25-host-tools", TOOL_DONE;
}
