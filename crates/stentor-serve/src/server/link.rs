//! Links to relays (`stentor_wire::link`): a client's connection may break and be replaced by another
//! without the client or its dialect noticing.
//!
//! The dialect has one end of a stream of our own; a task carries bytes between its other end and
//! whatever connection there is. While there is none it keeps what the dialect writes, up to the
//! window, and gives up when nobody comes back in time.

use std::collections::HashMap;
use std::io::{self, Cursor};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stentor_agent::tasks;
use stentor_wire::attach::{AttachOutcome, AttachRefusal, LinkResume, ResumedLink};
use stentor_wire::link::{
    BadFrame, FrameHeader, FrameKind, HEADER_BYTES, MAX_FRAME_BYTES, ReceivedBytes,
    UnreportedBytes, end_content, read_received,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, mpsc};
use uuid::Uuid;

use super::clients::ClientPresence;
use super::unix_socket::welcome;
use super::{AdmittedConnection, refused};

/// How long a broken link may keep its window full. From then on the dialect takes no more events, and
/// the others of its session may have to wait for that.
const FULL_FOR: Duration = Duration::from_secs(10);

/// How often it is looked whether it is full.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A connection that carries a link, and what was read from it already.
pub(super) struct LinkCarrier {
    pub stream: UnixStream,
    pub read_ahead: Vec<u8>,
}

/// Where a relay that comes back is handed to its link, with how many bytes it has.
type CarrierSender = mpsc::Sender<(LinkCarrier, u64)>;

/// The links of a server, by their tokens. Clones are the same table.
#[derive(Clone)]
pub(super) struct Links {
    table: Arc<Mutex<HashMap<String, CarrierSender>>>,
    resume_within: Duration,
    /// A link is gone.
    gone: Arc<Notify>,
}

/// A link whose client is about to be served. Dropping it forgets its token.
pub(super) struct ServerLink {
    links: Links,
    token: String,
    carriers: mpsc::Receiver<(LinkCarrier, u64)>,
}

/// What the tasks of a link share.
#[derive(Default)]
struct LinkShared {
    state: Mutex<LinkState>,
    /// There is something to send.
    to_send: Notify,
    /// There is room for more of what the dialect writes.
    room: Notify,
}

#[derive(Default)]
struct LinkState {
    out: UnreportedBytes,
    received: ReceivedBytes,
}

/// Why a connection carries a link no longer.
#[derive(Debug, thiserror::Error)]
enum LinkBroken {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    BadFrame(#[from] BadFrame),
}

impl Links {
    pub fn new(resume_within: Duration) -> Self {
        Self {
            table: Arc::default(),
            resume_within,
            gone: Arc::default(),
        }
    }

    /// A new link with its token, if one is wanted.
    pub fn open(&self, wanted: bool) -> Option<(String, ServerLink)> {
        if !wanted {
            return None;
        }
        let token = Uuid::new_v4().simple().to_string();
        let (sender, carriers) = mpsc::channel(1);
        self.lock().insert(token.clone(), sender);
        let link = ServerLink {
            links: self.clone(),
            token: token.clone(),
            carriers,
        };
        Some((token, link))
    }

    /// Has a link go on over another connection, which comes back if nobody knows the link.
    pub fn resume(&self, resume: &LinkResume, carrier: LinkCarrier) -> Result<(), LinkCarrier> {
        let link = self.lock().get(&resume.token).cloned();
        let Some(link) = link else {
            return Err(carrier);
        };
        // Full: another one has just come back, too.
        link.try_send((carrier, resume.received))
            .map_err(|unsent| match unsent {
                mpsc::error::TrySendError::Full((carrier, _))
                | mpsc::error::TrySendError::Closed((carrier, _)) => carrier,
            })
    }

    /// How long a relay whose connection broke may take to come back.
    pub fn resume_within_ms(&self) -> u64 {
        u64::try_from(self.resume_within.as_millis()).unwrap_or(u64::MAX)
    }

