//! A scenario file is a program: no file of a folder can have one played.

use super::{EVIL, assert_untouched, world};
use crate::dialects::{self, ALL};

const FAILING: &str = r#"
[model]
id = "first"
[[turn]]
error = { kind = "auth", message = "No." }
"#;

#[test]
fn a_fallback_list_of_a_folder_cannot_have_a_script_step_in_trusted_or_not() {
    for trust in ["", "trusted_projects = [\"~/../work\"]\n"] {
        for dialect in ALL {
            let world = world(FAILING, trust);
            world.file("work/evil.toml", EVIL);
            world.file(
                "work/.stentor/config.toml",
                "[retry]\nfallback = [\"script/evil.toml\"]\n",
            );
            let said = dialects::prompt(&world, dialect);
            assert_untouched(&world, dialect);
            assert!(!said.contains("Pwned"), "{dialect}: {said}");
        }
    }
}

#[test]
fn a_script_in_the_users_own_fallback_list_still_steps_in() {
    let world = world(FAILING, "[retry]\nfallback = [\"script/evil.toml\"]\n");
    world.file("home/.config/stentor/evil.toml", EVIL);
    let said = dialects::prompt(&world, "-p");
    assert!(said.contains("Pwned."), "{said}");
}

#[test]
fn a_relative_script_in_the_users_own_file_is_never_one_of_the_folder() {
    for (own, named) in [
        ("model = \"script/mine.toml\"\n", "the model"),
        ("provider = \"script\"\nmodel = \"mine.toml\"\n", "both"),
        (
            "[retry]\nbase_delay_ms = 1\nfallback = [\"script/mine.toml\"]\n",
            "a fallback",
        ),
    ] {
        for dialect in ALL {
            let world = world(FAILING, "");
            let failing = world.path("work/plan.toml");
            let config = match named {
                "a fallback" => format!("model = \"script/{}\"\n{own}", failing.display()),
                _ => own.to_owned(),
            };
            world.file("home/.config/stentor/config.toml", &config);
            world.file("work/mine.toml", EVIL);
            let mine = "on_exhausted = \"repeat-last\"\n[[turn]]\ntext = \"Mine.\"\n";
            world.file("home/.config/stentor/mine.toml", mine);
            let said = dialects::prompt(&world, dialect);
            assert!(said.contains("Mine."), "{dialect}, {named}: {said}");
            assert_untouched(&world, dialect);
        }
    }
}

#[test]
fn a_folder_cannot_choose_a_script_or_a_server_on_this_machine_as_the_model() {
    for trust in ["", "trusted_projects = [\"~/../work\"]\n"] {
        for said in [
            "model = \"script/evil.toml\"\n",
            "provider = \"script\"\nmodel = \"evil.toml\"\n",
        ] {
            let world = world("[[turn]]\ntext = \"Mine.\"\n", trust);
            world.file("work/evil.toml", EVIL);
            world.file("work/.stentor/config.toml", said);
            for dialect in ALL {
                let answer = dialects::prompt(&world, dialect);
                assert_untouched(&world, dialect);
                assert!(answer.contains("Mine."), "{dialect}: {answer}");
            }
        }
    }
    let world = world("[[turn]]\ntext = \"Mine.\"\n", "");
    world.file("work/.stentor/config.toml", "model = \"ollama/any\"\n");
    let answer = dialects::prompt(&world, "-p");
    assert!(answer.contains("Mine."), "{answer}");
    assert!(
        answer.contains("`model` (.stentor/config.toml:1)"),
        "{answer}"
    );
}
