use std::io::{Read as _, Write as _};

use expect_test::expect;
use stentor_agent::event::QueueMode;
use stentor_agent::fallback::{FallbackChain, FallbackChains};
use stentor_agent::model::{ModelStream, NamedBy};
use stentor_journal::clock::CountingClock;

use super::*;

struct Guide(Arc<ModelInfo>);

impl PluggedProvider for Guide {
    fn models(&self) -> Vec<Arc<ModelInfo>> {
        vec![Arc::clone(&self.0)]
    }

    fn open(&self, info: &Arc<ModelInfo>) -> Result<Arc<dyn Model>, ModelError> {
        struct Silent(Arc<ModelInfo>);
        impl Model for Silent {
            fn info(&self) -> &Arc<ModelInfo> {
                &self.0
            }
            fn stream(&self, _: stentor_agent::model::ModelRequest) -> ModelStream {
                Box::pin(futures_util::stream::empty())
            }
        }
        Ok(Arc::new(Silent(Arc::clone(info))))
    }

    fn default_reason(&self) -> Option<String> {
        Some("nothing else can be used".into())
    }
}

struct Setup {
    folder: tempfile::TempDir,
    environment: Vec<(&'static str, &'static str)>,
    configuration: &'static str,
    models: &'static str,
    local_servers: Vec<LocalServer>,
}

