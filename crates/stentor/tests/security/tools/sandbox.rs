//! Ways around the sandbox that no file and no socket call shows.

use super::{bash, has_python, kernel_can};
use crate::dialects::{self, ALL};
use crate::world::World;

/// Runs a Python program in a sandbox, in every dialect; each line it prints is about one attempt.
fn assert_attempts(mode: &str, program: &str, expected: &str) {
    let config = format!("permission_mode = \"all\"\nsandbox.mode = \"{mode}\"\n");
    let world = World::new(&bash("python3 ../attempt.py"), &config);
    world.file("attempt.py", program);
    world.file("work/file", "as it was");
    if !has_python() || !kernel_can(&world) {
        return;
    }
    for dialect in ALL {
        let said = dialects::answer(&world, dialect);
        assert_eq!(said, expected.trim_end(), "{dialect}");
    }
}

#[test]
fn without_network_a_pair_of_sockets_reaches_nobody_else() {
    let program = r#"
import socket
for kind in ["SOCK_STREAM", "SOCK_SEQPACKET", "SOCK_DGRAM", "SOCK_RAW"]:
    for flags in [0, socket.SOCK_CLOEXEC, socket.SOCK_NONBLOCK]:
        try:
            socket.socketpair(socket.AF_UNIX, getattr(socket, kind) | flags)
            print(kind, "made")
        except PermissionError:
            print(kind, "refused")
"#;
    let expected: String = [
        "SOCK_STREAM made\n",
        "SOCK_SEQPACKET made\n",
        "SOCK_DGRAM refused\n",
        "SOCK_RAW refused\n",
    ]
    .map(|line| line.repeat(3))
    .concat();
    assert_attempts("workspace-write", program, &expected);
}

#[test]
fn a_read_only_command_changes_no_flags_of_files() {
    let program = r#"
import array, errno, fcntl, os
fd = os.open("file", os.O_RDONLY)
for name, request, size in [
    ("SETFLAGS", 0x40086602, 8), ("SETFLAGS32", 0x40046602, 4), ("FSSETXATTR", 0x401c5820, 28),
    ("SETVERSION", 0x40087602, 8), ("EXT4_SETVERSION", 0x40086604, 8),
    ("BTRFS_SET_RECEIVED", 0xc0c89425, 200), ("FITRIM", 0xc0185879, 24), ("unknown", 0x12345678, 8),
]:
    try:
        fcntl.ioctl(fd, request, bytes(size))
        print(name, "done")
    except OSError as error:
        print(name, "refused" if error.errno == errno.EPERM else error)
"#;
    let expected: String = [
        "SETFLAGS",
        "SETFLAGS32",
        "FSSETXATTR",
        "SETVERSION",
        "EXT4_SETVERSION",
        "BTRFS_SET_RECEIVED",
        "FITRIM",
        "unknown",
    ]
    .map(|name| format!("{name} refused\n"))
    .concat();
    assert_attempts("read-only", program, &expected);
}

#[test]
fn a_read_only_command_asks_terminals_pipes_and_files_as_ever() {
    let program = r#"
import errno, fcntl, os, subprocess
read, write = os.pipe()
fd = os.open("file", os.O_RDONLY)
for name, descriptor, request in [
    ("TCGETS", fd, 0x5401), ("TIOCGWINSZ", fd, 0x5413), ("TCGETS2", fd, 0x802c542a),
    ("FIONREAD", read, 0x541b), ("FIONBIO", read, 0x5421), ("FIOCLEX", read, 0x5451),
    ("FIGETBSZ", fd, 2), ("GETFLAGS", fd, 0x80086601), ("FIEMAP", fd, 0xc020660b),
]:
    try:
        fcntl.ioctl(descriptor, request, bytes(64))
    except OSError as error:
        # That it is no terminal, for example, says the file itself.
        if error.errno == errno.EPERM:
            print(name, "refused")
for words in [
    ["bash", "-c", "cat < file | wc -c"], ["ls", "--color=always", "file"],
    ["git", "hash-object", "file"], ["node", "-e", "console.log(1)"],
]:
    try:
        done = subprocess.run(words, capture_output=True)
    except FileNotFoundError:
        continue
    if done.returncode != 0 or done.stderr:
        print(words, done)
print("asked")
"#;
    assert_attempts("read-only", program, "asked");
}

#[test]
fn a_read_only_command_leaves_no_memory_queue_or_semaphore_behind() {
    let program = r#"
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, made):
    print(name, "refused" if made == -1 and ctypes.get_errno() == errno.EPERM else "made")
attempt("shmget", libc.shmget(0, 4096, 0o1600))
attempt("semget", libc.semget(0, 1, 0o1600))
attempt("msgget", libc.msgget(0, 0o1600))
attempt("mq_open", libc.mq_open(b"/stentor-test", 0o102, 0o600, None))
try:
    open("/dev/shm/stentor-test", "w")
    print("/dev/shm made")
except PermissionError:
    print("/dev/shm refused")
"#;
    let expected: String = ["shmget", "semget", "msgget", "mq_open", "/dev/shm"]
        .map(|name| format!("{name} refused\n"))
        .concat();
    assert_attempts("read-only", program, &expected);
}

/// Starts the program on a thread to whose children the kernel says that it has no Landlock.
#[test]
#[cfg(target_os = "linux")]
fn a_sandbox_that_cannot_be_held_refuses_to_start_in_every_dialect() {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
    let calls = [
        libc::SYS_landlock_create_ruleset,
        libc::SYS_landlock_add_rule,
        libc::SYS_landlock_restrict_self,
    ];
    let rules = calls.into_iter().map(|number| (number, Vec::new()));
    let filter = SeccompFilter::new(
        rules.collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::ENOSYS.cast_unsigned()),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let filter: BpfProgram = filter.unwrap().try_into().unwrap();
    let config = "permission_mode = \"all\"\nsandbox.mode = \"read-only\"\n";
    let world = World::new(&bash("touch made"), config);
    // A project's file cannot do without.
    world.file("work/.stentor/config.toml", "[sandbox]\nrequired = false\n");
    let attack = || {
        seccompiler::apply_filter(&filter).unwrap();
        for dialect in ALL {
            let said = dialects::attempt(&world, dialect);
            assert!(!world.path("work/made").exists(), "{dialect}: {said}");
            let why = "the sandbox cannot be enforced: this system has no Landlock";
            assert!(said.contains(why), "{dialect}: {said}");
        }
    };
    std::thread::scope(|scope| scope.spawn(attack).join().unwrap());
}
