//! The sandbox from the outside: commands of the built program that try to get out of it.
//!
//! On a kernel without Landlock the tests say so, and check that the program says so, too.

use std::fs;
use std::io::{IoSlice, Read, Write};
use std::net::{Shutdown, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use crate::world::{Ran, World};

/// A world with a folder outside of everything that may be written.
struct Ground {
    world: World,
    out: PathBuf,
}

fn ground() -> Ground {
    let world = World::new();
    world
        .file("out/secret", "untouched")
        .file("tmp/.keep", "")
        .file("work/sub/.keep", "");
    let out = world.root().join("out");
    Ground { world, out }
}

impl Ground {
    /// The program with its temporary files in a folder of their own: the outside is in /tmp.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.world.command(words);
        command
            .env("TMPDIR", self.world.root().join("tmp"))
            .env("OUT", &self.out);
        command
    }

    fn run(&self, words: &[&str]) -> Ran {
        self.world.finish(self.command(words).output().unwrap())
    }

    /// Has the model make these calls, each a tool and its arguments in TOML.
    fn script(&self, calls: &[(&str, String)]) {
        let mut scenario = String::new();
        for (tool, arguments) in calls {
            scenario.push_str(&format!(
                "[[turn]]\ntool = \"{tool}\"\narguments = {{ {arguments} }}\n"
            ));
        }
        scenario.push_str("[[turn]]\ntext = \"{{last_tool_result}}\"\n");
        self.world.file("plan.toml", &scenario);
    }

    /// The result of the last of these commands, in a session with that sandbox.
    fn bash(&self, mode: &str, commands: &[&str]) -> String {
        let calls: Vec<_> = commands
            .iter()
            .map(|text| ("bash", argument(text)))
            .collect();
        self.script(&calls);
        self.ask(mode).ok_out()
    }

    fn ask(&self, mode: &str) -> Ran {
        self.run(&ask_words(mode))
    }

    /// Fails if anything in the outside is not as it was.
    fn assert_untouched(&self, what: &str) {
        let names: Vec<_> = fs::read_dir(&self.out)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["secret"], "{what}");
        let text = fs::read_to_string(self.out.join("secret")).unwrap();
        assert_eq!(text, "untouched", "{what}");
    }

    /// Whether this kernel holds the sandbox. Where it does not, the test says so, and what is
    /// checked instead is that the program says so and refuses when it must.
    fn kernel_can(&self) -> bool {
        let words = ["config", "--json", "--sandbox", "workspace-write"];
        let shown = self.run(&[&words[..], &["--sandbox-optional"]].concat());
        let shown: serde_json::Value = serde_json::from_str(&shown.ok()).unwrap();
        if shown["sandbox"]["mode"] == "workspace-write" {
            return true;
        }
        let _ = writeln!(
            std::io::stderr(),
            "NO LANDLOCK ON THIS KERNEL: the sandbox is not tested, only that it is told"
        );
        self.assert_degrades_openly(|words| self.command(words));
        false
    }

    /// The program refuses to start, and where it may do without it warns and goes on.
    fn assert_degrades_openly(&self, command: impl Fn(&[&str]) -> Command) {
        self.script(&[("bash", argument("echo ran > made; cat made"))]);
        let words = ask_words("read-only");
        let finish = |mut command: Command| self.world.finish(command.output().unwrap());
        let ran = finish(command(&words));
        assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""), "{}", ran.err);
        for said in [
            "the sandbox cannot be enforced: this system has no Landlock",
            "use `--sandbox-optional`, or set `required = false` under [sandbox] in your own file",
        ] {
            assert!(ran.err.contains(said), "{}", ran.err);
        }
        assert!(!self.world.work("made").exists());
        // A flag, a variable and the user's own file can do without; a project's file cannot.
        let flagged = [&words[..], &["--sandbox-optional"]].concat();
        let mut by_variable = command(&words);
        by_variable.env("STENTOR_SANDBOX_REQUIRED", "false");
        let optional = "[sandbox]\nrequired = false\n";
        self.world.file("work/.stentor/config.toml", optional);
        assert_eq!(finish(command(&words)).status, Some(1));
        self.world
            .file("home/.config/stentor/config.toml", optional);
        let by_file = command(&words);
        for allowed in [command(&flagged), by_variable, by_file] {
            let ran = finish(allowed);
            let out = (ran.status, ran.out.trim());
            assert_eq!(out, (Some(0), "ran"), "{}", ran.err);
            let said = "sandbox: this system has no Landlock";
            assert!(ran.err.contains(said), "{}", ran.err);
            fs::remove_file(self.world.work("made")).unwrap();
        }
    }
}

