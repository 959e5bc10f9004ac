//! Children in the sandbox of their session.

use serde_json::json;
use stentor_client::ChildAgent;

use crate::acp_child::{Steps, answers, outer, world};
use crate::shown::{Answering, turn};
use crate::world::World;

/// What a child tries: to write outside by itself, by a command of the session and by its tool.
fn steps(out: &str) -> Steps {
    let command = format!("echo terminal > {out}/terminal");
    Steps::default()
        .shell(&format!("echo own > {out}/own; echo inside > inside"))
        .ask(
            "terminal/create",
            json!({ "sessionId": "s", "command": command }),
        )
        .ask(
            "terminal/wait_for_exit",
            json!({ "sessionId": "s", "terminalId": "term_1" }),
        )
        .ask(
            "fs/write_text_file",
            json!({
                "sessionId": "s", "path": format!("{out}/tool"), "content": "tool",
            }),
        )
}

/// The names of what was written outside; none where this kernel has no sandbox.
#[expect(clippy::print_stderr, reason = "says why nothing was tested")]
async fn written_outside(keys: &str) -> Option<(World, Vec<String>)> {
    // The outside is a folder of its own: the one for temporary files may be written.
    let config =
        |out: &str| format!("{keys}[sandbox]\nmode = \"workspace-write\"\n").replace("OUT", out);
    let world = world("", |work| steps(&work.replace("/work", "/out")));
    world.file("out/.keep", "");
    world.file("tmp/.keep", "");
    let file = world.path("home/.config/stentor/config.toml");
    let agent = std::fs::read_to_string(&file).unwrap();
    let out = world.path("out").display().to_string();
    std::fs::write(&file, format!("{agent}{}", config(&out))).unwrap();
    let mut options = outer(&world, &[]);
    let tmp = format!("TMPDIR={}", world.path("tmp").display());
    options.command.insert(2, tmp);
    let started = ChildAgent::start(options, Answering::default()).await;
    let (agent, mut events) = match started {
        Ok(started) => started,
        Err(error) if error.to_string().contains("the sandbox cannot be enforced") => {
            eprintln!("SKIPPED: {error}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    agent.prompt("Go on.").await.unwrap();
    let lines = turn(&mut events).await;
    assert_eq!(lines.last().unwrap(), "end Completed 0+0", "{lines:?}");
    let names = std::fs::read_dir(world.path("out")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != ".keep").collect();
    names.sort();
    assert!(world.path("work/inside").exists());
    Some((world, names))
}

#[tokio::test]
async fn a_child_runs_in_the_sandbox_and_what_it_has_done_too() {
    let Some((world, names)) = written_outside("").await else {
        return;
    };
    assert_eq!(names, [""; 0]);
    let answers = answers(&world);
    assert_eq!(answers[1]["result"]["exitCode"], 1, "{answers:?}");
    assert!(
        answers[2]["error"]["message"]
            .as_str()
            .unwrap()
            .contains("sandbox"),
        "{answers:?}"
    );
}

#[tokio::test]
async fn a_folder_can_be_opened_for_a_child_alone() {
    if let Some((_, names)) = written_outside("writable = [\"OUT\"]\n").await {
        assert_eq!(names, ["own"]);
    }
}

#[tokio::test]
async fn a_child_is_outside_only_where_its_entry_says_so_and_its_commands_never() {
    if let Some((_, names)) = written_outside("sandbox = false\n").await {
        assert_eq!(names, ["own"]);
    }
}

#[tokio::test]
#[expect(clippy::print_stderr, reason = "says why nothing was tested")]
async fn a_child_that_fails_without_network_is_explained() {
    let world = World::new("", "");
    let config = "[agents.child]\ncommand = [\"sh\", \"-c\", \"echo no route >&2; exit 3\"]\n\
                  dialect = \"acp\"\n[sandbox]\nmode = \"workspace-write\"\n";
    world.file("home/.config/stentor/config.toml", config);
    let out = world
        .command(&["-p", "Hi.", "--model", "agent/child"])
        .output()
        .unwrap();
    let err = String::from_utf8(out.stderr).unwrap();
    if err.contains("the sandbox cannot be enforced") {
        return eprintln!("SKIPPED: {err}");
    }
    let hint = "it runs in the sandbox without network; `network = true` under [agents.child] gives it one";
    assert!(err.contains("no route") && err.contains(hint), "{err}");
}
