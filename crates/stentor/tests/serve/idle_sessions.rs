//! Sessions that the server keeps although nobody uses them.

use crate::clients::{acp, chunks, file_of, prompt, server};
use crate::server::Server;

/// The program at the server's usual socket.
fn run(server: &Server, words: &[&str]) -> (Option<i32>, String) {
    let ran = server
        .world
        .command(words)
        .env("STENTOR_SOCKET", server.socket())
        .output()
        .unwrap();
    let said = [ran.stdout, ran.stderr].concat();
    (
        ran.status.code(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

#[test]
fn one_that_nobody_uses_is_let_go_and_one_in_use_is_not() {
    let server = server("[[turn]]\ntext = \"One.\"\n[[turn]]\ntext = \"Two.\"\n");
    let (mut one, session) = acp(&server);
    prompt(&mut one, 3, &session, "first");
    one.until_answer(3);
    let rename = ["sessions", "rename", &session, "Mine"];
    let (status, said) = run(&server, &rename);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("is open in"), "{said}");
    // It still works there.
    prompt(&mut one, 4, &session, "second");
    chunks(&mut one, "agent_message_chunk", "Two.");
    one.until_answer(4);
    one.end();
    while !run(&server, &["serve", "status"]).1.contains("no client") {
        std::thread::yield_now();
    }
    assert_eq!(
        run(&server, &rename),
        (Some(0), "Renamed to \"Mine\".\n".to_owned())
    );
    let file = file_of(&server, &session);
    let (status, said) = run(&server, &["sessions", "delete", &session, "--yes"]);
    assert_eq!((status, said.as_str()), (Some(0), "Deleted 1 session.\n"));
    assert!(!file.exists());
}
