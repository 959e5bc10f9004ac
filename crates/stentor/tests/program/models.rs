//! Which models there are, which one is meant, and what is known of them.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;

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
