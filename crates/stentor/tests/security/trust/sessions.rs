//! Models recorded in session files: a file can be written by anybody.

use super::{EVIL, assert_untouched, world};

const SESSION: &str = r#"{"type":"session","version":3,"id":"0198c5aa-0000-7000-8000-000000000001","timestamp":"2026-01-01T00:00:00.000Z","cwd":"WORK"}
{"type":"model_change","id":"a1","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","provider":"script","modelId":"evil.toml"}
{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":1}}
"#;

#[test]
fn a_script_that_a_session_file_names_is_not_played() {
    let world = world("[[turn]]\ntext = \"Mine.\"\n", "");
    // Nobody names a model: a resumed session would go on with its own.
    world.file(
        "home/.config/stentor/config.toml",
        "use_local_servers = false\n",
    );
    world.file("work/evil.toml", EVIL);
    let work = world.path("work").display().to_string();
    world.file("work/s.jsonl", &SESSION.replace("WORK", &work));
    let out = world
        .command(&["-p", "help", "--resume", "s.jsonl"])
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert_untouched(&world, "-p");
    assert!(err.contains("script/evil.toml is not used"), "{err}");
    let out = String::from_utf8_lossy(&out.stdout);
    assert!(out.contains("offline guide"), "{out}");
}
