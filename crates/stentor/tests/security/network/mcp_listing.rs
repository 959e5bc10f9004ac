//! `stentor mcp` shows no secret it was given, whatever a server does with it.

use crate::world::World;

#[test]
fn secrets_of_mcp_servers_are_hidden_in_listings_tests_and_errors() {
    let world = World::new(
        "",
        r#"
[mcp_servers.leaks]
command = "sh"
args = ["-c", "echo got $1 $2 $NAME $DATA >&2; exit 3", "sh", "--api-key", "hidden-argument"]
env = { NAME = "hidden-value", DATA = "/srv/data" }

[mcp_servers.mixed]
command = ["env", "GH_TOKEN=hidden-token", "absent-program"]
args = ["--password=hidden-word", "https://me:hidden-user@127.0.0.1/x?key=hidden-query"]

[mcp_servers.short]
command = "absent-program"
args = ["--pat", "hidden-1", "--jwt", "hidden-2", "--pass", "hidden-3", "--pw", "hidden-4",
        "--dsn=hidden-5", "--session", "hidden-6", "-k", "hidden-7", "--path", "shown"]

[mcp_servers.hook]
url = "http://hooks.localhost:1/services/T0/B0/hidden-hook"

[mcp_servers.random]
url = "http://127.0.0.1:1/s/hidden4f8a7b6c5d4e3f2a1b0c/mcp"

[mcp_servers.far]
url = "http://me:hidden-user@127.0.0.1:1/mcp?key=hidden-query"
headers = { Authorization = "Bearer hidden-header" }
"#,
    );
    let mut shown = Vec::new();
    for words in [
        &["mcp", "list"][..],
        &["mcp", "list", "--json"],
        &["mcp", "test"],
        &["mcp", "test", "--json"],
        &["config"],
        &["config", "--json"],
    ] {
        let out = world.command(words).output().unwrap();
        shown.push(String::from_utf8(out.stdout).unwrap());
        shown.push(String::from_utf8(out.stderr).unwrap());
    }
    let list = &shown[0];
    assert!(list.contains("--api-key [key]"), "{list}");
    assert!(
        list.contains("env GH_TOKEN=[key] absent-program --password=[key] https://127.0.0.1/x"),
        "{list}"
    );
    assert!(
        list.contains(
            "--pat [key] --jwt [key] --pass [key] --pw [key] --dsn=[key] --session [key] -k [key] \
             --path shown"
        ),
        "{list}"
    );
    assert!(list.contains("http://127.0.0.1:1/s/[key]/mcp"), "{list}");
    let tested = &shown[4];
    assert!(
        tested.contains("got --api-key [key] [key] /srv/data"),
        "{tested}"
    );
    for text in shown {
        assert!(!text.contains("hidden"), "{text}");
    }
}

#[test]
fn text_in_the_place_of_a_table_is_not_repeated_in_the_error() {
    let config = "[mcp_servers.x]\ncommand = \"x\"\nenv = \"TOKEN=hidden-value\"\n";
    let world = World::new("", config);
    let out = world.command(&["mcp", "list"]).output().unwrap();
    let stderr = String::from_utf8(out.stderr).unwrap();
    assert!(
        stderr.contains("[mcp_servers.x] invalid type: text"),
        "{stderr}"
    );
    assert!(!stderr.contains("hidden"), "{stderr}");
}
