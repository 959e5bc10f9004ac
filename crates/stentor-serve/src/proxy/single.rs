//! The proxy of a client that has one session at a time: all of its connection is on one node, and
//! moves when it opens a session of another.

mod recovery;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use stentor_wire::attach::AttachRefusal;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::time::timeout;

use recovery::{RejoinedRun, look_at};

use super::{
    CHUNK_BYTES, Capacity, DialectEnding, FirstSession, FromClient, FromUpstream, GoesOn,
    LineBuffer, NodePlace, PREPARE_WAIT, Preparation, ProxiedDialect, Upstream, UpstreamStart,
    Upstreams,
};

/// How long a dialect that is left may take for its last frames.
const DRAIN_WAIT: Duration = Duration::from_secs(10);

/// The longest line of a client that is looked at; a longer one is the dialect's to refuse.
const MAX_LINE_BYTES: usize = 65 << 20;

/// The exit status of a program whose server was stopped.
const STOPPED: u8 = 143;

const FAILED: u8 = 1;

/// A client, and what was read of it already.
pub struct ProxyClient {
    pub stream: UnixStream,
    pub read_ahead: Vec<u8>,
}

/// A client whose dialect has begun, wherever its first session is.
pub struct BegunProxy {
    dialect: Box<dyn ProxiedDialect>,
    upstreams: Upstreams,
    current: CurrentUpstream,
}

impl BegunProxy {
    /// Begins where the session is that the client's flags name.
    pub async fn begin(
        dialect: Box<dyn ProxiedDialect>,
        upstreams: Upstreams,
    ) -> Result<Self, AttachRefusal> {
        let mut flags = upstreams.flags().to_vec();
        let mut named = dialect.named_by(&flags);
        if dialect.wants_newest(&flags)
            && let Some(newest) = upstreams.newest()
        {
            flags = dialect.flags_in(&flags, &newest);
            named = Some(newest);
        }
        let current = match &named {
            Some(named) => open_named(&upstreams, named, flags).await?,
            None if dialect.begins_with_session() && !upstreams.observes() => {
                begin_new(&upstreams, flags).await?
            }
            None => {
                let first = FirstSession::AsFlagged;
                let upstream = upstreams.open(&NodePlace::Home, flags, first).await?;
                CurrentUpstream::new(NodePlace::Home, upstream)
            }
        };
        Ok(Self {
            dialect,
            upstreams,
            current,
        })
    }

    /// Serves the client until it goes away. Returns the exit status of a program that was started
    /// for it, or why it was not served.
    pub async fn serve(self, client: ProxyClient) -> Result<u8, AttachRefusal> {
        let (reader, writer) = client.stream.into_split();
        let proxy = Proxy {
            dialect: self.dialect,
            upstreams: self.upstreams,
            reader,
            writer,
            from_client: LineBuffer::new(client.read_ahead),
            input_ended: false,
            opening: None,
            to_upstream: Vec::new(),
            to_client: Vec::new(),
            current: self.current,
            rejoined: None,
        };
        match proxy.run().await {
            SingleProxyEnd::Ended(status) => Ok(status),
            SingleProxyEnd::Refused(why) => Err(why),
            SingleProxyEnd::ClientGone => Ok(0),
        }
    }
}

/// Serves a client where the session is that it names.
async fn open_named(
    upstreams: &Upstreams,
    named: &str,
    flags: Vec<String>,
) -> Result<CurrentUpstream, AttachRefusal> {
    let mut place = upstreams.place_of(named, &NodePlace::Home).await;
    loop {
        let first = FirstSession::AsFlagged;
        let why = match upstreams.open(&place, flags.clone(), first).await {
            Ok(upstream) => return Ok(CurrentUpstream::new(place, upstream)),
            Err(why) => why,
        };
        match upstreams.moved_from(&place, named).await {
            Some(next) => place = next,
            None => return Err(why),
        }
    }
}

