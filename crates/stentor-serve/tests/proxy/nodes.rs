//! Two servers that know each other, and clients of either.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;
use stentor_agent::agent::{Agent, SessionDefaults};
use stentor_agent::box_error::BoxError;
use stentor_agent::model::{Model, ModelError, ModelErrorKind, ModelInfo, ModelRegistry, NamedBy};
use stentor_agent::session::{Environment, SessionOptions};
use stentor_journal::clock::SystemClock;
use stentor_journal::session_files::SessionFiles;
use stentor_model::script::{ScriptFormat, ScriptModel};
use stentor_policy::{PermissionMode, Policy};
use stentor_serve::acp::AcpOptions;
use stentor_serve::connection::Access;
use stentor_serve::frontend::{Frontend, FrontendSetup};
use stentor_serve::login::{ForgottenCredentials, Login, LoginBegun, LoginFuture, ProviderLogin};
use stentor_serve::omp::{OmpArgs, OmpOptions};
use stentor_serve::page::PageOptions;
use stentor_serve::proxy::{
    LiveActivity, LocatedSession, OpenAt, Owner, Peers, Upstream, UpstreamEnd, session_flags,
};
use stentor_serve::psi::PsiOptions;
use stentor_serve::server::{Server, ServerOptions};
use stentor_serve::synaps::SynapsOptions;
use stentor_wire::attach::{AttachRefusal, ClientHello};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::task::{AbortHandle, JoinHandle};

/// Servers with the same folder of sessions, by name.
pub struct Nodes {
    dir: tempfile::TempDir,
    all: Arc<Mutex<HashMap<String, Server>>>,
    tunnels: Arc<Mutex<Vec<(String, AbortHandle)>>>,
    /// In which sessions something goes on, as far as the nodes have heard of each other.
    running: Arc<Mutex<HashSet<String>>>,
    /// Nothing of a client reaches another node.
    held: Arc<AtomicBool>,
}

impl Nodes {
    /// Those of these names, whose models play `scenario`.
    pub fn new(names: &[&str], scenario: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("work")).unwrap();
        let nodes = Self {
            dir,
            all: Arc::default(),
            tunnels: Arc::default(),
            running: Arc::default(),
            held: Arc::default(),
        };
        for name in names {
            let setup = Setup {
                root: nodes.root(),
                scenario: scenario.to_owned(),
            };
            let options = ServerOptions::new(*name, "no helper");
            let server = Server::new(Arc::new(setup), options);
            server.set_peers(Arc::new(Others {
                own: (*name).to_owned(),
                all: Arc::clone(&nodes.all),
                tunnels: Arc::clone(&nodes.tunnels),
                running: Arc::clone(&nodes.running),
                held: Arc::clone(&nodes.held),
            }));
            nodes.all.lock().unwrap().insert((*name).to_owned(), server);
        }
        nodes
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    /// The file of a session.
    pub fn file_of(&self, session: &str) -> String {
        let files = SessionFiles::Flat(self.root().join("sessions"));
        files.find(session).unwrap().display().to_string()
    }

    /// A client of a node, in a dialect and with flags.
    pub async fn client(&self, node: &str, dialect: &str, flags: &[&str]) -> Client {
        let server = self.all.lock().unwrap().get(node).unwrap().clone();
        let hello = ClientHello {
            dialect: dialect.to_owned(),
            args: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            cwd: self.work().display().to_string(),
            ..ClientHello::default()
        };
        let admitted = server.admit(hello, Access::Drive).await;
        let admitted = admitted.unwrap_or_else(|why| panic!("{}", why.message));
        let (ours, theirs) = UnixStream::pair().unwrap();
        let theirs = theirs.into_std().unwrap();
        let served = tokio::spawn(admitted.serve(theirs, Vec::new()));
        let (read, write) = ours.into_split();
        Client {
            lines: BufReader::new(read).lines(),
            write,
            served,
        }
    }

    /// Which sessions are live on a node.
    pub fn live_on(&self, node: &str) -> Vec<String> {
        let server = self.all.lock().unwrap().get(node).unwrap().clone();
        let sessions = server.status().sessions.into_iter();
        sessions.map(|session| session.id).collect()
    }

    /// A node is gone, without a word to who was connected to it through others.
    pub async fn kill(&self, node: &str) {
        let server = self.all.lock().unwrap().remove(node).unwrap();
        self.cut(node);
        server.wind_down().await;
    }

    /// The nodes hear that something goes on in a session, or no longer.
    pub fn set_running(&self, session: &str, runs: bool) {
        let mut running = self.running.lock().unwrap();
        match runs {
            true => running.insert(session.to_owned()),
            false => running.remove(session),
        };
    }

    /// Whether what clients write waits on its way to another node.
    pub fn hold(&self, is_held: bool) {
        self.held.store(is_held, Ordering::Release);
    }

