use proptest::prelude::*;

use super::*;

fn refused(line: &str) -> String {
    match Inbound::parse(line) {
        Ok(inbound) => panic!("{line} was taken as {inbound:?}"),
        Err(Refused::BadFields { id, name, why }) => {
            format!(
                "{} {name}: {why}",
                id.map_or_else(String::new, |id| id.get().to_owned())
            )
        }
        Err(Refused::Unknown { name }) => format!("unknown {name}"),
        Err(other) => other.to_string(),
    }
}

#[test]
fn every_kind_of_bad_line_is_told_apart() {
    for (line, expected) in [
        (
            "this is not json",
            "Failed to parse command: expected ident at line 1 column 2",
        ),
        (
            "{\"type\":",
            "Failed to parse command: EOF while parsing a value at line 1 column 8",
        ),
        ("null", "Failed to parse command: null is not an object"),
        ("[1,2,3]", "Unknown command: undefined"),
        ("\"str\"", "Unknown command: undefined"),
        ("42", "Unknown command: undefined"),
        (r#"{"id":"e4"}"#, "Unknown command: undefined"),
        (r#"{"id":"e4","type":7}"#, "Unknown command: undefined"),
        (
            r#"{"id":"e3","type":"definitely_not"}"#,
            "unknown definitely_not",
        ),
        (
            r#"{"id":"e7","type":"prompt"}"#,
            r#""e7" prompt: Invalid prompt command: missing field `message`"#,
        ),
        (
            r#"{"id":7,"type":"bash","command":3}"#,
            "7 bash: Invalid bash command: command: invalid type: integer `3`, expected a string",
        ),
        (
            r#"{"type":"set_auto_retry","enabled":"yes"}"#,
            r#" set_auto_retry: Invalid set_auto_retry command: enabled: invalid type: string "yes", expected a boolean"#,
        ),
        (
            r#"{"id":"x","type":"prompt","message":"m","streamingBehavior":"later"}"#,
            r#""x" prompt: Invalid prompt command: streamingBehavior: unknown variant `later`, expected `steer` or `followUp`"#,
        ),
    ] {
        assert_eq!(refused(line), expected, "{line}");
    }
}

#[test]
fn ids_of_any_type_are_kept_as_they_were_written() {
    for id in [r#""req_1""#, "7", "1.50", "null", r#"{"a":[1]}"#] {
        let line = format!(r#"{{"type":"get_state","id":{id}}}"#);
        let Ok(Inbound::Command(command)) = Inbound::parse(&line) else {
            panic!("{line} is a command")
        };
        assert_eq!(command.id.unwrap().get(), id);
    }
}

#[test]
fn optional_fields_may_be_absent_or_null_and_unknown_ones_are_ignored() {
    let line = r#"{"type":"prompt","message":"hi","images":null,"streamingBehavior":null,"new":1}"#;
    let Ok(Inbound::Command(Command {
        body: CommandBody::Prompt(prompt),
        ..
    })) = Inbound::parse(line)
    else {
        panic!("a prompt")
    };
    assert_eq!((prompt.message.as_str(), prompt.images.len()), ("hi", 0));
    assert_eq!(prompt.streaming_behavior, None);
}

#[test]
fn answers_to_dialogs_with_fields_of_the_wrong_type_count_as_not_given() {
    let line =
        r#"{"type":"extension_ui_response","id":"a","value":3,"confirmed":"yes","cancelled":1}"#;
    let Ok(Inbound::Side(Side::UiResponse(answer))) = Inbound::parse(line) else {
        panic!("an answer")
    };
    assert_eq!(
        (answer.value, answer.confirmed, answer.cancelled),
        (None, None, false)
    );
    let line = r#"{"type":"extension_ui_response"}"#;
    assert!(matches!(
        Inbound::parse(line),
        Ok(Inbound::Side(Side::Unreadable { .. }))
    ));
}

proptest! {
    #[test]
    fn no_line_panics(line: String) {
        Inbound::parse(&line).ok();
    }

    #[test]
    fn no_object_panics(name in "[a-z_]{0,12}", key in "[a-zA-Z]{1,12}", value: i64) {
        Inbound::parse(&format!(r#"{{"type":"{name}","{key}":{value}}}"#)).ok();
    }
}
