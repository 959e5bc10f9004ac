//! `stentor -p` from the outside: what is printed, kept, and left behind.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use crate::world::{Ran, World};
use expect_test::expect;
use serde_json::Value;
use stentor_test_support::http::{EVENTS, Request, json, listen};

const SCENARIO: &str = r#"
on_exhausted = "error"
usage = "estimate"

[[turn]]
thinking = "hm"
text = "I will look."
tool = "bash"
arguments = { command = "echo found; exit 3" }

[[turn]]
text = "It said: {{last_tool_result}}"

[[turn]]
text = "You said: {{last_user}}"
"#;

const MODEL: [&str; 2] = ["--model", "script/plan.toml"];

fn scripted() -> World {
    let world = World::new();
    world.file("work/plan.toml", SCENARIO);
    world
}

fn ask(world: &World, words: &[&str]) -> Ran {
    world.run(&[&MODEL, words].concat())
}

#[test]
fn the_answer_is_on_stdout_and_the_calls_are_on_stderr() {
    let Ran { status, out, err } = ask(&scripted(), &["-p", "go"]);
    assert_eq!(status, Some(0));
    expect![[r#"
        I will look.

        It said: found


        Command exited with code 3
    "#]]
    .assert_eq(&out);
    expect![[r#"
        model: script/~~/work/plan.toml (chosen by --model)
        > bash  echo found; exit 3  failed: exit 3: found
    "#]]
    .assert_eq(&err);
}

#[test]
fn the_guide_answers_without_key_and_network() {
    let world = World::new();
    world.file("work/notes.txt", "nothing\nTODO water the plants\n");
    let Ran { status, out, err } = world.run(&["-p", "find TODO in this folder"]);
    assert_eq!(status, Some(0), "{err}");
    assert!(out.contains("notes.txt:2"), "{out}");
    let Ran { status, out, err } = world.run(&["-p", "run `echo $((40 + 2))`"]);
    assert_eq!(status, Some(0), "{err}");
    assert!(out.contains("42"), "{out}");
}

#[test]
fn a_prompt_can_come_from_stdin() {
    let world = World::new();
    world.file("work/echo.toml", "[[turn]]\ntext = \"<{{last_user}}>\"\n");
    let ask = |words: &[&str], input: &str| {
        let model = ["--model", "script/echo.toml", "--no-session"];
        world.run_with_input(&[&model, words].concat(), input)
    };
    assert_eq!(ask(&["-p"], "from stdin\n").ok(), "<from stdin>\n");
    assert_eq!(ask(&["-p", "-"], "from stdin\n").ok(), "<from stdin>\n");
    assert_eq!(
        ask(&["-p", "look", "--stdin"], "here\n").ok(),
        "<look\n\nhere>\n"
    );
    assert_eq!(ask(&["-p", "a file"], "here").ok(), "<a file\n\nhere>\n");
    assert_eq!(ask(&["-p", "an empty file"], "").ok(), "<an empty file>\n");
    let empty = ask(&["-p"], " \n");
    assert_eq!(
        (empty.status, empty.err.as_str()),
        (Some(2), "stentor: the prompt is empty\n")
    );
}

#[test]
fn json_prints_one_event_a_line_and_nothing_else() {
    let Ran { status, out, err } = ask(&scripted(), &["-p", "go", "--json"]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    let mut last_seq = 0;
    let mut types: Vec<String> = Vec::new();
    let (first, out) = out.split_once('\n').unwrap();
    let mut model: serde_json::Value = serde_json::from_str(first).unwrap();
    model["session"].take();
    expect![[r#"
        {"type":"model","provider":"script","id":"~~/work/plan.toml","contextWindow":200000,"why":"chosen by --model","session":null}"#]]
    .assert_eq(&model.to_string());
    for line in out.lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        let seq = event["seq"].as_u64().unwrap();
        assert!(seq > last_seq, "{line}");
        last_seq = seq;
        types.push(event["type"].as_str().unwrap().to_owned());
    }
    assert_eq!(types.last().map(String::as_str), Some("settled"));
    for kind in [
        "run_started",
        "block_delta",
        "tool_started",
        "tool_ended",
        "run_ended",
    ] {
        assert!(types.iter().any(|have| have == kind), "{kind} in {types:?}");
    }
}

#[test]
fn a_session_is_kept_listed_continued_and_exported() {
    let world = scripted();
    ask(&world, &["-p", "first"]);
    let listed: serde_json::Value =
        serde_json::from_str(&world.run(&["sessions", "--json"]).ok()).unwrap();
    let id = listed[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(listed[0]["firstMessage"], "first");

    // Only who asks can name a scenario, not the file of the session.
    let model = ["--model", "script/plan.toml"];
    let again = world.run(&[&model[..], &["-c", "-p", "second"]].concat());
    assert_eq!(
        (again.status, again.out.as_str()),
        (Some(0), "You said: second\n"),
        "{}",
        again.err
    );
    let listed = world.run(&["sessions"]).ok();
    assert_eq!(listed.matches("first").count(), 1, "one session: {listed}");

    let page = world.run(&["export", &id[..30], "-o", "-"]).ok();
    for text in ["<!doctype html>", "first", "You said: second", "echo found"] {
        assert!(page.contains(text), "{text}");
    }
    let said = world.run(&["export", &id]).ok();
    assert_eq!(said, format!("~~/work/{id}.html\n"));
    let written = std::fs::read_to_string(world.work(&format!("{id}.html"))).unwrap();
    assert_eq!(world.without_folder(&written), page);
}

#[test]
fn nothing_is_kept_with_no_session() {
    let world = scripted();
    ask(&world, &["-p", "go", "--no-session"]);
    assert_eq!(world.run(&["sessions", "--all"]).ok(), "no sessions\n");
    let none = world.run(&["-c", "-p", "go"]);
    assert_eq!(
        none.err,
        "stentor: there is no session of this folder to continue\n"
    );
}

#[test]
fn without_a_home_it_answers_and_says_that_nothing_is_kept() {
    let world = scripted();
    let mut command = world.command(&[&MODEL[..], &["-p", "go"]].concat());
    // One that is not set comes from the password database.
    let ran = world.finish(command.env("HOME", "").output().unwrap());
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert!(
        ran.err.contains("no folder to store the session in"),
        "{}",
        ran.err
    );
}

#[test]
fn limits_and_failures_decide_the_exit_status() {
    let world = scripted();
    let ran = ask(&world, &["-p", "go", "--max-turns", "1"]);
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("error: "), "{}", ran.err);
    world.file("work/plan.toml", "[[turn]]\nerror = \"auth\"\n");
    let ran = ask(&world, &["-p", "go"]);
    assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.contains("error: "), "{}", ran.err);
}

#[test]
fn what_may_not_run_is_denied_and_the_model_hears_of_it() {
    let ran = ask(&scripted(), &["-p", "go", "--permission-mode", "read-only"]);
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert!(
        ran.out.contains("It said: Permission denied: "),
        "{}",
        ran.out
    );
    assert!(!ran.out.contains("exited with code"), "{}", ran.out);
    assert!(
        ran.err.contains("> bash  echo found; exit 3  failed: "),
        "{}",
        ran.err
    );
}

#[test]
fn an_untrusted_project_cannot_choose_a_scripted_model() {
    let world = scripted();
    world.file(
        "work/.stentor/config.toml",
        "model = \"script/plan.toml\"\n",
    );
    let ran = world.run(&["-p", "help"]);
    assert!(
        ran.err.contains("a scripted model could run commands"),
        "{}",
        ran.err
    );
    assert!(ran.out.contains("offline guide"), "{}", ran.out);
}

#[test]
fn a_reader_that_goes_away_ends_the_program_quietly() {
    let world = World::new();
    world.file(
        "work/long.toml",
        "[[turn]]\ntext = \"word {{n}}\\n\"\nrepeat = 200000\n",
    );
    let words = ["--model", "script/long.toml", "-p", "go", "--no-session"];
    let mut child = world
        .command(&words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    drop(out);
    let ran = world.finish(child.wait_with_output().unwrap());
    assert_eq!((ran.status, ran.err_but_model()), (Some(0), ""));
}

#[test]
fn an_interrupt_stops_the_run_and_keeps_what_was_said() {
    let world = World::new();
    world.file(
        "work/slow.toml",
        "[[turn]]\nsteps = [{ text = \"begun\\n\" }, { wait_ms = 600000 }, { text = \"never\" }]\n",
    );
    let mut child = world
        .command(&["--model", "script/slow.toml", "-p", "go"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "begun\n");
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    out.read_to_string(&mut line).unwrap();
    let ran = world.finish(child.wait_with_output().unwrap());
    assert_eq!(
        (ran.status, line.as_str()),
        (Some(130), "begun\n"),
        "{}",
        ran.err
    );
    assert!(world.run(&["sessions"]).ok().contains("2 messages"));
}

#[test]
fn a_session_whose_model_is_gone_goes_on_with_another_and_warns() {
    let world = scripted();
    world.file(
        "work/gone.toml",
        "[model]\nid = \"gone\"\n[[turn]]\ntext = \"Hello.\"\n",
    );
    let first = world.run(&["-p", "hi", "--model", "script/gone.toml"]);
    assert_eq!((first.status, first.out.as_str()), (Some(0), "Hello.\n"));
    std::fs::remove_file(world.work("gone.toml")).unwrap();
    let Ran { status, err, .. } = world.run(&["-p", "again", "-c"]);
    assert_eq!(status, Some(0), "{err}");
    let warning = "the session's model script/gone is not used: only a flag, the environment, your \
        own file or your client can name a scenario file; using offline/guide";
    assert!(err.contains(warning), "{err}");
    assert_eq!(err.matches("script/gone").count(), 1, "{err}");
}

/// A session of a model that a server on this machine has, and how it is gone on with when the server
/// is gone.
fn gone_on_without_server(words: &[&str]) -> Ran {
    let server = listen(|mut connection| {
        let Ok(Some(request)) = Request::of(&connection) else {
            return;
        };
        let answer = match request.target() {
            "/v1/models" => json("200 OK", r#"{"data":[{"id":"mine"}]}"#),
            "/v1/chat/completions" => {
                let delta =
                    r#"{"choices":[{"delta":{"content":"Hello."},"finish_reason":"stop"}]}"#;
                format!("{EVENTS}data: {delta}\n\ndata: [DONE]\n\n")
            }
            _ => json("404 Not Found", "{}"),
        };
        let _ = std::io::Write::write_all(&mut connection, answer.as_bytes());
    });
    // A server that a busy machine makes too slow is not found. Each attempt has a world of its own, so
    // that there is one session.
    let mut last = String::new();
    let begun = (0..20).find_map(|_| {
        let world = World::new();
        let mut command = world.command(&["-p", "hello"]);
        command.env("OLLAMA_HOST", server.to_string());
        let first = world.finish(command.output().unwrap());
        let has_answered = first.out == "Hello.\n";
        last = first.err;
        has_answered.then_some(world)
    });
    let world = begun.unwrap_or_else(|| panic!("{last}"));
    let mut command = world.command(words);
    // Nobody listens on the discard port. What is only logged is not seen.
    command.env("OLLAMA_HOST", "127.0.0.1:9");
    command.env("STENTOR_LOG", "off");
    world.finish(command.output().unwrap())
}

#[test]
fn a_session_whose_server_is_down_says_so_and_who_answers_instead() {
    let Ran { status, err, .. } = gone_on_without_server(&["-c", "-p", "again"]);
    assert_eq!(status, Some(0), "{err}");
    let warning = "warning: the session's model ollama/mine is not used: Ollama does not answer on \
        port 9; using offline/guide; choose another with --model\n";
    assert!(err.contains(warning), "{err}");
    assert_eq!(err.matches("ollama/mine").count(), 1, "{err}");
}

#[test]
fn the_first_line_of_json_says_which_model_was_replaced_and_why() {
    let Ran { status, out, err } = gone_on_without_server(&["-c", "--json", "-p", "again"]);
    assert_eq!(status, Some(0), "{err}");
    let first: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    let replaced = serde_json::json!({
        "provider": "ollama",
        "id": "mine",
        "why": "is not used: Ollama does not answer on port 9",
    });
    assert_eq!(first["type"], "model", "{first}");
    assert_eq!(first["replaced"], replaced, "{first}");
    assert_eq!(
        err.matches("warning: the session's model").count(),
        1,
        "{err}"
    );
}

#[test]
fn what_comes_through_a_pipe_is_added_to_the_prompt() {
    let world = World::new();
    world.file("work/echo.toml", "[[turn]]\ntext = \"<{{last_user}}>\"\n");
    let words = ["--model", "script/echo.toml", "--no-session", "-p", "look"];
    let mut command = world.command(&words);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Whoever wrote what is piped in cannot have files attached.
    world.file("work/secret.txt", "hidden");
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"@secret.txt\n").unwrap();
    let ran = world.finish(child.wait_with_output().unwrap());
    assert_eq!(ran.ok(), "<look\n\n@secret.txt>\n");
    for empty in ["", "  "] {
        let ran = world.run(&["-p", empty]);
        assert_eq!(ran.status, Some(2), "{}", ran.out);
        assert!(ran.err.contains("the prompt is empty"), "{}", ran.err);
    }
}

#[test]
fn nothing_that_is_piped_in_or_attached_is_run_by_the_guide() {
    for evil in [
        "touch evil\n",
        "\n\ntouch evil\n",
        "; touch evil\n",
        "` && touch evil `\n",
    ] {
        for prompt in [
            "git status",
            "run ls",
            "!ls",
            "run `ls`",
            "run `ls",
            "!ls @evil.txt",
        ] {
            let world = World::new();
            world.file("work/evil.txt", evil);
            let ran = pipe(&world, &["-p", prompt], evil.as_bytes());
            assert_eq!(ran.status, Some(0), "{prompt}: {}", ran.err);
            let is_there = world.work("evil").exists();
            assert!(!is_there, "{prompt}, {evil:?}: {}", ran.out);
        }
        let world = World::new();
        let ran = pipe(
            &world,
            &["-p", "write 'hello' to a.txt"],
            b"'evil' to evil\n",
        );
        assert_eq!(ran.status, Some(0), "{}", ran.err);
        let written = std::fs::read_to_string(world.work("a.txt")).unwrap();
        assert_eq!(
            (written.as_str(), world.work("evil").exists()),
            ("hello\n", false)
        );
    }
}

#[test]
fn what_is_piped_in_neither_stands_in_for_an_empty_prompt_nor_is_an_argument_of_a_command() {
    let world = World::new();
    let ran = pipe(&world, &["-p", ""], b"touch evil\n");
    assert_eq!(ran.err, "stentor: the prompt is empty\n");
    let ran = pipe(&world, &["-p", "/name mine"], b"yours\n");
    assert_eq!((ran.out.as_str(), ran.status), ("name: mine\n", Some(0)));
    assert!(
        ran.err.contains("takes nothing from standard input"),
        "{}",
        ran.err
    );
}

/// Asks with something in a pipe, which is there before the program begins.
fn pipe(world: &World, words: &[&str], input: &[u8]) -> Ran {
    let (reader, mut writer) = std::io::pipe().unwrap();
    std::io::Write::write_all(&mut writer, input).unwrap();
    drop(writer);
    world.finish(world.command(words).stdin(reader).output().unwrap())
}

#[test]
fn a_socket_is_read_like_a_pipe() {
    let world = World::new();
    world.file("work/echo.toml", "[[turn]]\ntext = \"<{{last_user}}>\"\n");
    let (theirs, mut ours) = std::os::unix::net::UnixStream::pair().unwrap();
    std::io::Write::write_all(&mut ours, b"here\n").unwrap();
    drop(ours);
    let words = ["--model", "script/echo.toml", "--no-session", "-p", "look"];
    let mut command = world.command(&words);
    let output = command.stdin(std::os::fd::OwnedFd::from(theirs)).output();
    assert_eq!(world.finish(output.unwrap()).ok(), "<look\n\nhere>\n");
}

#[test]
fn files_and_pictures_that_are_mentioned_go_with_the_prompt() {
    let world = World::new();
    world.file("work/echo.toml", "[[turn]]\ntext = \"<{{last_user}}>\"\n");
    world.file("work/notes.txt", "water the plants");
    let picture = [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01".as_slice(),
        b"\0\0\0\0IEND\xaeB`\x82",
    ];
    std::fs::write(world.work("dot.png"), picture.concat()).unwrap();
    let said = ask_echo(&world, &["-p", "read @notes.txt, please"]).ok();
    assert!(said.contains("water the plants"), "{said}");
    let said = ask_echo(&world, &["read @notes.txt", "--json"]).out;
    assert!(said.contains("water the plants"), "{said}");
    for words in [
        &["-p", "see @dot.png"][..],
        &["-p", "see", "--image", "dot.png"],
    ] {
        let said = ask_echo(&world, &[words, &["--json"]].concat()).out;
        assert!(
            said.contains("\"mimeType\":\"image/png\""),
            "{words:?}: {said}"
        );
    }
    let wrong = ask_echo(&world, &["-p", "see", "--image", "notes.txt"]);
    assert_eq!(wrong.status, Some(1));
    assert!(
        wrong.err.contains("notes.txt is not a picture"),
        "{}",
        wrong.err
    );
    let missing = ask_echo(&world, &["-p", "see", "--image", "none.png"]);
    assert!(
        missing.err.contains("File not found: ~~/work/none.png"),
        "{}",
        missing.err
    );
}

#[test]
fn a_file_with_spaces_is_mentioned_in_quotes_and_one_that_is_missing_is_reported() {
    let world = World::new();
    world.file("work/echo.toml", "[[turn]]\ntext = \"<{{last_user}}>\"\n");
    world.file("work/my notes.txt", "water the plants");
    let ran = ask_echo(&world, &["-p", "see @\"my notes.txt\" and @nofile.txt"]);
    assert!(ran.out.contains("water the plants"), "{}", ran.out);
    let warning = "warning: there is no file nofile.txt, so nothing is attached for it\n";
    assert!(ran.err.contains(warning), "{}", ran.err);
    assert_eq!(ran.status, Some(0));
}

fn ask_echo(world: &World, words: &[&str]) -> Ran {
    world.run(&[&["--model", "script/echo.toml", "--no-session"], words].concat())
}

#[test]
fn commands_work_in_one_prompt_or_say_what_does() {
    let world = scripted();
    ask(&world, &["-p", "first"]);
    assert_eq!(
        ask(&world, &["-c", "-p", "/name Plants"]).ok(),
        "name: Plants\n"
    );
    let listed = world.run(&["sessions", "--json"]).ok();
    assert!(listed.contains("\"name\": \"Plants\""), "{listed}");
    // A summary costs, and whoever asks for one is told who writes it.
    let summarised = ask(&world, &["-c", "-p", "/compact"]);
    assert!(
        summarised.err.starts_with("model: script/"),
        "{}",
        summarised.err
    );
    for (prompt, expected) in [
        ("/nmae x", "there is no command /nmae; did you mean /name?"),
        (
            "/frobnicate",
            "there is no command /frobnicate; /help lists them",
        ),
        ("/model x", "use --model to choose a model"),
    ] {
        let ran = ask(&world, &["-p", prompt]);
        assert_eq!(ran.status, Some(1), "{prompt}: {}", ran.out);
        assert!(ran.err.contains(expected), "{prompt}: {}", ran.err);
    }
}

#[test]
fn an_empty_answer_and_a_model_that_runs_in_circles_are_said() {
    let world = World::new();
    world.file("work/echo.toml", "[[turn]]\ntext = \"\"\n");
    let ran = ask_echo(&world, &["-p", "hello"]);
    assert_eq!(
        ran.err_but_model(),
        "warning: the model gave an empty answer\n"
    );
    let same = "[[turn]]\ntool = \"ls\"\narguments = { path = \".\" }\n";
    world.file(
        "work/echo.toml",
        &format!("on_exhausted = \"repeat-last\"\n{same}"),
    );
    let ran = ask_echo(&world, &["-p", "hello"]);
    assert_eq!(ran.status, Some(1), "{}", ran.err);
    let stopped = "error: stopped: the model made the same call 6 times in a row, with the same \
                   result: ls .\n";
    assert!(ran.err.ends_with(stopped), "{}", ran.err);
    assert_eq!(ran.err.matches("stopped").count(), 1, "{}", ran.err);
    let ran = ask_echo(&world, &["-p", "hello", "--json"]);
    let notice = r#"{"type":"notice","level":"error","message":"stopped: the model made the same"#;
    assert!(ran.out.contains(notice), "{}", ran.out);
    let done = "[[turn]]\ntool = \"ls\"\narguments = {}\n[[turn]]\ntext = \" \"\n";
    world.file("work/echo.toml", done);
    let ran = ask_echo(&world, &["-p", "hello"]);
    let empty = "warning: the model gave an empty answer\n";
    assert!(ran.err.ends_with(empty), "{}", ran.err);
}

#[test]
fn a_model_on_this_machine_that_nobody_chose_is_not_adopted_silently() {
    let world = World::new();
    let server = listen(|mut connection| {
        if let Ok(Some(_)) = Request::of(&connection) {
            let answer = json("200 OK", r#"{"data":[{"id":"stranger"}]}"#);
            let _ = std::io::Write::write_all(&mut connection, answer.as_bytes());
        }
    });
    let mut command = world.command(&["-p", "hello", "--max-turns", "1"]);
    command.env("OLLAMA_HOST", server.to_string());
    let ran = world.finish(command.output().unwrap());
    let said = "model: ollama/stranger (Ollama runs on port ";
    assert!(ran.err.starts_with(said), "{}", ran.err);
    let way_out = "warning: it is on this machine and nobody chose it: use --model for another, or \
                   set use_local_servers = false\n";
    assert!(ran.err.contains(way_out), "{}", ran.err);
    let mut command = world.command(&["-p", "hello", "--max-turns", "1", "--json"]);
    command.env("OLLAMA_HOST", server.to_string());
    let ran = world.finish(command.output().unwrap());
    let first: Value = serde_json::from_str(ran.out.lines().next().unwrap()).unwrap();
    let way_out = way_out.trim_start_matches("warning: ").trim_end();
    assert_eq!(first["wayOut"], way_out, "{first}");
}

#[test]
fn an_error_that_the_budget_forbids_to_retry_is_shown_itself() {
    let world = World::new();
    let scenario = r#"
        [model]
        id = "limited"
        prices = { input = 1000, output = 1000 }
        [[turn]]
        steps = [
          { usage = { input = 1500, output = 0 } },
          { error = { kind = "server", message = "the machine is on fire" } },
        ]
        [[turn]]
        text = "never"
    "#;
    world.file("work/plan.toml", scenario);
    let err = |budget: &str| {
        let ran = world.run(&[
            "-p",
            "go",
            "--model",
            "script/plan.toml",
            "--budget",
            budget,
        ]);
        assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""), "{}", ran.err);
        ran.err_but_model().to_owned()
    };
    expect![[r#"
        warning: Not tried again. Budget reached: 1500 of 1000 tokens are used.
        error: the machine is on fire
    "#]]
    .assert_eq(&err("1k"));
    expect![[r#"
        warning: Not tried again. Budget reached: $1.5000 of $0.2000 are spent.
        error: the machine is on fire
    "#]]
    .assert_eq(&err("0.20"));
}
