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
//! Most recordings bring their model along, behind `|`: what was said in the recording is said
//! again. `open FILE` lets a model go on that waits for that file. `ENTRY1` stands for the id of the first entry that was listed before, and
//! `SESSIONFILE` for the file that was told first, `QUESTION1` for the id of the first question. The originals begin with another thinking level
//! and pi 0.87 tells of a message of the system, which is left out.
//!
//! Answers and events are compared each in their order: an answer may fall between any two events.

use serde_json::Value;

use crate::child::{Child, Folder};
use crate::short_form::{Original, answer, delta, event};

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
  { tool = "bash", arguments_json = ['{"command":"until', ' [ -e ../tool-gate ]; do sleep 0.01; done; echo first"}'] },
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

/// A command of the recordings, and what is run in its place: it takes as long as the test wants.
const RECORDED: &str = "sleep 1; echo first";
const GATED: &str = "until [ -e ../tool-gate ]; do sleep 0.01; done; echo first";

/// What follows the mock's turns in a transcript of its own.
const TOOL_DONE: &str = r#"
[[turn]]
when = { last_role = "tool_result" }
text = "Tool done."
"#;

/// A turn that says nothing until it may, then sixty words.
fn sixty_words() -> String {
    let words: Vec<String> = (0..60).map(|n| format!("\"w{n} \"")).collect();
    format!(
        "[[turn]]\nwhen = {{ last_user_contains = \"[[slow]]\" }}\nsteps = [{{ text = \"\" }}, {{ wait_for = \"../gate\" }}, {{ text = [{}] }}]\n",
        words.join(", ")
    )
}

fn play(name: &str, recorded: &str, more_turns: &str) {
    replay(name, recorded, &format!("{MOCK}{more_turns}"));
}

/// Plays a recording that brings its model along.
fn play_whole(name: &str, recorded: &str) {
    let model: Vec<&str> = recorded
        .lines()
        .filter_map(|l| l.strip_prefix("| "))
        .collect();
    replay(name, recorded, &model.join("\n"));
}

/// A model that does not think.
const SECOND: &str = r#"
[model]
id = "mock-2"
reasoning = false
thinking_levels = ["off"]
input = ["text"]
prices = { input = 1, output = 2 }
[[turn]]
text = "Two."
"#;

