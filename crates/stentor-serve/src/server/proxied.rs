//! Clients of a server that is a node of a fleet: each is served through a proxy, because its next
//! session may be on another node.

use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use stentor_agent::reservations::Reservations;
use stentor_agent::tasks;
use stentor_wire::attach::{AttachRefusal, ClientHello};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::JoinHandle;

use super::clients::ClientSlot;
use super::{Server, refused};
use crate::acp::AcpProxy;
use crate::connection::Access;
use crate::frontend::{Sharing, Storing};
use crate::omp::OmpProxy;
use crate::page::PageProxy;
use crate::proxy::single::BegunProxy;
use crate::proxy::{
    CHUNK_BYTES, Capacity, DialectEnding, FromUpstream, Home, Peers, ProxiedDialect, ProxyClient,
    Upstream, UpstreamEnd, Upstreams,
};
use crate::psi::PsiProxy;
use crate::synaps::SynapsProxy;

/// A client that is served wherever its sessions are.
pub(super) enum ProxiedClient {
    /// It has one session at a time.
    Single(BegunProxy),
    Acp(AcpProxy),
}

impl ProxiedClient {
    /// Begins where the client's first session is.
    pub async fn begin(
        server: &Server,
        peers: Arc<dyn Peers>,
        client: ClientHello,
        access: Access,
    ) -> Result<Self, AttachRefusal> {
        let home = Arc::new(ThisNode {
            server: server.clone(),
            access,
        });
        let client = ClientHello {
            observe: access == Access::Observe,
            ..client
        };
        let name = client.dialect.clone();
        let upstreams = Upstreams::new(peers, home, client, server.shared.stop.clone());
        let dialect: Box<dyn ProxiedDialect> = match name.as_str() {
            "omp" => Box::new(OmpProxy::new(upstreams.folder())),
            "psi" => Box::<PsiProxy>::default(),
            "synaps" => Box::<SynapsProxy>::default(),
            "page" => Box::<PageProxy>::default(),
            "acp" => return Ok(Self::Acp(AcpProxy::begin(upstreams).await?)),
            other => return Err(refused(format!("there is no dialect {other:?}"))),
        };
        Ok(Self::Single(BegunProxy::begin(dialect, upstreams).await?))
    }

    /// Serves the client at the other end of `stream`.
    pub async fn serve(
        self,
        stream: StdUnixStream,
        read_ahead: Vec<u8>,
    ) -> Result<u8, AttachRefusal> {
        let stream = stream.set_nonblocking(true).and_then(|()| {
            let open = stream.try_clone()?;
            Ok((UnixStream::from_std(stream)?, open))
        });
        let (stream, open) = stream.map_err(|error| refused(error.to_string()))?;
        let client = ProxyClient { stream, read_ahead };
        let serving = match self {
            Self::Single(begun) => tasks::spawn(begun.serve(client)),
            Self::Acp(acp) => tasks::spawn(acp.serve(client)),
        };
        let served = serving.await;
        open.shutdown(std::net::Shutdown::Both).ok();
        served.unwrap_or_else(|panicked| {
            tracing::error!(%panicked, "a connection failed inside");
            Err(refused("internal error of the server"))
        })
    }
}

/// This node, for one of its clients.
struct ThisNode {
    server: Server,
    access: Access,
}

impl Home for ThisNode {
    fn open(&self, client: ClientHello) -> BoxFuture<'_, Result<Upstream, AttachRefusal>> {
        // The client has its place already.
        Box::pin(self.server.upstream_in(client, self.access, None))
    }
}

impl Server {
    /// Serves a client of another node.
    pub async fn upstream(&self, client: ClientHello) -> Result<Upstream, AttachRefusal> {
        let access = match client.observe {
            true => Access::Observe,
            false => Access::Drive,
        };
        let place = self.enter(&client, access)?;
        self.upstream_in(client, access, Some(place)).await
    }