impl Ran {
    /// What is on stdout, when the program was content, whatever it said on the way.
    fn ok_out(self) -> String {
        assert_eq!(self.status, Some(0), "{}", self.err);
        self.out
    }
}

/// The words that have the script played in that sandbox.
fn ask_words(mode: &str) -> [&str; 6] {
    let model = "script/../plan.toml";
    ["--model", model, "--sandbox", mode, "-p", "go"]
}

/// A command as the argument of a call, in TOML.
fn argument(command: &str) -> String {
    format!("command = {}", toml_text(command))
}

fn toml_text(text: &str) -> String {
    format!("{text:?}").replace("\\'", "'")
}

#[test]
fn a_command_writes_in_its_folder_and_among_temporary_files() {
    let ground = ground();
    if !ground.kernel_can() {
        return;
    }
    let said = ground.bash(
        "workspace-write",
        &[
            "echo a > made && mkdir -p d/e && mv made d/e/ && ln -s d l && cat l/e/made \
          && chmod 700 d/e/made && rm -r d && echo t > $TMPDIR/t && cat $TMPDIR/t > /dev/null \
          && cat < /etc/hostname > /dev/null && mktemp > /dev/null && echo done",
        ],
    );
    assert_eq!(said, "a\ndone\n");
}

#[test]
fn no_way_leads_to_a_file_outside() {
    let ground = ground();
    if !ground.kernel_can() {
        return;
    }
    for command in [
        "echo x > ../out/secret",
        "echo x >> $OUT/secret",
        ": > ../out/secret",
        "truncate -s 0 ../out/secret",
        "rm -f ../out/secret",
        "mv ../out/secret .",
        "touch ../out/new",
        "mkdir ../out/new",
        "cp -r sub ../out/new",
        "mv sub ../out/new",
        // Links and dots.
        "ln -s ../out link; echo x > link/secret; echo x > link/new",
        "ln -s $OUT/new dangling; echo x > dangling",
        "echo x > sub/../../out/secret",
        "ln ../out/secret hard; echo x > hard",
        "ln hard ../out/new",
        // What /proc has of this process, and of the one that started it.
        "echo x > /proc/self/cwd/../out/secret",
        "echo x > /proc/self/root$OUT/secret",
        "echo x > /proc/$PPID/cwd/../out/secret",
        "echo x > /proc/$PPID/root$OUT/secret",
        "exec 3< ../out/secret; echo x > /proc/self/fd/3",
        "exec 3< ../out; echo x > /proc/self/fd/3/secret",
        "dd if=/dev/zero of=/proc/$PPID/mem bs=1 count=1 seek=4096",
        // Other views of the file system.
        "unshare -Urm sh -c 'mount --bind ../out sub && echo x > sub/secret'",
        "nsenter -t $PPID -m sh -c \"echo x > $OUT/secret\"",
        "mount --bind ../out sub && echo x > sub/secret",
        "chroot ../out /bin/sh -c 'echo x > /secret'",
        // Other processes.
        "sh -c 'echo x > ../out/secret' & wait",
        "setsid sh -c 'echo x > ../out/secret'; env -i sh -c 'echo x > ../out/secret'",
        "(sh -c 'echo x > ../out/secret' &) ; true",
    ] {
        ground.bash("workspace-write", &[command]);
        ground.assert_untouched(command);
    }
}

