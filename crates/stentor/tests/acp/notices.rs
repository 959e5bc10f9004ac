//! What is told beside the conversation: notices of extensions (section 7).

use expect_test::expect;
use serde_json::{Value, json};

use crate::client::Client;
use crate::world::World;

/// An extension whose one tool says something of each kind.
const EXTENSION: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\(-\{0,1\}[0-9][0-9]*\).*/\1/p')
  case $line in
    *'"method":"initialize"'*)
      printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":1,"tools":[{"name":"tell","description":"Tells.","effect":"nothing","parameters":{"type":"object"}}]}}' ;;
    *'"method":"tool/run"'*)
      for level in info warning error; do
        printf '%s\n' '{"jsonrpc":"2.0","method":"ui/notify","params":{"message":"It is '"$level"'.\nMore of it.","level":"'"$level"'"}}'
      done
      while [ ! -e heard ]; do sleep 0.02; done
      printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"',"result":{"content":"told"}}' ;;
  esac
done
"#;

/// A turn in which the last of what the tool tells is heard before the tool ends.
fn turn(capabilities: Value, last: &str) -> String {
    let world = World::new();
    world.executable("tell.sh", EXTENSION);
    world.file(
        "scenario.toml",
        "[[turn]]\nsteps = [{ tool = \"tell\", id = \"c1\", arguments = {} }]\n[[turn]]\ntext = \"Done.\"\n",
    );
    let script = world.work("../tell.sh");
    let mut client = Client::started(world, &["-e", script.to_str().unwrap()]);
    client.greet(capabilities);
    let session = client.session();
    let prompt = client.prompt(&session, "go");
    let mut messages = client.read_until(|message| message.to_string().contains(last));
    client.world.file("work/heard", "");
    messages.extend(client.until(prompt));
    client.shown(&messages)
}

#[test]
fn notices_go_to_clients_that_take_them() {
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"tell","name":"tell","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","kind":"other","title":"tell","locations":[],"rawInput":{}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"notice","severity":"info","title":"It is info.…","description":"It is info.\nMore of it."}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"notice","severity":"warning","title":"It is warning.…","description":"It is warning.\nMore of it."}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"notice","severity":"error","title":"It is error.…","description":"It is error.\nMore of it."}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"told"}}],"rawOutput":{"output":"told"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Done."},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&turn(json!({ "session": { "notices": {} } }), "It is error"));
}

#[test]
fn without_them_what_matters_is_said_in_the_conversation() {
    expect![[r#"
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"session_info_update","title":"go"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"tell","name":"tell","status":"pending"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","kind":"other","title":"tell","locations":[],"rawInput":{}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"It is warning.\nMore of it.\n\n"},"messageId":"MSG-notice-N"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"It is error.\nMore of it.\n\n"},"messageId":"MSG-notice-N"}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"told"}}],"rawOutput":{"output":"told"}}}}
        {"method":"session/update","params":{"sessionId":"SESSION-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Done."},"messageId":"MSG"}}}
        {"id":3,"result":{"stopReason":"end_turn"}}"#]].assert_eq(&turn(json!({}), "It is error"));
}