fn replay(name: &str, recorded: &str, model: &str) {
    let folder = Folder::with(model);
    folder.file("notes.txt", "alpha\nbeta\ngamma\n");
    folder.file("new.txt", "hello\nworld\n");
    folder.file("../second.toml", SECOND);
    let level = if name.starts_with("omp") {
        "high"
    } else {
        "medium"
    };
    folder.file("../extension.py", include_str!("extensions/recorded.py"));
    let mut words = vec!["--session-dir", "../sessions", "--thinking", level];
    if name.contains("extension-ui") {
        words.extend(["--extension", "../extension.py"]);
    }
    let mut child = folder.child(&words);
    let here = folder.work("").to_string_lossy().into_owned();
    let original = Original::of(name);
    let mut seen = Seen::of(original, &here);
    let mut expected = Seen::of(original, &here);
    for line in recorded.lines() {
        let Some((mark, text)) = line.split_once(' ') else {
            continue;
        };
        match mark {
            ">" => {
                seen.catch_up(&mut child, &expected);
                child.line(&seen.filled_in(text));
            }
            "<" | "~" => expected.add_line(text),
            "open" => {
                seen.catch_up(&mut child, &expected);
                folder.file(&format!("../{text}"), "");
            }
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
struct Seen {
    original: Original,
    /// The folder of the test, which has another name in the recordings.
    here: String,
    events: Vec<String>,
    answers: Vec<String>,
    /// A delta that may go on: what it is of, and its text.
    delta: Option<(String, String)>,
    /// The id of the last call of a tool of the client.
    host_call: String,
    /// The entries that were listed last.
    entries: Vec<String>,
    session_file: Option<String>,
    /// The ids of the questions so far.
    questions: Vec<String>,
}

impl Seen {
    fn of(original: Original, here: &str) -> Self {
        Self {
            original,
            here: here.trim_end_matches('/').to_owned(),
            events: Vec::new(),
            answers: Vec::new(),
            delta: None,
            host_call: String::new(),
            entries: Vec::new(),
            session_file: None,
            questions: Vec::new(),
        }
    }

    /// A line of a recording with what is called otherwise here.
    fn filled_in(&self, line: &str) -> String {
        let mut line = line
            .replace("/home/user/project", &self.here)
            .replace("15cedc74273cd4a6", &self.host_call);
        for (n, id) in self.entries.iter().enumerate() {
            line = line.replace(&format!("ENTRY{}", n + 1), id);
        }
        for (n, id) in self.questions.iter().enumerate() {
            line = line.replace(&format!("QUESTION{}\"", n + 1), &format!("{id}\""));
        }
        match &self.session_file {
            Some(file) => line.replace("SESSIONFILE", file),
            None => line,
        }
    }

    fn note(&mut self, answer: &Value) {
        let data = &answer["data"];
        if let Some(file) = data["sessionFile"].as_str() {
            self.session_file.get_or_insert_with(|| file.to_owned());
        }
        if let Some(messages) = data["messages"].as_array() {
            let ids = messages.iter().filter_map(|one| one["entryId"].as_str());
            let ids: Vec<String> = ids.map(str::to_owned).collect();
            if !ids.is_empty() {
                self.entries = ids;
            }
        }
    }

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

    fn as_recorded(&self, line: String) -> String {
        line.replace(&self.here, "/home/user/project")
            .replace(GATED, RECORDED)
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
            let line = format!("{of} {}", Value::from(text));
            self.events.push(self.as_recorded(line));
        }
    }

    fn add(&mut self, frame: &Value) {
        let method = frame["method"].as_str().unwrap_or_default();
        if matches!(method, "confirm" | "select" | "input" | "editor") {
            let id = frame["id"].as_str().unwrap();
            self.questions.push(id.to_owned());
        }
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
            self.note(frame);
            let line = answer(frame, self.original);
            self.answers.push(self.as_recorded(line));
        } else if let Some(line) = event(frame, self.original) {
            self.end_delta();
            self.events.push(self.as_recorded(line));
        }
    }
}

macro_rules! plays {
    ($($test:ident: $file:literal, $more:expr;)*) => {
        $(#[test]
        fn $test() {
            play($file, include_str!(concat!("originals/", $file, ".txt")), $more);
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

macro_rules! plays_whole {
    ($($test:ident: $file:literal;)*) => {
        $(#[test]
        fn $test() {
            play_whole($file, include_str!(concat!("originals/", $file, ".txt")));
        })*
    };
}

plays_whole! {
    pi087_extension_ui: "pi-0.87.1_12-extension-ui";
    pi073_extension_ui: "pi-0.73.1_12-extension-ui";
    omp13_extension_ui: "omp-13.19.0_12-extension-ui";
    omp13_session: "omp-13.19.0_11-session";
    omp13_builtin_tools: "omp-13.19.0_17-builtin-tools";
    omp13_malformed_json: "omp-13.19.0_21-malformed-json";
    omp13_edit_tool: "omp-13.19.0_22-edit-tool";
    omp18_text: "omp-18.3.4_01-text";
    omp18_thinking: "omp-18.3.4_02-thinking";
    omp18_two_tools: "omp-18.3.4_03-two-tools";
    omp18_steer_during_tools: "omp-18.3.4_04-steer-during-tools";
    omp18_follow_up: "omp-18.3.4_05-follow-up";
    omp18_abort_mid_stream: "omp-18.3.4_06-abort-mid-stream";
    omp18_abort_during_tool: "omp-18.3.4_07-abort-during-tool";
    omp18_bash: "omp-18.3.4_08-bash";
    omp18_compact: "omp-18.3.4_09-compact";
    omp18_errors: "omp-18.3.4_10-errors";
    omp18_session: "omp-18.3.4_11-session";
    omp18_extension_ui: "omp-18.3.4_12-extension-ui";
    omp18_auto_retry: "omp-18.3.4_13-auto-retry";
    omp18_provider_error: "omp-18.3.4_14-provider-error";
    omp18_bad_tool_calls: "omp-18.3.4_15-bad-tool-calls";
    omp18_queue_all: "omp-18.3.4_16-queue-all";
    omp18_builtin_tools: "omp-18.3.4_17-builtin-tools";
    omp18_steer_during_text: "omp-18.3.4_18-steer-during-text";
    omp18_abort_and_prompt: "omp-18.3.4_19-abort-and-prompt";
    omp18_steer_wait_mode: "omp-18.3.4_20-steer-wait-mode";
    omp18_malformed_json: "omp-18.3.4_21-malformed-json";
    omp18_edit_tool: "omp-18.3.4_22-edit-tool";
    omp18_prompt_while_streaming: "omp-18.3.4_23-prompt-while-streaming";
    pi073_text: "pi-0.73.1_01-text";
    pi073_thinking: "pi-0.73.1_02-thinking";
    pi073_two_tools: "pi-0.73.1_03-two-tools";
    pi073_steer_during_tools: "pi-0.73.1_04-steer-during-tools";
    pi073_follow_up: "pi-0.73.1_05-follow-up";
    pi073_abort_mid_stream: "pi-0.73.1_06-abort-mid-stream";
    pi073_abort_during_tool: "pi-0.73.1_07-abort-during-tool";
    pi073_bash: "pi-0.73.1_08-bash";
    pi073_compact: "pi-0.73.1_09-compact";
    pi073_errors: "pi-0.73.1_10-errors";
    pi073_session: "pi-0.73.1_11-session";
    pi073_auto_retry: "pi-0.73.1_13-auto-retry";
    pi073_provider_error: "pi-0.73.1_14-provider-error";
    pi073_bad_tool_calls: "pi-0.73.1_15-bad-tool-calls";
    pi073_queue_all: "pi-0.73.1_16-queue-all";
    pi073_steer_during_text: "pi-0.73.1_18-steer-during-text";
    pi073_prompt_while_streaming: "pi-0.73.1_23-prompt-while-streaming";
    pi073_abort_retry: "pi-0.73.1_24-abort-retry";
    pi087_text: "pi-0.87.1_01-text";
    pi087_thinking: "pi-0.87.1_02-thinking";
    pi087_two_tools: "pi-0.87.1_03-two-tools";
    pi087_steer_during_tools: "pi-0.87.1_04-steer-during-tools";
    pi087_follow_up: "pi-0.87.1_05-follow-up";
    pi087_abort_mid_stream: "pi-0.87.1_06-abort-mid-stream";
    pi087_abort_during_tool: "pi-0.87.1_07-abort-during-tool";
    pi087_bash: "pi-0.87.1_08-bash";
    pi087_compact: "pi-0.87.1_09-compact";
    pi087_errors: "pi-0.87.1_10-errors";
    pi087_session: "pi-0.87.1_11-session";
    pi087_auto_retry: "pi-0.87.1_13-auto-retry";
    pi087_provider_error: "pi-0.87.1_14-provider-error";
    pi087_bad_tool_calls: "pi-0.87.1_15-bad-tool-calls";
    pi087_queue_all: "pi-0.87.1_16-queue-all";
    pi087_builtin_tools: "pi-0.87.1_17-builtin-tools";
    pi087_steer_during_text: "pi-0.87.1_18-steer-during-text";
    pi087_malformed_json: "pi-0.87.1_21-malformed-json";
    pi087_edit_tool: "pi-0.87.1_22-edit-tool";
    pi087_prompt_while_streaming: "pi-0.87.1_23-prompt-while-streaming";
    pi087_abort_retry: "pi-0.87.1_24-abort-retry";
}
