//! A dialect over WebSocket: each message is a text frame.

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use hyper::body::Incoming;
use hyper::header::{
    CONNECTION, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper::{HeaderMap, Request, StatusCode};
use hyper_util::rt::TokioIo;
use stentor_agent::tasks;
use stentor_wire::attach::ClientHello;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::mpsc;
use tokio::time::{Instant, interval_at, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};

use super::acp::{CONNECTION_ID, FirstMessage};
use super::answer::{HttpAnswer, empty, text};
use super::dialect_stream::{DialectLines, DialectStream};
use super::{HttpPeer, limits};
use crate::connection::Access;
use crate::server::Server;

/// The subprotocol a client may name; answered so that browsers take the answer.
const PROTOCOL: &str = "stentor";

/// What a subprotocol that is a token begins with: browsers can set no other header.
const TOKEN_PROTOCOL: &str = "stentor.token.";

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Whether a request wants to become a WebSocket.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    let upgrade = headers.get(UPGRADE).and_then(|value| value.to_str().ok());
    upgrade.is_some_and(|value| value.eq_ignore_ascii_case("websocket"))
}

/// The token among the subprotocols.
pub(super) fn token(headers: &HeaderMap) -> Option<&str> {
    protocols(headers).find_map(|name| name.strip_prefix(TOKEN_PROTOCOL))
}

fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    texts.flat_map(|text| text.split(',')).map(str::trim)
}

