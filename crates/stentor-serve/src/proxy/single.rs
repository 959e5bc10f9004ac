//! The proxy of a client that has one session at a time: all of its connection is on one node, and
//! moves when it opens a session of another.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use stentor_wire::attach::Refused;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::{
    CHUNK_BYTES, Ending, FromUpstream, Lines, PREPARE_WAIT, Place, TAKEOVER_WAIT, Upstream,
    Upstreams,
};

/// How long a session may be without a node before its clients are given up.
const RECOVER_WAIT: Duration = Duration::from_secs(60);

/// How often it is looked for meanwhile, if nothing changes before.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How long a dialect that is left may take for its last frames.
const DRAIN_WAIT: Duration = Duration::from_secs(10);

/// The longest line of a client that is looked at; a longer one is the dialect's to refuse.
const MAX_LINE_BYTES: usize = 65 << 20;

/// The exit status of a program whose server was stopped.
const STOPPED: u8 = 143;

const FAILED: u8 = 1;

/// What the proxy must know of a dialect. Lines have their ends.
pub trait ProxiedDialect: Send {
    /// The session that the client's flags name to begin with.
    fn named_by(&self, flags: &[String]) -> Option<String>;

    /// Whether the client's flags ask for the newest session of its folder.
    fn wants_newest(&self, _flags: &[String]) -> bool {
        false
    }

    /// Looks at a line of the client: notes what further upstreams must know, and what is under way.
    fn client_line(&mut self, line: &[u8]) -> FromClient;

    /// Looks at a line of the dialect and appends what the client is to read.
    fn upstream_line(&mut self, line: &[u8], to_client: &mut Vec<u8>);

    /// How an upstream begins on which the client is about to open a session by a line.
    fn arrival(&self, flags: &[String], named: &str) -> Arrival;

    /// The flags of an upstream that goes on with a session by its id.
    fn flags_in(&self, flags: &[String], session: &str) -> Vec<String>;

    /// What a new upstream is told first, so that it knows what the one before knew; in the session
    /// that it goes on with, if it does. The answers are not the client's.
    fn prologue(&mut self, session: Option<&str>) -> Vec<u8>;

    /// How far an upstream is with what it was told first.
    fn preparation(&mut self) -> Preparation;

    /// Answers a line that would have opened a session and cannot.
    fn refuse(&mut self, line: &[u8], why: &str, to_client: &mut Vec<u8>);

    /// The upstream is gone in the middle: answers what was under way and ends what was begun.
    fn lost(&mut self, why: &str, to_client: &mut Vec<u8>);

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
pub struct Arrival {
    pub flags: Vec<String>,
    /// It begins in no session of its own.
    pub visits: bool,
}

/// A client, and what was read of it already.
pub struct Client {
    pub stream: UnixStream,
    pub read_ahead: Vec<u8>,
}

/// A client whose dialect has begun, wherever its first session is.
pub struct Begun {
    dialect: Box<dyn ProxiedDialect>,
    upstreams: Upstreams,
    current: Current,
}

impl Begun {
    /// Begins where the session is that the client's flags name.
    pub async fn begin(
        dialect: Box<dyn ProxiedDialect>,
        upstreams: Upstreams,
    ) -> Result<Self, Refused> {
        let mut flags = upstreams.flags().to_vec();
        let mut named = dialect.named_by(&flags);
        if dialect.wants_newest(&flags)
            && let Some(newest) = upstreams.newest()
        {
            flags = dialect.flags_in(&flags, &newest);
            named = Some(newest);
        }
        let mut place = match &named {
            Some(named) => upstreams.place_of(named, &Place::Home).await,
            None => Place::Home,
        };
        let upstream = loop {
            match (upstreams.open(&place, flags.clone(), false).await, &named) {
                (Ok(upstream), _) => break upstream,
                (Err(why), None) => return Err(why),
                (Err(why), Some(named)) => match upstreams.moved_from(&place, named).await {
                    Some(next) => place = next,
                    None => return Err(why),
                },
            }
        };
        Ok(Self {
            dialect,
            upstreams,
            current: Current::new(place, upstream),
        })
    }

