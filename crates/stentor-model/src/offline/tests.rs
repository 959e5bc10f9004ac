use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::{Value, json};
use stentor_agent::live::LiveBlockKind;
use stentor_agent::model::{Model, ModelEvent, ModelRequest, Purpose, ThinkingLevel};
use stentor_agent::tool::{ToolEffect, ToolSpec};
use stentor_journal::message::{Message, StopReason};

use super::request::OfflineRequest;
use super::*;

/// What the guide said: text, calls (id, name, arguments) and why it stopped.
#[derive(Debug, Default, PartialEq)]
struct Said {
    text: String,
    calls: Vec<(String, String, Value)>,
    stop: StopReason,
}

fn message(value: Value) -> Arc<Message> {
    Arc::new(serde_json::from_value(value).unwrap())
}

fn user(text: &str) -> Arc<Message> {
    message(json!({"role": "user", "content": text, "timestamp": 255}))
}

fn answered(said: &Said) -> Arc<Message> {
    let mut content = vec![json!({"type": "text", "text": said.text})];
    for (id, name, arguments) in &said.calls {
        content.push(json!({"type": "toolCall", "id": id, "name": name, "arguments": arguments}));
    }
    message(
        json!({"role": "assistant", "content": content, "api": "offline",
        "provider": "offline", "model": "guide", "stopReason": "stop", "timestamp": 1}),
    )
}

fn result(said: &Said, nth: usize, text: &str, is_error: bool) -> Arc<Message> {
    let (id, name, _) = &said.calls[nth];
    message(
        json!({"role": "toolResult", "toolCallId": id, "toolName": name,
        "isError": is_error, "content": [{"type": "text", "text": text}], "timestamp": 1}),
    )
}

fn request(messages: &[Arc<Message>], purpose: Purpose) -> ModelRequest {
    let names = [
        "read", "bash", "edit", "write", "grep", "find", "ls", "todo",
    ];
    let tools: Vec<ToolSpec> = names
        .into_iter()
        .map(|name| ToolSpec {
            name: name.into(),
            label: String::new(),
            description: String::new(),
            parameters: json!({}).into(),
            effect: ToolEffect::Reads,
        })
        .collect();
    ModelRequest {
        system: "".into(),
        messages: messages.to_vec(),
        tools: tools.into(),
        thinking: ThinkingLevel::Off,
        output_schema: None,
        max_output_tokens: None,
        session_id: "s".into(),
        session_file: None,
        purpose,
        host: None,
    }
}

async fn say(request: ModelRequest) -> Said {
    let mut said = Said::default();
    let mut open = None;
    let mut arguments = String::new();
    let events: Vec<_> = GuideModel::new().stream(request).collect().await;
    for event in events {
        match event.unwrap() {
            ModelEvent::BlockStarted(kind) => open = Some(kind),
            ModelEvent::Delta(delta) => match open.as_ref().unwrap() {
                LiveBlockKind::Text => said.text.push_str(&delta),
                _ => arguments.push_str(&delta),
            },
            ModelEvent::BlockEnded { .. } => {
                if let Some(LiveBlockKind::ToolCall { id, name }) = open.take() {
                    let value = serde_json::from_str(&std::mem::take(&mut arguments)).unwrap();
                    said.calls.push((id, name, value));
                }
            }
            ModelEvent::Finished(finish) => {
                said.stop = finish.stop_reason;
                assert!(finish.usage.output > 0);
            }
            ModelEvent::Started { .. }
            | ModelEvent::Usage(_)
            | ModelEvent::Became(_)
            | ModelEvent::Titled(_)
            | ModelEvent::Intent(_)
            | ModelEvent::Nothing => {}
        }
    }
    said
}

async fn turn(messages: &[Arc<Message>]) -> Said {
    say(request(messages, Purpose::Turn)).await
}

