//! The proxy of a client that has many sessions at once: an upstream for each node that has one of
//! them, and every line goes where its session is.
//!
//! Requests of the client have its own ids, so their answers need no change. Each node numbers its
//! own requests, so these get numbers of the connection ([`from_upstream`]). When a node is lost, its
//! sessions are resumed where they are then ([`recovery`]).

mod beginning;
mod broken;
mod envelope;
mod from_client;
mod from_upstream;
mod recovery;
mod seen;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;
use stentor_agent::tasks;
use stentor_wire::attach::AttachRefusal;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::proxy::{
    CHUNK_BYTES, CHUNKS, FirstSession, FromUpstream, LineBuffer, NodePlace, ProxyClient, Upstream,
    Upstreams,
};
use broken::BrokenConnection;
use recovery::{NodeLoss, Recovery};
use seen::SeenUpdates;

/// Lines that may wait for one node. Then the client waits, too.
const LINES: usize = 64;

/// Requests that are tracked. What is more is not answered when a node is lost.
const MAX_REQUESTS: usize = 4096;

/// The longest line of a client that is looked at; a longer one is the dialect's to refuse.
const MAX_LINE_BYTES: usize = 65 << 20;

/// A client of ACP, whose dialect has begun on its own node.
pub(crate) struct AcpProxy {
    upstreams: Upstreams,
    home: Upstream,
}

impl AcpProxy {
    /// Begins on the client's node.
    pub async fn begin(upstreams: Upstreams) -> Result<Self, AttachRefusal> {
        let flags = upstreams.flags().to_vec();
        let first = FirstSession::AsFlagged;
        let home = upstreams.open(&NodePlace::Home, flags, first).await?;
        Ok(Self { upstreams, home })
    }

    /// Serves the client until it goes away. Returns the exit status of a program that was started
    /// for it, or why it was not served.
    pub async fn serve(self, client: ProxyClient) -> Result<u8, AttachRefusal> {
        let (sender, events) = mpsc::channel(CHUNKS);
        let (reader, writer) = client.stream.into_split();
        let mut proxy = Multiplexer {
            upstreams: Arc::new(self.upstreams),
            reader,
            writer,
            from_client: LineBuffer::new(client.read_ahead),
            input_ended: false,
            to_client: Vec::new(),
            stalled: VecDeque::new(),
            nodes: BTreeMap::new(),
            events,
            sender,
            count: 0,
            initialize: None,
            sessions: HashMap::new(),
            requests: HashMap::new(),
            asked: HashMap::new(),
        };
        proxy.add(NodePlace::Home, Some(self.home));
        loop {
            match proxy.step().await {
                Ok(()) => {}
                Err(AcpProxyEnd::Ended(status)) => return Ok(status),
                Err(AcpProxyEnd::Refused(why)) => return Err(why),
                Err(AcpProxyEnd::ClientGone) => return Ok(0),
            }
        }
    }
}

/// Names an upstream among those of a connection, past ones included.
type NodeNumber = u64;

/// The client's own node is the first.
const HOME: NodeNumber = 1;

struct Multiplexer {
    upstreams: Arc<Upstreams>,
    reader: OwnedReadHalf,
    writer: OwnedWriteHalf,
    from_client: LineBuffer,
    input_ended: bool,
    to_client: Vec<u8>,
    /// Lines that their nodes have no room for. The client is not read until they have: so there are
    /// few of them.
    stalled: VecDeque<(NodeNumber, ToNode)>,
    nodes: BTreeMap<NodeNumber, ClientNode>,
    /// What comes from all nodes.
    events: mpsc::Receiver<ProxyEvent>,
    sender: mpsc::Sender<ProxyEvent>,
    /// Counts nodes, requests to the client and the proxy's own requests.
    count: u64,
    /// The parameters of the client's `initialize`.
    initialize: Option<Box<RawValue>>,
    /// The sessions that the client has open, or is opening.
    sessions: HashMap<String, ProxiedSession>,
    /// The client's requests without an answer, by id.
    requests: HashMap<String, ProxiedRequest>,
    /// Requests to the client without an answer: which node asked, and its id there.
    asked: HashMap<u64, (NodeNumber, Box<RawValue>)>,
}

/// A node that serves the client.
struct ClientNode {
    place: NodePlace,
    input: mpsc::Sender<ToNode>,
    lines: LineBuffer,
    /// Its requests to the client: its id to the one that the client knows.
    asked: HashMap<String, u64>,
}

/// A line for a node.
enum ToNode {
    Line(Bytes),
    /// It begins a session: it is sent if there is capacity for that.
    Begin(Bytes),
}

impl ToNode {
    fn line(self) -> Bytes {
        match self {
            Self::Line(line) | Self::Begin(line) => line,
        }
    }
}

