//! Commands in a sandbox do not get out of it by way of the server.

use std::io::Write;

use serde_json::json;

use crate::clients::{chunks, prompt};
use crate::server::Server;
use crate::world::World;

#[test]
fn a_command_in_the_sandbox_is_not_served_and_does_not_read_the_token() {
    let scenario = "[[turn]]\ntool = \"bash\"\narguments = { command = \"sh ../attempt.sh\" }\n\
                    [[turn]]\ntext = \"{{last_tool_result}} That was it.\"\n";
    let config =
        "permission_mode = \"all\"\n[sandbox]\nmode = \"workspace-write\"\nnetwork = true\n";
    let world = World::new(scenario, config);
    world.file("tmp/.keep", "");
    world.file("run/stentor/.keep", "");
    world.file("run/other", "readable");
    let stentor = env!("CARGO_BIN_EXE_stentor");
    let (run, socket) = (world.path("run"), world.path("run/stentor/serve.sock"));
    world.file(
        "attempt.sh",
        &format!(
            "cat {run}/other; echo\n\
             cat {run}/stentor/serve.token 2>&1 | grep -o 'Permission denied'\n\
             {stentor} serve status --socket {socket} 2>&1 | grep -o 'commands in the sandbox.*'\n\
             true\n",
            run = run.display(),
            socket = socket.display(),
        ),
    );
    let environment = |command: &mut std::process::Command| {
        command
            .env("XDG_RUNTIME_DIR", &run)
            .env("TMPDIR", world.path("tmp"));
    };
    let mut command = world.command(&["serve", "--http", "0"]);
    environment(&mut command);
    let mut process = crate::world::Child::of(command.spawn().unwrap(), world.path(""));
    let ready = process.json();
    assert_eq!(ready["socket"], json!(socket));
    let mut command = world.command(&["acp", "--attach"]);
    environment(&mut command);
    let mut client = crate::world::Child::of(command.spawn().unwrap(), world.path(""));
    let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
    client.ask_acp(1, "initialize", hello);
    let new = json!({ "cwd": world.path("work"), "mcpServers": [] });
    let answer = client.ask_acp(2, "session/new", new).pop().unwrap();
    if answer.contains("no Landlock") {
        let _ = writeln!(
            std::io::stderr(),
            "NO SANDBOX ON THIS KERNEL: this is not tested"
        );
        return;
    }
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    let session = answer["result"]["sessionId"].as_str().unwrap().to_owned();
    prompt(&mut client, 3, &session, "try");
    let said = chunks(&mut client, "agent_message_chunk", "That was it.").concat();
    assert_eq!(
        said,
        "readable\nPermission denied\ncommands in the sandbox may not connect\n That was it."
    );
    drop(Server {
        world,
        process,
        ready,
    });
}
