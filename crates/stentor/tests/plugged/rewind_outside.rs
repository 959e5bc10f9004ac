//! What a rewind says of folders that an ACP client adds to a session.

use serde_json::{Value, json};

use crate::world::World;

#[test]
fn a_write_to_an_additional_folder_is_named_and_a_command_there_is_not_looked_for() {
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().canonicalize().unwrap();
    let (written, run) = (folder.join("written.txt"), folder.join("run.txt"));
    let plan = format!(
        r#"
on_exhausted = "repeat-last"
[[turn]]
steps = [
  {{ tool = "write", arguments = {{ path = {written:?}, content = "new" }} }},
  {{ tool = "bash", arguments = {{ command = "echo new > {}; echo new > inside.txt" }} }},
]
[[turn]]
text = "Done."
"#,
        run.display()
    );
    std::fs::write(&written, "old").unwrap();
    std::fs::write(&run, "old").unwrap();
    let world = World::new(&plan, "permission_mode = \"all\"\n");
    let mut child = world.child(&["acp"]);
    child.ask_acp(1, "initialize", json!({ "protocolVersion": 1 }));
    let new = json!({
        "cwd": world.path("work"), "mcpServers": [], "additionalDirectories": [folder],
    });
    let answer = child.ask_acp(2, "session/new", new);
    let answer: Value = serde_json::from_str(answer.last().unwrap()).unwrap();
    let session = answer["result"]["sessionId"].as_str().unwrap().to_owned();
    let mut ask = |id: u64, text: &str| {
        let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
        child.ask_acp(id, "session/prompt", prompt)
    };
    ask(3, "go");
    let lines = ask(4, "/rewind 1");
    let told: Value = serde_json::from_str(&lines[lines.len() - 2]).unwrap();
    assert_eq!(
        told["params"]["update"]["content"]["text"],
        format!(
            "Not everything is as before \"go\".\nRestored: inside.txt (removed)\nNot known: what \
             was in {} (it is outside the folder, or in .git)\n/rewind --undo goes back to how it \
             was.",
            written.display()
        )
    );
    let read = |path| std::fs::read_to_string(path).unwrap();
    assert_eq!((read(written), read(run).trim()), ("new".to_owned(), "new"));
    assert!(!world.path("work/inside.txt").exists());
    child.end();
}
