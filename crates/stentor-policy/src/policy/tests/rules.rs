//! What configured rules decide.

use super::*;

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
    let asked = always(
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
fn a_configured_denial_stands_whatever_was_answered() {
    let ground = ground();
    let rules = rules(
        r#"{tool = "bash", command = "git push*", decision = "deny"},
           {tool = "bash", command = "git *", decision = "ask"}"#,
    );
    let mut policy = Policy::new(PermissionMode::Ask, rules);
    let asked = always(
        "bash",
        ToolEffect::Executes,
        &command("git push"),
        &ground.work,
    );
    policy.remember(&asked, PermissionAnswer::AllowAlways);
    let asked = always(
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
