//! The schema is generated from the types and checked in, so that it can be read without a build.

use std::path::Path;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use super::*;

/// The methods in one direction, each with what goes with it.
struct Methods<'a> {
    generator: &'a mut SchemaGenerator,
    described: serde_json::Map<String, Value>,
}

impl Methods<'_> {
    fn request<P: JsonSchema, R: JsonSchema>(&mut self, name: &str) {
        let params = self.generator.subschema_for::<P>();
        let result = self.generator.subschema_for::<R>();
        let method = json!({ "kind": "request", "params": params, "result": result });
        self.described.insert(name.to_owned(), method);
    }

    fn notification<P: JsonSchema>(&mut self, name: &str) {
        let params = self.generator.subschema_for::<P>();
        let method = json!({ "kind": "notification", "params": params });
        self.described.insert(name.to_owned(), method);
    }
}

fn methods(
    generator: &mut SchemaGenerator,
    describe: impl FnOnce(&mut Methods<'_>),
) -> serde_json::Map<String, Value> {
    let mut methods = Methods {
        generator,
        described: serde_json::Map::new(),
    };
    describe(&mut methods);
    methods.described
}

fn generated() -> String {
    let generator = &mut SchemaGenerator::default();
    let to_extension = methods(generator, |to| {
        to.request::<InitializeParams, InitializeResult>(method::INITIALIZE);
        to.request::<ToolRunParams, ToolRunResult>(method::TOOL_RUN);
        to.request::<CommandRunParams, CommandRunResult>(method::COMMAND_RUN);
        to.request::<BeforeToolParams, BeforeToolResult>(method::TOOL_BEFORE);
        to.request::<AfterToolParams, AfterToolResult>(method::TOOL_AFTER);
        to.request::<BeforePromptParams, BeforePromptResult>(method::PROMPT_BEFORE);
        to.notification::<EventParams>(method::EVENT);
        to.notification::<CancelParams>(method::CANCEL);
        to.notification::<SessionEndParams>(method::SESSION_END);
    });
    let to_agent = methods(generator, |to| {
        to.request::<RegisterParams, Nothing>(method::REGISTER);
        to.request::<SelectParams, ValueResult>(method::UI_SELECT);
        to.request::<ConfirmParams, ConfirmResult>(method::UI_CONFIRM);
        to.request::<InputParams, ValueResult>(method::UI_INPUT);
        to.request::<EditorParams, ValueResult>(method::UI_EDITOR);
        to.request::<StateSetParams, StateSetResult>(method::STATE_SET);
        to.request::<StateGetParams, StateGetResult>(method::STATE_GET);
        to.request::<MessageSendParams, Nothing>(method::MESSAGE_SEND);
        to.request::<UserMessageSendParams, Nothing>(method::MESSAGE_SEND_USER);
        to.request::<Nothing, Nothing>(method::SHUTDOWN);
        to.notification::<ToolProgressParams>(method::TOOL_PROGRESS);
        to.notification::<NotifyParams>(method::UI_NOTIFY);
        to.notification::<StatusParams>(method::UI_STATUS);
        to.notification::<WidgetParams>(method::UI_WIDGET);
        to.notification::<TitleParams>(method::UI_TITLE);
        to.notification::<EditorTextParams>(method::UI_EDITOR_TEXT);
        to.notification::<LogParams>(method::LOG);
    });
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "stentor extension protocol",
        "description": "JSON-RPC 2.0, one message per line, over the extension's stdin and stdout.",
        "protocolVersion": PROTOCOL_VERSION,
        "maxLineBytes": MAX_LINE_BYTES,
        "toExtension": to_extension,
        "toAgent": to_agent,
        "$defs": generator.take_definitions(true),
    });
    let mut text = serde_json::to_string_pretty(&schema).unwrap();
    text.push('\n');
    text
}

#[test]
fn the_checked_in_schema_is_that_of_the_types() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/extension/schema.json");
    let generated = generated();
    if std::env::var_os("STENTOR_WRITE_SCHEMA").is_some() {
        std::fs::write(&file, &generated).unwrap();
    }
    let checked_in = std::fs::read_to_string(&file).unwrap();
    assert!(
        checked_in == generated,
        "{} is out of date; run this test with STENTOR_WRITE_SCHEMA=1",
        file.display()
    );
}

#[test]
fn unknown_fields_and_missing_optional_ones_are_no_problem() {
    let read: InitializeResult = serde_json::from_str(
        r#"{"protocolVersion":1,"tools":[{"name":"t","description":"d"}],"new":1}"#,
    )
    .unwrap();
    assert_eq!(read.tools.len(), 1);
    assert_eq!(read.tools[0].effect, Effect::Executes);
    assert_eq!(
        serde_json::from_str::<BeforeToolResult>("{}").unwrap(),
        BeforeToolResult::default()
    );
    let result: ToolRunResult = serde_json::from_str(r#"{"content":"hi"}"#).unwrap();
    assert_eq!(
        result.content.into_pieces(),
        [Content::Text(Text { text: "hi".into() })]
    );
}
