use super::*;
use crate::message::ToolCall;
use std::os::unix::fs::symlink;
use std::sync::Arc;

struct Ground {
    _folder: tempfile::TempDir,
    work: PathBuf,
    other: PathBuf,
}

fn ground() -> Ground {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let (work, other) = (base.join("work"), base.join("other"));
    std::fs::create_dir_all(work.join("src")).unwrap();
    std::fs::create_dir_all(&other).unwrap();
    symlink(&other, work.join("out")).unwrap();
    symlink(other.join("new"), work.join("dangling")).unwrap();
    Ground {
        _folder: folder,
        work,
        other,
    }
}

impl Ground {
    fn on(&self, path: &str) -> Touches {
        Touches {
            paths: vec![self.work.join(path)],
            ..Touches::default()
        }
    }
}

fn command(command: &str) -> Touches {
    Touches {
        command: Some(command.into()),
        ..Touches::default()
    }
}

fn rules(text: &str) -> Vec<Rule> {
    #[derive(serde::Deserialize)]
    struct Rules {
        rules: Vec<Rule>,
    }
    toml::from_str::<Rules>(&format!("rules = [{text}]"))
        .unwrap()
        .rules
}

/// A decision in one letter: may run, is asked, is denied.
fn letter(decision: &Decision) -> char {
    match decision {
        Decision::Allow => 'r',
        Decision::Ask(_) => 'a',
        Decision::Deny(_) => 'd',
    }
}

#[test]
fn the_mode_decides_where_no_rule_does() {
    let ground = ground();
    // One column per mode: read-only, ask, accept-edits, all.
    for (tool, effect, touches, expected) in [
        ("todo", ToolEffect::Nothing, Touches::default(), "rrrr"),
        ("read", ToolEffect::Reads, ground.on("src/a.rs"), "rrrr"),
        ("read", ToolEffect::Reads, ground.on("src/../src/a"), "rrrr"),
        ("read", ToolEffect::Reads, Touches::default(), "rrrr"),
        ("read", ToolEffect::Reads, ground.on("../other/x"), "daar"),
        ("read", ToolEffect::Reads, ground.on("out/x"), "daar"),
        ("read", ToolEffect::Reads, ground.on("/etc/passwd"), "daar"),
        ("write", ToolEffect::Writes, ground.on("src/a.rs"), "darr"),
        ("write", ToolEffect::Writes, ground.on("new/deep/a"), "darr"),
        ("write", ToolEffect::Writes, ground.on("out/x"), "daar"),
        ("write", ToolEffect::Writes, ground.on("dangling"), "daar"),
        (
            "write",
            ToolEffect::Writes,
            ground.on("src/../../x"),
            "daar",
        ),
        ("save", ToolEffect::Writes, Touches::default(), "daar"),
        ("bash", ToolEffect::Executes, command("ls"), "daar"),
    ] {
        let letters: String = PermissionMode::ALL
            .into_iter()
            .map(|mode| {
                let policy = Policy::new(mode, Vec::new());
                letter(&policy.decide(tool, effect, &touches, &ground.work))
            })
            .collect();
        assert_eq!(letters, expected, "{tool} {touches:?}");
    }
}

#[test]
fn further_folders_count_as_they_are_given() {
    let ground = ground();
    let policy = Policy::new(PermissionMode::AcceptEdits, Vec::new());
    let decide = |policy: &Policy, effect| {
        letter(&policy.decide("x", effect, &ground.on("../other/x"), &ground.work))
    };
    let readable = policy.clone().with_readable(vec![ground.other.clone()]);
    assert_eq!(decide(&readable, ToolEffect::Reads), 'r');
    assert_eq!(decide(&readable, ToolEffect::Writes), 'a');
    // Also through a link.
    let rooted = policy.with_roots(vec![ground.work.join("out")]);
    assert_eq!(decide(&rooted, ToolEffect::Writes), 'r');
}

