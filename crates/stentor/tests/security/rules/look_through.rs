//! A rule that denies a command denies it however it is run.

use super::commands;
use super::person::{DIALECTS, Person};
use crate::world::World;

const DENIED: &str = r#"permission_mode = "all"
[[permissions]]
tool = "bash"
command = "touch *"
decision = "deny"
"#;

/// Ways to run `touch made…`, all of which a shell takes.
const WAYS: [&str; 51] = [
    "env touch made",
    "env -i /usr/bin/touch made",
    "command touch made",
    "builtin command touch made",
    "exec touch made",
    "nohup touch made",
    "nice -n 5 touch made",
    "timeout 9 touch made",
    "timeout -k 1 9 touch made",
    "/usr/bin/touch made",
    "sh -c 'touch made'",
    "bash -lc 'true; touch made'",
    "A=1 touch made",
    ">log touch made",
    "2>&1 touch made",
    "! touch made",
    "time touch made",
    "if true; then touch made; fi",
    "for i in 1; do touch made; done",
    "{ touch made; }",
    "(touch made)",
    "echo $(touch made)",
    "echo \"`touch made`\"",
    "eval 'touch made'",
    "A=$(echo 1) touch made",
    "A=`echo 1` touch made",
    "a[0]=1 touch made",
    "env A=$(echo 1) touch made",
    "env -S\"touch made\"",
    "env --split-string=\"touch made\"",
    "sh -c 'A=$(echo 1) touch made'",
    "sh -c 'exec \"$@\"' _ touch made",
    ">$(echo f) touch made",
    ">`echo f` touch made",
    "$'\\x74ouch' made",
    "trap 'touch made' EXIT",
    "eval -- touch made",
    "env 'A B=1' touch made",
    "let 'x[$(touch made)]=1'",
    "[[ -v 'x[$(touch made)]' ]]",
    "declare 'x[`touch made`]=1'",
    "x='a[$(touch made)]'; echo $((x))",
    "PS4='$(touch made)'; set -x; true",
    "mapfile -C 'touch made;:' -c 1 <<< x",
    "compgen -C 'touch made #'",
    "compgen -W '$(touch made)'",
    "git -c alias.x='!touch made' x",
    "prlimit touch made",
    "linux64 touch made",
    "choom -n 0 -- touch made",
    "/lib64/ld-linux-x86-64.so.2 /usr/bin/touch made",
];

/// Ways to run it that only a shell can read.
const UNKNOWN: [&str; 14] = [
    "touch${IFS}made",
    "X=touch; $X made",
    "/usr/bin/touc? made",
    "{touch,made}",
    "$(echo touch) made",
    "sh -c \"$(echo 'touch made')\"",
    ". <(echo touch made)",
    "echo touch made | sh",
    "echo touch made | xargs env",
    "hash -p /usr/bin/touch x; x made",
    "shopt -s expand_aliases\nalias t=touch\nt made",
    "BASH_ENV=<(echo touch made) bash -c true",
    "ENV=<(echo touch made) sh -i -c true",
    "t=touch; let 'x[$($t made)]=1'",
];

fn world() -> World {
    World::new(&commands(&WAYS), DENIED)
}

fn check(world: &World, who: &str) {
    assert!(!world.path("work/made").exists(), "{who}");
}

#[test]
fn a_denied_command_is_denied_through_whatever_runs_it() {
    for way in WAYS {
        let world = World::new(&commands(&[way]), DENIED);
        let said = world.asked(&["-p", "go", "--no-session"]);
        assert!(
            said.starts_with("It said: Permission denied: "),
            "{way}: {said}"
        );
        check(&world, way);
    }
}

#[test]
fn so_it_is_in_every_dialect() {
    for dialect in DIALECTS {
        let world = world();
        let mut person = Person::prompts(&world, dialect);
        assert_eq!(person.refuses_the_rest(), [] as [String; 0]);
        check(&world, &format!("{dialect:?}"));
    }
    let world = world();
    let mut child = world.synaps();
    child.send(r#"{"type":"prompt","id":"p","message":"go"}"#);
    child.until_type("response");
    check(&world, "synaps");
    child.end();
}

#[test]
fn what_cannot_be_read_is_asked_about_where_commands_are_denied() {
    for way in UNKNOWN {
        let world = World::new(&commands(&[way]), DENIED);
        let said = world.asked(&["-p", "go", "--no-session"]);
        assert!(
            said.starts_with("It said: Not permitted: "),
            "{way}: {said}"
        );
        assert!(said.contains("it is not clear from"), "{way}: {said}");
        assert!(said.contains(r#"command = "touch *""#), "{way}: {said}");
        check(&world, way);
    }
}

#[test]
fn in_every_dialect_a_person_is_asked_about_what_cannot_be_read() {
    for dialect in DIALECTS {
        let world = World::new(&commands(&UNKNOWN), DENIED);
        let mut person = Person::prompts(&world, dialect);
        let asked = person.refuses_the_rest();
        assert_eq!(asked.len(), UNKNOWN.len(), "{dialect:?}: {asked:#?}");
        check(&world, &format!("{dialect:?}"));
    }
}

#[test]
fn what_cannot_be_read_runs_where_no_command_is_denied() {
    for config in [
        "",
        "[[permissions]]\ntool = \"write\"\ndecision = \"deny\"\n",
    ] {
        let config = format!("permission_mode = \"all\"\n{config}");
        let world = World::new(&commands(&["X=touch; $X made"]), &config);
        world.asked(&["-p", "go", "--no-session"]);
        assert!(world.path("work/made").exists(), "{config}");
    }
}

#[test]
fn what_only_speaks_of_it_runs() {
    let world = World::new(&commands(&["echo touch made; command -v touch"]), DENIED);
    let said = world.asked(&["-p", "go", "--no-session"]);
    assert!(said.starts_with("It said: touch made\n"), "{said}");
}
