//! A session on a stage: scripted models, tools that do nothing real, and everything that is seen.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stentor_agent::event::{Event, EventKind};
use stentor_agent::hub::Subscription;
use stentor_agent::model::{
    Model, ModelError, ModelErrorKind, ModelInfo, ModelRegistry, ModelRequest, ModelStream,
    NamedBy, Purpose,
};
use stentor_agent::session::{Environment, Session, SessionOptions, Storage};
use stentor_journal::clock::CountingClock;
use stentor_journal::message::ContentBlock;
use stentor_journal::store;
use stentor_model::script::{Scenario, ScriptModel};
use tokio::time::timeout;

use crate::props::{FakeShell, Runs, tools};
use crate::render::Transcript;

/// A session and everything around it.
pub struct Stage {
    pub session: Session,
    pub events: Subscription,
    pub transcript: Transcript,
    pub environment: Environment,
    pub options: SessionOptions,
    pub heard: Heard,
    pub runs: Runs,
}

/// What the models were asked.
#[derive(Clone, Default)]
pub struct Heard(Arc<Mutex<Asked>>);

#[derive(Default)]
struct Asked {
    requests: Vec<ModelRequest>,
    /// The session file, and how many messages it had when each request was made.
    file: Option<PathBuf>,
    stored: Vec<usize>,
}

/// Sets a stage up.
pub struct Setup {
    models: Vec<Arc<dyn Model>>,
    heard: Heard,
    pub options: SessionOptions,
    runs: Runs,
}

/// A session with one scripted model, kept in memory.
pub fn with(scenario: Scenario) -> Setup {
    let runs = Runs::default();
    let mut setup = Setup {
        models: Vec::new(),
        heard: Heard::default(),
        options: SessionOptions::in_memory("/project", tools(&runs)),
        runs,
    };
    setup = setup.and_model(ScriptModel::new(scenario, "one"));
    setup.options.model = Some(Arc::clone(setup.models[0].info()));
    setup.options.retry.jitter_percent = 0;
    setup
}

/// What somebody says.
pub fn say(text: &str) -> Vec<ContentBlock> {
    vec![ContentBlock::text(text)]
}

impl Setup {
    pub fn and_model(mut self, model: Arc<dyn Model>) -> Self {
        let heard = self.heard.clone();
        self.models.push(Arc::new(Listening { model, heard }));
        self
    }

    pub fn options(mut self, change: impl FnOnce(&mut SessionOptions)) -> Self {
        change(&mut self.options);
        self
    }

    pub fn in_folder(self, folder: &Path) -> Self {
        let storage = Storage::Folder(folder.to_path_buf());
        self.options(|options| options.storage = storage)
    }

    pub fn environment(&self) -> Environment {
        Environment {
            models: Arc::new(ListedModels(self.models.clone())),
            shell: Arc::new(FakeShell),
            clock: Arc::new(CountingClock::starting_at(1_700_000_000_000)),
            journals: Arc::new(stentor_journal::store::SessionFileStore),
            spill_dir: Arc::from(Path::new("/nowhere")),
        }
    }

    pub fn start(self) -> Stage {
        let environment = self.environment();
        let session = Session::start(environment.clone(), self.options.clone()).unwrap();
        self.around(session, environment)
    }

    pub fn resume(self, file: &Path) -> Stage {
        let environment = self.environment();
        let mut options = self.options.clone();
        options.model = None;
        let session =
            Session::resume(environment.clone(), options, store::open(file).unwrap()).unwrap();
        self.around(session, environment)
    }

    pub fn around(self, session: Session, environment: Environment) -> Stage {
        Stage {
            events: session.subscribe(),
            session,
            transcript: Transcript::default(),
            environment,
            options: self.options,
            heard: self.heard,
            runs: self.runs,
        }
    }
}

impl Stage {
    /// Prompts and returns the whole run, up to the moment nothing automatic follows.
    pub async fn run(&mut self, text: &str) -> String {
        self.prompt(text).await;
        self.settled().await
    }

    pub async fn prompt(&self, text: &str) {
        drop(self.session.prompt(say(text)).await.unwrap());
    }

    pub async fn steer(&self, text: &str) {
        self.session.steer(say(text)).await.unwrap();
    }

    pub async fn follow_up(&self, text: &str) {
        self.session.follow_up(say(text)).await.unwrap();
    }

