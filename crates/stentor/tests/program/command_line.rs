//! The program from the outside: its words, its help, its configuration.

use crate::world::{Ran, World};
use expect_test::expect;

#[test]
fn one_word_that_is_no_command_is_answered_with_what_to_type() {
    for (word, typed) in [
        ("list", "\"list\""),
        ("sesions", "\"sesions\""),
        ("a$b", "'a$b'"),
    ] {
        let Ran { status, out, err } = World::new().run(&[word]);
        assert_eq!((status, out.as_str()), (Some(2), ""));
        let tip = format!("to ask it: stentor -p {typed}\n");
        assert!(err.contains(&tip), "{err}");
    }
}

#[test]
fn help_goes_to_stdout_and_has_examples() {
    let help = World::new().run(&["--help"]).ok();
    for word in ["Examples:", "Session:", "--permission-mode", "stentor -p"] {
        assert!(help.contains(word), "{word} in {help}");
    }
}

#[test]
fn a_wrong_flag_is_told_on_stderr_with_status_two() {
    let Ran { status, out, err } = World::new().run(&["--frobnicate"]);
    assert_eq!((status, out.as_str()), (Some(2), ""));
    assert!(err.contains("unexpected argument '--frobnicate'"), "{err}");
}

#[test]
fn every_shell_gets_completions_and_man_gets_a_page() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.run(&["completions", shell]).ok();
        assert!(script.contains("permission-mode"), "{shell}");
    }
    let page = world.run(&["man"]).ok();
    assert!(page.contains(".TH stentor 1"), "{page}");
    assert!(page.contains(".SH \"STENTOR EXPORT\""), "{page}");
}

