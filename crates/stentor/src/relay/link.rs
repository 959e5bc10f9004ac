//! The relay's side of a link (`stentor_wire::link`): a thread reads stdin, a thread writes to the
//! server, and who called reads from the server, writes stdout and makes a new connection when the
//! one there is breaks.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stentor_serve::stdio::Pipes;
use stentor_wire::attach::{AttachOutcome, AttachRequest, Hello, LinkResume, ServedClient};
use stentor_wire::link::{
    FrameHeader, FrameKind, HEADER_BYTES, MAX_FRAME_BYTES, ReceivedBytes, UnreportedBytes,
    read_end, read_received,
};

use super::{CHUNK_BYTES, RelayError, connect_to_own, welcome};

/// How long a server that cannot be reached is tried again at least, whatever it says: one that dies may
/// still be connected to for a moment.
const RECONNECT_FOR: Duration = Duration::from_secs(5);

/// How long a connection is tried that can be made and is then closed without a word: what forwards it is
/// there, and the server behind it is probably not.
const CLOSED_FOR: Duration = Duration::from_secs(15);

/// How long to wait between two tries, at first and at most.
const RECONNECT_EVERY: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(500)];

/// One try counts as so long at most: a machine that slept meanwhile has not tried. It is more than a
/// server may take to answer.
const LONGEST_TRY: Duration = Duration::from_secs(30);

/// Why a link carries nothing any more.
pub enum LinkError {
    /// Nobody reads stdout.
    NoReader,
    /// There is no server to go on with.
    Lost(RelayError),
}

/// A frontend that a server serves.
pub struct RelayLink {
    shared: Arc<RelayShared>,
    from_server: BufReader<UnixStream>,
    stdout: File,
    /// Whether a line of stdout is begun.
    in_line: bool,
    socket: Option<PathBuf>,
    token: String,
    /// How long it is tried to go on: as long as the server keeps the link.
    reconnect_for: Duration,
    /// Nothing is between this process and the server.
    is_direct: bool,
}

struct RelayShared {
    state: Mutex<RelayLinkState>,
    /// There is something to send, or somewhere to send it.
    to_send: Condvar,
    /// There is room for more of what the frontend writes.
    room: Condvar,
}

struct RelayLinkState {
    out: UnreportedBytes,
    received: ReceivedBytes,
    /// Absent while there is no connection.
    to_server: Option<Arc<UnixStream>>,
}

impl RelayLink {
    /// A link over a connection on which the server has said that it serves.
    pub fn new(
        served: ServedClient,
        from_server: BufReader<UnixStream>,
        pipes: Pipes,
    ) -> Result<Self, RelayError> {
        let token = served.token.ok_or_else(|| {
            RelayError::Foreign("it offers no link; it may be an older version".to_owned())
        })?;
        let stream = from_server.get_ref();
        let to_server = stream.try_clone().map_err(RelayError::Broken)?;
        let peer = stream.peer_addr().ok();
        let socket = peer.and_then(|peer| peer.as_pathname().map(PathBuf::from));
        let link = Self {
            is_direct: is_direct(stream, served.pid),
            shared: Arc::new(RelayShared {
                state: Mutex::new(RelayLinkState {
                    out: UnreportedBytes::default(),
                    received: ReceivedBytes::default(),
                    to_server: Some(Arc::new(to_server)),
                }),
                to_send: Condvar::new(),
                room: Condvar::new(),
            }),
            from_server,
            stdout: File::from(pipes.stdout),
            in_line: false,
            socket,
            token,
            reconnect_for: served
                .resume_within_ms
                .map_or(RECONNECT_FOR, Duration::from_millis)
                .max(RECONNECT_FOR),
        };
        let (reading, sending) = (Arc::clone(&link.shared), Arc::clone(&link.shared));
        let stdin = File::from(pipes.stdin);
        std::thread::spawn(move || reading.read(stdin));
        std::thread::spawn(move || sending.send());
        Ok(link)
    }

    /// Carries everything until the server says that it is over: the exit status, and why.
    pub fn carry(&mut self) -> Result<(u8, String), LinkError> {
        loop {
            match self.receive() {
                Ok(Some(end)) => return Ok(end),
                Ok(None) => {}
                Err(Interruption::NoReader) => return Err(LinkError::NoReader),
                Err(Interruption::Broken(_)) => self.reconnect().map_err(LinkError::Lost)?,
            }
        }
    }

    /// Writes a line of our own to stdout, for whoever still reads.
    pub fn say(&mut self, line: &[u8]) {
        if self.in_line {
            self.stdout.write_all(b"\n").ok();
        }
        self.stdout.write_all(line).ok();
    }

