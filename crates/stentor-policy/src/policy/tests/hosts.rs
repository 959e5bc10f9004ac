//! Permission per host.

use super::*;

fn decided(policy: &Policy, host: &str) -> Decision {
    let (effect, cwd) = (ToolEffect::Executes, Path::new("/"));
    policy.decide("fetch", effect, &web(host), cwd)
}

#[test]
fn the_network_is_asked_about_like_a_command() {
    for (mode, expected) in [
        (PermissionMode::ReadOnly, 'd'),
        (PermissionMode::Ask, 'a'),
        (PermissionMode::AcceptEdits, 'a'),
        (PermissionMode::All, 'r'),
    ] {
        let decision = decided(&Policy::new(mode, Vec::new()), "docs.rs");
        assert_eq!(letter(&decision), expected, "{mode}");
    }
    let policy = Policy::new(PermissionMode::Ask, Vec::new());
    assert_eq!(
        decided(&policy, "docs.rs"),
        Decision::Ask("fetch from docs.rs uses the network".into())
    );
    let policy = Policy::new(PermissionMode::ReadOnly, Vec::new());
    assert_eq!(
        decided(&policy, "docs.rs"),
        Decision::Deny(
            "Permission denied: fetch from docs.rs: this session is read-only and may not use the \
             network. You can read files in /; describe to the user what you would do beyond that."
                .into()
        )
    );
}

#[test]
fn a_rule_is_about_a_host_its_subdomains_or_its_ports_as_it_is_written() {
    let one = "{ tool = \"fetch\", host = \"Docs.rs\", decision = \"allow\" }";
    let below = "{ host = \"*.example.org\", decision = \"allow\" }";
    let ports = "{ host = \"example.com:*\", decision = \"allow\" }";
    let no_port = "{ host = \"example.net:*\", decision = \"deny\" }";
    let numbers = "{ host = \"10.0.0.*\", decision = \"allow\" }";
    let denied = "{ host = \"evil.test\", decision = \"deny\" }";
    let asked = "{ host = \"*\", decision = \"ask\" }";
    for (text, host, expected) in [
        (one, "docs.rs", 'r'),
        (one, "a.docs.rs", 'a'),
        (one, "docs.rs.evil.test", 'a'),
        (one, "docs.rs:8443", 'a'),
        (below, "a.example.org", 'r'),
        (below, "example.org", 'a'),
        (below, "aexample.org", 'a'),
        (ports, "example.com:8443", 'r'),
        (ports, "example.com", 'r'),
        (no_port, "example.net", 'd'),
        (no_port, "example.net:8080", 'd'),
        (numbers, "10.0.0.1", 'r'),
        (numbers, "10.0.0.1:9200", 'a'),
        (denied, "evil.test", 'd'),
        (denied, "evil.test:8080", 'd'),
        (denied, "sub.evil.test", 'a'),
        (asked, "docs.rs", 'a'),
    ] {
        let policy = Policy::new(PermissionMode::Ask, rules(text));
        assert_eq!(letter(&decided(&policy, host)), expected, "{text} {host}");
    }
    let policy = Policy::new(PermissionMode::All, rules(asked));
    assert_eq!(letter(&decided(&policy, "docs.rs")), 'a');
    let touches = command("curl docs.rs");
    let decision = policy.decide("bash", ToolEffect::Executes, &touches, Path::new("/"));
    assert_eq!(letter(&decision), 'r', "a rule for hosts is about hosts");
}

#[test]
fn always_is_about_the_host_and_no_other() {
    for (answer, like) in [
        (PermissionAnswer::AllowAlways, 'r'),
        (PermissionAnswer::RejectAlways, 'd'),
    ] {
        let mut policy = Policy::new(PermissionMode::Ask, Vec::new());
        let asked = web("docs.rs");
        let always = always("fetch", ToolEffect::Executes, &asked, Path::new("/"));
        let remembered = policy.remember(&always, answer).unwrap();
        assert_eq!(remembered.scope(), "fetch from docs.rs");
        let stored = serde_json::to_string(&remembered).unwrap();
        assert_eq!(
            serde_json::from_str::<RememberedAnswer>(&stored).unwrap(),
            remembered
        );
        assert_eq!(letter(&decided(&policy, "docs.rs")), like);
        assert_eq!(letter(&decided(&policy, "docs.rs:8080")), 'a');
        assert_eq!(letter(&decided(&policy, "crates.io")), 'a');
    }
}