#[test]
fn the_most_specific_rule_decides_and_denial_breaks_a_tie() {
    let ground = ground();
    let rules = rules(
        r#"{tool = "bash", decision = "deny"},
           {tool = "bash", command = "git *", decision = "allow"},
           {tool = "bash", command = "git push*", decision = "ask"},
           {command = "git add *", decision = "allow"}, {command = "git add *", decision = "deny"},
           {tool = "mcp_*", decision = "allow"}, {tool = "mcp_bad", decision = "deny"},
           {effect = "writes", path = "src/**", decision = "allow"},
           {path = "src/gen", decision = "deny"},
           {path = "**/.env", decision = "deny"}"#,
    );
    let policy = Policy::new(PermissionMode::Ask, rules);
    let (reads, writes, executes) = (ToolEffect::Reads, ToolEffect::Writes, ToolEffect::Executes);
    for (tool, effect, touches, expected) in [
        ("bash", executes, command("ls"), 'd'),
        ("bash", executes, command("git status"), 'r'),
        ("bash", executes, command("git"), 'r'),
        ("bash", executes, command("git push origin"), 'a'),
        ("bash", executes, command("git add x"), 'd'),
        ("bash", executes, command("git log | git status"), 'r'),
        ("bash", executes, command("git log && ls"), 'd'),
        ("bash", executes, command("git log; git push"), 'a'),
        ("bash", executes, command("git log > x"), 'd'),
        ("bash", executes, command("git log #' \n rm x #'"), 'd'),
        ("bash", executes, command("git $(ls)"), 'd'),
        ("mcp_good", executes, Touches::default(), 'r'),
        ("mcp_bad", executes, Touches::default(), 'd'),
        ("edit", writes, ground.on("src/a/b.rs"), 'r'),
        ("edit", writes, ground.on("a.rs"), 'a'),
        ("edit", writes, ground.on("src/../a.rs"), 'a'),
        ("edit", writes, ground.on("src/gen/x"), 'd'),
        ("read", reads, ground.on("src/gen"), 'd'),
        ("read", reads, ground.on("a/.env"), 'd'),
        ("read", reads, ground.on("a/env"), 'r'),
    ] {
        let decision = policy.decide(tool, effect, &touches, &ground.work);
        assert_eq!(
            letter(&decision),
            expected,
            "{tool} {touches:?} {decision:?}"
        );
    }
}

#[test]
fn a_command_pattern_allows_only_what_is_understood() {
    let ground = ground();
    let rules = rules(
        r#"{tool = "bash", command = "git *", decision = "allow"},
           {tool = "bash", command = "rm *", decision = "deny"}"#,
    );
    let policy = Policy::new(PermissionMode::Ask, rules);
    for (text, expected) in [
        ("git status && git log", 'r'),
        ("git status && make", 'a'),
        ("make && rm x", 'd'),
        ("git status; rm x", 'd'),
        ("git log $(rm x)", 'd'),
        ("git log `rm x`", 'd'),
        ("git log > .bashrc", 'a'),
        ("git log 2>/dev/null", 'r'),
        ("PATH=. git log", 'a'),
        ("if git log; then git show; fi", 'a'),
        ("git log <<EOF\nx\nEOF", 'a'),
        ("echo # x\nrm y", 'd'),
        ("gitx", 'a'),
    ] {
        let decision = policy.decide("bash", ToolEffect::Executes, &command(text), &ground.work);
        assert_eq!(letter(&decision), expected, "{text}");
    }
}

#[test]
fn blanks_and_quotes_lead_past_no_denial_and_into_no_permission() {
    let ground = ground();
    let rules = rules(
        r#"{tool = "bash", command = "git push*", decision = "deny"},
           {tool = "bash", command = "git log *", decision = "allow"}"#,
    );
    let mut policy = Policy::new(PermissionMode::Ask, rules);
    let asked = request(
        "bash",
        ToolEffect::Executes,
        &command("npm publish"),
        &ground.work,
    );
    policy.remember(&asked, PermissionAnswer::RejectAlways);
    for (text, expected) in [
        ("git  push x", 'd'),
        ("git\tpush", 'd'),
        ("git \"push\" x", 'd'),
        ("git 'push' x", 'd'),
        ("g''it pu\\sh", 'd'),
        ("git \\\n push", 'd'),
        ("make && git  push", 'd'),
        ("git  push # it", 'd'),
        ("(cat <<< x; git \"push\")", 'd'),
        ("npm 'publish' --tag x", 'd'),
        ("git log -1", 'r'),
        // One word, the name of another program.
        ("'git log' x", 'a'),
        ("git pull", 'a'),
    ] {
        let decision = policy.decide("bash", ToolEffect::Executes, &command(text), &ground.work);
        assert_eq!(letter(&decision), expected, "{text}");
    }
}

