//! `stentor rpc --dialect NAME` reaches every dialect.

use crate::world::World;

#[test]
fn every_dialect_is_reached_by_its_name() {
    let initialize =
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
    let handshake = r#"{:id "1" :kind :request :op "handshake" :params {:client-info {:protocol-version "1.0"}}}"#;
    for (name, own, line, answer) in [
        (
            "acp",
            &["acp"][..],
            initialize,
            r#""agentInfo":{"name":"stentor""#,
        ),
        (
            "omp",
            &["--mode", "rpc"],
            r#"{"id":"1","type":"get_state"}"#,
            r#""command":"get_state""#,
        ),
        ("psi", &["--rpc-edn"], handshake, ":server-info"),
        (
            "synaps",
            &["rpc"],
            r#"{"type":"get_state","id":"1"}"#,
            r#""type":"ready""#,
        ),
    ] {
        let world = World::new();
        let joined = format!("--dialect={name}");
        for words in [own, &["rpc", "--dialect", name], &["rpc", &joined]] {
            let ran = world.run_with_input(words, &format!("{line}\n"));
            assert!(ran.out.contains(answer), "{words:?}: {ran:?}");
        }
    }
}

#[test]
fn the_help_lists_the_dialects_and_an_unknown_one_is_told() {
    let world = World::new();
    let help = world.run(&["rpc", "--help"]).ok();
    for word in [
        "Usage: stentor rpc",
        "- synaps:",
        "- psi:",
        "- omp:",
        "- acp:",
    ] {
        assert!(help.contains(word), "{word} in {help}");
    }
    let help = world.run(&["rpc", "--dialect", "acp", "--help"]).ok();
    assert!(help.contains("Usage: stentor acp"), "{help}");
    let ran = world.run(&["rpc", "--dialect", "klingon"]);
    assert_eq!((ran.status, ran.out.as_str()), (Some(2), ""));
    assert!(
        ran.err.contains("[possible values: synaps, psi, omp, acp]"),
        "{}",
        ran.err
    );
}