    /// Receives one frame; what the server ended with, if it was the last.
    fn receive(&mut self) -> Result<Option<(u8, String)>, Interruption> {
        let mut header = [0; HEADER_BYTES];
        self.from_server.read_exact(&mut header)?;
        let FrameHeader { kind, bytes } = FrameHeader::read(header).map_err(io::Error::other)?;
        let mut content = vec![0; bytes];
        self.from_server.read_exact(&mut content)?;
        match kind {
            FrameKind::Data => {
                let written = self.stdout.write_all(&content);
                written.map_err(|_| Interruption::NoReader)?;
                self.in_line = content.last().is_some_and(|last| *last != b'\n');
                self.shared.lock().received.add(bytes);
                self.shared.to_send.notify_one();
            }
            FrameKind::Received => {
                let received = read_received(&content).map_err(io::Error::other)?;
                let known = self.shared.lock().out.reported(received);
                known.map_err(io::Error::other)?;
                self.shared.room.notify_one();
            }
            FrameKind::End => {
                self.shared.say_received();
                return Ok(Some(read_end(&content)));
            }
        }
        Ok(None)
    }

    /// Goes on over another connection.
    fn reconnect(&mut self) -> Result<(), RelayError> {
        self.shared.lock().to_server = None;
        let mut tries = Tries::new(self.reconnect_for);
        loop {
            let begun = Instant::now();
            let why = match self.resume() {
                Ok(()) => return Ok(()),
                // Nobody listens any more.
                Err(RelayError::Broken(why)) if self.is_direct && is_gone(&why) => {
                    return Err(RelayError::ServerEnded);
                }
                Err(RelayError::Broken(why)) => why,
                Err(why) => return Err(why),
            };
            let pause = tries.after_try(begun.elapsed(), is_closed(&why));
            let pause = pause.map_err(|within| RelayError::Unreachable {
                tried_s: within.as_secs(),
                why,
            })?;
            std::thread::sleep(pause);
        }
    }

    fn resume(&mut self) -> Result<(), RelayError> {
        let broken = RelayError::Broken;
        let socket = self.socket.as_ref();
        let socket = socket.ok_or_else(|| broken(io::ErrorKind::NotConnected.into()))?;
        let stream = connect_to_own(socket).map_err(broken)?;
        let resume = LinkResume {
            token: self.token.clone(),
            received: self.shared.lock().received.bytes(),
        };
        let hello =
            Hello::line(AttachRequest::Resume(resume)).map_err(|error| broken(error.into()))?;
        // One that does not take all of it may have answered why, or has ended; both is read.
        (&stream).write_all(&hello).ok();
        let to_server = Arc::new(stream.try_clone().map_err(broken)?);
        let mut from_server = BufReader::with_capacity(CHUNK_BYTES, stream);
        let received = match welcome(&mut from_server) {
            Ok(AttachOutcome::Resumed(resumed)) => resumed.received,
            Ok(AttachOutcome::Refused(refused)) => {
                return Err(RelayError::Forgotten(refused.message));
            }
            Ok(AttachOutcome::Served(_) | AttachOutcome::Released { .. }) => {
                let why = "the server answered something else";
                return Err(broken(io::Error::new(io::ErrorKind::InvalidData, why)));
            }
            // It broke again, maybe by something in between.
            Err(RelayError::ServerEnded) => {
                let why = "the connection was closed before the server answered";
                return Err(broken(io::Error::new(
                    io::ErrorKind::ConnectionAborted,
                    why,
                )));
            }
            Err(RelayError::Broken(why)) => return Err(broken(why)),
            Err(why) => return Err(broken(io::Error::other(why))),
        };
        let mut state = self.shared.lock();
        let known = state.out.reconnected(received);
        known.map_err(|error| RelayError::Forgotten(error.to_string()))?;
        state.received.reconnected();
        state.to_server = Some(to_server);
        drop(state);
        self.shared.to_send.notify_one();
        self.from_server = from_server;
        Ok(())
    }
}

/// How long it is tried again, whatever happens.
struct Tries {
    within: Duration,
    patience: Patience,
    /// Since when connections are made and closed.
    while_closed: Option<Patience>,
}

impl Tries {
    fn new(within: Duration) -> Self {
        Self {
            within,
            patience: Patience::new(within),
            while_closed: None,
        }
    }

    /// How long to wait after a try that took so long; in error how long it was tried, when it was the
    /// last.
    fn after_try(&mut self, took: Duration, is_closed: bool) -> Result<Duration, Duration> {
        if is_closed {
            let within = self.within.min(CLOSED_FOR);
            let closed = self
                .while_closed
                .get_or_insert_with(|| Patience::new(within));
            closed.after_try(took).ok_or(within)?;
        } else {
            self.while_closed = None;
        }
        self.patience.after_try(took).ok_or(self.within)
    }
}

/// How long something is tried again.
struct Patience {
    left: Duration,
    pause: Duration,
}

impl Patience {
    fn new(left: Duration) -> Self {
        let [pause, _] = RECONNECT_EVERY;
        Self { left, pause }
    }