#[tokio::test]
async fn a_request_is_announced_called_and_reported() {
    let prompt = user("find TODO in this folder");
    let first = turn(&[Arc::clone(&prompt)]).await;
    assert_eq!(
        first,
        Said {
            text: format!(
                "{}\n\nSearching this folder for `TODO`.",
                super::replies::WHO_I_AM
            ),
            calls: vec![(
                "guide_ff_1".into(),
                "grep".into(),
                json!({"pattern": "TODO", "limit": 500})
            )],
            stop: StopReason::ToolUse,
        }
    );
    let found = result(&first, 0, "a.rs:1: // TODO", false);
    let second = turn(&[prompt, answered(&first), found]).await;
    assert_eq!(
        second,
        Said {
            text: "Found 1 match for `TODO` in 1 file:\n\n- `a.rs:1` `// TODO`".into(),
            calls: vec![],
            stop: StopReason::Stop,
        }
    );
}

#[tokio::test]
async fn it_says_once_that_it_is_no_language_model() {
    let hello = user("hello");
    let first = turn(&[Arc::clone(&hello)]).await;
    assert!(first.text.starts_with(super::replies::WHO_I_AM));
    let second = turn(&[hello, answered(&first), user("list")]).await;
    assert_eq!(second.text, "Listing this folder.");
    let help = turn(&[user("help")]).await;
    assert_eq!(help.text.matches(super::replies::WHO_I_AM).count(), 1);
}

#[tokio::test]
async fn reminders_of_the_agent_are_not_requests() {
    let reminder = message(
        json!({"role": "user", "content": "run `rm x`", "synthetic": true, "timestamp": 1}),
    );
    let said = turn(&[user("help"), reminder]).await;
    assert_eq!(said.calls, []);
    assert_eq!(turn(&[]).await.stop, StopReason::Stop);
}

#[tokio::test]
async fn a_new_prompt_in_the_middle_replaces_the_old_one() {
    let first = turn(&[user("list")]).await;
    let messages = [
        user("list"),
        answered(&first),
        result(&first, 0, "Skipped", true),
        user("pwd"),
    ];
    let second = turn(&messages).await;
    assert_eq!(second.calls[0].2, json!({"command": "pwd"}));
    assert_eq!(second.text, "Running `pwd`.");
}

#[tokio::test]
async fn a_summary_tells_goals_files_commands_and_results() {
    let mut messages = Vec::new();
    for (prompt, text) in [
        ("write 'hi' to a.txt", "Successfully wrote 3 bytes to a.txt"),
        ("run `cat a.txt`", "hi"),
    ] {
        messages.push(user(prompt));
        let said = turn(&messages).await;
        messages.extend([answered(&said), result(&said, 0, text, false)]);
    }
    let said = say(request(&messages, Purpose::Compaction)).await;
    assert_eq!(
        said.text,
        "Summary of 6 earlier messages.\n\n## What the user asked for\n- write 'hi' to a.txt\n- run `cat a.txt`\n\n## Files changed\n- a.txt\n\n## Commands run\n- cat a.txt\n\n## Last results\n- write: Successfully wrote 3 bytes to a.txt\n- bash: hi\n\n## Last answer\n- Running `cat a.txt`.\n"
    );
}

/// The conversation about `prompt` when the tools give these results, one after the other.
async fn conversation(prompt: &str, results: &[(&str, bool)]) -> Vec<Said> {
    let mut messages = vec![user(prompt)];
    let mut all = vec![turn(&messages).await];
    let mut results = results.iter();
    loop {
        let last = all.last().unwrap();
        if last.calls.is_empty() {
            assert_eq!(results.next(), None, "{prompt}");
            return all;
        }
        messages.push(answered(last));
        for nth in 0..last.calls.len() {
            let (text, is_error) = results.next().unwrap();
            messages.push(result(last, nth, text, *is_error));
        }
        all.push(turn(&messages).await);
    }
}

fn commands(said: &[Said]) -> Vec<String> {
    let calls = said.iter().flat_map(|one| &one.calls);
    calls
        .map(|(_, tool, arguments)| format!("{tool} {arguments}"))
        .collect()
}