#[test]
fn a_read_only_command_changes_nothing_at_all() {
    let ground = ground();
    if !ground.kernel_can() {
        return;
    }
    ground.world.file("work/file", "as it was");
    let file = ground.world.work("file");
    let before = fs::metadata(&file).unwrap();
    let said = ground.bash(
        "read-only",
        &["echo x > file; echo x > new; touch -d 2001-01-01 file; chmod 777 file; rm file; \
          mv file other; echo x > $TMPDIR/new; cat file; echo; echo to nowhere > /dev/null && echo end"],
    );
    assert!(said.ends_with("as it was\nend\n"), "{said}");
    let after = fs::metadata(&file).unwrap();
    assert_eq!(after.permissions(), before.permissions());
    assert_eq!(after.modified().unwrap(), before.modified().unwrap());
    assert!(!ground.world.work("new").exists() && !ground.world.root().join("tmp/new").exists());
    ground.assert_untouched("read-only");
}

#[test]
fn a_process_left_behind_stays_in_and_goes_with_the_program() {
    let ground = ground();
    if !ground.kernel_can() {
        return;
    }
    // The daemon outlives its command by a second fork and a session of its own. The second
    // command tells it to try, and waits until it has.
    let daemon = "mkfifo go tried; \
        (setsid sh -c 'exec 9> alive; read word < go; echo x > ../out/secret; rm ../out/secret; \
        echo tried > tried; exec sleep 1000' > /dev/null 2>&1 &) ; echo left";
    let calls = [daemon, "echo go > go; cat tried"];
    let calls = calls.map(|text| ("bash", argument(text)));
    ground.script(&calls);
    let alive = ground.world.work("alive");
    rustix::fs::mkfifoat(rustix::fs::CWD, &alive, 0o600.into()).unwrap();
    let mut child = ground
        .command(&ask_words("workspace-write"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // It opens when the daemon has opened its end.
    let mut daemon = fs::File::open(alive).unwrap();
    let mut said = String::new();
    let mut out = child.stdout.take().unwrap();
    out.read_to_string(&mut said).unwrap();
    child.wait().unwrap();
    assert_eq!(said, "tried\n");
    ground.assert_untouched("left behind");
    // The end comes when the daemon is gone.
    daemon.read_to_string(&mut said).unwrap();
}

#[test]
fn a_command_whose_time_is_up_is_killed_with_all_its_processes() {
    let ground = ground();
    if !ground.kernel_can() {
        return;
    }
    let command = "setsid sh -c 'echo $$ > pid; exec sleep 1000' & sleep 1000";
    let arguments = format!("{}, timeout = 1", argument(command));
    // Whoever adopts the dead may leave them unburied.
    let look = "p=$(cat pid) && if grep -q '^State:.[^ZX]' /proc/$p/status; \
        then echo alive; else echo gone; fi 2> /dev/null";
    ground.script(&[("bash", arguments), ("bash", argument(look))]);
    let said = ground.ask("workspace-write").ok_out();
    assert!(said.ends_with("gone\n"), "{said}");
}

#[test]
fn without_network_no_socket_is_made() {
    let ground = ground();
    if !ground.kernel_can() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let tcp = format!("echo x > /dev/tcp/127.0.0.1/{port}");
    let udp = format!("echo x > /dev/udp/127.0.0.1/{port}");
    for command in [&tcp, &udp] {
        let said = ground.bash("workspace-write", &[command]);
        assert!(said.contains("Operation not permitted"), "{said}");
        assert!(listener.accept().is_err(), "{command}");
    }
    let python = "import socket; a, b = socket.socketpair(); a.send(b'pair'); print(b.recv(9))\n\
        try: socket.socket(socket.AF_UNIX)\n\
        except PermissionError as e: print(e)";
    ground.world.file("work/sockets.py", python);
    match Command::new("python3").arg("--version").output() {
        Ok(_) => assert_eq!(
            ground.bash("workspace-write", &["python3 sockets.py"]),
            "b'pair'\n[Errno 1] Operation not permitted\n"
        ),
        Err(_) => {
            let _ = writeln!(std::io::stderr(), "NO PYTHON: local sockets are not tested");
        }
    }
    ground.world.file(
        "home/.config/stentor/config.toml",
        "[sandbox]\nnetwork = true\n",
    );
    ground.bash("workspace-write", &[&tcp]);
    assert!(listener.accept().is_ok());
}

#[test]
fn the_tools_that_write_files_keep_to_the_sandbox() {
    let ground = ground();
    for (mode, path, expected) in [
        (
            "workspace-write",
            "../out/secret",
            "is outside the folders the sandbox lets",
        ),
        (
            "workspace-write",
            "link/new",
            "is outside the folders the sandbox lets",
        ),
        ("workspace-write", "here", "Successfully wrote"),
        ("read-only", "there", "the sandbox is read-only"),
    ] {
        let _ = std::os::unix::fs::symlink("../out", ground.world.work("link"));
        let arguments = format!("path = \"{path}\", content = \"x\"");
        ground.script(&[("write", arguments)]);
        let said = ground.ask(mode).ok_out();
        assert!(said.contains(expected), "{mode} {path}: {said}");
        ground.assert_untouched(path);
    }
}

#[test]
fn what_the_user_lists_cannot_be_read() {
    let ground = ground();
    if !ground.kernel_can() {
        return;
    }
    ground
        .world
        .file("home/.keys/key", "the key")
        .file("home/notes", "my notes")
        .file(
            "home/.config/stentor/config.toml",
            "[sandbox]\nunreadable = [\"~/.keys\"]\n",
        );
    let _ = std::os::unix::fs::symlink("../home/.keys", ground.world.work("link"));
    for command in [
        "cat ~/.keys/key",
        "cat link/key",
        "cat /proc/self/root$HOME/.keys/key",
        "cp -r ~/.keys copy; cat copy/key",
        "ln ~/.keys/key hard; cat hard",
        "mv ~/.keys moved; cat moved/key",
        "tar c -C ~ .keys",
    ] {
        for mode in ["workspace-write", "read-only"] {
            let said = ground.bash(mode, &[command]);
            assert!(!said.contains("the key"), "{mode} {command}: {said}");
        }
    }
    let said = ground.bash(
        "workspace-write",
        &["cat ~/notes && echo new > made && cat made && ls -A ~/.keys"],
    );
    assert_eq!(said, "my notesnew\nkey\n");
    let key = ground.world.root().join("home/.keys/key");
    ground.script(&[("read", format!("path = {:?}", key.display().to_string()))]);
    let said = ground.ask("read-only").ok_out();
    assert!(
        said.contains("unreadable") && !said.contains("the key"),
        "{said}"
    );

    ground.world.file(
        "home/.config/stentor/config.toml",
        "[sandbox]\nunreadable = [\"~/../work/.env\"]\n",
    );
    let refused = ground.ask("workspace-write");
    assert_eq!(refused.status, Some(1));
    assert!(
        refused
            .err
            .contains("cannot be made unreadable, since it lies in"),
        "{}",
        refused.err
    );
}

#[test]
fn root_has_only_harmless_powers_and_gets_no_others() {
    let ground = ground();
    if !ground.kernel_can() {
        return;
    }
    let said = ground.bash(
        "workspace-write",
        &["grep -E '^(CapEff|NoNewPrivs)' /proc/self/status"],
    );
    let effective = said.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = u64::from_str_radix(effective.unwrap().trim(), 16).unwrap();
    // chown, dac_override, fowner, fsetid, kill, setgid, setuid, net_bind_service
    assert_eq!(effective & !0b100_1111_1011, 0, "{said}");
    assert!(said.contains("NoNewPrivs:\t1"), "{said}");
}

#[test]
fn the_sandbox_is_told_to_the_user_and_to_the_model() {
    let ground = ground();
    if !ground.kernel_can() {
        return;
    }
    let shown = ground.run(&["config", "--sandbox", "read-only"]).ok();
    assert!(
        shown.contains("\nThe sandbox here: read-only, no network\n"),
        "{shown}"
    );
    let listed = ground
        .run(&["permissions", "--sandbox", "workspace-write"])
        .ok();
    assert!(
        listed.contains("sandbox  workspace-write, no network\n"),
        "{listed}"
    );
    assert!(!ground.run(&["--help"]).ok().contains("__command"));
}

/// What came of an order to the helper.
#[derive(Debug, PartialEq, Eq)]
struct Obeyed {
    status: Option<i32>,
    /// What the program wrote, or the helper in its place.
    written: String,
    reports: String,
}

/// Gives the helper one order, as the program does: the word, the outputs, and the words that say what.
fn order_helper(mut command: Command, words: &[&str]) -> Obeyed {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let mut helper = command
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(command);
    let (mut reader, writer) = std::io::pipe().unwrap();
    let files = [writer.as_fd(), writer.as_fd()];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&files));
    let word = [IoSlice::new(b"+")];
    sendmsg(&ours, &word, &mut ancillary, SendFlags::empty()).unwrap();
    drop(writer);
    let text: String = words.iter().map(|word| format!("{word}\0")).collect();
    let length = u32::try_from(text.len()).unwrap();
    ours.write_all(&length.to_le_bytes()).unwrap();
    ours.write_all(text.as_bytes()).unwrap();
    ours.shutdown(Shutdown::Write).unwrap();
    let mut obeyed = Obeyed {
        status: None,
        written: String::new(),
        reports: String::new(),
    };
    ours.read_to_string(&mut obeyed.reports).unwrap();
    obeyed.status = helper.wait().unwrap().code();
    reader.read_to_string(&mut obeyed.written).unwrap();
    obeyed
}