    /// Serves the client until it goes away. Returns the exit status of a program that was started
    /// for it, or why it was not served.
    pub async fn serve(self, client: Client) -> Result<u8, Refused> {
        let (reader, writer) = client.stream.into_split();
        let proxy = Proxy {
            dialect: self.dialect,
            upstreams: self.upstreams,
            reader,
            writer,
            from_client: Lines::new(client.read_ahead),
            input_ended: false,
            opening: None,
            to_upstream: Vec::new(),
            to_client: Vec::new(),
            current: self.current,
        };
        match proxy.run().await {
            Over::Ended(status) => Ok(status),
            Over::Refused(why) => Err(why),
            Over::ClientGone => Ok(0),
        }
    }
}

struct Proxy {
    dialect: Box<dyn ProxiedDialect>,
    upstreams: Upstreams,
    reader: OwnedReadHalf,
    writer: OwnedWriteHalf,
    from_client: Lines,
    input_ended: bool,
    /// A line that opens a session, and its name. It waits until the lines before it are on their way.
    opening: Option<(String, Vec<u8>)>,
    to_upstream: Vec<u8>,
    to_client: Vec<u8>,
    current: Current,
}

/// Where the dialect runs now.
struct Current {
    place: Place,
    /// Absent when the client's input has ended.
    input: Option<mpsc::Sender<Bytes>>,
    output: mpsc::Receiver<FromUpstream>,
    lines: Lines,
    session: Option<String>,
}

/// Why it is over.
enum Over {
    Ended(u8),
    Refused(Refused),
    ClientGone,
}

impl Current {
    fn new(place: Place, upstream: Upstream) -> Self {
        Self {
            place,
            input: Some(upstream.input),
            output: upstream.output,
            lines: Lines::default(),
            session: None,
        }
    }
}

impl Proxy {
    async fn run(mut self) -> Over {
        loop {
            match self.step().await {
                Ok(()) => {}
                Err(over) => return over,
            }
        }
    }

    async fn step(&mut self) -> Result<(), Over> {
        self.take_lines();
        if self.to_upstream.is_empty()
            && let Some((named, line)) = self.opening.take()
        {
            return self.open_session(&named, line).await;
        }
        let may_read = self.to_upstream.is_empty() && !self.input_ended;
        let has_end = self.current.place != Place::Home;
        tokio::select! {
            () = has_room(self.current.input.as_ref()), if !self.to_upstream.is_empty() => {
                let rest = self.to_upstream.split_off(self.to_upstream.len().min(CHUNK_BYTES));
                let chunk = std::mem::replace(&mut self.to_upstream, rest);
                if let Some(input) = &self.current.input {
                    // A dialect that has ended reads no more; its end is on its way.
                    input.try_send(chunk.into()).ok();
                }
            }
            ready = self.reader.readable(), if may_read => self.read(ready),
            from = self.current.output.recv(), if self.to_client.is_empty() => match from {
                Some(FromUpstream::Ended(ending)) => self.ended(ending).await?,
                Some(FromUpstream::Moved(session)) => self.moved(&session).await?,
                Some(from) => self.take(from),
                None => self.broken().await?,
            },
            written = self.writer.write(&self.to_client), if !self.to_client.is_empty() => {
                let written = written.map_err(|_| Over::ClientGone)?;
                self.to_client.drain(..written);
            }
            () = self.upstreams.end.cancelled(), if has_end => {
                self.drain().await?;
                return Err(Over::Ended(STOPPED));
            }
        }
        Ok(())
    }

    fn read(&mut self, ready: io::Result<()>) {
        let buffer = self.from_client.buffer();
        buffer.reserve(CHUNK_BYTES);
        let read = ready.and_then(|()| self.reader.try_read_buf(buffer));
        match read {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(0) | Err(_) => self.input_ended = true,
            Ok(_) => {}
        }
    }

