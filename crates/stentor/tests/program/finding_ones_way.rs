//! `doctor`, `help`, manual pages and completions, and what happens where something is missing.

use std::os::unix::fs::PermissionsExt;

use expect_test::expect;
use serde_json::Value;

use crate::world::{Ran, World};

#[test]
fn doctor_says_what_works_what_does_not_and_what_to_do() {
    let world = World::new();
    world.file(
        "home/.config/stentor/config.toml",
        "use_local_servers = false\n[mcp_servers.broken]\ncommand = \"/nowhere/server\"\n",
    );
    world.file(
        "work/.mcp.json",
        "{\"mcpServers\":{\"x\":{\"command\":\"x\"}}}",
    );
    let Ran { status, out, err } = world.run(&["doctor"]);
    assert_eq!((status, err.as_str()), (Some(1), ""), "{out}");
    for line in [
        "  ok    stentor 0.1.0 on ",
        "  ok    working folder: ~~/work\n",
        "  ok    data: ~~/home/.local/share/stentor (made when needed)\n",
        "  note  offline/guide would answer: no key is configured",
        "  note  anthropic: 14 models, not usable yet\n        -> set ANTHROPIC_API_KEY, or run `stentor login anthropic`\n",
        "  BAD   broken: ",
        "        -> `stentor mcp test` shows more",
        "~~/work is not trusted, so these are not used: ",
        "        -> look at them, then run `stentor trust`\n",
    ] {
        assert!(out.contains(line), "{line}\n{out}");
    }
    let json: Value = serde_json::from_str(&world.run(&["doctor", "--json"]).out).unwrap();
    let checks = json["checks"].as_array().unwrap();
    let bad: Vec<&Value> = checks.iter().filter(|one| one["state"] == "bad").collect();
    assert_eq!(
        (bad.len(), &bad[0]["section"]),
        (1, &Value::from("MCP servers"))
    );
}

#[test]
fn doctor_looks_at_what_commands_need_and_who_can_read_the_keys() {
    let world = World::new();
    world.file("home/.config/stentor/credentials.json", "{}");
    let file = world.path("home/.config/stentor/credentials.json");
    let set_mode = |mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&file, mode).unwrap();
    };
    set_mode(0o644);
    let Ran { status, out, .. } = world.run(&["doctor"]);
    assert_eq!(status, Some(1), "{out}");
    for line in [
        "\nTools\n  ok    /",
        "bash: GNU bash, version ",
        "\n  ok    git version ",
        "  ok    ~~/home/.config/stentor: mode 0700, only yours\n",
        "  BAD   ~~/home/.config/stentor/credentials.json: mode 0644, others can read the keys in it\n        \
         -> run `chmod 600 ~~/home/.config/stentor/credentials.json`\n",
    ] {
        assert!(out.contains(line), "{line}\n{out}");
    }
    set_mode(0o600);
    let Ran { status, out, .. } = world.run(&["doctor"]);
    assert_eq!(status, Some(0), "{out}");
    let good = "  ok    ~~/home/.config/stentor/credentials.json: mode 0600, only yours\n";
    assert!(out.contains(good), "{out}");
}

#[test]
fn doctor_reports_a_configuration_that_cannot_be_read() {
    let world = World::new();
    world.file("home/.config/stentor/config.toml", "modle = \"x\"\n");
    let Ran { status, out, .. } = world.run(&["doctor"]);
    assert_eq!(status, Some(1));
    assert!(
        out.contains("  BAD   ~~/home/.config/stentor/config.toml:1:1: unknown key `modle`"),
        "{out}"
    );
}