    /// The connections to a node through others break.
    pub fn cut(&self, node: &str) {
        let tunnels = std::mem::take(&mut *self.tunnels.lock().unwrap());
        let (lost, others) = tunnels.into_iter().partition(|(name, _)| name == node);
        *self.tunnels.lock().unwrap() = others;
        let lost: Vec<(String, AbortHandle)> = lost;
        for (_, tunnel) in lost {
            tunnel.abort();
        }
    }

    /// A node is stopped in an orderly way.
    pub async fn stop(&self, node: &str) {
        let server = self.all.lock().unwrap().remove(node).unwrap();
        server.wind_down().await;
    }
}

/// The nodes that one of them sees.
struct Others {
    own: String,
    all: Arc<Mutex<HashMap<String, Server>>>,
    tunnels: Arc<Mutex<Vec<(String, AbortHandle)>>>,
    running: Arc<Mutex<HashSet<String>>>,
    held: Arc<AtomicBool>,
}

impl Peers for Others {
    fn locate<'a>(&'a self, named: &'a str) -> BoxFuture<'a, Option<LocatedSession>> {
        let all = self.all.lock().unwrap();
        let found = all.iter().find_map(|(name, server)| {
            let mut sessions = server.status().sessions.into_iter();
            let is_it = |id: &str, file: &Path| id == named || file == Path::new(named);
            let session = sessions.find(|session| is_it(&session.id, &session.file))?;
            let owner = match *name == self.own {
                true => Owner::Here,
                false => Owner::Node(name.clone()),
            };
            let session = session.id;
            Some(LocatedSession { session, owner })
        });
        Box::pin(std::future::ready(found))
    }

    fn open<'a>(
        &'a self,
        node: &'a str,
        client: ClientHello,
    ) -> BoxFuture<'a, Result<Upstream, AttachRefusal>> {
        let server = self.all.lock().unwrap().get(node).cloned();
        Box::pin(async move {
            let gone = || AttachRefusal {
                message: format!("the node {node} is gone"),
                status: 1,
            };
            let there = server.ok_or_else(gone)?.upstream(client).await?;
            let (upstream, end) = Upstream::pair(Arc::clone(&there.capacity));
            let tunnel = tokio::spawn(carry(there, end, Arc::clone(&self.held)));
            let mut tunnels = self.tunnels.lock().unwrap();
            tunnels.push((node.to_owned(), tunnel.abort_handle()));
            Ok(upstream)
        })
    }

    fn open_at(&self, session: &str) -> Option<OpenAt> {
        let all = self.all.lock().unwrap();
        let has = |server: &Server| server.status().sessions.iter().any(|one| one.id == session);
        let (node, _) = all.iter().find(|(_, server)| has(server))?;
        let activity = match self.running.lock().unwrap().contains(session) {
            true => LiveActivity::Running,
            false => LiveActivity::Idle,
        };
        Some(OpenAt {
            node: node.clone(),
            activity: Some(activity),
        })
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(10)))
    }
}

async fn carry(mut there: Upstream, mut end: UpstreamEnd, held: Arc<AtomicBool>) {
    let going = async {
        while let Some(bytes) = end.input.recv().await {
            while held.load(Ordering::Acquire) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            if there.input.send(bytes).await.is_err() {
                break;
            }
        }
        drop(there.input);
    };
    let coming = async {
        while let Some(from) = there.output.recv().await {
            if end.output.send(from).await.is_err() {
                break;
            }
        }
    };
    tokio::join!(going, coming);
}

/// One client.
pub struct Client {
    lines: Lines<BufReader<OwnedReadHalf>>,
    write: OwnedWriteHalf,
    served: JoinHandle<Result<u8, AttachRefusal>>,
}

impl Client {
    pub async fn send(&mut self, line: &str) {
        self.write.write_all(line.as_bytes()).await.unwrap();
        self.write.write_all(b"\n").await.unwrap();
    }

    pub async fn line(&mut self) -> String {
        let line = tokio::time::timeout(Duration::from_secs(60), self.lines.next_line());
        let line = line.await.expect("the client is left in silence");
        line.unwrap().expect("the connection has ended")
    }

    pub async fn json(&mut self) -> Value {
        serde_json::from_str(&self.line().await).unwrap()
    }

    /// All lines up to and with the first one that contains `text`.
    pub async fn until(&mut self, text: &str) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            lines.push(self.line().await);
            if lines.last().unwrap().contains(text) {
                return lines;
            }
        }
    }

    /// Sends a line, and all lines up to and with the first one that contains `text`.
    pub async fn ask(&mut self, line: &str, text: &str) -> Vec<String> {
        self.send(line).await;
        self.until(text).await
    }

    /// Sends lines and reads meanwhile, up to and with the first line that contains `text`.
    pub async fn ask_all(&mut self, lines: &[u8], text: &str) -> Vec<String> {
        let mut answers = Vec::new();
        let reading = async {
            while let Some(line) = self.lines.next_line().await.unwrap() {
                answers.push(line);
                if answers.last().unwrap().contains(text) {
                    return;
                }
            }
        };
        let both = async { tokio::join!(self.write.write_all(lines), reading) };
        let both = tokio::time::timeout(Duration::from_secs(60), both).await;
        both.expect("the client is left in silence").0.unwrap();
        answers
    }

    /// Closes its end. The exit status, and the lines that came until then.
    pub async fn end(mut self) -> (u8, Vec<String>) {
        self.write.shutdown().await.unwrap();
        let mut lines = Vec::new();
        while let Some(line) = self.lines.next_line().await.unwrap() {
            lines.push(line);
        }
        (self.served.await.unwrap().unwrap(), lines)
    }
}