impl Setup {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            environment: Vec::new(),
            configuration: "",
            models: "",
            local_servers: Vec::new(),
        }
    }

    fn registry(&self) -> Registry {
        let variables: HashMap<String, String> = self
            .environment
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let environment: EnvironmentLookup = Arc::new(move |name| variables.get(name).cloned());
        let guide = crate::configuration::ModelConfiguration {
            id: "guide".into(),
            ..Default::default()
        };
        let clock = Arc::new(CountingClock::starting_at(1000));
        let home = self.folder.path();
        Registry::new(RegistrySources {
            providers: toml::from_str(self.configuration).unwrap(),
            models: toml::from_str(self.models).unwrap(),
            local_servers: self.local_servers.clone(),
            plugged: vec![Arc::new(Guide(Arc::new(
                guide.to_info("offline", "offline", ""),
            )))],
            ..RegistrySources::usual(environment, Some(home), home, clock)
        })
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn default_of(registry: &Registry) -> (String, String) {
    let default = registry.default_model().unwrap();
    (default.info.full_name(), default.reason)
}

#[test]
fn without_anything_the_program_s_own_model_is_the_default_and_no_client_is_built() {
    let registry = Setup::new().registry();
    assert_eq!(
        default_of(&registry),
        ("offline/guide".into(), "nothing else can be used".into())
    );
    assert_eq!(registry.available().len(), 1);
    assert!(!registry.has_used_http());
    let opus = registry
        .find("anthropic", "claude-opus-5-5", NamedBy::User)
        .unwrap();
    let error = registry.open(&opus).err().unwrap();
    assert_eq!(error.kind, ModelErrorKind::Auth);
    assert_eq!(
        error.message,
        "anthropic/claude-opus-5-5: no credentials: set ANTHROPIC_API_KEY, or run `stentor login anthropic`"
    );
}

#[test]
fn the_best_model_of_the_first_provider_with_a_key_is_the_default() {
    for (variable, model) in [
        ("ANTHROPIC_API_KEY", "anthropic/claude-opus-5-5"),
        ("ANTHROPIC_AUTH_TOKEN", "anthropic/claude-opus-5-5"),
        ("OPENAI_API_KEY", "openai/gpt-6.1-sol"),
        ("GEMINI_API_KEY", "google/gemini-3.1-pro-preview"),
        ("GROQ_API_KEY", "groq/openai/gpt-oss-120b"),
    ] {
        let mut setup = Setup::new();
        setup.environment = vec![(variable, "k-123456"), ("MISTRAL_API_KEY", "")];
        let registry = setup.registry();
        assert_eq!(
            default_of(&registry),
            (model.into(), format!("{variable} is set"))
        );
        let info = registry.default_model().unwrap().info;
        assert!(registry.open(&info).is_ok());
    }
}

#[test]
fn a_variable_moves_a_provider_and_the_configuration_moves_it_again() {
    let mut setup = Setup::new();
    setup.environment = vec![("ANTHROPIC_BASE_URL", "http://127.0.0.1:9/")];
    let url = |setup: &Setup| {
        let info = setup
            .registry()
            .find("anthropic", "claude-opus-5-5", NamedBy::User)
            .unwrap();
        info.base_url.clone()
    };
    assert_eq!(url(&setup), "http://127.0.0.1:9");
    setup.configuration = "[anthropic]\nbase_url = \"http://127.0.0.1:8\"";
    assert_eq!(url(&setup), "http://127.0.0.1:8");
}

#[test]
fn configured_providers_come_first_and_their_models_replace_the_catalogue_s() {
    let mut setup = Setup::new();
    setup.environment = vec![("ANTHROPIC_API_KEY", "k-123456"), ("ACME_KEY", "a-123456")];
    setup.configuration = r#"
        [acme]
        base_url = "http://127.0.0.1:9/v1"
        api = "openai-completions"
        api_key_env = "ACME_KEY"
        models = [{ id = "m1" }]
        [closed]
        base_url = "http://127.0.0.1:9/v1"
        api_key_env = "NOT_SET"
        models = [{ id = "m2" }]
        [anthropic]
        models = [{ id = "claude-opus-5-5", context_window = 5 }]
    "#;
    let registry = setup.registry();
    assert_eq!(
        default_of(&registry),
        ("acme/m1".into(), "ACME_KEY is set".into())
    );
    let opus = registry
        .find("anthropic", "claude-opus-5-5", NamedBy::User)
        .unwrap();
    assert_eq!(opus.context_window, 5);
    let unusable: Vec<_> = registry
        .list()
        .into_iter()
        .filter(|m| m.usable.is_none())
        .collect();
    assert!(
        unusable
            .iter()
            .any(|m| m.info.full_name() == "closed/m2" && m.hint == "set NOT_SET")
    );
}

#[test]
fn models_and_settings_of_other_programs_are_known_without_copying() {
    let mut setup = Setup::new();
    setup.environment = vec![("MY_KEY", "k-123456")];
    setup.write(
        ".pi/agent/models.json",
        r#"{"providers":{"mine":{"baseUrl":"http://127.0.0.1:9/v1","api":"openai-completions","apiKey":"MY_KEY","compat":{"x":1},
            "models":[{"id":"a","reasoning":true,"input":["text","image"],"contextWindow":1000,"maxTokens":10,"cost":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0}}]}}}"#,
    );
    setup.write(
        ".omp/agent/models.yml",
        "providers:\n  yours:\n    baseUrl: http://127.0.0.1:9\n    api: anthropic-messages\n    apiKey: literal\n    models:\n      - id: b\n        contextWindow: 2000\n      - {id: c, input: [text]}\n",
    );
    setup.write(
        ".pi/agent/settings.json",
        r#"{"defaultProvider":"yours","defaultModel":"b","defaultThinkingLevel":"high","steeringMode":"all","followUpMode":"some","compaction":{"enabled":false}}"#,
    );
    let registry = setup.registry();
    let a = registry.find("mine", "a", NamedBy::User).unwrap();
    assert_eq!(
        (a.context_window, a.max_tokens, a.reasoning),
        (1000, 10, true)
    );
    let (name, reason) = default_of(&registry);
    assert_eq!(name, "yours/b");
    assert!(
        reason.ends_with(".pi/agent/settings.json names it"),
        "{reason}"
    );
    assert_eq!(registry.default_thinking_level(), Some(ThinkingLevel::High));
    let expected = ForeignSettings {
        steering_mode: Some(QueueMode::All),
        auto_compaction: Some(false),
        ..ForeignSettings::default()
    };
    assert_eq!(*registry.foreign_settings(), expected);
    // Nobody says what it holds, and it is on this machine.
    let c = registry.find("yours", "c", NamedBy::User).unwrap();
    assert_eq!(c.context_window, 16_384);
    assert_eq!(registry.warnings(), Vec::<String>::new());
    assert!(registry.open(&a).is_ok());
}