#[test]
fn the_helper_runs_nothing_that_it_cannot_hold() {
    let world = World::new();
    let run = ["--", "/bin/sh", "-c", "echo ran"];
    for words in [&["--mode", "none"][..], &["--frob"], &["--mode"]] {
        // Nobody but the program starts one.
        let Ran { status, out, err } = world.run(&[&["__command"], words, &run].concat());
        assert_eq!((status, out.as_str()), (Some(126), ""), "{words:?}");
        assert!(err.starts_with("stentor: "), "{words:?}: {err}");
        let obeyed = order_helper(world.command(&["__command"]), &[words, &run].concat());
        let nothing = Obeyed {
            status: Some(126),
            written: String::new(),
            reports: String::new(),
        };
        assert_eq!(obeyed, nothing, "{words:?}");
    }
    let missing = ["--free", "--", "/nowhere/sh"];
    let obeyed = order_helper(world.command(&["__command"]), &missing);
    assert_eq!(obeyed.reports, "failed 2\n");
    assert_eq!(world.run(&["__command"]).status, Some(126));
}

#[test]
fn a_helper_is_there_for_the_next_command_unless_something_is_left() {
    let ground = ground();
    let commands = [
        "echo $PPID > first",
        "cd /; export A=1; ulimit -c 0",
        "echo $PPID $A $PWD > second; sleep 1000 > /dev/null 2>&1 &",
        "echo $PPID > third",
    ];
    ground.bash("off", &commands);
    let read = |name| fs::read_to_string(ground.world.work(name)).unwrap();
    let work = fs::canonicalize(ground.world.work(".")).unwrap();
    let first = read("first");
    assert_eq!(
        read("second"),
        format!("{} {}\n", first.trim(), work.display())
    );
    assert_ne!(read("third"), first);
}

