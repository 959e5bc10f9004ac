//! How entries and headers are written as JSON and read back.

use std::sync::Arc;

use serde::de::Error as _;
use serde::ser::{Error as _, SerializeMap};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::entry::{Entry, EntryKind, SessionHeader};
use crate::message::{Message, UserContent};

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let kind = self.kind.type_name();
        if kind.is_empty() {
            return Err(S::Error::custom("the entry has no type"));
        }
        map.serialize_entry("type", kind)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("parentId", &self.parent_id)?;
        map.serialize_entry("timestamp", &self.timestamp)?;
        write_fields(&self.kind, &mut map)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        let id = match fields.shift_remove("id") {
            Some(Value::String(id)) => id,
            _ => return Err(D::Error::missing_field("id")),
        };
        if !fields.get("type").is_some_and(Value::is_string) {
            return Err(D::Error::missing_field("type"));
        }
        let parent_id = text(fields.shift_remove("parentId"));
        let timestamp = text(fields.shift_remove("timestamp")).unwrap_or_default();
        Ok(Self {
            id,
            parent_id,
            timestamp,
            kind: read_fields(fields),
        })
    }
}

impl Serialize for SessionHeader {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "session")?;
        map.serialize_entry("version", &self.version)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("timestamp", &self.timestamp)?;
        map.serialize_entry("cwd", &self.cwd)?;
        write_if_some(&mut map, "parentSession", self.parent_session.as_ref())?;
        write_if_some(&mut map, "title", self.title.as_ref())?;
        map.end()
    }
}

fn write_fields<M: SerializeMap>(kind: &EntryKind, map: &mut M) -> Result<(), M::Error> {
    match kind {
        EntryKind::Message { message } => map.serialize_entry("message", message),
        EntryKind::ModelChange { provider, model_id } => {
            map.serialize_entry("provider", provider)?;
            map.serialize_entry("modelId", model_id)?;
            map.serialize_entry("model", &format_args!("{provider}/{model_id}"))
        }
        EntryKind::ThinkingLevelChange { thinking_level } => {
            map.serialize_entry("thinkingLevel", thinking_level)
        }
        EntryKind::Compaction(compaction) => {
            map.serialize_entry("summary", &compaction.summary)?;
            map.serialize_entry("firstKeptEntryId", &compaction.first_kept_entry_id)?;
            map.serialize_entry("tokensBefore", &compaction.tokens_before)?;
            write_if_some(map, "details", compaction.details.as_ref())?;
            write_rest(
                map,
                &compaction.extra,
                &["summary", "firstKeptEntryId", "tokensBefore", "details"],
            )
        }
        EntryKind::BranchSummary {
            from_id,
            summary,
            details,
        } => {
            map.serialize_entry("fromId", from_id)?;
            map.serialize_entry("summary", summary)?;
            write_if_some(map, "details", details.as_ref())
        }
        EntryKind::Custom { custom_type, data } => {
            map.serialize_entry("customType", custom_type)?;
            write_if_some(map, "data", data.as_ref())
        }
        EntryKind::CustomMessage {
            custom_type,
            content,
            display,
            details,
            attribution,
        } => {
            map.serialize_entry("customType", custom_type)?;
            map.serialize_entry("content", content)?;
            map.serialize_entry("display", display)?;
            write_if_some(map, "details", details.as_ref())?;
            write_if_some(map, "attribution", attribution.as_ref())
        }
        EntryKind::ContextEdit {
            target_id,
            replacement,
        } => {
            #[derive(Serialize)]
            struct ReplacedContent<'a> {
                content: &'a UserContent,
            }
            map.serialize_entry("targetId", target_id)?;
            // Null means: nothing.
            let replacement = replacement
                .as_ref()
                .map(|content| ReplacedContent { content });
            map.serialize_entry("replacement", &replacement)
        }
        EntryKind::Label { target_id, label } => {
            map.serialize_entry("targetId", target_id)?;
            write_if_some(map, "label", label.as_ref())
        }
        EntryKind::SessionInfo { name } => map.serialize_entry("name", name),
        EntryKind::Other(fields) => write_rest(map, fields, &[]),
    }
}

fn write_if_some<M: SerializeMap, T: Serialize>(
    map: &mut M,
    key: &str,
    value: Option<&T>,
) -> Result<(), M::Error> {
    match value {
        Some(value) => map.serialize_entry(key, value),
        None => Ok(()),
    }
}