    /// Waits until there is no link.
    pub async fn all_gone(&self) {
        loop {
            let gone = self.gone.notified();
            tokio::pin!(gone);
            gone.as_mut().enable();
            if self.lock().is_empty() {
                return;
            }
            gone.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, CarrierSender>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ServerLink {
    fn drop(&mut self) {
        self.links.lock().remove(&self.token);
        self.links.gone.notify_waiters();
    }
}

impl ServerLink {
    /// Serves the client of this link until it is gone for good, or everything was delivered.
    pub async fn serve(mut self, admitted: AdmittedConnection, first: Option<LinkCarrier>) {
        let pair = std::os::unix::net::UnixStream::pair().and_then(|(ours, theirs)| {
            ours.set_nonblocking(true)?;
            Ok((UnixStream::from_std(ours)?, theirs))
        });
        let (ours, theirs) = match pair {
            Ok(pair) => pair,
            Err(error) => return tracing::error!(%error, "a link could not be made"),
        };
        let (from_dialect, mut to_dialect) = ours.into_split();
        let shared = Arc::<LinkShared>::default();
        let presence = admitted.presence();
        let serving = tasks::spawn(admitted.serve(theirs, Vec::new()));
        let keeping = tasks::spawn(keep(Arc::clone(&shared), from_dialect, serving));
        let mut carrier = first;
        loop {
            let Some(carried) = carrier.take() else {
                presence.set_away(true);
                carrier = self.next_carrier(&shared, &presence).await;
                presence.set_away(carrier.is_none());
                match carrier {
                    Some(_) => continue,
                    None => break,
                }
            };
            let (read, write) = carried.stream.into_split();
            let read = Cursor::new(carried.read_ahead).chain(read);
            let broken = tokio::select! {
                broken = send(&shared, write) => Some(broken),
                broken = receive(&shared, read, &mut to_dialect) => Some(broken),
                // What is between may take long to notice that this connection is of no use.
                Some(newer) = self.carriers.recv() => {
                    carrier = resumed(&shared, newer).await;
                    None
                }
            };
            if shared.lock().out.is_over() {
                break;
            }
            if let Some(LinkBroken::BadFrame(why)) = &broken {
                // Nobody can go on from that.
                tracing::warn!(%why, "a client sent an invalid frame and was disconnected");
                break;
            }
            tracing::debug!(?broken, "the connection of a relay broke");
        }
        // The dialect sees the end of its input, or has ended.
        drop(to_dialect);
        // What it writes from here on is nobody's: the stream ends with the task.
        keeping.abort();
    }

    /// Waits for the relay to come back. `None` when it does not in time, or another client needs its
    /// place.
    async fn next_carrier(
        &mut self,
        shared: &LinkShared,
        presence: &ClientPresence,
    ) -> Option<LinkCarrier> {
        loop {
            let given_up = tokio::time::sleep(self.links.resume_within);
            let newer = tokio::select! {
                newer = self.carriers.recv() => newer?,
                () = given_up => return None,
                () = too_full(shared) => return None,
                () = presence.must_go() => return None,
            };
            let carrier = resumed(shared, newer).await;
            if carrier.is_some() {
                return carrier;
            }
        }
    }
}

/// Waits until the window has been full for a while. Nobody takes anything out of it meanwhile.
async fn too_full(shared: &LinkShared) {
    let mut looks = tokio::time::interval(LOOK_EVERY);
    loop {
        looks.tick().await;
        if shared.lock().out.room() == 0 {
            // Without a connection it does not get emptier.
            return tokio::time::sleep(FULL_FOR).await;
        }
    }
}

/// Has the link go on over a connection with which its relay came back, if that is still there.
async fn resumed(
    shared: &LinkShared,
    (mut carrier, received): (LinkCarrier, u64),
) -> Option<LinkCarrier> {
    let resumed = {
        let mut state = shared.lock();
        let known = state.out.reconnected(received);
        state.received.reconnected();
        known.map(|()| state.received.bytes())
    };
    let outcome = match resumed {
        Ok(received) => AttachOutcome::Resumed(ResumedLink { received }),
        Err(error) => AttachOutcome::Refused(refused(error.to_string())),
    };
    let greeted = welcome(&mut carrier.stream, outcome).await;
    (resumed.is_ok() && greeted.is_ok()).then_some(carrier)
}

impl LinkShared {
    fn lock(&self) -> MutexGuard<'_, LinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps what the dialect writes until the relay has it.
async fn keep(
    shared: Arc<LinkShared>,
    mut from_dialect: OwnedReadHalf,
    serving: tokio::task::JoinHandle<Result<u8, AttachRefusal>>,
) {
    let mut buffer = vec![0; MAX_FRAME_BYTES];
    loop {
        let room = shared.lock().out.room().min(buffer.len());
        if room == 0 {
            shared.room.notified().await;
            continue;
        }
        let read = from_dialect.read(buffer.get_mut(..room).unwrap_or_default());
        match read.await {
            Ok(0) | Err(_) => break,
            Ok(read) => {
                let bytes = buffer.get(..read).unwrap_or_default();
                shared.lock().out.push(bytes);
                shared.to_send.notify_one();
            }
        }
    }
    let end = match serving.await {
        Ok(Ok(status)) => end_content(status, ""),
        Ok(Err(refused)) => end_content(refused.status, &refused.message),
        Err(error) => end_content(1, &error.to_string()),
    };
    shared.lock().out.end(end);
    shared.to_send.notify_one();
}

/// Sends what there is to send.
async fn send(shared: &LinkShared, mut to_relay: OwnedWriteHalf) -> LinkBroken {
    let mut frames = Vec::new();
    loop {
        {
            let mut state = shared.lock();
            state.received.next_frame(&mut frames);
            state.out.next_frame(&mut frames);
        }
        if frames.is_empty() {
            shared.to_send.notified().await;
            continue;
        }
        if let Err(error) = to_relay.write_all(&frames).await {
            return error.into();
        }
        frames.clear();
    }
}

/// Receives what the relay sends.
async fn receive(
    shared: &LinkShared,
    mut from_relay: impl AsyncRead + Unpin,
    to_dialect: &mut OwnedWriteHalf,
) -> LinkBroken {
    loop {
        if let Err(broken) = receive_frame(shared, &mut from_relay, to_dialect).await {
            return broken;
        }
    }
}

async fn receive_frame(
    shared: &LinkShared,
    from_relay: &mut (impl AsyncRead + Unpin),
    to_dialect: &mut OwnedWriteHalf,
) -> Result<(), LinkBroken> {
    let mut header = [0; HEADER_BYTES];
    from_relay.read_exact(&mut header).await?;
    let FrameHeader { kind, bytes } = FrameHeader::read(header)?;
    let mut content = vec![0; bytes];
    from_relay.read_exact(&mut content).await?;
    match kind {
        FrameKind::Data => {
            let mut rest = content.as_slice();
            while !rest.is_empty() {
                // Each write is counted by itself: the connection may be given up in between. A
                // dialect that has ended reads no more, and misses nothing.
                let taken = to_dialect.write(rest).await.unwrap_or(rest.len());
                shared.lock().received.add(taken);
                rest = rest.get(taken..).unwrap_or_default();
            }
            shared.to_send.notify_one();
        }
        FrameKind::Received => {
            shared.lock().out.reported(read_received(&content)?)?;
            shared.room.notify_one();
        }
        FrameKind::End => {
            to_dialect.shutdown().await.ok();
        }
    }
    Ok(())
}