#[tokio::test]
async fn the_tests_are_run_as_the_project_wants_it() {
    for (files, command) in [
        ("Cargo.toml\nsrc/\n", "cargo test"),
        ("package.json\n", "npm test"),
        ("pyproject.toml\n", "python3 -m pytest"),
        ("go.mod\nMakefile\n", "go test ./..."),
        ("Makefile\n", "make test"),
        ("cart.py\ntest_cart.py\n", "python3 -m unittest"),
    ] {
        let said = conversation("run the tests", &[(files, false), ("ok", false)]).await;
        let expected = format!("bash {}", json!({ "command": command }));
        assert_eq!(commands(&said)[1], expected);
        assert!(
            said[2].text.starts_with(&format!("`{command}` succeeded")),
            "{}",
            said[2].text
        );
    }
    let said = conversation("run the tests", &[("notes.txt\n", false)]).await;
    assert!(
        said[1].text.starts_with("I do not know how the tests"),
        "{}",
        said[1].text
    );
}

#[tokio::test]
async fn a_failed_command_shows_its_code_the_end_of_its_output_and_what_may_help() {
    let output: String = (1..=50).map(|n| format!("line {n}\n")).collect();
    let text = format!("{output}\nCommand exited with code 127");
    let said = conversation("run `nope`", &[(&text, true)]).await;
    assert!(said[1].text.starts_with(
        "`nope` failed with exit code 127.\n\n10 lines before this are left out.\n\n```text\nline 11\n"
    ), "{}", said[1].text);
    assert!(
        said[1].text.ends_with(
            "line 50\n```\n\nThe program was not found: is it installed and spelled correctly?"
        ),
        "{}",
        said[1].text
    );
}

#[tokio::test]
async fn a_call_that_is_not_permitted_names_the_modes_and_no_other_failure_does() {
    let denied = "Permission denied: bash `make`: this session is read-only and may not run commands. You can read files in /w; describe to the user what you would do beyond that.";
    let said = conversation("run `make`", &[(denied, true)]).await;
    assert!(
        said[1].text.ends_with(super::replies::DENIED),
        "{}",
        said[1].text
    );
    let rejected =
        "The user rejected this call of bash. Do not repeat it; ask or continue without it.";
    let said = conversation("run `make`", &[(rejected, true)]).await;
    assert_eq!(said[1].text, "`make` was not run. You did not allow it.");
    let said = conversation("write 'a' to b.txt", &[(rejected, true)]).await;
    assert_eq!(said[1].text, "You did not allow it.");
    let system = "bash: /x: Permission denied\n\nCommand exited with code 1";
    let said = conversation("run `make`", &[(system, true)]).await;
    assert!(!said[1].text.contains("mode"), "{}", said[1].text);
}

