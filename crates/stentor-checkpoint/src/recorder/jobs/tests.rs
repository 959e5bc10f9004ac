use std::fs;

use super::*;
use crate::testing::{Workshop, shown};

/// The checkpoint of a message.
fn checkpoint(message: &str) -> CheckpointId {
    CheckpointId::of_entry("session", message)
}

/// A message starts a command in the background.
fn start(workshop: &Workshop, name: &str, message: &str) -> Arc<BackgroundJob> {
    let recorder = &workshop.recorder;
    recorder.message_came();
    let job = recorder.begin_job(name, &checkpoint(message), None);
    recorder.before_command_of(&job);
    job
}

fn end(workshop: &Workshop, job: &Arc<BackgroundJob>) {
    workshop.recorder.after_command_of(job);
    workshop.recorder.end_job(job);
}

/// A message has a command run, and nothing else.
fn run(workshop: &Workshop, message: &str, work: impl FnOnce()) -> Vec<String> {
    let recorder = &workshop.recorder;
    recorder.message_came();
    recorder.before_command();
    work();
    let changes = recorder.after_command();
    recorder.append(&checkpoint(message), &changes).unwrap();
    recorder.finish();
    shown(&changes)
}

/// What undoing the checkpoints of messages says.
fn undo(workshop: &Workshop, messages: &[&str]) -> Vec<String> {
    let ids: Vec<CheckpointId> = messages.iter().map(|message| checkpoint(message)).collect();
    let rewound = workshop.recorder.rewind(&ids, false, &checkpoint("rewind"));
    let FilesRewound { plan, .. } = rewound.unwrap();
    let steps = plan.steps.iter().map(|step| match &step.during {
        Some(job) => format!("{} during {job}", step.shown()),
        None => step.shown(),
    });
    let changed = plan.changed.iter();
    let changed = changed.map(|step| format!("changed: {}", step.shown()));
    let unknown = plan.unknown.iter().map(|what| format!("unknown: {what}"));
    let running = plan.running.iter().map(|job| format!("runs: {job}"));
    steps.chain(changed).chain(unknown).chain(running).collect()
}

#[test]
fn what_a_job_changes_after_its_run_is_undone_with_the_message_that_started_it() {
    let workshop = Workshop::new();
    workshop.write("file", "1");
    let job = start(&workshop, "job-1", "1");
    workshop.recorder.finish();
    workshop.write("file", "2");
    workshop.write("late", "");
    end(&workshop, &job);
    assert_eq!(
        undo(&workshop, &["1"]),
        ["file during job-1", "late (removed) during job-1"]
    );
    assert_eq!(workshop.read("file"), "1");
}

#[test]
fn what_a_job_changed_before_a_later_command_is_not_that_commands() {
    let workshop = Workshop::new();
    workshop.write("file", "1");
    let job = start(&workshop, "job-1", "1");
    workshop.recorder.finish();
    workshop.write("file", "2");
    let changed = run(&workshop, "2", || workshop.write("other", ""));
    assert_eq!(changed, ["other: absent -> file", "perhaps job-1"]);
    workshop.write("file", "3");
    end(&workshop, &job);
    assert_eq!(
        undo(&workshop, &["2"]),
        [
            "other (removed)",
            "unknown: what job-1 changed while other commands ran"
        ]
    );
    assert_eq!(workshop.read("file"), "3");
    assert_eq!(undo(&workshop, &["1", "2"]), ["file during job-1"]);
    assert_eq!(workshop.read("file"), "1");
}

#[test]
fn a_command_beside_which_a_job_changed_nothing_is_undone_without_a_doubt() {
    let workshop = Workshop::new();
    let job = start(&workshop, "job-1", "1");
    assert_eq!(run(&workshop, "2", || ()), [""; 0]);
    end(&workshop, &job);
    assert_eq!(
        run(&workshop, "3", || workshop.write("a", "")),
        ["a: absent -> file"]
    );
    assert_eq!(undo(&workshop, &["3"]), ["a (removed)"]);
}

