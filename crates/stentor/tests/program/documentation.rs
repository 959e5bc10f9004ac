//! What the documentation says is true of the program.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::world::World;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(docs().join(name)).unwrap()
}

#[test]
fn every_parameter_of_every_tool_is_documented() {
    let world = World::new();
    let tools: Value = serde_json::from_str(&world.run(&["tools_list", "--json"]).ok()).unwrap();
    let page = read("tools.md");
    for tool in tools.as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let section = page.split(&format!("\n## {name}\n")).nth(1);
        let section = section.unwrap_or_else(|| panic!("{name} has no section"));
        let section = section.split("\n## ").next().unwrap();
        for parameter in tool["inputSchema"]["properties"]
            .as_object()
            .unwrap()
            .keys()
        {
            let row = format!("| `{parameter}` |");
            assert!(section.contains(&row), "{name}: {parameter}");
        }
    }
}

#[test]
fn every_page_is_in_the_index_and_every_link_leads_somewhere() {
    let index = read("README.md");
    for entry in std::fs::read_dir(docs()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "md") {
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(
            name == "README.md" || index.contains(&format!("({name}")),
            "{name}"
        );
        let text = std::fs::read_to_string(&path).unwrap();
        for link in text.split("](").skip(1) {
            let target = link.split([')', '#']).next().unwrap();
            let is_file = !target.is_empty() && !target.contains("://") && !target.contains(' ');
            if is_file && target.ends_with(".md") {
                assert!(docs().join(target).exists(), "{name}: {target}");
            }
        }
    }
}

#[test]
fn each_client_of_the_guide_to_writing_one_gets_its_answer() {
    let page = read("write-a-client.md");
    let clients: Vec<&str> = page
        .split("```python\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert_eq!(clients.len(), 4);
    for client in clients {
        assert!(client.lines().count() <= 50, "{client}");
        let world = World::new();
        world.file("work/only.txt", "x");
        let program = env!("CARGO_BIN_EXE_stentor");
        let mut command = Command::new("python3");
        command.args(["-c", client]).current_dir(world.path("work"));
        command.env_clear().env("HOME", world.path("home"));
        command.env("STENTOR", program);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let output = command.output().unwrap();
        let out = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{client}\n{output:?}");
        assert!(out.contains("- `only.txt`"), "{client}\n{out}");
    }
}
