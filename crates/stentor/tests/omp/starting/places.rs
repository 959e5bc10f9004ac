//! The folders of pi and omp: sessions where their clients look, what the user keeps there.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::child::{Child, Folder};

const TALK: &str =
    "on_exhausted = \"repeat-last\"\n[model]\nid = \"mock\"\n[[turn]]\ntext = \"One.\"";

/// A child with these variables more.
fn child_with(folder: &Folder, words: &[&str], vars: &[(&str, &Path)]) -> Child {
    let mut all = vec!["--model", "script/../scenario.toml"];
    all.extend_from_slice(words);
    let mut command = folder.command(&all);
    command.envs(vars.iter().copied());
    let mut child = Child::of(command.spawn().unwrap());
    child.until_type("ready");
    child
}

fn file(child: &mut Child) -> PathBuf {
    let state = child.data(json!({"type": "get_state"}));
    state["sessionFile"].as_str().unwrap().into()
}

/// The folder that a session of the working folder is kept in.
fn kept_in(folder: &Folder, words: &[&str], vars: &[(&str, &Path)]) -> PathBuf {
    let mut child = child_with(folder, words, vars);
    child.prompt("hi");
    let file = file(&mut child);
    assert!(file.is_file(), "{}", file.display());
    file.parent().unwrap().to_owned()
}

/// The name that pi gives the folder of a working folder.
fn encoded(folder: &Folder) -> String {
    let here = folder.work("").to_string_lossy().into_owned();
    format!("--{}--", here.trim_matches('/').replace('/', "-"))
}