#[test]
fn changes_of_several_messages_are_undone_in_the_order_in_which_they_happened() {
    let workshop = Workshop::new();
    workshop.write("file", "1");
    let job = start(&workshop, "job-1", "1");
    workshop.recorder.finish();
    run(&workshop, "2", || workshop.write("file", "2"));
    workshop.write("file", "3");
    end(&workshop, &job);
    // What came before the job's last change cannot be undone without it.
    assert_eq!(
        undo(&workshop, &["2"]),
        [
            "changed: file",
            "unknown: what job-1 changed while other commands ran"
        ]
    );
    assert_eq!(undo(&workshop, &["1", "2"]), ["file during job-1"]);
    assert_eq!(workshop.read("file"), "1");
}

#[test]
fn of_a_job_that_still_runs_everything_until_now_is_undone() {
    let workshop = Workshop::new();
    workshop.write("file", "1");
    let job = start(&workshop, "job-1", "1");
    workshop.recorder.finish();
    workshop.write("file", "2");
    assert_eq!(
        undo(&workshop, &["1"]),
        ["file during job-1", "runs: job-1"]
    );
    assert_eq!(workshop.read("file"), "1");
    // Nothing is left to undo: what the rewind put back is not the job's doing.
    assert_eq!(undo(&workshop, &["1"]), ["runs: job-1"]);
    workshop.write("late", "");
    end(&workshop, &job);
    assert_eq!(undo(&workshop, &["1"]), ["late (removed) during job-1"]);
    // What the first rewind did can still be undone by itself.
    assert_eq!(undo(&workshop, &["rewind"]), ["file", "late (was deleted)"]);
    assert_eq!(workshop.read("file"), "2");
}

#[test]
fn what_a_job_changed_whose_end_nobody_saw_is_not_known() {
    let workshop = Workshop::new();
    start(&workshop, "job-1", "1");
    let plan = rewind::plan(workshop.recorder.store(), &[checkpoint("1")]).unwrap();
    assert_eq!(
        plan.unknown,
        [
            "what job-1 changed (it was running when Stentor ended, or its changes could not be recorded)"
        ]
    );
}

#[test]
fn a_command_of_a_job_is_recorded_though_the_run_ends_meanwhile() {
    let workshop = Workshop::new();
    workshop.write("file", "1");
    let recorder = &workshop.recorder;
    recorder.message_came();
    let subagent = recorder.begin_job("job-1", &checkpoint("1"), None);
    recorder.before_command_of(&subagent);
    recorder.finish();
    fs::remove_file(workshop.path("file")).unwrap();
    recorder.after_command_of(&subagent);
    // What it needed goes with the command, and the next one begins anew.
    assert!(recorder.lock().snapshot.is_none());
    recorder.before_command_of(&subagent);
    workshop.write("other", "");
    recorder.after_command_of(&subagent);
    recorder.end_job(&subagent);
    assert_eq!(
        undo(&workshop, &["1"]),
        [
            "file (was deleted) during job-1",
            "other (removed) during job-1"
        ]
    );
}

#[test]
fn a_command_that_went_without_an_end_holds_nothing_back() {
    let workshop = Workshop::new();
    let recorder = &workshop.recorder;
    recorder.before_command();
    recorder.lost_command();
    let job = recorder.begin_job("job-1", &checkpoint("1"), None);
    recorder.before_command_of(&job);
    recorder.lost_command_of(&job);
    recorder.finish();
    assert!(recorder.lock().snapshot.is_none());
}

#[test]
fn jobs_that_end_in_one_moment_are_looked_at_once_and_each_is_recorded() {
    let workshop = Workshop::new();
    let first = start(&workshop, "job-1", "1");
    let second = workshop.recorder.begin_job("job-2", &checkpoint("1"), None);
    workshop.recorder.before_command_of(&second);
    workshop.recorder.finish();
    workshop.write("late", "");
    end(&workshop, &first);
    end(&workshop, &second);
    assert_eq!(
        undo(&workshop, &["1"]),
        ["late (removed) during job-1, job-2"]
    );
}

#[test]
fn a_command_between_two_runs_leaves_nothing_held() {
    let workshop = Workshop::new();
    let recorder = &workshop.recorder;
    let job = start(&workshop, "job-1", "1");
    recorder.after_command_of(&job);
    recorder.finish();
    recorder.before_command_of(&job);
    end(&workshop, &job);
    assert!(recorder.lock().held.is_none());
}