/// Writes the fields that are not written yet: no key may occur twice in a line.
fn write_rest<M: SerializeMap>(
    map: &mut M,
    fields: &Map<String, Value>,
    written: &[&str],
) -> Result<(), M::Error> {
    const OF_EVERY_ENTRY: [&str; 4] = ["type", "id", "parentId", "timestamp"];
    for (key, value) in fields {
        if !OF_EVERY_ENTRY.contains(&key.as_str()) && !written.contains(&key.as_str()) {
            map.serialize_entry(key, value)?;
        }
    }
    Ok(())
}

/// Messages, nearly all of a file, are read straight into their shape; the rest through a map.
pub(super) fn read_entry(kind: &str, line: &[u8]) -> Option<Entry> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct MessageLine {
        id: String,
        #[serde(default)]
        parent_id: Option<String>,
        #[serde(default)]
        timestamp: String,
        message: Arc<Message>,
    }
    if kind == "message"
        && let Ok(read) = serde_json::from_slice::<MessageLine>(line)
    {
        return Some(Entry {
            id: read.id,
            parent_id: read.parent_id,
            timestamp: read.timestamp,
            kind: EntryKind::Message {
                message: read.message,
            },
        });
    }
    serde_json::from_slice(line).ok()
}

/// The kind of entry the fields describe; what cannot be read as what it claims to be stays raw.
fn read_fields(fields: Map<String, Value>) -> EntryKind {
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or("");
    read_known(kind, &fields).unwrap_or(EntryKind::Other(fields))
}

fn read_known(kind: &str, fields: &Map<String, Value>) -> Option<EntryKind> {
    let string = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
    let value = |key: &str| fields.get(key).cloned();
    Some(match kind {
        "message" => EntryKind::Message {
            message: Arc::new(Message::deserialize(fields.get("message")?).ok()?),
        },
        "model_change" => read_model_change(fields)?,
        "thinking_level_change" => EntryKind::ThinkingLevelChange {
            thinking_level: match fields.get("thinkingLevel") {
                None | Some(Value::Null) => None,
                Some(level) => Some(level.as_str()?.to_owned()),
            },
        },
        "compaction" => {
            let mut own = fields.clone();
            own.shift_remove("type");
            EntryKind::Compaction(serde_json::from_value(Value::Object(own)).ok()?)
        }
        "branch_summary" => EntryKind::BranchSummary {
            from_id: string("fromId")?,
            summary: string("summary")?,
            details: value("details"),
        },
        "custom" => EntryKind::Custom {
            custom_type: string("customType")?,
            data: value("data"),
        },
        "custom_message" => EntryKind::CustomMessage {
            custom_type: string("customType")?,
            content: UserContent::deserialize(fields.get("content")?).ok()?,
            display: fields.get("display").is_none_or(|shown| shown != false),
            details: value("details"),
            attribution: string("attribution"),
        },
        "context_edit" => EntryKind::ContextEdit {
            target_id: string("targetId")?,
            replacement: match fields.get("replacement")? {
                Value::Null => None,
                other => Some(UserContent::deserialize(other.get("content")?).ok()?),
            },
        },
        "label" => EntryKind::Label {
            target_id: string("targetId")?,
            label: string("label"),
        },
        "session_info" => EntryKind::SessionInfo {
            name: string("name").unwrap_or_default(),
        },
        _ => return None,
    })
}

/// pi writes `provider` and `modelId`, omp `model: "provider/id"`. omp's change of a model for
/// another role than the conversation's own is not ours to follow and stays raw.
fn read_model_change(fields: &Map<String, Value>) -> Option<EntryKind> {
    let string = |key: &str| fields.get(key).and_then(Value::as_str);
    if string("role").is_some_and(|role| role != "default") {
        return None;
    }
    let (provider, model_id) = match (string("provider"), string("modelId")) {
        (Some(provider), Some(model_id)) => (provider, model_id),
        _ => string("model")?.split_once('/')?,
    };
    Some(EntryKind::ModelChange {
        provider: provider.to_owned(),
        model_id: model_id.to_owned(),
    })
}