/// Starts the program on a thread to whose children the kernel says that it has no Landlock.
#[test]
fn without_landlock_the_program_says_so_and_refuses_when_it_must() {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
    let ground = ground();
    let calls = [
        libc::SYS_landlock_create_ruleset,
        libc::SYS_landlock_add_rule,
        libc::SYS_landlock_restrict_self,
    ];
    let filter = SeccompFilter::new(
        calls
            .into_iter()
            .map(|number| (number, Vec::new()))
            .collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::ENOSYS.cast_unsigned()),
        std::env::consts::ARCH.try_into().unwrap(),
    )
    .unwrap();
    let filter: BpfProgram = filter.try_into().unwrap();
    std::thread::scope(|scope| {
        let without = scope.spawn(|| {
            seccompiler::apply_filter(&filter).unwrap();
            ground.assert_degrades_openly(|words| ground.command(words));
            // The network is still closed, by seccomp.
            let said = ground.bash("read-only", &["echo x > /dev/tcp/127.0.0.1/9"]);
            assert!(said.contains("Operation not permitted"), "{said}");
            let shown = ground.run(&["config", "--sandbox", "read-only"]).ok_out();
            assert!(
                shown.contains("The sandbox here: off, no network"),
                "{shown}"
            );
            // And the helper fails closed.
            let words = ["--mode", "read-only", "--", "/bin/sh", "-c", "echo ran"];
            let obeyed = order_helper(ground.command(&["__command"]), &words);
            assert_eq!(obeyed.reports, "started 0\nexited 126\n");
            let refused = "stentor: the sandbox cannot be entered: ";
            assert!(obeyed.written.starts_with(refused), "{obeyed:?}");
        });
        without.join().unwrap();
    });
}

