//! How long the contexts of one's own server may be, as the server says it.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use stentor_text::visible::visible;

use crate::configuration::SMALL_CONTEXT_WINDOW;

/// On loopback a port is open, closed or taken by something slow; only the last costs time. One question
/// takes no longer than this, however slowly its answer arrives.
const LIMIT_OF_ONE: Duration = match cfg!(test) {
    false => Duration::from_millis(500),
    // A server of a test answers, on a busy machine perhaps late.
    true => LIMIT_OF_ALL,
};
/// All questions to a server together take no longer.
pub(super) const LIMIT_OF_ALL: Duration = Duration::from_secs(if cfg!(test) { 60 } else { 2 });
const LONGEST_ANSWER_BYTES: usize = 1 << 20;
/// Of so many models that Ollama has not loaded it is asked what it knows of them.
const MOST_ASKED_FOR: usize = 32;

/// What Ollama gives a model that asks for nothing where there is little memory for it (less than 24 GiB
/// on the graphics card). It gives more where there is more, which shows as soon as the model is loaded.
const LEAST_OF_OLLAMA: u64 = 4096;

/// No id is longer.
const LONGEST_ID_BYTES: usize = 512;
/// No model holds more tokens. What a server says beyond it is taken for this.
const MOST_TOKENS: u64 = 1 << 30;

/// The list of models that all kinds of servers have.
#[derive(Deserialize)]
pub(super) struct ModelList {
    #[serde(deserialize_with = "readable")]
    pub data: Vec<ServerModel>,
}

/// The entries of a list that can be read: what is wrong about one costs no other.
pub(super) fn readable<'de, D, T>(list: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let entries = Vec::<Value>::deserialize(list)?.into_iter();
    let read = entries.filter_map(|entry| serde_json::from_value(entry).ok());
    Ok(read.collect())
}

/// The value, or nothing where it has another type: a model can be used without knowing what it holds.
fn lenient<'de, D, T>(value: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let value = Value::deserialize(value)?;
    Ok(serde_json::from_value(value).ok())
}

/// A model as a server lists it.
#[derive(Default, Deserialize)]
pub(super) struct ServerModel {
    pub id: String,
    /// vLLM says here how long a context may be, gateways and Anthropic in one of the next three.
    #[serde(default, deserialize_with = "lenient")]
    max_model_len: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    context_length: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    context_window: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    max_input_tokens: Option<u64>,
    /// LM Studio, of a model that is loaded and of one that is not.
    #[serde(default, deserialize_with = "lenient")]
    loaded_context_length: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    max_context_length: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    meta: Option<ModelMeta>,
}

/// llama.cpp, beside a model in the list.
#[derive(Deserialize)]
struct ModelMeta {
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
    #[serde(deserialize_with = "readable")]
    models: Vec<LoadedModel>,
}

#[derive(Deserialize)]
struct LoadedModel {
    name: String,
    context_length: Option<u64>,
}

/// What Ollama knows of a model that is not loaded, at `/api/show`.
#[derive(Deserialize)]
struct ShownModel {
    /// Lines of a name and a value, such as `num_ctx 8192`.
    #[serde(default)]
    parameters: String,
    #[serde(default)]
    model_info: Map<String, Value>,
    /// Where it runs, if not on this machine: there it has all that it was trained for.
    remote_host: Option<String>,
}

/// What is known of the length of a model's contexts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct KnownWindow {
    /// What the server has room for.
    allocated: Option<u64>,
    /// What the model was trained for. Its server often has room for much less, and cuts off what
    /// does not fit without a word.
    trained: Option<u64>,
}

impl KnownWindow {
    /// What fits, where a server that does not say has room for `unsaid`.
    fn tokens(self, unsaid: u64) -> u64 {
        let known = |tokens: &u64| *tokens > 0;
        let trained = || self.trained.filter(known);
        let allocated = self.allocated.filter(known);
        let tokens = allocated.unwrap_or_else(|| trained().map_or(unsaid, |most| most.min(unsaid)));
        tokens.min(MOST_TOKENS)
    }

    fn or(self, other: Self) -> Self {
        Self {
            allocated: self.allocated.or(other.allocated),
            trained: self.trained.or(other.trained),
        }
    }
}

impl ServerModel {
    /// A model that may hold so much.
    pub(super) fn holding(id: String, context_window: Option<u64>) -> Self {
        Self {
            id,
            context_window,
            ..Self::default()
        }
    }

    /// True when its id can be named: one word that can be seen. Anything else would break up lists of
    /// models and what a shell completes.
    pub(super) fn is_nameable(&self) -> bool {
        let is_seen = visible(&self.id) == self.id;
        let is_word = !self.id.is_empty() && !self.id.contains(char::is_whitespace);
        is_seen && is_word && self.id.len() <= LONGEST_ID_BYTES
    }

