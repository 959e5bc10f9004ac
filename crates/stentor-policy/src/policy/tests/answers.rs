//! What an "always" decides later.

use super::*;

#[test]
fn always_is_about_calls_like_the_one_that_was_asked() {
    let ground = ground();
    let inside = |path: &str| ground.on(path);
    let outside = |path: &str| Touches {
        paths: vec![ground.other.join(path)],
        ..Touches::default()
    };
    let (reads, writes, executes) = (ToolEffect::Reads, ToolEffect::Writes, ToolEffect::Executes);
    /// The tool, its effect, what was asked about, and what is said about calls after that.
    type Row<'a> = (&'a str, ToolEffect, Touches, Vec<(Touches, char)>);
    let table: Vec<Row<'_>> = vec![
        (
            "bash",
            executes,
            command("git status --short"),
            vec![
                (command("git status"), 'r'),
                (command("git status -b && git status"), 'r'),
                (command("git log"), 'a'),
                (command("git status; rm x"), 'a'),
                (command("git status $(rm x)"), 'a'),
                (command("git status > x"), 'a'),
                (command("git status >&1x"), 'a'),
                (command("git statusx"), 'a'),
                (command("git status\u{a0}"), 'a'),
                (command("\u{a0}git status"), 'a'),
            ],
        ),
        (
            "bash",
            executes,
            command("find . -name x"),
            vec![
                (command("find . -name x"), 'r'),
                (command("find . -name y"), 'a'),
                (command("find . -exec rm {} ;"), 'a'),
                (command("find . -name x -delete"), 'a'),
            ],
        ),
        (
            "bash",
            executes,
            command("sudo ls"),
            vec![(command("sudo ls"), 'r'), (command("sudo ls -l"), 'a')],
        ),
        (
            "bash",
            executes,
            command("rm *.o && make"),
            vec![
                (command("rm *.o && make"), 'r'),
                (command("rm -rf / .o && make"), 'a'),
                (command("make"), 'a'),
            ],
        ),
        (
            "write",
            writes,
            inside("src/a"),
            vec![
                (inside("src/b/c"), 'r'),
                (inside("x"), 'a'),
                (inside("src/../x"), 'a'),
            ],
        ),
        (
            "read",
            reads,
            outside("a"),
            vec![(outside("b"), 'r'), (outside("../x"), 'a')],
        ),
        // The folder of this path holds the working folder.
        (
            "read",
            reads,
            outside("../beside"),
            vec![(outside("../beside"), 'r'), (outside("../x"), 'a')],
        ),
        (
            "mcp",
            executes,
            Touches::default(),
            vec![(Touches::default(), 'r'), (command("ls"), 'a')],
        ),
    ];
    for (tool, effect, asked, then) in table {
        let mut policy = Policy::new(PermissionMode::Ask, Vec::new());
        let always = always(tool, effect, &asked, &ground.work);
        for answer in [
            PermissionAnswer::AllowOnce,
            PermissionAnswer::RejectOnce,
            PermissionAnswer::Cancelled,
        ] {
            policy.remember(&always, answer);
            let decision = policy.decide(tool, effect, &asked, &ground.work);
            assert_eq!(letter(&decision), 'a', "{tool} {asked:?}");
        }
        policy.remember(&always, PermissionAnswer::AllowAlways);
        for (touches, expected) in then {
            let decision = policy.decide(tool, effect, &touches, &ground.work);
            assert_eq!(letter(&decision), expected, "{tool} {asked:?} {touches:?}");
        }
        let other = policy.decide("other", effect, &asked, &ground.work);
        assert_eq!(letter(&other), 'a', "another tool");
        policy.remember(&always, PermissionAnswer::RejectAlways);
        let decision = policy.decide(tool, effect, &asked, &ground.work);
        assert_eq!(letter(&decision), 'd', "rejection outweighs");
    }
}

#[test]
fn a_kept_answer_decides_in_a_later_session_as_it_did_in_the_first() {
    let ground = ground();
    let executes = ToolEffect::Executes;
    let (writes, reads) = (ToolEffect::Writes, ToolEffect::Reads);
    for (tool, effect, asked, shown) in [
        (
            "bash",
            executes,
            command("git status -s"),
            "bash commands that start with `git status`".to_owned(),
        ),
        (
            "bash",
            executes,
            command("sudo ls"),
            "bash exactly `sudo ls`".to_owned(),
        ),
        (
            "write",
            writes,
            ground.on("src/a"),
            format!("write in {}/src and below", ground.work.display()),
        ),
        (
            "read",
            reads,
            ground.on("../beside"),
            format!(
                "read on {}",
                ground.work.parent().unwrap().join("beside").display()
            ),
        ),
        ("mcp", executes, Touches::default(), "mcp".to_owned()),
    ] {
        for (answer, word, letter_then) in [
            (PermissionAnswer::AllowAlways, "allow", 'r'),
            (PermissionAnswer::RejectAlways, "deny", 'd'),
        ] {
            let mut first = Policy::new(PermissionMode::Ask, Vec::new());
            let asked_for = always(tool, effect, &asked, &ground.work);
            let kept = first.remember(&asked_for, answer).unwrap();
            assert_eq!(kept.to_string(), format!("{word} {shown}"));
            let again = first.remember(&asked_for, answer);
            assert_eq!(again, None, "it is kept once");
            let text = serde_json::to_string(&kept).unwrap();
            let read: RememberedAnswer = serde_json::from_str(&text).unwrap();
            assert_eq!(read, kept, "{text}");
            let later = Policy::new(PermissionMode::Ask, Vec::new()).with_remembered(vec![read]);
            let decision = later.decide(tool, effect, &asked, &ground.work);
            assert_eq!(letter(&decision), letter_then, "{text}");
        }
    }
}