#[test]
fn help_names_a_command_and_shows_only_its_own_flags() {
    let world = World::new();
    let help = world.run(&["help", "sessions", "delete"]).ok();
    expect![[r#"
        Delete sessions for good, after asking

        Usage: stentor sessions delete [OPTIONS] <ID>...

        Arguments:
          <ID>...
                  The sessions: files, ids, or the beginnings of ids or short ids

        Options:
          -y, --yes
                  Delete without asking

          -h, --help
                  Print help

        The flags of `stentor` itself work here, too: `stentor --help` lists them.
    "#]]
    .assert_eq(&help);
    assert_eq!(world.run(&["sessions", "delete", "--help"]).ok(), help);
    assert!(world.run(&["help"]).ok().contains("Examples:"));
    let Ran { status, err, .. } = world.run(&["help", "sesions"]);
    assert_eq!(
        (status, err.as_str()),
        (
            Some(2),
            "stentor: there is no command `sesions`; did you mean `sessions`? `stentor help` lists them\n"
        )
    );
    for words in [
        &["--rpc-edn", "--help"][..],
        &["rpc", "--dialect", "psi", "--help"],
    ] {
        let help = world.run(words).ok();
        assert!(help.starts_with("Serve psi's Emacs frontend"), "{help}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let world = World::new();
    let written = world.run(&["man", "pages"]).ok();
    for name in [
        "stentor.1",
        "stentor-sessions.1",
        "stentor-sessions-search.1",
        "stentor-mcp-add.1",
    ] {
        assert!(written.lines().any(|line| line == name), "{written}");
        let page = std::fs::read_to_string(world.work("pages").join(name)).unwrap();
        assert!(page.contains(".SH NAME"), "{page}");
    }
}

#[test]
fn shells_complete_session_ids_and_models() {
    let world = World::new();
    assert_eq!(world.run(&["-p", "list"]).status, Some(0));
    let sessions: Value = serde_json::from_str(&world.run(&["sessions", "--json"]).ok()).unwrap();
    let id = sessions[0]["shortId"].as_str().unwrap();
    assert_eq!(
        world.run(&["__complete", "sessions"]).ok(),
        format!("{id}\tlist\n")
    );
    let models = world.run(&["__complete", "models"]).ok();
    assert!(
        models.contains("offline/guide\tOffline guide\n"),
        "{models}"
    );
    let providers = world.run(&["__complete", "providers"]).ok();
    assert!(providers.contains("anthropic\t"), "{providers}");
    let commands = world.run(&["__complete", "commands", "sessions"]).ok();
    let names = commands
        .lines()
        .map(|line| line.split('\t').next().unwrap());
    let names: Vec<&str> = names.collect();
    assert_eq!(names, ["search", "rename", "rewind", "delete"]);
    for shell in ["bash", "zsh", "fish"] {
        let script = world.run(&["completions", shell]).ok();
        assert!(script.contains("stentor __complete"), "{shell}");
    }
    // What the generator of zsh's script writes is still what is replaced in it.
    let zsh = world.run(&["completions", "zsh"]).ok();
    for (values, places) in [
        (
            "_stentor_sessions'",
            ["ID|FILE:", "short id:", "short ids:"],
        ),
        (
            "_stentor_providers'",
            ["NAME:", "PROVIDER:", "The provider:"],
        ),
    ] {
        for place in places {
            assert!(zsh.contains(&format!("{place}{values}")), "{place}{values}");
        }
    }
    assert!(zsh.contains("`mcp add`:_stentor_commands'"));
    if std::process::Command::new("bash")
        .arg("-c")
        .arg("true")
        .status()
        .is_ok()
    {
        world.file(
            "work/completion.bash",
            &world.run(&["completions", "bash"]).ok(),
        );
        let program = std::path::Path::new(env!("CARGO_BIN_EXE_stentor"));
        let complete = |line: &str, last: &str| {
            let script = format!(
                "source completion.bash; PATH=$BIN:$PATH; COMP_WORDS=(stentor {line} '{last}'); \
                 COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
                 _stentor_with_values stentor '{last}' \"${{COMP_WORDS[COMP_CWORD-1]}}\"; \
                 echo \"${{COMPREPLY[@]}}\""
            );
            let output = std::process::Command::new("bash")
                .args(["-c", &script])
                .env("BIN", program.parent().unwrap())
                .env("HOME", world.path("home"))
                .current_dir(world.path("work"))
                .output()
                .unwrap();
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        };
        for (line, last, expected) in [
            ("--model", "offl", "offline/guide"),
            // The shell makes three words of --model=offl, and two of --model=.
            ("--model =", "offl", "offline/guide"),
            ("--provider", "anthr", "anthropic"),
            ("login", "anthr", "anthropic"),
            ("logout", "anthr", "anthropic"),
            ("export", "", id),
            ("sessions rename", "", id),
            ("sessions rewind", "", id),
            ("sessions delete", "", id),
            ("sessions delete -y some", "", id),
            ("help", "sess", "sessions"),
            ("help sessions", "rew", "rewind"),
            ("sessions delete", "--y", "--yes"),
        ] {
            assert_eq!(complete(line, last), expected, "{line} {last}");
        }
        let models = complete("--model", "=");
        assert!(models.contains("offline/guide"), "{models}");
    }
}

#[test]
fn an_extension_that_is_not_there_is_an_error() {
    let world = World::new();
    let Ran { status, out, err } = world.run(&["-e", "nowhere.py", "-p", "list"]);
    assert_eq!((status, out.as_str()), (Some(1), ""), "{err}");
    assert_eq!(
        err,
        "stentor: --extension: there is no file ~~/work/nowhere.py\n"
    );
}

#[test]
fn a_home_that_cannot_be_written_is_one_warning_and_no_end() {
    let world = World::new();
    let mut command = world.command(&["-p", "list"]);
    command.env("HOME", "/dev/null");
    let Ran { status, out, err } = world.finish(command.output().unwrap());
    assert_eq!(status, Some(0), "{err}");
    assert!(out.contains("This folder"), "{out}");
    assert_eq!(err.matches("WARN").count(), 1, "{err}");
    assert!(err.contains("sessions are not stored"), "{err}");
    assert!(!err.contains("credentials.json"), "{err}");
}

#[test]
fn a_name_that_is_completed_runs_nothing() {
    let world = World::new();
    world.file(
        "home/.config/stentor/config.toml",
        "[providers.acme]\nbase_url = \"http://127.0.0.1:9/v1\"\n\
         [[providers.acme.models]]\nid = \"$(touch${IFS}pwned)\"\n",
    );
    world.file(
        "work/completion.bash",
        &world.run(&["completions", "bash"]).ok(),
    );
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_stentor"));
    let script = "source completion.bash; PATH=$BIN:$PATH; COMP_WORDS=(stentor --model acme); \
                  COMP_CWORD=2; _stentor_with_values stentor acme --model; \
                  echo \"${COMPREPLY[@]}\"";
    let output = std::process::Command::new("bash")
        .args(["-c", script])
        .env("BIN", program.parent().unwrap())
        .env("HOME", world.path("home"))
        .current_dir(world.work(""))
        .output()
        .unwrap();
    let completed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(completed.starts_with("acme/"), "{completed}");
    assert!(!world.work("pwned").exists(), "{completed}");
}