    fn window(&self) -> KnownWindow {
        let lengths = [
            self.loaded_context_length,
            self.max_model_len,
            self.context_length,
            self.context_window,
            self.max_input_tokens,
        ];
        let meta = self.meta.as_ref();
        KnownWindow {
            allocated: lengths.into_iter().flatten().next(),
            trained: self
                .max_context_length
                .or(meta.and_then(|meta| meta.n_ctx_train)),
        }
    }
}

impl ShownModel {
    fn window(&self) -> KnownWindow {
        let mut lines = self.parameters.lines().filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.next()?))
        });
        let set = lines.find(|(name, _)| *name == "num_ctx");
        let mut facts = self.model_info.iter();
        let trained = facts.find(|(name, _)| name.ends_with(".context_length"));
        let trained = trained.and_then(|(_, value)| value.as_u64());
        let set = set.and_then(|(_, value)| value.parse().ok());
        let elsewhere = trained.filter(|_| self.remote_host.is_some());
        KnownWindow {
            allocated: set.or(elsewhere),
            trained,
        }
    }
}

/// What a server says of the length of its contexts besides the list that all of them have.
#[derive(Default)]
pub(super) struct Windows {
    /// One for whatever it serves.
    same: Option<u64>,
    each: HashMap<String, KnownWindow>,
    /// What is assumed where it says nothing.
    unsaid: Option<u64>,
}

impl Windows {
    /// What a server of this kind says; `None` when it does not answer as one.
    pub(super) fn of(kind: &str, place: &ClearTextHost, listed: &[ServerModel]) -> Option<Self> {
        match kind {
            "llamacpp" => place.get::<Properties>("/props").map(|properties| Self {
                same: Some(properties.default_generation_settings.n_ctx),
                ..Self::default()
            }),
            "ollama" => of_ollama(place, listed),
            "lmstudio" => place.get::<ModelList>("/api/v0/models").map(|list| {
                let models = list.data.into_iter();
                Self {
                    each: models
                        .map(|model| (model.id.clone(), model.window()))
                        .collect(),
                    ..Self::default()
                }
            }),
            _ => None,
        }
    }

    /// What a server says that somebody has configured: which kind it is shows in what it answers.
    /// Nothing is known of one that is spoken to in private.
    pub(super) fn at(base_url: &str, listed: &[ServerModel]) -> Self {
        let Some(place) = ClearTextHost::of(base_url) else {
            return Self::default();
        };
        let mut kinds = ["llamacpp", "ollama", "lmstudio"].into_iter();
        let said = kinds.find_map(|kind| Self::of(kind, &place, listed));
        said.unwrap_or_default()
    }

    /// How long a context of this model may be. What no server says is assumed to be small.
    pub(super) fn window_of(&self, model: &ServerModel) -> u64 {
        let unsaid = self.unsaid.unwrap_or(SMALL_CONTEXT_WINDOW);
        self.said_of(model).tokens(unsaid)
    }

    /// True when the server says how long a context of this model may be.
    pub(super) fn knows(&self, model: &ServerModel) -> bool {
        let allocated = self.said_of(model).allocated;
        allocated.is_some_and(|tokens| tokens > 0)
    }

    fn said_of(&self, model: &ServerModel) -> KnownWindow {
        let of_all = KnownWindow {
            allocated: self.same,
            trained: None,
        };
        let own = self.each.get(&model.id).copied().unwrap_or_default();
        of_all.or(own).or(model.window())
    }
}

fn of_ollama(place: &ClearTextHost, listed: &[ServerModel]) -> Option<Windows> {
    let loaded = place.get::<LoadedModels>("/api/ps")?.models;
    let loaded = loaded.into_iter().filter_map(|model| {
        let allocated = Some(model.context_length?);
        let trained = None;
        Some((model.name, KnownWindow { allocated, trained }))
    });
    let mut each: HashMap<String, KnownWindow> = loaded.collect();
    let unloaded = listed.iter().filter(|model| !each.contains_key(&model.id));
    let unloaded = unloaded.take(MOST_ASKED_FOR);
    // One question without an answer is enough: the others would only take time.
    let shown: Vec<(String, KnownWindow)> = unloaded
        .map_while(|model| {
            let shown: ShownModel = place.post("/api/show", &json!({ "model": model.id }))?;
            Some((model.id.clone(), shown.window()))
        })
        .collect();
    each.extend(shown);
    Some(Windows {
        same: None,
        each,
        unsaid: Some(LEAST_OF_OLLAMA),
    })
}

/// Where a server listens that is spoken to in the clear, and until when.
pub(super) struct ClearTextHost {
    host: String,
    port: u16,
    until: Instant,
}

