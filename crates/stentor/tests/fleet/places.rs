//! Places that are checked out, and those whose folders are missing.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Signal, kill_process};
use serde_json::json;
use stentor_test_support::{TemporaryFolder, when_written};

use crate::nodes::{Fleet, answer, load, new_session, prompt};

const ANSWERS: &str = "on_exhausted = \"repeat-last\"\n[[turn]]\ntext = \"Answered.\"\n";

/// A repository with a file in `sub`, which says `first` at the tag `v1` and `second` at the end.
struct Repository {
    folder: TemporaryFolder,
}

impl Repository {
    fn new() -> Self {
        let repository = Self {
            folder: TemporaryFolder::with(&["origin", "origin/sub", "disk"]),
        };
        repository.git(&["init", "--quiet"]);
        for (text, tag) in [("first", "v1"), ("second", "v2")] {
            repository.folder.file("origin/sub/file.txt", text);
            repository.git(&["add", "."]);
            repository.git(&["commit", "--quiet", "--message", text]);
            repository.git(&["tag", tag]);
        }
        repository
    }

    fn git(&self, words: &[&str]) {
        let git = Command::new("git")
            .args(["-c", "user.name=Test", "-c", "user.email=test@localhost"])
            .args(["-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false"])
            .args(words)
            .current_dir(self.folder.path("origin"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(git.status.success(), "{git:?}");
    }

    /// Where a node has its checkout. It is not there yet.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path("disk").join(name)
    }

    /// The place `site` at the first commit.
    fn place(&self, path: &Path) -> String {
        let origin = self.folder.path("origin");
        format!("site = {{ repository = {origin:?}, commit = \"v1\", path = {path:?} }}\n")
    }
}

#[test]
fn a_place_is_checked_out_for_the_first_new_sessions_in_it() {
    let Some(fleet) = Fleet::new() else { return };
    let repository = Repository::new();
    // What is not there yet is in its place, whatever leads to it.
    let link = repository.folder.path("link");
    std::os::unix::fs::symlink(repository.folder.path("disk"), &link).unwrap();
    let path = link.join("one");
    let one = fleet.node_with("one", ANSWERS, &repository.place(&path));
    let mut clients = [one.acp(), one.acp(), one.acp()];
    for client in &mut clients {
        let new = json!({ "cwd": path.join("sub"), "mcpServers": [] });
        client.request_acp(2, "session/new", new);
    }
    for client in &mut clients {
        let opened = answer(&client.until_answer(2));
        let session = opened["result"]["sessionId"].as_str().expect("a session");
        let record = one.when_owned_by(session, "one");
        assert_eq!(record["place"], "site");
        assert_eq!(record["folder"], "sub");
        prompt(client, 3, session, "hello");
        let answered = answer(&client.until_answer(3));
        assert_eq!(answered["result"]["stopReason"], "end_turn", "{answered}");
    }
    let file = path.join("sub/file.txt");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "first");
    let there = std::fs::read_dir(repository.folder.path("disk")).unwrap();
    assert_eq!(there.count(), 1);

    let missing = json!({ "cwd": path.join("missing"), "mcpServers": [] });
    let refused = answer(&clients[0].ask_acp(4, "session/new", missing));
    assert_eq!(
        refused["error"]["message"],
        "cwd must be a folder that exists on this machine"
    );
}

#[test]
fn a_node_that_takes_a_session_over_checks_its_place_out_without_what_was_not_committed() {
    let Some(fleet) = Fleet::new() else { return };
    let repository = Repository::new();
    let (here, there) = (repository.path("one"), repository.path("two"));
    let one = fleet.node_with("one", ANSWERS, &repository.place(&here));
    let two = fleet.node_with("two", ANSWERS, &repository.place(&there));
    let mut client = one.acp();
    let session = new_session(&mut client, &here);
    prompt(&mut client, 3, &session, "hello");
    client.until_answer(3);
    std::fs::write(here.join("sub/file.txt"), "edited").unwrap();
    client.end();
    one.stop();

    two.when(&session, |session| session["owner"].is_null());
    let mut client = two.acp();
    let lines = load(&mut client, &session, &there);
    assert!(answer(&lines).get("result").is_some(), "{lines:#?}");
    prompt(&mut client, 4, &session, "go on");
    let answered = answer(&client.until_answer(4));
    assert_eq!(answered["result"]["stopReason"], "end_turn", "{answered}");
    let file = there.join("sub/file.txt");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "first");
}