#[test]
fn config_shows_the_values_and_their_sources() {
    let world = World::new();
    world
        .file(
            "home/.config/stentor/config.toml",
            "model = \"offline/guide\"\n",
        )
        .file("work/.stentor/config.toml", "auto_retry = false\n");
    let mut command = world.command(&["config", "--thinking", "low"]);
    command.env("STENTOR_RETRY_MAX_ATTEMPTS", "7");
    let shown = world.finish(command.output().unwrap()).ok();
    let lines: Vec<&str> = shown
        .lines()
        .filter(|line| !line.ends_with("  default") && !line.ends_with("  not set"))
        .collect();
    expect![[r#"
        user file     ~~/home/.config/stentor/config.toml
        project file  ~~/work/.stentor/config.toml (not trusted: it may only choose models and tighten settings)

        model                          "offline/guide"                   ~~/home/.config/stentor/config.toml:1
        thinking                       "low"                             --thinking
        auto_retry                     false                             ~~/work/.stentor/config.toml:1
        retry.max_attempts             7                                 STENTOR_RETRY_MAX_ATTEMPTS"#]].assert_eq(&lines.join("\n"));
    let json: serde_json::Value =
        serde_json::from_str(&world.run(&["config", "--json"]).ok()).unwrap();
    assert_eq!(json["settings"]["model"]["value"], "offline/guide");
}

#[test]
fn mistakes_in_the_configuration_stop_the_program_with_their_places() {
    let world = World::new();
    world.file(
        "home/.config/stentor/config.toml",
        "modle = \"x\"\nthinking = \"hgih\"\n",
    );
    let told = expect![[r#"
        stentor: ~~/home/.config/stentor/config.toml:1:1: unknown key `modle`; did you mean `model`?
        stentor: ~~/home/.config/stentor/config.toml:2:12: `thinking` is "hgih", expected off, minimal, low, medium, high or xhigh; did you mean `high`?
    "#]];
    for words in [&["config"][..], &["-p", "hi"], &["models"]] {
        let Ran { status, out, err } = world.run(words);
        assert_eq!((status, out.as_str()), (Some(2), ""), "{words:?}");
        told.assert_eq(&err);
    }
}

#[test]
fn alone_it_says_what_it_is_and_which_model_it_would_use() {
    let world = World::new();
    // Without a terminal somebody expected something else, so it is no success.
    let Ran { status, out, err } = world.run(&[]);
    assert_eq!((status, out.as_str()), (Some(2), ""));
    expect![[r#"
        stentor 0.1.0: a headless coding agent

          model          offline/guide
                         no key is configured: this one follows rules and needs no network
          folder         ~~/work
          configuration  none (~~/home/.config/stentor/config.toml does not exist)

          Talk           stentor              a conversation, on a terminal
          Ask            stentor -p "summarise this folder"
          Continue       stentor -c -p "run the tests"
          Connect        stentor acp          an editor that speaks ACP
                         stentor --mode rpc   a client of omp or pi
                         stentor --rpc-edn    psi's Emacs frontend
                         stentor rpc          the synaps bridge
          Look           stentor models, stentor sessions, stentor config
          Help           stentor --help
    "#]]
    .assert_eq(&err);
}

#[test]
fn a_model_that_is_not_there_is_told_with_the_nearest_one() {
    let world = World::new();
    for (words, message) in [
        (
            &["-p", "hi", "--model", "offline/gide"][..],
            "stentor: --model: there is no model `offline/gide` (the nearest: offline/guide); `stentor models` lists them all\n",
        ),
        (
            &["-p", "hi", "--model", "something-else"],
            "stentor: --model: there is no model `something-else`; `stentor models` lists them all\n",
        ),
        (
            &["-p", "hi", "--provider", "nobody"],
            "stentor: no model of provider `nobody` can be used (--provider): is a key set for it? `stentor models` lists the models\n",
        ),
        (
            &["-p", "hi", "--tools", "read,gerp"],
            "stentor: --tools: unknown tool `gerp`; did you mean `grep`? there are read, bash, edit, write, grep, find, ls, todo, job, fetch, subagent, memory, ask\n",
        ),
        (
            &["-p", "hi", "--cwd", "nowhere"],
            "stentor: cannot work in nowhere: No such file or directory (os error 2)\n",
        ),
    ] {
        let Ran { status, out, err } = world.run(words);
        assert_ne!(status, Some(0), "{words:?}");
        assert_eq!((out.as_str(), err.as_str()), ("", message), "{words:?}");
    }
}

#[test]
fn models_marks_the_one_that_would_be_used() {
    let world = World::new();
    expect![[r#"
        * offline/guide   200k context  free

        Not usable yet:
          anthropic, 14 models: set ANTHROPIC_API_KEY, or run `stentor login anthropic`
          openai, 26 models: set OPENAI_API_KEY, or run `stentor login openai`
          openai-codex, 8 models: run `stentor login openai-codex`
          google, 12 models: set GEMINI_API_KEY
          github-copilot, 6 models: run `stentor login github-copilot`
          xai, 4 models: set XAI_API_KEY
          deepseek, 2 models: set DEEPSEEK_API_KEY
          mistral, 10 models: set MISTRAL_API_KEY
          openrouter, 23 models: set OPENROUTER_API_KEY
          groq, 6 models: set GROQ_API_KEY
          together, 11 models: set TOGETHER_API_KEY
        A key can also be stored: `stentor login PROVIDER --key`.

        offline/guide: no key is configured: this one follows rules and needs no network
    "#]]
    .assert_eq(&world.run(&["models"]).ok());
    let json: serde_json::Value =
        serde_json::from_str(&world.run(&["models", "--json"]).ok()).unwrap();
    assert_eq!(json["wouldUse"]["model"]["provider"], "offline");
}

#[test]
fn a_wrong_key_of_a_provider_is_told_with_its_line_and_the_nearest_one() {
    let world = World::new();
    world.file(
        "home/.config/stentor/config.toml",
        "[providers.mine]\nbase_url = \"http://127.0.0.1:1\"\napi_key_comand = \"x\"\n",
    );
    let Ran { status, err, .. } = world.run(&["models"]);
    assert_eq!(status, Some(2));
    expect![[r#"
        stentor: ~~/home/.config/stentor/config.toml:3:1: unknown key `providers.mine.api_key_comand`; did you mean `api_key_command`?
    "#]]
    .assert_eq(&err);
}