fn text(value: Option<Value>) -> Option<String> {
    match value {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as pi and omp write them, and lines of neither.
    const LINES: [&str; 16] = [
        r#"{"type":"message","id":"3f2a9c01","parentId":"9b1d00aa","timestamp":"2026-11-15T07:45:38.409Z","message":{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":1794728738409}}"#,
        r#"{"type":"message","id":"3f2a9c02","parentId":null,"timestamp":"t","message":{"role":"pythonExecution","code":"1+1","timestamp":1}}"#,
        r#"{"type":"model_change","id":"3f2a9c03","parentId":null,"timestamp":"t","provider":"anthropic","modelId":"claude-x","model":"anthropic/claude-x"}"#,
        r#"{"type":"thinking_level_change","id":"3f2a9c04","parentId":"3f2a9c03","timestamp":"t","thinkingLevel":"high"}"#,
        r#"{"type":"thinking_level_change","id":"3f2a9c05","parentId":"3f2a9c03","timestamp":"t","thinkingLevel":null}"#,
        r#"{"type":"compaction","id":"3f2a9c06","parentId":"a","timestamp":"t","summary":"s","firstKeptEntryId":"a","tokensBefore":5,"details":{"readFiles":[]},"fromHook":false}"#,
        r#"{"type":"compaction","id":"3f2a9c07","parentId":"a","timestamp":"t","summary":"s","firstKeptEntryId":"a","tokensBefore":5,"shortSummary":"x","preserveData":{"k":1},"fromExtension":true}"#,
        r#"{"type":"branch_summary","id":"3f2a9c08","parentId":"a","timestamp":"t","fromId":"root","summary":"s","details":{"n":1}}"#,
        r#"{"type":"custom","id":"3f2a9c09","parentId":"a","timestamp":"t","customType":"ext","data":{"state":1}}"#,
        r#"{"type":"custom_message","id":"3f2a9c0a","parentId":"a","timestamp":"t","customType":"ext","content":"text","display":false,"details":[1]}"#,
        r#"{"type":"custom_message","id":"3f2a9c0b","parentId":"a","timestamp":"t","customType":"ext","content":[{"type":"text","text":"x"}],"display":true}"#,
        r#"{"type":"label","id":"3f2a9c0c","parentId":"a","timestamp":"t","targetId":"a","label":"here"}"#,
        r#"{"type":"label","id":"3f2a9c0d","parentId":"a","timestamp":"t","targetId":"a"}"#,
        r#"{"type":"session_info","id":"3f2a9c0e","parentId":"a","timestamp":"t","name":"a name"}"#,
        r#"{"type":"mode_change","id":"3f2a9c0f","parentId":"a","timestamp":"t","mode":"plan","data":{"planFile":"p.md"}}"#,
        r#"{"type":"compaction","id":"3f2a9c10","parentId":"a","timestamp":"t","summary":["not","text"]}"#,
    ];

    #[test]
    fn every_kind_of_entry_is_written_as_it_was_read() {
        for line in LINES {
            let entry = Entry::from_line(line.as_bytes()).unwrap();
            let written = String::from_utf8(entry.to_line().unwrap()).unwrap();
            assert_eq!(written, format!("{line}\n"));
            assert_eq!(serde_json::from_str::<Entry>(line).unwrap(), entry);
        }
    }

    #[test]
    fn every_type_of_the_format_is_understood_and_others_are_kept_raw() {
        let raw: Vec<bool> = LINES
            .iter()
            .map(|line| Entry::from_line(line.as_bytes()).unwrap())
            .map(|entry| matches!(entry.kind, EntryKind::Other(_)))
            .collect();
        let mut expected = [false; 16];
        expected[14..].fill(true);
        assert_eq!(raw, expected);
    }

    #[test]
    fn omps_model_change_is_read_and_written_as_that_of_both() {
        let line = r#"{"type":"model_change","id":"a","parentId":null,"timestamp":"t","model":"openrouter/vendor/model","role":"default"}"#;
        let entry = Entry::from_line(line.as_bytes()).unwrap();
        let written = String::from_utf8(entry.to_line().unwrap()).unwrap();
        assert_eq!(
            written,
            "{\"type\":\"model_change\",\"id\":\"a\",\"parentId\":null,\"timestamp\":\"t\",\"provider\":\"openrouter\",\"modelId\":\"vendor/model\",\"model\":\"openrouter/vendor/model\"}\n"
        );
    }

    #[test]
    fn headers_are_written_as_they_were_read() {
        for line in [
            r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w"}"#,
            r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w","parentSession":"/p.jsonl","title":"n"}"#,
        ] {
            let header = SessionHeader::from_line(line.as_bytes()).unwrap();
            assert_eq!(header.to_line().unwrap(), format!("{line}\n").into_bytes());
        }
    }

    #[test]
    fn no_field_is_ever_written_twice() {
        let fields = serde_json::json!({"type": "x", "id": "other", "timestamp": 1, "a": 2});
        let entry = Entry {
            id: "a".into(),
            parent_id: None,
            timestamp: "t".into(),
            kind: EntryKind::Other(fields.as_object().unwrap().clone()),
        };
        assert_eq!(
            serde_json::to_string(&entry).unwrap(),
            r#"{"type":"x","id":"a","parentId":null,"timestamp":"t","a":2}"#
        );
        let typeless = Entry {
            kind: EntryKind::Other(Map::new()),
            ..entry
        };
        assert!(typeless.to_line().is_err());
    }
}