#[test]
fn a_page_begins_in_a_place_that_is_not_checked_out_yet() {
    let Some(fleet) = Fleet::new() else { return };
    let repository = Repository::new();
    let path = repository.path("one");
    let one = fleet.node_with("one", ANSWERS, &repository.place(&path));
    let mut page = one.page();
    page.send(&json!({ "do": "new", "cwd": path }));
    let shown = page.until(|frame| frame["op"] == "notice" || frame["session"].is_string());
    assert_eq!(shown["op"], "state", "{shown}");
    assert!(path.join("sub/file.txt").exists());
}

#[test]
fn a_client_whose_own_folder_is_such_a_place_has_it_unless_it_only_watches() {
    let Some(fleet) = Fleet::new() else { return };
    let repository = Repository::new();
    let path = repository.path("one");
    let one = fleet.node_with("one", ANSWERS, &repository.place(&path));
    let (_, welcome) = one.page_in(&path, true);
    assert!(welcome["refused"].is_object(), "{welcome}");
    assert!(!path.exists());
    let (_, welcome) = one.page_in(&path, false);
    assert!(welcome["served"].is_object(), "{welcome}");
    assert!(path.join("sub/file.txt").exists());
}

#[test]
fn a_place_that_cannot_be_checked_out_is_refused_with_the_reason_and_leaves_nothing() {
    let Some(fleet) = Fleet::new() else { return };
    let repository = Repository::new();
    let path = repository.path("one");
    let place = repository.place(&path).replace("\"v1\"", "\"v9\"");
    let one = fleet.node_with("one", ANSWERS, &place);
    let mut client = one.acp();
    let new = json!({ "cwd": path, "mcpServers": [] });
    let refused = answer(&client.ask_acp(2, "session/new", new));
    let why = refused["error"]["message"].as_str().unwrap();
    assert!(why.contains("cannot check out"), "{refused}");
    assert!(why.contains("v9"), "{refused}");
    let left = std::fs::read_dir(repository.folder.path("disk")).unwrap();
    assert_eq!(left.count(), 0);
}

#[test]
fn a_label_that_is_another_repository_on_another_node_is_refused() {
    let Some(fleet) = Fleet::new() else { return };
    let repository = Repository::new();
    let one = fleet.node_with("one", ANSWERS, &repository.place(&repository.path("one")));
    let two = repository.place(&repository.path("two"));
    let other = two.replace("/origin\"", "/another\"");
    let world = fleet.world("two", ANSWERS, "all", &other);
    let socket = world.path("s").display().to_string();
    let mut command = world.command(&["serve", "--socket", &socket, "--fleet"]);
    let out = command.output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    let why = "the place `site` is another repository on the node `one`";
    assert!(said.contains(why), "{said}");
    // Another commit may be on its way to all nodes.
    fleet.node_with("two", ANSWERS, &two.replace("\"v1\"", "\"v2\""));
    one.when_status(|nodes| nodes["two"].is_object());
}

#[test]
fn a_place_whose_folder_is_missing_is_none_of_a_node_until_the_folder_is_there() {
    let Some(fleet) = Fleet::new() else { return };
    let disk = TemporaryFolder::with(&[]);
    let folder = disk.path("mount");
    let work = fleet.work();
    let one = fleet.node("one", ANSWERS);
    let two = fleet.node_with("two", ANSWERS, &format!("work = {folder:?}\n"));
    one.when_status(|nodes| nodes["two"]["places"] == json!(["host-two"]));
    let mut client = one.acp();
    let session = new_session(&mut client, &work);
    prompt(&mut client, 3, &session, "hello");
    client.until_answer(3);
    kill_process(one.process.pid(), Signal::KILL).unwrap();

    two.when_status(|nodes| nodes["one"].is_null());
    let mut client = two.acp();
    let said = load(&mut client, &session, &two.world.path("work")).concat();
    assert!(said.contains("Answered."), "{said}");
    prompt(&mut client, 4, &session, "go on");
    let refused = answer(&client.until_answer(4));
    let why = refused["error"]["message"].to_string();
    assert!(
        why.contains("of the place `work` is not on this node"),
        "{refused}"
    );
    std::fs::create_dir(&folder).unwrap();
    two.when_status(|nodes| nodes["two"]["places"] == json!(["work", "host-two"]));
}

