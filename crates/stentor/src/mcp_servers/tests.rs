//! Servers as files say them.

use std::ffi::OsString;
use std::path::Path;

use expect_test::{Expect, expect};
use stentor_agent::tool_servers::ToolServerTransport;

use super::{AllFound, find};
use crate::config::{Config, Layer, Platform, Surroundings, load};

struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let world = Self { dir };
        world.file("repo/.git/HEAD", "");
        world
    }

    fn file(&self, name: &str, text: &str) -> &Self {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn trust(&self, more: &str) -> &Self {
        let repo = self.dir.path().join("repo");
        self.file(
            "config/config.toml",
            &format!("trusted_projects = [{repo:?}]\n{more}"),
        )
    }

    fn env(&self) -> impl Fn(&str) -> Option<OsString> + use<'_> {
        |name| match name {
            "HOME" => Some(self.dir.path().join("home").into()),
            "STENTOR_CONFIG_DIR" => Some(self.dir.path().join("config").into()),
            "TOKEN" => Some("sesame".into()),
            _ => None,
        }
    }

    fn config(&self) -> Config {
        let surroundings = Surroundings {
            env: &self.env(),
            cwd: &self.dir.path().join("repo"),
            platform: Platform::Unix,
        };
        load(&surroundings, Layer::default()).unwrap()
    }

    fn found(&self) -> AllFound {
        find(&self.config(), &self.env()).unwrap()
    }

    /// The servers a line each, the folder's name left out.
    fn check(&self, expected: &Expect) {
        let AllFound {
            servers, warnings, ..
        } = self.found();
        let mut text = String::new();
        for found in servers {
            let target = match found.server {
                Err(why) => format!("problem: {why}"),
                Ok(server) => match server.transport {
                    ToolServerTransport::Stdio {
                        command,
                        args,
                        env,
                        cwd,
                    } => format!("{} {args:?} {env:?} {cwd:?}", command.display()),
                    ToolServerTransport::Http { url, headers }
                    | ToolServerTransport::Sse { url, headers } => format!("{url} {headers:?}"),
                },
            };
            let (name, transport, enabled) = (found.name, found.transport, found.is_enabled);
            text.push_str(&format!("{name} {transport} {enabled} {target}\n"));
        }
        for warning in warnings {
            text.push_str(&format!("warning: {warning}\n"));
        }
        let folder = self.dir.path().display().to_string();
        expected.assert_eq(&text.replace(&folder, "~~"));
    }
}

