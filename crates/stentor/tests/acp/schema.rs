//! The official JSON schema: every message of either side is checked against it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use agent_client_protocol_schema::v1 as acp;
use boon::{Compiler, SchemaIndex, Schemas};
use serde::Deserialize;
use serde_json::{Value, json};

/// A whole message, as the schema describes the envelopes.
pub fn check_message(message: &Value) {
    assert_eq!(message["jsonrpc"], "2.0", "{message}");
    check("", message);
}

/// The parameters of a request of either side.
pub fn check_request(method: &str, params: &Value) {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    check("", &message);
    check(types(method).0, params);
}

/// The result of a request of either side.
pub fn check_response(method: &str, result: &Value) {
    check("", &json!({ "jsonrpc": "2.0", "id": 1, "result": result }));
    check(types(method).1, result);
    check_unstable(method, result);
}

/// What the schema has only as unstable is read as its own crate does.
fn check_unstable(method: &str, result: &Value) {
    let read = match method {
        "session/fork" => acp::ForkSessionResponse::deserialize(result).map(drop),
        "session/status" => acp::SessionStatusResponse::deserialize(result).map(drop),
        "session/set_title" => acp::SetSessionTitleResponse::deserialize(result).map(drop),
        _ => Ok(()),
    };
    read.unwrap_or_else(|error| panic!("{method}: {error}\n{result}"));
}

pub fn check_notification(method: &str, params: &Value) {
    let definition = match method {
        "session/update" => "SessionNotification",
        "session/cancel" => "CancelNotification",
        "$/cancel_request" => "CancelRequestNotification",
        _ => panic!("nothing is known of the notification {method}"),
    };
    check(definition, params);
}

pub fn check_error(error: &Value) {
    check("Error", error);
}

/// The types of a method's parameters and of its result.
fn types(method: &str) -> (&'static str, &'static str) {
    match method {
        "initialize" => ("InitializeRequest", "InitializeResponse"),
        "authenticate" => ("AuthenticateRequest", "AuthenticateResponse"),
        "logout" => ("LogoutRequest", "LogoutResponse"),
        "session/new" => ("NewSessionRequest", "NewSessionResponse"),
        "session/load" => ("LoadSessionRequest", "LoadSessionResponse"),
        "session/resume" => ("ResumeSessionRequest", "ResumeSessionResponse"),
        "session/list" => ("ListSessionsRequest", "ListSessionsResponse"),
        "session/close" => ("CloseSessionRequest", "CloseSessionResponse"),
        "session/delete" => ("DeleteSessionRequest", "DeleteSessionResponse"),
        "session/prompt" => ("PromptRequest", "PromptResponse"),
        "session/set_mode" => ("SetSessionModeRequest", "SetSessionModeResponse"),
        "session/set_config_option" => (
            "SetSessionConfigOptionRequest",
            "SetSessionConfigOptionResponse",
        ),
        "session/request_permission" => ("RequestPermissionRequest", "RequestPermissionResponse"),
        "elicitation/create" => ("CreateElicitationRequest", "CreateElicitationResponse"),
        "fs/read_text_file" => ("ReadTextFileRequest", "ReadTextFileResponse"),
        "fs/write_text_file" => ("WriteTextFileRequest", "WriteTextFileResponse"),
        "terminal/create" => ("CreateTerminalRequest", "CreateTerminalResponse"),
        "terminal/output" => ("TerminalOutputRequest", "TerminalOutputResponse"),
        "terminal/wait_for_exit" => ("WaitForTerminalExitRequest", "WaitForTerminalExitResponse"),
        "terminal/kill" => ("KillTerminalRequest", "KillTerminalResponse"),
        "terminal/release" => ("ReleaseTerminalRequest", "ReleaseTerminalResponse"),
        // Not in the protocol any more, only unstable in it, and extensions.
        "session/fork" | "session/status" | "session/set_title" => ("ExtRequest", "ExtResponse"),
        "session/set_model" => ("ExtRequest", "ExtResponse"),
        _ if method.starts_with('_') => ("ExtRequest", "ExtResponse"),
        _ => panic!("nothing is known of {method}"),
    }
}

/// Checks a value against a type of the schema; without a name, against the schema itself.
fn check(definition: &str, value: &Value) {
    if let Err(error) = validated(definition, value) {
        panic!("{definition}: {error}\n{value}");
    }
}

struct Validator {
    schemas: Schemas,
    index: SchemaIndex,
}

fn validated(definition: &str, value: &Value) -> Result<(), String> {
    let Validator { schemas, index } = &*validator(definition);
    let found = schemas.validate(value, *index);
    found.map_err(|error| error.to_string())
}

/// Made when it is first needed.
fn validator(definition: &str) -> Arc<Validator> {
    static MADE: Mutex<BTreeMap<String, Arc<Validator>>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let make = || {
        let schema: Value = serde_json::from_str(include_str!("schema.json")).unwrap();
        let known = definition.is_empty() || schema["$defs"].get(definition).is_some();
        assert!(known, "the schema has no {definition}");
        let place = match definition {
            "" => "urn:acp".to_owned(),
            _ => format!("urn:acp#/$defs/{definition}"),
        };
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("urn:acp", schema).unwrap();
        let index = compiler.compile(&place, &mut schemas).unwrap();
        Arc::new(Validator { schemas, index })
    };
    Arc::clone(made.entry(definition.to_owned()).or_insert_with(make))
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    let wrong = [
        ("SessionNotification", json!({ "sessionId": "s" })),
        (
            "SessionNotification",
            json!({ "sessionId": "s", "update": { "sessionUpdate": "usage_update", "used": "1", "size": 2 } }),
        ),
        ("PromptResponse", json!({ "stopReason": "bored" })),
        ("", json!({ "id": 1, "result": {} })),
    ];
    for (definition, value) in wrong {
        assert!(validated(definition, &value).is_err(), "{value}");
    }
}
