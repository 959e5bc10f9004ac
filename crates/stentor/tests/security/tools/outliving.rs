//! Nothing a command starts outlives what it was started for, however it hides.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::json;

use super::{bash, has_python, quoted};
use crate::world::{Child, World};

/// A process that is not gone by then stays.
const NEVER: Duration = Duration::from_secs(60);

/// Commands that leave a process behind which holds the pipe `alive`, each in another way.
const HIDING: [&str; 5] = [
    "sleep 1000 &",
    "(setsid setsid sleep 1000 &)",
    "(env -i setsid sh -c '(sleep 1000 &)' &)",
    "(env -i setsid sh -c 'cd / && exec sleep 1000' > /dev/null 2>&1 < /dev/null &)",
    UNDUMPABLE,
];
/// Without an environment, in a session of its own, without a parent, and hidden in /proc.
const UNDUMPABLE: &str = "env -i python3 -c '\
    import ctypes, os\n\
    libc = ctypes.CDLL(None)\n\
    if os.fork() == 0:\n\
    \x20   os.setsid()\n\
    \x20   if os.fork() == 0:\n\
    \x20       libc.prctl(4, 0, 0, 0, 0)\n\
    \x20       os.execv(\"/bin/sleep\", [\"sleep\", \"1000\"])\n\
    \x20   os._exit(0)\n\
    '";

/// The end of the pipe that says who is alive.
struct Alive(BufReader<std::fs::File>);

impl Alive {
    /// Waits until a command has said that it is ready.
    fn ready(world: &World) -> Self {
        let mut holders = BufReader::new(std::fs::File::open(world.path("work/alive")).unwrap());
        let mut line = String::new();
        holders.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self(holders)
    }

    /// Fails if somebody holds the pipe for ever.
    fn assert_all_gone(mut self, what: &str) {
        let (done, is_done) = channel();
        std::thread::spawn(move || {
            self.0.read_to_string(&mut String::new()).unwrap();
            // A test that has failed does not listen any more.
            let _ = done.send(());
        });
        assert!(is_done.recv_timeout(NEVER).is_ok(), "left behind: {what}");
    }
}

/// A world in which the model runs a command that hides a process, says so, and does `then`.
fn world(hiding: &str, then: &str) -> World {
    let command = format!("exec 9>alive\n{hiding}\necho ready >&9\n{then}");
    let world = World::new(&bash(&command), "");
    let pipe = world.path("work/alive");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    world
}

fn every_way_to_hide(check: impl Fn(&str)) {
    for hiding in HIDING {
        if hiding != UNDUMPABLE || has_python() {
            check(hiding);
        }
    }
}

#[test]
fn what_hides_goes_when_the_program_ends() {
    every_way_to_hide(|hiding| {
        let world = world(hiding, "exec 9>&-");
        let mut child = world.command(&["-p", "go"]).spawn().unwrap();
        let alive = Alive::ready(&world);
        assert!(child.wait().unwrap().success());
        alive.assert_all_gone(hiding);
    });
}