/// Serves a client in a new session, on the first node that has capacity for it. If none has, what its
/// own node says counts.
async fn begin_new(
    upstreams: &Upstreams,
    flags: Vec<String>,
) -> Result<CurrentUpstream, AttachRefusal> {
    let mut refused = None;
    let places = upstreams.places_for(upstreams.folder(), &NodePlace::Home);
    for place in places.await {
        let opened = upstreams.open(&place, flags.clone(), FirstSession::New);
        match opened.await {
            Ok(upstream) => return Ok(CurrentUpstream::new(place, upstream)),
            Err(why) if place == NodePlace::Home && why.status != AttachRefusal::FULL => {
                return Err(why);
            }
            Err(why) => drop(refused.get_or_insert(why)),
        }
    }
    Err(refused.unwrap_or_else(|| failed("no node has the folder")))
}

struct Proxy {
    dialect: Box<dyn ProxiedDialect>,
    upstreams: Upstreams,
    reader: OwnedReadHalf,
    writer: OwnedWriteHalf,
    from_client: LineBuffer,
    input_ended: bool,
    /// A line that opens a session, and which. It waits until the lines before it are on their way.
    opening: Option<(FromClient, Vec<u8>)>,
    /// The rest of the line that is being sent. Lines behind it are not looked at until there is room for
    /// them: of what was never sent, the dialect knows nothing.
    to_upstream: Vec<u8>,
    to_client: Vec<u8>,
    current: CurrentUpstream,
    rejoined: Option<RejoinedRun>,
}

/// Where the dialect runs now.
struct CurrentUpstream {
    place: NodePlace,
    /// Absent when the client's input has ended.
    input: Option<mpsc::Sender<Bytes>>,
    output: mpsc::Receiver<FromUpstream>,
    lines: LineBuffer,
    session: Option<String>,
    capacity: Arc<dyn Capacity>,
}

/// Why it is over.
enum SingleProxyEnd {
    Ended(u8),
    Refused(AttachRefusal),
    ClientGone,
}

impl CurrentUpstream {
    fn new(place: NodePlace, upstream: Upstream) -> Self {
        Self {
            place,
            input: Some(upstream.input),
            output: upstream.output,
            lines: LineBuffer::default(),
            session: None,
            capacity: upstream.capacity,
        }
    }
}

impl Proxy {
    async fn run(mut self) -> SingleProxyEnd {
        loop {
            match self.step().await {
                Ok(()) => {}
                Err(over) => return over,
            }
        }
    }

