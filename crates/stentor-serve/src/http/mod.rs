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
mod places;
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
use tokio::time::sleep;

use crate::server::Server;

pub use client::DefaultClientPlace;
pub use origin::{NoOrigin, Origins};
pub use tokens::{NoToken, ServerTokens, Token};

use acp::AcpConnections;
use places::{HttpPlace, HttpPlaces};
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
    place: Arc<HttpPlace>,
}

/// Accepts clients until the server stops, and waits until all of them are gone.
pub async fn accept(server: &Server, listener: &TcpListener, options: HttpOptions) {
    let http = Arc::new(HttpShared {
        server: server.clone(),
        options,
        wrong_tokens: WrongTokens::default(),
        acp: AcpConnections::default(),
    });
    let places = HttpPlaces::new(limits::MAX_STREAMS);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = server.stopping() => break,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a client could not be accepted");
                sleep(ACCEPT_REST).await;
                continue;
            }
        };
        let place = tokio::select! {
            place = places.enter() => place,
            () = server.stopping() => break,
        };
        if let Some(place) = place {
            let peer = HttpPeer {
                address: address.ip(),
                place: Arc::new(place),
            };
            tasks::spawn(serve(Arc::clone(&http), stream, peer));
        }
    }
    places.all_left().await;
}

/// Answers the requests of one TCP connection, one after the other.
async fn serve(http: Arc<HttpShared>, stream: TcpStream, peer: HttpPeer) {
    // Small frames must not wait for more to come.
    stream.set_nodelay(true).ok();
    let server = http.server.clone();
    let sent_away = peer.place.sent_away();
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
        () = sent_away.cancelled() => {
            return tracing::debug!("a connection without a token made way for another");
        }
        () = server.stopping() => {
            connection.as_mut().graceful_shutdown();
            // Answers may still come until all clients are gone; half a request is no reason to wait.
            let limit = async {
                server.ending().await;
                server.idle().await;
                sleep(limits::STOP_WAIT).await;
            };
            tokio::select! {
                ended = connection => ended,
                () = limit => return tracing::debug!("a connection did not end in time"),
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended in the middle");
    }
}