    async fn upstream_in(
        &self,
        client: ClientHello,
        access: Access,
        place: Option<ClientSlot>,
    ) -> Result<Upstream, AttachRefusal> {
        let (sender, opened) = watch::channel(None);
        let reservations = Reservations::default();
        let capacity = ServerCapacity {
            storing: self.shared.storing.clone(),
            cwd: PathBuf::from(&client.cwd),
            reservations: reservations.clone(),
        };
        let sharing = Sharing {
            live: self.shared.live.clone(),
            access,
            visits: client.visits,
            opened: Some(sender),
            reservations,
        };
        let frontend = self.frontend(client, sharing).await?;
        let (ours, theirs) = StdUnixStream::pair()
            .and_then(|(ours, theirs)| {
                ours.set_nonblocking(true)?;
                Ok((UnixStream::from_std(ours)?, theirs))
            })
            .map_err(|error| refused(error.to_string()))?;
        let server = self.clone();
        let serving = tasks::spawn(async move {
            let served = server.serve_here(frontend, access, theirs, Vec::new());
            let served = served.await;
            drop(place);
            served
        });
        let (upstream, end) = Upstream::pair(Arc::new(capacity));
        let UpstreamEnd { input, output } = end;
        let (from_dialect, to_dialect) = ours.into_split();
        tasks::spawn(carry_in(input, to_dialect));
        let carrying = CarryOut {
            server: self.clone(),
            from_dialect,
            output,
            opened,
            suspended: self.shared.live.suspended(),
        };
        tasks::spawn(carrying.run(serving));
        Ok(upstream)
    }
}

/// The capacity of this node, for one client.
struct ServerCapacity {
    storing: Option<Storing>,
    cwd: PathBuf,
    reservations: Reservations,
}

impl Capacity for ServerCapacity {
    fn reserve(&self) -> BoxFuture<'_, bool> {
        let reserved = self.storing.as_ref().is_none_or(|storing| {
            let reserved = storing.reserve(&self.cwd, &self.reservations);
            reserved.is_ok()
        });
        Box::pin(std::future::ready(reserved))
    }
}

/// Hands the dialect what its client writes.
async fn carry_in(mut input: mpsc::Receiver<Bytes>, mut to_dialect: OwnedWriteHalf) {
    while let Some(bytes) = input.recv().await {
        if to_dialect.write_all(&bytes).await.is_err() {
            return;
        }
    }
    // The dialect sees the end of its input.
    to_dialect.shutdown().await.ok();
}

/// Hands the client what its dialect writes.
struct CarryOut {
    server: Server,
    from_dialect: OwnedReadHalf,
    output: mpsc::Sender<FromUpstream>,
    opened: watch::Receiver<Option<String>>,
    suspended: broadcast::Receiver<Arc<str>>,
}

impl CarryOut {
    async fn run(mut self, serving: JoinHandle<Result<u8, AttachRefusal>>) {
        let mut buffer = BytesMut::new();
        loop {
            // Most clients are silent most of the time: then there is no buffer.
            let is_ready = tokio::select! {
                Ok(id) = self.suspended.recv() => {
                    let moved = FromUpstream::Moved(id.to_string());
                    if self.output.send(moved).await.is_err() {
                        return;
                    }
                    continue;
                }
                ready = self.from_dialect.readable() => ready.is_ok(),
                Ok(()) = self.opened.changed() => {
                    let id = self.opened.borrow_and_update().clone();
                    if let Some(id) = id && self.output.send(FromUpstream::Session(id)).await.is_err() {
                        return;
                    }
                    continue;
                }
                // Nobody reads any more: the stream ends with this task, and so does the dialect.
                () = self.output.closed() => return,
            };
            buffer.reserve(CHUNK_BYTES);
            match self.from_dialect.try_read_buf(&mut buffer) {
                Err(error) if is_ready && error.kind() == std::io::ErrorKind::WouldBlock => {
                    continue;
                }
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            let bytes = std::mem::take(&mut buffer).freeze();
            if self.output.send(FromUpstream::Bytes(bytes)).await.is_err() {
                return;
            }
        }
        // A dialect may end because its session did.
        let session = self.opened.borrow().clone();
        let mut has_moved = false;
        while let (Ok(id), Some(session)) = (self.suspended.try_recv(), &session) {
            has_moved |= *id == **session;
        }
        let goes_on_elsewhere = has_moved || self.server.is_stopping();
        let ending = match serving.await {
            Ok(Ok(status)) => DialectEnding {
                status,
                refused: None,
                goes_on_elsewhere,
            },
            Ok(Err(AttachRefusal { message, status })) => DialectEnding {
                status,
                refused: Some(message),
                goes_on_elsewhere,
            },
            Err(_) => return,
        };
        self.output.send(FromUpstream::Ended(ending)).await.ok();
    }
}