#[test]
fn omps_chains_of_models_that_step_in_are_known_with_its_roles() {
    let chains = "modelRoles:\n  default: p/a:high\nretry:\n  fallbackRevertPolicy: never\n  fallbackChains:\n    default: [q/b, r/c]\n    p/*: [q/*]\n    wrong: 7\n";
    let setup = Setup::new();
    setup.write(".omp/agent/config.yml", chains);
    let chain = |key: &str, entries: &[&str]| FallbackChain {
        key: key.to_owned(),
        entries: entries.iter().map(|entry| (*entry).to_owned()).collect(),
    };
    assert_eq!(
        setup.registry().fallback_chains(),
        FallbackChains {
            chains: vec![chain("default", &["q/b", "r/c"]), chain("p/*", &["q/*"])],
            roles: vec![("default".to_owned(), "p/a:high".to_owned())],
            never_return: true,
            by: NamedBy::OwnFile,
        }
    );
    assert_eq!(setup.registry().todo_clear_delay(), None);
    let off = format!("{chains}  modelFallback: false\ntasks:\n  todoClearDelay: -1\n");
    setup.write(".omp/agent/config.yml", &off);
    assert_eq!(
        setup.registry().fallback_chains(),
        FallbackChains::default()
    );
    assert_eq!(setup.registry().todo_clear_delay(), Some(None));
}

#[test]
fn a_file_of_another_program_that_is_wrong_leaves_a_warning_and_nothing_else() {
    let setup = Setup::new();
    setup.write(".pi/agent/models.json", "{ nonsense");
    setup.write(".omp/agent/models.yml", "providers:\n  p:\n    models: 7\n");
    let registry = setup.registry();
    assert_eq!(default_of(&registry).0, "offline/guide");
    let warnings = registry.warnings();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("models.json") && warnings[1].contains("provider `p`"));
}

#[test]
fn what_is_wrong_about_one_model_of_another_program_costs_no_other() {
    let setup = Setup::new();
    setup.write(
        ".pi/agent/models.json",
        r#"{"providers":{"mine":{"baseUrl":"http://127.0.0.1:9/v1","api":"openai-completions","apiKey":"k","headers":null,"models":[
            {"id":"list","reasoning":true,"thinkingLevelMap":["high"]},
            {"id":"null","reasoning":true,"thinkingLevelMap":null,"cost":null},
            {"id":"max","reasoning":true,"thinkingLevelMap":{"high":null,"max":"most"}},
            {"id":7},
            {"id":"window","contextWindow":"large"},
            {"id":"fine"}]}}}"#,
    );
    setup.write(
        ".omp/agent/models.yml",
        "providers:\n  yours:\n    baseUrl: http://127.0.0.1:9\n    api: anthropic-messages\n    apiKey: k\n    models:\n      - {id: number, reasoning: true, thinking: 5}\n      - {id: efforts, reasoning: true, thinking: {efforts: [low, 7]}}\n      - id: empty\n        thinking:\n      - {id: max, reasoning: true, thinking: {mode: effort, efforts: [low, max]}}\n",
    );
    let registry = setup.registry();
    let levels = |provider: &str, id: &str| {
        let model = registry.find(provider, id, NamedBy::User)?;
        let levels = model.levels().into_iter().map(ThinkingLevel::as_str);
        Some(levels.collect::<Vec<_>>().join(" "))
    };
    let usual = "off minimal low medium high";
    let all = "off minimal low medium high xhigh";
    for (provider, id, expected) in [
        ("mine", "list", Some(usual)),
        ("mine", "null", Some(usual)),
        ("mine", "max", Some("off minimal low medium xhigh")),
        ("mine", "fine", Some("off")),
        ("yours", "number", Some(all)),
        ("yours", "efforts", Some(all)),
        ("yours", "empty", Some("off")),
        ("yours", "max", Some("off low xhigh")),
    ] {
        assert_eq!(levels(provider, id).as_deref(), expected, "{provider}/{id}");
    }
    let described: Vec<String> = registry
        .list()
        .into_iter()
        .filter(|model| model.info.provider == "mine")
        .map(|model| model.info.id.clone())
        .collect();
    assert_eq!(described, ["list", "null", "max", "fine"]);
    let folder = setup.folder.path().display().to_string();
    let warnings = registry.warnings().join("\n").replace(&folder, "HOME");
    expect![[r#"
        HOME/.pi/agent/models.json: provider `mine`, model 1: `thinkingLevelMap` is ignored: invalid type: sequence, expected a map
        HOME/.pi/agent/models.json: provider `mine`, model 4: it cannot be used: invalid type: integer `7`, expected a string
        HOME/.pi/agent/models.json: provider `mine`, model 5: it cannot be used: invalid type: string "large", expected u64
        HOME/.omp/agent/models.yml: provider `yours`, model 1: `thinking` is ignored: invalid type: integer `5`, expected a map
        HOME/.omp/agent/models.yml: provider `yours`, model 2: `thinking` is ignored: invalid type: integer `7`, expected a string"#]].assert_eq(&warnings);
}

#[test]
fn a_server_on_this_machine_is_found_when_it_is_needed() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut request = [0; 1024];
        let count = socket.read(&mut request).unwrap();
        let body = r#"{"object":"list","data":[{"id":"tiny","max_model_len":4096}]}"#;
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
        socket
            .write_all(format!("{head}{body}").as_bytes())
            .unwrap();
        String::from_utf8_lossy(&request[..count]).into_owned()
    });
    let mut setup = Setup::new();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed_port = closed.local_addr().unwrap().port();
    drop(closed);
    setup.local_servers = vec![
        LocalServer {
            provider: "absent",
            name: "Absent",
            port: closed_port,
        },
        LocalServer {
            provider: "tinyserver",
            name: "Tiny",
            port,
        },
    ];
    let registry = setup.registry();
    assert_eq!(
        default_of(&registry),
        (
            "tinyserver/tiny".into(),
            format!("Tiny runs on port {port}")
        )
    );
    assert!(server.join().unwrap().starts_with("GET /v1/models "));
    let tiny = registry.find("tinyserver", "tiny", NamedBy::User).unwrap();
    assert_eq!(tiny.context_window, 4096);
    assert!(registry.open(&tiny).is_ok());
    assert_eq!(registry.available().len(), 2);
}

