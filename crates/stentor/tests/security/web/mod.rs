//! Pages of the web, and what servers try with those who fetch them. The server is on this machine,
//! which the user's configuration allows by its port; nothing else here is allowed.

mod permissions;
mod refused;
mod searching;
mod server;
mod shown;

use serde_json::{Value, json};

use crate::world::World;
use server::Server;

/// What a call gave: its text, and whether it failed.
struct Fetched {
    text: String,
    is_error: bool,
    output: Value,
    /// How the port of the server is written in addresses.
    port: String,
}

/// A world that may fetch from the server, with more in the user's configuration. Its model makes
/// these calls, one in each turn.
fn world(server: &Server, config: &str, calls: &[(&str, Value)]) -> World {
    let turns = calls.iter().map(|(tool, arguments)| {
        let steps = json!([{ "tool": tool, "id": "c1", "arguments": arguments }]);
        format!("[[turn]]\nsteps = {}\n", toml_value(&steps))
    });
    let scenario = format!("{}[[turn]]\ntext = \"done\"\n", turns.collect::<String>());
    let config = format!(
        "[web]\nallow_private = [\"127.0.0.1:{}\"]\n{config}",
        server.port
    );
    World::new(&scenario, &config)
}

/// What `-p` gets of one call.
fn call(server: &Server, config: &str, tool: &str, arguments: Value) -> Fetched {
    let world = world(server, config, &[(tool, arguments)]);
    called(server, &world)
}

/// The same of the only call of a world's model.
fn called(server: &Server, world: &World) -> Fetched {
    let out = world.asked(&["-p", "go", "--json"]);
    let mut events = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ended = events.find(|event| event["type"] == "tool_ended").unwrap();
    let output = ended["output"].clone();
    let port = format!(":{}", server.port);
    let text = output["content"][0]["text"].as_str().unwrap_or_default();
    Fetched {
        text: world.without_folder(&text.replace(&port, ":PORT")),
        is_error: ended["isError"] == true,
        output,
        port,
    }
}

/// What fetching a path of the server gives.
fn fetch(server: &Server, config: &str, path: &str) -> Fetched {
    let url = server.url(path);
    call(server, config, "fetch", json!({ "url": url }))
}

impl Fetched {
    /// The text of a call that went well.
    fn ok(self) -> String {
        assert!(!self.is_error, "{}", self.text);
        self.text
    }

    /// The text of a call that failed.
    fn failed(self) -> String {
        assert!(self.is_error, "{}", self.text);
        self.text
    }

    fn details(&self) -> Value {
        let details = self.output["details"].to_string();
        serde_json::from_str(&details.replace(&self.port, ":PORT")).unwrap()
    }
}

/// JSON as an inline value of TOML.
fn toml_value(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let pairs = map
                .iter()
                .map(|(key, value)| format!("{key} = {}", toml_value(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(toml_value).collect();
            format!("[{}]", items.join(", "))
        }
        plain => plain.to_string(),
    }
}
