//! Clients over HTTP: WebSocket in every dialect, ACP's own HTTP transport, and the page.
//!
//! A request is looked at in this order: is it for a name that is ours (`origin`), is it for the
//! page's own files, which are nobody's secret (`page::assets`), does it come from a page of
//! somebody else (`origin`), does it bear a token (`tokens`, `wrong_tokens`), and what does it want
//! (`request`). There are no cookies: a request that a foreign page has a browser send bears nothing.

mod acp;
mod answer;
mod client;
mod dialect_stream;
mod limits;
mod origin;
mod request;
mod stalled;
mod tokens;
mod web_socket;
mod wrong_tokens;

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use stentor_agent::tasks;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::server::Server;

pub use client::DefaultClientPlace;
pub use origin::{NoOrigin, Origins};
pub use tokens::{NoToken, ServerTokens, Token};

use acp::AcpConnections;
use stalled::StallLimited;
use wrong_tokens::WrongTokens;

/// How long accepting rests when the process has no more descriptors.
const ACCEPT_REST: std::time::Duration = std::time::Duration::from_millis(100);

/// What the server is reached with over HTTP.
pub struct HttpOptions {
    pub tokens: ServerTokens,
    pub origins: Origins,
    /// Where clients are that do not say it themselves.
    pub place: DefaultClientPlace,
}

/// What all requests share.
struct HttpShared {
    server: Server,
    options: HttpOptions,
    wrong_tokens: WrongTokens,
    acp: AcpConnections,
}

/// One client, whatever it asks.
#[derive(Clone)]
struct HttpPeer {
    address: IpAddr,
    /// Its place among the connections, also when it has become a WebSocket.
    _place: Arc<OwnedSemaphorePermit>,
}

/// Accepts clients until the server stops, and waits until all of them are gone.
pub async fn accept(server: &Server, listener: &TcpListener, options: HttpOptions) {
    let http = Arc::new(HttpShared {
        server: server.clone(),
        options,
        wrong_tokens: WrongTokens::default(),
        acp: AcpConnections::default(),
    });
    let streams = Arc::new(Semaphore::new(limits::MAX_STREAMS));
    loop {
        // It is never closed.
        let Ok(place) = Arc::clone(&streams).acquire_owned().await else {
            return;
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = server.stopping() => break,
        };
        match accepted {
            Ok((stream, address)) => {
                let peer = HttpPeer {
                    address: address.ip(),
                    _place: Arc::new(place),
                };
                tasks::spawn(serve(Arc::clone(&http), stream, peer));
            }
            Err(error) => {
                tracing::warn!(%error, "a client could not be accepted");
                tokio::time::sleep(ACCEPT_REST).await;
            }
        }
    }
    let all = u32::try_from(limits::MAX_STREAMS).unwrap_or(u32::MAX);
    drop(streams.acquire_many(all).await);
}

/// Answers the requests of one TCP connection, one after the other.
async fn serve(http: Arc<HttpShared>, stream: TcpStream, peer: HttpPeer) {
    // Small frames must not wait for more to come.
    stream.set_nodelay(true).ok();
    let server = http.server.clone();
    let answering = service_fn(move |request| {
        let (http, peer) = (Arc::clone(&http), peer.clone());
        async move { Ok::<_, Infallible>(request::answer(http, request, peer).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits::HEADER_WAIT)
        .max_buf_size(limits::MAX_HEADER_BYTES)
        .max_headers(limits::MAX_HEADERS)
        .serve_connection(TokioIo::new(StallLimited::new(stream)), answering)
        .with_upgrades();
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = server.stopping() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended in the middle");
    }
}
