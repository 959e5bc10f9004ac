//! What an extension keeps in its session: entries of the session file, the last of a key counts.

use std::collections::HashMap;

use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::limits::{LABEL_BYTES, STATE_BYTES, STATE_KEYS};
use super::port::{PortError, SessionPort};

/// Why a value is not stored or not found. The texts are for the extension.
#[derive(Debug, thiserror::Error)]
pub(super) enum StateError {
    #[error("the key is longer than {LABEL_BYTES} bytes")]
    LongKey,
    #[error("the value is longer than {STATE_BYTES} bytes")]
    LongValue,
    #[error("there are {STATE_KEYS} keys already")]
    TooManyKeys,
    #[error(transparent)]
    Port(#[from] PortError),
}

/// The values of one extension. They outlive its process, and with the session also ours.
pub(super) struct StateStore {
    entry_type: String,
    /// Read from the session when they are first asked for.
    known: Mutex<Option<HashMap<String, Value>>>,
}

impl StateStore {
    /// The values of the extension of that name.
    pub fn of(extension: &str) -> Self {
        Self {
            entry_type: format!("extension:{extension}"),
            known: Mutex::default(),
        }
    }

    /// The value of a key, `null` when there is none.
    pub async fn get(&self, port: &SessionPort, key: &str) -> Result<Value, StateError> {
        let mut known = self.known.lock().await;
        let values = self.read(&mut known, port).await?;
        Ok(values.get(key).cloned().unwrap_or_default())
    }

    /// Stores a value. Returns the id of its entry.
    pub async fn set(
        &self,
        port: &SessionPort,
        key: String,
        value: Value,
    ) -> Result<String, StateError> {
        if key.len() > LABEL_BYTES {
            return Err(StateError::LongKey);
        }
        if value.to_string().len() > STATE_BYTES {
            return Err(StateError::LongValue);
        }
        let mut known = self.known.lock().await;
        let values = self.read(&mut known, port).await?;
        if values.len() >= STATE_KEYS && !values.contains_key(&key) && !value.is_null() {
            return Err(StateError::TooManyKeys);
        }
        // Clients are told of it: one that reads slowly slows down who keeps much.
        port.wait_for_capacity().await;
        let entry = json!({ "key": key, "value": value });
        let entry_id = port.append(&self.entry_type, entry).await?;
        remember(values, key, value);
        Ok(entry_id)
    }

    async fn read<'a>(
        &self,
        known: &'a mut Option<HashMap<String, Value>>,
        port: &SessionPort,
    ) -> Result<&'a mut HashMap<String, Value>, StateError> {
        if known.is_none() {
            let mut values = HashMap::new();
            for mut entry in port.entries(&self.entry_type).await? {
                let value = entry.get_mut("value").map(Value::take).unwrap_or_default();
                if let Some(key) = entry.get("key").and_then(Value::as_str) {
                    remember(&mut values, key.to_owned(), value);
                }
            }
            *known = Some(values);
        }
        Ok(known.get_or_insert_default())
    }
}

fn remember(values: &mut HashMap<String, Value>, key: String, value: Value) {
    if value.is_null() {
        values.remove(&key);
    } else {
        values.insert(key, value);
    }
}