#[test]
fn an_answer_that_nobody_can_have_given_is_refused() {
    for text in [
        r#"{"tool":"bash","decision":"ask"}"#,
        r#"{"tool":"bash","command":"a","words":"b","decision":"allow"}"#,
        r#"{"tool":"read","folder":"a","decision":"allow"}"#,
        r#"{"tool":"read","path":"../a","decision":"allow"}"#,
        r#"{"tool":"read","paths":["/a"],"decision":"allow"}"#,
        r#"{"decision":"allow"}"#,
    ] {
        assert!(
            serde_json::from_str::<RememberedAnswer>(text).is_err(),
            "{text}"
        );
    }
}

#[test]
fn a_yes_for_a_folder_does_not_reach_what_is_protected_in_it() {
    let ground = ground();
    let (reads, writes) = (ToolEffect::Reads, ToolEffect::Writes);
    let outside = |path: &str| ground.on(&format!("../other/{path}"));
    let mut policy = Policy::new(PermissionMode::Ask, Vec::new());
    let yes_to = |policy: &mut Policy, tool: &str, effect, touches: &Touches| {
        let asked = always(tool, effect, touches, &ground.work);
        policy
            .remember(&asked, PermissionAnswer::AllowAlways)
            .unwrap()
            .to_string()
    };
    for touches in [ground.on("a"), outside("a")] {
        yes_to(&mut policy, "write", writes, &touches);
        yes_to(&mut policy, "read", reads, &touches);
    }
    symlink(".git", ground.work.join("innocent")).unwrap();
    let decide = |policy: &Policy, tool: &str, effect, touches: &Touches| {
        letter(&policy.decide(tool, effect, touches, &ground.work))
    };
    let protected = [
        ground.on(".git/hooks/pre-commit"),
        ground.on("sub/.stentor/config.toml"),
        ground.on("innocent/config"),
        outside(".git/hooks/pre-commit"),
    ];
    for touches in &protected {
        assert_eq!(
            decide(&policy, "write", writes, touches),
            'a',
            "{touches:?}"
        );
        assert_eq!(decide(&policy, "read", reads, touches), 'r', "{touches:?}");
    }
    assert_eq!(decide(&policy, "write", writes, &ground.on("b/c")), 'r');
    assert_eq!(decide(&policy, "write", writes, &outside("b/c")), 'r');
    // A yes to one of them is about that one, also when it is given for always.
    for touches in &protected {
        let kept = yes_to(&mut policy, "write", writes, touches);
        assert!(kept.starts_with("allow write on /"), "{kept}");
        assert_eq!(
            decide(&policy, "write", writes, touches),
            'r',
            "{touches:?}"
        );
    }
    for path in [".git/hooks/pre-push", "sub/.stentor/x", "../other/.git/x"] {
        assert_eq!(
            decide(&policy, "write", writes, &ground.on(path)),
            'a',
            "{path}"
        );
    }
}

#[test]
fn always_to_a_call_that_only_its_words_describe_is_about_exactly_these_words() {
    let ground = ground();
    let words = |words: &str| Touches {
        words: Some(words.into()),
        ..Touches::default()
    };
    let executes = ToolEffect::Executes;
    let look = words("goose: Look around");
    let said = always("other", executes, &look, &ground.work);
    assert_eq!(said.allow.scope(), "exactly this call");
    let stored = serde_json::to_value(&said.allow).unwrap();
    assert_eq!(
        stored,
        serde_json::json!({ "tool": "other", "call": "goose: Look around", "decision": "allow" })
    );
    let stored: RememberedAnswer = serde_json::from_value(stored).unwrap();
    let every: RememberedAnswer =
        serde_json::from_str(r#"{ "tool": "other", "decision": "allow" }"#).unwrap();
    let on = |path: &str| Touches {
        words: Some("goose: Delete".into()),
        ..ground.on(path)
    };
    let folder = always("other", ToolEffect::Writes, &ground.on("a"), &ground.work).allow;
    for (remembered, touches, expected) in [
        (stored.clone(), look.clone(), 'r'),
        (stored.clone(), words("codex: Look around"), 'a'),
        (stored.clone(), words("goose: Delete the database"), 'a'),
        (stored, Touches::default(), 'a'),
        // What was stored for every call before.
        (every.clone(), look, 'a'),
        (every, Touches::default(), 'r'),
        (folder, on("a"), 'a'),
    ] {
        let policy =
            Policy::new(PermissionMode::Ask, Vec::new()).with_remembered(vec![remembered.clone()]);
        let decision = policy.decide("other", executes, &touches, &ground.work);
        assert_eq!(letter(&decision), expected, "{remembered} {touches:?}");
    }
}