fn listed(folder: &Folder, words: &[&str]) -> Vec<String> {
    let output = folder.program(words).output().unwrap();
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    let paths = list.as_array().unwrap().iter();
    paths
        .map(|one| one["path"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn sessions_are_where_pis_clients_look_or_omps_if_one_of_its_flags_is_given() {
    let folder = Folder::with(TALK);
    let (pi, omp) = (
        folder.home(".pi/agent/sessions"),
        folder.home(".omp/agent/sessions"),
    );
    let name = encoded(&folder);
    assert_eq!(kept_in(&folder, &[], &[]), pi.join(&name));
    // The working folder is below the folder for temporary files.
    let temp = folder.work("..").canonicalize().unwrap();
    let vars = [("TMPDIR", temp.as_path())];
    assert_eq!(
        kept_in(&folder, &["--no-title"], &vars),
        omp.join("-tmp-work")
    );
    let vars = [("HOME", temp.as_path())];
    assert_eq!(
        kept_in(&folder, &["--no-rules"], &vars),
        temp.join(".omp/agent/sessions/-work")
    );
}

#[test]
fn variables_move_them_as_they_do_for_pi_and_omp() {
    let folder = Folder::with(TALK);
    let there = folder.home("there");
    let vars = [("PI_CODING_AGENT_DIR", there.as_path())];
    let name = encoded(&folder);
    assert_eq!(
        kept_in(&folder, &[], &vars),
        there.join("sessions").join(name)
    );
    let vars = [("PI_CODING_AGENT_SESSION_DIR", there.as_path())];
    assert_eq!(kept_in(&folder, &[], &vars), there);
    let vars = [
        ("PI_CONFIG_DIR", Path::new(".mine")),
        ("TMPDIR", Path::new("/nowhere")),
    ];
    let omp = folder.home(".mine/agent/sessions").join(encoded(&folder));
    assert_eq!(kept_in(&folder, &["--no-title"], &vars), omp);
}

#[test]
fn one_key_keeps_them_in_the_programs_own_folder() {
    let folder = Folder::with(TALK);
    folder.config("share_sessions = false\n");
    let own = folder
        .home(".local/share/stentor/sessions")
        .join(encoded(&folder));
    assert_eq!(kept_in(&folder, &[], &[]), own);
    assert_eq!(listed(&folder, &["sessions", "--json"]).len(), 1);
}

#[test]
fn a_folder_that_is_named_has_all_sessions_or_a_folder_for_each() {
    let folder = Folder::with(TALK);
    let named = folder.home("named");
    let words = ["--session-dir", named.to_str().unwrap()];
    assert_eq!(kept_in(&folder, &words, &[]), named);
    folder.config("session_folders = true\n");
    assert_eq!(kept_in(&folder, &words, &[]), named.join(encoded(&folder)));
    assert!(!folder.home(".pi").exists());
}

#[test]
fn they_are_listed_gone_on_with_and_found_by_their_id_beside_those_of_before() {
    let folder = Folder::with(TALK);
    folder.config("share_sessions = false\n");
    let mut before = folder.child(&[]);
    before.prompt("long ago");
    let old = file(&mut before);
    drop(before.close());
    folder.config("");
    // What was kept before is gone on with, where it is.
    let mut child = folder.child(&["--continue"]);
    assert_eq!(file(&mut child), old);
    drop(child.close());
    let mut child = folder.child(&[]);
    child.prompt("first");
    let new = file(&mut child);
    let id = child.data(json!({"type": "get_state"}))["sessionId"].clone();
    drop(child.close());
    let both = [new.display().to_string(), old.display().to_string()];
    assert_eq!(listed(&folder, &["sessions", "--json"]), both);
    assert_eq!(listed(&folder, &["sessions", "--all", "--json"]), both);
    for words in [&["--continue"][..], &["--resume", id.as_str().unwrap()]] {
        let mut child = folder.child(words);
        assert_eq!(file(&mut child), new, "{words:?}");
        assert_eq!(child.data(json!({"type": "get_state"}))["messageCount"], 2);
    }
    let page = folder.program(&["export", id.as_str().unwrap(), "-o", "-"]);
    let page = { page }.output().unwrap();
    assert!(String::from_utf8(page.stdout).unwrap().contains("first"));
}

#[test]
fn a_session_file_that_is_missing_or_empty_begins_a_session_there() {
    let folder = Folder::with(TALK);
    let (missing, empty) = (
        folder.home("deep/er/missing.jsonl"),
        folder.work("empty.jsonl"),
    );
    let (blank, tilde) = (folder.work("blank.jsonl"), folder.home("z.jsonl"));
    folder.file("empty.jsonl", "");
    folder.file("blank.jsonl", "\n  \n\n");
    for (word, path) in [
        (missing.to_str().unwrap(), &missing),
        ("empty.jsonl", &empty),
        ("blank.jsonl", &blank),
        ("~/z.jsonl", &tilde),
    ] {
        let mut child = folder.child(&["--session", word, "--name", "mine"]);
        assert_eq!(file(&mut child), *path);
        child.prompt("hi");
        drop(child.close());
        let kept = std::fs::read_to_string(path).unwrap();
        let header: Value = serde_json::from_str(kept.lines().next().unwrap()).unwrap();
        assert_eq!(
            (&header["type"], &header["cwd"]),
            (
                &json!("session"),
                &json!(folder.work("").to_str().unwrap().trim_end_matches('/'))
            )
        );
        // The second time there is one to go on with.
        let mut child = folder.child(&["--session", word]);
        let state = child.data(json!({"type": "get_state"}));
        assert_eq!(
            (&state["messageCount"], &state["sessionId"]),
            (&json!(2), &header["id"])
        );
    }
    // A file that holds something else stays as it is.
    folder.file("notes.jsonl", "not a session\n");
    let mut process = folder
        .command(&["--session", "notes.jsonl"])
        .spawn()
        .unwrap();
    assert_eq!(process.wait().unwrap().code(), Some(1));
    let notes = std::fs::read_to_string(folder.work("notes.jsonl")).unwrap();
    assert_eq!(notes, "not a session\n");
}

#[test]
fn a_session_file_that_could_never_be_written_is_refused_at_once() {
    let folder = Folder::with(TALK);
    folder.file("notes.txt", "a file, no folder\n");
    std::os::unix::fs::symlink("nowhere", folder.work("link.jsonl")).unwrap();
    std::os::unix::fs::symlink("nowhere", folder.work("link")).unwrap();
    let here = folder.work("").display().to_string();
    std::fs::create_dir(folder.work("locked")).unwrap();
    std::fs::set_permissions(folder.work("locked"), Permissions::from_mode(0o555)).unwrap();
    let mut refused = vec![
        (
            "link.jsonl",
            format!(
                "{here}link.jsonl is not a session file: it is a link to a file that is missing or \
                 empty; it was not changed"
            ),
        ),
        (
            "link/x.jsonl",
            format!("cannot create {here}link/x.jsonl: No such file or directory"),
        ),
        (
            "notes.txt/x.jsonl",
            format!("cannot create {here}notes.txt/x.jsonl: not a directory"),
        ),
    ];
    // Nothing is locked to root.
    if std::fs::write(folder.work("locked/probe"), "").is_err() {
        let why = format!("cannot create {here}locked/a/x.jsonl: Permission denied");
        refused.push(("locked/a/x.jsonl", why));
    }
    for (word, why) in refused {
        let mut command = folder.command(&["--session", word]);
        let output = command.stderr(Stdio::piped()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{word}: {stderr}");
        assert!(stderr.contains(&why), "{word}: {stderr}");

        let mut child = folder.child(&[]);
        let switch = json!({"id": "s", "type": "switch_session", "sessionPath": word});
        let answer = child.ask(switch);
        assert_eq!(answer["success"], false, "{word}: {answer}");
        let error = answer["error"].as_str().unwrap();
        assert!(error.contains(&why), "{word}: {error}");
        // The conversation goes on.
        child.prompt("hi");
    }
}

#[test]
fn a_session_to_switch_to_may_be_named_from_the_home() {
    let folder = Folder::with(TALK);
    let mut child = folder.child(&[]);
    child.data(json!({"type": "switch_session", "sessionPath": "~/z.jsonl"}));
    child.prompt("hi");
    assert_eq!(file(&mut child), folder.home("z.jsonl"));
    assert!(folder.home("z.jsonl").exists());
}

#[test]
fn an_empty_file_can_be_switched_to() {
    let folder = Folder::with(TALK);
    folder.file("empty.jsonl", "");
    let mut child = folder.child(&[]);
    child.data(json!({"type": "switch_session", "sessionPath": "empty.jsonl"}));
    child.prompt("hi");
    assert_eq!(file(&mut child), folder.work("empty.jsonl"));
}

#[test]
fn prompts_skills_and_instructions_are_those_of_the_agent_folder_that_is_named() {
    let folder = Folder::with(TALK);
    folder
        .file(
            "../home/there/prompts/greet.md",
            "---\ndescription: Greets\n---\nhello",
        )
        .file(
            "../home/there/skills/neat/SKILL.md",
            "---\nname: neat\ndescription: Tidies up\n---\nx",
        )
        .file("../home/there/AGENTS.md", "Say it in verse.")
        .file("../home/.pi/agent/prompts/other.md", "other")
        .file("../home/.pi/agent/AGENTS.md", "Say it in prose.");
    let there = folder.home("there");
    let mut child = child_with(&folder, &[], &[("PI_CODING_AGENT_DIR", there.as_path())]);
    let commands = child.data(json!({"type": "get_commands"}));
    let commands = commands["commands"].as_array().unwrap();
    let names: Vec<_> = commands.iter().map(|one| one["name"].clone()).collect();
    assert_eq!(names, ["greet", "skill:neat"]);
    let state = child.data(json!({"type": "get_state"}));
    let prompt = state["systemPrompt"].to_string();
    assert!(
        prompt.contains("in verse") && !prompt.contains("in prose"),
        "{prompt}"
    );
}

#[test]
fn a_large_picture_stays_in_a_file_that_pi_reads() {
    let folder = Folder::with(TALK);
    let picture = "AAAA".repeat(40_000);
    let prompt = json!({
        "type": "prompt", "message": "look",
        "images": [{"type": "image", "data": picture, "mimeType": "image/png"}],
    });
    let mut child = folder.child(&[]);
    child.send(prompt);
    child.until_type("agent_settled");
    let file = file(&mut child);
    assert!(std::fs::read_to_string(&file).unwrap().contains(&picture));
    assert!(!file.with_file_name("blobs").exists());
}