#[test]
fn a_path_rule_sees_through_links() {
    let ground = ground();
    let deny = format!(
        r#"{{path = "{}/**", decision = "deny"}}"#,
        ground.other.display()
    );
    let policy = Policy::new(PermissionMode::All, rules(&deny));
    for (path, expected) in [("out/x", 'd'), ("dangling", 'd'), ("src/x", 'r')] {
        let decision = policy.decide("read", ToolEffect::Reads, &ground.on(path), &ground.work);
        assert_eq!(letter(&decision), expected, "{path}");
    }
    // Allowing what the link is called does not allow where it leads.
    let allow = rules(r#"{path = "out*/**", decision = "allow"}"#);
    let policy = Policy::new(PermissionMode::Ask, allow);
    let decision = policy.decide("read", ToolEffect::Reads, &ground.on("out/x"), &ground.work);
    assert_eq!(letter(&decision), 'a');
}

#[test]
fn nothing_lifts_read_only_and_nothing_is_asked_in_it() {
    let ground = ground();
    let rules = rules(
        r#"{tool = "bash", decision = "allow"}, {tool = "todo", decision = "ask"},
           {path = "src/secret", decision = "ask"}"#,
    );
    let mut policy = Policy::new(PermissionMode::Ask, rules);
    let request = request("write", ToolEffect::Writes, &ground.on("a"), &ground.work);
    policy.remember(&request, PermissionAnswer::AllowAlways);
    policy.set_mode(PermissionMode::ReadOnly);
    for (tool, effect, touches) in [
        ("bash", ToolEffect::Executes, command("ls")),
        ("write", ToolEffect::Writes, ground.on("a")),
        ("todo", ToolEffect::Nothing, Touches::default()),
        ("read", ToolEffect::Reads, ground.on("src/secret")),
    ] {
        let decision = policy.decide(tool, effect, &touches, &ground.work);
        assert_eq!(letter(&decision), 'd', "{tool}");
    }
}

fn request(tool: &str, effect: ToolEffect, touches: &Touches, cwd: &Path) -> PermissionRequest {
    let paths: Vec<PathBuf> = touches
        .paths
        .iter()
        .filter_map(|path| resolve(path))
        .collect();
    PermissionRequest {
        call: Arc::new(ToolCall {
            id: "1".into(),
            name: tool.into(),
            arguments: serde_json::Map::new(),
            thought_signature: None,
            intent: None,
        }),
        effect,
        always: Always::about(tool, touches.command.as_deref(), &paths, cwd),
        paths,
        command: touches.command.clone(),
        reason: String::new(),
    }
}

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
        let request = request(tool, effect, &asked, &ground.work);
        for answer in [
            PermissionAnswer::AllowOnce,
            PermissionAnswer::RejectOnce,
            PermissionAnswer::Cancelled,
        ] {
            policy.remember(&request, answer);
            let decision = policy.decide(tool, effect, &asked, &ground.work);
            assert_eq!(letter(&decision), 'a', "{tool} {asked:?}");
        }
        policy.remember(&request, PermissionAnswer::AllowAlways);
        for (touches, expected) in then {
            let decision = policy.decide(tool, effect, &touches, &ground.work);
            assert_eq!(letter(&decision), expected, "{tool} {asked:?} {touches:?}");
        }
        let other = policy.decide("other", effect, &asked, &ground.work);
        assert_eq!(letter(&other), 'a', "another tool");
        policy.remember(&request, PermissionAnswer::RejectAlways);
        let decision = policy.decide(tool, effect, &asked, &ground.work);
        assert_eq!(letter(&decision), 'd', "rejection outweighs");
    }
}

#[test]
fn a_configured_denial_stands_whatever_was_answered() {
    let ground = ground();
    let rules = rules(
        r#"{tool = "bash", command = "git push*", decision = "deny"},
           {tool = "bash", command = "git *", decision = "ask"}"#,
    );
    let mut policy = Policy::new(PermissionMode::Ask, rules);
    let asked = request(
        "bash",
        ToolEffect::Executes,
        &command("git push"),
        &ground.work,
    );
    policy.remember(&asked, PermissionAnswer::AllowAlways);
    let asked = request(
        "bash",
        ToolEffect::Executes,
        &command("git log -1"),
        &ground.work,
    );
    policy.remember(&asked, PermissionAnswer::AllowAlways);
    for (text, expected) in [
        ("git push", 'd'),
        ("git log -1", 'r'),
        ("git log -1; git push", 'd'),
    ] {
        let decision = policy.decide("bash", ToolEffect::Executes, &command(text), &ground.work);
        assert_eq!(letter(&decision), expected, "{text}");
    }
}