struct Setup {
    root: PathBuf,
    scenario: String,
}

impl FrontendSetup for Setup {
    fn frontend(&self, client: &ClientHello) -> Result<Frontend, AttachRefusal> {
        let agent = self.agent();
        let cwd = PathBuf::from(&client.cwd);
        let refused = |message: String| AttachRefusal { message, status: 1 };
        Ok(match client.dialect.as_str() {
            "acp" => Frontend::Acp(agent, AcpOptions::default()),
            "page" => Frontend::Page(agent, PageOptions { cwd, fleet: None }),
            "omp" => {
                let words: Vec<OsString> = client.args.iter().map(Into::into).collect();
                let args = OmpArgs::parse(&words).map_err(|why| refused(why.to_string()))?;
                let options = OmpOptions {
                    cwd,
                    home: None,
                    resume: args.resume,
                    model_asked_for: false,
                    models: Vec::new(),
                    name: None,
                    wants_dialogs: true,
                    login: Arc::new(NoLogin),
                };
                Frontend::Omp(agent, options)
            }
            "psi" => {
                let mut options = PsiOptions::new(cwd);
                options.delta_interval = Duration::ZERO;
                let named = session_flags::named(&client.args, &["--resume"]);
                let found = named.map(|named| agent.find(&named)).transpose();
                options.resume = found.map_err(|why| refused(why.to_string()))?;
                Frontend::Psi(agent, options)
            }
            "synaps" => {
                let options = SynapsOptions {
                    cwd,
                    resume: session_flags::named(&client.args, &["--continue"]),
                    ..SynapsOptions::default()
                };
                Frontend::Synaps(agent, options)
            }
            other => return Err(refused(format!("no {other}"))),
        })
    }
}

impl Setup {
    fn agent(&self) -> Agent {
        let model = ScriptModel::parse(&self.scenario, ScriptFormat::Toml, "script").unwrap();
        let environment = Environment {
            models: Arc::new(One(model)),
            shell: stentor_tools::local_shell(),
            clock: Arc::new(SystemClock),
            journals: Arc::new(stentor_journal::store::SessionFileStore),
            spill_dir: self.root.join("spill").into(),
        };
        let files = SessionFiles::Flat(self.root.join("sessions"));
        let defaults = Defaults {
            model: environment.models.available().first().cloned(),
        };
        Agent::new(environment, Arc::new(defaults), files)
    }
}

struct Defaults {
    model: Option<Arc<ModelInfo>>,
}

impl SessionDefaults for Defaults {
    fn for_folder(&self, cwd: &Path) -> Result<SessionOptions, BoxError> {
        let mut options = SessionOptions::in_memory(cwd, stentor_tools::builtin_tools());
        options.model.clone_from(&self.model);
        options.policy = Policy::new(PermissionMode::Ask, Vec::new());
        options.auto_compaction = false;
        Ok(options)
    }
}

struct One(Arc<ScriptModel>);

impl ModelRegistry for One {
    fn available(&self) -> Vec<Arc<ModelInfo>> {
        vec![Arc::clone(self.0.info())]
    }

    fn find(&self, provider: &str, id: &str, _: NamedBy) -> Option<Arc<ModelInfo>> {
        let mut models = self.available().into_iter();
        models.find(|info| info.provider == provider && info.id == id)
    }

    fn open(&self, info: &Arc<ModelInfo>) -> Result<Arc<dyn Model>, ModelError> {
        match self.0.info().id == info.id {
            true => Ok(Arc::clone(&self.0) as Arc<dyn Model>),
            false => Err(ModelError::new(
                ModelErrorKind::UnknownModel,
                "no such model",
            )),
        }
    }
}

struct NoLogin;

impl Login for NoLogin {
    fn providers(&self) -> Vec<ProviderLogin> {
        Vec::new()
    }

    fn begin<'a>(&'a self, _: &'a str) -> LoginFuture<'a, LoginBegun> {
        Box::pin(async { Err("no login".into()) })
    }

    fn complete<'a>(&'a self, _: &'a str, _: Option<String>) -> LoginFuture<'a, ()> {
        Box::pin(async { Err("no login".into()) })
    }

    fn cancel(&self, _: &str) {}

    fn forget_all(&self) -> LoginFuture<'_, ForgottenCredentials> {
        Box::pin(async { Ok(ForgottenCredentials::default()) })
    }
}
