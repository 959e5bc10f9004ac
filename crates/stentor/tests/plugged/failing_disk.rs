//! A disk that does not keep what it was given: a kernel that refuses to sync.
#![cfg(target_os = "linux")]

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use serde_json::{Value, json};

use crate::world::{Child, World};

/// Starts a child to which the kernel says of every sync that it failed.
fn without_sync(world: &World, words: &'static [&str]) -> Child {
    let calls = [libc::SYS_fdatasync, libc::SYS_fsync];
    let filter = SeccompFilter::new(
        calls.into_iter().map(|call| (call, Vec::new())).collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EIO.cast_unsigned()),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let filter: BpfProgram = filter.unwrap().try_into().unwrap();
    // The filter holds for the thread that asks for it and for what that starts.
    std::thread::scope(|scope| {
        let starting = scope.spawn(|| {
            seccompiler::apply_filter(&filter).unwrap();
            world.child(words)
        });
        starting.join().unwrap()
    })
}

fn messages(child: &mut Child) -> Value {
    child.send(r#"{"id":"m","type":"get_messages"}"#);
    let mut answer = child.until_type("response").pop().unwrap();
    answer["data"]["messages"].take()
}

#[test]
fn a_prompt_that_was_refused_is_in_no_conversation_also_after_a_resume() {
    let world = World::new("[[turn]]\ntext = \"Hello.\"\n", "");
    let mut child = without_sync(&world, &["--mode", "rpc"]);
    assert_eq!(child.json()["type"], "ready");
    child.send(r#"{"id":"p","type":"prompt","message":"never said"}"#);
    let refused = child.until_type("response").pop().unwrap();
    assert_eq!(refused["success"], false, "{refused}");
    let why = refused["error"].as_str().unwrap();
    assert!(why.contains("cannot sync"), "{why}");
    assert_eq!(messages(&mut child), json!([]));
    child.end();
    let mut child = world.child(&["--mode", "rpc", "--continue"]);
    assert_eq!(child.json()["type"], "ready");
    assert_eq!(messages(&mut child), json!([]));
    // And it goes on from there.
    child.send(r#"{"id":"p","type":"prompt","message":"said"}"#);
    child.until_type("agent_settled");
    let said = messages(&mut child);
    let roles: Vec<&Value> = said
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["role"])
        .collect();
    assert_eq!(roles, ["user", "assistant"]);
    child.end();
}
