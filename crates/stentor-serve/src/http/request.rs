//! What a request is answered.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HeaderValue, RETRY_AFTER, UPGRADE, WWW_AUTHENTICATE};
use hyper::{HeaderMap, Method, Request, StatusCode};

use super::answer::{HttpAnswer, HttpRefusal, guarded, text, with_body};
use super::{HttpPeer, HttpShared, acp, web_socket};
use crate::connection::Access;
use crate::page::assets;

/// The dialects, each at its path. The page has one of its own.
const DIALECTS: [&str; 5] = ["acp", "omp", "psi", "synaps", "page"];

/// Answers a request.
pub(super) async fn answer(
    http: Arc<HttpShared>,
    request: Request<Incoming>,
    peer: HttpPeer,
) -> HttpAnswer {
    let answer = match check(&http, &request, &peer) {
        Ok(RequestedResource::Asset(asset)) => match *request.method() {
            Method::GET | Method::HEAD => {
                with_body(StatusCode::OK, asset.content_type, asset.content.clone())
            }
            _ => text(StatusCode::METHOD_NOT_ALLOWED, "this can only be read"),
        },
        Ok(RequestedResource::Dialect(dialect, access)) => {
            dialect_answer(http, request, peer, dialect, access).await
        }
        Err(refusal) => *refusal,
    };
    guarded(answer)
}

enum RequestedResource {
    /// A file of the page.
    Asset(&'static assets::Asset),
    Dialect(&'static str, Access),
}

fn check(
    http: &HttpShared,
    request: &Request<Incoming>,
    peer: &HttpPeer,
) -> Result<RequestedResource, HttpRefusal> {
    let (origins, headers) = (&http.options.origins, request.headers());
    let misdirected = |why| text(StatusCode::MISDIRECTED_REQUEST, format!("{why}"));
    origins.check_host(headers).map_err(misdirected)?;
    if let Some(asset) = assets::at(request.uri().path()) {
        return Ok(RequestedResource::Asset(asset));
    }
    let forbidden = |why| text(StatusCode::FORBIDDEN, format!("{why}"));
    origins.check_origin(headers).map_err(forbidden)?;
    let (token, path) = token_and_path(headers, request.uri().path());
    let access = access(http, token, peer.address)?;
    peer.place.has_token();
    let dialect = DIALECTS.into_iter().find(|name| *name == path);
    let dialect = dialect.ok_or_else(|| text(StatusCode::NOT_FOUND, "there is nothing here"))?;
    Ok(RequestedResource::Dialect(dialect, access))
}

/// The token of a request, wherever its client can put one, and what the rest of the path says.
fn token_and_path<'a>(headers: &'a HeaderMap, path: &'a str) -> (Option<&'a str>, &'a str) {
    let path = path.strip_prefix('/').unwrap_or(path);
    let in_path = path.split_once('/');
    let header = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let bearer = header.and_then(|value| value.split_once(' '));
    let bearer = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let token = bearer
        .map(|(_, token)| token.trim())
        .or_else(|| web_socket::token(headers))
        .or(in_path.map(|(token, _)| token));
    (token, in_path.map_or(path, |(_, rest)| rest))
}

fn access(http: &HttpShared, token: Option<&str>, peer: IpAddr) -> Result<Access, HttpRefusal> {
    // Who has the right one is not kept waiting by others at the same address.
    if let Some(access) = token.and_then(|token| http.options.tokens.access(token)) {
        return Ok(access);
    }
    let now = Instant::now();
    if let Some(wait) = http.wrong_tokens.wait(peer, now) {
        return Err(too_many(wait).into());
    }
    let unauthorized = |why: &str| {
        let mut answer = text(StatusCode::UNAUTHORIZED, why);
        let bearer = HeaderValue::from_static("Bearer");
        answer.headers_mut().insert(WWW_AUTHENTICATE, bearer);
        Box::new(answer)
    };
    if token.is_none() {
        return Err(unauthorized("a token is needed"));
    }
    http.wrong_tokens.count(peer, now);
    Err(unauthorized("the token is wrong"))
}

fn too_many(wait: Duration) -> HttpAnswer {
    let mut answer = text(StatusCode::TOO_MANY_REQUESTS, "too many wrong tokens; wait");
    let seconds = HeaderValue::from(wait.as_secs() + 1);
    answer.headers_mut().insert(RETRY_AFTER, seconds);
    answer
}

async fn dialect_answer(
    http: Arc<HttpShared>,
    request: Request<Incoming>,
    peer: HttpPeer,
    dialect: &'static str,
    access: Access,
) -> HttpAnswer {
    if web_socket::is_wanted(request.headers()) {
        let client = http
            .options
            .place
            .client(dialect, request.uri().query(), access);
        return web_socket::upgrade(&http.server, request, peer, client, access).await;
    }
    if dialect == "acp" {
        return acp::answer(http, request, access).await;
    }
    let mut answer = text(StatusCode::UPGRADE_REQUIRED, "this is a WebSocket");
    let web_socket = HeaderValue::from_static("websocket");
    answer.headers_mut().insert(UPGRADE, web_socket);
    answer
}
