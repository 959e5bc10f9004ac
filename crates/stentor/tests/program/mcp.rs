//! MCP servers from the outside: configured, listed, added, tried out, and at work in every way in.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use expect_test::expect;
use serde_json::Value;
use stentor_test_support::{KillOnDrop, when_dead, when_written};

use crate::world::{Ran, World};

/// A server in a few lines of shell.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case $line in
    *'"method":"initialize"'*)
      answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"shell","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      answer '{"tools":[{"name":"say","description":"Says it","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"prompts/list"'*)
      answer '{"prompts":[{"name":"greet","description":"Greets","arguments":[{"name":"who","required":true}]}]}' ;;
    *'"method":"prompts/get"'*)
      answer '{"messages":[{"role":"user","content":{"type":"text","text":"Say hello to Ada."}}]}' ;;
    *'"method":"resources/list"'*)
      answer '{"resources":[{"uri":"note://1","name":"one"}]}' ;;
    *'"method":"resources/templates/list"'*)
      answer '{"resourceTemplates":[]}' ;;
    *'"method":"tools/call"'*)
      answer "{\"content\":[{\"type\":\"text\",\"text\":\"said $WORD\"}]}" ;;
  esac
done
"#;

const PLAN: &str = r#"
[[turn]]
tool = "mcp__talk__say"
arguments = {}

[[turn]]
text = "It said: {{last_tool_result}}"
"#;

/// A world with the server as a file, and a model that calls its tool.
fn world() -> World {
    let world = World::new();
    world.file("home/server.sh", SERVER);
    world.file("work/plan.toml", PLAN);
    world
}

fn user_file(world: &World, text: &str) {
    world.file("home/.config/stentor/config.toml", text);
}

const TABLE: &str = r#"
[mcp_servers.talk]
command = "sh"
args = ["~/server.sh"]
env = { WORD = "${GREETING:-well}" }
"#;

fn ask(world: &World) -> Ran {
    world.run(&["--model", "script/plan.toml", "--no-session", "-p", "go"])
}

#[test]
fn a_server_of_the_users_file_is_used() {
    let world = world();
    user_file(&world, TABLE);
    let mut command = world.command(&["--model", "script/plan.toml", "-p", "go"]);
    let ran = world.finish(command.env("GREETING", "hello").output().unwrap());
    assert_eq!(
        (ran.status, ran.out.as_str()),
        (Some(0), "It said: said hello\n"),
        "{}",
        ran.err
    );
    assert_eq!(ask(&world).out, "It said: said well\n");
    let without = world.run(&["--model", "script/plan.toml", "--no-mcp", "-p", "go"]);
    assert!(without.out.contains("not found"), "{without:?}");
}

#[test]
fn a_prompt_of_a_server_is_a_slash_command() {
    let world = world();
    user_file(&world, TABLE);
    world.file(
        "work/plan.toml",
        "[[turn]]\ntext = \"I was asked: {{last_user}}\"\n",
    );
    let ran = world.run(&["--model", "script/plan.toml", "-p", "/mcp__talk__greet Ada"]);
    assert_eq!(ran.out, "I was asked: Say hello to Ada.\n", "{}", ran.err);
}

#[test]
fn a_broken_server_is_a_warning_with_its_name() {
    let world = world();
    user_file(
        &world,
        "[mcp_servers.gone]\ncommand = \"/no/such/program\"\n[mcp_servers.unset]\nurl = \"http://h/${NO_SUCH}\"\n",
    );
    world.file("work/plan.toml", "[[turn]]\ntext = \"fine\"\n");
    let ran = ask(&world);
    assert_eq!((ran.status, ran.out.as_str()), (Some(0), "fine\n"));
    for text in [
        "The MCP server \"gone\" is given up: /no/such/program cannot be run",
        "The MCP server \"unset\" cannot be used: the environment variable NO_SUCH is not set (~~/home/.config/stentor/config.toml:3)",
    ] {
        assert!(ran.err.contains(text), "{}", ran.err);
    }
}

#[test]
fn a_stranger_project_runs_no_servers_until_it_is_trusted() {
    for (file, text) in [
        ("work/.stentor/config.toml", TABLE.to_owned()),
        (
            "work/.mcp.json",
            r#"{"mcpServers":{"talk":{"command":"sh","args":["~/server.sh"],"env":{"WORD":"well"}}}}"#
                .to_owned(),
        ),
    ] {
        let world = world();
        world.file(file, &text);
        let ran = ask(&world);
        assert!(ran.out.contains("not found"), "{ran:?}");
        assert!(
            ran.err.contains("not used") && ran.err.contains("`stentor trust "),
            "{}",
            ran.err
        );
        user_file(
            &world,
            &format!("trusted_projects = [{:?}]\n", world.work("")),
        );
        assert_eq!(ask(&world).out, "It said: said well\n", "{file}");
    }
}