/// A session that the client has open.
struct ProxiedSession {
    node: NodeNumber,
    /// The parameters it was opened with.
    params: Box<RawValue>,
    /// What of it the client was sent.
    seen: SeenUpdates,
    recovery: Option<Recovery>,
    /// A run that the client has joined again after its connection broke.
    rejoined: Option<BrokenConnection>,
}

/// A request of the client.
struct ProxiedRequest {
    node: NodeNumber,
    method: String,
    session: Option<String>,
    params: Option<Box<RawValue>>,
    /// It is sent again until then if its node is not reached.
    deadline: Instant,
    /// Where a session could not begin.
    full: Vec<NodePlace>,
}

/// What happens besides the client.
enum ProxyEvent {
    /// A node could not be reached: lines that were for it.
    Unreached(NodeNumber, Vec<Bytes>),
    /// A node has no capacity for the session that a line would have begun.
    Full(NodeNumber, Bytes),
    /// A session that has moved is left, whatever is not answered.
    Leave(String),
    /// A line of the client that is to be sent again.
    Again(Bytes),
    /// Something comes from a node; nothing when it is lost.
    From(NodeNumber, Option<FromUpstream>),
    /// A session that lost its node is to be looked for again.
    LookFor(String),
    /// It is to be looked whether a run goes on that was joined again.
    CheckRun(String),
}

/// Why it is over.
enum AcpProxyEnd {
    Ended(u8),
    Refused(AttachRefusal),
    ClientGone,
}

