//! Clients over a Unix socket: each begins with a line that says who it is, then its dialect's bytes
//! follow (`stentor_wire::attach`).

use std::io;

use stentor_agent::live_sessions::ReleaseOutcome;
use stentor_agent::tasks;
use stentor_wire::attach::{
    AttachOutcome, AttachRefusal, AttachRequest, ClientHello, Hello, MAX_HELLO_BYTES, Release,
    ServedClient, ServerControl, Welcome,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

use super::link::LinkCarrier;
use super::{Server, limits, peer, refused};
use crate::connection::Access;

/// Accepts clients until the server stops.
pub async fn accept(server: &Server, listener: &UnixListener) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = server.stopping() => return,
        };
        match accepted {
            Ok((stream, _)) => {
                let server = server.clone();
                tasks::spawn(async move { greet(server, stream).await });
            }
            Err(error) => {
                tracing::warn!(%error, "a client could not be accepted");
                tokio::time::sleep(limits::ACCEPT_REST).await;
            }
        }
    }
}

/// Reads who connects and serves it.
async fn greet(server: Server, mut stream: UnixStream) {
    // Looked at while the process that connects is there, and answered when it has said what it wants:
    // who is refused while it writes cannot read why.
    let may_connect = may_connect(&server, &stream);
    let greeted = hello(&mut stream).await;
    let greeted = may_connect.and(greeted);
    let answered = match greeted {
        Ok((AttachRequest::Control(control), _)) => answer(&server, control, &mut stream).await,
        Ok((AttachRequest::Release(Release { file }), _)) => {
            let released = server.release(&file).await;
            let outcome = match released {
                ReleaseOutcome::NotLive => AttachOutcome::Released { was_live: false },
                ReleaseOutcome::Closed => AttachOutcome::Released { was_live: true },
                ReleaseOutcome::InUse => AttachOutcome::Refused(refused("the session is in use")),
            };
            welcome(&mut stream, outcome).await
        }
        Ok((AttachRequest::Serve(client), read_ahead)) => {
            serve(&server, client, stream, read_ahead).await;
            return;
        }
        Ok((AttachRequest::Resume(resume), read_ahead)) => {
            let carrier = LinkCarrier { stream, read_ahead };
            match server.links().resume(&resume, carrier) {
                Ok(()) => return,
                Err(carrier) => {
                    stream = carrier.stream;
                    let why = refused("the server no longer knows this connection");
                    welcome(&mut stream, AttachOutcome::Refused(why)).await
                }
            }
        }
        Err(why) => welcome(&mut stream, AttachOutcome::Refused(why)).await,
    };
    if let Err(error) = answered {
        tracing::debug!(%error, "a client went away before it was answered");
    }
}

fn may_connect(server: &Server, stream: &UnixStream) -> Result<(), AttachRefusal> {
    if !peer::is_our_user(stream) {
        return Err(refused("only the user who started the server may connect"));
    }
    if peer::is_in_sandbox(stream, server.shared.options.helper_word) {
        return Err(refused("commands in the sandbox may not connect"));
    }
    Ok(())
}

/// The first line, and what came behind it already.
async fn hello(stream: &mut UnixStream) -> Result<(AttachRequest, Vec<u8>), AttachRefusal> {
    let reading = tokio::time::timeout(limits::HELLO_WAIT, first_line(stream));
    let (line, rest) = match reading.await {
        Ok(Ok(read)) => read,
        Ok(Err(error)) => return Err(refused(format!("the first line is missing: {error}"))),
        Err(_) => return Err(refused("the first line did not come in time")),
    };
    let hello = Hello::parse(&line).map_err(|error| refused(error.to_string()))?;
    Ok((hello.wish, rest))
}

async fn first_line(stream: &mut UnixStream) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut read = Vec::new();
    loop {
        let so_far = read.len();
        if stream.read_buf(&mut read).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let new = read.get(so_far..).unwrap_or_default();
        if let Some(end) = new.iter().position(|byte| *byte == b'\n') {
            let rest = read.split_off(so_far + end + 1);
            return Ok((read, rest));
        }
        if read.len() > MAX_HELLO_BYTES {
            let why = format!("it is longer than {MAX_HELLO_BYTES} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
    }
}

async fn serve(server: &Server, client: ClientHello, mut stream: UnixStream, read_ahead: Vec<u8>) {
    let access = match client.observe {
        true => Access::Observe,
        false => Access::Drive,
    };
    let has_link = client.link;
    let admitted = match server.admit(client, access).await {
        Ok(admitted) => admitted,
        Err(why) => {
            welcome(&mut stream, AttachOutcome::Refused(why)).await.ok();
            return;
        }
    };
    let (token, link) = server.links().open(has_link).unzip();
    let served = ServedClient {
        epoch: server.epoch().to_owned(),
        pid: std::process::id(),
        resume_within_ms: token.is_some().then(|| server.links().resume_within_ms()),
        token,
    };
    let greeted = welcome(&mut stream, AttachOutcome::Served(served)).await;
    if let Some(link) = link {
        let carrier = LinkCarrier { stream, read_ahead };
        let carrier = greeted.is_ok().then_some(carrier);
        return link.serve(admitted, carrier).await;
    }
    let stream = greeted.and_then(|()| {
        let stream = stream.into_std()?;
        stream.set_nonblocking(false)?;
        Ok(stream)
    });
    match stream {
        Ok(stream) => {
            if let Err(why) = admitted.serve(stream, read_ahead).await {
                tracing::warn!("a client was not served: {}", why.message);
            }
        }
        Err(error) => tracing::debug!(%error, "a client went away before it was served"),
    }
}

pub(super) async fn welcome(stream: &mut UnixStream, outcome: AttachOutcome) -> io::Result<()> {
    let line = Welcome::line(outcome)?;
    stream.write_all(&line).await
}

/// Answers by one line.
async fn answer(
    server: &Server,
    control: ServerControl,
    stream: &mut UnixStream,
) -> io::Result<()> {
    if control == ServerControl::Http
        && let Err(why) = server.open_http()
    {
        return welcome(stream, AttachOutcome::Refused(why)).await;
    }
    let mut line = serde_json::to_vec(&server.status())?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    match control {
        ServerControl::Status | ServerControl::Http => {}
        ServerControl::Stop => {
            server.stop();
            // The end of the stream is the end of the process.
            std::future::pending().await
        }
    }
    Ok(())
}
