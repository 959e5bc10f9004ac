//! Model servers on this machine, found on the ports they usually have.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use stentor_agent::model::ModelInfo;
use stentor_journal::clock::SharedClock;

use super::Environment;
use super::providers::{ConfiguredCredential, Provider};
use crate::configuration::{CostConfiguration, ModelConfiguration};

/// A kind of server and where it usually listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalServer {
    /// The name its models have.
    pub provider: &'static str,
    /// For people.
    pub name: &'static str,
    pub port: u16,
}

/// The servers that are looked for.
const USUAL_SERVERS: [LocalServer; 4] = [
    LocalServer {
        provider: "ollama",
        name: "Ollama",
        port: 11434,
    },
    LocalServer {
        provider: "lmstudio",
        name: "LM Studio",
        port: 1234,
    },
    LocalServer {
        provider: "llamacpp",
        name: "llama.cpp",
        port: 8080,
    },
    LocalServer {
        provider: "vllm",
        name: "vLLM",
        port: 8000,
    },
];

impl LocalServer {
    /// The servers that are looked for, Ollama where its own variable `OLLAMA_HOST` says if that is
    /// on this machine.
    pub fn usual(environment: &Environment) -> Vec<Self> {
        let mut servers = USUAL_SERVERS.to_vec();
        let moved = environment("OLLAMA_HOST").and_then(|host| loopback_port(&host));
        for server in &mut servers {
            if server.provider == "ollama" {
                server.port = moved.unwrap_or(server.port);
            }
        }
        servers
    }
}

/// The port in `http://localhost:1234`, `127.0.0.1:1234` or `:1234`.
fn loopback_port(host: &str) -> Option<u16> {
    let host = host.trim().trim_end_matches('/');
    let host = host.strip_prefix("http://").unwrap_or(host);
    let (name, port) = host.rsplit_once(':')?;
    let is_here = matches!(name, "" | "localhost" | "127.0.0.1" | "0.0.0.0");
    port.parse().ok().filter(|_| is_here)
}

/// What a model of one's own server is taken to hold when the server does not say: much less than
/// hosted models, since what does not fit is cut without a word.
pub(super) const SMALL_CONTEXT_WINDOW: u64 = 16_384;

/// On loopback a port is open, closed or taken by something slow; only the last costs time.
const PATIENCE: Duration = Duration::from_millis(300);
const LONGEST_ANSWER_BYTES: u64 = 1 << 20;
/// How long it is remembered that nobody was there, or who was.
const MEMORY_MS: u64 = 30_000;

/// Looks for servers when somebody asks, and remembers for a while what was found.
pub(super) struct LocalServers {
    servers: Vec<LocalServer>,
    clock: SharedClock,
    found: Mutex<Option<(u64, Vec<Provider>)>>,
}

#[derive(Deserialize)]
struct ModelList {
    data: Vec<ListedModel>,
}

/// A model as a server lists it.
#[derive(Deserialize)]
pub(super) struct ListedModel {
    pub id: String,
    /// How long a context may be: vLLM says it here.
    max_model_len: Option<u64>,
    /// LM Studio says it here, for a model that is loaded and for one that is not.
    loaded_context_length: Option<u64>,
    max_context_length: Option<u64>,
    #[serde(default)]
    meta: Option<ModelMeta>,
}

#[derive(Deserialize)]
struct ModelMeta {
    /// llama.cpp: what the model was trained for, which its server need not have room for.
    n_ctx_train: Option<u64>,
}

/// What llama.cpp says of itself at `/props`.
#[derive(Deserialize)]
struct Properties {
    default_generation_settings: GenerationSettings,
}

#[derive(Deserialize)]
struct GenerationSettings {
    n_ctx: u64,
}

/// The models that Ollama has loaded, at `/api/ps`.
#[derive(Deserialize)]
struct LoadedModels {
    models: Vec<LoadedModel>,
}

#[derive(Deserialize)]
struct LoadedModel {
    name: String,
    context_length: Option<u64>,
}

impl LocalServers {
    pub(super) fn new(servers: Vec<LocalServer>, clock: SharedClock) -> Self {
        Self {
            servers,
            clock,
            found: Mutex::new(None),
        }
    }

    /// The servers that answer.
    pub(super) fn providers(&self) -> Vec<Provider> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let now_ms = self.clock.now_ms();
        if let Some((at_ms, providers)) = found.as_ref()
            && now_ms.saturating_sub(*at_ms) < MEMORY_MS
        {
            return providers.clone();
        }
        let providers = self.look();
        *found = Some((now_ms, providers.clone()));
        providers
    }

    /// The server of this name, if it is one that is looked for and it answers.
    pub(super) fn named(&self, provider: &str) -> Option<Provider> {
        self.servers
            .iter()
            .find(|server| server.provider == provider)?;
        self.providers()
            .into_iter()
            .find(|found| found.id == provider)
    }

    /// Asks all ports at once, so that one that is slow does not make the others wait.
    fn look(&self) -> Vec<Provider> {
        std::thread::scope(|scope| {
            let asked: Vec<_> = self
                .servers
                .iter()
                .map(|server| scope.spawn(move || ask(server)))
                .collect();
            let answers = asked.into_iter().map(std::thread::ScopedJoinHandle::join);
            answers.filter_map(Result::ok).flatten().collect()
        })
    }
}