impl ClearTextHost {
    pub(super) fn on_loopback(port: u16) -> Self {
        Self {
            host: Ipv4Addr::LOCALHOST.to_string(),
            port,
            until: Instant::now() + LIMIT_OF_ALL,
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
            until: Instant::now() + LIMIT_OF_ALL,
        })
    }

    pub(super) fn get<T: DeserializeOwned>(&self, path: &str) -> Option<T> {
        self.ask("GET", path, "")
    }

    fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Option<T> {
        self.ask("POST", path, &body.to_string())
    }

    /// What the server answers. Plain HTTP by hand: building a client for a question to a port that
    /// is usually closed would cost more than the question.
    fn ask<T: DeserializeOwned>(&self, method: &str, path: &str, body: &str) -> Option<T> {
        let (host, port) = (self.host.as_str(), self.port);
        let until = self.until.min(Instant::now() + LIMIT_OF_ONE);
        let address = (host, port).to_socket_addrs().ok()?.next()?;
        let mut socket = TcpStream::connect_timeout(&address, left(until)?).ok()?;
        socket.set_write_timeout(Some(left(until)?)).ok()?;
        let content = match body.len() {
            0 => String::new(),
            bytes => format!("content-type: application/json\r\ncontent-length: {bytes}\r\n"),
        };
        let request = format!(
            "{method} {path} HTTP/1.0\r\nhost: {host}:{port}\r\naccept: application/json\r\n\
             {content}connection: close\r\n\r\n{body}"
        );
        socket.write_all(request.as_bytes()).ok()?;
        let answer = String::from_utf8(read_until(socket, until)).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let is_ok = head.split(' ').nth(1) == Some("200");
        let start = body.find('{')?;
        let end = body.rfind('}')? + 1;
        let answer = serde_json::from_str(body.get(start..end)?).ok()?;
        is_ok.then_some(answer)
    }
}

/// The time that is left, if any is.
fn left(until: Instant) -> Option<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    (!left.is_zero()).then_some(left)
}

/// What arrives until then. The limit is for the whole answer: each byte of one that drips would
/// otherwise buy the next one time.
fn read_until(mut socket: TcpStream, until: Instant) -> Vec<u8> {
    let mut answer = Vec::new();
    let mut piece = [0; 8192];
    // A server that keeps the connection open has said everything when the time is up.
    while answer.len() < LONGEST_ANSWER_BYTES
        && !is_whole(&answer)
        && let Some(left) = left(until)
        && socket.set_read_timeout(Some(left)).is_ok()
        && let Ok(count @ 1..) = socket.read(&mut piece)
    {
        answer.extend_from_slice(piece.get(..count).unwrap_or_default());
    }
    answer
}

/// True when as much has arrived as the answer says it is long.
fn is_whole(answer: &[u8]) -> bool {
    let mut places = answer.windows(4);
    let Some(end) = places.position(|four| four == b"\r\n\r\n") else {
        return false;
    };
    let head = answer.get(..end).unwrap_or_default();
    let head = String::from_utf8_lossy(head);
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let length = lines.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = length.and_then(|(_, length)| length.trim().parse::<usize>().ok());
    length.is_some_and(|length| answer.len().saturating_sub(end + 4) >= length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_was_trained_for_is_only_an_upper_limit() {
        for (allocated, trained, tokens) in [
            (None, None, SMALL_CONTEXT_WINDOW),
            (None, Some(131_072), SMALL_CONTEXT_WINDOW),
            (None, Some(2048), 2048),
            (Some(32_768), Some(131_072), 32_768),
            (Some(0), Some(0), SMALL_CONTEXT_WINDOW),
            (Some(u64::MAX), None, MOST_TOKENS),
        ] {
            let window = KnownWindow { allocated, trained };
            let found = window.tokens(SMALL_CONTEXT_WINDOW);
            assert_eq!(found, tokens, "{window:?}");
        }
    }

    #[test]
    fn ollama_shows_what_a_model_is_given_and_what_it_was_trained_for() {
        let shown: ShownModel = serde_json::from_value(json!({
            "parameters": "stop    \"<|end|>\"\nnum_ctx    8192",
            "model_info": {"general.architecture": "llama", "llama.context_length": 131_072},
        }))
        .unwrap();
        let window = KnownWindow {
            allocated: Some(8192),
            trained: Some(131_072),
        };
        assert_eq!(shown.window(), window);
    }

    #[test]
    fn an_answer_is_whole_when_as_much_is_there_as_it_says() {
        for (answer, whole) in [
            ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", true),
            ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{", false),
            ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n", false),
            ("HTTP/1.0 200 OK\r\n\r\n{}", false),
            ("", false),
        ] {
            assert_eq!(is_whole(answer.as_bytes()), whole, "{answer:?}");
        }
    }

    #[test]
    fn an_answer_that_drips_is_given_up() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        // It goes on until nobody listens any more.
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let _ = socket.write_all(b"HTTP/1.0 200 OK\r\n\r\n");
            while socket.write_all(b" ").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let place = ClearTextHost {
            until: Instant::now() + Duration::from_millis(200),
            ..ClearTextHost::on_loopback(port)
        };
        assert_eq!(place.get::<Value>("/v1/models"), None);
        // A server that was not even reached in time waits for somebody else to hang up.
        drop(TcpStream::connect(("127.0.0.1", port)));
        server.join().unwrap();
    }
}
