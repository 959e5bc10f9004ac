//! The keys in the program's environment are not in that of what it starts.

use std::io::{BufRead, BufReader, Write};
use std::process::Command;

use super::{bash, has_python};
use crate::dialects::{self, ALL, Asked};
use crate::world::World;

const CONFIG: &str = "[providers.acme]\nbase_url = \"http://127.0.0.1:9/v1\"\n\
    api = \"openai-completions\"\napi_key_env = \"ACME_SECRET\"\n";
const KEYS: [&str; 19] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "OPENAI_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "ACME_SECRET",
    "AI_GATEWAY_API_KEY",
    "CLAUDE_API_KEY",
    "COPILOT_GITHUB_TOKEN",
    "DASHSCOPE_API_KEY",
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "LITELLM_API_KEY",
    "NEVER_HEARD_OF_API_KEY",
    "OLLAMA_API_KEY",
    "OPENAI_KEY",
    "QWEN_API_KEY",
    "VERCEL_AI_GATEWAY_API_KEY",
    "VOYAGE_API_KEY",
    "lower_case_api_key",
];
/// What other commands live on.
const NOT_KEYS: [&str; 3] = ["GITHUB_TOKEN", "GH_TOKEN", "AWS_SECRET_ACCESS_KEY"];

fn with_keys(mut command: Command) -> Command {
    for name in KEYS {
        command.env(name, format!("secret of {name}"));
    }
    for name in NOT_KEYS {
        command.env(name, "needed");
    }
    command.env("HARMLESS", "seen");
    command
}

/// Has a command run in every dialect and looks at what it printed.
fn each_says(command: &str, config: &str, check: impl Fn(&str, &str)) {
    let keys = KEYS.map(|name| (name, format!("secret of {name}")));
    let keys = keys.iter().map(|(name, value)| (*name, value.as_str()));
    let needed = NOT_KEYS.map(|name| (name, "needed"));
    let env: Vec<_> = keys.chain(needed).chain([("HARMLESS", "seen")]).collect();
    let world = World::new(
        &bash(command),
        &format!("permission_mode = \"all\"\n{config}"),
    );
    world.file(
        "work/.stentor/config.toml",
        "pass_env = [\"ANTHROPIC_API_KEY\"]\n",
    );
    for dialect in ALL {
        let asked = Asked {
            env: &env,
            ..Asked::default()
        };
        check(&dialects::ask(&world, dialect, asked).answer, dialect);
    }
}

#[test]
fn a_command_has_none_of_the_keys() {
    each_says("env", CONFIG, |said, dialect| {
        assert!(said.contains("HARMLESS=seen"), "{dialect}: {said}");
        assert!(!said.contains("secret of"), "{dialect}: {said}");
        for name in NOT_KEYS {
            assert!(
                said.contains(&format!("{name}=needed")),
                "{dialect}: {said}"
            );
        }
    });
}

#[test]
fn the_supervisor_above_a_command_has_none_of_them_either() {
    let look = "cat /proc/$PPID/environ | tr '\\0' '\\n'; echo looked";
    each_says(look, CONFIG, |said, dialect| {
        assert!(!said.contains("secret of"), "{dialect}: {said}");
        assert!(said.ends_with("looked"), "{dialect}: {said}");
    });
}

#[test]
fn what_the_user_passes_by_name_comes_through_and_nothing_a_project_names() {
    let passing = format!("pass_env = [\"OPENAI_API_KEY\", \"VOYAGE_API_KEY\"]\n{CONFIG}");
    let expected = ["OPENAI_API_KEY", "VOYAGE_API_KEY"];
    let expected = expected.map(|name| format!("{name}=secret of {name}"));
    let look = "env | grep 'secret of' | sort";
    each_says(look, &passing, |said, dialect| {
        assert_eq!(said.trim(), expected.join("\n"), "{dialect}");
    });
}

#[test]
fn a_command_of_the_user_has_none_of_the_keys() {
    let world = World::new("[[turn]]\ntext = \"x\"\n", CONFIG);
    let mut command = with_keys(world.command(&["--mode", "rpc", "--no-session"]));
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, r#"{{"id":"1","type":"bash","command":"env"}}"#).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let answer = lines.find_map(|line| line.ok().filter(|line| line.contains("HARMLESS=seen")));
    drop(stdin);
    child.wait().unwrap();
    let answer = answer.expect("the command did not run");
    assert!(!answer.contains("secret of"), "{answer}");
}

/// Writes what it sees of its environment and answers every request as either kind of program.
const SPY: &str = r#"
import json, os, sys
seen = [name for name in os.environ if "secret of" in os.environ[name]]
open(sys.argv[1], "w").write(",".join(sorted(seen)))
for line in sys.stdin:
    message = json.loads(line)
    if message.get("id") is not None:
        result = {"protocolVersion": "2025-06-18", "capabilities": {},
                  "serverInfo": {"name": "spy", "version": "1"}}
        if sys.argv[1] == "extension":
            result = {"protocolVersion": 1}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

#[test]
fn servers_and_extensions_have_none_of_the_keys_but_those_of_their_own_table() {
    if !has_python() {
        return;
    }
    for own in ["", "env = { OPENAI_API_KEY = \"secret of its own\" }\n"] {
        let config = format!(
            "{CONFIG}[mcp_servers.spy]\ncommand = \"python3\"\nargs = [\"../spy.py\", \"server\"]\n\
             {own}[extensions.spy]\ncommand = [\"python3\", \"../spy.py\", \"extension\"]\n{own}"
        );
        let world = World::new("[[turn]]\ntext = \"x\"\n", &config);
        world.file("spy.py", SPY);
        for kind in ["mcp", "extensions"] {
            // Whether what it answers is to the program's liking is not the question.
            let out = with_keys(world.command(&[kind, "test"])).output().unwrap();
            drop(out);
        }
        let expected = if own.is_empty() { "" } else { "OPENAI_API_KEY" };
        for name in ["server", "extension"] {
            let seen = std::fs::read_to_string(world.path("work").join(name)).unwrap();
            assert_eq!(seen, expected, "{name}");
        }
    }
}
