//! Model servers on this machine, found on the ports they usually have.

use std::sync::{Arc, Mutex, PoisonError};

use stentor_agent::model::ModelInfo;
use stentor_journal::clock::SharedClock;

use super::EnvironmentLookup;
use super::providers::{ConfiguredCredential, Provider};
use super::windows::{ClearTextHost, ModelList, ServerModel, Windows};
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
    pub fn usual(environment: &EnvironmentLookup) -> Vec<Self> {
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

/// How long it is remembered that nobody was there, or who was.
const MEMORY_MS: u64 = 30_000;

/// Looks for servers when somebody asks, and remembers for a while what was found.
pub(super) struct LocalServers {
    servers: Vec<LocalServer>,
    clock: SharedClock,
    found: Mutex<Option<(u64, Vec<Provider>)>>,
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
    let place = ClearTextHost::on_loopback(server.port);
    let mut listed = place.get::<ModelList>("/v1/models")?.data;
    listed.retain(ServerModel::is_nameable);
    if listed.is_empty() {
        return None;
    }
    let windows = Windows::of(server.provider, &place, &listed).unwrap_or_default();
    let base_url = format!("http://127.0.0.1:{}/v1", server.port);
    let api = "openai-completions";
    let to_info = |model: ServerModel| -> Arc<ModelInfo> {
        let entry = ModelConfiguration {
            context_window: Some(windows.window_of(&model)),
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
        server_tools: Arc::new([]),
        credential: ConfiguredCredential::NotNeeded {
            reason: format!("{} runs on port {}", server.name, server.port),
        },
        has_login: false,
        hint: format!("start {}", server.name),
        models,
        unknown_windows: Vec::new(),
        warnings: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    /// Answers the first question with this list.
    fn listing(list: &'static str) -> LocalServer {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let _ = socket.read(&mut [0; 1024]);
            let _ = socket.write_all(format!("HTTP/1.1 200 OK\r\n\r\n{list}").as_bytes());
        });
        LocalServer {
            provider: "vllm",
            name: "vLLM",
            port,
        }
    }

    #[test]
    fn models_that_nobody_could_name_are_left_out() {
        let found = ask(&listing(
            r#"{"data":[{"id":"a\nb\u001b[31m"},{"id":""},{"id":7},{"id":"a b"},{"id":"mine"}]}"#,
        ));
        let models = found.unwrap().models;
        let ids: Vec<&str> = models.iter().map(|info| info.id.as_str()).collect();
        assert_eq!(ids, ["mine"]);
        assert!(ask(&listing(r#"{"data":[{"id":"a b"}]}"#)).is_none());
    }

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
            let environment: EnvironmentLookup =
                Arc::new(move |name| host.filter(|_| name == "OLLAMA_HOST").map(str::to_owned));
            assert_eq!(LocalServer::usual(&environment)[0].port, port, "{host:?}");
        }
    }
}