    /// Everything seen up to and including the next moment the session is settled.
    pub async fn settled(&mut self) -> String {
        self.until(|kind| matches!(kind, EventKind::Settled { .. }))
            .await;
        self.transcript.take()
    }

    /// Reads events up to and including the first that `is_it`.
    pub async fn until(&mut self, is_it: impl Fn(&EventKind) -> bool) -> Event {
        loop {
            // Time is paused: waiting this long means that nothing will ever come.
            let next = timeout(Duration::from_secs(86_400), self.events.next()).await;
            let Ok(Some(event)) = next else {
                panic!("nothing more comes after:\n{}", self.transcript.take());
            };
            self.transcript.note(&event);
            if is_it(&event.kind) {
                return event;
            }
        }
    }

    /// Everything that is waiting to be read.
    pub fn so_far(&mut self) -> String {
        while let Some(event) = self.events.try_next() {
            self.transcript.note(&event);
        }
        self.transcript.take()
    }

    /// Reads until a delta of the answer has come that contains `text`.
    pub async fn until_said(&mut self, text: &str) {
        self.until(|kind| match kind {
            EventKind::BlockDelta { block, range, .. } => {
                block.with(range.clone(), |delta| delta.contains(text))
            }
            _ => false,
        })
        .await;
    }

    pub async fn until_tool_started(&mut self) {
        self.until(|kind| matches!(kind, EventKind::ToolStarted { .. }))
            .await;
    }

    /// The messages in context, one line each.
    pub async fn messages(&self) -> Vec<String> {
        let messages = self.session.messages().await.unwrap();
        messages
            .iter()
            .map(|one| crate::render::message(one))
            .collect()
    }
}

impl Heard {
    /// The requests of that purpose, each as the lines of its messages.
    pub fn requests(&self, purpose: Purpose) -> Vec<Vec<String>> {
        let asked = self.0.lock().unwrap();
        asked
            .requests
            .iter()
            .filter(|request| request.purpose == purpose)
            .map(|request| {
                request
                    .messages
                    .iter()
                    .map(|one| crate::render::message(one))
                    .collect()
            })
            .collect()
    }

    /// What the model was told in the last turn.
    pub fn last(&self) -> Vec<String> {
        self.requests(Purpose::Turn).pop().unwrap_or_default()
    }

    pub fn last_request(&self) -> ModelRequest {
        self.0.lock().unwrap().requests.last().unwrap().clone()
    }

    /// Looks into that file at every request from now on.
    pub fn watch(&self, file: PathBuf) {
        self.0.lock().unwrap().file = Some(file);
    }

    /// How many messages each request told the model, and how many were in the file.
    pub fn told_and_stored(&self) -> Vec<(usize, usize)> {
        let asked = self.0.lock().unwrap();
        let told = asked.requests.iter().map(|request| request.messages.len());
        told.zip(asked.stored.iter().copied()).collect()
    }

    fn note(&self, request: &ModelRequest) {
        let mut asked = self.0.lock().unwrap();
        asked.requests.push(request.clone());
        if let Some(file) = &asked.file {
            let text = std::fs::read_to_string(file).unwrap();
            let stored = text.matches("\"type\":\"message\"").count();
            asked.stored.push(stored);
        }
    }
}

/// A model that remembers what it was asked.
struct Listening {
    model: Arc<dyn Model>,
    heard: Heard,
}

impl Model for Listening {
    fn info(&self) -> &Arc<ModelInfo> {
        self.model.info()
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        self.heard.note(&request);
        self.model.stream(request)
    }
}

/// The models there are.
struct ListedModels(Vec<Arc<dyn Model>>);

impl ModelRegistry for ListedModels {
    fn available(&self) -> Vec<Arc<ModelInfo>> {
        self.0
            .iter()
            .map(|model| Arc::clone(model.info()))
            .collect()
    }

    fn find(&self, provider: &str, id: &str, _: NamedBy) -> Option<Arc<ModelInfo>> {
        let is_it = |info: &&Arc<ModelInfo>| info.provider == provider && info.id == id;
        self.available().iter().find(is_it).cloned()
    }

    fn open(&self, info: &Arc<ModelInfo>) -> Result<Arc<dyn Model>, ModelError> {
        let model = self.0.iter().find(|model| model.info().id == info.id);
        model.cloned().ok_or_else(|| {
            ModelError::new(
                ModelErrorKind::Auth,
                format!("no key for {}", info.full_name()),
            )
        })
    }
}
