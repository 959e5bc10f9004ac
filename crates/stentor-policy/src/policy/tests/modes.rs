//! What a mode decides, and what no rule opens.

use super::*;
use crate::path_guard::WriteLimit;

#[test]
fn the_mode_decides_where_no_rule_does() {
    let ground = ground();
    // One column per mode: read-only, plan, ask, accept-edits, all.
    for (tool, effect, touches, expected) in [
        ("todo", ToolEffect::Nothing, Touches::default(), "rrrrr"),
        ("read", ToolEffect::Reads, ground.on("src/a.rs"), "rrrrr"),
        (
            "read",
            ToolEffect::Reads,
            ground.on("src/../src/a"),
            "rrrrr",
        ),
        ("read", ToolEffect::Reads, Touches::default(), "rrrrr"),
        ("read", ToolEffect::Reads, ground.on("../other/x"), "daaar"),
        ("read", ToolEffect::Reads, ground.on("out/x"), "daaar"),
        ("read", ToolEffect::Reads, ground.on("/etc/passwd"), "daaar"),
        ("write", ToolEffect::Writes, ground.on("src/a.rs"), "ddarr"),
        (
            "write",
            ToolEffect::Writes,
            ground.on("new/deep/a"),
            "ddarr",
        ),
        ("write", ToolEffect::Writes, ground.on("out/x"), "ddaar"),
        ("write", ToolEffect::Writes, ground.on("dangling"), "ddaar"),
        (
            "write",
            ToolEffect::Writes,
            ground.on("src/../../x"),
            "ddaar",
        ),
        ("save", ToolEffect::Writes, Touches::default(), "ddaar"),
        ("bash", ToolEffect::Executes, command("ls"), "draar"),
        ("bash", ToolEffect::Executes, command("make"), "ddaar"),
        ("bash", ToolEffect::Executes, input("ls"), "ddaar"),
        ("fetch", ToolEffect::Executes, web("example.org"), "daaar"),
        ("mcp", ToolEffect::Executes, Touches::default(), "ddaar"),
        ("mcp", ToolEffect::Executes, claims_to_read(), "daaar"),
        ("extension", ToolEffect::Nothing, claims_to_read(), "rarrr"),
        ("extension", ToolEffect::Reads, claims_to_read(), "rarrr"),
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
fn nothing_lifts_read_only_and_nothing_is_asked_in_it() {
    let ground = ground();
    let rules = rules(
        r#"{tool = "bash", decision = "allow"}, {tool = "todo", decision = "ask"},
           {path = "src/secret", decision = "ask"}"#,
    );
    let mut policy = Policy::new(PermissionMode::Ask, rules);
    let always = always("write", ToolEffect::Writes, &ground.on("a"), &ground.work);
    policy.remember(&always, PermissionAnswer::AllowAlways);
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

#[test]
fn nothing_lets_plan_mode_change_anything() {
    let ground = ground();
    let rules = rules(
        r#"{decision = "allow"}, {tool = "bash", command = "*", decision = "allow"},
           {tool = "mcp", decision = "allow"}"#,
    );
    let mut policy = Policy::new(PermissionMode::All, rules);
    for (tool, effect, touches) in [
        ("bash", ToolEffect::Executes, command("touch x")),
        ("bash", ToolEffect::Executes, command("ls > x")),
        ("bash", ToolEffect::Executes, command("ls $(touch x)")),
        ("write", ToolEffect::Writes, ground.on("a")),
        ("mcp", ToolEffect::Executes, Touches::default()),
    ] {
        let always = always(tool, effect, &touches, &ground.work);
        policy.remember(&always, PermissionAnswer::AllowAlways);
        policy.set_mode(PermissionMode::Plan);
        let decision = policy.decide(tool, effect, &touches, &ground.work);
        let Decision::Deny(why) = decision else {
            panic!("{tool} {touches:?} may run");
        };
        assert!(why.contains("plan mode"), "{why}");
        assert_eq!(why.contains("commands"), tool == "bash", "{why}");
    }
    // What claims to read is decided by rules and answers.
    let (cwd, claims) = (&ground.work, claims_to_read());
    let decision = policy.decide("mcp", ToolEffect::Executes, &claims, cwd);
    assert_eq!(letter(&decision), 'r');
}

#[test]
fn nothing_opens_the_path_guard() {
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
        let path_guard = PathGuard {
            writes: limit.clone(),
            unreadable: vec![hidden.clone()],
        };
        let rules = rules(r#"{decision = "allow"}"#);
        let mut policy = Policy::new(PermissionMode::All, rules).with_path_guard(path_guard);
        let asked = always("tool", effect, &touches, &ground.work);
        policy.remember(&asked, PermissionAnswer::AllowAlways);
        let decision = policy.decide("tool", effect, &touches, &ground.work);
        assert_eq!(
            letter(&decision),
            expected,
            "{limit:?} {effect:?} {touches:?}"
        );
    }
}