impl Multiplexer {
    async fn step(&mut self) -> Result<(), AcpProxyEnd> {
        self.take_lines().await;
        let may_read = self.stalled.is_empty() && !self.input_ended;
        tokio::select! {
            () = has_room(&self.nodes, self.stalled.front()), if !self.stalled.is_empty() => {
                for (node, line) in std::mem::take(&mut self.stalled) {
                    self.send_to(node, line);
                }
            }
            ready = self.reader.readable(), if may_read => self.read(ready),
            event = self.events.recv(), if self.to_client.is_empty() => match event {
                Some(ProxyEvent::From(node, from)) => self.take(node, from).await?,
                Some(ProxyEvent::LookFor(session)) => self.look_for(session).await,
                Some(ProxyEvent::CheckRun(session)) => self.check_run(&session),
                Some(ProxyEvent::Unreached(node, lines)) => self.unreached(node, lines).await,
                Some(ProxyEvent::Full(node, line)) => self.has_no_capacity(node, &line).await,
                Some(ProxyEvent::Leave(session)) => self.leave(&session),
                Some(ProxyEvent::Again(line)) => self.client_line(line).await,
                // It has a sender itself.
                None => {}
            },
            written = self.writer.write(&self.to_client), if !self.to_client.is_empty() => {
                let written = written.map_err(|_| AcpProxyEnd::ClientGone)?;
                self.to_client.drain(..written);
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

    async fn take_lines(&mut self) {
        while self.stalled.is_empty()
            && let Some(line) = self.from_client.next_line()
        {
            let line = Bytes::copy_from_slice(line);
            self.client_line(line).await;
        }
        let is_stuck = self.from_client.rest_bytes() > MAX_LINE_BYTES;
        if self.stalled.is_empty() && (self.input_ended || is_stuck) {
            let rest = Bytes::copy_from_slice(self.from_client.rest());
            if !rest.is_empty() {
                self.send(HOME, rest);
            }
        }
        if self.stalled.is_empty() && self.input_ended {
            // Each sees the end of its input; the client's own node ends last.
            self.nodes.retain(|number, _| *number == HOME);
            if let Some(home) = self.nodes.get_mut(&HOME) {
                let (closed, _) = mpsc::channel(1);
                home.input = closed;
            }
        }
    }

    async fn take(
        &mut self,
        number: NodeNumber,
        from: Option<FromUpstream>,
    ) -> Result<(), AcpProxyEnd> {
        match from {
            Some(FromUpstream::Bytes(bytes)) => {
                self.node_bytes(number, &bytes).await;
                Ok(())
            }
            Some(FromUpstream::Session(_)) => Ok(()),
            Some(FromUpstream::Moved(session)) => {
                self.session_moved(number, &session);
                Ok(())
            }
            Some(FromUpstream::Ended(ending)) if number == HOME => {
                self.flush().await?;
                Err(match ending.refused {
                    Some(message) => AcpProxyEnd::Refused(AttachRefusal {
                        message,
                        status: ending.status,
                    }),
                    None => AcpProxyEnd::Ended(ending.status),
                })
            }
            None if number == HOME => Err(AcpProxyEnd::Refused(AttachRefusal {
                message: "internal error of the server".to_owned(),
                status: 1,
            })),
            Some(FromUpstream::Ended(_)) => {
                self.lose(number, NodeLoss::Ended);
                Ok(())
            }
            None => {
                self.lose(number, NodeLoss::Broke);
                Ok(())
            }
        }
    }

    /// Sends a line to a node, or has it wait.
    fn send(&mut self, number: NodeNumber, line: Bytes) {
        self.send_to(number, ToNode::Line(line));
    }

    fn send_to(&mut self, number: NodeNumber, line: ToNode) {
        let Some(node) = self.nodes.get(&number) else {
            return;
        };
        let line = match self.stalled.iter().any(|(other, _)| *other == number) {
            true => line,
            false => match node.input.try_send(line) {
                Err(mpsc::error::TrySendError::Full(line)) => line,
                Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => return,
            },
        };
        self.stalled.push_back((number, line));
    }

    /// The upstream of a place, which is opened if there is none.
    fn node_at(&mut self, place: &NodePlace) -> NodeNumber {
        let found = self.nodes.iter().find(|(_, node)| node.place == *place);
        if let Some((number, _)) = found {
            return *number;
        }
        let number = self.add(place.clone(), None);
        if let Some(params) = &self.initialize {
            let params = params.get().to_owned();
            let id = self.own_id();
            let line = envelope::request(&id, stentor_wire::acp::method::INITIALIZE, &params);
            self.send(number, line.into());
        }
        number
    }

    fn add(&mut self, place: NodePlace, upstream: Option<Upstream>) -> NodeNumber {
        self.count += 1;
        let number = self.count;
        let (input, lines) = mpsc::channel(LINES);
        let carrying = carry(
            number,
            Arc::clone(&self.upstreams),
            place.clone(),
            upstream,
            lines,
            self.sender.clone(),
        );
        tasks::spawn(carrying);
        let node = ClientNode {
            place,
            input,
            lines: LineBuffer::default(),
            asked: HashMap::new(),
        };
        self.nodes.insert(number, node);
        number
    }

    /// An id for a request of the proxy's own, as JSON.
    fn own_id(&mut self) -> String {
        self.count += 1;
        format!("\"{}{}\"", crate::proxy::OWN_ID, self.count)
    }

    async fn flush(&mut self) -> Result<(), AcpProxyEnd> {
        let written = self.writer.write_all(&self.to_client).await;
        self.to_client.clear();
        written.map_err(|_| AcpProxyEnd::ClientGone)
    }
}

/// Carries what goes to a node and comes from it, which is opened first.
async fn carry(
    number: NodeNumber,
    upstreams: Arc<Upstreams>,
    place: NodePlace,
    upstream: Option<Upstream>,
    mut lines: mpsc::Receiver<ToNode>,
    events: mpsc::Sender<ProxyEvent>,
) {
    let upstream = match upstream {
        Some(upstream) => Ok(upstream),
        None => {
            let flags = upstreams.flags().to_vec();
            upstreams.open(&place, flags, FirstSession::None).await
        }
    };
    let Upstream {
        input,
        mut output,
        capacity,
    } = match upstream {
        Ok(upstream) => upstream,
        Err(why) => {
            tracing::warn!("a node cannot be reached: {}", why.message);
            lines.close();
            let mut unsent = Vec::new();
            while let Some(line) = lines.recv().await {
                unsent.push(line.line());
            }
            events
                .send(ProxyEvent::Unreached(number, unsent))
                .await
                .ok();
            return;
        }
    };
    let going = async {
        while let Some(line) = lines.recv().await {
            let line = match line {
                ToNode::Begin(line) if !capacity.reserve().await => {
                    events.send(ProxyEvent::Full(number, line)).await.ok();
                    continue;
                }
                line => line.line(),
            };
            if input.send(line).await.is_err() {
                break;
            }
        }
        drop(input);
    };
    let coming = async {
        while let Some(from) = output.recv().await {
            let is_last = matches!(from, FromUpstream::Ended(_));
            if events
                .send(ProxyEvent::From(number, Some(from)))
                .await
                .is_err()
                || is_last
            {
                return;
            }
        }
        events.send(ProxyEvent::From(number, None)).await.ok();
    };
    tokio::join!(going, coming);
}

/// Waits until the node of a line has room for it, or there is no such node.
async fn has_room(
    nodes: &BTreeMap<NodeNumber, ClientNode>,
    stalled: Option<&(NodeNumber, ToNode)>,
) {
    if let Some(node) = stalled.and_then(|(number, _)| nodes.get(number)) {
        node.input.reserve().await.ok();
    }
}

/// When something is given up.
fn deadline() -> Instant {
    Instant::now() + recovery::RECOVER_WAIT
}
