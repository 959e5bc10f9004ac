//! Which models there are, which one is meant, and what is known of them.

use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json as value};
use stentor_test_support::http::{Request, json, listen};

use crate::world::World;

/// A server that lists a model and says, as llama.cpp does, how much it holds.
fn server() -> std::net::SocketAddr {
    listen(|mut connection| {
        let Ok(Some(request)) = Request::of(&connection) else {
            return;
        };
        let answer = match request.target() {
            "/v1/models" => json("200 OK", r#"{"data":[{"id":"mine"},{"id":"other"}]}"#),
            "/props" => json(
                "200 OK",
                r#"{"default_generation_settings":{"n_ctx":4096}}"#,
            ),
            _ => json("404 Not Found", "{}"),
        };
        let _ = connection.write_all(answer.as_bytes());
    })
}

fn configured(address: impl std::fmt::Display) -> World {
    configured_with(address, "")
}

fn configured_with(address: impl std::fmt::Display, more: &str) -> World {
    let world = World::new();
    let config = format!("[providers.acme]\nbase_url = \"http://{address}/v1\"\n{more}");
    world.file("home/.config/stentor/config.toml", &config);
    world
}

#[test]
fn what_a_described_model_of_ones_own_server_holds_is_learnt_and_else_assumed_to_be_small() {
    let models = "[[providers.acme.models]]\nid = \"mine\"\n\
                  [[providers.acme.models]]\nid = \"own\"\ncontext_window = 9000\n";
    let world = configured_with(server(), models);
    let listed = world.run(&["models"]).ok();
    let of = |id: &str| {
        let line = listed.lines().find(|line| line.contains(id));
        line.unwrap_or_else(|| panic!("{id}: {listed}")).to_owned()
    };
    assert!(of("acme/mine").contains(" 4k context"), "{listed}");
    assert!(of("acme/own").contains(" 9k context"), "{listed}");
    let no_list = listen(|mut connection| {
        if let Ok(Some(_)) = Request::of(&connection) {
            let _ = connection.write_all(json("404 Not Found", "{}").as_bytes());
        }
    });
    let world = configured_with(no_list, models);
    let listed = world.run(&["models"]).ok();
    let line = listed.lines().find(|line| line.contains("acme/mine"));
    assert!(
        line.is_some_and(|line| line.contains(" 16k context")),
        "{listed}"
    );
}

#[test]
fn a_configured_provider_is_asked_for_its_models_and_what_they_hold() {
    let world = configured(server());
    let listed = world.run(&["models"]).ok();
    assert!(listed.contains("acme/mine"), "{listed}");
    assert!(listed.contains("4k context"), "{listed}");
    let ran = world.run(&["-p", &"long ".repeat(8000), "--model", "acme/mine"]);
    assert_eq!(ran.status, Some(1), "{}", ran.err);
    let too_long =
        "the prompt is about 10000 tokens long, and the context window of acme/mine holds 4096";
    assert!(ran.err.contains(too_long), "{}", ran.err);
}

#[test]
fn a_prompt_must_fit_together_with_the_instructions_the_tools_and_the_conversation() {
    let model = "[[providers.acme.models]]\nid = \"mine\"\ncontext_window = 4000\n";
    let world = configured_with("127.0.0.1:9", model);
    // Alone it would fit.
    let ran = world.run(&["-p", &"long ".repeat(3000)]);
    assert_eq!(ran.status, Some(1), "{}", ran.err);
    let too_long = "stentor: the prompt is about 3750 tokens long, and the context window of acme/mine \
                    holds 4000, of which the instructions and tools take about ";
    assert!(ran.err.contains(too_long), "{}", ran.err);
    assert!(!ran.err.contains("the conversation so far"), "{}", ran.err);
    // Where nothing is summarised, what was said before takes room, too.
    let turns = format!("[[turn]]\ntext = \"{}\"\n", "word ".repeat(2000));
    world.file("work/talk.toml", &turns);
    let talked = world.run(&["--model", "script/talk.toml", "-p", "talk"]);
    assert_eq!(talked.status, Some(0), "{}", talked.err);
    let config = format!(
        "auto_compaction = false\n[providers.acme]\nbase_url = \"http://127.0.0.1:9/v1\"\n{model}"
    );
    world.file("home/.config/stentor/config.toml", &config);
    let ran = world.run(&["-c", "--model", "acme/mine", "-p", "hi"]);
    assert_eq!(ran.status, Some(1), "{}", ran.err);
    let too_long = " and the conversation so far takes about 25";
    assert!(ran.err.contains(too_long), "{}", ran.err);
}

#[test]
fn whoever_is_asked_names_the_model_that_answers() {
    let world = configured(server());
    let answers = "acme/mine";
    let ran = world.run(&["-p", "hi"]);
    let model = "model: acme/mine (acme is in your configuration)\n";
    assert!(ran.err.starts_with(model), "{}", ran.err);
    let listed = world.run(&["models"]).ok();
    let last = "\nacme/mine: acme is in your configuration\n";
    assert!(listed.ends_with(last), "{listed}");
    let report = world.run(&["doctor"]).out;
    let would = "  ok    acme/mine would answer: acme is in your configuration\n";
    assert!(report.contains(would), "{report}");
    let overview = world.run(&[]).err;
    assert!(overview.contains(answers), "{overview}");
}

#[test]
fn who_names_a_provider_waits_for_no_other() {
    let hanging = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    hanging.set_nonblocking(true).unwrap();
    let address = hanging.local_addr().unwrap();
    let more = format!(
        "[[providers.acme.models]]\nid = \"mine\"\ncontext_window = 9000\n\
         [providers.hangs]\nbase_url = \"http://{address}/v1\"\n"
    );
    let world = configured_with(server(), &more);
    world.file("work/plan.toml", "[[turn]]\ntext = \"here\"\n");
    for (name, status) in [
        ("acme/mine", 1),
        ("offline/guide", 0),
        ("script/plan.toml", 0),
    ] {
        let ran = world.run(&["--model", name, "-p", "hi"]);
        assert_eq!(ran.status, Some(status), "{name}: {}", ran.err);
        let asked = hanging.accept().map_err(|error| error.kind());
        assert_eq!(asked.err(), Some(ErrorKind::WouldBlock), "{name}");
    }
    // Who names none waits for all of them. On a busy machine the wait may be over before anybody has
    // been asked.
    let is_asked = || {
        world.run(&["--model", "min", "-p", "hi"]);
        hanging.accept().is_ok()
    };
    assert!((0..20).any(|_| is_asked()));
}

#[test]
fn a_described_provider_that_is_down_is_nowhere_called_usable() {
    let model = "[[providers.acme.models]]\nid = \"mine\"\ncontext_window = 4000\n";
    let world = configured_with("127.0.0.1:9", model);
    let silent = "it does not answer: Connection refused";
    let listed = world.run(&["models"]).ok();
    let last = format!("\nacme/mine: acme is in your configuration, but: {silent}");
    assert!(listed.contains(&last), "{listed}");
    for words in [&["models", "acme"][..], &["models", "--all"]] {
        let listed = world.run(words).ok();
        let reason = format!("\n  acme, 1 model: {silent}");
        assert!(listed.contains(&reason), "{listed}");
    }
    let listed = world.run(&["models", "acme", "--json"]).ok();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let problem = listed["wouldUse"]["problem"].as_str();
    assert!(problem.unwrap().starts_with(silent), "{listed}");
    assert_eq!(listed["models"][0]["usable"], false, "{listed}");
    let report = world.run(&["doctor"]);
    assert_eq!(report.status, Some(1), "{}", report.out);
    let bad =
        format!("  BAD   acme/mine would answer (acme is in your configuration), but: {silent}");
    assert!(report.out.contains(&bad), "{}", report.out);
    let note = format!("  note  acme: 1 model, not usable yet\n        -> {silent}");
    assert!(report.out.contains(&note), "{}", report.out);
}

#[test]
fn a_provider_without_a_key_is_listed_with_what_to_do_and_asked_with_one_that_is_stored() {
    let server = listen(|mut connection| {
        let Ok(Some(request)) = Request::of(&connection) else {
            return;
        };
        let answer = match (request.target(), request.header("authorization")) {
            ("/v1/models", Some("Bearer secret-1")) => {
                json("200 OK", r#"{"data":[{"id":"mine"}]}"#)
            }
            _ => json("401 Unauthorized", "{}"),
        };
        let _ = connection.write_all(answer.as_bytes());
    });
    let world = configured_with(server, "api_key_env = \"ACME_KEY\"\n");
    let listed = world.run(&["models", "acme"]).ok();
    let reason = "set ACME_KEY, or store a key with `stentor login acme --key`";
    let unusable = format!("\nNot usable yet:\n  acme: {reason}\n");
    assert!(listed.starts_with(&unusable), "{listed}");
    let listed = world.run(&["models", "acme", "--json"]).ok();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(
        listed["withoutModels"],
        value!([{ "provider": "acme", "why": reason }])
    );
    let report = world.run(&["doctor"]).out;
    let note = format!("  note  acme: not usable yet\n        -> {reason}\n");
    assert!(report.contains(&note), "{report}");
    world
        .run_with_input(&["login", "acme", "--key"], "secret-1\n")
        .ok();
    let listed = world.run(&["models", "acme"]).ok();
    assert!(listed.starts_with("* acme/mine "), "{listed}");
    let last = "\nacme/mine: a key for acme is stored\n";
    assert!(listed.ends_with(last), "{listed}");
}

#[test]
fn providers_on_other_wires_are_asked_in_their_own_form() {
    let server = listen(|mut connection| {
        let Ok(Some(request)) = Request::of(&connection) else {
            return;
        };
        let header = |name| request.header(name);
        let answer = match request.target() {
            "/v1/models?limit=1000"
                if header("x-api-key") == Some("k") && header("anthropic-version").is_some() =>
            {
                json("200 OK", r#"{"data":[{"type":"model","id":"claudette"}]}"#)
            }
            "/v1beta/models?pageSize=1000" if header("x-goog-api-key") == Some("k") => json(
                "200 OK",
                r#"{"models":[{"name":"models/gemina","inputTokenLimit":9000}]}"#,
            ),
            _ => json("404 Not Found", "{}"),
        };
        let _ = connection.write_all(answer.as_bytes());
    });
    let world = World::new();
    let config = format!(
        "[providers.one]\nbase_url = \"http://{server}\"\napi = \"anthropic-messages\"\napi_key = \"k\"\n\
         [providers.two]\nbase_url = \"http://{server}/v1beta\"\napi = \"google-generative-ai\"\napi_key = \"k\"\n\
         [providers.three]\nbase_url = \"http://{server}\"\napi = \"openai-codex-responses\"\napi_key = \"k\"\n"
    );
    world.file("home/.config/stentor/config.toml", &config);
    let listed = world.run(&["models"]).ok();
    let line = |start: &str| listed.lines().find(|line| line.starts_with(start));
    assert!(line("* one/claudette ").is_some(), "{listed}");
    assert!(
        line("+ two/gemina ").is_some_and(|line| line.contains(" 9k context")),
        "{listed}"
    );
    let without = "  three: its API `openai-codex-responses` has no list of models: name them in \
                   [[providers.three.models]]";
    assert!(line(without).is_some(), "{listed}");
}

#[test]
fn a_provider_that_is_down_stands_under_not_usable_with_the_reason() {
    // Nobody listens on the discard port.
    let world = configured("127.0.0.1:9");
    let listed = world.run(&["models"]).ok();
    let (_, unusable) = listed.split_once("Not usable yet:").unwrap();
    assert!(
        unusable.contains("\n  acme: it does not answer: "),
        "{listed}"
    );
}

#[test]
fn a_key_is_stored_for_its_owner_and_forgotten_again() {
    let world = World::new();
    let stored = world
        .run_with_input(&["login", "mistral", "--key"], "secret-1\n")
        .ok();
    let file = "home/.config/stentor/credentials.json";
    assert_eq!(
        stored,
        format!("The key for mistral is stored in ~~/{file}.\n")
    );
    let mode = std::fs::metadata(world.path(file))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let listed = world.run(&["models"]).ok();
    assert!(listed.contains("a key for mistral is stored"), "{listed}");
    assert!(!listed.contains("secret-1"), "{listed}");
    world.run(&["logout", "mistral"]).ok();
    let listed = world.run(&["models"]).ok();
    assert!(!listed.contains("is stored"), "{listed}");
    // All of them at once.
    for provider in ["mistral", "openai"] {
        let words = ["login", provider, "--key"];
        world.run_with_input(&words, "secret-2\n").ok();
    }
    let forgotten = world.run(&["logout", "--all"]).ok();
    assert_eq!(forgotten, "Forgot the key of mistral, openai.\n");
    let listed = world.run(&["models"]).ok();
    assert!(!listed.contains("is stored"), "{listed}");
    let nothing = world.run(&["logout", "--all"]).ok();
    assert_eq!(nothing, "There is nothing stored to forget.\n");
    assert_eq!(world.run(&["logout"]).status, Some(2));
    assert_eq!(world.run(&["logout", "mistral", "--all"]).status, Some(2));
    let unknown = world.run_with_input(&["login", "mistrl", "--key"], "x\n");
    assert!(
        unknown
            .err
            .contains("there is no provider `mistrl`; did you mean `mistral`?"),
        "{}",
        unknown.err
    );
}

#[test]
fn a_part_of_a_name_means_the_newest_and_a_filter_without_a_match_says_so() {
    let world = World::new();
    let run = |words: &[&str]| {
        let mut command = world.command(words);
        command.env("ANTHROPIC_API_KEY", "k");
        world.finish(command.output().unwrap())
    };
    let listed = run(&["models", "--model", "sonnet"]).ok();
    assert!(
        listed.contains("\nanthropic/claude-sonnet-5-5: chosen by --model\n"),
        "{listed}"
    );
    for near in ["anthropic/sonnet", "sonnet:high"] {
        let listed = run(&["models", "--model", near]).ok();
        assert!(
            listed.contains("\nanthropic/claude-sonnet-5-5: chosen by --model\n"),
            "{listed}"
        );
    }
    let listed = run(&["models", "--provider", "anthropic", "--model", "sonnet"]).ok();
    assert!(
        listed.contains("\nanthropic/claude-sonnet-5-5: chosen by --model\n"),
        "{listed}"
    );
    let near_miss = run(&["-p", "hello", "--model", "anthropic/sonet"]);
    assert_eq!(near_miss.status, Some(1), "{}", near_miss.err);
    let nearest = "there is no model `anthropic/sonet` (the nearest: anthropic/claude-sonnet-5-5";
    assert!(near_miss.err.contains(nearest), "{}", near_miss.err);
    let listed = run(&["models", "nothing-like-it"]).ok();
    assert!(
        listed.starts_with("nothing matches `nothing-like-it`\n"),
        "{listed}"
    );
    let all = run(&["models", "--all"]).ok();
    assert!(all.contains("  openai/gpt"), "{all}");
    let subscription = all
        .lines()
        .find(|line| line.contains("github-copilot/"))
        .unwrap();
    assert!(
        subscription.ends_with("part of a subscription"),
        "{subscription}"
    );
}

#[test]
fn attempts_that_fail_use_up_no_turn() {
    let world = World::new();
    let scenario = "[[turn]]\nerror = \"overloaded\"\n[[turn]]\ntext = \"here\"\n";
    world.file("work/plan.toml", scenario);
    world.file(
        "home/.config/stentor/config.toml",
        "[retry]\nbase_delay_ms = 1\n",
    );
    let ran = world.run(&[
        "--model",
        "script/plan.toml",
        "--max-turns",
        "1",
        "-p",
        "go",
    ]);
    assert_eq!(
        (ran.status, ran.out.as_str()),
        (Some(0), "here\n"),
        "{}",
        ran.err
    );
}

#[test]
fn a_fallback_is_named_as_people_name_models() {
    let world = configured_with(server(), "[retry]\nfallback = [\"acme/min\"]\n");
    world.file("work/plan.toml", "[[turn]]\nerror = \"quota\"\n");
    let ran = world.run(&["--model", "script/plan.toml", "-p", "go"]);
    assert!(ran.err.contains(" acme/mine steps in for "), "{}", ran.err);
}
