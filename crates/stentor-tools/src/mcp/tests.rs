//! A server in a few lines of shell, and what becomes of it.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use stentor_agent::tool::ToolOutput;
use stentor_agent::tool_servers::{StartedServers, ToolServer, ToolServerTransport};

use super::servers;
use crate::testing::Workshop;

const SERVER: &str = r#"
echo started >> started
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"method":"initialize"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
    *'"method":"tools/list"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"good","inputSchema":{"type":"object"}},{"name":"bad","inputSchema":{"type":"object"}},{"name":"slow","inputSchema":{"type":"object"}},{"name":"die","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
    *'"name":"good"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"fine"},{"type":"image","data":"AA==","mimeType":"image/png"}],"structuredContent":{"n":1}}}\n' "$id" ;;
    *'"name":"bad"'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"no luck"}}\n' "$id" ;;
    *'"name":"die"'*)
      echo 'I leave' >&2; exit 1 ;;
    *'notifications/cancelled'*)
      echo cancelled >> cancelled ;;
  esac
done
"#;

fn shell(name: &str, script: &str) -> ToolServer {
    ToolServer {
        name: name.to_owned(),
        transport: ToolServerTransport::Stdio {
            command: PathBuf::from("/bin/sh"),
            args: vec!["-c".to_owned(), script.to_owned()],
            env: Vec::new(),
        },
    }
}

async fn settled(started: &Arc<dyn StartedServers>) {
    let mut seen = 0;
    while !started.is_settled() {
        seen = started.changed(seen).await.unwrap();
    }
}

async fn call(workshop: &Workshop, started: &Arc<dyn StartedServers>, name: &str) -> ToolOutput {
    let tools = started.tools();
    let tool = tools.iter().find(|tool| tool.spec().name == name).unwrap();
    let context = workshop.context();
    Arc::clone(tool).run(Map::new(), context).await
}

#[tokio::test]
async fn the_tools_of_a_server_run_and_fail_as_it_says() {
    let workshop = Workshop::new();
    let started = servers().start(vec![shell("s", SERVER)], workshop.folder.path());
    settled(&started).await;
    let names: Vec<String> = started
        .tools()
        .iter()
        .map(|tool| tool.spec().name.clone())
        .collect();
    assert_eq!(
        names,
        ["mcp__s__good", "mcp__s__bad", "mcp__s__slow", "mcp__s__die"]
    );
    let good = call(&workshop, &started, "mcp__s__good").await;
    assert_eq!(
        serde_json::to_value(&good).unwrap(),
        json!({
            "content": [
                { "type": "text", "text": "fine" },
                { "type": "image", "data": "AA==", "mimeType": "image/png" },
            ],
            "details": { "n": 1 },
        })
    );
    let bad = call(&workshop, &started, "mcp__s__bad").await;
    assert!(bad.is_error);
    assert!(format!("{bad:?}").contains("no luck"), "{bad:?}");
}

#[tokio::test]
async fn a_call_that_is_cancelled_ends_at_once_and_the_server_is_told() {
    let workshop = Workshop::new();
    let started = servers().start(vec![shell("s", SERVER)], workshop.folder.path());
    settled(&started).await;
    workshop.cancel.cancel();
    let slow = call(&workshop, &started, "mcp__s__slow").await;
    assert_eq!(slow, ToolOutput::error("Command aborted"));
    // Its next answer comes after it has read what came before.
    let other = Workshop::new();
    call(&other, &started, "mcp__s__good").await;
    assert!(workshop.path("cancelled").exists());
}

#[tokio::test]
async fn a_server_that_dies_takes_its_tools_along_and_its_last_words_are_told() {
    let workshop = Workshop::new();
    let started = servers().start(vec![shell("s", SERVER)], workshop.folder.path());
    settled(&started).await;
    let mut seen = started.changed(0).await.unwrap();
    let died = call(&workshop, &started, "mcp__s__die").await;
    assert!(died.is_error);
    while started.problems().is_empty() {
        seen = started.changed(seen).await.unwrap();
    }
    let problem = started.problems().remove(0);
    assert!(problem.contains("\"s\" is gone"), "{problem}");
    assert!(started.tools().is_empty());
}

#[tokio::test]
async fn a_server_that_does_not_start_is_a_problem_with_its_name_and_words() {
    let workshop = Workshop::new();
    let missing = ToolServer {
        name: "missing".to_owned(),
        transport: ToolServerTransport::Stdio {
            command: PathBuf::from("/no/such/program"),
            args: Vec::new(),
            env: Vec::new(),
        },
    };
    let ill = shell("ill", "echo I am ill >&2; exit 1");
    let odd = ToolServer {
        name: "odd".to_owned(),
        transport: ToolServerTransport::Http {
            url: "http://127.0.0.1:1/".to_owned(),
            headers: vec![("a b".to_owned(), "secret".to_owned())],
        },
    };
    let started = servers().start(vec![missing, ill, odd], workshop.folder.path());
    settled(&started).await;
    let problems = started.problems();
    assert!(problems[0].starts_with("The MCP server \"missing\" did not start: /no/such/program"));
    assert!(problems[1].contains("I am ill"), "{}", problems[1]);
    assert_eq!(
        problems[2],
        "The MCP server \"odd\" did not start: the header \"a b\" is not one HTTP can carry"
    );
}

#[tokio::test]
async fn who_wants_the_same_server_in_the_same_folder_shares_it() {
    let workshop = Workshop::new();
    let servers = servers();
    let started: Vec<Arc<dyn StartedServers>> = (0..3)
        .map(|_| servers.start(vec![shell("s", SERVER)], workshop.folder.path()))
        .collect();
    for started in &started {
        settled(started).await;
        assert_eq!(started.tools().len(), 4);
    }
    let count = std::fs::read_to_string(workshop.path("started")).unwrap();
    assert_eq!(count.lines().count(), 1);
    drop(started);
    let again = servers.start(vec![shell("s", SERVER)], workshop.folder.path());
    settled(&again).await;
    let count = std::fs::read_to_string(workshop.path("started")).unwrap();
    assert_eq!(count.lines().count(), 2);
}

#[tokio::test]
async fn a_long_result_is_cut_and_says_so() {
    let text = "x".repeat(60 * 1024);
    let answer = json!({ "content": [{ "type": "text", "text": text }] });
    let result = serde_json::from_value(answer).unwrap();
    let output = super::tool::output(result);
    let Value::String(shown) = serde_json::to_value(&output).unwrap()["content"][0]["text"].take()
    else {
        panic!("text expected")
    };
    assert!(shown.ends_with("[10240 more bytes were left out.]"));
}
