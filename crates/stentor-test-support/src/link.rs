//! A connection that a test can cut.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

/// Hands on bytes between its address and another one. While it is cut nothing gets through, as if
/// the packets were lost; nobody is told.
pub struct Link {
    /// Where clients connect.
    pub address: SocketAddr,
    state: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Default)]
struct State {
    is_cut: bool,
    streams: Vec<TcpStream>,
}

impl Link {
    /// One to `target`.
    pub fn new(target: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let link = Self {
            address: listener.local_addr().unwrap(),
            state: Arc::default(),
        };
        let state = Arc::clone(&link.state);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let state = Arc::clone(&state);
                std::thread::spawn(move || connect(client, target, &state));
            }
        });
        link
    }

    /// Lets nothing through until it is mended.
    pub fn cut(&self) {
        self.state.0.lock().unwrap().is_cut = true;
    }

    /// Lets everything through again, also what was held up.
    pub fn mend(&self) {
        self.state.0.lock().unwrap().is_cut = false;
        self.state.1.notify_all();
    }

    /// Closes all connections.
    pub fn reset(&self) {
        for stream in self.state.0.lock().unwrap().streams.drain(..) {
            stream.shutdown(Shutdown::Both).ok();
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.mend();
        self.reset();
    }
}

fn connect(client: TcpStream, target: SocketAddr, state: &Arc<(Mutex<State>, Condvar)>) {
    when_whole(state);
    let Ok(server) = TcpStream::connect(target) else {
        return;
    };
    for stream in [&client, &server] {
        stream.set_nodelay(true).ok();
    }
    let streams = [client.try_clone(), server.try_clone()];
    state
        .0
        .lock()
        .unwrap()
        .streams
        .extend(streams.into_iter().flatten());
    let back = (server.try_clone(), client.try_clone());
    let other = Arc::clone(state);
    if let (Ok(from), Ok(to)) = back {
        std::thread::spawn(move || carry(from, to, &other));
    }
    carry(client, server, state);
}

fn carry(mut from: TcpStream, mut to: TcpStream, state: &(Mutex<State>, Condvar)) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        when_whole(state);
        if to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    for stream in [from, to] {
        stream.shutdown(Shutdown::Both).ok();
    }
}

fn when_whole((state, mended): &(Mutex<State>, Condvar)) {
    let mut state = state.lock().unwrap();
    while state.is_cut {
        state = mended.wait(state).unwrap();
    }
}
