//! What the proxy knows of the dialect: the flag that names a session, and what is under way. No
//! command opens a session that exists.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Deserialize;
use stentor_wire::synaps::{Event, TurnUsage};

use super::events;
use crate::proxy::single::{Arrival, Preparation};
use crate::proxy::{FromClient, ProxiedDialect, session_flags};

const SESSION_FLAGS: [&str; 1] = ["--continue"];

/// Commands that are tracked. What is more is not answered when a node is lost.
const MAX_TRACKED: usize = 1024;

/// A parent.
#[derive(Default)]
pub(crate) struct SynapsProxy {
    /// Ids of commands without an answer.
    commands: HashSet<String>,
    /// A turn has begun and not ended.
    in_turn: bool,
    waits_for_ready: bool,
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "type", default)]
    kind: Option<Cow<'a, str>>,
}

impl ProxiedDialect for SynapsProxy {
    fn named_by(&self, flags: &[String]) -> Option<String> {
        session_flags::named(flags, &SESSION_FLAGS)
    }

    fn client_line(&mut self, line: &[u8]) -> FromClient {
        if let Ok(head) = serde_json::from_slice::<Head<'_>>(line)
            && let Some(id) = head.id.filter(|_| self.commands.len() < MAX_TRACKED)
        {
            self.commands.insert(id.into_owned());
        }
        FromClient::Pass
    }

    fn upstream_line(&mut self, line: &[u8], to_client: &mut Vec<u8>) {
        if line.starts_with(b"{\"type\":\"message_update\"") {
            self.in_turn = true;
        } else if let Ok(head) = serde_json::from_slice::<Head<'_>>(line) {
            match head.kind.as_deref() {
                Some("ready") if std::mem::take(&mut self.waits_for_ready) => return,
                Some("agent_end") => self.in_turn = false,
                Some("response" | "error") => {
                    self.commands.remove(&*head.id.unwrap_or_default());
                }
                _ => {}
            }
        }
        to_client.extend_from_slice(line);
    }

    fn arrival(&self, flags: &[String], _named: &str) -> Arrival {
        Arrival {
            flags: session_flags::without(flags, &SESSION_FLAGS),
            visits: true,
        }
    }

    fn flags_in(&self, flags: &[String], session: &str) -> Vec<String> {
        let mut flags = session_flags::without(flags, &SESSION_FLAGS);
        flags.extend(["--continue".to_owned(), session.to_owned()]);
        flags
    }

    fn prologue(&mut self, _session: Option<&str>) -> Vec<u8> {
        self.waits_for_ready = true;
        Vec::new()
    }

    fn preparation(&mut self) -> Preparation {
        match self.waits_for_ready {
            true => Preparation::Waits,
            false => Preparation::Done,
        }
    }

    fn refuse(&mut self, _line: &[u8], why: &str, to_client: &mut Vec<u8>) {
        self.give_up(why, to_client);
    }

    fn lost(&mut self, why: &str, to_client: &mut Vec<u8>) {
        let message = why.to_owned();
        for id in self.commands.drain() {
            let (id, message) = (Some(id), message.clone());
            events::write(to_client, &Event::Error { id, message });
        }
        if std::mem::take(&mut self.in_turn) {
            let (id, usage) = (None, TurnUsage::default());
            events::write(to_client, &Event::Error { id, message });
            events::write(to_client, &Event::AgentEnd { usage });
        }
    }

    fn give_up(&mut self, why: &str, to_client: &mut Vec<u8>) {
        let (id, message) = (None, why.to_owned());
        events::write(to_client, &Event::Error { id, message });
    }
}
