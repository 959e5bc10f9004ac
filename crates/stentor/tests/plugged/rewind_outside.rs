//! What a rewind does in folders that an ACP client adds to a session.

use serde_json::{Value, json};

use crate::world::World;

#[test]
fn what_tools_and_commands_change_in_an_additional_folder_is_restored() {
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().canonicalize().unwrap();
    let (written, run) = (folder.join("written.txt"), folder.join("run.txt"));
    let plan = format!(
        r#"
on_exhausted = "repeat-last"
[[turn]]
steps = [
  {{ tool = "write", arguments = {{ path = {written:?}, content = "new" }} }},
  {{ tool = "bash", arguments = {{ command = "echo new > {}; echo new > inside.txt; touch {}/made.txt" }} }},
]
[[turn]]
text = "Done."
"#,
        run.display(),
        folder.display()
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
    let read = |path| std::fs::read_to_string(path).unwrap();
    assert_eq!(
        (read(&written), read(&run).trim()),
        ("new".to_owned(), "new")
    );
    assert!(folder.join("made.txt").exists());
    // Somebody else has changed one of them since.
    std::fs::write(&run, "theirs").unwrap();
    let lines = ask(4, "/rewind 1");
    let told: Value = serde_json::from_str(&lines[lines.len() - 2]).unwrap();
    let told = told["params"]["update"]["content"]["text"]
        .as_str()
        .unwrap();
    let told = told.replace(&folder.display().to_string(), "$");
    let (told, id) = told.split_once("\n/rewind ").unwrap();
    assert_eq!(
        told,
        "Not everything is as before \"go\".\nRestored: $/made.txt (removed), $/written.txt, \
         inside.txt (removed)\nLeft alone, because they changed since: $/run.txt"
    );
    let id = id.split_whitespace().next().unwrap().to_owned();
    assert_eq!(
        (read(&written), read(&run)),
        ("old".to_owned(), "theirs".to_owned())
    );
    assert!(!world.path("work/inside.txt").exists() && !folder.join("made.txt").exists());
    child.end();

    // The command of the program knows the folders from the checkpoint.
    let forced = world.asked(&["sessions", "rewind", &session, &id, "--files", "--force"]);
    assert_eq!(read(&run), "old", "{forced}");
}