#[test]
fn an_extension_is_held_back_as_commands_are_unless_the_user_says_otherwise() {
    let ground = ground();
    if !ground.kernel_can() {
        return;
    }
    let script = r#"
import json, os, sys
try:
    open(os.environ["OUT"] + "/made", "w")
except OSError:
    open("refused", "w")
for line in sys.stdin:
    id = json.loads(line).get("id")
    if id is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": 1}}), flush=True)
"#;
    ground.world.file("home/.config/stentor/writer.py", script);
    let table = "[extensions.writer]\nfile = \"writer.py\"\n";
    ground.world.file("home/.config/stentor/config.toml", table);
    let test = ["extensions", "test", "--sandbox", "workspace-write"];
    let said = ground.run(&test).ok_out();
    assert!(said.contains("writer  works"), "{said}");
    assert!(ground.world.work("refused").exists());
    assert!(!ground.out.join("made").exists());
    let table = format!("{table}sandbox = false\n");
    ground
        .world
        .file("home/.config/stentor/config.toml", &table);
    ground.run(&test);
    assert!(ground.out.join("made").exists());
}

#[test]
fn an_mcp_server_is_held_back_as_commands_are_unless_the_user_says_otherwise() {
    let ground = ground();
    if !ground.kernel_can() {
        return;
    }
    let script = r#"
import json, os, sys
try:
    open(os.environ["OUT"] + "/made", "w")
except OSError:
    open("refused", "w")
for line in sys.stdin:
    id = json.loads(line).get("id")
    if id is not None:
        info = {"name": "writer", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": info}
        print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
"#;
    ground.world.file("home/.config/stentor/writer.py", script);
    ground
        .world
        .file("work/plan.toml", "[[turn]]\ntext = \"fine\"\n");
    let table = "[mcp_servers.writer]\ncommand = [\"python3\", \"~/.config/stentor/writer.py\"]\n";
    ground.world.file("home/.config/stentor/config.toml", table);
    let test = ["mcp", "test", "--sandbox", "workspace-write"];
    let session = [
        "--sandbox",
        "workspace-write",
        "--model",
        "script/plan.toml",
        "-p",
        "go",
    ];
    for words in [&test[..], &session] {
        let said = ground.run(words).ok_out();
        assert!(said.contains("writer  works") || said == "fine\n", "{said}");
        assert!(ground.world.work("refused").exists());
        assert!(!ground.out.join("made").exists());
        std::fs::remove_file(ground.world.work("refused")).unwrap();
    }
    let table = format!("{table}sandbox = false\n");
    ground
        .world
        .file("home/.config/stentor/config.toml", &table);
    ground.run(&test);
    assert!(ground.out.join("made").exists());
}
