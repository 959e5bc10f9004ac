//! The server: many clients at once, each over a connection of its own, in whichever dialect.
//!
//! A transport accepts clients, checks who they are, and hands each to [`Server::serve`] together
//! with what it says of itself. The Unix socket is one of them ([`unix_socket`]).

mod clients;
mod limits;
mod link;
mod peer;
mod proxied;
pub mod unix_socket;
mod watching;

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use stentor_agent::live_sessions::{LiveSessions, ReleaseOutcome};
use stentor_agent::reservations::Reservations;
use stentor_agent::tasks;
use stentor_wire::attach::{AttachRefusal, ClientHello};
use tokio_util::sync::CancellationToken;

use crate::connection::{Access, Connection};
use crate::frontend::{Frontend, FrontendSetup, Sharing, Storing};
use crate::proxy::Peers;

pub use clients::{ClientStatus, HttpStatus, ServerStatus, SessionStatus};

use clients::{ClientPresence, ClientSlot, Clients};
use link::Links;
use proxied::ProxiedClient;

/// The exit status of a program whose client was not served.
const FAILED: u8 = 1;

/// What the connections of a server share. Clones are the same server.
#[derive(Clone)]
pub struct Server {
    shared: Arc<ServerShared>,
}

struct ServerShared {
    setup: Arc<dyn FrontendSetup>,
    options: ServerOptions,
    clients: Clients,
    /// The sessions that clients share.
    live: LiveSessions,
    /// Where new sessions go, if not where each client has them.
    storing: Option<Storing>,
    /// The links of relays.
    links: Links,
    /// Fires when the server is to stop.
    stop: CancellationToken,
    /// Ends the connections.
    end: CancellationToken,
    /// Where it is reached over HTTP, if it is.
    http: OnceLock<HttpStatus>,
    /// Has it be reached over HTTP when somebody wants that later.
    http_opener: OnceLock<HttpOpener>,
    /// The other nodes of its fleet, if it is in one.
    peers: OnceLock<Arc<dyn Peers>>,
}

/// Has a server be reached over HTTP from this machine, or says why it cannot be.
pub type HttpOpener = Box<dyn Fn(&Server) -> Result<(), AttachRefusal> + Send + Sync>;

/// What a server is started with.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Names this life of the server.
    pub epoch: String,
    /// Connections at once; one more is refused.
    pub max_connections: usize,
    /// A session that no client has to do with is unloaded when it was idle for so long.
    pub unload_after: Duration,
    /// How long a relay whose connection broke may take to come back.
    pub resume_within: Duration,
    /// The word that starts the supervisors of commands: what runs below one in a sandbox is not
    /// served.
    pub helper_word: &'static str,
}

impl ServerOptions {
    /// The usual limits.
    pub fn new(epoch: impl Into<String>, helper_word: &'static str) -> Self {
        Self {
            epoch: epoch.into(),
            max_connections: limits::MAX_CONNECTIONS,
            unload_after: limits::UNLOAD_AFTER,
            resume_within: limits::RESUME_WITHIN,
            helper_word,
        }
    }
}

/// A client that has been admitted and set up.
pub struct AdmittedConnection {
    server: Server,
    client: AdmittedClient,
    access: Access,
    place: ClientSlot,
}

/// Where an admitted client is served.
enum AdmittedClient {
    Here(Frontend),
    /// Wherever its sessions are.
    Proxied(ProxiedClient),
}

impl Server {
    /// A server without clients.
    pub fn new(setup: Arc<dyn FrontendSetup>, options: ServerOptions) -> Self {
        Self::storing_in(setup, options, None)
    }