    /// Looks at what the client wrote, up to a line that opens a session.
    fn take_lines(&mut self) {
        while self.opening.is_none()
            && self.to_upstream.len() < CHUNK_BYTES
            && let Some(line) = self.from_client.next_line()
        {
            match self.dialect.client_line(line) {
                FromClient::Pass => self.to_upstream.extend_from_slice(line),
                FromClient::Opens(named) => self.opening = Some((named, line.to_vec())),
            }
        }
        let is_stuck = self.from_client.rest_bytes() > MAX_LINE_BYTES;
        if self.opening.is_none() && (self.input_ended || is_stuck) {
            let rest = self.from_client.rest();
            self.to_upstream.extend_from_slice(rest);
        }
        if self.opening.is_none() && self.input_ended && self.to_upstream.is_empty() {
            self.current.input = None;
        }
    }

    fn take(&mut self, from: FromUpstream) {
        match from {
            FromUpstream::Bytes(bytes) => {
                self.current.lines.push(&bytes);
                while let Some(line) = self.current.lines.next_line() {
                    self.dialect.upstream_line(line, &mut self.to_client);
                }
            }
            FromUpstream::Session(id) => self.current.session = Some(id),
            FromUpstream::Moved(_) | FromUpstream::Ended(_) => {}
        }
    }

    /// Has a line open its session on the node that has it.
    async fn open_session(&mut self, named: &str, line: Vec<u8>) -> Result<(), Over> {
        let mut place = self.upstreams.place_of(named, &self.current.place).await;
        let Arrival { flags, visits } = self.dialect.arrival(self.upstreams.flags(), named);
        let (next, first) = loop {
            if place == self.current.place {
                self.to_upstream = line;
                return Ok(());
            }
            let prepared = self.prepared(place.clone(), flags.clone(), visits, None);
            let why = match prepared.await {
                Ok(prepared) => break prepared,
                Err(why) => why,
            };
            match self.upstreams.moved_from(&place, named).await {
                Some(next) => place = next,
                None => {
                    self.dialect
                        .refuse(&line, &why.message, &mut self.to_client);
                    return Ok(());
                }
            }
        };
        // What was asked of the node before is answered before anything of the next.
        self.drain().await?;
        self.current = next;
        self.to_client.extend_from_slice(&first);
        self.to_upstream = line;
        Ok(())
    }

    /// An upstream that knows what the client has set up, and what it wrote for the client meanwhile.
    async fn prepared(
        &mut self,
        place: Place,
        flags: Vec<String>,
        visits: bool,
        session: Option<&str>,
    ) -> Result<(Current, Vec<u8>), Refused> {
        let preparing = async {
            let upstream = self.upstreams.open(&place, flags, visits).await?;
            let mut next = Current::new(place.clone(), upstream);
            let mut first = Vec::new();
            let prologue = self.dialect.prologue(session);
            if let (Some(input), false) = (&next.input, prologue.is_empty()) {
                // It has ended if this fails.
                input.send(prologue.into()).await.ok();
            }
            loop {
                match self.dialect.preparation() {
                    Preparation::Waits => {}
                    Preparation::Done => break,
                    Preparation::Failed(why) => return Err(failed(&why)),
                }
                match next.output.recv().await {
                    Some(FromUpstream::Bytes(bytes)) => {
                        next.lines.push(&bytes);
                        while let Some(line) = next.lines.next_line() {
                            self.dialect.upstream_line(line, &mut first);
                        }
                    }
                    Some(FromUpstream::Session(id)) => next.session = Some(id),
                    Some(FromUpstream::Moved(id)) if session == Some(&*id) => {
                        return Err(failed("the session has moved again"));
                    }
                    Some(FromUpstream::Moved(_)) => {}
                    Some(FromUpstream::Ended(Ending { refused, .. })) => {
                        let why = "the session cannot be opened on its node";
                        return Err(failed(refused.as_deref().unwrap_or(why)));
                    }
                    None => return Err(failed("the node of the session does not answer")),
                }
            }
            if next.session.is_none() {
                next.session = session.map(str::to_owned);
            }
            Ok((next, first))
        };
        let in_time = timeout(PREPARE_WAIT, preparing).await;
        in_time.unwrap_or_else(|_| Err(failed("the node of the session does not answer in time")))
    }

