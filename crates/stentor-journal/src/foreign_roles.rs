//! Roles of messages that only other programs write, in the words in which a model is told of them.
//!
//! Such a message stays raw for everybody else: [`crate::message::Message::Other`].

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::message::{ContentBlock, Message, UserContent};

/// What a model is told for a message of a role this program does not write; `None` when no model
/// should see it.
pub fn lowered(fields: &Map<String, Value>) -> Option<Message> {
    let content = match text(fields, "role")? {
        "pythonExecution" => vec![ContentBlock::text(python(fields)?)],
        "fileMention" => file_mention(fields)?,
        // What `custom` was called before version 3 of the format.
        "hookMessage" => UserContent::deserialize(fields.get("content")?)
            .ok()?
            .to_blocks(),
        _ => return None,
    };
    let timestamp = fields.get("timestamp").and_then(Value::as_u64);
    Some(Message::user(content, timestamp.unwrap_or_default()))
}

/// Code that the user had run beside the conversation.
fn python(fields: &Map<String, Value>) -> Option<String> {
    let is = |name: &str| fields.get(name) == Some(&Value::Bool(true));
    if is("excludeFromContext") {
        return None;
    }
    let code = text(fields, "code")?;
    let mut told = format!("Ran Python:\n```python\n{code}\n```\n");
    match text(fields, "output").filter(|output| !output.is_empty()) {
        Some(output) => told.push_str(&format!("Output:\n```\n{}\n```", output.trim_end())),
        None => told.push_str("(no output)"),
    }
    let code = fields.get("exitCode").and_then(Value::as_i64);
    if is("cancelled") {
        told.push_str("\n\n(execution cancelled)");
    } else if let Some(code) = code.filter(|code| *code != 0) {
        told.push_str(&format!("\n\nExecution failed with code {code}"));
    }
    if is("truncated") {
        told.push_str("\n\n[Output cut.]");
    }
    Some(told)
}

/// Files that the user named in a prompt, as they were then.
fn file_mention(fields: &Map<String, Value>) -> Option<Vec<ContentBlock>> {
    let files = fields.get("files")?.as_array()?;
    let mut told = String::from("<system-reminder>\n");
    let mut pictures = Vec::new();
    for file in files.iter().filter_map(Value::as_object) {
        let path = text(file, "path").unwrap_or("?");
        let content = text(file, "content").unwrap_or_default();
        told.push_str(&format!("<file path=\"{path}\">\n{content}\n</file>\n\n"));
        if let Some(picture) = file.get("image") {
            pictures.extend(ContentBlock::deserialize(picture).ok());
        }
    }
    told.truncate(told.trim_end().len());
    told.push_str("\n</system-reminder>");
    let mut content = vec![ContentBlock::text(told)];
    content.extend(pictures);
    Some(content)
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(message: Value) -> Option<Value> {
        let Value::Object(fields) = message else {
            panic!("an object")
        };
        let lowered = serde_json::to_value(lowered(&fields)?).unwrap();
        assert_eq!(lowered["role"], "user");
        Some(lowered["content"].clone())
    }

    #[test]
    fn code_of_the_user_is_told_with_its_output_and_how_it_ended() {
        let run = |more: Value| {
            let mut run = json!({"role":"pythonExecution","code":"1/0","output":"","exitCode":0,
                "cancelled":false,"truncated":false,"timestamp":1});
            for (key, value) in more.as_object().unwrap() {
                run[key] = value.clone();
            }
            told(run).map(|content| content[0]["text"].as_str().unwrap().to_owned())
        };
        let head = "Ran Python:\n```python\n1/0\n```\n";
        for (more, expected) in [
            (json!({}), format!("{head}(no output)")),
            (
                json!({"output":"oh\n","exitCode":1}),
                format!("{head}Output:\n```\noh\n```\n\nExecution failed with code 1"),
            ),
            (
                json!({"output":"oh","cancelled":true,"truncated":true}),
                format!("{head}Output:\n```\noh\n```\n\n(execution cancelled)\n\n[Output cut.]"),
            ),
        ] {
            assert_eq!(run(more), Some(expected));
        }
        assert_eq!(run(json!({"excludeFromContext":true})), None);
    }

    #[test]
    fn files_that_were_mentioned_are_told_with_their_content_and_pictures() {
        let picture = json!({"type":"image","data":"AA==","mimeType":"image/png"});
        let mention = json!({"role":"fileMention","files":[
            {"path":"a.rs","content":"fn a() {}","lineCount":1},
            {"path":"b.png","content":"","image":picture},
        ],"timestamp":1});
        let text = "<system-reminder>\n<file path=\"a.rs\">\nfn a() {}\n</file>\n\n<file path=\"b.png\">\n\n</file>\n</system-reminder>";
        assert_eq!(
            told(mention),
            Some(json!([{"type":"text","text":text}, picture]))
        );
    }

    #[test]
    fn an_old_name_is_understood_and_an_unknown_role_is_not_told() {
        let old = json!({"role":"hookMessage","customType":"note","content":"a note","display":true,"timestamp":1});
        assert_eq!(told(old), Some(json!([{"type":"text","text":"a note"}])));
        assert_eq!(told(json!({"role":"hologram","content":"x"})), None);
        assert_eq!(told(json!({"role":"fileMention"})), None);
        assert_eq!(told(json!({"content":"x"})), None);
    }
}