#[tokio::test]
async fn text_without_quotes_never_replaces_a_file() {
    for (prompt, listing, is_error) in [
        ("write hi to a.txt", "b.txt\nsrc/\n", false),
        ("write hi to a.txt", "(empty directory)", false),
        ("write hi to notes/a.txt", "Path not found: /w/notes", true),
    ] {
        let results = [(listing, is_error), ("Wrote a.txt", false)];
        let said = conversation(prompt, &results).await;
        assert!(commands(&said)[1].starts_with("write "), "{prompt}");
    }
    let results = [("b.txt\n", false), ("Wrote a.txt", false)];
    let said = conversation("write hi to a.txt", &results).await;
    assert_eq!(
        commands(&said),
        [r#"ls {}"#, r#"write {"path":"a.txt","content":"hi\n"}"#]
    );
    for listing in ["a.txt\n", "A.TXT\n", "a.txt/\n"] {
        let said = conversation("write hi to a.txt", &[(listing, false)]).await;
        assert!(
            said[1].text.starts_with("`a.txt` exists already"),
            "{}",
            said[1].text
        );
    }
    // Of a listing that does not have all names, nothing follows.
    let cut = "b.txt\n\n[500 entries limit reached. Use limit=1000 for more]";
    let said = conversation("write hi to a.txt", &[(cut, false), ("mine", false)]).await;
    assert!(
        said[2].text.starts_with("`a.txt` exists already"),
        "{}",
        said[2].text
    );
    let missing = "ENOENT: no such file or directory, access 'a.txt'";
    let results = [(cut, false), (missing, true), ("Wrote a.txt", false)];
    let said = conversation("write hi to a.txt", &results).await;
    assert_eq!(
        commands(&said)[2],
        r#"write {"path":"a.txt","content":"hi\n"}"#
    );
    let said = conversation("write 'hi' to a.txt", &[("Wrote a.txt", false)]).await;
    assert_eq!(said[1].text, "Wrote a.txt.");
}

#[tokio::test]
async fn a_text_that_occurs_more_than_once_is_replaced_everywhere() {
    let several = "Found 2 occurrences of the text in b.txt, at lines 1, 2.";
    let results = [(several, true), ("x 1\nx 2\n", false), ("Wrote a", false)];
    let said = conversation("replace x with y in b.txt", &results).await;
    assert_eq!(
        commands(&said)[2],
        r#"write {"path":"b.txt","content":"y 1\ny 2\n"}"#
    );
    assert_eq!(said[3].text, "Replaced `x` with `y` in `b.txt`.");
}

#[tokio::test]
async fn a_file_without_its_ending_and_a_folder_are_found_all_the_same() {
    let names = ("Makefile\nREADME.md\nsrc/\n", false);
    for prompt in ["read README", "open the readme"] {
        let said = conversation(prompt, &[names, ("# Hi\n", false)]).await;
        assert!(
            said[2].text.starts_with("`README.md` (1 line):"),
            "{}",
            said[2].text
        );
    }
    let said = conversation("read Makefile", &[names, ("all:\n", false)]).await;
    assert_eq!(commands(&said)[1], r#"read {"path":"Makefile"}"#);
    let said = conversation("what is in src?", &[names, ("main.rs\n", false)]).await;
    assert_eq!(
        said[2].text,
        "`src` has 1 entry: no folders and 1 file.\n\n- `main.rs`"
    );
    let said = conversation("read nothing", &[names]).await;
    assert!(
        said[1].text.starts_with("There is no file `nothing`."),
        "{}",
        said[1].text
    );
    let said = conversation("show ../", &[("a.txt\n", false)]).await;
    assert_eq!(commands(&said), [r#"ls {"path":"../"}"#]);
    assert!(said[1].text.contains("`a.txt`"), "{}", said[1].text);
    let folder = "EISDIR: /w/src.d is a directory. List it with ls, or name a file in it.";
    let said = conversation("read src.d", &[(folder, true), ("main.rs\n", false)]).await;
    assert_eq!(
        said[2].text,
        "`src.d` has 1 entry: no folders and 1 file.\n\n- `main.rs`"
    );
    let around = [names, ("main.rs\n", false), ("main.rs\n", false)];
    let said = conversation("summarise src", &around).await;
    assert_eq!(
        commands(&said)[1..3],
        [
            r#"ls {"path":"src"}"#,
            r#"find {"pattern":"*","path":"src","limit":5000}"#
        ]
    );
}

#[tokio::test]
async fn what_a_file_does_is_told_by_its_first_comment_and_its_definitions() {
    let source = "//! Counts words.\n\nuse std::io;\n\npub fn count(text: &str) -> usize {\n    1\n}\n\nstruct Word;\nmod tests;\n\nimpl Word {\n";
    let said = conversation("what does src/words.rs do?", &[(source, false)]).await;
    assert_eq!(
        said[1].text,
        "`src/words.rs` has 12 lines.\n\n> Counts words.\n\n**Definitions:**\n\n- line 5: `pub fn count(text: &str) -> usize`\n- line 9: `struct Word;`\n- line 12: `impl Word`"
    );
    let said = conversation(
        "summarise a.md",
        &[("# A\n\nIt is.\n\n```\n# no\n```\n## B\n", false)],
    )
    .await;
    assert!(
        said[1]
            .text
            .ends_with("> It is.\n\n**Headings:**\n\n- A\n- B"),
        "{}",
        said[1].text
    );
}

#[tokio::test]
async fn a_folder_is_summed_up_by_its_kinds_of_files_and_its_readme() {
    let results = [
        ("README.md\nsrc/\n", false),
        ("README.md\nsrc/a.rs\nsrc/b.rs\n", false),
        ("# Name\n\nWhat it is.\n", false),
    ];
    let said = conversation("summarise this folder", &results).await;
    assert_eq!(
        said[2].text,
        "## This folder\n\nAt the top: 1 folder and 1 file.\n\n**Folders:** `src/`\n\n**Files in all:** 3 (2 `.rs`, 1 `.md`)\n\n**README:** Name\n\n> What it is."
    );
}

#[tokio::test]
async fn what_is_not_understood_gets_three_next_steps_and_no_word_of_the_prompt() {
    for (prompt, step) in [
        ("fix the flaky zebra in main.rs", "replace 'old'"),
        ("which zebra is used most?", "search for"),
        ("zebra", "summarise this folder"),
        ("don't run `rm zebra`", "run the tests"),
        ("write a function that sorts zebras", "write 'some text'"),
    ] {
        let said = turn(&[user(prompt)]).await;
        assert_eq!(said.calls, [], "{prompt}");
        assert_eq!(said.text.matches("\n- ").count(), 3, "{}", said.text);
        assert!(said.text.contains(step), "{prompt}: {}", said.text);
        assert!(said.text.contains("stentor login"), "{}", said.text);
        assert!(!said.text.contains("zebra"), "{}", said.text);
    }
}

/// A prompt and what it means, one a line; `\\n` in a prompt is a line break.
const UNDERSTOOD: &str = r##"
list => List None
ls -la => List None
Please list the files in `src/lib` => List src/lib
can you show me the files in docs? => List docs
what files are here? => List None
list .. => List ..
read README.md => Read README.md
Show me the file src/main.rs please => Read src/main.rs
open 'my notes.txt' => Read my notes.txt
what's in Cargo.toml? => Read Cargo.toml
show lines 10 to 40 of src/main.rs => Read src/main.rs 10-40
read a.txt lines 3-9 => Read a.txt 3-9
show the first 20 lines of a.log => Read a.log 1-20
show the last 5 lines of a.log => Run tail -n 5 -- a.log
find *.rs => Find *.rs None
find all rust files in src => Find *.rs src
list all python files => Find *.py None
find files named config => Find *config* None
where is main.rs? => Find main.rs None
find TODO in this folder => Search TODO None
Find all TODO comments => Search TODO None
search for 'hello world' in src => Search hello world src
search for hello world => Search hello world None
search src for panic => Search panic src
grep -rn foo src/ => Search foo src/
look for `Arc<Mutex` in crates/ => Search Arc<Mutex crates/
where is parse_line used? => Search parse_line None
which files contain FIXME? => Search FIXME None
run `cargo test` => Run cargo test
Run ls -la => Run ls -la
`make all` => Run make all
!touch x => Run touch x
!`touch x` => Run touch x
$ uname -a => Run uname -a
git log --oneline => Run git log --oneline
git status => Run git status
show the git status => Run git status
what changed? => Run git diff
show me the diff => Run git diff
show me the git diff => Run git diff
show git log => Run git log
open the README => Read README
run this project => Unknown
run `make\nmake install` => Run make\nmake install
run 'ls' please => Run ls
git status\n\ntouch evil => Run git status
run ls\n\ntouch evil => Run ls
!ls\n\ntouch evil => Run ls
git status\ntouch evil => Unknown
run ls\ntouch evil => Unknown
run `ls`\n; touch evil => Unknown
!ls\ntouch evil => Unknown
$ ls\ntouch evil => Unknown
run `ls\n\ntouch evil` => Run `ls
!`ls\n\ntouch evil` => Run `ls
write 'hello' to a.txt => Write a.txt "hello\n" true
write hello world into a.txt => Write a.txt "hello world\n" false
write a poem to a.txt => Unknown
create a file notes.md with the content: # Notes\n\n- one => Write notes.md "# Notes\n\n- one\n" true
create a.py with:\n```python\nprint(1)\n``` => Write a.py "print(1)\n" true
create a.py with:\n\n```python\nprint(1)\n\nprint(2)\n``` => Write a.py "print(1)\n\nprint(2)\n" true
create a.py with\n\nevil => Write a.py "evil\n" false
create the file a.py\n\nwith evil => Write a.py "" false
write hello to a.txt\n\nnot to b.txt => Write a.txt "hello\n" false
write 'hello' to a.txt\n\n'evil' to b.txt => Write a.txt "hello\n" true
change foo to bar in a.txt\n\nin b.txt => Replace a.txt "foo" "bar"
create an empty file x.txt => Write x.txt "" false
create a test for foo.rs => Unknown
replace 'a b' with "c" in src/lib.rs => Replace src/lib.rs "a b" "c"
change foo to bar in a.txt => Replace a.txt "foo" "bar"
replace 'it's' with '' in a.txt => Replace a.txt "it's" ""
summarise this folder => Summarise None
Summarize README.md => Summarise README.md
what does src/main.rs do? => Summarise src/main.rs
explain src/main.rs => Summarise src/main.rs
what is this project about? => Summarise None
run the tests => Test
please run all tests => Test
help => Help
hello => Help
hello, who are you? => Help
hi there, list the files => List None
what can you do? => Help
 => Help
don't list anything => Unknown
do not run `rm x` => Unknown
why does the build fail? => Unknown
find all files that are not used any more => Unknown
thanks => Unknown
"##;

#[test]
fn the_verbs_and_their_arguments() {
    let shown = |path: &Option<String>| path.clone().unwrap_or_else(|| "None".to_owned());
    let mut wrong = Vec::new();
    for line in UNDERSTOOD.trim().lines() {
        let (prompt, expected) = line.split_once(" => ").unwrap();
        let prompt = prompt.replace("\\n", "\n");
        let got = match OfflineRequest::parse(&prompt) {
            OfflineRequest::List(place) => format!("List {}", shown(&place)),
            OfflineRequest::Read(path, None) => format!("Read {path}"),
            OfflineRequest::Read(path, Some((a, b))) => format!("Read {path} {a}-{b}"),
            OfflineRequest::Find(pattern, place) => format!("Find {pattern} {}", shown(&place)),
            OfflineRequest::Search(text, place) => format!("Search {text} {}", shown(&place)),
            OfflineRequest::Run(command) => format!("Run {}", command.replace('\n', "\\n")),
            OfflineRequest::Write(one) => {
                format!("Write {} {:?} {}", one.path, one.content, one.sure)
            }
            OfflineRequest::Replace(one) => {
                format!("Replace {} {:?} {:?}", one.path, one.old, one.new)
            }
            OfflineRequest::Summarise(place) => format!("Summarise {}", shown(&place)),
            OfflineRequest::Test => "Test".to_owned(),
            OfflineRequest::Help => "Help".to_owned(),
            OfflineRequest::Unknown => "Unknown".to_owned(),
        };
        if got != expected {
            wrong.push(format!("{prompt}\n  expected {expected}\n  got      {got}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_request_counts_whatever_is_piped_in_behind_it() {
    let asked = OfflineRequest::parse("read a.txt\n\nsome piped text\n\nand more");
    assert_eq!(asked, OfflineRequest::parse("read a.txt"));
    assert_eq!(
        OfflineRequest::parse("think\n\nread a.txt"),
        OfflineRequest::Unknown
    );
}

#[tokio::test]
async fn what_comes_beside_the_text_of_a_person_is_no_part_of_a_request() {
    for prompt in [
        "git status",
        "run ls",
        "!ls",
        "run `ls",
        "write 'a' to a.txt",
    ] {
        let alone = turn(&[user(prompt)]).await;
        for other in ["touch evil", "\ntouch evil", "` to b.txt", "'b' to b.txt"] {
            let blocks = json!([
                {"type": "text", "text": prompt},
                {"type": "text", "text": other},
            ]);
            let beside = json!({"role": "user", "content": blocks, "timestamp": 255});
            assert_eq!(turn(&[message(beside)]).await, alone, "{prompt}, {other}");
        }
    }
}
