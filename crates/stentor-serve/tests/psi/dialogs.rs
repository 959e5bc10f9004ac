//! Sections 9.8, 10.10 to 10.15: what is shown to and asked of the person.

use stentor_agent::permission::PermissionMode;

use super::client::Client;
use super::world::World;

fn script(arguments: &str) -> String {
    format!(
        "[[turn]]\nsteps = [ {{ tool = \"person\", id = \"t1\", arguments = {arguments} }} ]\n\
         [[turn]]\nsteps = [ {{ text = \"heard {{{{last_tool_result}}}}\" }} ]\n"
    )
}

#[test]
fn a_dialog_is_asked_once_and_its_answer_reaches_who_asked() {
    for (kind, shown, result, heard) in [
        (
            "confirm",
            r#":kind "confirm" :title "A question" :message "Really?"}"#,
            "true",
            "confirmed true",
        ),
        ("confirm", ":kind \"confirm\"", "nil", "confirmed false"),
        (
            "select",
            r#":kind "select" :title "A question" :options [{:value "red" :label "RED"} {:value "blue" :label "BLUE"}]}"#,
            "\"blue\"",
            "answered blue",
        ),
        (
            "input",
            r#":kind "input" :title "A question" :placeholder "your name"}"#,
            "\"Ann\"",
            "answered Ann",
        ),
    ] {
        let mut client = Client::ready(World::new(&[&script(&format!("{{ ask = \"{kind}\" }}"))]));
        client.request("p", "prompt", r#"{:message "go"}"#);
        let asked = client.until(&["ui/dialog-requested"]).pop().unwrap();
        assert!(asked.contains(shown), "{asked}");
        for (op, params, code) in [
            (
                "resolve_dialog",
                r#"{:result true}"#,
                "request/invalid-params",
            ),
            (
                "resolve_dialog",
                r#"{:dialog-id "dialog-1"}"#,
                "request/invalid-params",
            ),
            (
                "resolve_dialog",
                r#"{:dialog-id "dialog-1" :result 3}"#,
                "request/invalid-params",
            ),
            (
                "resolve_dialog",
                r#"{:dialog-id "other" :result true}"#,
                "request/dialog-id-mismatch",
            ),
            (
                "cancel_dialog",
                r#"{:dialog-id " "}"#,
                "request/invalid-params",
            ),
        ] {
            let answer = client.answer(op, params);
            assert!(answer.contains(code), "{op} {params}: {answer}");
        }
        let params = format!("{{:dialog-id \"dialog-1\" :result {result}}}");
        let answer = client.answer("resolve_dialog", &params);
        assert!(answer.ends_with("{:accepted true}}"), "{answer}");
        let run = client.until_idle();
        assert!(run.iter().any(|frame| frame.contains(heard)), "{run:?}");
        let late = client.answer("resolve_dialog", &params);
        assert!(late.contains("request/no-active-dialog"), "{late}");
    }
}

#[test]
fn a_cancelled_dialog_is_answered_with_its_default() {
    let mut client = Client::ready(World::new(&[&script("{ ask = \"input\" }")]));
    client.request("p", "prompt", r#"{:message "go"}"#);
    client.until(&["ui/dialog-requested"]);
    let answer = client.answer("cancel_dialog", r#"{:dialog-id "dialog-1"}"#);
    assert!(answer.ends_with("{:accepted true}}"), "{answer}");
    assert!(
        client
            .until_idle()
            .iter()
            .any(|frame| frame.contains("heard nothing"))
    );
}

#[test]
fn a_client_that_shows_no_dialogs_is_not_asked() {
    let mut client = Client::shaken(World::new(&[&script("{ ask = \"input\" }")]));
    let seen = client.run("go");
    assert!(
        seen.iter().any(|frame| frame.contains("heard nothing")),
        "{seen:?}"
    );
}

#[test]
fn a_permission_is_asked_as_a_selection() {
    let script = r#"
[[turn]]
steps = [ { tool = "bash", id = "t1", arguments = { command = "echo yes" } } ]
[[turn]]
steps = [ { text = "heard {{last_tool_result}}" } ]
"#;
    let mut world = World::new(&[script]);
    world.permission_mode = PermissionMode::Ask;
    let mut client = Client::ready(world);
    client.request("p", "prompt", r#"{:message "go"}"#);
    let asked = client.until(&["ui/dialog-requested"]).pop().unwrap();
    assert!(asked.contains("Allow $ echo yes?"), "{asked}");
    let wrong = client.answer(
        "resolve_dialog",
        r#"{:dialog-id "dialog-1" :result "maybe"}"#,
    );
    assert!(wrong.contains("request/invalid-params"), "{wrong}");
    client.answer(
        "resolve_dialog",
        r#"{:dialog-id "dialog-1" :result "allow-once"}"#,
    );
    assert!(
        client
            .until_idle()
            .iter()
            .any(|frame| frame.contains("heard yes"))
    );
}

#[test]
fn statuses_widgets_and_notices_are_told_and_found_by_a_later_subscriber() {
    let arguments = r#"{ status = "busy  here", widget = "one\ntwo", notice = "mind" }"#;
    let mut client = Client::ready(World::new(&[&script(arguments)]));
    let seen = client.run("go");
    let find = |topic: &str| seen.iter().find(|frame| frame.contains(topic)).unwrap();
    assert!(
        find("ui/status-updated")
            .contains(r#":statuses [{:extension-id "ext" :text "busy  here"}]"#)
    );
    assert!(find("ui/widgets-updated").contains(
        r#":widgets [{:extension-id "ext" :widget-id "ext" :placement :below-editor :content ["one" "two"] :content-lines [{:text "one"} {:text "two"}]}]"#
    ));
    assert!(find("ui/notification").contains(r#":message "mind" :level "warning"}"#));
    assert!(seen.last().unwrap().contains(r#":status-line "busy here""#));
    let again = client.request("s", "subscribe", r#"{:topics ["ui/notification"]}"#);
    assert!(
        again
            .iter()
            .any(|frame| frame.contains("ui/widgets-updated") && frame.contains("one"))
    );
    let ui = client.answer(
        "query_eql",
        r#"{:query "[:psi.ui/statuses :psi.ui/dialog-queue-empty?]"}"#,
    );
    assert!(ui.contains(r#":psi.ui/statuses [{:extension-id "ext" :text "busy  here"}] :psi.ui/dialog-queue-empty? true"#), "{ui}");
}
