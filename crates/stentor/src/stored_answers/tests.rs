use std::os::unix::fs::PermissionsExt;

use super::*;

struct Ground {
    _folder: tempfile::TempDir,
    base: PathBuf,
    answers: StoredAnswers,
}

fn ground() -> Ground {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    for project in ["a", "b"] {
        std::fs::create_dir_all(base.join(project)).unwrap();
    }
    Ground {
        answers: StoredAnswers::in_folder(&base.join("data/stentor")),
        base,
        _folder: folder,
    }
}

fn answer(words: &str, decision: &str) -> RememberedAnswer {
    let text = format!(r#"{{"tool":"bash","words":"{words}","decision":"{decision}"}}"#);
    serde_json::from_str(&text).unwrap()
}

/// The answers of a project, each as its number and what it says.
fn shown(ground: &Ground, project: &str) -> Vec<String> {
    let stored = ground.answers.of_project(&ground.base.join(project));
    stored
        .unwrap()
        .iter()
        .map(|stored| format!("{} {}", stored.number, stored.answer))
        .collect()
}

#[test]
fn answers_are_kept_for_their_project_and_the_newest_about_a_thing_counts() {
    let ground = ground();
    let (a, b) = (ground.base.join("a"), ground.base.join("b"));
    for (project, words, decision) in [
        (&a, "git push", "allow"),
        (&b, "git push", "deny"),
        (&a, "cargo test", "allow"),
        (&a, "git push", "deny"),
    ] {
        let answer = answer(words, decision);
        ground.answers.store(project, &answer, "now").unwrap();
    }
    std::os::unix::fs::symlink(&a, ground.base.join("link")).unwrap();
    for project in ["a", "link", "a/../a"] {
        assert_eq!(
            shown(&ground, project),
            [
                "3 allow bash exactly `cargo test`",
                "4 deny bash commands that start with `git push`"
            ],
            "{project}"
        );
    }
    assert_eq!(shown(&ground, "b").len(), 1);
    assert_eq!(ground.answers.all().unwrap().len(), 3);
}

#[test]
fn only_the_owner_can_read_the_file_and_nothing_lies_around() {
    let ground = ground();
    let project = ground.base.join("a");
    let answer = answer("git push", "allow");
    ground.answers.store(&project, &answer, "now").unwrap();
    let folder = ground.answers.path().parent().unwrap();
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{entry:?}");
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    assert_eq!(names, ["permissions.json", "permissions.lock"]);
    let mode = folder.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700);
}

#[test]
fn answers_are_forgotten_all_or_none_and_numbers_are_not_used_again() {
    let ground = ground();
    let project = ground.base.join("a");
    let store = |words: &str| {
        let answer = answer(words, "allow");
        ground.answers.store(&project, &answer, "now").unwrap();
    };
    store("a b");
    store("c d");
    store("e f");
    let wrong = ground.answers.forget(&[1, 9]).unwrap_err().to_string();
    assert_eq!(
        wrong,
        "there is no remembered answer number 9; `stentor permissions` lists them"
    );
    assert_eq!(shown(&ground, "a").len(), 3);
    assert_eq!(ground.answers.forget(&[3, 1]).unwrap().len(), 2);
    store("g h");
    assert_eq!(
        shown(&ground, "a"),
        ["2 allow bash exactly `c d`", "4 allow bash exactly `g h`"]
    );
    let other = ground.base.join("b");
    assert_eq!(ground.answers.forget_project(&other).unwrap().len(), 0);
    assert_eq!(ground.answers.forget_project(&project).unwrap().len(), 2);
    assert_eq!(shown(&ground, "a"), [] as [&str; 0]);
}

#[test]
fn a_damaged_file_grants_nothing_and_is_left_as_it_is() {
    let ground = ground();
    let file = ground.answers.path();
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let project = ground.base.join("a");
    for text in [
        "",
        "{",
        r#"{"version":2,"next_number":1,"answers":[]}"#,
        r#"{"version":1,"next_number":1,"answers":[],"more":1}"#,
        r#"{"version":1,"next_number":1,"answers":[{"number":1,"project":"/","answered":"","answer":{"tool":"bash","decision":"ask"}}]}"#,
    ] {
        std::fs::write(file, text).unwrap();
        let read = ground.answers.of_project(&project);
        assert!(
            matches!(read, Err(StoredAnswersError::Damaged { .. })),
            "{text}"
        );
        let stored = ground
            .answers
            .store(&project, &answer("a b", "allow"), "now");
        assert!(
            matches!(stored, Err(StoredAnswersError::Damaged { .. })),
            "{text}"
        );
        assert_eq!(std::fs::read_to_string(file).unwrap(), text);
    }
}

#[test]
fn many_at_once_lose_nothing() {
    let ground = ground();
    let project = ground.base.join("a");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (answers, project) = (&ground.answers, &project);
            scope.spawn(move || {
                for n in 0..10 {
                    let answer = answer(&format!("w{writer} n{n}"), "allow");
                    answers.store(project, &answer, "now").unwrap();
                }
            });
        }
    });
    let mut numbers: Vec<u64> = ground
        .answers
        .of_project(&project)
        .unwrap()
        .iter()
        .map(|stored| stored.number)
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=40).collect::<Vec<u64>>());
}

#[test]
fn a_project_whose_name_is_not_utf8_is_refused_not_mistaken() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let ground = ground();
    let project = ground.base.join(OsStr::from_bytes(b"p\xff"));
    std::fs::create_dir(&project).unwrap();
    let stored = ground
        .answers
        .store(&project, &answer("a b", "allow"), "now");
    assert!(
        matches!(stored, Err(StoredAnswersError::NotUtf8(_))),
        "{stored:?}"
    );
}
