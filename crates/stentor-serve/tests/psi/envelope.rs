//! Section 4, 5 and 6: what is refused, in which order, and what stays pending.

use expect_test::expect;

use super::client::Client;
use super::world::{OK, World};

/// The code of an error frame and what it echoes.
fn short(frame: &str) -> String {
    let cut = |key: &str| {
        let at = frame
            .find(&format!(":{key} \""))
            .map(|at| at + key.len() + 3)?;
        let rest = &frame[at..];
        Some(rest[..rest.find('"')?].to_owned())
    };
    format!(
        "{} id={:?} op={:?}",
        cut("error-code").unwrap_or_default(),
        cut("id"),
        cut("op")
    )
}

#[test]
fn section_4_each_check_answers_once_and_the_connection_lives_on() {
    let mut client = Client::shaken(World::new(&[OK]));
    let mut seen = String::new();
    for line in [
        "",
        "   ",
        "{:id \"a\"",
        "{:a 1 :a 2}",
        "{:a #what 1}",
        "{} {}",
        "nil",
        "not-edn",
        "[1 2]",
        r#"{:id "a" :op "ping"}"#,
        r#"{:kind :request :op "ping"}"#,
        r#"{:kind :request :id "a"}"#,
        r#"{:kind :request :id "a" :op "ping" :extra 1}"#,
        r#"{:kind :request :id 7 :op "ping"}"#,
        r#"{:kind :request :id "  " :op "ping"}"#,
        r#"{:kind :request :id "a" :op 3}"#,
        r#"{:kind :request :id "a" :op " "}"#,
        r#"{:kind :request :id "a" :op "ping" :params [1]}"#,
        r#"{:kind :request :id "a" :op "telepathy" :params "x"}"#,
        r#"{:kind :request :id "a" :op "get_state" :params {:session-id 7}}"#,
        r#"{:kind :request :id "a" :op "get_state" :params {:session-id " "}}"#,
        r#"{:kind :request :id "a" :op "get_state" :params {:session-id "nobody"}}"#,
        r#"{:kind :request :id "a" :op "telepathy"}"#,
    ] {
        client.send(line);
        seen.push_str(&format!("{line}\n    {}\n", short(&client.frame())));
    }
    expect![[r#"

            transport/invalid-frame id=None op=None
   
            transport/invalid-frame id=None op=None
        {:id "a"
            transport/invalid-frame id=None op=None
        {:a 1 :a 2}
            transport/invalid-frame id=None op=None
        {:a #what 1}
            transport/invalid-frame id=None op=None
        {} {}
            transport/invalid-frame id=None op=None
        nil
            protocol/invalid-envelope id=None op=None
        not-edn
            protocol/invalid-envelope id=None op=None
        [1 2]
            protocol/invalid-envelope id=None op=None
        {:id "a" :op "ping"}
            protocol/invalid-envelope id=Some("a") op=Some("ping")
        {:kind :request :op "ping"}
            protocol/invalid-envelope id=None op=Some("ping")
        {:kind :request :id "a"}
            protocol/invalid-envelope id=Some("a") op=None
        {:kind :request :id "a" :op "ping" :extra 1}
            protocol/invalid-envelope id=Some("a") op=Some("ping")
        {:kind :request :id 7 :op "ping"}
            request/invalid-id id=None op=Some("ping")
        {:kind :request :id "  " :op "ping"}
            request/invalid-id id=Some("  ") op=Some("ping")
        {:kind :request :id "a" :op 3}
            request/invalid-op id=Some("a") op=None
        {:kind :request :id "a" :op " "}
            request/invalid-op id=Some("a") op=Some(" ")
        {:kind :request :id "a" :op "ping" :params [1]}
            request/invalid-params id=Some("a") op=Some("ping")
        {:kind :request :id "a" :op "telepathy" :params "x"}
            request/invalid-params id=Some("a") op=Some("telepathy")
        {:kind :request :id "a" :op "get_state" :params {:session-id 7}}
            request/invalid-params id=Some("a") op=Some("get_state")
        {:kind :request :id "a" :op "get_state" :params {:session-id " "}}
            request/invalid-params id=Some("a") op=Some("get_state")
        {:kind :request :id "a" :op "get_state" :params {:session-id "nobody"}}
            request/not-found id=Some("a") op=Some("get_state")
        {:kind :request :id "a" :op "telepathy"}
            request/op-not-supported id=Some("a") op=Some("telepathy")
    "#]]
    .assert_eq(&seen);
    let pong = client.answer("ping", "{}");
    assert_eq!(
        pong,
        r#"{:id "x" :kind :response :op "ping" :ok true :data {:pong true :protocol-version "1.0"}}"#
    );
}

#[test]
fn section_1_lines_that_are_too_long_or_not_utf8_are_skipped_with_an_answer() {
    let mut client = Client::shaken(World::new(&[OK]));
    client.send_bytes(b"{:id \"\xff\"}\n");
    assert_eq!(
        short(&client.frame()),
        "transport/invalid-frame id=None op=None"
    );
    let long = vec![b'x'; 16 * 1024 * 1024 + 1];
    client.send_bytes(&long);
    client.send_bytes(b"\r\n");
    assert_eq!(
        short(&client.frame()),
        "transport/invalid-frame id=None op=None"
    );
    client.send_bytes(b"{:kind \"request\", :id \"c\", :op \"ping\"}\r\n");
    assert!(client.frame().contains(":pong true"));
}

#[test]
fn section_4_check_7_precedes_the_checks_of_id_and_op() {
    let mut client = Client::start(World::new(&[OK]));
    for line in [
        r#"{:kind :request :id 7 :op "ping"}"#,
        r#"{:kind :request :id "a" :op 3}"#,
        r#"{:kind :request :id "a" :op "telepathy"}"#,
    ] {
        client.send(line);
        assert!(short(&client.frame()).starts_with("transport/not-ready"));
    }
}

#[test]
fn section_5_versions_and_what_a_refused_one_does() {
    let mut client = Client::start(World::new(&[OK]));
    let mut shake = |client: &mut Client, params: &str| {
        let frame = client.request("h", "handshake", params).pop().unwrap();
        if frame.contains(":ok true") {
            "ok".to_owned()
        } else {
            short(&frame)
        }
    };
    let refused = "protocol/unsupported-version id=Some(\"h\") op=Some(\"handshake\")";
    let params = "request/invalid-params id=Some(\"h\") op=Some(\"handshake\")";
    for (given, expected) in [
        ("{}", params),
        ("{:client-info {:protocol-version 1}}", params),
        (r#"{:client-info {:protocol-version "v1"}}"#, refused),
        (r#"{:client-info {:protocol-version "2.0"}}"#, refused),
        (r#"{:protocol-version "1.7"}"#, "ok"),
        (r#"{:client-info {:protocol-version "1"}}"#, "ok"),
    ] {
        assert_eq!(shake(&mut client, given), expected, "{given}");
    }
    assert!(client.answer("ping", "{}").contains(":pong"));
    // A refused handshake on a ready connection makes it non-ready; the pipe stays open.
    assert_eq!(
        shake(&mut client, r#"{:client-info {:protocol-version "3"}}"#),
        refused
    );
    assert!(client.answer("ping", "{}").contains("transport/not-ready"));
    assert_eq!(
        shake(&mut client, r#"{:client-info {:protocol-version "1.0"}}"#),
        "ok"
    );
    assert!(client.answer("ping", "{}").contains(":pong"));
}

#[test]
fn section_6_an_id_is_pending_until_it_is_answered_and_there_is_a_limit() {
    let mut world = World::new(&[OK]);
    world.max_pending = 3;
    let mut client = Client::shaken(world);
    let gate = client.world.work().join("gate");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(gate)
            .status()
            .unwrap()
            .success()
    );
    for id in ["a", "b", "c"] {
        client.send_request(id, "bash", r#"{:command "read x < gate; echo $x"}"#);
    }
    client.send_request("a", "ping", "{}");
    assert_eq!(
        short(&client.frame()),
        "request/invalid-id id=Some(\"a\") op=Some(\"ping\")"
    );
    client.send_request("d", "ping", "{}");
    assert_eq!(
        short(&client.frame()),
        "transport/max-pending-exceeded id=Some(\"d\") op=Some(\"ping\")"
    );
}

#[test]
fn section_1_the_end_of_input_is_the_end_with_status_zero() {
    let (frames, code) = Client::shaken(World::new(&[OK])).close();
    assert_eq!((frames, code), (vec![], 0));
}

#[test]
fn section_1_an_accepted_prompt_still_writes_after_the_end_of_input() {
    let mut client = Client::ready(World::new(&[OK]));
    client.send_request("p", "prompt", r#"{:message "go"}"#);
    let (frames, code) = client.close();
    assert!(
        frames
            .iter()
            .any(|frame| frame.contains("assistant/message")),
        "{frames:?}"
    );
    assert_eq!(code, 0);
}