    /// The dialect has ended.
    async fn ended(&mut self, ending: Ending) -> Result<(), Over> {
        let is_stopping = self.upstreams.end.is_cancelled();
        if ending.goes_on_elsewhere && !is_stopping && !self.input_ended {
            return self.recover(true).await;
        }
        self.flush().await?;
        Err(match ending.refused {
            Some(message) => Over::Refused(Refused {
                message,
                status: ending.status,
            }),
            None => Over::Ended(ending.status),
        })
    }

    /// A session is no longer where it was.
    async fn moved(&mut self, session: &str) -> Result<(), Over> {
        if self.current.session.as_deref() != Some(session) || self.input_ended {
            return Ok(());
        }
        self.drain().await?;
        self.recover(true).await
    }

    /// Nothing more comes, without an end.
    async fn broken(&mut self) -> Result<(), Over> {
        match self.current.place {
            Place::Home => Err(Over::Refused(failed("internal error of the server"))),
            Place::Node(_) if self.input_ended => Err(Over::Ended(0)),
            Place::Node(_) => self.recover(false).await,
        }
    }

    /// Goes on where the session is now. Until then the client is not read. A node from which the
    /// session `has_moved` is not asked for it again before another one should have taken it.
    async fn recover(&mut self, has_moved: bool) -> Result<(), Over> {
        let mut why = match &self.current.place {
            Place::Home => "this node no longer has the session".to_owned(),
            Place::Node(node) => format!("the node {node} no longer has the session"),
        };
        self.dialect.lost(&why, &mut self.to_client);
        self.flush().await?;
        let session = self.current.session.take();
        let left = self.current.place.clone();
        let began = Instant::now();
        while began.elapsed() < RECOVER_WAIT {
            let left = Some(&left).filter(|_| has_moved && began.elapsed() < TAKEOVER_WAIT);
            match self.reopened(session.as_deref(), left).await {
                Ok((next, first)) => {
                    self.current = next;
                    self.to_client.extend_from_slice(&first);
                    return Ok(());
                }
                Err(refused) => why = refused.message,
            }
            tokio::select! {
                () = self.upstreams.changed() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = self.upstreams.end.cancelled() => return Err(Over::Ended(STOPPED)),
            }
        }
        self.dialect.give_up(&why, &mut self.to_client);
        self.flush().await?;
        Err(Over::Ended(FAILED))
    }

    async fn reopened(
        &mut self,
        session: Option<&str>,
        left: Option<&Place>,
    ) -> Result<(Current, Vec<u8>), Refused> {
        let Some(session) = session else {
            let Arrival { flags, visits } = self.dialect.arrival(self.upstreams.flags(), "");
            return self.prepared(Place::Home, flags, visits, None).await;
        };
        let place = self.upstreams.place_of(session, &Place::Home).await;
        if left == Some(&place) {
            return Err(failed("no other node has taken the session"));
        }
        let flags = self.dialect.flags_in(self.upstreams.flags(), session);
        self.prepared(place, flags, false, Some(session)).await
    }

    /// Ends the input of the dialect and lets its last frames out.
    async fn drain(&mut self) -> Result<(), Over> {
        self.current.input = None;
        loop {
            self.flush().await?;
            match timeout(DRAIN_WAIT, self.current.output.recv()).await {
                Ok(Some(FromUpstream::Ended(_)) | None) | Err(_) => return Ok(()),
                Ok(Some(from)) => self.take(from),
            }
        }
    }

    async fn flush(&mut self) -> Result<(), Over> {
        let written = self.writer.write_all(&self.to_client).await;
        self.to_client.clear();
        written.map_err(|_| Over::ClientGone)
    }
}

/// Waits until one more chunk can be sent, or nobody takes any.
async fn has_room(input: Option<&mpsc::Sender<Bytes>>) {
    if let Some(input) = input {
        input.reserve().await.ok();
    }
}

fn failed(message: &str) -> Refused {
    Refused {
        message: message.to_owned(),
        status: FAILED,
    }
}
