//! What the proxy must know of a dialect whose clients have one session at a time.

use super::FirstSession;

/// What the proxy must know of a dialect. Lines have their ends.
pub trait ProxiedDialect: Send {
    /// The session that the client's flags name to begin with.
    fn named_by(&self, flags: &[String]) -> Option<String>;

    /// Whether the client's flags ask for the newest session of its folder.
    fn wants_newest(&self, _flags: &[String]) -> bool {
        false
    }

    /// True when a client that names no session begins with a new one.
    fn begins_with_session(&self) -> bool {
        true
    }

    /// Looks at a line of the client: notes what further upstreams must know, and what is under way.
    fn client_line(&mut self, line: &[u8]) -> FromClient;

    /// Looks at a line of the dialect and appends what the client is to read.
    fn upstream_line(&mut self, line: &[u8], to_client: &mut Vec<u8>);

    /// How an upstream begins on which the client is about to open a session by a line; a new one if
    /// it is not named.
    fn arrival(&self, flags: &[String], named: Option<&str>) -> UpstreamStart;

    /// The flags of an upstream that goes on with a session by its id.
    fn flags_in(&self, flags: &[String], session: &str) -> Vec<String>;

    /// What a new upstream is told first, so that it knows what the one before knew. The answers are
    /// not the client's.
    fn prologue(&mut self, goes_on: GoesOn<'_>) -> Vec<u8>;

    /// A line that begins a session, as another node is to have it: with its folder as that names it.
    fn line_elsewhere(&self, line: Vec<u8>, _folder: Option<&str>) -> Vec<u8> {
        line
    }

    /// How far an upstream is with what it was told first.
    fn preparation(&mut self) -> Preparation;

    /// Answers a line that would have opened a session and cannot.
    fn refuse(&mut self, line: &[u8], why: &str, to_client: &mut Vec<u8>);

    /// The upstream is gone in the middle: answers what was under way and ends what was begun.
    fn lost(&mut self, why: &str, to_client: &mut Vec<u8>);

    /// The connection to the upstream broke, and what runs there goes on: answers what cannot be
    /// answered any more, and ends no run.
    fn interrupted(&mut self, why: &str, to_client: &mut Vec<u8>) {
        self.lost(why, to_client);
    }

    /// A run that went on without the client has ended, and the client may not have seen that.
    fn end_run(&mut self, _why: &str, _to_client: &mut Vec<u8>) {}

    /// The last line of a client that cannot be served any more.
    fn give_up(&mut self, why: &str, to_client: &mut Vec<u8>);
}

/// What a line of a client means to the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FromClient {
    /// It goes where the client is.
    Pass,
    /// It opens the session of this name: it goes where that is.
    Opens(String),
    /// It opens the newest session that is kept by this folder of session files, absolute, or begins
    /// one.
    OpensKeptIn(String),
    /// It begins a new session: in a folder, or where the client is.
    Begins(Option<String>),
}

/// What a client does on a new upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoesOn<'a> {
    /// It goes on with a session.
    With(&'a str),
    /// It opens one by a line.
    ByItself,
    /// It begins a new one, with what it has set in the one before.
    WithNew,
}

/// How far an upstream is with what it was told first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Preparation {
    /// It has not answered all of it.
    Waits,
    Done,
    /// It does not have the session.
    Failed(String),
}

/// How an upstream begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamStart {
    pub flags: Vec<String>,
    pub first: FirstSession,
}
