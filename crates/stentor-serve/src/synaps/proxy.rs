//! What the proxy knows of the dialect: the flag that names a session, the command that begins one, and
//! what is under way. No command opens a session that exists.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Deserialize;
use stentor_wire::synaps::{Event, TurnUsage};

use super::events;
use crate::proxy::{
    FirstSession, FromClient, GoesOn, OWN_ID, Preparation, ProxiedDialect, UpstreamStart,
    session_flags,
};

const SESSION_FLAGS: [&str; 1] = ["--continue"];

/// The command that begins a turn.
const PROMPT: &str = "prompt";

/// What is said of a prompt whose answer was lost with a connection.
const INTERRUPTED: &str = "the connection to the node of the session broke meanwhile";

/// Frames say where they are.
const CURSOR: &str = "--cursor";

/// The same, and the session is gone on with from a place.
const CURSOR_AT: &str = "--cursor=";

/// Commands that are tracked. What is more is not answered when a node is lost.
const MAX_TRACKED: usize = 1024;

/// A parent.
#[derive(Default)]
pub(crate) struct SynapsProxy {
    /// Ids of commands without an answer.
    commands: HashSet<String>,
    /// Those of them that are prompts.
    prompts: HashSet<String>,
    /// Prompts of a turn that the parent has joined again: its end is theirs.
    orphans: HashSet<String>,
    /// A turn has begun and not ended.
    in_turn: bool,
    waits_for_ready: bool,
    /// The model that the parent has set.
    model: Option<String>,
    /// The proxy has set it, and that is not answered.
    waits_for_model: bool,
}

#[derive(Deserialize)]
struct SynapsLineHead<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "type", default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
}

impl ProxiedDialect for SynapsProxy {
    fn named_by(&self, flags: &[String]) -> Option<String> {
        session_flags::named(flags, &SESSION_FLAGS)
    }

    fn client_line(&mut self, line: &[u8]) -> FromClient {
        let Ok(head) = serde_json::from_slice::<SynapsLineHead<'_>>(line) else {
            return FromClient::Pass;
        };
        let is_idle = !self.in_turn && self.commands.is_empty();
        if let Some(id) = head.id.filter(|_| self.commands.len() < MAX_TRACKED) {
            if head.kind.as_deref() == Some(PROMPT) {
                self.prompts.insert(id.to_string());
            }
            self.commands.insert(id.into_owned());
        }
        match (head.kind.as_deref(), head.model) {
            // While something is under way it is refused.
            (Some("new_session"), _) if is_idle => FromClient::Begins(None),
            (Some("set_model"), Some(model)) => {
                self.model = Some(model.into_owned());
                FromClient::Pass
            }
            _ => FromClient::Pass,
        }
    }

    fn upstream_line(&mut self, line: &[u8], to_client: &mut Vec<u8>) {
        if line.starts_with(b"{\"type\":\"message_update\"") {
            self.in_turn = true;
        } else if let Ok(head) = serde_json::from_slice::<SynapsLineHead<'_>>(line) {
            match head.kind.as_deref() {
                Some("ready") if std::mem::take(&mut self.waits_for_ready) => return,
                Some("agent_end") => {
                    self.in_turn = false;
                    to_client.extend_from_slice(line);
                    // It is not known what became of them.
                    self.end_run(INTERRUPTED, to_client);
                    return;
                }
                Some("response" | "error") => {
                    let id = head.id.unwrap_or_default();
                    if id.starts_with(OWN_ID) {
                        self.waits_for_model = false;
                        return;
                    }
                    self.commands.remove(&*id);
                    self.prompts.remove(&*id);
                }
                _ => {}
            }
        }
        to_client.extend_from_slice(line);
    }

    fn arrival(&self, flags: &[String], _named: Option<&str>) -> UpstreamStart {
        UpstreamStart {
            flags: session_flags::without(flags, &SESSION_FLAGS),
            first: FirstSession::None,
        }
    }

    fn flags_in(&self, flags: &[String], session: &str) -> Vec<String> {
        let mut flags = session_flags::without(flags, &SESSION_FLAGS);
        // The place that the parent began from is behind it.
        for flag in &mut flags {
            if flag.starts_with(CURSOR_AT) {
                *flag = CURSOR.to_owned();
            }
        }
        flags.extend(["--continue".to_owned(), session.to_owned()]);
        flags
    }

    fn prologue(&mut self, goes_on: GoesOn<'_>) -> Vec<u8> {
        self.waits_for_ready = true;
        let model = self.model.as_ref();
        let Some(model) = model.filter(|_| goes_on == GoesOn::WithNew) else {
            return Vec::new();
        };
        self.waits_for_model = true;
        let id = format!("{OWN_ID}model");
        let set = serde_json::json!({ "type": "set_model", "id": id, "model": model });
        format!("{set}\n").into_bytes()
    }

    fn preparation(&mut self) -> Preparation {
        match self.waits_for_ready || self.waits_for_model {
            true => Preparation::Waits,
            false => Preparation::Done,
        }
    }

    fn refuse(&mut self, _line: &[u8], why: &str, to_client: &mut Vec<u8>) {
        self.give_up(why, to_client);
    }

    fn lost(&mut self, why: &str, to_client: &mut Vec<u8>) {
        self.prompts.clear();
        for id in self.commands.drain() {
            let (id, message) = (Some(id), why.to_owned());
            events::write(to_client, &Event::Error { id, message });
        }
        self.end_run(why, to_client);
    }

    fn interrupted(&mut self, why: &str, to_client: &mut Vec<u8>) {
        self.orphans.extend(self.prompts.drain());
        for id in self.commands.drain() {
            if !self.orphans.contains(&id) {
                let (id, message) = (Some(id), why.to_owned());
                events::write(to_client, &Event::Error { id, message });
            }
        }
        // It is seen in nothing else while a tool runs.
        self.in_turn = true;
    }

    fn end_run(&mut self, why: &str, to_client: &mut Vec<u8>) {
        for id in self.orphans.drain() {
            let (id, message) = (Some(id), why.to_owned());
            events::write(to_client, &Event::Error { id, message });
        }
        if std::mem::take(&mut self.in_turn) {
            let (id, usage) = (None, TurnUsage::default());
            let message = why.to_owned();
            events::write(to_client, &Event::Error { id, message });
            events::write(to_client, &Event::AgentEnd { usage });
        }
    }

    fn give_up(&mut self, why: &str, to_client: &mut Vec<u8>) {
        let (id, message) = (None, why.to_owned());
        events::write(to_client, &Event::Error { id, message });
    }
}
