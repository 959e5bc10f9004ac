//! The first lines of a connection to `stentor serve`: who connects, and what the server answers.
//!
//! Each side writes one JSON object on one line. What follows are the bytes of the dialect, as they
//! would be on stdin and stdout. Unknown fields are ignored, so that either side can be the newer.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The version of the handshake.
pub const VERSION: u32 = 1;

/// The longest first line: it holds the client's arguments and environment.
pub const MAX_HELLO_BYTES: usize = 1 << 20;

/// What a client writes first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The version of the handshake, [`VERSION`].
    pub stentor: u32,
    #[serde(flatten)]
    pub wish: AttachRequest,
}

/// What a client wants of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttachRequest {
    /// To be served in a dialect.
    #[serde(rename = "client")]
    Serve(ClientHello),
    /// To go on with a link whose connection broke.
    Resume(LinkResume),
    /// Something about the server itself, answered by one line.
    Control(ServerControl),
    /// That the server lets go of a session that nobody uses.
    Release(Release),
}

/// A client of a dialect, and where it was started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientHello {
    /// `acp`, `omp`, `psi` or `synaps`.
    pub dialect: String,
    /// The flags of the dialect, without the words that name it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The folder it was started in, absolute.
    pub cwd: String,
    /// Its environment. What is not UTF-8 is left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// It only watches.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observe: bool,
    /// It speaks in the frames of a link ([`crate::link`]), which outlives its connection.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub link: bool,
    /// It is about to open a session by itself and needs none to begin with.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub visits: bool,
    /// It is about to begin a new session: without capacity for that it is refused with
    /// [`AttachRefusal::FULL`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub begins: bool,
}

/// A link that is to go on over this connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkResume {
    /// Names the link; only its relay knows it.
    pub token: String,
    /// How many bytes of the dialect the relay has received.
    pub received: u64,
}

/// A session that somebody else wants to open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// Its file, absolute.
    pub file: PathBuf,
}

/// What can be asked of the server itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerControl {
    Status,
    Stop,
    /// To be reached over HTTP from this machine, if it is not already.
    Http,
}

/// What the server answers to a client of a dialect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The version of the handshake, [`VERSION`].
    pub stentor: u32,
    #[serde(flatten)]
    pub outcome: AttachOutcome,
}

/// Whether a client is served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttachOutcome {
    /// The dialect's bytes follow.
    Served(ServedClient),
    /// The link goes on.
    Resumed(ResumedLink),
    /// The server does not have the session any more.
    Released {
        /// It had it.
        was_live: bool,
    },
    /// Nothing follows.
    Refused(AttachRefusal),
}

/// What a client learns of the server that serves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedClient {
    /// A life of the server.
    pub epoch: String,
    /// The process of the server.
    pub pid: u32,
    /// Names the link, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// How long the server keeps the link when its connection breaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_within_ms: Option<u64>,
}

/// What a relay learns whose link goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumedLink {
    /// How many bytes of the dialect the server has received.
    pub received: u64,
}

/// Why a client is not served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachRefusal {
    /// For a person.
    pub message: String,
    /// The exit status of a program that was started for this client.
    pub status: u8,
}

impl AttachRefusal {
    /// The status when there is no capacity left: somewhere else, or later, there may be some
    /// (`EX_TEMPFAIL`).
    pub const FULL: u8 = 75;
}

impl Hello {
    /// The first line of a client, its end included.
    pub fn line(wish: AttachRequest) -> Result<Vec<u8>, serde_json::Error> {
        line(&Self {
            stentor: VERSION,
            wish,
        })
    }

    /// Reads a first line.
    pub fn parse(line: &[u8]) -> Result<Self, BadHello> {
        #[derive(Deserialize)]
        struct Version {
            stentor: u32,
        }
        let Version { stentor } = serde_json::from_slice(line).map_err(BadHello::Unreadable)?;
        if stentor != VERSION {
            return Err(BadHello::Version(stentor));
        }
        serde_json::from_slice(line).map_err(BadHello::Unreadable)
    }
}

impl Welcome {
    /// The first line of the server, its end included.
    pub fn line(outcome: AttachOutcome) -> Result<Vec<u8>, serde_json::Error> {
        line(&Self {
            stentor: VERSION,
            outcome,
        })
    }
}

/// A first line that is not understood.
#[derive(Debug, thiserror::Error)]
pub enum BadHello {
    #[error(
        "the first line must be a JSON object with `stentor`, the version, and one of `client`, \
         `resume`, `release` and `control`"
    )]
    Unreadable(#[source] serde_json::Error),
    #[error("the handshake has version {0}, this program speaks version {VERSION}")]
    Version(u32),
}

fn line(what: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_line_is_written_and_read_alike() {
        let client = ClientHello {
            dialect: "acp".into(),
            args: vec!["--model".into(), "m".into()],
            cwd: "/work".into(),
            env: [("HOME".to_owned(), "/home/me".to_owned())].into(),
            observe: false,
            link: false,
            visits: false,
            begins: false,
        };
        let line = Hello::line(AttachRequest::Serve(client.clone())).unwrap();
        assert_eq!(
            String::from_utf8(line.clone()).unwrap(),
            concat!(
                r#"{"stentor":1,"client":{"dialect":"acp","args":["--model","m"],"#,
                r#""cwd":"/work","env":{"HOME":"/home/me"}}}"#,
                "\n"
            )
        );
        assert_eq!(
            Hello::parse(&line).unwrap().wish,
            AttachRequest::Serve(client)
        );
        let line = Hello::line(AttachRequest::Control(ServerControl::Stop)).unwrap();
        assert_eq!(line, b"{\"stentor\":1,\"control\":\"stop\"}\n");
        let file = "/s/1.jsonl".into();
        let line = Hello::line(AttachRequest::Release(Release { file })).unwrap();
        let release = b"{\"stentor\":1,\"release\":{\"file\":\"/s/1.jsonl\"}}\n";
        assert_eq!(line, release);
        let refused = AttachRefusal {
            message: "no".into(),
            status: 2,
        };
        let line = Welcome::line(AttachOutcome::Refused(refused)).unwrap();
        assert_eq!(
            line,
            b"{\"stentor\":1,\"refused\":{\"message\":\"no\",\"status\":2}}\n"
        );
    }

    #[test]
    fn another_version_and_other_lines_are_told_apart() {
        let newer = Hello::parse(br#"{"stentor":2,"client":7}"#);
        assert!(matches!(newer, Err(BadHello::Version(2))), "{newer:?}");
        for line in [&b"{}"[..], b"hello", b"[1]", br#"{"stentor":1}"#] {
            let read = Hello::parse(line);
            assert!(matches!(read, Err(BadHello::Unreadable(_))), "{read:?}");
        }
    }
}
