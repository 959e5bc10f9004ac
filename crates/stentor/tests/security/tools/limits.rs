//! A command that wants too much is stopped, with everything it started.

use super::bash;
use crate::world::World;

fn said(command: &str, limits: &str) -> String {
    let world = World::new(&bash(command), &format!("[limits]\n{limits}\n"));
    world.asked(&["-p", "go"])
}

#[test]
fn a_flood_of_processes_is_stopped() {
    // It doubles as a real one does, but ends by itself before it could do harm.
    let flood = "f() { [ $1 -gt 7 ] || { f $(($1 + 1)) & f $(($1 + 1)) & }; sleep 1000; }; f 0";
    let said = said(flood, "processes = 40");
    let expected = "Command stopped: it had more than 40 processes (limits.processes)";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn a_flood_that_leaves_its_group_and_environment_is_stopped() {
    let flood = "for i in $(seq 60); do (env -i setsid sleep 1000 &) ; done; sleep 1000";
    let said = said(flood, "processes = 40");
    assert!(said.contains("it had more than 40 processes"), "{said}");
}

#[test]
fn a_command_that_takes_all_memory_is_stopped() {
    let greedy = "x=$(head -c 300000000 /dev/zero | tr '\\0' a); sleep 1000";
    let said = said(greedy, "memory_mb = 100");
    let expected = "Command stopped: it used more than 100 MiB of memory (limits.memory_mb)";
    assert!(said.contains(expected), "{said}");
}

/// Faster than anybody looks: then the kernel chooses.
#[test]
#[cfg(target_os = "linux")]
fn when_memory_runs_out_the_command_goes_before_the_program_and_its_supervisor() {
    let own = std::fs::read_to_string("/proc/self/oom_score_adj").unwrap();
    let first = own.trim().parse::<i32>().unwrap().max(500);
    let scores = "cat /proc/self/oom_score_adj /proc/$PPID/oom_score_adj";
    assert_eq!(said(scores, ""), format!("{first}\n{own}"));
    assert_eq!(said(scores, "memory_mb = 0"), format!("{own}{own}"));
}

#[test]
fn a_file_has_an_end() {
    let endless = "head -c 3000000 /dev/zero > big 2> /dev/null; wc -c < big";
    let said = said(endless, "file_mb = 1");
    assert!(said.contains("File size limit exceeded"), "{said}");
    assert!(said.ends_with("\n1048576\n"), "{said}");
}

#[test]
fn without_a_limit_there_is_none() {
    let limits = "processes = 0\nmemory_mb = 0\nfile_mb = 0";
    assert_eq!(said("ulimit -f", limits), "unlimited\n");
}