/// Admits a client and makes its request a WebSocket.
pub(super) async fn upgrade(
    server: &Server,
    mut request: Request<Incoming>,
    peer: HttpPeer,
    client: ClientHello,
    access: Access,
) -> HttpAnswer {
    let headers = request.headers();
    let is_13 = headers
        .get(SEC_WEBSOCKET_VERSION)
        .is_some_and(|version| version == "13");
    let Some(key) = headers.get(SEC_WEBSOCKET_KEY).filter(|_| is_13) else {
        let mut answer = text(
            StatusCode::BAD_REQUEST,
            "this is no WebSocket of version 13",
        );
        let version = HeaderValue::from_static("13");
        answer.headers_mut().insert(SEC_WEBSOCKET_VERSION, version);
        return answer;
    };
    let accept = derive_accept_key(key.as_bytes());
    let names_protocol = protocols(headers).any(|name| name == PROTOCOL);
    let is_acp = client.dialect == "acp";
    let rules = FrameRules::of(&client.dialect);
    let begun = match server.admit(client, access).await {
        Ok(admitted) => DialectStream::begin(admitted),
        Err(refused) => return text(StatusCode::SERVICE_UNAVAILABLE, refused.message),
    };
    let stream = match begun {
        Ok(stream) => stream,
        Err(error) => return text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    };
    let upgraded = hyper::upgrade::on(&mut request);
    let serving = serve(server.clone(), upgraded, stream, rules);
    tasks::spawn(async move {
        serving.await;
        drop(peer);
    });
    let mut answer = empty(StatusCode::SWITCHING_PROTOCOLS);
    let headers = answer.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    let mut set = |name: HeaderName, value: &str| {
        // All of them are plain.
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    set(SEC_WEBSOCKET_ACCEPT, &accept);
    if names_protocol {
        set(SEC_WEBSOCKET_PROTOCOL, PROTOCOL);
    }
    if is_acp {
        let id = uuid::Uuid::new_v4().to_string();
        set(HeaderName::from_static(CONNECTION_ID), &id);
    }
    answer
}

/// What holds for the frames of a dialect.
struct FrameRules {
    /// A line end inside of a frame is as good as a space.
    is_json: bool,
    /// What ACP wants of the first frames.
    first: Option<FirstMessage>,
}

impl FrameRules {
    fn of(dialect: &str) -> Self {
        Self {
            is_json: dialect != "psi",
            first: (dialect == "acp").then(FirstMessage::default),
        }
    }
}

async fn serve(server: Server, upgraded: OnUpgrade, stream: DialectStream, rules: FrameRules) {
    let upgraded = match upgraded.await {
        Ok(upgraded) => TokioIo::new(upgraded),
        Err(error) => {
            tracing::debug!(%error, "a client went away before it was served");
            return;
        }
    };
    let config = WebSocketConfig::default()
        .max_message_size(Some(limits::MAX_MESSAGE_BYTES))
        .max_frame_size(Some(limits::MAX_MESSAGE_BYTES));
    let socket = Socket::from_raw_socket(upgraded, Role::Server, Some(config)).await;
    let (sink, frames) = socket.split();
    // One answer of ours at a time; who reads waits for it to be taken.
    let (ours, from_reader) = mpsc::channel(1);
    let mut reading = tasks::spawn(read(frames, stream.input, rules, ours));
    let mut writer = SocketWriter { sink };
    let why = match writer.write(stream.lines, from_reader).await {
        Ok(SocketEnding::DialectEnded) => match stream.served.await {
            Ok(Ok(_)) if server.is_stopping() => close(CloseCode::Away, "the server stops"),
            Ok(Ok(_)) => close(CloseCode::Normal, ""),
            Ok(Err(refused)) => close(CloseCode::Error, &refused.message),
            Err(_) => close(CloseCode::Error, "internal error of the server"),
        },
        Ok(SocketEnding::Refused(why)) => why,
        Err(error) => {
            tracing::debug!(%error, "a WebSocket ended in the middle");
            reading.abort();
            return;
        }
    };
    let wait = async {
        let closed = tokio::time::sleep(limits::CLOSE_WAIT);
        let stopped = async {
            server.ending().await;
            tokio::time::sleep(limits::STOP_WAIT).await;
        };
        tokio::select! { () = closed => {}, () = stopped => {} }
    };
    // The client answers by closing, too.
    let closing = async {
        writer.sink.send(Message::Close(Some(why))).await.ok();
        (&mut reading).await.ok();
    };
    let is_closed = tokio::select! { () = closing => true, () = wait => false };
    if !is_closed {
        tracing::debug!("a client did not close its WebSocket");
        reading.abort();
    }
}

/// What the reader wants to be written.
enum FromReader {
    /// An answer of the transport.
    Frame(String),
    /// The end.
    Refuse(CloseFrame),
}

/// Hands the client's frames to the dialect until the client closes, goes silent or is refused.
async fn read(
    mut frames: SplitStream<Socket>,
    mut input: OwnedWriteHalf,
    mut rules: FrameRules,
    ours: mpsc::Sender<FromReader>,
) {
    while let Ok(Some(frame)) = timeout(limits::SILENCE, frames.next()).await {
        let message = match frame {
            Ok(Message::Text(message)) => message,
            Ok(_) => continue,
            Err(WebSocketError::Capacity(_)) => {
                let why = close(CloseCode::Size, "a message is too long");
                ours.send(FromReader::Refuse(why)).await.ok();
                break;
            }
            Err(WebSocketError::Utf8(_)) => {
                let why = close(CloseCode::Invalid, "a text frame is not UTF-8");
                ours.send(FromReader::Refuse(why)).await.ok();
                break;
            }
            Err(_) => break,
        };
        let checked = rules
            .first
            .as_mut()
            .map_or(Ok(None), |first| first.check(&message));
        let handed_over = match (checked, line(&message, rules.is_json)) {
            (Ok(None), Ok(line)) => input.write_all(&line).await.is_ok(),
            (Ok(None), Err(why)) | (Err(why), _) => {
                ours.send(FromReader::Refuse(why)).await.ok();
                false
            }
            (Ok(Some(answer)), _) => ours.send(FromReader::Frame(answer)).await.is_ok(),
        };
        if !handed_over {
            break;
        }
    }
    // The dialect sees the end of its input.
    input.shutdown().await.ok();
}

/// A frame as a line.
fn line(message: &str, is_json: bool) -> Result<Vec<u8>, CloseFrame> {
    let mut line = message.trim_end().as_bytes().to_vec();
    let ends = line.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r'));
    for end in ends {
        if !is_json {
            return Err(close(CloseCode::Invalid, "a frame is one line"));
        }
        *end = b' ';
    }
    line.push(b'\n');
    Ok(line)
}

struct SocketWriter {
    sink: SplitSink<Socket, Message>,
}

enum SocketEnding {
    DialectEnded,
    Refused(CloseFrame),
}

type WebSocketError = tokio_tungstenite::tungstenite::Error;

impl SocketWriter {
    /// Writes the dialect's lines as frames, and asks the client now and then whether it is there.
    async fn write(
        &mut self,
        mut lines: DialectLines,
        mut from_reader: mpsc::Receiver<FromReader>,
    ) -> Result<SocketEnding, WebSocketError> {
        let first = Instant::now() + limits::PING_EVERY;
        let mut pings = interval_at(first, limits::PING_EVERY);
        let mut reads = true;
        loop {
            tokio::select! {
                // A client that is refused is the end of its dialect, which is no reason then.
                biased;
                from = from_reader.recv(), if reads => match from {
                    Some(FromReader::Frame(frame)) => self.sink.send(frame.into()).await?,
                    Some(FromReader::Refuse(why)) => return Ok(SocketEnding::Refused(why)),
                    None => reads = false,
                },
                line = lines.next() => match line? {
                    Some(line) => self.write_lines(line, &mut lines).await?,
                    None => return Ok(SocketEnding::DialectEnded),
                },
                _ = pings.tick() => self.sink.send(Message::Ping(Vec::new().into())).await?,
            }
        }
    }

    /// Writes a line and those behind it that are here already.
    async fn write_lines(
        &mut self,
        first: String,
        lines: &mut DialectLines,
    ) -> Result<(), WebSocketError> {
        let mut next = Some(first);
        while let Some(line) = next {
            self.sink.feed(line.into()).await?;
            next = lines.ready()?;
        }
        self.sink.flush().await
    }
}

/// Why a WebSocket ends. The text is cut to what a frame holds.
pub(super) fn close(code: CloseCode, why: &str) -> CloseFrame {
    const MOST_BYTES: usize = 120;
    let end = why.floor_char_boundary(MOST_BYTES);
    CloseFrame {
        code,
        reason: why.get(..end).unwrap_or_default().into(),
    }
}