#[test]
fn a_denial_says_what_by_what_and_what_instead() {
    let ground = ground();
    let policy = Policy::new(
        PermissionMode::ReadOnly,
        rules(r#"{tool = "bash", command = "rm *", decision = "deny"}"#),
    );
    let work = ground.work.display();
    for (effect, tool, touches, expected) in [
        (
            ToolEffect::Executes,
            "bash",
            command("rm -rf x"),
            "Permission denied: bash `rm -rf x` is forbidden by the rule { tool = \"bash\", \
             command = \"rm *\", decision = \"deny\" }. Do not try to reach the same by other \
             means. Go on without it, or tell the user what you need and why."
                .to_owned(),
        ),
        (
            ToolEffect::Writes,
            "write",
            ground.on("a"),
            format!(
                "Permission denied: write on {work}/a: this session is read-only and may not \
                 change files. You can read files in {work}; describe to the user what you would \
                 do beyond that."
            ),
        ),
        (
            ToolEffect::Reads,
            "read",
            ground.on("/etc/hosts"),
            format!(
                "Permission denied: read on /etc/hosts: /etc/hosts is outside the working folder, \
                 and this session may only read inside it. You can read files in {work}; describe \
                 to the user what you would do beyond that."
            ),
        ),
    ] {
        let decision = policy.decide(tool, effect, &touches, &ground.work);
        assert_eq!(decision, Decision::Deny(expected));
    }
    let policy = Policy::new(PermissionMode::Ask, Vec::new());
    let asked = policy.decide(
        "write",
        ToolEffect::Writes,
        &ground.on("out/x"),
        &ground.work,
    );
    let outside = ground.other.join("x");
    assert_eq!(
        asked,
        Decision::Ask(format!(
            "write touches {}, which is outside the working folder",
            outside.display()
        ))
    );
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
            let asked_for = request(tool, effect, &asked, &ground.work);
            let kept = first.remember(&asked_for, answer).unwrap();
            assert_eq!(kept.to_string(), format!("{word} {shown}"));
            let again = first.remember(&asked_for, answer);
            assert_eq!(again, None, "it is kept once");
            let text = serde_json::to_string(&kept).unwrap();
            let read: Remembered = serde_json::from_str(&text).unwrap();
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
        assert!(serde_json::from_str::<Remembered>(text).is_err(), "{text}");
    }
}

#[test]
fn nothing_opens_the_wall() {
    let ground = ground();
    let hidden = ground.other.join("secret");
    let within = |extra: Vec<PathBuf>| WriteLimit::Within(extra);
    let (reads, writes, executes) = (ToolEffect::Reads, ToolEffect::Writes, ToolEffect::Executes);
    let (open, closed) = ('r', 'd');
    for (limit, effect, touches, expected) in [
        (WriteLimit::Nowhere, writes, ground.on("a"), closed),
        (WriteLimit::Nowhere, reads, ground.on("a"), open),
        (WriteLimit::Nowhere, executes, command("rm x"), open),
        (within(vec![]), writes, ground.on("a"), open),
        (within(vec![]), writes, ground.on("../x"), closed),
        // A link in the folder that leads out of it.
        (within(vec![]), writes, ground.on("out/x"), closed),
        (within(vec![]), writes, Touches::default(), closed),
        (
            within(vec![ground.other.clone()]),
            writes,
            ground.on("out/x"),
            open,
        ),
        (WriteLimit::Anywhere, writes, ground.on("out/x"), open),
        (WriteLimit::Anywhere, reads, ground.on("out/secret"), closed),
        (
            WriteLimit::Anywhere,
            reads,
            ground.on("out/secret/k"),
            closed,
        ),
        // Searching there would find it.
        (WriteLimit::Anywhere, reads, ground.on("out"), closed),
        (
            WriteLimit::Anywhere,
            writes,
            ground.on("out/secret"),
            closed,
        ),
    ] {
        let wall = Wall {
            writes: limit.clone(),
            unreadable: vec![hidden.clone()],
        };
        let rules = rules(r#"{decision = "allow"}"#);
        let mut policy = Policy::new(PermissionMode::All, rules).with_wall(wall);
        let asked = request("tool", effect, &touches, &ground.work);
        policy.remember(&asked, PermissionAnswer::AllowAlways);
        let decision = policy.decide("tool", effect, &touches, &ground.work);
        assert_eq!(
            letter(&decision),
            expected,
            "{limit:?} {effect:?} {touches:?}"
        );
    }
}