#[test]
fn a_session_goes_on_where_its_folder_is_and_runs_nothing_elsewhere() {
    const RUNS: &str = "on_exhausted = \"repeat-last\"\n\
        [[turn]]\nwhen = { last_user_contains = \"begin\" }\ntool = \"bash\"\n\
        arguments = { command = \"echo begun >> begun.txt; sleep 600\" }\n\
        [[turn]]\nwhen = { last_user_contains = \"again\" }\ntool = \"bash\"\n\
        arguments = { command = \"pwd >> pwd.txt\" }\n[[turn]]\ntext = \"Answered.\"\n";
    let Some(fleet) = Fleet::new() else { return };
    let elsewhere = TemporaryFolder::with(&["mount"]);
    let folder = fleet.work().join("proj");
    std::fs::create_dir(&folder).unwrap();
    let one = fleet.node("one", RUNS);
    // It has the place and not the folder in it, and is the first for some of the sessions.
    let mount = format!("work = {:?}\n", elsewhere.path("mount"));
    let without = fleet.node_with("without", RUNS, &mount);
    let with = fleet.node("with", RUNS);
    let mut clients = [one.acp(), one.acp(), one.acp(), one.acp(), one.acp()];
    let sessions: Vec<String> = clients
        .iter_mut()
        .map(|client| {
            let session = new_session(client, &folder);
            prompt(client, 3, &session, "begin");
            when_written(&folder.join("begun.txt"));
            std::fs::remove_file(folder.join("begun.txt")).unwrap();
            session
        })
        .collect();
    kill_process(one.process.pid(), Signal::KILL).unwrap();

    for session in &sessions {
        with.when_owned_by(session, "with");
        let mut client = without.acp();
        load(&mut client, session, &without.world.path("work"));
        prompt(&mut client, 4, session, "again");
        let answered = answer(&client.until_answer(4));
        assert_eq!(answered["result"]["stopReason"], "end_turn", "{answered}");
    }
    let ran = std::fs::read_to_string(folder.join("pwd.txt")).unwrap();
    assert_eq!(ran.lines().count(), sessions.len(), "{ran}");
    assert!(ran.lines().all(|line| Path::new(line) == folder), "{ran}");
}

#[test]
fn a_session_runs_in_its_own_folder_wherever_its_client_is() {
    const RUNS: &str = "on_exhausted = \"repeat-last\"\n\
        [[turn]]\nwhen = { last_user_contains = \"where\" }\ntool = \"bash\"\n\
        arguments = { command = \"pwd >> pwd.txt\" }\n[[turn]]\ntext = \"Answered.\"\n";
    let Some(fleet) = Fleet::new() else { return };
    let work = fleet.work();
    let one = fleet.node("one", RUNS);
    let two = fleet.node("two", RUNS);
    let elsewhere = fleet.node_with("elsewhere", RUNS, "");
    let mut client = one.acp();
    let sessions = [4, 5].map(|id| {
        let session = new_session(&mut client, &work);
        prompt(&mut client, id, &session, "hello");
        client.until_answer(id);
        session
    });
    client.end();
    one.stop();
    for session in &sessions {
        two.when(session, |session| session["owner"].is_null());
    }
    let away = elsewhere.world.path("work");
    let mut named = elsewhere.omp_in(&away, &sessions[0]);
    let mut switched = elsewhere.omp(&away);
    let path = format!("/of/another/node/time_{}.jsonl", sessions[1]);
    let switch = json!({ "id": "s", "type": "switch_session", "sessionPath": path });
    switched.send(&switch.to_string());
    switched.until(|line| line.contains(r#""command":"switch_session""#));
    for client in [&mut named, &mut switched] {
        client.send(r#"{"id":"a","type":"prompt","message":"where"}"#);
        client.until_type("agent_settled");
    }
    let ran = std::fs::read_to_string(work.join("pwd.txt")).unwrap();
    assert_eq!(ran.lines().count(), 2, "{ran}");
    assert!(!away.join("pwd.txt").exists());
}
