//! What the proxy knows of the page: which command opens a session. Opening one shows all of it, so
//! nothing else has to be known.

use serde::Deserialize;

use super::frames::Op;
use crate::proxy::{FirstSession, FromClient, GoesOn, Preparation, ProxiedDialect, UpstreamStart};

/// How it begins when a session cannot be shown.
const FAILURE: &[u8] = br#"{"op":"notice","level":"error""#;

/// A browser.
#[derive(Default)]
pub(crate) struct PageProxy {
    /// The proxy itself has opened a session, and nothing was shown since.
    opens: bool,
    failure: Option<String>,
    /// A session is shown: what is said is said in it.
    shows: bool,
}

#[derive(Deserialize)]
struct PageLineHead {
    r#do: String,
    #[serde(default)]
    session: Option<String>,
    #[serde(default)]
    cwd: Option<String>,
}

impl ProxiedDialect for PageProxy {
    fn named_by(&self, _flags: &[String]) -> Option<String> {
        None
    }

    fn begins_with_session(&self) -> bool {
        false
    }

    fn client_line(&mut self, line: &[u8]) -> FromClient {
        let Ok(head) = serde_json::from_slice::<PageLineHead>(line) else {
            return FromClient::Pass;
        };
        let shown = self.shows;
        match (head.r#do.as_str(), head.session) {
            ("open", Some(session)) => {
                self.shows = true;
                FromClient::Opens(session)
            }
            ("new", _) => {
                self.shows = true;
                FromClient::Begins(head.cwd.filter(|cwd| !cwd.is_empty()))
            }
            ("prompt", _) if !shown => {
                self.shows = true;
                FromClient::Begins(None)
            }
            _ => FromClient::Pass,
        }
    }

    fn line_elsewhere(&self, line: Vec<u8>, folder: Option<&str>) -> Vec<u8> {
        let Some(folder) = folder else { return line };
        let new = serde_json::json!({ "do": "new", "cwd": folder });
        format!("{new}\n").into_bytes()
    }

    fn upstream_line(&mut self, line: &[u8], to_client: &mut Vec<u8>) {
        if std::mem::take(&mut self.opens) && line.starts_with(FAILURE) {
            self.failure = Some(String::from_utf8_lossy(line).trim_end().to_owned());
            return;
        }
        to_client.extend_from_slice(line);
    }

    fn arrival(&self, flags: &[String], _named: Option<&str>) -> UpstreamStart {
        UpstreamStart {
            flags: flags.to_vec(),
            first: FirstSession::None,
        }
    }

    fn flags_in(&self, flags: &[String], _session: &str) -> Vec<String> {
        flags.to_vec()
    }

    fn prologue(&mut self, goes_on: GoesOn<'_>) -> Vec<u8> {
        (self.opens, self.failure) = (false, None);
        let GoesOn::With(session) = goes_on else {
            return Vec::new();
        };
        self.opens = true;
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