    /// A server without clients, whose new sessions all go to one place if there is one.
    pub fn storing_in(
        setup: Arc<dyn FrontendSetup>,
        options: ServerOptions,
        storing: Option<Storing>,
    ) -> Self {
        let shared = ServerShared {
            setup,
            storing,
            clients: Clients::default(),
            live: LiveSessions::new(options.unload_after),
            links: Links::new(options.resume_within),
            options,
            stop: CancellationToken::new(),
            end: CancellationToken::new(),
            http: OnceLock::new(),
            http_opener: OnceLock::new(),
            peers: OnceLock::new(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// The sessions that its clients share.
    pub fn live(&self) -> &LiveSessions {
        &self.shared.live
    }

    /// Names this life of the server.
    pub fn epoch(&self) -> &str {
        &self.shared.options.epoch
    }

    /// Has the server stop: nobody is admitted any more. [`Server::wind_down`] ends the rest.
    pub fn stop(&self) {
        self.shared.stop.cancel();
    }

    /// Ends all sessions, what runs in them as interrupted, then all connections. Clients see the
    /// end of what runs before the end of their connection.
    pub async fn wind_down(&self) {
        self.stop();
        let closing = self.shared.live.close_all();
        let closed = tokio::time::timeout(limits::CLOSE_WAIT, closing).await;
        if closed.is_err() {
            tracing::warn!("not all sessions ended in time");
        }
        self.shared.end.cancel();
        self.idle().await;
        // Relays still get the last frames, if they are there.
        let all_gone = self.shared.links.all_gone();
        tokio::time::timeout(limits::LAST_BYTES, all_gone)
            .await
            .ok();
    }

    /// Waits until the server is to stop.
    pub async fn stopping(&self) {
        self.shared.stop.cancelled().await;
    }

    /// Waits until its sessions have ended and the connections are to end.
    pub async fn ending(&self) {
        self.shared.end.cancelled().await;
    }

    /// True when the server is to stop.
    pub fn is_stopping(&self) -> bool {
        self.shared.stop.is_cancelled()
    }

    /// Waits until no connection is left. Others are admitted meanwhile.
    pub async fn idle(&self) {
        self.shared.clients.all_gone().await;
    }

    /// True when there is no connection.
    pub fn is_idle(&self) -> bool {
        self.shared.clients.is_empty()
    }

    /// How many clients were ever admitted.
    pub fn admitted(&self) -> u64 {
        self.shared.clients.count()
    }

    /// Where it is reached over HTTP, if it is.
    pub fn http(&self) -> Option<&HttpStatus> {
        self.shared.http.get()
    }

    /// Notes where it is reached over HTTP.
    pub fn set_http(&self, status: HttpStatus) {
        self.shared.http.get_or_init(|| status);
    }

    /// Has clients of the Unix socket open HTTP when they want it.
    pub fn set_http_opener(&self, opener: HttpOpener) {
        self.shared.http_opener.get_or_init(|| opener);
    }

    /// Is reached over HTTP from here on, if it is not already.
    fn open_http(&self) -> Result<(), AttachRefusal> {
        if self.http().is_some() {
            return Ok(());
        }
        match self.shared.http_opener.get() {
            Some(open) => open(self),
            None => Err(refused("the server cannot open HTTP")),
        }
    }

    /// Makes it one of several nodes: clients are served where their sessions are. Called once,
    /// before there are clients.
    pub fn set_peers(&self, peers: Arc<dyn Peers>) {
        self.shared.peers.get_or_init(|| peers);
    }

    /// Lets go of the session in a file, if nobody has it open and nothing goes on in it.
    pub async fn release(&self, file: &Path) -> ReleaseOutcome {
        self.shared.live.release(file).await
    }

    fn links(&self) -> &Links {
        &self.shared.links
    }

    /// What goes on in it.
    pub fn status(&self) -> ServerStatus {
        ServerStatus {
            epoch: self.epoch().to_owned(),
            pid: std::process::id(),
            http: self.http().cloned(),
            clients: self.shared.clients.list(),
            sessions: self
                .shared
                .live
                .list()
                .into_iter()
                .map(Into::into)
                .collect(),
        }
    }

    /// Sets a client up, unless there are too many or it cannot be.
    pub async fn admit(
        &self,
        client: ClientHello,
        access: Access,
    ) -> Result<AdmittedConnection, AttachRefusal> {
        let place = self.enter(&client, access)?;
        let client = match self.shared.peers.get() {
            None => {
                let live = self.shared.live.of_client(place.is_away());
                let sharing = Sharing {
                    live,
                    access,
                    visits: client.visits,
                    opened: None,
                    reservations: Reservations::default(),
                };
                AdmittedClient::Here(self.frontend(client, sharing).await?)
            }
            Some(peers) => {
                let proxied = ProxiedClient::begin(self, Arc::clone(peers), client, access);
                AdmittedClient::Proxied(proxied.await?)
            }
        };
        Ok(AdmittedConnection {
            server: self.clone(),
            client,
            access,
            place,
        })
    }

    /// A place for one more client, if it may come.
    fn enter(&self, client: &ClientHello, access: Access) -> Result<ClientSlot, AttachRefusal> {
        if self.is_stopping() {
            return Err(refused("the server is stopping"));
        }
        if access == Access::Observe
            && let Some(word) = watching::other_flag(&client.args)
        {
            let why = format!("an observer may only name a session; {word} is not allowed");
            return Err(refused(why));
        }
        let most = self.shared.options.max_connections;
        let place = self.shared.clients.enter(client, access, most);
        place.ok_or_else(|| {
            let why = format!("the server has {most} connections already, which is its limit");
            refused(why)
        })
    }

    /// The frontend of a client, which publishes the sessions that it opens, and has capacity for the
    /// one that it begins with.
    async fn frontend(
        &self,
        client: ClientHello,
        sharing: Sharing,
    ) -> Result<Frontend, AttachRefusal> {
        if let (Some(storing), true) = (&self.shared.storing, client.begins) {
            storing.reserve(Path::new(&client.cwd), &sharing.reservations)?;
        }
        let setup = Arc::clone(&self.shared.setup);
        let storing = self.shared.storing.clone();
        let makes = storing.filter(|_| sharing.access == Access::Drive);
        let frontend = tasks::spawn_blocking(move || {
            if let Some(storing) = makes {
                storing.make_folder(Path::new(&client.cwd))?;
            }
            setup.frontend(&client)
        });
        let frontend = frontend.await;
        let frontend = frontend.map_err(|panicked| refused(panicked.to_string()))??;
        let frontend = match &self.shared.storing {
            Some(storing) => frontend.storing_in(storing),
            None => frontend,
        };
        let frontend = match self.shared.peers.get() {
            Some(peers) => frontend.in_fleet(peers),
            None => frontend,
        };
        Ok(frontend.sharing(&sharing))
    }

    /// Serves a client here at the other end of `stream`, from which `read_ahead` was read already,
    /// until it goes away or the server stops. The stream is shut down afterwards.
    async fn serve_here(
        &self,
        frontend: Frontend,
        access: Access,
        stream: UnixStream,
        read_ahead: Vec<u8>,
    ) -> Result<u8, AttachRefusal> {
        let end = self.shared.end.child_token();
        let given_up = CancellationToken::new();
        let connection = Connection::of_server(&stream, read_ahead, access, end, given_up.clone());
        let connection = connection.map_err(|error| refused(error.to_string()))?;
        // What panics is one client's end and no other's.
        let served = tasks::spawn(frontend.serve(connection)).await;
        // A thread may still read from it.
        stream.shutdown(std::net::Shutdown::Both).ok();
        match served {
            Ok(Ok(_)) if given_up.is_cancelled() => Err(refused(
                "disconnected: nothing was read here while other clients of the session waited",
            )),
            Ok(Ok(status)) => Ok(status),
            Ok(Err(why)) => Err(refused(why.to_string())),
            Err(panicked) => {
                tracing::error!(%panicked, "a connection failed inside");
                Err(refused("internal error of the server"))
            }
        }
    }
}

impl AdmittedConnection {
    /// Where it is noted whether the client is there.
    fn presence(&self) -> ClientPresence {
        self.place.presence()
    }

    /// Serves the client at the other end of `stream` until it goes away or the server stops.
    /// `read_ahead` was read already and comes first. The stream is shut down afterwards. Returns
    /// the exit status of a program that was started for this client, or why it was not served.
    pub async fn serve(self, stream: UnixStream, read_ahead: Vec<u8>) -> Result<u8, AttachRefusal> {
        let served = match self.client {
            AdmittedClient::Here(frontend) => {
                let serving = self
                    .server
                    .serve_here(frontend, self.access, stream, read_ahead);
                serving.await
            }
            AdmittedClient::Proxied(client) => client.serve(stream, read_ahead).await,
        };
        drop(self.place);
        served
    }
}

fn refused(message: impl Into<String>) -> AttachRefusal {
    AttachRefusal {
        message: message.into(),
        status: FAILED,
    }
}