    /// How long to wait after a try that took so long; `None` when it was the last.
    fn after_try(&mut self, took: Duration) -> Option<Duration> {
        let [_, longest] = RECONNECT_EVERY;
        let pause = self.pause;
        self.left = self.left.checked_sub(took.min(LONGEST_TRY) + pause)?;
        self.pause = (pause * 2).min(longest);
        Some(pause)
    }
}

/// Why nothing more is received.
enum Interruption {
    NoReader,
    Broken(#[expect(dead_code, reason = "shown by a debugger only")] io::Error),
}

impl From<io::Error> for Interruption {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

impl RelayShared {
    fn lock(&self) -> MutexGuard<'_, RelayLinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what the frontend writes.
    fn read(&self, mut stdin: File) {
        let mut buffer = vec![0; MAX_FRAME_BYTES];
        loop {
            let mut state = self.lock();
            while state.out.room() < buffer.len() {
                state = self
                    .room
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            drop(state);
            match stdin.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break,
                Ok(read) => {
                    let bytes = buffer.get(..read).unwrap_or_default();
                    self.lock().out.push(bytes);
                    self.to_send.notify_one();
                }
            }
        }
        self.lock().out.end(Vec::new());
        self.to_send.notify_one();
    }

    /// Sends what there is to send, over whatever connection there is.
    fn send(&self) {
        let mut frames = Vec::new();
        loop {
            let mut state = self.lock();
            let to_server = loop {
                if let Some(to_server) = state.to_server.clone() {
                    let reports = state.received.next_frame(&mut frames);
                    if state.out.next_frame(&mut frames) || reports {
                        break to_server;
                    }
                }
                state = self
                    .to_send
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            };
            drop(state);
            // One that is broken is noticed where it is read from.
            if (&*to_server).write_all(&frames).is_err() {
                let mut state = self.lock();
                state.to_server.take_if(|now| Arc::ptr_eq(now, &to_server));
            }
            frames.clear();
        }
    }

    /// Tells the server how much has arrived: everything.
    fn say_received(&self) {
        let mut state = self.lock();
        let mut frame = Vec::new();
        state.received.frame(&mut frame);
        if let Some(to_server) = &state.to_server {
            // It has no more to say either way.
            (&**to_server).write_all(&frame).ok();
        }
    }
}

/// True when the connection was made, and closed without a word.
fn is_closed(why: &io::Error) -> bool {
    matches!(
        why.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    )
}

fn is_gone(why: &io::Error) -> bool {
    matches!(
        why.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound
    )
}

/// True when the process at the other end is the server itself, and not something in between that
/// may come back.
#[cfg(target_os = "linux")]
fn is_direct(stream: &UnixStream, server: u32) -> bool {
    let peer = rustix::net::sockopt::socket_peercred(stream);
    peer.is_ok_and(|peer| u32::try_from(peer.pid.as_raw_nonzero().get()).ok() == Some(server))
}

/// Which process it is cannot be known here; then it is tried again for a while.
#[cfg(not(target_os = "linux"))]
fn is_direct(_: &UnixStream, _: u32) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many tries there are that take so long each.
    fn tries(within: Duration, took: Duration) -> usize {
        let mut patience = Patience::new(within);
        std::iter::from_fn(|| patience.after_try(took)).count()
    }

    #[test]
    fn it_is_tried_as_long_as_the_server_waits_and_sleep_counts_little() {
        let (second, hour) = (Duration::from_secs(1), Duration::from_secs(3600));
        assert_eq!(tries(Duration::ZERO, Duration::ZERO), 0);
        // 50, 100, 200, 400 ms, then half a second each.
        assert_eq!(tries(second * 10, Duration::ZERO), 4 + 18);
        assert_eq!(tries(second * 300, Duration::ZERO), 4 + 598);
        // A laptop that sleeps for hours has tried for less than a minute.
        assert_eq!(tries(second * 300, hour), 9);
    }

    #[test]
    fn a_forwarder_without_a_server_is_tried_for_a_short_time_and_one_that_is_away_for_the_whole() {
        let second = Duration::from_secs(1);
        let mut tries = Tries::new(second * 300);
        // It is away at first, which counts for the whole time alone.
        for _ in 0..100 {
            tries.after_try(second, false).unwrap();
        }
        let mut closed = 0;
        let tried = loop {
            match tries.after_try(second, true) {
                Ok(_) => closed += 1,
                Err(tried) => break tried,
            }
        };
        assert_eq!((tried, closed), (CLOSED_FOR, 10));
        // What comes and goes is not taken for one that has no server.
        let mut tries = Tries::new(second * 300);
        for _ in 0..20 {
            tries.after_try(second, true).unwrap();
            tries.after_try(second, false).unwrap();
        }
        let mut short = Tries::new(second);
        assert_eq!(short.after_try(second, true), Err(second));
    }
}