#[test]
fn a_wrong_key_is_told_with_its_line_and_the_nearest_right_one() {
    let world = world();
    for (text, expected) in [
        (
            "[mcp_servers.talk]\ncommand = \"sh\"\nagrs = []\n",
            "3:1: unknown key `mcp_servers.talk.agrs`; did you mean `args`?",
        ),
        (
            "[mcp_servers.talk]\nenabled = true\n",
            "1:14: [mcp_servers.talk]: it needs either `command`, as in \"npx\" with `args`, or `url`",
        ),
        (
            "[mcp_servers.\"a b\"]\ncommand = \"sh\"\n",
            "1:14: [mcp_servers.a b]: a server's name has 1 to 40 letters",
        ),
        (
            "[mcp_server.talk]\ncommand = \"sh\"\n",
            "1:2: unknown key `mcp_server`; did you mean `mcp_servers`?",
        ),
    ] {
        user_file(&world, text);
        let ran = world.run(&["mcp"]);
        assert_eq!(ran.status, Some(2), "{ran:?}");
        assert!(ran.err.contains(expected), "{}", ran.err);
    }
}

#[test]
fn servers_are_added_listed_tried_out_and_removed() {
    let world = world();
    user_file(&world, "# mine\nthinking = \"low\"\n");
    let server = world.root().join("home/server.sh").display().to_string();
    let words = [
        "mcp",
        "add",
        "talk",
        "--env",
        "WORD=secret",
        "--",
        "sh",
        &server,
    ];
    expect![[r#"
        Added the MCP server talk to ~~/home/.config/stentor/config.toml.
        Test it: stentor mcp test talk
    "#]]
    .assert_eq(&world.run(&words).ok());
    let web = [
        "mcp",
        "add",
        "web",
        "--url",
        "http://user:pw@127.0.0.1:1/mcp?key=secret",
        "--transport",
        "sse",
        "--header",
        "Authorization: Bearer secret",
    ];
    world.run(&web).ok();
    let twice = world.run(&words);
    assert!(
        twice.err.contains("already has a server `talk`"),
        "{}",
        twice.err
    );
    expect![[r#"
        talk  stdio  sh ~~/home/server.sh  (~~/home/.config/stentor/config.toml:4)
        web   sse    http://127.0.0.1:1/mcp  (~~/home/.config/stentor/config.toml:9)
    "#]]
    .assert_eq(&world.run(&["mcp", "list"]).ok());
    let listed: Value = serde_json::from_str(&world.run(&["mcp", "--json"]).ok()).unwrap();
    expect![[r#"{"enabled":true,"given":["Authorization"],"loggedIn":false,"name":"web","problem":null,"scope":"user","source":"~~/home/.config/stentor/config.toml:9","target":"http://127.0.0.1:1/mcp","transport":"sse"}"#]]
        .assert_eq(&sorted(&listed["mcpServers"][1]));
    let tested = world.run(&["mcp", "test", "talk"]);
    assert_eq!(tested.status, Some(0), "{tested:?}");
    let told: Vec<&str> = tested.out.lines().collect();
    assert!(
        told[0].starts_with("talk  works, ready after ")
            && told[0].ends_with(" ms (shell 1, MCP 2025-06-18)"),
        "{told:?}"
    );
    assert_eq!(
        told[1..],
        [
            "  tools: mcp__talk__say",
            "  prompts: /mcp__talk__greet who",
            "  resources: note://1",
        ]
    );
    let fails = world.run(&["mcp", "test"]);
    assert_eq!(fails.status, Some(1), "{fails:?}");
    assert!(fails.out.contains("web  fails: "), "{}", fails.out);
    assert!(!fails.out.contains("secret"), "{}", fails.out);
    world.run(&["mcp", "remove", "web"]).ok();
    world.run(&["mcp", "remove", "talk"]).ok();
    let left = std::fs::read_to_string(world.root().join("home/.config/stentor/config.toml"));
    assert_eq!(left.unwrap().trim_end(), "# mine\nthinking = \"low\"");
    let missing = world.run(&["mcp", "remove", "talk"]);
    assert_eq!(missing.status, Some(2));
    assert!(
        missing.err.contains("has no server `talk`"),
        "{}",
        missing.err
    );
    let unknown = world.run(&["mcp", "test", "tlak"]);
    assert!(
        unknown.err.contains("there is no MCP server `tlak`"),
        "{}",
        unknown.err
    );
}

#[test]
fn a_server_that_cannot_work_is_not_added() {
    let world = world();
    for (words, why) in [
        (&["--", ""][..], "its `command` is empty"),
        (&["--", " "], "its `command` is empty"),
        (
            &["--url", "notaurl"],
            "the URL does not begin with http:// or https://",
        ),
        (&["--url", ""], "the URL is empty"),
        (
            &["--url", "ftp://x/"],
            "the URL begins with neither http:// nor https://",
        ),
        (
            &["--url", "http://h/", "--header", "Foo bar: x"],
            "\"Foo bar\" is not a valid header name",
        ),
        (
            &["--url", "http://h/", "--header", "A: x\nB: y"],
            "the value of the header A contains a line break",
        ),
        (
            &["--url", "http://h/", "--header", "A: x", "--header", "a: y"],
            "a is given twice",
        ),
        (&["--transport", "sse", "--", "sh"], "cannot be used with"),
        (&["--header", "A: x", "--", "sh"], "cannot be used with"),
        (
            &["--env", "A=1", "--env", "A=2", "--", "sh"],
            "A is given twice",
        ),
        (
            &["--env", "A B=", "--", "sh"],
            "\"A B\" is not a valid variable name",
        ),
    ] {
        let ran = world.run(&[&["mcp", "add", "x"], words].concat());
        assert_eq!(ran.status, Some(2), "{words:?}: {ran:?}");
        assert!(ran.err.contains(why), "{words:?}: {}", ran.err);
    }
    assert!(
        !world
            .root()
            .join("home/.config/stentor/config.toml")
            .exists()
    );
    assert!(
        world
            .run(&["mcp"])
            .ok()
            .starts_with("There are no MCP servers.")
    );
}

#[test]
fn a_server_that_is_left_out_is_told_from_one_that_is_not_there() {
    for (file, text, removal) in [
        (
            "work/.stentor/config.toml",
            TABLE,
            "it is in ~~/work/.stentor/config.toml: use --scope project to remove it",
        ),
        (
            "work/.mcp.json",
            r#"{"mcpServers":{"talk":{"command":"sh"}}}"#,
            "it is in ~~/work/.mcp.json: edit that file",
        ),
    ] {
        let world = world();
        world.file(file, text);
        let tested = world.run(&["mcp", "test", "talk"]);
        assert_eq!(tested.status, Some(2), "{tested:?}");
        let left_out = format!(
            "the MCP server `talk` in ~~/{file} is not used, because the project is not trusted"
        );
        assert!(tested.err.contains(&left_out), "{}", tested.err);
        let removed = world.run(&["mcp", "remove", "talk"]);
        assert_eq!(removed.status, Some(2), "{removed:?}");
        assert!(removed.err.contains(removal), "{}", removed.err);
    }
}

#[test]
fn a_server_added_to_the_project_says_that_the_project_is_not_trusted() {
    let world = world();
    let ran = world.run(&["mcp", "add", "talk", "--scope", "project", "--", "sh", "x"]);
    expect![[r#"
        Added the MCP server talk to ~~/work/.stentor/config.toml.
        This project is not trusted, so the server is not used: `stentor trust` allows it.
        Test it: stentor mcp test talk
    "#]]
    .assert_eq(&ran.ok());
    // Others are to read it, as far as new files can be read here at all.
    let mode = |path: &str| {
        let found = std::fs::metadata(world.root().join(path)).unwrap();
        found.permissions().mode() & 0o777
    };
    world.file("work/new", "");
    assert_eq!(mode("work/.stentor/config.toml"), mode("work/new"));
}

#[test]
fn a_link_to_a_file_that_is_not_there_yet_stays_a_link() {
    let world = world();
    world.file("home/.config/stentor/README", "");
    let link = world.root().join("home/.config/stentor/config.toml");
    std::os::unix::fs::symlink("../../dotfiles/stentor.toml", &link).unwrap();
    world.run(&["mcp", "add", "talk", "--", "sh"]).ok();
    assert!(link.is_symlink());
    let written = std::fs::read_to_string(world.root().join("home/dotfiles/stentor.toml"));
    assert_eq!(written.unwrap(), "[mcp_servers.talk]\ncommand = \"sh\"\n");
}

/// The way in, what is sent, and what the first line that answers it contains.
const WAYS_IN: [(&[&str], &str, &str); 4] = [
    (
        &["--mode", "rpc", "--model", "script/plan.toml"],
        "",
        "\"ready\"",
    ),
    (&["rpc", "--model", "script/plan.toml"], "", "\"ready\""),
    (
        &["--rpc-edn", "--model", "script/plan.toml"],
        "{:id \"h\" :kind :request :op \"handshake\" :params {:client-info {:name \"psi-emacs\" :version \"0.1.0\" :protocol-version \"1.0\" :features []}}}\n",
        ":id \"h\"",
    ),
    (
        &["acp", "--model", "script/plan.toml"],
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}\n",
        "\"id\":7",
    ),
];

#[test]
fn the_first_exchange_waits_for_no_server() {
    for (words, sent, answered) in WAYS_IN {
        let world = world();
        // A prompt would wait for an hour; ten servers that never answer are started.
        let mut text = "mcp_wait_ms = 3600000\n".to_owned();
        for number in 0..10 {
            text.push_str(&format!(
                "[mcp_servers.hangs{number}]\ncommand = \"sh\"\nargs = [\"-c\", \"exec sleep 3600\"]\nstart_timeout_ms = 3600000\n"
            ));
        }
        user_file(&world, &text);
        let mut child = Child::start(&mut world.command(words));
        child.write(sent);
        child.line_with(answered);
    }
}

/// Prompts a session of each way in, and reads until a line has this in it.
fn prompt_each(world: &World, prompt: &str, expected: &str) {
    let quoted = format!("{prompt:?}");
    let acp_new = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"session/new\",\"params\":{{\"cwd\":{:?},\"mcpServers\":[]}}}}\n",
        world.work("")
    );
    let sent = [
        format!("{{\"type\":\"prompt\",\"id\":\"1\",\"message\":{quoted}}}\n"),
        format!("{{\"type\":\"prompt\",\"id\":\"1\",\"message\":{quoted}}}\n"),
        format!(
            "{}{{:id \"p\" :kind :request :op \"prompt\" :params {{:message {quoted}}}}}\n",
            WAYS_IN[2].1
        ),
        format!("{}{acp_new}", WAYS_IN[3].1),
    ];
    for ((words, _, _), sent) in WAYS_IN.into_iter().zip(sent) {
        let mut child = Child::start(
            world
                .command(words)
                .args((words[0] == "acp").then_some("--permission-mode=all")),
        );
        child.write(&sent);
        if words[0] == "acp" {
            let answer: Value = serde_json::from_str(&child.line_with("\"id\":8")).unwrap();
            let id = answer["result"]["sessionId"].as_str().unwrap();
            child.write(&format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"session/prompt\",\"params\":{{\"sessionId\":{id:?},\"prompt\":[{{\"type\":\"text\",\"text\":{quoted}}}]}}}}\n"
            ));
        }
        child.line_with(expected);
    }
}

/// The program as a child with pipes.
struct Child {
    process: KillOnDrop,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Child {
    fn start(command: &mut std::process::Command) -> Self {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self {
            process: KillOnDrop(process),
            lines,
        }
    }

    fn write(&mut self, text: &str) {
        let input = self.process.stdin.as_mut().unwrap();
        input.write_all(text.as_bytes()).unwrap();
    }

    fn line_with(&mut self, text: &str) -> String {
        let mut seen = Vec::new();
        for line in self.lines.by_ref() {
            let line = line.unwrap();
            if line.contains(text) {
                return line;
            }
            seen.push(line);
        }
        panic!("no {text:?} in {seen:#?}");
    }
}

#[test]
fn the_tools_of_a_server_reach_every_way_in() {
    let world = world();
    user_file(&world, TABLE);
    prompt_each(&world, "go", "said well");
}

#[test]
fn the_prompts_of_a_server_are_commands_in_every_way_in_from_the_first_prompt_on() {
    let world = world();
    user_file(&world, TABLE);
    world.file(
        "work/plan.toml",
        "[[turn]]\ntext = \"I was asked: {{last_user}}\"\n",
    );
    let asked = "I was asked: Say hello to Ada.";
    prompt_each(&world, "/mcp__talk__greet Ada", asked);
}

#[test]
#[cfg(target_os = "linux")]
fn a_server_dies_with_a_program_that_is_killed() {
    let world = world();
    let pid = world.work("pid");
    user_file(
        &world,
        &format!(
            "{TABLE}\n[mcp_servers.stays]\ncommand = \"sh\"\nargs = [\"-c\", \"echo $$ > {0}.new; mv {0}.new {0}; exec sleep 3600\"]\n",
            pid.display()
        ),
    );
    let mut child = Child::start(&mut world.command(WAYS_IN[0].0));
    child.line_with(WAYS_IN[0].2);
    let pid = when_written(&pid);
    drop(child);
    when_dead(&pid);
}

/// JSON with its keys in order, whatever order the printing has.
fn sorted(value: &Value) -> String {
    let Value::Object(map) = value else {
        return value.to_string();
    };
    let ordered: std::collections::BTreeMap<_, _> = map.iter().collect();
    serde_json::to_string(&ordered).unwrap()
}