fn ask(server: &LocalServer) -> Option<Provider> {
    let place = Place::on_loopback(server.port);
    let listed = get::<ModelList>(&place, "/v1/models")?.data;
    if listed.is_empty() {
        return None;
    }
    let windows = Windows::of(server.provider, &place).unwrap_or_default();
    let base_url = format!("http://127.0.0.1:{}/v1", server.port);
    let api = "openai-completions";
    let to_info = |model: ListedModel| -> Arc<ModelInfo> {
        let entry = ModelConfiguration {
            context_window: Some(windows.window_of(&model).unwrap_or(SMALL_CONTEXT_WINDOW)),
            id: model.id,
            cost: Some(CostConfiguration::default()),
            ..ModelConfiguration::default()
        };
        Arc::new(entry.to_info(server.provider, api, &base_url))
    };
    let models: Vec<_> = listed.into_iter().map(to_info).collect();
    Some(Provider {
        id: server.provider.to_owned(),
        api: api.to_owned(),
        base_url: base_url.clone(),
        headers: Vec::new(),
        ca_file: None,
        credential: ConfiguredCredential::NotNeeded {
            reason: format!("{} runs on port {}", server.name, server.port),
        },
        has_login: false,
        hint: format!("start {}", server.name),
        models,
        warnings: Vec::new(),
    })
}

/// What a server says of the length of its contexts beside the list that all of them have.
pub(super) enum Windows {
    /// One for whatever it serves.
    Same(u64),
    Each(Vec<(String, u64)>),
}

impl Default for Windows {
    fn default() -> Self {
        Self::Each(Vec::new())
    }
}

/// What a server says that somebody has configured: which kind it is shows in what it answers.
/// Nothing is known of one that is spoken to in private.
pub(super) fn windows_at(base_url: &str) -> Windows {
    let Some(place) = Place::of(base_url) else {
        return Windows::default();
    };
    let kinds = ["llamacpp", "ollama", "lmstudio"].into_iter();
    let mut said = kinds.filter_map(|kind| Windows::of(kind, &place));
    said.find(|windows| !windows.is_silent())
        .unwrap_or_default()
}

impl Windows {
    /// What a server of this kind says; `None` when it does not answer as one.
    fn of(kind: &str, place: &Place) -> Option<Self> {
        match kind {
            "llamacpp" => get::<Properties>(place, "/props")
                .map(|properties| Self::Same(properties.default_generation_settings.n_ctx)),
            "ollama" => get::<LoadedModels>(place, "/api/ps").map(|loaded| {
                let windows = loaded.models.into_iter();
                Self::Each(
                    windows
                        .filter_map(|model| Some((model.name, model.context_length?)))
                        .collect(),
                )
            }),
            "lmstudio" => get::<ModelList>(place, "/api/v0/models").map(|list| {
                let windows = list.data.into_iter();
                Self::Each(
                    windows
                        .filter_map(|model| {
                            let window = model.loaded_context_length.or(model.max_context_length);
                            Some((model.id, window?))
                        })
                        .collect(),
                )
            }),
            _ => None,
        }
    }

    fn is_silent(&self) -> bool {
        match self {
            Self::Same(_) => false,
            Self::Each(windows) => windows.is_empty(),
        }
    }

    pub(super) fn window_of(&self, model: &ListedModel) -> Option<u64> {
        let said = match self {
            Self::Same(window) => Some(*window),
            Self::Each(windows) => windows
                .iter()
                .find_map(|(id, window)| (*id == model.id).then_some(*window)),
        };
        said.or(model.max_model_len)
            .or(model.meta.as_ref().and_then(|meta| meta.n_ctx_train))
            .filter(|window| *window > 0)
    }
}

/// Where a server listens that is spoken to in the clear.
struct Place {
    host: String,
    port: u16,
}

impl Place {
    fn on_loopback(port: u16) -> Self {
        Self {
            host: Ipv4Addr::LOCALHOST.to_string(),
            port,
        }
    }

    /// The host and port of `http://host:port/v1`.
    fn of(base_url: &str) -> Option<Self> {
        let rest = base_url.strip_prefix("http://")?;
        let host = rest.split('/').next()?;
        let (host, port) = match host.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().ok()?),
            None => (host, 80),
        };
        // A name and password in it are for the provider's own requests.
        (!host.contains('@') && !host.is_empty()).then(|| Self {
            host: host.to_owned(),
            port,
        })
    }
}

/// What a server answers. Plain HTTP by hand: building a client for a question to a port that is
/// usually closed would cost more than the question.
fn get<T: DeserializeOwned>(place: &Place, path: &str) -> Option<T> {
    let (host, port) = (place.host.as_str(), place.port);
    let address = (host, port).to_socket_addrs().ok()?.next()?;
    let mut socket = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
    socket.set_read_timeout(Some(PATIENCE)).ok()?;
    socket.set_write_timeout(Some(PATIENCE)).ok()?;
    let request = format!(
        "GET {path} HTTP/1.0\r\nhost: {host}:{port}\r\naccept: application/json\r\n\
         connection: close\r\n\r\n"
    );
    socket.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    // A server that keeps the connection open has said everything when it falls silent.
    let _ = socket.take(LONGEST_ANSWER_BYTES).read_to_end(&mut answer);
    let answer = String::from_utf8(answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let is_ok = head.split(' ').nth(1) == Some("200");
    let start = body.find('{')?;
    let end = body.rfind('}')? + 1;
    let answer = serde_json::from_str(body.get(start..end)?).ok()?;
    is_ok.then_some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ollama_is_looked_for_where_its_own_variable_says() {
        for (host, port) in [
            (None, 11434),
            (Some("127.0.0.1:11500"), 11500),
            (Some("http://localhost:11501/"), 11501),
            (Some(":11502"), 11502),
            (Some("far.example:11503"), 11434),
            (Some("localhost"), 11434),
        ] {
            let environment: Environment =
                Arc::new(move |name| host.filter(|_| name == "OLLAMA_HOST").map(str::to_owned));
            assert_eq!(LocalServer::usual(&environment)[0].port, port, "{host:?}");
        }
    }
}
