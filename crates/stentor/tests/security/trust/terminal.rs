//! The question whether a folder is trusted at a real terminal: `stentor -p` started by a person.

use serde_json::Value;
use stentor_test_support::isolated_command;

use super::world;
use crate::tools::has_python;
use crate::world::World;

/// Gives a program a terminal, answers its question and passes on what it showed and how it ended.
const TYPIST: &str = r#"
import os, pty, signal, sys
answer = sys.argv[1].encode()
pid, terminal = pty.fork()
if pid == 0:
    # Whoever runs the tests in the background may ignore interrupts; a terminal's user does not.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execv(sys.argv[2], sys.argv[2:])
def read():
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
seen = b""
while not seen.endswith(b"[y/N] "):
    more = read()
    if not more:
        sys.exit("it was not asked: " + seen.decode())
    seen += more
os.write(terminal, answer)
while more := read():
    seen += more
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(seen)
sys.stdout.flush()
sys.exit(1 if os.waitstatus_to_exitcode(status) else 0)
"#;

const PLAN: &str = r#"
[[turn]]
when = { system_contains = "The folder speaks." }
text = "With the folder."
[[turn]]
text = "Without the folder."
"#;

fn bringing() -> World {
    let world = world(PLAN, "");
    world.file(
        "work/.stentor/config.toml",
        "append_system_prompt = \"The folder speaks.\"\n",
    );
    world
}

fn is_trusted(world: &World) -> bool {
    let listed: Value = serde_json::from_str(&world.asked(&["trust", "--list", "--json"])).unwrap();
    !listed["folders"].as_array().unwrap().is_empty()
}

/// What `stentor -p` showed to somebody who types this, and whether it ended well.
fn typed(world: &World, answer: &str) -> (String, bool) {
    let out = isolated_command("python3", &world.path("home"), &world.path("work"))
        .args(["-c", TYPIST, answer, env!("CARGO_BIN_EXE_stentor")])
        .args(["-p", "go", "--no-session"])
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert_eq!(err, "", "{answer:?}");
    let shown = String::from_utf8(out.stdout).unwrap();
    (shown, out.status.success())
}

#[test]
fn a_yes_at_the_terminal_counts_at_once_and_is_asked_for_once() {
    if !has_python() {
        return;
    }
    for answer in ["y\n", "yes\n", "Y\n"] {
        let world = bringing();
        let (shown, ended_well) = typed(&world, answer);
        let root = world.path("work").display().to_string();
        let question = format!(
            "{root} is not trusted, so this is not used:\r\n  `append_system_prompt` \
             (.stentor/config.toml:1): only a trusted folder may set it\r\n\
             Trust this folder? [y/N] "
        );
        assert!(shown.starts_with(&question), "{shown}");
        assert!(shown.contains("With the folder."), "{answer:?}: {shown}");
        assert!(ended_well && is_trusted(&world), "{answer:?}");
        assert_eq!(world.asked(&["-p", "go"]), "With the folder.\n");
    }
}

#[test]
fn whatever_else_is_typed_is_a_no_and_the_prompt_is_answered_without_the_folder() {
    if !has_python() {
        return;
    }
    // The last but one is Ctrl-D, the end of the input.
    for answer in ["n\n", "\n", "yesterday\n", "\u{4}", "y\u{7f}\n"] {
        let world = bringing();
        let (shown, ended_well) = typed(&world, answer);
        assert!(shown.contains("Without the folder."), "{answer:?}: {shown}");
        assert!(ended_well && !is_trusted(&world), "{answer:?}");
    }
}

#[test]
fn an_interrupt_at_the_question_ends_the_program_without_trust() {
    if !has_python() {
        return;
    }
    let world = bringing();
    let (shown, ended_well) = typed(&world, "\u{3}");
    assert!(!shown.contains("the folder."), "{shown}");
    assert!(!ended_well && !is_trusted(&world));
}