    async fn step(&mut self) -> Result<(), SingleProxyEnd> {
        if self.to_upstream.is_empty()
            && let Some((opening, line)) = self.opening.take()
        {
            return self.open_or_begin(opening, line).await;
        }
        let has_more = !self.to_upstream.is_empty() || self.has_lines();
        if self.input_ended && !has_more {
            self.current.input = None;
        }
        let may_read = !has_more && !self.input_ended;
        let has_end = self.current.place != NodePlace::Home;
        tokio::select! {
            () = has_room(self.current.input.as_ref()), if has_more => self.send_lines(),
            ready = self.reader.readable(), if may_read => self.read(ready),
            from = self.current.output.recv(), if self.to_client.is_empty() => match from {
                Some(FromUpstream::Ended(ending)) => self.ended(ending).await?,
                Some(FromUpstream::Moved(session)) => self.moved(&session).await?,
                Some(from) => self.take(from),
                None => self.broken().await?,
            },
            written = self.writer.write(&self.to_client), if !self.to_client.is_empty() => {
                let written = written.map_err(|_| SingleProxyEnd::ClientGone)?;
                self.to_client.drain(..written);
            }
            () = look_at(self.rejoined.as_ref()), if self.rejoined.is_some() => self.check_run(),
            () = self.upstreams.end.cancelled(), if has_end => {
                self.drain().await?;
                return Err(SingleProxyEnd::Ended(STOPPED));
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

    /// True when something of the client can be looked at: lines, or what has no end to wait for.
    fn has_lines(&mut self) -> bool {
        self.from_client.has_line() || self.has_rest()
    }

    fn has_rest(&self) -> bool {
        let rest = self.from_client.rest_bytes();
        rest > MAX_LINE_BYTES || self.input_ended && rest > 0
    }

    /// Sends a chunk, for which there is room. What is left of it is the end of one line.
    fn send_lines(&mut self) {
        if self.to_upstream.is_empty() {
            self.take_lines();
        }
        let rest = self.to_upstream.len().min(CHUNK_BYTES);
        let rest = self.to_upstream.split_off(rest);
        let chunk = std::mem::replace(&mut self.to_upstream, rest);
        if let (Some(input), false) = (&self.current.input, chunk.is_empty()) {
            // It may have ended since.
            input.try_send(chunk.into()).ok();
        }
    }

    /// Looks at a chunk of what the client wrote, up to a line that opens a session.
    fn take_lines(&mut self) {
        while self.opening.is_none()
            && self.to_upstream.len() < CHUNK_BYTES
            && let Some(line) = self.from_client.next_line()
        {
            match self.dialect.client_line(line) {
                FromClient::Pass => self.to_upstream.extend_from_slice(line),
                opening => self.opening = Some((opening, line.to_vec())),
            }
        }
        let may_take_rest = self.opening.is_none() && self.to_upstream.len() < CHUNK_BYTES;
        if may_take_rest && self.has_rest() {
            let rest = self.from_client.rest();
            self.to_upstream.extend_from_slice(rest);
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

    /// Has a line open or begin a session on the node for that.
    async fn open_or_begin(
        &mut self,
        opening: FromClient,
        line: Vec<u8>,
    ) -> Result<(), SingleProxyEnd> {
        match opening {
            FromClient::Opens(named) => self.open_session(&named, line).await,
            FromClient::OpensKeptIn(folder) => {
                let line = self.dialect.line_elsewhere(line, Some(&folder));
                match self.upstreams.newest_kept_in(&folder) {
                    Some(newest) => self.open_session(&newest, line).await,
                    None => self.begin_session(None, line).await,
                }
            }
            FromClient::Begins(folder) => self.begin_session(folder, line).await,
            FromClient::Pass => {
                self.to_upstream = line;
                Ok(())
            }
        }
    }

    /// Has a line begin its session on a node that has capacity for it.
    async fn begin_session(
        &mut self,
        folder: Option<String>,
        line: Vec<u8>,
    ) -> Result<(), SingleProxyEnd> {
        let cwd = folder.as_deref().unwrap_or(self.upstreams.folder());
        let UpstreamStart { flags, .. } = self.dialect.arrival(self.upstreams.flags(), None);
        let places = self.upstreams.places_for(cwd, &self.current.place);
        for place in places.await {
            if place == self.current.place {
                if !self.current.capacity.reserve().await {
                    continue;
                }
                self.to_upstream = line;
                return Ok(());
            }
            let there = match folder.as_deref() {
                Some(folder) => Some(self.upstreams.folder_at(&place, folder).await),
                None => None,
            };
            let line = self.dialect.line_elsewhere(line.clone(), there.as_deref());
            let first = FirstSession::NoneUntilNew;
            let prepared = self.prepared(place, flags.clone(), first, GoesOn::WithNew);
            if let Ok((next, before)) = prepared.await {
                return self.go_to(next, before, line).await;
            }
        }
        // Where the client is, it is said why there can be none.
        self.to_upstream = line;
        Ok(())
    }

    /// Serves the client on the next upstream, beginning with a line.
    async fn go_to(
        &mut self,
        next: CurrentUpstream,
        before: Vec<u8>,
        line: Vec<u8>,
    ) -> Result<(), SingleProxyEnd> {
        // What was asked of the node before is answered before anything of the next.
        self.drain().await?;
        self.current = next;
        self.to_client.extend_from_slice(&before);
        self.to_upstream = line;
        Ok(())
    }

    /// Has a line open its session on the node that has it.
    async fn open_session(&mut self, named: &str, line: Vec<u8>) -> Result<(), SingleProxyEnd> {
        let mut place = self.upstreams.place_of(named, &self.current.place).await;
        let UpstreamStart { flags, first } =
            self.dialect.arrival(self.upstreams.flags(), Some(named));
        let (next, before) = loop {
            if place == self.current.place {
                self.to_upstream = line;
                return Ok(());
            }
            let goes_on = GoesOn::ByItself;
            let prepared = self.prepared(place.clone(), flags.clone(), first, goes_on);
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
        self.go_to(next, before, line).await
    }

    /// An upstream that knows what the client has set up, and what it wrote for the client meanwhile.
    async fn prepared(
        &mut self,
        place: NodePlace,
        flags: Vec<String>,
        first: FirstSession,
        goes_on: GoesOn<'_>,
    ) -> Result<(CurrentUpstream, Vec<u8>), AttachRefusal> {
        let session = match goes_on {
            GoesOn::With(session) => Some(session),
            GoesOn::ByItself | GoesOn::WithNew => None,
        };
        let preparing = async {
            let upstream = self.upstreams.open(&place, flags, first).await?;
            let mut next = CurrentUpstream::new(place.clone(), upstream);
            let mut before = Vec::new();
            let prologue = self.dialect.prologue(goes_on);
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
                            self.dialect.upstream_line(line, &mut before);
                        }
                    }
                    Some(FromUpstream::Session(id)) => next.session = Some(id),
                    Some(FromUpstream::Moved(id)) if session == Some(&*id) => {
                        return Err(failed("the session has moved again"));
                    }
                    Some(FromUpstream::Moved(_)) => {}
                    Some(FromUpstream::Ended(DialectEnding { refused, .. })) => {
                        let why = "the session cannot be opened on its node";
                        return Err(failed(refused.as_deref().unwrap_or(why)));
                    }
                    None => return Err(failed("the node of the session does not answer")),
                }
            }
            if next.session.is_none() {
                next.session = session.map(str::to_owned);
            }
            Ok((next, before))
        };
        let in_time = timeout(PREPARE_WAIT, preparing).await;
        in_time.unwrap_or_else(|_| Err(failed("the node of the session does not answer in time")))
    }

    /// The dialect has ended.
    async fn ended(&mut self, ending: DialectEnding) -> Result<(), SingleProxyEnd> {
        let is_stopping = self.upstreams.end.is_cancelled();
        if ending.goes_on_elsewhere && !is_stopping && !self.input_ended {
            return self.recover(true).await;
        }
        self.flush().await?;
        Err(match ending.refused {
            Some(message) => SingleProxyEnd::Refused(AttachRefusal {
                message,
                status: ending.status,
            }),
            None => SingleProxyEnd::Ended(ending.status),
        })
    }

    /// Ends the input of the dialect and lets its last frames out.
    async fn drain(&mut self) -> Result<(), SingleProxyEnd> {
        self.current.input = None;
        loop {
            self.flush().await?;
            match timeout(DRAIN_WAIT, self.current.output.recv()).await {
                Ok(Some(FromUpstream::Ended(_)) | None) | Err(_) => return Ok(()),
                Ok(Some(from)) => self.take(from),
            }
        }
    }

    async fn flush(&mut self) -> Result<(), SingleProxyEnd> {
        let written = self.writer.write_all(&self.to_client).await;
        self.to_client.clear();
        written.map_err(|_| SingleProxyEnd::ClientGone)
    }
}

/// Waits until one more chunk can be sent. A dialect that has ended reads no more: its end is on its way,
/// and what it has not got is for the next one.
async fn has_room(input: Option<&mpsc::Sender<Bytes>>) {
    if let Some(input) = input
        && input.reserve().await.is_err()
    {
        std::future::pending::<()>().await;
    }
}

fn failed(message: &str) -> AttachRefusal {
    AttachRefusal {
        message: message.to_owned(),
        status: FAILED,
    }
}
