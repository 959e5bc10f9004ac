use expect_test::{Expect, expect};

use stentor_agent::project_files::FileOwner::Own;

use super::*;

fn place() -> FilePlace<'static> {
    FilePlace {
        path: Path::new("config.toml").into(),
        scope: Scope::User,
        base: Path::new("/etc/stentor"),
        home: Some(Path::new("/home/u")),
    }
}

fn check_errors(text: &str, expected: &Expect) {
    let errors = parse(text, &place()).expect_err("the file is wrong");
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn wrong_keys_say_where_they_are_and_what_was_meant() {
    check_errors(
        "modle = \"x\"\nmax_attempts = 2\n[retry]\nmax_atempts = 3\ncolour = 1\n[compation]\nreserve_tokens = 1\n[provider]\nx = 1\n",
        &expect![[r#"
            config.toml:1:1: unknown key `modle`; did you mean `model`?
            config.toml:2:1: unknown key `max_attempts`; did you mean `retry.max_attempts`?
            config.toml:4:1: unknown key `retry.max_atempts`; did you mean `retry.max_attempts`?
            config.toml:5:1: unknown key `retry.colour`
            config.toml:6:2: unknown key `compation`; did you mean `compaction`?
            config.toml:8:1: `provider` is a table, expected a name"#]],
    );
}

#[test]
fn wrong_values_say_where_they_are_and_what_is_expected() {
    check_errors(
        "thinking = \"hgih\"\ntools = \"read\"\nauto_retry = \"yes\"\nretry = 3\nmodel = 4\nsteering_mode = 'one'\n[budget]\ncost = -1\nturns = 2.5\n",
        &expect![[r#"
            config.toml:1:12: `thinking` is "hgih", expected off, minimal, low, medium, high or xhigh; did you mean `high`?
            config.toml:2:9: `tools` is "read", expected a list of names, as in ["read", "bash"]
            config.toml:3:14: `auto_retry` is "yes", expected true or false
            config.toml:4:9: `retry` is 3, expected a table, as in [retry]
            config.toml:5:9: `model` is 4, expected a name
            config.toml:6:17: `steering_mode` is "one", expected all or one-at-a-time; did you mean `one-at-a-time`?
            config.toml:8:8: `budget.cost` is -1, expected a number, zero or more
            config.toml:9:9: `budget.turns` is 2.5, expected a whole number, zero or more"#]],
    );
}

#[test]
fn what_is_no_toml_says_where_it_breaks() {
    check_errors(
        "model = \"x\"\nthinking = \n",
        &expect![[r#"config.toml:2:12: string values must be quoted, expected literal string"#]],
    );
    check_errors(
        "model = \"x\"\nmodel = \"y\"\n",
        &expect!["config.toml:2:1: duplicate key"],
    );
}

#[test]
fn rules_with_wrong_keys_or_values_are_refused_one_by_one() {
    check_errors(
        "[[permissions]]\ntool = \"bash\"\n\n[[permissions]]\ntol = \"bash\"\ndecision = \"alow\"\n\n[[permissions]]\neffect = \"write\"\ndecision = \"deny\"\ncommand = 3\n",
        &expect![[r#"
            config.toml:1:1: `permissions.decision` is missing, expected allow, ask or deny
            config.toml:5:1: unknown key `permissions.tol`; did you mean `tool`?
            config.toml:6:12: `permissions.decision` is "alow", expected allow, ask or deny; did you mean `allow`?
            config.toml:9:10: `permissions.effect` is "write", expected nothing, reads, writes or executes; did you mean `writes`?
            config.toml:11:11: `permissions.command` is 3, expected a name"#]],
    );
    check_errors(
        "[[permissions]]\npath = \"a[\"\ndecision = \"deny\"\n",
        &expect![
            "config.toml:1:1: `a[` is not a valid path pattern: unclosed character class; missing ']'"
        ],
    );
    check_errors(
        "permissions = [1]\n",
        &expect!["config.toml:1:16: `permissions` is 1, expected tables, as in [[permissions]]"],
    );
    check_errors(
        "permissions = \"all\"\n",
        &expect![[
            r#"config.toml:1:15: `permissions` is "all", expected tables, as in [[permissions]]"#
        ]],
    );
}

#[test]
fn rules_are_kept_in_order_with_their_places() {
    let content = parse(
        "[[permissions]]\ntool = \"bash\"\ncommand = \"git *\"\ndecision = \"allow\"\n[[permissions]]\neffect = \"writes\"\npath = \"/etc/**\"\ndecision = \"deny\"\n",
        &place(),
    )
    .unwrap();
    let shown: Vec<String> = content
        .permissions
        .iter()
        .map(|rule| format!("{} {}", rule.source, rule.value))
        .collect();
    expect![[r#"
        config.toml:1 { tool = "bash", command = "git *", decision = "allow" }
        config.toml:5 { effect = "writes", path = "/etc/**", decision = "deny" }"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn provider_tables_are_handed_on_as_they_are() {
    let content = parse(
        "[providers.local]\nbase_url = \"http://127.0.0.1:1/v1\"\n[[providers.local.models]]\nid = \"m\"\n[models.\"x/y\"]\ncontext_window = 5\n",
        &place(),
    )
    .unwrap();
    let [raw] = &content.providers[..] else {
        panic!("one provider expected");
    };
    assert_eq!((raw.name.as_str(), raw.at.line), ("local", 1));
    assert_eq!(raw.table["models"][0]["id"].as_str(), Some("m"));
    assert_eq!(content.models[0].name, "x/y");
    check_errors(
        "providers = 1\n[models]\nx = 1\n",
        &expect![[r#"
            config.toml:1:13: `providers` is 1, expected tables, as in [providers.NAME]
            config.toml:3:5: `models.x` is 1, expected a table"#]],
    );
}

#[test]
fn a_file_that_is_not_there_says_nothing_and_one_that_cannot_be_read_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| FilePlace {
        path: dir.path().join(name).into(),
        ..place()
    };
    assert_eq!(
        read_file(&at("none.toml"), Own).unwrap(),
        FileContent::default()
    );
    std::fs::write(dir.path().join("latin1.toml"), b"model = \"caf\xe9\"").unwrap();
    let message = |name: &str| {
        let text = read_file(&at(name), Own).unwrap_err()[0].to_string();
        text.replace(&format!("{}/", dir.path().display()), "")
    };
    assert_eq!(
        message("latin1.toml"),
        "latin1.toml: is not UTF-8 (byte 12)"
    );
    std::fs::write(dir.path().join("big.toml"), vec![b'#'; 1024 * 1024 + 1]).unwrap();
    assert_eq!(
        message("big.toml"),
        "big.toml: cannot be read: it is larger than 1048576 bytes"
    );
    std::fs::create_dir(dir.path().join("folder.toml")).unwrap();
    assert_eq!(
        message("folder.toml"),
        "folder.toml: cannot be read: it is not a regular file"
    );
    assert_eq!(
        read_file(&at("big.toml/x"), Own).unwrap(),
        FileContent::default()
    );
}

#[test]
fn every_key_of_the_table_can_be_set_and_shown() {
    let text = r#"
        provider = "p"
        model = "m"
        thinking = "low"
        permission_mode = "ask"
        tools = ["read"]
        system_prompt = ""
        append_system_prompt = "more"
        data_dir = "~/d"
        session_dir = "s"
        context_files = false
        steering_mode = "all"
        follow_up_mode = "all"
        interrupt_mode = "wait"
        auto_compaction = false
        auto_retry = false
        trusted_projects = ["~/work"]
        extension_files = ["~/guard.py"]
        use_skills = false
        use_prompt_templates = false
        use_extensions = false
        memory = false
        todo_clear_after_s = 30
        max_answer_bytes = 9
        undo = false
        ca_file = "~/root.pem"
        [budget]
        tokens = 1
        cost = 0.5
        turns = 3
        [compaction]
        reserve_tokens = 4
        keep_recent_tokens = 5
        [retry]
        max_attempts = 6
        base_delay_ms = 7
        fallback = ["p/b"]
        fallback_cooldown_ms = 8
        fallback_returns = false
        [sandbox]
        mode = "read-only"
        network = true
        writable = ["~/w"]
        unreadable = ["~/.ssh"]
        required = true
        [limits]
        processes = 10
        memory_mb = 9
        file_mb = 11
    "#;
    let settings = parse(text, &place()).unwrap().layer.settle();
    let shown: Vec<String> = settings
        .shown()
        .into_iter()
        .map(|shown| match shown.value {
            Some(set) => format!("{} = {} ({})", shown.key.name, set.value, set.source),
            None => format!("{} is not set", shown.key.name),
        })
        .collect();
    expect![[r#"
        provider = "p" (config.toml:2)
        model = "m" (config.toml:3)
        thinking = "low" (config.toml:4)
        permission_mode = "ask" (config.toml:5)
        tools = ["read"] (config.toml:6)
        system_prompt = "" (config.toml:7)
        append_system_prompt = "more" (config.toml:8)
        memory = false (config.toml:22)
        ca_file = "/home/u/root.pem" (config.toml:26)
        data_dir = "/home/u/d" (config.toml:9)
        session_dir = "/etc/stentor/s" (config.toml:10)
        extension_files = ["/home/u/guard.py"] (config.toml:18)
        retry.fallback = ["p/b"] (config.toml:37)
        todo_clear_after_s = 30 (config.toml:23)
        web.search_url is not set
        web.search_key_env is not set
        limits.memory_mb = 9 (config.toml:48)
        budget.tokens = 1 (config.toml:28)
        budget.cost = 0.5 (config.toml:29)
        budget.turns = 3 (config.toml:30)
        context_files = false (config.toml:11)
        steering_mode = "all" (config.toml:12)
        follow_up_mode = "all" (config.toml:13)
        interrupt_mode = "wait" (config.toml:14)
        auto_compaction = false (config.toml:15)
        compaction.reserve_tokens = 4 (config.toml:32)
        compaction.keep_recent_tokens = 5 (config.toml:33)
        auto_retry = false (config.toml:16)
        retry.max_attempts = 6 (config.toml:35)
        retry.base_delay_ms = 7 (config.toml:36)
        retry.fallback_cooldown_ms = 8 (config.toml:38)
        retry.fallback_returns = false (config.toml:39)
        max_answer_bytes = 9 (config.toml:24)
        undo = false (config.toml:25)
        background.wake = true (default)
        sandbox.mode = "read-only" (config.toml:41)
        sandbox.network = true (config.toml:42)
        sandbox.writable = ["/home/u/w"] (config.toml:43)
        sandbox.unreadable = ["/home/u/.ssh"] (config.toml:44)
        sandbox.required = true (config.toml:45)
        limits.processes = 10 (config.toml:47)
        limits.file_mb = 11 (config.toml:49)
        pass_env = [] (default)
        session_folders = false (default)
        share_sessions = true (default)
        use_skills = false (config.toml:19)
        use_prompt_templates = false (config.toml:20)
        use_extensions = false (config.toml:21)
        use_mcp_servers = true (default)
        mcp_wait_ms = 10000 (default)
        use_local_servers = true (default)
        web.allow_private = [] (default)
        web.timeout_s = 30 (default)
        web.max_bytes = 5242880 (default)
        web.search = "off" (default)
        web.search_key_header = "X-Subscription-Token" (default)
        attach = "never" (default)
        trusted_projects = ["/home/u/work"] (config.toml:17)"#]]
    .assert_eq(&shown.join("\n"));
}