#[test]
fn what_hides_goes_when_the_call_is_aborted() {
    every_way_to_hide(|hiding| {
        let world = world(hiding, "exec 9>&-; sleep 1000");
        let mut child = world.omp();
        child.send(r#"{"id":"p","type":"prompt","message":"go"}"#);
        let alive = Alive::ready(&world);
        child.send(r#"{"id":"a","type":"abort"}"#);
        alive.assert_all_gone(hiding);
        child.end();
    });
}

#[test]
fn what_hides_goes_when_the_program_is_killed() {
    every_way_to_hide(|hiding| {
        let world = world(hiding, "sleep 1000");
        let mut child = world.omp();
        child.send(r#"{"id":"p","type":"prompt","message":"go"}"#);
        let alive = Alive::ready(&world);
        // Which kills it.
        drop(child);
        alive.assert_all_gone(hiding);
    });
}

#[test]
fn what_hides_goes_when_the_client_goes_in_every_dialect() {
    type Start = fn(&World) -> Child;
    let dialects: [(&str, Start); 4] = [
        ("omp", |world| {
            let mut child = world.omp();
            child.send(r#"{"id":"p","type":"prompt","message":"go"}"#);
            child
        }),
        ("synaps", |world| {
            let mut child = world.synaps();
            child.send(r#"{"type":"prompt","id":"p","message":"go"}"#);
            child
        }),
        ("psi", |world| {
            let mut child = world.psi();
            child.send(r#"{:id "p" :kind :request :op "prompt" :params {:message "go"}}"#);
            child
        }),
        ("acp", |world| {
            let (mut child, session) = world.acp(json!({}));
            let mode = json!({ "sessionId": session, "modeId": "all" });
            child.ask_acp(3, "session/set_mode", mode);
            let text = json!([{ "type": "text", "text": "go" }]);
            let params = json!({ "sessionId": session, "prompt": text });
            child.request_acp(4, "session/prompt", params);
            child
        }),
    ];
    for (dialect, start) in dialects {
        let world = world(HIDING[2], "sleep 1000");
        let child = start(&world);
        let alive = Alive::ready(&world);
        child.end();
        alive.assert_all_gone(dialect);
    }
}

#[test]
fn a_command_that_kills_or_stops_its_supervisor_gets_nothing_from_it() {
    for attack in ["kill -9 $PPID", "kill -STOP $PPID"] {
        let world = world(
            "(env -i setsid sleep 1000 &)",
            &format!("{attack}; sleep 1000"),
        );
        let mut child = world.omp();
        child.send(r#"{"id":"p","type":"prompt","message":"go"}"#);
        let alive = Alive::ready(&world);
        child.send(r#"{"id":"a","type":"abort"}"#);
        alive.assert_all_gone(attack);
        child.end();
    }
}

#[test]
fn a_command_that_takes_away_the_right_to_open_files_gets_nothing_from_it() {
    if !has_python() {
        return;
    }
    let supervisor = "int(sys.argv[1])";
    let stentor = "int(open(f'/proc/{sys.argv[1]}/stat').read().rsplit(')', 1)[1].split()[1])";
    for victims in [supervisor.to_owned(), format!("{stentor}, {supervisor}")] {
        let attack = format!(
            "exec 9>&-\npython3 -c \"import resource, sys\n\
             for id in [{victims}]: resource.prlimit(id, resource.RLIMIT_NOFILE, (0, 0))\" $PPID"
        );
        let world = world("(env -i setsid sh -c '(sleep 1000 &)' &)", &attack);
        let mut child = world.command(&["-p", "go"]).spawn().unwrap();
        let alive = Alive::ready(&world);
        // Whether it can still do its work without files is not the question.
        child.wait().unwrap();
        alive.assert_all_gone(&attack);
    }
}

#[test]
fn what_a_command_leaves_running_serves_the_next_one() {
    let serve = "mkfifo ask told; (read word < ask; echo $word > told) > /dev/null 2>&1 & echo on";
    let calls = [serve, "echo still here > ask; cat told"];
    let calls = calls.map(|text| ("bash", format!("command = {}", super::quoted(text))));
    let world = World::new(&super::plan(&calls), "");
    assert_eq!(world.asked(&["-p", "go"]), "still here\n");
}

#[test]
fn what_a_command_leaves_running_goes_with_its_session() {
    type Close = fn(&World) -> Child;
    let dialects: [(&str, Close); 2] = [
        ("omp", |world| {
            let mut child = world.omp();
            child.send(r#"{"id":"p","type":"prompt","message":"go"}"#);
            child.until_type("agent_settled");
            child.send(r#"{"id":"n","type":"new_session"}"#);
            child.until(|line| line.contains(r#""command":"new_session""#));
            child
        }),
        ("acp", |world| {
            let (mut child, session) = world.acp(json!({}));
            let mode = json!({ "sessionId": session, "modeId": "all" });
            child.ask_acp(3, "session/set_mode", mode);
            let text = json!([{ "type": "text", "text": "go" }]);
            let params = json!({ "sessionId": session, "prompt": text });
            child.ask_acp(4, "session/prompt", params);
            child.ask_acp(5, "session/close", json!({ "sessionId": session }));
            child
        }),
    ];
    for (dialect, close) in dialects {
        let world = world(HIDING[2], "exec 9>&-");
        std::thread::scope(|scope| {
            let child = scope.spawn(|| close(&world));
            let alive = Alive::ready(&world);
            let child = child.join().unwrap();
            alive.assert_all_gone(dialect);
            child.end();
        });
    }
}

#[test]
fn what_a_subagent_leaves_running_serves_its_session() {
    let serve = "mkfifo ask told; (read word < ask; echo $word > told) > /dev/null 2>&1 & echo on";
    let serve = format!("command = {}", super::quoted(serve));
    let ask = format!(
        "command = {}",
        super::quoted("echo still here > ask; cat told")
    );
    let plan = format!(
        "[[turn]]\nwhen = {{ last_user_contains = \"serve\" }}\ntool = \"bash\"\narguments = {{ {serve} }}\n\
         [[turn]]\nwhen = {{ last_tool_result_contains = \"on\" }}\ntimes = 1\ntext = \"It runs.\"\n\
         [[turn]]\nwhen = {{ tool = \"subagent\" }}\ntool = \"bash\"\narguments = {{ {ask} }}\n\
         [[turn]]\nwhen = {{ last_tool_result_contains = \"still here\" }}\ntext = \"It answered.\"\n\
         [[turn]]\ntool = \"subagent\"\narguments = {{ task = \"serve\" }}\n"
    );
    let world = World::new(&plan, "");
    let mut child = world.omp();
    child.send(r#"{"id":"p","type":"prompt","message":"go"}"#);
    let lines = child.until(|line| line.contains(r#""type":"agent_settled""#));
    let answered = lines.iter().any(|line| line.contains("It answered."));
    assert!(answered, "{lines:#?}");
    child.end();
}

#[test]
fn a_command_that_starts_while_others_lose_their_supervisors_is_not_taken_for_an_orphan() {
    // Sixteen run at a time, so that some start while others end.
    const PAIRS: usize = 20;
    let call = |command: &str| {
        let command = quoted(command);
        format!("{{ tool = \"bash\", arguments = {{ command = {command} }} }}")
    };
    let orphans = call("for i in $(seq 20); do (setsid sleep 1000 &); done; kill -9 $PPID");
    let pair = [orphans, call("echo ran >> ran")].join(", ");
    let steps = vec![pair; PAIRS].join(", ");
    let plan = format!("[[turn]]\nsteps = [{steps}]\n[[turn]]\ntext = \"Done.\"\n");
    let world = World::new(&plan, "");
    assert_eq!(world.asked(&["-p", "go"]), "Done.\n");
    let ran = std::fs::read_to_string(world.path("work/ran")).unwrap();
    assert_eq!(ran, "ran\n".repeat(PAIRS));
}
