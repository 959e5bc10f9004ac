//! What the proxy knows of the page: which command opens a session. Opening one shows all of it, so
//! nothing else has to be known.

use serde::Deserialize;

use super::frames::Op;
use crate::proxy::single::{Arrival, Preparation};
use crate::proxy::{FromClient, ProxiedDialect};

/// How it begins when a session cannot be shown.
const FAILURE: &[u8] = br#"{"op":"notice","level":"error""#;

/// A browser.
#[derive(Default)]
pub(crate) struct PageProxy {
    /// The proxy itself has opened a session, and nothing was shown since.
    opens: bool,
    failure: Option<String>,
}

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

    fn client_line(&mut self, line: &[u8]) -> FromClient {
        match serde_json::from_slice(line) {
            Ok(Head {
                r#do,
                session: Some(session),
            }) if r#do == "open" => FromClient::Opens(session),
            _ => FromClient::Pass,
        }
    }

    fn upstream_line(&mut self, line: &[u8], to_client: &mut Vec<u8>) {
        if std::mem::take(&mut self.opens) && line.starts_with(FAILURE) {
            self.failure = Some(String::from_utf8_lossy(line).trim_end().to_owned());
            return;
        }
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
        (self.opens, self.failure) = (session.is_some(), None);
        let Some(session) = session else {
            return Vec::new();
        };
        let open = serde_json::json!({ "do": "open", "session": session });
        format!("{open}\n").into_bytes()
    }

    fn preparation(&mut self) -> Preparation {
        match (self.opens, self.failure.take()) {
            (_, Some(why)) => Preparation::Failed(why),
            (true, None) => Preparation::Waits,
            (false, None) => Preparation::Done,
        }
    }

    fn refuse(&mut self, _line: &[u8], why: &str, to_client: &mut Vec<u8>) {
        self.opens = false;
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
