//! What the proxy knows of the page: which command opens a session. Opening one shows all of it, so
//! nothing else has to be known.

use serde::Deserialize;

use super::frames::Op;
use crate::proxy::single::Arrival;
use crate::proxy::{FromClient, ProxiedDialect};

/// A browser.
#[derive(Default)]
pub(crate) struct PageProxy;

#[derive(Deserialize)]
struct Head {
    r#do: String,
    #[serde(default)]
    session: Option<String>,
}

impl ProxiedDialect for PageProxy {
    fn named_by(&self, _flags: &[String]) -> Option<String> {
        None
    }

    fn from_client(&mut self, line: &[u8]) -> FromClient {
        match serde_json::from_slice(line) {
            Ok(Head {
                r#do,
                session: Some(session),
            }) if r#do == "open" => FromClient::Opens(session),
            _ => FromClient::Pass,
        }
    }

    fn from_upstream(&mut self, line: &[u8], to_client: &mut Vec<u8>) {
        to_client.extend_from_slice(line);
    }

    fn arrival(&self, flags: &[String], _named: &str) -> Arrival {
        Arrival {
            flags: flags.to_vec(),
            visits: true,
        }
    }

    fn flags_in(&self, flags: &[String], _session: &str) -> Vec<String> {
        flags.to_vec()
    }

    fn prologue(&mut self, session: Option<&str>) -> Vec<u8> {
        let Some(session) = session else {
            return Vec::new();
        };
        let open = serde_json::json!({ "do": "open", "session": session });
        format!("{open}\n").into_bytes()
    }

    fn is_prepared(&self) -> bool {
        true
    }

    fn refuse(&mut self, _line: &[u8], why: &str, to_client: &mut Vec<u8>) {
        self.give_up(why, to_client);
    }

    fn lost(&mut self, why: &str, to_client: &mut Vec<u8>) {
        let level = "warning";
        Op::Notice { level, text: why }.write(to_client);
    }

    fn give_up(&mut self, why: &str, to_client: &mut Vec<u8>) {
        let level = "error";
        Op::Notice { level, text: why }.write(to_client);
    }
}