#[test]
fn servers_of_all_files_are_found_and_the_last_of_a_name_counts() {
    let world = World::new();
    world
        .trust(
            r#"
            [mcp_servers.one]
            command = ["npx", "-y"]
            args = ["~/server", "--token=${TOKEN}"]
            env = { KEY = "${TOKEN}", OTHER = "${NOT_SET:-none}" }
            cwd = "below"
            [mcp_servers.two]
            url = "https://example.org/${TOKEN}"
            headers = { Authorization = "Bearer ${TOKEN}" }
            "#,
        )
        .file(
            "repo/.mcp.json",
            r#"{ "mcpServers": {
                "two": { "type": "sse", "url": "http://h/sse", "somethingElse": 1 },
                "three": { "command": "./bin/server", "args": ["a"], "disabled": true },
                "four": { "url": "${NOT_SET}" }
            } }"#,
        )
        .file(
            "repo/.stentor/config.toml",
            "[mcp_servers.four]\ncommand = \"sh\"\n",
        );
    world.check(&expect![[r#"
        one stdio true npx ["-y", "~~/home/server", "--token=sesame"] [("KEY", "sesame"), ("OTHER", "none")] Some("~~/config/below")
        two sse true http://h/sse []
        four stdio true sh [] [] None
        three stdio false ~~/repo/./bin/server ["a"] [] None
    "#]]);
}

#[test]
fn a_file_of_others_that_cannot_be_read_is_a_warning() {
    let world = World::new();
    for (text, expected) in [
        (
            "{",
            expect![[r#"
                warning: ~~/repo/.mcp.json: left out: EOF while parsing an object at line 1 column 1
            "#]],
        ),
        (
            r#"{ "mcpServers": { "x": { "command": 7 } } }"#,
            expect![[r#"
                warning: ~~/repo/.mcp.json: left out: the server "x": invalid type: integer `7`, expected a string
            "#]],
        ),
        (
            r#"{ "mcpServers": { "x": {} } }"#,
            expect![[r#"
                warning: ~~/repo/.mcp.json: left out: the server "x": it needs either `command`, as in "npx" with `args`, or `url`
            "#]],
        ),
        (r#"{ "other": 1 }"#, expect![""]),
    ] {
        world.trust("").file("repo/.mcp.json", text);
        world.check(&expected);
    }
}

#[test]
fn one_wrong_server_of_a_file_of_others_takes_no_other_with_it() {
    let world = World::new();
    world.file(
        "repo/.mcp.json",
        r#"{ "mcpServers": {
            "a b": { "command": "sh" },
            "bad": { "command": 7 },
            "empty": { "command": " " },
            "good": { "command": "sh" },
            "web": { "url": "http://h/" }
        } }"#,
    );
    world.check(&expect![[r#"
        warning: ~~/repo/.mcp.json: left out: the server "a b": a server's name has 1 to 40 letters, digits, `-` and `_`, since it is part of the names of its tools
        warning: ~~/repo/.mcp.json: left out: the server "bad": invalid type: integer `7`, expected a string
        warning: ~~/repo/.mcp.json: left out: the server "empty": its `command` is empty
    "#]]);
    world.trust("");
    world.check(&expect![[r#"
        good stdio true sh [] [] None
        web http true http://h/ []
        warning: ~~/repo/.mcp.json: left out: the server "a b": a server's name has 1 to 40 letters, digits, `-` and `_`, since it is part of the names of its tools
        warning: ~~/repo/.mcp.json: left out: the server "bad": invalid type: integer `7`, expected a string
        warning: ~~/repo/.mcp.json: left out: the server "empty": its `command` is empty
    "#]]);
}

#[test]
fn what_people_are_shown_has_no_secrets() {
    let world = World::new();
    world.trust(
        r#"
        [mcp_servers.one]
        command = "server"
        args = ["--token=${TOKEN}"]
        env = { KEY = "hidden" }
        [mcp_servers.two]
        url = "https://me:hidden@example.org/mcp?key=hidden"
        headers = { Authorization = "hidden" }
        "#,
    );
    let found = world.found().servers;
    let shown: Vec<_> = found
        .iter()
        .map(|found| (found.shown.as_str(), found.given.join(",")))
        .collect();
    assert_eq!(
        shown,
        [
            ("server --token=${TOKEN}", "KEY".to_owned()),
            ("https://example.org/mcp", "Authorization".to_owned()),
        ]
    );
}

#[test]
fn a_table_that_makes_no_sense_is_an_error_with_its_place() {
    for (table, why) in [
        (
            "command = \"x\"\nurl = \"http://h\"",
            "it has both a `command` and a `url`",
        ),
        (
            "command = \"x\"\nheaders = { A = \"b\" }",
            "`headers` are for a server with a `url`",
        ),
        (
            "url = \"http://h\"\nargs = [\"a\"]",
            "`args`, `env` and `cwd` are for a server with a `command`",
        ),
        (
            "url = \"http://h\"\ntransport = \"stdio\"",
            "a server with a `url` has the transport \"http\" or \"sse\"",
        ),
        (
            "command = \"x\"\ntransport = \"sse\"",
            "a server with a `command` has the transport \"stdio\"",
        ),
        ("command = []", "its `command` is empty"),
    ] {
        let world = World::new();
        world.trust(&format!("[mcp_servers.x]\n{table}\n"));
        let errors = find(&world.config(), &world.env()).unwrap_err().to_string();
        let place = world.dir.path().join("config/config.toml");
        assert_eq!(
            errors,
            format!(
                "{}:2:14: [mcp_servers.x]: {why}",
                Path::new(&place).display()
            )
        );
    }
}

#[test]
fn a_project_may_not_leave_the_sandbox() {
    let world = World::new();
    world.trust("").file(
        "repo/.stentor/config.toml",
        "[mcp_servers.x]\ncommand = \"sh\"\nsandbox = false\n",
    );
    let errors = find(&world.config(), &world.env()).unwrap_err().to_string();
    assert!(
        errors.contains("only your own file may set `sandbox = false`"),
        "{errors}"
    );
}
