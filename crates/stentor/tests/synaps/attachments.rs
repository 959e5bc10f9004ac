//! Attachments over the wire (section 10). Each rule has a test beside the code that reads them.

use crate::child::Home;

#[test]
fn a_text_file_goes_to_the_model_and_into_the_history() {
    let home = Home::new("[[turn]]\ntext = \"thanks\"");
    let file = home.write("notes.txt", "tea\n");
    let mut child = home.child();
    child.send(&format!(
        r#"{{"type":"prompt","id":"p","message":"see","attachments":[{{"path":"{}","name":"n.txt","mime":"text/plain"}}]}}"#,
        file.display()
    ));
    assert_eq!(
        child.until("response").last().unwrap(),
        r#"{"type":"response","id":"p","command":"prompt","ok":true}"#
    );
    assert_eq!(
        child.ask(r#"{"type":"get_messages","id":"m"}"#),
        r#"{"type":"response","id":"m","command":"get_messages","ok":true,"messages":[{"role":"user","content":[{"type":"text","text":"see"},{"type":"document","title":"n.txt","source":{"type":"text","media_type":"text/plain","data":"tea\n"}}]},{"role":"assistant","content":[{"type":"text","text":"thanks"}]}]}"#
    );
}

#[test]
fn a_refused_attachment_is_one_error_and_no_turn() {
    let home = Home::new("[[turn]]\ntext = \"never\"");
    let mut child = home.child();
    for (path, message) in [
        ("a.txt", "attachment path must be absolute: a.txt"),
        ("/a/../b", "attachment path must not contain ..: /a/../b"),
        (
            "/gone",
            "Cannot open attachment (check path, permissions, and symlinks)",
        ),
        ("/dev", "Attachment must be a regular file"),
    ] {
        let line = format!(
            r#"{{"type":"prompt","id":"p","message":"m","attachments":[{{"path":"{path}"}}]}}"#
        );
        assert_eq!(
            child.ask(&line),
            format!(r#"{{"type":"error","id":"p","message":"{message}"}}"#)
        );
    }
    let state = child.ask(r#"{"type":"get_state","id":"s"}"#);
    assert!(state.contains(r#""streaming":false"#) && state.ends_with(r#""message_count":0}"#));
}

#[test]
fn a_file_that_cannot_be_embedded_is_named_in_the_message() {
    let home = Home::new("[[turn]]\ntext = \"{{last_user}}\"");
    let file = home.write("x.bin", b"\0\x01");
    let mut child = home.child();
    child.send(&format!(
        r#"{{"type":"prompt","id":"p","message":"open it","attachments":[{{"path":"{}"}}]}}"#,
        file.display()
    ));
    assert_eq!(
        child.until("response")[0],
        format!(
            r#"{{"type":"message_update","event":{{"type":"text_delta","delta":"[user attached files: \"{}\"]\nopen it"}}}}"#,
            file.display()
        )
    );
}
