//! A command that wants too much is stopped, with everything it started.

use super::bash;
use crate::dialects::{self, ALL};
use crate::world::World;

/// Looks at what each way in answers.
fn each_says(command: &str, limits: &str, check: impl Fn(&str, &str)) {
    let config = format!("permission_mode = \"all\"\n[limits]\n{limits}\n");
    for dialect in ALL {
        let world = World::new(&bash(command), &config);
        check(&dialects::answer(&world, dialect), dialect);
    }
}

fn each_contains(command: &str, limits: &str, expected: &str) {
    each_says(command, limits, |said, dialect| {
        assert!(said.contains(expected), "{dialect}: {said}");
    });
}

fn each_is(command: &str, limits: &str, expected: &str) {
    each_says(command, limits, |said, dialect| {
        assert_eq!(said, expected, "{dialect}");
    });
}

#[test]
fn a_flood_of_processes_is_stopped() {
    // It doubles as a real one does, but ends by itself before it could do harm.
    let flood = "f() { [ $1 -gt 7 ] || { f $(($1 + 1)) & f $(($1 + 1)) & }; sleep 1000; }; f 0";
    let expected = "Command stopped: it had more than 40 processes (limits.processes)";
    each_contains(flood, "processes = 40", expected);
}

#[test]
fn a_flood_that_leaves_its_group_and_environment_is_stopped() {
    let flood = "for i in $(seq 60); do (env -i setsid sleep 1000 &) ; done; sleep 1000";
    each_contains(flood, "processes = 40", "it had more than 40 processes");
}

#[test]
fn a_command_that_takes_all_memory_is_stopped() {
    let greedy = "x=$(head -c 300000000 /dev/zero | tr '\\0' a); sleep 1000";
    let expected = "Command stopped: it used more than 100 MiB of memory (limits.memory_mb)";
    each_contains(greedy, "memory_mb = 100", expected);
}

/// Faster than anybody looks: then the kernel chooses.
#[test]
#[cfg(target_os = "linux")]
fn when_memory_runs_out_the_command_goes_before_the_program_and_its_supervisor() {
    let own = std::fs::read_to_string("/proc/self/oom_score_adj").unwrap();
    let first = own.trim().parse::<i32>().unwrap().max(500);
    let own = own.trim();
    // The supervisor gets its own back as soon as it has started the command.
    let scores = format!(
        "while [ $(cat /proc/$PPID/oom_score_adj) != {own} ]; do sleep 0.01; done; \
         cat /proc/self/oom_score_adj /proc/$PPID/oom_score_adj"
    );
    each_is(&scores, "", &format!("{first}\n{own}"));
    each_is(&scores, "memory_mb = 0", &format!("{own}\n{own}"));
}

#[test]
fn a_file_has_an_end() {
    let endless = "head -c 3000000 /dev/zero > big 2> /dev/null; wc -c < big";
    each_says(endless, "file_mb = 1", |said, dialect| {
        let is_told = said.contains("File size limit exceeded");
        assert!(is_told && said.ends_with("\n1048576"), "{dialect}: {said}");
    });
}

#[test]
fn without_a_limit_there_is_none() {
    let limits = "processes = 0\nmemory_mb = 0\nfile_mb = 0";
    each_is("ulimit -f", limits, "unlimited");
}