#[test]
fn a_choice_does_not_wait_for_a_server_that_hangs_and_says_that_it_does() {
    // It takes connections and never answers.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let configuration = format!("[hangs]\nbase_url = \"{base_url}\"\n");
    let mut setup = Setup::new();
    setup.configuration = configuration.leak();
    let (name, reason) = default_of(&setup.registry());
    assert_eq!(
        (name.as_str(), reason.as_str()),
        (
            "offline/guide",
            "nothing else can be used (hangs: it does not answer within 1 s)"
        )
    );
}

#[test]
fn the_length_of_a_context_is_what_the_server_has_room_for() {
    let list = r#"{"data":[{"id":"tiny","meta":{"n_ctx_train":131072}}]}"#;
    // What a model was trained for says only what there is at most room for.
    for (provider, more, window) in [
        (
            "llamacpp",
            &[(
                "/props",
                r#"{"default_generation_settings":{"n_ctx":4096}}"#,
            )][..],
            4096,
        ),
        ("llamacpp", &[("/props", r#"{"error":"not here"}"#)], 16_384),
        (
            "ollama",
            &[(
                "/api/ps",
                r#"{"models":[{"name":"other","context_length":1},{"name":"tiny","context_length":8192}]}"#,
            )],
            8192,
        ),
        (
            "ollama",
            &[
                ("/api/ps", r#"{"models":[]}"#),
                ("/api/show", r#"{"parameters":"num_ctx 32768"}"#),
            ],
            32_768,
        ),
        (
            "ollama",
            &[
                ("/api/ps", r#"{"models":[]}"#),
                (
                    "/api/show",
                    r#"{"model_info":{"llama.context_length":2048}}"#,
                ),
            ],
            2048,
        ),
        // What it gives a model that asks for nothing depends on the memory of its machine.
        (
            "ollama",
            &[
                ("/api/ps", r#"{"models":[]}"#),
                (
                    "/api/show",
                    r#"{"model_info":{"llama.context_length":131072}}"#,
                ),
            ],
            4096,
        ),
        (
            "ollama",
            &[
                ("/api/ps", r#"{"models":[]}"#),
                (
                    "/api/show",
                    r#"{"model_info":{"llama.context_length":131072},"remote_host":"https://far.example"}"#,
                ),
            ],
            131_072,
        ),
        (
            "lmstudio",
            &[(
                "/api/v0/models",
                r#"{"data":[{"id":"tiny","loaded_context_length":2048,"max_context_length":65536}]}"#,
            )],
            2048,
        ),
        (
            "lmstudio",
            &[(
                "/api/v0/models",
                r#"{"data":[{"id":"tiny","max_context_length":65536}]}"#,
            )],
            16_384,
        ),
    ] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let mut asked = Vec::new();
            for (_, body) in [("/v1/models", list)].iter().chain(more) {
                let (mut socket, _) = listener.accept().unwrap();
                let mut request = [0; 1024];
                let count = socket.read(&mut request).unwrap();
                let request = String::from_utf8_lossy(&request[..count]);
                asked.push(request.split(' ').nth(1).unwrap_or_default().to_owned());
                let answer = format!("HTTP/1.1 200 OK\r\n\r\n{body}");
                socket.write_all(answer.as_bytes()).unwrap();
            }
            asked
        });
        let mut setup = Setup::new();
        setup.local_servers = vec![LocalServer {
            provider,
            name: "Local",
            port,
        }];
        let found = setup
            .registry()
            .find(provider, "tiny", NamedBy::User)
            .unwrap();
        assert_eq!(found.context_window, window, "{provider}");
        let paths = ["/v1/models"].into_iter();
        let paths: Vec<&str> = paths.chain(more.iter().map(|(path, _)| *path)).collect();
        assert_eq!(server.join().unwrap(), paths);
    }
}

#[test]
fn a_login_makes_the_models_of_its_provider_usable() {
    let setup = Setup::new();
    setup.write(
        "credentials.json",
        r#"{"logins":{"openai-codex":{"access":"a","refresh":"r","expires_at_ms":99999999999999}}}"#,
    );
    let registry = setup.registry();
    assert_eq!(
        default_of(&registry),
        (
            "openai-codex/gpt-6.1-sol".into(),
            "logged in at openai-codex".into()
        )
    );
    assert!(
        registry
            .open(&registry.default_model().unwrap().info)
            .is_ok()
    );
    assert!(registry.logins().is_logged_in("openai"));
}

#[test]
fn a_model_nobody_has_described_is_taken_for_one_like_the_best_of_its_provider() {
    let registry = Setup::new().registry();
    let named = registry
        .resolve("anthropic/claude-next-9:low", NamedBy::User)
        .unwrap();
    assert_eq!(named.info.full_name(), "anthropic/claude-next-9");
    assert_eq!(named.info.context_window, 1_000_000);
    assert_eq!(named.thinking, Some(ThinkingLevel::Low));
}

#[test]
fn a_wire_nobody_speaks_is_named() {
    let mut setup = Setup::new();
    setup.configuration =
        "[acme]\nbase_url = \"http://x\"\napi = \"telex\"\nmodels = [{ id = \"m\" }]";
    let registry = setup.registry();
    let info = registry.find("acme", "m", NamedBy::User).unwrap();
    let error = registry.open(&info).err().unwrap();
    assert!(error.message.contains("`telex`") && error.message.contains("anthropic-messages"));
}

#[test]
fn what_a_user_knows_better_about_a_model_counts() {
    let mut setup = Setup::new();
    setup.models = r#"
        ["anthropic/claude-opus-5-5"]
        context_window = 5
        cost = { input = 7 }
        ["anthropic/claude-next-9"]
        name = "Next"
        ["nobody/x"]
        reasoning = true
    "#;
    let registry = setup.registry();
    let opus = registry
        .find("anthropic", "claude-opus-5-5", NamedBy::User)
        .unwrap();
    assert_eq!((opus.context_window, opus.max_tokens), (5, 128_000));
    assert!((opus.cost.unwrap().input - 7.0).abs() < 1e-9);
    assert_eq!(
        registry
            .find("anthropic", "claude-next-9", NamedBy::User)
            .unwrap()
            .name,
        "Next"
    );
    let warnings = registry.warnings();
    assert!(warnings[0].contains("nobody/x"), "{warnings:?}");
    assert!(registry.knows_provider("anthropic") && !registry.knows_provider("nobody"));
}
